/* The task service of a server with what it stands on: its folder of files in the home folder, which one server at a
 * time may have. Thread: the loop's. */
#ifndef MF_CLI_TASK_SERVICE_H
#define MF_CLI_TASK_SERVICE_H

#include "config/config.h"
#include "interpreter/tasks.h"

struct mf_task_service {
  struct mf_files *files;
  struct mf_tasks *tasks; /* NULL: it is not served */
};

/* parts: but for the files, which are opened here. What cannot be done without being asked for (tasks.enabled by
 * default, and an LLM server is there) is a warning in the log, and MF_OK; else an error. */
MF_MUST_USE enum mf_code mf_task_service_open(struct mf_task_service *t, const struct mf_config *c,
                                              const struct mf_tasks_parts *parts, struct mf_fiber *self,
                                              struct mf_err *err);
/* As mf_tasks_close. Nobody may use the tasks any more. */
void mf_task_service_close(struct mf_task_service *t, struct mf_fiber *self, uint64_t deadline_ns);

#endif
