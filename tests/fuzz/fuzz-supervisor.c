/* The supervisor's handlers under arbitrary frames from all three sides, in any order, without a process.
 *
 * Input: a script of steps. Each is a byte (what), a byte (which), and for raw frames a byte (length) and that many
 * bytes. Whatever the script does: each START that became a run gets exactly one FINISHED and then exactly one REAPED,
 * the slot table is never broken (its setter asserts), the queue stays bounded, and nothing is left in the end. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz.h"
#include "supervisor-internal.h"
#include "base/banned.h"

#define IDS 8u
#define FRAME_MAX 512u
#define STEPS_MAX 400u

struct world {
  struct mf_loop *loop;
  struct mf_supervisor *sup;
  int sock; /* the provider's end */
  int zygote_end[64];
  unsigned zygote_end_n;
  int child_end[64 * 3];
  unsigned child_end_n;
  unsigned started[IDS], finished[IDS], reaped[IDS];
};
static struct world w; /* the hooks have no argument of their own */

/* ---- hooks ---- */

static enum mf_code no_start(const struct mf_outer_spec *spec, struct mf_pidref *ret_init, int *ret_sock,
                             struct mf_err *err)
{
  int pair[2];
  if (w.zygote_end_n == MF_ARRAY_N(w.zygote_end) ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return mf_fail(err, MF_E_LIMIT, 0, "enough zygotes");
  w.zygote_end[w.zygote_end_n++] = pair[1];
  *ret_init = MF_PIDREF_NULL;
  *ret_sock = pair[0];
  return MF_OK;
}

static enum mf_code no_sha256(int shared_anon_ok, char ret_hex[65], struct mf_err *err)
{
  memset(ret_hex, '0', 64);
  ret_hex[64] = '\0';
  return MF_OK;
}

static void no_kill(const struct mf_pidref *init)
{
}

static const struct mf_supervisor_hooks hooks = { no_start, no_sha256, no_kill };

/* ---- the provider's books ---- */

static void book(const char *frame, size_t n)
{
  uint32_t type;
  uint64_t id;
  CHECK(n >= 8);
  memcpy(&type, frame, sizeof type);
  if (type == MF_SUP_READY || type == MF_SUP_FATAL)
    return;
  CHECK(n >= 16);
  memcpy(&id, frame + 8, sizeof id);
  if (id >= IDS)
    return; /* a raw frame's */
  if (type == MF_SUP_FINISHED) {
    CHECK(n == sizeof(struct mf_sup_finished));
    CHECK(w.finished[id] == w.reaped[id]);
    w.finished[id]++;
  } else if (type == MF_SUP_REAPED) {
    w.reaped[id]++;
    CHECK(w.reaped[id] == w.finished[id]);
  } else if (type == MF_SUP_OUTPUT) {
    CHECK(n <= sizeof(struct mf_sup_output) + MF_CHUNK_MAX);
    CHECK(w.finished[id] == w.reaped[id]); /* never after the end */
  }
}

static void read_all(void)
{
  static char frame[sizeof(struct mf_sup_output) + MF_CHUNK_MAX];
  int fds[MF_FDS_MAX];
  unsigned fd_n;
  size_t n;
  bool got;
  do {
    got = false;
    while (mf_recv_msg(w.sock, frame, sizeof frame, &n, fds, &fd_n, NULL) == MF_OK) {
      got = true;
      book(frame, n);
      for (unsigned i = 0; i < fd_n; i++)
        mf_close_ptr(&fds[i]);
    }
    mf_supq_flush(&w.sup->out);
    mf_supervisor_settle(w.sup);
  } while (got || !mf_supq_is_empty(&w.sup->out));
}

/* ---- steps ---- */

static int any_fd(void)
{
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void close_all(int *fds, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    mf_close_ptr(&fds[i]);
}

static struct mf_zygote *zygote_at(unsigned which)
{
  return &w.sup->zygotes[which % MF_ZYGOTES_MAX];
}

/* The which-th slot in a state, so that scripts need not know numbers. */
static struct mf_slot *slot_in(enum mf_slot_state state, unsigned which)
{
  struct mf_slot *found = NULL;
  for (unsigned i = 0; i < w.sup->slot_high; i++) {
    if (w.sup->slots[i].state != state)
      continue;
    found = &w.sup->slots[i];
    if (which-- == 0)
      break;
  }
  return found;
}

static bool is_running(uint64_t id)
{
  for (unsigned i = 0; i < w.sup->config.max_running; i++) {
    if (w.sup->runs[i].is_used && w.sup->runs[i].spec.id == id)
      return true;
  }
  return false;
}

static void start(unsigned which, unsigned flags)
{
  struct mf_sup_start s = {
    .type = MF_SUP_START,
    .runtime = flags & 1 ? 2 : 1,
    .id = which % IDS,
    .wall_ms = flags & 2 ? 1 : 60000,
    .cpu_ms = flags & 4 ? 1000 : 0,
    .memory_bytes = 1u << 30,
    .stdout_bytes = flags & 8 ? 3 : 1u << 20,
    .stderr_bytes = 1u << 20,
    .pids = 8,
    .stop_on_output = flags & 16 ? 1 : 0,
  };
  int fd = any_fd();
  bool is_known = is_running(s.id);
  mf_supervisor_frame(w.sup, &s, sizeof s, &fd, 1);
  mf_close_ptr(&fd);
  /* an id in use is not taken twice; everything else is answered */
  w.started[s.id] += !is_known;
}

static void zygote_ready(unsigned which)
{
  const struct mf_zyg_ready r = { .type = MF_ZYG_READY, .version = MF_FRAMES_VERSION };
  mf_zygote_frame(zygote_at(which), &r, sizeof r, NULL, 0);
}

static void forked(unsigned which, unsigned flags)
{
  struct mf_slot *slot = slot_in(MF_SLOT_FORKING, which);
  if (!slot || w.child_end_n + 3 > MF_ARRAY_N(w.child_end))
    return;
  int control[2], out[2], err[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control) != 0)
    return;
  CHECK(pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0);
  int fds[5] = { any_fd(), any_fd(), control[0], out[0], err[0] };
  const struct mf_zyg_forked f = { .type = MF_ZYG_FORKED, .slot = slot->index, .error = flags & 1 ? 11 : 0 };
  mf_zygote_frame(slot->zygote, &f, sizeof f, fds, flags & 2 ? 3 : 5);
  close_all(fds, 5);
  w.child_end[w.child_end_n++] = control[1];
  w.child_end[w.child_end_n++] = out[1];
  w.child_end[w.child_end_n++] = err[1];
}

static void child_ready(unsigned which, unsigned flags)
{
  struct mf_slot *slot = slot_in(MF_SLOT_PREPARING, which);
  const struct mf_child_ready r = { .type = MF_CHILD_READY };
  int fd = flags & 1 ? -1 : any_fd();
  if (slot)
    mf_child_frame(slot, &r, sizeof r, &fd, fd >= 0);
  mf_close_ptr(&fd);
}

static void begin(unsigned which)
{
  struct mf_slot *slot = slot_in(MF_SLOT_STARTING, which);
  const uint32_t b = MF_CHILD_BEGIN;
  if (slot)
    mf_child_frame(slot, &b, sizeof b, NULL, 0);
}

static void word(unsigned which, unsigned flags)
{
  struct mf_slot *slot = slot_in(flags & 1 ? MF_SLOT_STARTING : MF_SLOT_BUSY, which);
  const struct mf_child_word m = { .type = MF_CHILD_WORD, .exit_code = (int32_t)flags, .uncaught = flags };
  if (slot)
    mf_child_frame(slot, &m, sizeof m, NULL, 0);
}

static void exited(unsigned which, unsigned flags)
{
  struct mf_slot *slot = slot_in(1 + flags % (MF_SLOT_STATE_N - 1), which);
  if (!slot || !slot->zygote)
    return;
  const struct mf_zyg_exited e = {
    .type = MF_ZYG_EXITED, .slot = slot->index, .what = flags >> 7, .status = (int32_t)which << 8
  };
  mf_zygote_frame(slot->zygote, &e, sizeof e, NULL, 0);
}

static void write_pipe(unsigned which, unsigned flags)
{
  static const char bytes[4096];
  if (w.child_end_n == 0)
    return;
  unsigned child = which % (w.child_end_n / 3);
  ssize_t n = write(w.child_end[3 * child + 1 + flags % 2], bytes, 1 + flags * 16u);
  (void)n;
}

static void stop(void *user)
{
  mf_loop_stop(w.loop);
}

static void turn(void)
{
  CHECK(mf_loop_defer(w.loop, stop, NULL, NULL) == MF_OK);
  CHECK(mf_loop_run(w.loop, NULL) == MF_OK);
}

static void raw(unsigned what, unsigned which, const uint8_t *p, size_t n)
{
  char frame[FRAME_MAX] = { 0 };
  memcpy(frame, p, MF_MIN(n, sizeof frame));
  int fds[2] = { any_fd(), any_fd() };
  unsigned fd_n = which & 1 ? 2 : 0;
  if (what == 0) {
    uint64_t id;
    memcpy(&id, frame + 8, sizeof id);
    id |= 1u << 30; /* the books are for whole runs */
    memcpy(frame + 8, &id, sizeof id);
    mf_supervisor_frame(w.sup, frame, n, fds, fd_n);
  } else if (what == 1) {
    if (zygote_at(which >> 1)->state != MF_ZYGOTE_NONE)
      mf_zygote_frame(zygote_at(which >> 1), frame, n, fds, fd_n);
  } else {
    struct mf_slot *slot = slot_in(1 + (which >> 1) % (MF_SLOT_STATE_N - 1), 0);
    if (slot)
      mf_child_frame(slot, frame, n, fds, fd_n);
  }
  close_all(fds, 2);
}

static void step(unsigned what, unsigned which, unsigned flags)
{
  switch (what) {
  case 3:
    start(which, flags);
    break;
  case 4:
    if (zygote_at(which)->state != MF_ZYGOTE_NONE)
      zygote_ready(which);
    break;
  case 5:
    forked(which, flags);
    break;
  case 6:
    child_ready(which, flags);
    break;
  case 7:
    begin(which);
    break;
  case 8:
    word(which, flags);
    break;
  case 9:
    exited(which, flags);
    break;
  case 10: {
    const struct mf_sup_cancel c = { .type = MF_SUP_CANCEL, .id = which % IDS };
    mf_supervisor_frame(w.sup, &c, sizeof c, NULL, 0);
    break;
  }
  case 11:
    if (flags & 1)
      mf_zygote_down(zygote_at(which), "fuzz", 0, NULL);
    break;
  case 12:
    write_pipe(which, flags);
    break;
  case 13:
    turn();
    break;
  case 14:
    read_all();
    break;
  case 15: { /* time passes for one slot, more than any deadline */
    struct mf_slot *slot = slot_in(1 + flags % (MF_SLOT_STATE_N - 1), which);
    if (slot)
      mf_slot_check(slot, slot->since_ns + (flags & 0x80 ? 100000000000ull : 1));
    break;
  }
  default:
    break;
  }
}

static void check_counts(void)
{
  unsigned n[MF_SLOT_STATE_N] = { 0 }, runs = 0;
  for (unsigned i = 0; i < w.sup->slot_n; i++) {
    n[w.sup->slots[i].state]++;
    CHECK(!w.sup->slots[i].run || w.sup->slots[i].run->slot == &w.sup->slots[i]);
  }
  for (unsigned i = 1; i < MF_SLOT_STATE_N; i++)
    CHECK(w.sup->state_n[i] == n[i]);
  for (unsigned i = 0; i < w.sup->config.max_running; i++)
    runs += w.sup->runs[i].is_used;
  CHECK(runs == w.sup->run_n);
  CHECK(w.sup->out.output_bytes <= MF_SUPQ_OUTPUT_MAX + MF_CHUNK_MAX + sizeof(struct mf_sup_output));
}

static void play(const uint8_t *p, const uint8_t *end)
{
  for (unsigned i = 0; i < STEPS_MAX && end - p >= 3 && !w.sup->is_ending; i++) {
    unsigned what = p[0] % 16, which = p[1], flags = p[2];
    p += 3;
    if (what < 3) {
      size_t n = MF_MIN((size_t)(end - p), (size_t)flags * 2);
      raw(what, which, p, n);
      p += n;
    } else
      step(what, which, flags);
    mf_supervisor_settle(w.sup);
    check_counts();
  }
}

/* Every zygote ends: then every run must be over, whatever came before. */
static void finish(void)
{
  if (w.sup->is_ending)
    return;
  w.sup->is_ready = true;
  for (unsigned i = 0; i < IDS; i++) {
    const struct mf_sup_cancel c = { .type = MF_SUP_CANCEL, .id = i };
    mf_supervisor_frame(w.sup, &c, sizeof c, NULL, 0);
  }
  for (unsigned i = 0; i < MF_ZYGOTES_MAX; i++)
    mf_zygote_down(&w.sup->zygotes[i], "end", 0, NULL);
  read_all();
  for (unsigned i = 0; i < IDS; i++)
    CHECK(w.started[i] == w.finished[i] && w.finished[i] == w.reaped[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  int pair[2];
  memset(&w, 0, sizeof w);
  mf_log_set_level(MF_LOG_ERROR);
  signal(SIGPIPE, SIG_IGN); /* a script may write to a child whose pipes were closed */
  if (n < 2)
    return 0;
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
  w.sock = pair[0];
  CHECK(mf_loop_new(&w.loop, NULL) == MF_OK);
  const struct mf_supervisor_config config = {
    .version = MF_FRAMES_VERSION,
    .max_running = 3,
    .pool_stdlib = data[0] % 3,
    .pool_data = data[0] / 3 % 3,
    .start_stdlib = 1,
    .start_data = data[0] / 9 % 2,
    .zygote_max_forks = 1 + data[1],
  };
  w.sup = mf_supervisor_new(w.loop, &config, &hooks, pair[1]);
  play(data + 2, data + n);
  finish();
  close(w.sock);
  mf_supervisor_free(w.sup);
  mf_loop_free(w.loop);
  close_all(w.zygote_end, w.zygote_end_n);
  close_all(w.child_end, w.child_end_n);
  return 0;
}
