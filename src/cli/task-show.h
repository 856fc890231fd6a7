/* A task of a server for a person's eyes. Thread: the loop's; from the session's fiber. */
#ifndef MF_CLI_TASK_SHOW_H
#define MF_CLI_TASK_SHOW_H

#include "session.h"

/* Follows the task to its end, showing what it prints (unless json), then the words about its end, or all of it as
 * JSON. `cancels`: a signal ends the task, not only the watching. Returns the program's exit status. */
int mf_task_follow(struct mf_session *s, const char *id, bool json, bool cancels);
/* The task as it is: what it has printed so far and the words about it, or JSON. Its exit status, 0 before the end. */
int mf_task_show(struct mf_session *s, const struct mf_json_val *task, bool json);

#endif
