/* The task service: submit, get, cancel. A bounded, fair queue in front of the executor; what was acknowledged survives
 * a restart (a queued task runs, one that ran has failed as `interrupted`), files and results are deleted an hour after
 * the end. docs/tasks.md is the wire; this is the same thing for C.
 *
 * Thread: the loop's. Every call is made from a fiber and may wait. An owner sees its own tasks only: another's id is
 * MF_E_NOT_FOUND. Nothing here logs code, names of files, their content or output. */
#ifndef MF_INTERPRETER_TASKS_H
#define MF_INTERPRETER_TASKS_H

#include "base/ids.h"
#include "interpreter/executor.h"
#include "storage/files.h"
#include "storage/tasks.h"

#define MF_TASK_TIMEOUT_MS_MAX 60000u
#define MF_TASK_MEMORY_MB_DEFAULT 1024u
#define MF_TASK_MEMORY_MB_MIN 64u
#define MF_TASK_IDEMPOTENCY_KEY_MAX 255u /* bytes, printable ASCII */
#define MF_TASK_OWNER_MAX 64u

struct mf_tasks_config {
  unsigned running_max;           /* tasks at a time; 0: as many as the executor has permits */
  unsigned queue_max;             /* tasks that wait, of all owners; default 1000 */
  unsigned memory_mb_max;         /* what one task may ask for; 0: the machine's memory */
  uint64_t retention_ms;          /* from the end to expiry; default 3,600,000 */
  uint64_t remember_ms;           /* how long an expired task is still answered as gone; default 86,400,000 */
  uint64_t sweep_ms;              /* default 30,000 */
  uint64_t (*now_ms)(void *user); /* wall clock, milliseconds since 1970; NULL: the machine's. Tests move it */
  void *clock;
};
void mf_tasks_config_default(struct mf_tasks_config *c);

/* All borrowed; they outlive the service. Without storage and files (both NULL) tasks live in memory only, until they
 * expire: libmayfly. */
struct mf_tasks_parts {
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_executor *executor;
  struct mf_storage *storage;
  struct mf_files *files;
};
struct mf_tasks;
/* Takes up what an earlier process left: its queued tasks are queued again in their order, its running ones have failed
 * as interrupted, folders of nobody are removed. */
MF_MUST_USE enum mf_code mf_tasks_new(const struct mf_tasks_config *config, const struct mf_tasks_parts *parts,
                                      struct mf_fiber *self, struct mf_tasks **ret, struct mf_err *err);
/* Starts nothing any more; queued tasks stay in the database, new ones too. Waiters wait on. For a server whose
 * requests come to their end before the close. */
void mf_tasks_drain(struct mf_tasks *t);
/* Drains; lets tasks that run end until deadline_ns, then ends them as interrupted. Queued ones stay
 * in the database. Waiters are woken. Then everything is freed. */
void mf_tasks_close(struct mf_tasks *t, struct mf_fiber *self, uint64_t deadline_ns);

struct mf_tasks_stats {
  unsigned queued, running;
  uint64_t submitted, by_state[MF_TASK_STATE_N], refused, expired; /* since the start */
  uint64_t by_reason[MF_REASON_N + 1];                             /* the last: interrupted */
  uint64_t files_bytes;
};
struct mf_tasks_stats mf_tasks_stats(const struct mf_tasks *t);

/* ---- submit ---- */

struct mf_task_request {
  struct mf_str code;
  struct mf_str source_name; /* a file name: what tracebacks call the code; "": "main.py" */
  uint64_t timeout_ms;       /* 1..60000 */
  unsigned memory_mb;        /* 0: the default, or what may be asked for here when that is less */
  bool display_last_expression;
};
void mf_task_request_default(struct mf_task_request *r);

/* What was wrong: `param` is a path of the request such as "limits.timeoutMs" or "files[2].name". */
struct mf_task_fault {
  char param[120];
  char code[40]; /* "invalid_value", "missing_required_parameter", "unknown_parameter", "file_too_large", … */
};
/* Reads `{language, code, limits?, policy?, display_last_expression?, source_name?, files?}`; the document must outlive
 * *ret, which borrows from it. Names of `files` and their base64 texts are returned undecoded in *ret_files (malloc'ed
 * array of {name, content}), so that the door can decode them into mf_file_put one by one. MF_E_INPUT: *fault and
 * err->msg. */
struct mf_task_file_text {
  struct mf_str name, base64;
};
MF_MUST_USE enum mf_code mf_task_request_parse(const struct mf_json_val *root, struct mf_task_request *ret,
                                               struct mf_task_file_text **ret_files, unsigned *ret_file_n,
                                               struct mf_task_fault *fault, struct mf_err *err);

/* A task that is being submitted: its id is known, so that files can be staged under it; until mf_tasks_submit it is
 * nobody's, and sweeping leaves it alone. */
struct mf_task_draft;
/* Whether a task of this owner would be taken now: to say no before an upload. false: *ret_retry_s, in seconds. */
bool mf_tasks_has_room(const struct mf_tasks *t, struct mf_str owner, unsigned *ret_retry_s);
struct mf_task_draft *mf_task_draft_new(struct mf_tasks *t, struct mf_str owner);
struct mf_str mf_task_draft_id(const struct mf_task_draft *d);
/* Adds one input: the name is checked (mf_name_check, different from the others, count, bytes in all).
 * MF_E_INPUT or MF_E_LIMIT with *fault; those of mf_file_put, of which fault->code says "storage_full" (quota or disk),
 * "busy" or "unavailable". After an error nothing but freeing it. In parts, for uploads that stream: */
MF_MUST_USE enum mf_code mf_task_draft_file(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str name,
                                            struct mf_task_fault *fault, struct mf_err *err);
MF_MUST_USE enum mf_code mf_task_draft_data(struct mf_task_draft *d, struct mf_fiber *self, struct mf_str data,
                                            struct mf_task_fault *fault, struct mf_err *err);
/* Ends the last file. */
MF_MUST_USE enum mf_code mf_task_draft_file_end(struct mf_task_draft *d, struct mf_fiber *self,
                                                struct mf_task_fault *fault, struct mf_err *err);
void mf_task_draft_free(struct mf_task_draft *d, struct mf_fiber *self); /* not submitted: its files go; NULL is fine */

struct mf_task_submitted {
  char id[MF_ID_N];
  bool is_replay; /* the idempotency key was used before with the same request: that task, nothing new */
};
/* Acknowledges: after MF_OK it will reach a final state whatever happens to this process. Consumes d, always.
 * MF_E_INPUT: *fault. MF_E_CAPACITY: the queue is full (retry_after_s in *ret_retry_s). MF_E_EXISTS: the idempotency
 * key was used with another request. MF_E_GONE: closing. Storage's own codes. */
MF_MUST_USE enum mf_code mf_tasks_submit(struct mf_tasks *t, struct mf_fiber *self, struct mf_task_draft *d,
                                         const struct mf_task_request *r, struct mf_str idempotency_key,
                                         struct mf_task_submitted *ret, unsigned *ret_retry_s,
                                         struct mf_task_fault *fault, struct mf_err *err);

/* ---- get, cancel, list, delete ---- */

/* The task as JSON (docs/tasks.md) into *ret, initialised here. deadline_ns: waits so long for its end (0: not at all);
 * what has not ended then is shown as it is. MF_E_NOT_FOUND; MF_E_GONE: it has expired (err->msg says when).
 * MF_E_CANCELLED: the fiber was. */
MF_MUST_USE enum mf_code mf_tasks_get(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                      uint64_t deadline_ns, struct mf_buf *ret, struct mf_err *err);
/* Idempotent: one that has ended stays as it is. Returns when it has ended, or after 5 s when its program is slow to
 * die: that it ends is decided then. One that ended by itself at the same moment may say so. */
MF_MUST_USE enum mf_code mf_tasks_cancel(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner,
                                         struct mf_str id, struct mf_err *err);
/* `{"object":"list","data":[…],"has_more":…,"first_id":…,"last_id":…}`, newest first; of each: taskId, status,
 * queuePosition, inputBytes, artifactBytes and the times. limit: 1..100. MF_E_NOT_FOUND: `after`. */
MF_MUST_USE enum mf_code mf_tasks_list(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner,
                                       struct mf_str after, enum mf_task_state state, unsigned limit,
                                       struct mf_buf *ret, struct mf_err *err);
/* Cancels it where it has not ended, then removes it with its files. */
MF_MUST_USE enum mf_code mf_tasks_delete(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner,
                                         struct mf_str id, struct mf_err *err);

/* ---- artifacts ---- */

struct mf_task_artifact {
  char *path;
  char mime_type[128];
  struct mf_file_ref ref;
  int fd; /* for mf_files_pread; the caller's */
};
MF_MUST_USE enum mf_code mf_tasks_artifact(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner,
                                           struct mf_str id, struct mf_str artifact_id, struct mf_task_artifact *ret,
                                           struct mf_err *err);
void mf_task_artifact_done(struct mf_task_artifact *a);

/* ---- events ---- */

/* Where a follower stands: what it has been given. Its text form is the id of an event, "S.OUT.ERR.A": status changes,
 * bytes of stdout and of stderr, artifacts. Any position can be taken up again, also after a restart. */
struct mf_task_cursor {
  unsigned statuses;
  uint64_t out_bytes, err_bytes;
  unsigned artifacts;
};
MF_MUST_USE enum mf_code mf_task_cursor_parse(struct mf_str text, struct mf_task_cursor *ret, struct mf_err *err);
#define MF_TASK_CURSOR_N 80
void mf_task_cursor_write(const struct mf_task_cursor *c, char ret[MF_TASK_CURSOR_N]);

struct mf_task_event {
  const char *type;   /* "status" | "stdout" | "stderr" | "artifact"; NULL: the deadline came first */
  struct mf_buf json; /* the caller's */
  bool is_last;       /* the status that ends it, after everything else; without a type: it was given before */
};
/* The next event behind *c, which moves on; waits until deadline_ns for it (0: for ever).
 * MF_E_NOT_FOUND; MF_E_GONE: expired, or the service was closed; MF_E_CANCELLED. */
MF_MUST_USE enum mf_code mf_tasks_next(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                       struct mf_task_cursor *c, uint64_t deadline_ns, struct mf_task_event *ret,
                                       struct mf_err *err);

#endif
