/* The test as workers. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "fake-worker.h"
#include "base/banned.h"

static enum mf_code spawn_fake(void *user, const char *program, const struct mf_worker_config *config, int code_fd,
                               const int *cgroup_fds, struct mf_pidref *ret_proc, int *ret_sock, struct mf_err *err)
{
  struct fake *f = user;
  assert_int_equal(code_fd, -1);
  if (f->refuses_spawn)
    return mf_fail(err, MF_E_SYS, f->spawn_sys, "refused by the test");
  assert_true(f->spawn_n < FAKE_WORKERS_MAX);
  int pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  f->socks[f->spawn_n++] = pair[1];
  f->worker_config = *config;
  *ret_sock = pair[0];
  *ret_proc = MF_PIDREF_NULL;
  return MF_OK;
}

static unsigned sweep_fake(void *user)
{
  struct fake *f = user;
  f->sweep_n++;
  return f->sweep_busy_n > 0 ? f->sweep_busy_n-- : 0;
}

static void stop_slice(void *user)
{
  struct fake *f = user;
  mf_loop_stop(f->loop);
}

void fake_init(struct fake *f)
{
  struct mf_err err;
  *f = (struct fake){ .ready_code = MF_CODE_N };
  for (unsigned i = 0; i < FAKE_WORKERS_MAX; i++)
    f->socks[i] = -1;
  assert_ok(mf_loop_new(&f->loop, &err), &err);
  assert_ok(mf_timer_new(f->loop, stop_slice, f, &f->slice, &err), &err);
  mf_wasm_config_default(&f->config);
  f->config.max_running = 2;
  f->config.use_cgroup = false;
  f->seam = (struct mf_wasm_seam){ .spawn = spawn_fake, .sweep = sweep_fake, .user = f };
  mf_wasm_times_default(&f->seam.times);
  f->seam.times.backoff_min_ms = f->seam.times.backoff_max_ms = 1;
}

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct fake *f = user;
  f->ready_n++;
  f->ready_code = code;
  if (err)
    f->ready_err = *err;
}

static void on_closed(void *user)
{
  struct fake *f = user;
  f->closed_n++;
  f->provider = NULL;
}

void fake_open(struct fake *f)
{
  struct mf_err err;
  const struct mf_wasm_runtime_info info = {
    .id = "python-wasm-test", .digest = "sha256:00", .python_version = "3.13.5", .wasmtime_version = "48.0.8"
  };
  assert_ok(mf_wasm_new_with(f->loop, &f->config, &info, -1, &f->seam, on_ready, f, &f->provider, &err), &err);
}

void fake_open_up(struct fake *f)
{
  fake_open(f);
  UNTIL(f, f->spawn_n > 0);
  fake_get_ready(f, 0);
  uint64_t serial = fake_take_call(f, 0);
  fake_send_began(f, 0, serial);
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(f, 0, &done);
  UNTIL(f, f->ready_n > 0);
  assert_ok(f->ready_code, &f->ready_err);
}

void fake_close(struct fake *f)
{
  if (f->provider) {
    mf_provider_close(f->provider, on_closed, f);
    UNTIL(f, f->closed_n > 0);
  }
  assert_int_equal(f->ready_n, 1);
  for (unsigned i = 0; i < f->run_n; i++) {
    assert_int_equal(f->runs[i].finished_n, 1);
    assert_int_equal(f->runs[i].released_n, 1);
    mf_sandbox_result_free(f->runs[i].result);
    mf_buf_done(&f->runs[i].out);
  }
  for (unsigned i = 0; i < FAKE_WORKERS_MAX; i++)
    mf_close_ptr(&f->socks[i]);
  mf_timer_free(f->slice);
  mf_loop_free(f->loop);
}

void fake_slice(struct fake *f)
{
  struct mf_err err;
  mf_timer_arm(f->slice, mf_now_ns() + MF_NS_PER_MS);
  assert_ok(mf_loop_run(f->loop, &err), &err);
}

/* ---- runs ---- */

static void on_started(void *user)
{
  struct fake_run *r = user;
  assert_int_equal(r->finished_n, 0);
  r->started_n++;
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct fake_run *r = user;
  assert_int_equal(r->finished_n, 0);
  assert_ok(mf_buf_append_str(&r->out, text), &(struct mf_err){ .msg = "too much output" });
  r->output_n++;
}

static void on_finished(void *user, struct mf_sandbox_result *result)
{
  struct fake_run *r = user;
  r->finished_n++;
  r->run = NULL;
  r->result = result;
  if (r->on_finished)
    r->on_finished(r);
}

static void on_released(void *user)
{
  struct fake_run *r = user;
  assert_int_equal(r->finished_n, 1);
  r->released_n++;
}

static const struct mf_sandbox_events events = { on_started, on_output, on_finished, on_released };

struct mf_sandbox_spec fake_spec(const char *source)
{
  struct mf_sandbox_spec spec = { .source = mf_str_of(source) };
  mf_sandbox_limits_default(&spec.limits);
  return spec;
}

enum mf_code fake_try(struct fake *f, const struct mf_sandbox_spec *spec, struct fake_run **ret, struct mf_err *err)
{
  assert_true(f->run_n < FAKE_RUNS_MAX);
  struct fake_run *r = &f->runs[f->run_n];
  *r = (struct fake_run){ .fake = f };
  enum mf_code code = mf_sandbox_start(f->provider, spec, &events, r, &r->run, err);
  if (code != MF_OK)
    return code;
  mf_buf_init(&r->out, 1 << 20);
  f->run_n++;
  *ret = r;
  return MF_OK;
}

struct fake_run *fake_start(struct fake *f, const struct mf_sandbox_spec *spec)
{
  struct fake_run *r = NULL;
  struct mf_err err;
  assert_ok(fake_try(f, spec, &r, &err), &err);
  assert_int_equal(r->finished_n, 0);
  return r;
}

/* ---- frames ---- */

static bool peek(const struct fake *f, unsigned i, ssize_t *ret_n)
{
  char byte;
  *ret_n = recv(f->socks[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return *ret_n >= 0;
}

bool fake_has_frame(struct fake *f, unsigned i)
{
  ssize_t n;
  return f->socks[i] >= 0 && peek(f, i, &n) && n > 0;
}

bool fake_is_gone(struct fake *f, unsigned i)
{
  ssize_t n;
  if (f->socks[i] >= 0 && peek(f, i, &n) && n == 0)
    mf_close_ptr(&f->socks[i]);
  return f->socks[i] < 0;
}

void fake_take(struct fake *f, unsigned i, uint32_t type, void *frame, size_t size, int *ret_fd)
{
  int fds[MF_FDS_MAX];
  unsigned fd_n = 0;
  size_t n = 0;
  struct mf_err err;
  UNTIL(f, fake_has_frame(f, i));
  assert_ok(mf_recv_msg(f->socks[i], frame, size, &n, fds, &fd_n, &err), &err);
  assert_int_equal(n, size);
  uint32_t got;
  memcpy(&got, frame, sizeof(got));
  assert_int_equal(got, type);
  mf_auto_close int fd = fd_n > 0 ? fds[0] : -1;
  assert_true(fd_n <= 1);
  if (ret_fd)
    *ret_fd = mf_take_fd(&fd);
}

void fake_get_ready(struct fake *f, unsigned i)
{
  struct mf_worker_hello go;
  fake_send_hello(f, i);
  fake_take(f, i, MF_WORKER_GO, &go, sizeof(go), NULL);
  assert_int_equal(go.version, MF_WORKER_VERSION);
  fake_send_ready(f, i);
}

uint64_t fake_take_call(struct fake *f, unsigned i)
{
  struct mf_worker_call call;
  fake_take(f, i, MF_WORKER_CALL, &call, sizeof(call), NULL);
  return call.serial;
}

void fake_send(struct fake *f, unsigned i, const void *frame, size_t size, int fd)
{
  struct mf_err err;
  assert_ok(mf_send_msg(f->socks[i], frame, size, &fd, fd >= 0, &err), &err);
}

void fake_send_hello(struct fake *f, unsigned i)
{
  const struct mf_worker_hello hello = { .type = MF_WORKER_HELLO, .version = MF_WORKER_VERSION };
  fake_send(f, i, &hello, sizeof(hello), -1);
}

void fake_send_ready(struct fake *f, unsigned i)
{
  const struct mf_worker_ready ready = { .type = MF_WORKER_READY, .layers = MF_WORKER_LAYERS_FULL, "c0ffee", "" };
  fake_send(f, i, &ready, sizeof(ready), -1);
}

void fake_send_began(struct fake *f, unsigned i, uint64_t serial)
{
  const struct mf_worker_began began = { .type = MF_WORKER_BEGAN, .serial = serial };
  fake_send(f, i, &began, sizeof(began), -1);
}

void fake_send_output(struct fake *f, unsigned i, uint64_t serial, bool is_stderr, const char *text, bool is_dropped)
{
  struct {
    struct mf_worker_output head;
    char text[4096];
  } frame = { { .type = MF_WORKER_OUTPUT, .is_stderr = is_stderr, .serial = serial, .dropped = is_dropped }, "" };
  size_t n = strlen(text);
  assert_true(n <= sizeof(frame.text));
  frame.head.len = (uint32_t)n;
  memcpy(frame.text, text, n);
  fake_send(f, i, &frame, sizeof(frame.head) + n, -1);
}

void fake_send_file(struct fake *f, unsigned i, uint64_t serial, const char *name, const char *data)
{
  struct {
    struct mf_worker_file head;
    char name[MF_WORKER_NAME_MAX];
  } frame = { { .type = MF_WORKER_FILE, .serial = serial, .name_n = (uint32_t)strlen(name), .size = 1000 }, "" };
  memcpy(frame.name, name, frame.head.name_n);
  mf_auto_close int fd = -1;
  if (data) {
    struct mf_err err;
    frame.head.size = strlen(data);
    assert_ok(mf_memfd("file", &fd, &err), &err);
    assert_ok(mf_write_all(fd, data, strlen(data), &err), &err);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  }
  fake_send(f, i, &frame, sizeof(frame.head) + frame.head.name_n, fd);
}

struct mf_worker_done fake_done(uint64_t serial)
{
  return (struct mf_worker_done){ .type = MF_WORKER_DONE,
                                  .end = MF_END_WORD,
                                  .serial = serial,
                                  .fuel_used = 1000,
                                  .memory_bytes = 32u << 20,
                                  .wall_us = 12345,
                                  .cpu_us = 6789 };
}

void fake_send_done(struct fake *f, unsigned i, const struct mf_worker_done *done)
{
  fake_send(f, i, done, sizeof(*done), -1);
}

void fake_die(struct fake *f, unsigned i)
{
  mf_close_ptr(&f->socks[i]);
}

void assert_ended(const struct fake_run *r, enum mf_run_status status, enum mf_run_reason reason,
                  const char *diagnostic)
{
  assert_int_equal(r->finished_n, 1);
  if (r->result->status != status || r->result->reason != reason)
    fail_msg("got %s/%s, expected %s/%s", mf_run_status_name(r->result->status), mf_run_reason_name(r->result->reason),
             mf_run_status_name(status), mf_run_reason_name(reason));
  assert_string_equal(r->result->diagnostic, diagnostic);
}

void assert_works(struct fake *f, unsigned i)
{
  const struct mf_sandbox_spec spec = fake_spec("print(1)");
  struct fake_run *r = fake_start(f, &spec);
  uint64_t serial = fake_take_call(f, i);
  fake_send_began(f, i, serial);
  fake_send_output(f, i, serial, false, "1\n", false);
  const struct mf_worker_done done = fake_done(serial);
  fake_send_done(f, i, &done);
  UNTIL(f, r->released_n > 0);
  assert_ended(r, MF_RUN_SUCCEEDED, MF_REASON_EXIT, "");
  assert_string_equal(r->result->out.ptr, "1\n");
}

unsigned fake_open_fds(void)
{
  unsigned n = 0;
  DIR *d = opendir("/proc/self/fd");
  assert_non_null(d);
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}
