/* Tasks of a server: submit, cancel, and follow to the end. Thread: the loop's; from a fiber. */
#ifndef MF_CLI_REMOTE_TASK_H
#define MF_CLI_REMOTE_TASK_H

#include "console.h"
#include "remote.h"
#include "sandbox/sandbox.h"

#define MF_REMOTE_ID_N 65
#define MF_REMOTE_WALL_MS_MAX 60000u /* of a task */

/* Whether a task can be asked to do all that the spec says. */
bool mf_remote_can_run(const struct mf_sandbox_spec *spec);
/* idle_ms: how long its answer may take; 0: 30 s. ret_id: of the new task. *ret: the task as it is then; NULL: not
 * wanted. Errors: those of mf_remote_ask. */
MF_MUST_USE enum mf_code mf_remote_submit(struct mf_remote *r, struct mf_fiber *self,
                                          const struct mf_sandbox_spec *spec, uint64_t idle_ms,
                                          char ret_id[MF_REMOTE_ID_N], struct mf_json **ret, struct mf_err *err);
/* *ret: the task as it is then; NULL: not wanted. */
MF_MUST_USE enum mf_code mf_remote_cancel(struct mf_remote *r, struct mf_fiber *self, const char *id,
                                          struct mf_json **ret, struct mf_err *err);
/* wait_ms: how long the server may wait for its end. */
MF_MUST_USE enum mf_code mf_remote_get(struct mf_remote *r, struct mf_fiber *self, const char *id, uint64_t wait_ms,
                                       struct mf_json **ret, struct mf_err *err);
/* Before asking again what was asked at since_ns: a server that does not wait is not asked without end.
 * MF_E_CANCELLED. */
MF_MUST_USE enum mf_code mf_remote_pause(struct mf_fiber *self, uint64_t since_ns);
/* "queued", "running" …; "" for a stranger's word. */
struct mf_str mf_remote_status(const struct mf_json_val *task);
bool mf_remote_has_ended(const struct mf_json_val *task);

/* The task after its end. With a console its output is written there as it comes, and where it stands is shown. A
 * connection that is cut is made again, for a while; what was shown is not shown twice. A server that is silent for
 * 40 s is lost: MF_E_UNAVAILABLE. */
struct mf_follow {
  struct mf_remote *remote;
  const char *id;
  struct mf_console *console; /* NULL: silent */
  uint64_t wall_ms;           /* for the progress line; 0: not known */
  uint64_t shown[2];          /* bytes of standard output and standard error, so far */
  bool is_lost;               /* the end was that the server says nothing any more */
  uint64_t heard_ns;          /* private, as verb: the last word of the server */
  char verb[40];
};
MF_MUST_USE enum mf_code mf_remote_follow(struct mf_follow *f, struct mf_fiber *self, struct mf_json **ret,
                                          struct mf_err *err);

#endif
