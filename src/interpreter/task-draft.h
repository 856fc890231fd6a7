/* What submitting knows of a draft. */
#ifndef MF_INTERPRETER_TASK_DRAFT_H
#define MF_INTERPRETER_TASK_DRAFT_H

#include "tasks-internal.h"

struct mf_task_draft {
  struct mf_tasks *tasks;
  struct mf_task_draft *prev, *next;
  char id[MF_ID_N];
  char *owner;
  struct task_input *inputs;
  unsigned input_n;
  uint64_t bytes;
  struct mf_buf head; /* of the file that arrives now */
  struct mf_file_put *put;
  bool is_open, has_folder;
  bool has_place; /* in the queue, which it fills as soon as it is stored */
};

/* Without its files and inputs, which are somebody else's by now or gone. */
void task_draft_drop(struct mf_task_draft *d);
/* Puts those inputs on the disk that are in memory only, under the draft's id. Nothing without files on disk. */
MF_MUST_USE enum mf_code task_draft_to_disk(struct mf_task_draft *d, struct mf_fiber *self, struct task_input *inputs,
                                            unsigned n, struct mf_task_fault *fault, struct mf_err *err);
/* The message is in an mf_err already. Returns code. */
enum mf_code task_blame(struct mf_task_fault *fault, enum mf_code code, const char *fault_code, const char *param);

#endif
