/* A provider that is closed and has to wait does only that. The adopting of files is held up by the test, and how often
 * the provider sets its timer is counted: __wrap_… stand in the place of both. */
#include "unit.h"

#include <semaphore.h>

#include "fake-worker.h"
#include "base/banned.h"

static struct {
  sem_t go;
  unsigned armed_n;
} seen;

/* The names are the linker's choice. */
/* NOLINTBEGIN(cert-dcl37-c,bugprone-reserved-identifier) */
void __real_mf_timer_arm(struct mf_timer *t, uint64_t deadline_ns);
void __wrap_mf_timer_arm(struct mf_timer *t, uint64_t deadline_ns);
void __wrap_mf_timer_arm(struct mf_timer *t, uint64_t deadline_ns)
{
  seen.armed_n++;
  __real_mf_timer_arm(t, deadline_ns);
}

void __real_mf_artifacts_adopt(const struct mf_offered_file *files, unsigned n, uint64_t left_n, uint64_t other_n,
                               const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs,
                               unsigned input_n, const atomic_bool *stop, struct mf_sandbox_result *r);
void __wrap_mf_artifacts_adopt(const struct mf_offered_file *files, unsigned n, uint64_t left_n, uint64_t other_n,
                               const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs,
                               unsigned input_n, const atomic_bool *stop, struct mf_sandbox_result *r);
void __wrap_mf_artifacts_adopt(const struct mf_offered_file *files, unsigned n, uint64_t left_n, uint64_t other_n,
                               const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs,
                               unsigned input_n, const atomic_bool *stop, struct mf_sandbox_result *r)
{
  while (sem_wait(&seen.go) != 0)
    ;
  __real_mf_artifacts_adopt(files, n, left_n, other_n, limits, inputs, input_n, stop, r);
}
/* NOLINTEND(cert-dcl37-c,bugprone-reserved-identifier) */

static void note_closed(void *user)
{
  struct fake *f = user;
  f->closed_n++;
  f->provider = NULL;
}

/* A sweep that became due meanwhile is no reason to come back at once, again and again. */
static void closing_waits_without_being_busy(void **state)
{
  struct fake f;
  assert_int_equal(sem_init(&seen.go, 0, 0), 0);
  fake_init(&f);
  f.sweep_busy_n = UINT32_MAX;
  fake_open_up(&f);
  const struct mf_sandbox_spec spec = fake_spec("x");
  struct fake_run *r = fake_start(&f, &spec);
  uint64_t serial = fake_take_call(&f, 0);
  fake_send_began(&f, 0, serial);
  for (unsigned i = 0; i < 40; i++) { /* too many to be adopted at once */
    char name[16];
    snprintf(name, sizeof(name), "f%02u", i);
    fake_send_file(&f, 0, serial, name, name);
    fake_slice(&f);
  }
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(&f, 0, &done);
  assert_works(&f, 0);
  UNTIL(&f, f.sweep_n > 0);

  mf_provider_close(f.provider, note_closed, &f);
  unsigned before = seen.armed_n, slices = 100; /* of a millisecond at least: longer than it is between two sweeps */
  for (unsigned i = 0; i < slices; i++)
    fake_slice(&f);
  unsigned armed_n = seen.armed_n - before - slices; /* a slice has a timer too */
  if (armed_n > 20)
    fail_msg("its timer was set %u times, and nothing had happened", armed_n);
  assert_int_equal(f.closed_n, 0);
  assert_int_equal(sem_post(&seen.go), 0);
  UNTIL(&f, f.closed_n == 1);
  assert_int_equal(r->released_n, 1);
  fake_close(&f);
  sem_destroy(&seen.go);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(closing_waits_without_being_busy) };
  return cmocka_run_group_tests_name("wasm closing", tests, NULL, NULL);
}
