/* Tasks that have ended and are kept in memory: those used last, as many and as large as may be. Thread: the loop's. */
#include "tasks-internal.h"
#include "base/banned.h"

static void leave_ended(struct mf_tasks *t, struct task *k)
{
  *(k->ended_prev ? &k->ended_prev->ended_next : &t->ended_first) = k->ended_next;
  *(k->ended_next ? &k->ended_next->ended_prev : &t->ended_last) = k->ended_prev;
  t->ended_n--;
  t->ended_bytes -= k->ended_bytes;
  k->is_in_ended = false;
}

static void join_ended(struct mf_tasks *t, struct task *k)
{
  k->ended_prev = t->ended_last;
  k->ended_next = NULL;
  *(t->ended_last ? &t->ended_last->ended_next : &t->ended_first) = k;
  t->ended_last = k;
  t->ended_n++;
  k->ended_bytes = task_bytes(k);
  t->ended_bytes += k->ended_bytes;
  k->is_in_ended = true;
}

void tasks_drop(struct mf_tasks *t, struct task *k)
{
  k->is_gone = true;
  task_announce(k);
  if (k->is_in_ended)
    leave_ended(t, k);
  t->memory_bytes -= k->held_bytes;
  k->held_bytes = 0;
  if (k->is_in_table)
    task_table_remove(&t->table, k);
}

/* Out of memory, not out of the world: the database has it. Without one it is the end of it. */
static void trim_ended(struct mf_tasks *t)
{
  unsigned max = t->parts.storage ? TASKS_RECENT_MAX : TASKS_ENDED_MAX;
  size_t bytes_max = t->parts.storage ? TASKS_RECENT_BYTES_MAX : TASKS_ENDED_BYTES_MAX;
  while (t->ended_n > max || (t->ended_bytes > bytes_max && t->ended_n > 1)) {
    struct task *k = t->ended_first;
    if (!t->parts.storage) {
      tasks_drop(t, k);
      continue;
    }
    leave_ended(t, k);
    task_table_remove(&t->table, k);
  }
}

void tasks_keep_ended(struct mf_tasks *t, struct task *k)
{
  if (!k->is_in_table)
    return;
  if (k->is_in_ended)
    leave_ended(t, k);
  join_ended(t, k);
  trim_ended(t);
}

void tasks_recount_ended(struct mf_tasks *t, struct task *k)
{
  if (!k->is_in_ended)
    return;
  t->ended_bytes -= k->ended_bytes;
  k->ended_bytes = task_bytes(k);
  t->ended_bytes += k->ended_bytes;
  trim_ended(t);
}
