/* A command's talk with a server: a loop, its signals, a console and one fiber that does the work in a straight line.
 *
 * Thread: one. */
#ifndef MF_CLI_SESSION_H
#define MF_CLI_SESSION_H

#include "console.h"
#include "remote.h"
#include "stage.h"

struct mf_session {
  struct mf_remote *remote;
  struct mf_console *console;
  struct mf_fiber *self; /* the one that runs `work` */
  void *user;
  int signal;     /* that asked us to end; the fiber is cancelled then */
  int broken_sys; /* standard output failed so (the fiber is cancelled); 0: it did not */
  struct mf_stage stage;
  int (*work)(struct mf_session *s);
  int exit;
};

/* Runs `work`; takes *place. *ret_exit: what it returned, an exit status. An error: it could not even begin. */
MF_MUST_USE enum mf_code mf_session_run(struct mf_remote_place *place, int (*work)(struct mf_session *s), void *user,
                                        int *ret_exit, struct mf_err *err);
/* Waits until the console has written all. False: its reader is gone, or a signal came. */
bool mf_session_drain(struct mf_session *s);
/* The exit status of an error, which is said; of a signal, which is not. */
int mf_session_fail(struct mf_session *s, const struct mf_err *err);
/* Prints JSON as a line, with control characters escaped. Returns the exit status. */
int mf_session_print(const struct mf_json_val *v);

#endif
