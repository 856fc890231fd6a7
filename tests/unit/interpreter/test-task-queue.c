/* The queue: owners take turns, positions are true, nothing is lost when one leaves. */
#include "unit.h"

#include <stdlib.h>

#include "task-queue.h"
#include "base/banned.h"

enum { N = 60 };

static struct task *add(struct task_queue *q, const char *owner, const char *id)
{
  struct task *k = task_new(NULL, id, mf_str_of(owner));
  task_queue_push(q, k);
  return k;
}

static void assert_pops(struct task_queue *q, const char *expected)
{
  struct task *k = task_queue_pop(q);
  assert_non_null(k);
  assert_string_equal(k->id, expected);
  assert_false(k->is_queued);
  task_unref(k);
}

static void owners_take_turns(void **state)
{
  struct task_queue q = { 0 };
  static const char *const rows[][2] = { { "a", "a1" }, { "a", "a2" }, { "a", "a3" }, { "b", "b1" },
                                         { "c", "c1" }, { "c", "c2" }, { "a", "a4" } };
  static const char *const order[] = { "a1", "b1", "c1", "a2", "c2", "a3", "a4" };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++)
    add(&q, rows[i][0], rows[i][1]);
  assert_int_equal(task_queue_of(&q, MF_STR("a")), 4);
  assert_int_equal(task_queue_of(&q, MF_STR("z")), 0);
  for (unsigned i = 0; i < MF_ARRAY_N(order); i++)
    assert_pops(&q, order[i]);
  assert_null(task_queue_pop(&q));
  assert_null(q.first);
  assert_null(q.last);
}

static void one_that_was_put_back_is_next(void **state)
{
  struct task_queue q = { 0 };
  add(&q, "a", "a1");
  add(&q, "a", "a2");
  add(&q, "b", "b1");
  struct task *k = task_queue_pop(&q);
  task_queue_push_front(&q, k);
  assert_int_equal(task_queue_position(&q, k), 1);
  assert_pops(&q, "a1");
  assert_pops(&q, "b1");
  k = task_queue_pop(&q);
  task_queue_push_front(&q, k); /* into an empty one */
  assert_pops(&q, "a2");
  assert_int_equal(q.n, 0);
}

/* Whatever comes and goes: positions are the order in which they are taken. */
static void positions_are_true(void **state)
{
  unsigned seed = 7;
  for (unsigned round = 0; round < 50; round++) {
    struct task_queue q = { 0 };
    struct task *tasks[N];
    unsigned n = 0;
    for (unsigned i = 0; i < N; i++) {
      char owner[8], id[8];
      seed = seed * 1103515245u + 12345u;
      snprintf(owner, sizeof(owner), "o%u", (seed >> 16) % 5);
      snprintf(id, sizeof(id), "t%u", i);
      tasks[n++] = add(&q, owner, id);
      seed = seed * 1103515245u + 12345u;
      if ((seed >> 16) % 4 == 0) {
        unsigned at = (seed >> 18) % n;
        task_queue_remove(&q, tasks[at]);
        task_unref(tasks[at]);
        tasks[at] = tasks[--n];
      }
    }
    assert_int_equal(q.n, n);
    unsigned positions[N];
    for (unsigned i = 0; i < n; i++)
      positions[i] = task_queue_position(&q, tasks[i]);
    for (unsigned taken = 1; q.n > 0; taken++) {
      const struct task *k = task_queue_pop(&q);
      unsigned i = 0;
      while (tasks[i] != k)
        i++;
      assert_int_equal(positions[i], taken);
    }
    for (unsigned i = 0; i < n; i++)
      task_unref(tasks[i]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(owners_take_turns),
    cmocka_unit_test(one_that_was_put_back_is_next),
    cmocka_unit_test(positions_are_true),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
