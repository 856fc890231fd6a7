/* The watchdog: how long it may look away, what it reads from /proc, and that it sees a tree that grows. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "proctree.h"
#include "watchdog.h"
#include "base/banned.h"

#define MB (1ull << 20)

/* ---- pure ---- */

static void memory_wait_follows_the_headroom(void **state)
{
  static const struct {
    uint64_t used, limit, ms;
  } rows[] = {
    { 0, 1024 * MB, 50 },      { 0, 200 * MB, 50 },       { 0, 100 * MB, 25 },
    { 60 * MB, 100 * MB, 10 }, { 92 * MB, 100 * MB, 2 },  { 99 * MB, 100 * MB, 1 },
    { 100 * MB, 100 * MB, 1 }, { 900 * MB, 100 * MB, 1 }, { 0, UINT64_MAX, 50 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_watchdog_memory_wait_ns(rows[i].used, rows[i].limit), rows[i].ms * MF_NS_PER_MS);
}

static void cpu_wait_is_the_earliest_possible(void **state)
{
  static const struct {
    uint64_t used_us, limit_us;
    unsigned cpu_n;
    uint64_t ns;
  } rows[] = {
    { 0, 500000, 1, 500 * MF_NS_PER_MS },     { 0, 500000, 2, 250 * MF_NS_PER_MS },
    { 400000, 500000, 2, 50 * MF_NS_PER_MS }, { 499999, 500000, 64, MF_NS_PER_MS },
    { 600000, 500000, 2, MF_NS_PER_MS },      { 0, 3600000000, 1, MF_NS_PER_S },
    { 0, UINT64_MAX, 1, MF_NS_PER_S },        { 0, 1000000, 0, MF_NS_PER_S },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    assert_int_equal(mf_watchdog_cpu_wait_ns(rows[i].used_us, rows[i].limit_us, rows[i].cpu_n), rows[i].ns);
}

static void reads_kilobytes(void **state)
{
  const char *text =
      "VmPeak:\t  9 kB\nRssAnon:\t     123 kB\nRssShmem:\t0 kB\nBad:\tx kB\nHuge:\t99999999999999999999 kB\n";
  uint64_t v = 7;
  assert_true(mf_proc_kb(text, "RssAnon", &v));
  assert_int_equal(v, 123 * 1024);
  assert_true(mf_proc_kb(text, "RssShmem", &v));
  assert_int_equal(v, 0);
  assert_false(mf_proc_kb(text, "Rss", &v));
  assert_false(mf_proc_kb(text, "Bad", &v));
  assert_false(mf_proc_kb(text, "Huge", &v));
  assert_false(mf_proc_kb("", "RssAnon", &v));
}

static void reads_stat_whatever_the_name(void **state)
{
  uint64_t own, waited;
  assert_true(mf_proc_stat_ticks("7 (a) b) 1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0", &own, &waited));
  assert_int_equal(own, 23);
  assert_int_equal(waited, 27);
  assert_false(mf_proc_stat_ticks("7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12", &own, &waited));
  assert_false(mf_proc_stat_ticks("7 (a) S 1 2 3 4 5 6 7 8 9 10 x 12 13 14 15", &own, &waited));
  assert_false(mf_proc_stat_ticks("", &own, &waited));
}

/* ---- a real tree: a "guest" with a child and an orphan that the "init" has got ---- */

struct tree {
  pid_t init, guest;
  int ready, go;
};

/* What each process of the tree does once it is told to. */
typedef void work_fn(void);

static void sleep_on(void)
{
  pause();
}

static void take_40_mb(void)
{
  char *p = mmap(NULL, 40 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED)
    memset(p, 1, 40 * MB);
  pause();
}

static void spin(void)
{
  for (volatile unsigned i = 0;; i++)
    ;
}

static void say_and_work(int ready, int go, work_fn *work)
{
  char c = 0;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must leave nothing */
  if (write(ready, "r", 1) != 1 || read(go, &c, 1) != 0)
    _exit(1);
  work();
  _exit(0);
}

/* init → guest → child. The pipe's end of file is the signal to go. */
static void start_tree(struct tree *t, work_fn *guest_work, work_fn *child_work)
{
  int ready[2], go[2];
  assert_int_equal(pipe(ready), 0);
  assert_int_equal(pipe(go), 0);
  t->init = fork();
  assert_true(t->init >= 0);
  if (t->init == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(go[1]);
    pid_t guest = fork();
    if (guest == 0) {
      if (fork() == 0)
        say_and_work(ready[1], go[0], child_work);
      say_and_work(ready[1], go[0], guest_work);
    }
    pause();
    _exit(0);
  }
  close(ready[1]);
  close(go[0]);
  char c;
  for (int i = 0; i < 2; i++)
    assert_int_equal(read(ready[0], &c, 1), 1);
  close(ready[0]);
  t->go = go[1];
  t->guest = mf_proc_first_child(t->init);
  assert_true(t->guest > 0);
}

static void end_tree(struct tree *t)
{
  struct mf_proctree all;
  mf_proctree_read(&all, t->guest, t->init, MF_PROCTREE_MAX);
  for (unsigned i = 0; i < all.n; i++)
    kill(all.pids[i], SIGKILL);
  kill(t->init, SIGKILL);
  waitpid(t->init, NULL, 0);
}

static void finds_guest_and_child_but_not_the_init(void **state)
{
  struct tree t;
  start_tree(&t, sleep_on, sleep_on);
  struct mf_proctree all;
  mf_proctree_read(&all, t.guest, t.init, MF_PROCTREE_MAX);
  assert_int_equal(all.n, 2);
  for (unsigned i = 0; i < all.n; i++)
    assert_int_not_equal(all.pids[i], t.init);
  mf_proctree_read(&all, t.guest, t.init, 1);
  assert_int_equal(all.n, 1);
  mf_proctree_read(&all, 0, 0, MF_PROCTREE_MAX);
  assert_int_equal(all.n, 0);
  close(t.go);
  end_tree(&t);
}

/* Looks until there is a cause, or a thousand times. */
static enum mf_kill_cause look_until_broken(struct mf_watchdog *w)
{
  for (int i = 0; i < 20000; i++) {
    uint64_t wait_ns;
    enum mf_kill_cause cause = mf_watchdog_look(w, 0, &wait_ns);
    if (cause != MF_KILL_NONE)
      return cause;
    assert_in_range(wait_ns, MF_NS_PER_MS, MF_NS_PER_S);
    usleep(1000);
  }
  return MF_KILL_NONE;
}

static void memory_of_two_is_added(void **state)
{
  struct tree t;
  start_tree(&t, take_40_mb, take_40_mb);
  struct mf_watchdog w;
  mf_watchdog_init(&w, t.guest, t.init, 60 * MB, 0, 2);
  assert_true(mf_watchdog_is_needed(&w));
  uint64_t wait_ns;
  assert_int_equal(mf_watchdog_look(&w, 0, &wait_ns), MF_KILL_NONE);
  close(t.go);
  assert_int_equal(look_until_broken(&w), MF_KILL_MEMORY);
  assert_true(w.memory_seen > 60 * MB);
  end_tree(&t);
}

static void cpu_of_a_descendant_counts(void **state)
{
  struct tree t;
  start_tree(&t, sleep_on, spin);
  struct mf_watchdog w;
  mf_watchdog_init(&w, t.guest, t.init, 0, 100000, 2);
  close(t.go);
  assert_int_equal(look_until_broken(&w), MF_KILL_CPU);
  assert_true(w.cpu_seen >= 100000);
  end_tree(&t);
}

static void what_the_group_says_counts(void **state)
{
  struct mf_watchdog w;
  uint64_t wait_ns;
  mf_watchdog_init(&w, 0, 0, 0, 1000, 1);
  assert_int_equal(mf_watchdog_look(&w, 999, &wait_ns), MF_KILL_NONE);
  assert_int_equal(mf_watchdog_look(&w, 1000, &wait_ns), MF_KILL_CPU);
}

static void nothing_to_watch(void **state)
{
  struct mf_watchdog w;
  uint64_t wait_ns;
  mf_watchdog_init(&w, 0, 0, 0, 0, 1);
  assert_false(mf_watchdog_is_needed(&w));
  assert_int_equal(mf_watchdog_look(&w, 5, &wait_ns), MF_KILL_NONE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_wait_follows_the_headroom),
    cmocka_unit_test(cpu_wait_is_the_earliest_possible),
    cmocka_unit_test(reads_kilobytes),
    cmocka_unit_test(reads_stat_whatever_the_name),
    cmocka_unit_test(finds_guest_and_child_but_not_the_init),
    cmocka_unit_test(memory_of_two_is_added),
    cmocka_unit_test(cpu_of_a_descendant_counts),
    cmocka_unit_test(what_the_group_says_counts),
    cmocka_unit_test(nothing_to_watch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
