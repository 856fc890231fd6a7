/* Tasks that wait, fairly: owners take turns, and within an owner first come is first served. Holds no references.
 * Thread: the loop's. */
#ifndef MF_INTERPRETER_TASK_QUEUE_H
#define MF_INTERPRETER_TASK_QUEUE_H

#include "task.h"

struct task_line; /* of one owner */
struct task_queue {
  struct task_line *first, *last; /* the owner whose turn it is comes first */
  unsigned n;
};
void task_queue_push(struct task_queue *q, struct task *k);
/* Back to where it was: its owner's turn, before its other tasks. */
void task_queue_push_front(struct task_queue *q, struct task *k);
struct task *task_queue_pop(struct task_queue *q); /* NULL: empty */
void task_queue_remove(struct task_queue *q, struct task *k);
/* 1: next, if nothing comes meanwhile. */
unsigned task_queue_position(const struct task_queue *q, const struct task *k);
unsigned task_queue_of(const struct task_queue *q, struct mf_str owner); /* how many of this owner wait */

#endif
