/* Files are collected on a thread where there are many, and the loop serves others meanwhile. The linker puts
 * __wrap_mf_artifacts_collect in the collector's place, so that the test decides when it goes on. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "fake.h"
#include "tempdir.h"
#include "base/banned.h"

enum gate { GATE_OPEN, GATE_WAITS, GATE_WAITS_FOR_STOP };

struct collector {
  enum gate gate;
  sem_t go;
  atomic_uint begun_n;
  pthread_t loop_thread;
  atomic_bool was_on_loop;
};

static struct collector *get_collector(void)
{
  static struct collector c;
  return &c;
}

static void reset(enum gate gate)
{
  struct collector *c = get_collector();
  c->gate = gate;
  assert_int_equal(sem_init(&c->go, 0, 0), 0);
  c->loop_thread = pthread_self();
  atomic_store(&c->begun_n, 0);
  atomic_store(&c->was_on_loop, false);
}

/* The names are the linker's choice. */
/* NOLINTBEGIN(cert-dcl37-c,bugprone-reserved-identifier) */
enum mf_code __real_mf_artifacts_collect(int dirfd, const struct mf_sandbox_limits *limits,
                                         const struct mf_sandbox_file *inputs, unsigned input_n,
                                         const atomic_bool *stop, struct mf_sandbox_result *r, struct mf_err *err);
enum mf_code __wrap_mf_artifacts_collect(int dirfd, const struct mf_sandbox_limits *limits,
                                         const struct mf_sandbox_file *inputs, unsigned input_n,
                                         const atomic_bool *stop, struct mf_sandbox_result *r, struct mf_err *err);
enum mf_code __wrap_mf_artifacts_collect(int dirfd, const struct mf_sandbox_limits *limits,
                                         const struct mf_sandbox_file *inputs, unsigned input_n,
                                         const atomic_bool *stop, struct mf_sandbox_result *r, struct mf_err *err)
{
  struct collector *c = get_collector();
  if (pthread_equal(pthread_self(), c->loop_thread))
    atomic_store(&c->was_on_loop, true);
  atomic_fetch_add(&c->begun_n, 1);
  if (c->gate == GATE_WAITS)
    while (sem_wait(&c->go) != 0)
      ;
  while (c->gate == GATE_WAITS_FOR_STOP && !atomic_load(stop))
    sched_yield();
  return __real_mf_artifacts_collect(dirfd, limits, inputs, input_n, stop, r, err);
}
/* NOLINTEND(cert-dcl37-c,bugprone-reserved-identifier) */

/* ---- directories ---- */

static void put(const struct mf_tempdir *dir, const char *name, const char *data)
{
  struct mf_err err;
  assert_ok(mf_tempdir_write(dir, mf_str_of(name), mf_str_of(data), &err), &err);
}

static void make_dir(struct mf_tempdir *dir, unsigned file_n)
{
  struct mf_err err;
  assert_ok(mf_tempdir_make(dir, &err), &err);
  for (unsigned i = 0; i < file_n; i++) {
    char name[32];
    snprintf(name, sizeof(name), "file-%02u.txt", i);
    put(dir, name, "x");
  }
}

static void knows_what_is_small(void **state)
{
  struct mf_tempdir dir;
  make_dir(&dir, 0);
  assert_true(mf_collect_is_small(dir.fd));
  put(&dir, "a.bin", "");
  int fd = openat(dir.fd, "a.bin", O_WRONLY | O_CLOEXEC);
  assert_int_equal(ftruncate(fd, 256 << 10), 0);
  assert_true(mf_collect_is_small(dir.fd));
  put(&dir, "b.bin", "x"); /* together a byte too many */
  assert_false(mf_collect_is_small(dir.fd));
  assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
  assert_false(mf_collect_is_small(dir.fd));
  close(fd);
  mf_tempdir_remove(&dir);

  make_dir(&dir, 16);
  assert_true(mf_collect_is_small(dir.fd));
  put(&dir, "one-more.txt", "x");
  assert_false(mf_collect_is_small(dir.fd));
  mf_tempdir_remove(&dir);

  make_dir(&dir, 0);
  assert_int_equal(mkdirat(dir.fd, "folder", 0700), 0);
  assert_false(mf_collect_is_small(dir.fd));
  mf_tempdir_remove(&dir);
  assert_true(mf_collect_is_small(-1)); /* soon over */
}

/* ---- runs ---- */

/* A run that has ended and left the files of `dir`. */
static struct fake_run *end_with_files(struct fake *f, const struct mf_tempdir *dir, uint64_t *ret_id)
{
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(f, &spec);
  *ret_id = fake_take_start(f);
  fake_send_started(f, *ret_id, true);
  struct mf_sup_finished end = fake_finished(*ret_id);
  end.has_files = 1;
  fake_send_finished(f, &end, dir->fd);
  fake_send_reaped(f, *ret_id);
  return r;
}

static void run_another(struct fake *f)
{
  const struct mf_sandbox_spec spec = fake_spec("");
  struct fake_run *r = fake_start(f, &spec);
  uint64_t id = fake_take_start(f);
  fake_send_started(f, id, true);
  fake_send_output(f, id, false, "other\n", false);
  const struct mf_sup_finished end = fake_finished(id);
  fake_send_finished(f, &end, -1);
  fake_send_reaped(f, id);
  UNTIL(f, r->released_n > 0);
  assert_int_equal(r->result->status, MF_RUN_SUCCEEDED);
  assert_string_equal(r->out.ptr, "other\n");
}

static void few_files_need_no_thread(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  uint64_t id;
  make_dir(&dir, 2);
  reset(GATE_OPEN);
  fake_init(&f);
  fake_open_up(&f);
  struct fake_run *r = end_with_files(&f, &dir, &id);
  UNTIL(&f, r->released_n > 0);
  assert_true(atomic_load(&get_collector()->was_on_loop));
  assert_int_equal(r->result->artifact_n, 2);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

static void others_are_served_meanwhile(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  uint64_t id;
  make_dir(&dir, 40);
  reset(GATE_WAITS);
  fake_init(&f);
  fake_open_up(&f);
  struct fake_run *r = end_with_files(&f, &dir, &id);
  UNTIL(&f, atomic_load(&get_collector()->begun_n) == 1);
  run_another(&f);
  assert_int_equal(r->finished_n, 0);
  assert_int_equal(mf_provider_busy(f.provider), 1); /* its place is taken until then */

  /* What comes too late changes nothing. */
  mf_sandbox_cancel(r->run);
  const struct mf_sup_hint hint = { .type = MF_SUP_HINT, .id = id, .len = 4, .text = "late" };
  fake_send(&f, &hint, sizeof(hint), -1);
  fake_send_output(&f, id, false, "late", false);
  fake_send_reaped(&f, id);
  run_another(&f);
  fake_die(&f);
  UNTIL(&f, f.spawn_n == 2);
  assert_int_equal(r->finished_n, 0);

  assert_int_equal(sem_post(&get_collector()->go), 0);
  UNTIL(&f, r->released_n > 0);
  assert_false(atomic_load(&get_collector()->was_on_loop));
  assert_int_equal(r->result->status, MF_RUN_SUCCEEDED);
  assert_int_equal(r->result->artifact_n, 40);
  assert_string_equal(r->result->artifacts[39].path, "file-39.txt");
  assert_int_equal(r->result->rejected_n, 0);
  assert_int_equal(r->result->denied_n, 0);
  assert_int_equal(r->result->out.len, 0);
  assert_string_equal(r->result->receipt.isolation, "full");
  assert_int_equal(mf_provider_busy(f.provider), 0);
  fake_close(&f);
  mf_tempdir_remove(&dir);
}

static void closing_stops_it(void **state)
{
  struct fake f;
  struct mf_tempdir dir;
  uint64_t id;
  make_dir(&dir, 40);
  reset(GATE_WAITS_FOR_STOP);
  fake_init(&f);
  f.seam.times.close_ms = 1; /* far shorter than a collection may take */
  fake_open_up(&f);
  struct fake_run *r = end_with_files(&f, &dir, &id);
  UNTIL(&f, atomic_load(&get_collector()->begun_n) == 1);
  fake_close(&f); /* waits for it; frees the results */
  assert_int_equal(r->finished_n, 1);
  assert_int_equal(r->released_n, 1);
  mf_tempdir_remove(&dir);
}

static void stopping_is_told(void **state)
{
  struct mf_tempdir dir;
  struct mf_err err;
  struct mf_sandbox_limits limits;
  atomic_bool stop = true;
  make_dir(&dir, 3);
  reset(GATE_OPEN);
  mf_sandbox_limits_default(&limits);
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  assert_ok(mf_artifacts_collect(dir.fd, &limits, NULL, 0, &stop, r, &err), &err);
  assert_int_equal(r->artifact_n, 0);
  assert_int_equal(r->rejected_n, 1);
  assert_string_equal(r->rejected[0].path, ".");
  assert_string_equal(r->rejected[0].reason, "collecting was stopped: the rest was not looked at");
  mf_sandbox_result_free(r);
  mf_tempdir_remove(&dir);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(knows_what_is_small),
    cmocka_unit_test(few_files_need_no_thread),
    cmocka_unit_test(others_are_served_meanwhile),
    cmocka_unit_test(closing_stops_it),
    cmocka_unit_test(stopping_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
