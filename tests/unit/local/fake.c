/* The test as supervisor. */
#include "unit.h"

#include <dirent.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "fake.h"
#include "base/banned.h"

static enum mf_code spawn_fake(void *user, const char *program, const struct mf_supervisor_config *config,
                               struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  struct fake *f = user;
  f->spawn_n++;
  if (f->refuses_spawn)
    return mf_fail(err, MF_E_SYS, 0, "start supervisor: refused by the test");
  int pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  if (f->send_buffer)
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &f->send_buffer, sizeof(f->send_buffer)), 0);
  mf_close_ptr(&f->sock);
  f->sock = pair[1];
  *ret_sock = pair[0];
  *ret_sup = MF_PIDREF_NULL;
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
  *f = (struct fake){ .sock = -1 };
  assert_ok(mf_loop_new(&f->loop, &err), &err);
  assert_ok(mf_timer_new(f->loop, stop_slice, f, &f->slice, &err), &err);
  f->runtime = (struct mf_runtime_info){ .id = "python-test",
                                         .digest = "sha256:00",
                                         .python_version = "3.12.1",
                                         .python_path = "/opt/python/bin/python3.12",
                                         .has_numpy = true };
  mf_local_config_default(&f->config);
  f->config.runtime_dir = "/runtime";
  f->zygote_dir = "/zygote";
  f->config.max_running = 2;
  f->seam = (struct mf_local_seam){ .spawn = spawn_fake, .sweep = sweep_fake, .user = f };
  mf_local_times_default(&f->seam.times);
  f->seam.times.backoff_min_ms = 1;
  f->seam.times.sweep_ms = 1;
}

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct fake *f = user;
  f->ready_n++;
  f->ready_code = code;
  assert_true((code == MF_OK) == (err == NULL));
  if (err)
    f->ready_err = *err;
}

void fake_open(struct fake *f)
{
  struct mf_err err;
  assert_ok(
      mf_local_new_with(f->loop, &f->config, f->zygote_dir, &f->runtime, &f->seam, on_ready, f, &f->provider, &err),
      &err);
  assert_int_equal(f->ready_n, 0); /* never from inside */
}

void fake_open_up(struct fake *f)
{
  fake_open(f);
  fake_send_ready(f);
  UNTIL(f, f->ready_n > 0);
  assert_int_equal(f->ready_code, MF_OK);
}

static void on_closed(void *user)
{
  struct fake *f = user;
  f->closed_n++;
  f->provider = NULL;
}

void fake_close(struct fake *f)
{
  if (f->provider && f->closed_n == 0)
    mf_provider_close(f->provider, on_closed, f);
  UNTIL(f, f->closed_n > 0 || !f->provider);
  for (unsigned i = 0; i < f->run_n; i++) {
    assert_int_equal(f->runs[i].finished_n, 1); /* each run, exactly once */
    assert_int_equal(f->runs[i].released_n, 1);
    mf_sandbox_result_free(f->runs[i].result);
    mf_buf_done(&f->runs[i].out);
    mf_buf_done(&f->runs[i].err);
  }
  mf_close_ptr(&f->sock);
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
  if (r->on_started)
    r->on_started(r);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct fake_run *r = user;
  assert_int_equal(r->finished_n, 0);
  assert_true(text.len > 0);
  r->output_n++;
  assert_int_equal(mf_buf_append_str(is_stderr ? &r->err : &r->out, text), MF_OK);
  if (r->on_output)
    r->on_output(r);
}

static void on_finished(void *user, struct mf_sandbox_result *result)
{
  struct fake_run *r = user;
  r->finished_n++;
  assert_int_equal(r->finished_n, 1);
  r->result = result;
  r->run = NULL;
  /* What was streamed is what is returned. */
  assert_int_equal(r->out.len, result->out.len);
  assert_memory_equal(r->out.ptr, result->out.ptr, r->out.len);
  assert_int_equal(r->err.len, result->err.len);
  assert_memory_equal(r->err.ptr, result->err.ptr, r->err.len);
  if (r->on_finished)
    r->on_finished(r);
}

static void on_released(void *user)
{
  struct fake_run *r = user;
  assert_int_equal(r->finished_n, 1);
  r->released_n++;
  assert_int_equal(r->released_n, 1);
}

static const struct mf_sandbox_events events = {
  .started = on_started,
  .output = on_output,
  .finished = on_finished,
  .released = on_released,
};

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
  mf_buf_init(&r->out, 32u << 20);
  mf_buf_init(&r->err, 32u << 20);
  enum mf_code code = mf_sandbox_start(f->provider, spec, &events, r, &r->run, err);
  if (code != MF_OK) {
    mf_buf_done(&r->out);
    mf_buf_done(&r->err);
    return code;
  }
  assert_int_equal(r->started_n + r->finished_n + r->output_n, 0); /* never from inside */
  f->run_n++;
  *ret = r;
  return MF_OK;
}

struct fake_run *fake_start(struct fake *f, const struct mf_sandbox_spec *spec)
{
  struct mf_err err;
  struct fake_run *r = NULL;
  assert_ok(fake_try(f, spec, &r, &err), &err);
  return r;
}

/* ---- frames ---- */

bool fake_has_frame(struct fake *f)
{
  char byte;
  fake_slice(f);
  return recv(f->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

void fake_take(struct fake *f, uint32_t type, void *frame, size_t size, int *ret_fd)
{
  UNTIL(f, fake_has_frame(f));
  struct mf_err err;
  union {
    uint32_t type;
    char bytes[4096];
  } in;
  int fds[MF_FDS_MAX];
  unsigned fd_n = 0;
  size_t n = 0;
  assert_ok(mf_recv_msg(f->sock, &in, sizeof(in), &n, fds, &fd_n, &err), &err);
  assert_int_equal(in.type, type);
  assert_int_equal(n, size);
  memcpy(frame, in.bytes, size);
  assert_int_equal(fd_n, ret_fd ? 1 : 0);
  if (ret_fd)
    *ret_fd = fds[0];
}

uint64_t fake_take_start(struct fake *f)
{
  struct mf_sup_start start;
  int fd;
  fake_take(f, MF_SUP_START, &start, sizeof(start), &fd);
  close(fd);
  return start.id;
}

void fake_send(struct fake *f, const void *frame, size_t size, int fd)
{
  struct mf_err err = { 0 };
  enum mf_code code;
  while ((code = mf_send_msg(f->sock, frame, size, &fd, fd >= 0, &err)) == MF_E_CAPACITY)
    fake_slice(f);
  assert_ok(code, &err);
}

void fake_send_ready(struct fake *f)
{
  struct mf_sup_ready ready = {
    .type = MF_SUP_READY,
    .version = MF_FRAMES_VERSION,
    .layers = (1u << 14) - 1,
    .landlock_abi = 7,
    .memory_control = MF_MEMORY_CGROUP2,
    .pids_control = 1,
    .python_hex = 0x030c01f0,
    .checkpointed = 1,
    .seccomp_sha256 = "c0ffee",
    .checkpoint_note = "as \"auto\"",
  };
  fake_send(f, &ready, sizeof(ready), -1);
}

void fake_send_started(struct fake *f, uint64_t id, bool from_pool)
{
  const struct mf_sup_started frame = { .type = MF_SUP_STARTED, .from_pool = from_pool, .id = id };
  fake_send(f, &frame, sizeof(frame), -1);
}

void fake_send_output(struct fake *f, uint64_t id, bool is_stderr, const char *text, bool is_dropped)
{
  size_t n = strlen(text);
  const struct mf_sup_output head = {
    .type = MF_SUP_OUTPUT, .is_stderr = is_stderr, .id = id, .len = (uint32_t)n, .dropped = is_dropped
  };
  char *frame = mf_xmalloc(sizeof(head) + n);
  memcpy(frame, &head, sizeof(head));
  memcpy(frame + sizeof(head), text, n);
  fake_send(f, frame, sizeof(head) + n, -1);
  free(frame);
}

struct mf_sup_finished fake_finished(uint64_t id)
{
  return (struct mf_sup_finished){ .type = MF_SUP_FINISHED,
                                   .id = id,
                                   .by_word = 1,
                                   .begun = 1,
                                   .wall_us = 12345,
                                   .cpu_us = 6789,
                                   .memory_peak_bytes = 1 << 20 };
}

void fake_send_finished(struct fake *f, const struct mf_sup_finished *frame, int dir_fd)
{
  fake_send(f, frame, sizeof(*frame), dir_fd);
}

void fake_send_reaped(struct fake *f, uint64_t id)
{
  const struct mf_sup_reaped frame = { .type = MF_SUP_REAPED, .id = id };
  fake_send(f, &frame, sizeof(frame), -1);
}

void fake_send_fatal(struct fake *f, const char *step, int error)
{
  struct mf_zyg_fatal fatal = { .type = MF_SUP_FATAL, .error = error, .text = "while testing\n" };
  memcpy(fatal.step, step, strlen(step));
  fake_send(f, &fatal, sizeof(fatal), -1);
  fake_die(f);
}

void fake_die(struct fake *f)
{
  mf_close_ptr(&f->sock);
}

unsigned fake_open_fds(void)
{
  DIR *dir = opendir("/proc/self/fd");
  assert_non_null(dir);
  unsigned n = 0;
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}
