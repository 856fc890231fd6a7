/* The host functions: what a guest may pass is anything. */
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "host.h"
#include "wasm/abi.h"
#include "base/banned.h"

#define MEMORY_N 65536u

struct sent {
  bool is_stderr, is_dropped;
  size_t n;
  char text[64];
};

struct world {
  struct mf_host host;
  uint8_t *memory;
  struct mf_host_view view;
  struct sent sent[8];
  unsigned sent_n;
  enum mf_host_sent answer;
};

static enum mf_host_sent on_output(void *user, bool is_stderr, const void *p, size_t n, bool is_dropped,
                                   uint64_t deadline_ns)
{
  struct world *w = user;
  assert_int_equal(deadline_ns, w->host.deadline_ns);
  assert_true(w->sent_n < MF_ARRAY_N(w->sent));
  struct sent *s = &w->sent[w->sent_n++];
  *s = (struct sent){ .is_stderr = is_stderr, .is_dropped = is_dropped, .n = n };
  memcpy(s->text, p, MF_MIN(n, sizeof(s->text) - 1));
  return w->answer;
}

static int set_up(void **state)
{
  struct world *w = mf_xcalloc(1, sizeof(*w));
  w->memory = malloc(MEMORY_N); /* its end is the allocation's, so that a sanitizer sees a step too far */
  assert_non_null(w->memory);
  for (size_t i = 0; i < MEMORY_N; i++)
    w->memory[i] = (uint8_t)('a' + i % 26);
  w->view = (struct mf_host_view){ w->memory, MEMORY_N };
  w->host = (struct mf_host){
    .sink = on_output, .user = w, .deadline_ns = mf_now_ns() + 3600 * MF_NS_PER_S, .streams = { { 100 }, { 10 } }
  };
  *state = w;
  return 0;
}

static int tear_down(void **state)
{
  struct world *w = *state;
  free(w->memory);
  free(w);
  return 0;
}

static void an_address_is_in_the_memory_or_nowhere(void **state)
{
  struct world *w = *state;
  assert_ptr_equal(mf_host_at(w->view, 0, MEMORY_N), w->memory);
  assert_ptr_equal(mf_host_at(w->view, 1, MEMORY_N - 1), w->memory + 1);
  assert_ptr_equal(mf_host_at(w->view, MEMORY_N, 0), w->memory + MEMORY_N);
  assert_null(mf_host_at(w->view, 0, MEMORY_N + 1));
  assert_null(mf_host_at(w->view, 1, MEMORY_N));
  assert_null(mf_host_at(w->view, MEMORY_N + 1, 0));
  assert_null(mf_host_at(w->view, UINT32_MAX, 0));
  assert_null(mf_host_at(w->view, UINT32_MAX, UINT32_MAX));
  assert_null(mf_host_at(w->view, 16, UINT64_MAX - 8)); /* their sum would wrap */
  const struct mf_host_view none = { NULL, 0 };
  assert_null(mf_host_at(none, 0, 1));
}

static void clocks_go_on_and_unknown_ones_say_so(void **state)
{
  struct world *w = *state;
  int64_t before = (int64_t)mf_now_ns();
  int64_t got = mf_host_clock(&w->host, MF_GUEST_CLOCK_MONOTONIC);
  assert_in_range(got, before, (int64_t)mf_now_ns());
  assert_true(mf_host_clock(&w->host, MF_GUEST_CLOCK_REALTIME) > 1600000000ll * (int64_t)MF_NS_PER_S);
  w->host.cpu_base_ns = mf_host_cpu_ns();
  assert_true(mf_host_clock(&w->host, MF_GUEST_CLOCK_CPUTIME) >= 0);
  static const int32_t strange[] = { 3, 4, -1, INT32_MAX, INT32_MIN };
  for (size_t i = 0; i < MF_ARRAY_N(strange); i++)
    assert_int_equal(mf_host_clock(&w->host, strange[i]), -1);
}

static void random_bytes_stay_in_the_memory(void **state)
{
  struct world *w = *state;
  uint8_t zero[64] = { 0 };
  memset(w->memory, 0, MEMORY_N);
  assert_int_equal(mf_host_random(&w->host, w->view, 64, 64), 0);
  assert_memory_equal(w->memory, zero, 64);
  assert_memory_not_equal(w->memory + 64, zero, 64);
  assert_memory_equal(w->memory + 128, zero, 64);
  assert_int_equal(mf_host_random(&w->host, w->view, (int32_t)MEMORY_N - 1, 1), 0);
  assert_int_equal(mf_host_random(&w->host, w->view, (int32_t)MEMORY_N, 0), 0);

  memset(w->memory, 0, MEMORY_N);
  static const struct {
    int32_t ptr, n;
  } wrong[] = { { 65536, 1 }, { 65535, 2 }, { 0, 65537 }, { -1, 1 }, { 0, -1 }, { -1, -1 }, { INT32_MIN, INT32_MIN } };
  for (size_t i = 0; i < MF_ARRAY_N(wrong); i++)
    assert_int_equal(mf_host_random(&w->host, w->view, wrong[i].ptr, wrong[i].n), MF_GUEST_EFAULT);
  for (size_t i = 0; i < MEMORY_N; i++)
    assert_int_equal(w->memory[i], 0); /* not even a part was filled */
  assert_int_equal(w->host.end, MF_HOST_RUNS);
}

static void much_chance_ends_at_the_deadline(void **state)
{
  struct world *w = *state;
  size_t n = 8u << 20;
  uint8_t *big = malloc(n);
  assert_non_null(big);
  w->host.deadline_ns = 1;
  assert_int_equal(mf_host_random(&w->host, (struct mf_host_view){ big, n }, 0, (int32_t)n), 0);
  assert_int_equal(w->host.end, MF_HOST_WALL);
  free(big);
}

static void what_is_written_goes_up_in_order(void **state)
{
  struct world *w = *state;
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 0, 3), 3);
  assert_int_equal(mf_host_write(&w->host, w->view, 2, 26 + 3, 2), 2);
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 5, 0), 0); /* nothing is no news */
  assert_int_equal(mf_host_write(&w->host, w->view, 1, (int32_t)MEMORY_N - 1, 1), 1);
  assert_int_equal(w->sent_n, 3);
  assert_string_equal(w->sent[0].text, "abc");
  assert_false(w->sent[0].is_stderr);
  assert_string_equal(w->sent[1].text, "de");
  assert_true(w->sent[1].is_stderr);
  assert_int_equal(w->sent[2].n, 1);
  assert_int_equal(w->host.streams[0].left, 96);
  assert_int_equal(w->host.streams[1].left, 8);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
}

static void wrong_descriptors_and_addresses_write_nothing(void **state)
{
  struct world *w = *state;
  static const int32_t fds[] = { 0, 3, 4, -1, INT32_MAX, INT32_MIN };
  for (size_t i = 0; i < MF_ARRAY_N(fds); i++)
    assert_int_equal(mf_host_write(&w->host, w->view, fds[i], 0, 1), -MF_GUEST_EBADF);
  static const struct {
    int32_t ptr, n;
  } wrong[] = { { 65536, 1 }, { 65535, 2 }, { 0, 65537 }, { -1, 1 }, { 0, -1 }, { 0, INT32_MIN }, { -1, INT32_MAX } };
  for (size_t i = 0; i < MF_ARRAY_N(wrong); i++)
    assert_int_equal(mf_host_write(&w->host, w->view, 1, wrong[i].ptr, wrong[i].n), -MF_GUEST_EFAULT);
  assert_int_equal(w->sent_n, 0);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
}

static void past_its_cap_a_stream_is_cut_and_the_program_goes_on(void **state)
{
  struct world *w = *state;
  assert_int_equal(mf_host_write(&w->host, w->view, 2, 0, 10), 10); /* all of it, and not yet more */
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 0, 60000), 60000);
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 0, 60000), 60000);
  assert_int_equal(mf_host_write(&w->host, w->view, 2, 0, 1), 1);
  assert_int_equal(w->sent_n, 3); /* that more was dropped is news once */
  assert_false(w->sent[0].is_dropped);
  assert_int_equal(w->sent[1].n, 100);
  assert_true(w->sent[1].is_dropped);
  assert_true(w->sent[2].is_stderr);
  assert_int_equal(w->sent[2].n, 0);
  assert_true(w->sent[2].is_dropped);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
}

static void past_its_cap_a_program_is_stopped_where_that_is_the_policy(void **state)
{
  struct world *w = *state;
  w->host.stop_on_output = true;
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 0, 100), 100);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
  (void)mf_host_write(&w->host, w->view, 1, 0, 1);
  assert_int_equal(w->host.end, MF_HOST_OUTPUT);
}

static void a_byte_past_the_cap_goes_up_and_stops_the_program(void **state)
{
  struct world *w = *state;
  w->host.spare_n = 4; /* the caps are 96 and 6 */
  assert_int_equal(mf_host_write(&w->host, w->view, 1, 0, 97), 97);
  assert_int_equal(w->host.end, MF_HOST_RUNS); /* another policy */
  w->host.stop_on_output = true;
  assert_int_equal(mf_host_write(&w->host, w->view, 2, 0, 6), 6);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
  (void)mf_host_write(&w->host, w->view, 2, 6, 1);
  assert_int_equal(w->host.end, MF_HOST_OUTPUT);
  assert_int_equal(w->sent_n, 3);
  assert_string_equal(w->sent[2].text, "g");
  assert_false(w->sent[2].is_dropped);
}

static void a_blocked_socket_does_not_outlive_the_deadline(void **state)
{
  struct world *w = *state;
  w->answer = MF_SENT_LATE;
  w->host.stop_on_output = true;
  (void)mf_host_write(&w->host, w->view, 1, 0, 500);
  assert_int_equal(w->host.end, MF_HOST_WALL); /* stronger than the cap that was passed too */
  w->host.end = MF_HOST_RUNS;
  w->answer = MF_SENT_NEVER;
  (void)mf_host_write(&w->host, w->view, 2, 0, 5);
  assert_int_equal(w->host.end, MF_HOST_BROKEN);
}

static void sleep_ends_at_the_deadline(void **state)
{
  struct world *w = *state;
  static const int64_t none[] = { 0, -1, INT64_MIN };
  for (size_t i = 0; i < MF_ARRAY_N(none); i++)
    mf_host_sleep(&w->host, none[i]);
  assert_int_equal(w->host.end, MF_HOST_RUNS);
  uint64_t start = mf_now_ns();
  mf_host_sleep(&w->host, 2 * (int64_t)MF_NS_PER_MS);
  assert_true(mf_now_ns() - start >= 2 * MF_NS_PER_MS);
  assert_int_equal(w->host.end, MF_HOST_RUNS);

  w->host.deadline_ns = mf_now_ns() + 2 * MF_NS_PER_MS;
  mf_host_sleep(&w->host, INT64_MAX); /* would end in 292 years */
  assert_true(mf_now_ns() >= w->host.deadline_ns);
  assert_int_equal(w->host.end, MF_HOST_WALL);
  w->host.end = MF_HOST_RUNS;
  mf_host_sleep(&w->host, -1); /* the deadline holds however short a sleep is */
  assert_int_equal(w->host.end, MF_HOST_WALL);
}

static void exit_keeps_a_byte(void **state)
{
  struct world *w = *state;
  static const struct {
    int32_t code;
    int want;
  } rows[] = { { 0, 0 }, { 3, 3 }, { 255, 255 }, { 256, 0 }, { -1, 255 }, { INT32_MIN, 0 }, { INT32_MAX, 255 } };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_host_exit(&w->host, rows[i].code);
    assert_int_equal(w->host.exit_code, rows[i].want);
    assert_int_equal(w->host.end, MF_HOST_EXITED);
  }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(an_address_is_in_the_memory_or_nowhere),
    TEST(clocks_go_on_and_unknown_ones_say_so),
    TEST(random_bytes_stay_in_the_memory),
    TEST(much_chance_ends_at_the_deadline),
    TEST(what_is_written_goes_up_in_order),
    TEST(wrong_descriptors_and_addresses_write_nothing),
    TEST(past_its_cap_a_stream_is_cut_and_the_program_goes_on),
    TEST(past_its_cap_a_program_is_stopped_where_that_is_the_policy),
    TEST(a_byte_past_the_cap_goes_up_and_stops_the_program),
    TEST(a_blocked_socket_does_not_outlive_the_deadline),
    TEST(sleep_ends_at_the_deadline),
    TEST(exit_keeps_a_byte),
  };
  return cmocka_run_group_tests_name("wasm host", tests, NULL, NULL);
}
