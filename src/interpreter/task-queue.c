/* A ring of owners, each with a line of tasks. An owner without tasks is not in it. */
#include "task-queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"

struct task_line {
  struct task_line *next;
  char *owner;
  struct task *first, **last_next;
  unsigned n;
};

static struct task_line *find_line(const struct task_queue *q, struct mf_str owner)
{
  struct task_line *l = q->first;
  while (l && !mf_str_is(owner, l->owner))
    l = l->next;
  return l;
}

static void append_line(struct task_queue *q, struct task_line *l)
{
  l->next = NULL;
  *(q->last ? &q->last->next : &q->first) = l;
  q->last = l;
}

static struct task_line *new_line(const char *owner)
{
  struct task_line *l = mf_xcalloc(1, sizeof(*l));
  l->owner = mf_xstrdup(owner);
  l->last_next = &l->first;
  return l;
}

static void free_line(struct task_line *l)
{
  free(l->owner);
  free(l);
}

static void unlink_line(struct task_queue *q, struct task_line *l)
{
  struct task_line **at = &q->first, *before = NULL;
  while (*at != l) {
    before = *at;
    at = &(*at)->next;
  }
  *at = l->next;
  if (q->last == l)
    q->last = before;
}

void task_queue_push(struct task_queue *q, struct task *k)
{
  struct task_line *l = find_line(q, mf_str_of(k->owner));
  if (!l)
    append_line(q, l = new_line(k->owner));
  k->queue_next = NULL;
  *l->last_next = k;
  l->last_next = &k->queue_next;
  l->n++;
  q->n++;
  k->is_queued = true;
}

void task_queue_push_front(struct task_queue *q, struct task *k)
{
  struct task_line *l = find_line(q, mf_str_of(k->owner));
  if (l)
    unlink_line(q, l);
  else
    l = new_line(k->owner);
  l->next = q->first;
  q->first = l;
  if (!q->last)
    q->last = l;
  k->queue_next = l->first;
  if (!l->first)
    l->last_next = &k->queue_next;
  l->first = k;
  l->n++;
  q->n++;
  k->is_queued = true;
}

static void take_out(struct task_queue *q, struct task_line *l, struct task **at)
{
  struct task *k = *at;
  *at = k->queue_next;
  if (!*at)
    l->last_next = at;
  k->queue_next = NULL;
  k->is_queued = false;
  l->n--;
  q->n--;
}

struct task *task_queue_pop(struct task_queue *q)
{
  struct task_line *l = q->first;
  if (!l)
    return NULL;
  struct task *k = l->first;
  take_out(q, l, &l->first);
  unlink_line(q, l);
  if (l->n > 0)
    append_line(q, l);
  else
    free_line(l);
  return k;
}

void task_queue_remove(struct task_queue *q, struct task *k)
{
  assert(k->is_queued);
  struct task_line *l = find_line(q, mf_str_of(k->owner));
  struct task **at = &l->first;
  while (*at != k)
    at = &(*at)->queue_next;
  take_out(q, l, at);
  if (l->n == 0) {
    unlink_line(q, l);
    free_line(l);
  }
}

unsigned task_queue_position(const struct task_queue *q, const struct task *k)
{
  const struct task_line *mine = find_line(q, mf_str_of(k->owner));
  unsigned round = 0; /* the turns its owner has before this one */
  for (const struct task *i = mine->first; i != k; i = i->queue_next)
    round++;
  unsigned before = round;
  bool is_behind_mine = false;
  for (const struct task_line *l = q->first; l; l = l->next) {
    if (l == mine)
      is_behind_mine = true;
    else
      before += MF_MIN(l->n, is_behind_mine ? round : round + 1);
  }
  return before + 1;
}

unsigned task_queue_of(const struct task_queue *q, struct mf_str owner)
{
  const struct task_line *l = find_line(q, owner);
  return l ? l->n : 0;
}
