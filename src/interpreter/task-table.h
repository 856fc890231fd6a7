/* The tasks that are known here, by id and in the order of their making. Holds a reference to each. */
#ifndef MF_INTERPRETER_TASK_TABLE_H
#define MF_INTERPRETER_TASK_TABLE_H

#include "task.h"

struct task_table {
  struct task **buckets;
  unsigned bucket_n, n;
  struct task *oldest, *newest;
};
void task_table_init(struct task_table *t);
void task_table_done(struct task_table *t);                                 /* must be empty */
struct task *task_table_find(const struct task_table *t, struct mf_str id); /* borrowed, or NULL */
void task_table_add(struct task_table *t, struct task *k);
void task_table_remove(struct task_table *t, struct task *k);

#endif
