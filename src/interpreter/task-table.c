/* A hash table with chains that doubles, and a list through it. */
#include "task-table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"

enum { BUCKETS_FIRST = 64 };

/* FNV-1a. Ids are made here and random: nobody chooses a bucket. */
static unsigned hash(struct mf_str id)
{
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < id.len; i++)
    h = (h ^ (unsigned char)id.ptr[i]) * 16777619u;
  return h;
}

static struct task **bucket(const struct task_table *t, struct mf_str id)
{
  return &t->buckets[hash(id) & (t->bucket_n - 1)];
}

void task_table_init(struct task_table *t)
{
  *t = (struct task_table){ .bucket_n = BUCKETS_FIRST };
  t->buckets = mf_xcalloc(t->bucket_n, sizeof(struct task *));
}

void task_table_done(struct task_table *t)
{
  assert(t->n == 0);
  free(t->buckets);
}

struct task *task_table_find(const struct task_table *t, struct mf_str id)
{
  struct task *k = *bucket(t, id);
  while (k && !mf_str_is(id, k->id))
    k = k->bucket_next;
  return k;
}

static void put(struct task_table *t, struct task *k)
{
  struct task **at = bucket(t, mf_str_of(k->id));
  k->bucket_next = *at;
  *at = k;
}

static void grow(struct task_table *t)
{
  free(t->buckets);
  t->bucket_n *= 2;
  t->buckets = mf_xcalloc(t->bucket_n, sizeof(struct task *));
  for (struct task *k = t->oldest; k; k = k->newer)
    put(t, k);
}

void task_table_add(struct task_table *t, struct task *k)
{
  assert(!k->is_in_table);
  if (t->n == t->bucket_n)
    grow(t);
  put(t, k);
  k->older = t->newest;
  k->newer = NULL;
  *(t->newest ? &t->newest->newer : &t->oldest) = k;
  t->newest = k;
  t->n++;
  k->is_in_table = true;
  task_ref(k);
}

void task_table_remove(struct task_table *t, struct task *k)
{
  assert(k->is_in_table);
  struct task **at = bucket(t, mf_str_of(k->id));
  while (*at != k)
    at = &(*at)->bucket_next;
  *at = k->bucket_next;
  *(k->older ? &k->older->newer : &t->oldest) = k->newer;
  *(k->newer ? &k->newer->older : &t->newest) = k->older;
  t->n--;
  k->is_in_table = false;
  task_unref(k);
}
