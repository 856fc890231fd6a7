/* What a child says (control socket) and writes (two pipes). Thread: the supervisor's.
 *
 * From the job on, the other end is in a stranger's hands: a frame of the wrong size, type or moment is dropped, every
 * descriptor that comes along is closed, and one turn of the loop reads a bounded amount from each child. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "sandbox/sandbox.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define FRAMES_PER_TURN 16u
/* Between two ticks; an honest child sends a few, and at most MF_DENIED_MAX hints count. */
#define FRAMES_PER_TICK 256u
#define FLOOD_WAIT_NS (10 * MF_NS_PER_MS)
/* Two full sockets: a word that was sent before the end is behind at most so many frames. */
#define FRAMES_AT_END 1024u
/* How long to wait for the zygote to say how a guest ended, once its pidfd shows that it did. */
#define STATUS_WAIT_NS (1 * MF_NS_PER_S)

/* The largest frame of a child. */
union child_frame {
  uint32_t type;
  struct mf_child_ready ready;
  struct mf_child_hint hint;
  struct mf_child_word word;
  struct mf_zyg_fatal failed;
};

static bool takes_input(const struct mf_slot *slot)
{
  return slot->run && !slot->run->is_ending && !slot->run->has_word;
}

/* ---- control ---- */

static void on_ready(struct mf_slot *slot, const struct mf_child_ready *ready, int *workdir)
{
  if (*workdir < 0) {
    mf_lane_child_failed(slot, "work directory", 0, "the child sent no work directory");
    return;
  }
  slot->ready = *ready;
  slot->workdir = mf_take_fd(workdir);
  mf_slot_set(slot, MF_SLOT_IDLE);
  mf_lane_child_ready(slot);
}

static void on_hint(struct mf_slot *slot, const struct mf_child_hint *hint)
{
  struct mf_sup_run *run = slot->run;
  if (!takes_input(slot) || hint->kind != MF_HINT_DENIED || hint->len > MF_TEXT_MAX || hint->len == 0 ||
      run->hint_n >= MF_DENIED_MAX)
    return;
  run->hint_n++;
  struct mf_sup_hint out = { .type = MF_SUP_HINT, .len = hint->len, .id = run->spec.id };
  memcpy(out.text, hint->text, hint->len);
  mf_supervisor_send(slot->sup, &out, sizeof out);
}

static void on_failed(struct mf_slot *slot, const struct mf_zyg_fatal *failed)
{
  char step[sizeof failed->step], text[120];
  mf_supervisor_text(step, sizeof step, failed->step, sizeof failed->step);
  mf_supervisor_text(text, sizeof text, failed->text, sizeof failed->text);
  if (slot->state == MF_SLOT_PREPARING)
    mf_lane_child_failed(slot, step, failed->error, text);
  else if (slot->state == MF_SLOT_STARTING && takes_input(slot)) /* before the user's code: the words are ours */
    mf_sup_run_crash(slot->run, text);
}

void mf_child_frame(struct mf_slot *slot, const void *frame, size_t n, int *fds, unsigned fd_n)
{
  union child_frame f;
  if (n < sizeof f.type || n > sizeof f)
    return;
  memset(&f, 0, sizeof f);
  memcpy(&f, frame, n);
  switch (f.type) {
  case MF_CHILD_READY:
    if (slot->state == MF_SLOT_PREPARING && n == sizeof f.ready) {
      int none = -1;
      on_ready(slot, &f.ready, fd_n > 0 ? &fds[0] : &none);
    }
    break;
  case MF_CHILD_BEGIN:
    if (slot->state == MF_SLOT_STARTING && takes_input(slot))
      mf_sup_run_begin(slot->run);
    break;
  case MF_CHILD_HINT:
    if (n == sizeof f.hint)
      on_hint(slot, &f.hint);
    break;
  case MF_CHILD_WORD:
    if (n == sizeof f.word && takes_input(slot))
      mf_sup_run_word(slot->run, &f.word);
    break;
  case MF_CHILD_FAILED:
    if (n == sizeof f.failed)
      on_failed(slot, &f.failed);
    break;
  default:
    break;
  }
}

static void on_guest_dead(void *user, unsigned events)
{
  struct mf_slot *slot = user;
  slot->guest_watch = mf_watch_free(slot->guest_watch);
  /* the zygote's EXITED frame is on its way; when it does not come, the wall timer ends the run with what is known */
  if (takes_input(slot))
    mf_timer_arm(slot->wall, mf_now_ns() + STATUS_WAIT_NS);
  mf_supervisor_settle(slot->sup);
}

/* Its end of the control socket is closed: it has ended, or its code closed it. */
static void control_ended(struct mf_slot *slot)
{
  slot->control_watch = mf_watch_free(slot->control_watch);
  mf_close_ptr(&slot->control);
  if (slot->run && slot->run->has_word)
    return; /* all was said */
  if (!slot->guest_watch && slot->guest.fd >= 0 &&
      mf_watch_new(slot->sup->loop, slot->guest.fd, MF_WATCH_READ, on_guest_dead, slot, &slot->guest_watch, NULL) !=
          MF_OK)
    mf_slot_kill(slot); /* no memory for a watch: better ended than unseen */
}

void mf_child_read_control(struct mf_slot *slot, unsigned max)
{
  union child_frame frame;
  for (unsigned i = 0; i < max && slot->control >= 0; i++) {
    int fds[MF_FDS_MAX];
    unsigned fd_n = 0;
    size_t n = 0;
    enum mf_code code = mf_recv_msg(slot->control, &frame, sizeof frame, &n, fds, &fd_n, NULL);
    if (code == MF_E_CAPACITY)
      return;
    slot->frame_n++;
    if (code == MF_E_INPUT)
      continue; /* too large, or too many descriptors: dropped */
    if (code != MF_OK) {
      control_ended(slot);
      return;
    }
    mf_child_frame(slot, &frame, n, fds, fd_n);
    for (unsigned k = 0; k < fd_n; k++)
      mf_close_ptr(&fds[k]);
  }
}

static void on_control(void *user, unsigned events)
{
  struct mf_slot *slot = user;
  struct mf_supervisor *sup = slot->sup;
  mf_child_read_control(slot, FRAMES_PER_TURN);
  if (slot->control_watch && slot->frame_n > FRAMES_PER_TICK) {
    /* it may go on at the next tick: the others' turns are worth more than its word */
    slot->is_flooding = true;
    mf_watch_set(slot->control_watch, 0);
    mf_supervisor_tick_at(sup, mf_now_ns() + FLOOD_WAIT_NS);
  }
  mf_supervisor_settle(sup);
}

/* ---- pipes ---- */

static void close_stream(struct mf_slot *slot, unsigned stream)
{
  slot->pipe_watch[stream] = mf_watch_free(slot->pipe_watch[stream]);
  mf_close_ptr(&slot->pipe[stream]);
}

/* Sends what fits under the cap. True when something had to be dropped. */
static bool forward(struct mf_sup_run *run, unsigned stream, size_t n)
{
  struct mf_supervisor *sup = run->sup;
  uint64_t cap = stream == 0 ? run->spec.stdout_bytes : run->spec.stderr_bytes;
  uint64_t left = cap - MF_MIN(run->sent[stream], cap);
  uint32_t len = (uint32_t)MF_MIN((uint64_t)n, left);
  bool over = n > left;
  if (len > 0 || (over && !run->is_capped[stream])) {
    sup->chunk.head = (struct mf_sup_output){
      .type = MF_SUP_OUTPUT,
      .is_stderr = stream,
      .id = run->spec.id,
      .len = len,
      .dropped = over,
    };
    mf_supq_push(&sup->out, &sup->chunk, sizeof sup->chunk.head + len, -1, true);
  }
  run->sent[stream] += len;
  run->is_capped[stream] = run->is_capped[stream] || over;
  return over;
}

bool mf_child_read_pipe(struct mf_slot *slot, unsigned stream, size_t max, size_t *ret_n)
{
  struct mf_supervisor *sup = slot->sup;
  *ret_n = 0;
  if (slot->pipe[stream] < 0)
    return false;
  ssize_t n;
  do
    n = read(slot->pipe[stream], sup->chunk.bytes, MF_MIN(max, (size_t)MF_CHUNK_MAX));
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN)
    return false;
  if (n <= 0) {
    close_stream(slot, stream);
    return false;
  }
  *ret_n = (size_t)n;
  struct mf_sup_run *run = slot->run;
  if (!run)
    return true; /* before the job: nobody's */
  if (forward(run, stream, (size_t)n) && run->spec.stop_on_output) {
    if (!run->is_ending && !run->has_word)
      mf_sup_run_kill(run, MF_KILL_OUTPUT);
    else if (run->fin.killed == MF_KILL_NONE && !run->fin.crashed)
      run->fin.killed = MF_KILL_OUTPUT; /* it ended before we could: the rule is the same */
  }
  return true;
}

static void on_pipe(struct mf_slot *slot, unsigned stream)
{
  struct mf_supervisor *sup = slot->sup;
  size_t n;
  /* BEGIN was sent before the first byte was written, so it is told first */
  if (slot->state == MF_SLOT_STARTING)
    mf_child_read_control(slot, 1);
  if (slot->pipe_watch[stream])
    mf_child_read_pipe(slot, stream, MF_CHUNK_MAX, &n);
  mf_supervisor_settle(sup);
}

static void on_stdout(void *user, unsigned events)
{
  on_pipe(user, 0);
}

static void on_stderr(void *user, unsigned events)
{
  on_pipe(user, 1);
}

void mf_child_set_reading(struct mf_slot *slot, bool reading)
{
  for (unsigned i = 0; i < 2; i++) {
    if (slot->pipe_watch[i])
      mf_watch_set(slot->pipe_watch[i], reading ? MF_WATCH_READ : 0);
  }
}

/* ---- life ---- */

void mf_child_attach(struct mf_slot *slot, int fds[5])
{
  struct mf_supervisor *sup = slot->sup;
  struct mf_err err;
  /* a process that has ended already has no pid any more; its EXITED frames are on the way */
  if (mf_pidref_from_fd(&slot->guest, mf_take_fd(&fds[0]), NULL) != MF_OK)
    slot->guest = MF_PIDREF_NULL;
  if (mf_pidref_from_fd(&slot->init, mf_take_fd(&fds[1]), NULL) != MF_OK)
    slot->init = MF_PIDREF_NULL;
  slot->control = mf_take_fd(&fds[2]);
  slot->pipe[0] = mf_take_fd(&fds[3]);
  slot->pipe[1] = mf_take_fd(&fds[4]);
  mf_slot_set(slot, MF_SLOT_PREPARING);
  unsigned reading = mf_supq_has_room(&sup->out) ? MF_WATCH_READ : 0;
  enum mf_code code = mf_fd_set_nonblock(slot->control, &err);
  for (int i = 0; i < 2 && code == MF_OK; i++)
    code = mf_fd_set_nonblock(slot->pipe[i], &err);
  if (code == MF_OK)
    code = mf_watch_new(sup->loop, slot->control, MF_WATCH_READ, on_control, slot, &slot->control_watch, &err);
  if (code == MF_OK)
    code = mf_watch_new(sup->loop, slot->pipe[0], reading, on_stdout, slot, &slot->pipe_watch[0], &err);
  if (code == MF_OK)
    code = mf_watch_new(sup->loop, slot->pipe[1], reading, on_stderr, slot, &slot->pipe_watch[1], &err);
  if (code == MF_OK && !slot->wall)
    code = mf_timer_new(sup->loop, mf_sup_run_on_wall, slot, &slot->wall, &err);
  if (code == MF_OK && !slot->meter)
    code = mf_timer_new(sup->loop, mf_sup_run_on_meter, slot, &slot->meter, &err);
  if (code != MF_OK)
    mf_lane_child_failed(slot, "attach", err.sys, err.msg);
}

void mf_child_detach(struct mf_slot *slot)
{
  slot->control_watch = mf_watch_free(slot->control_watch);
  slot->guest_watch = mf_watch_free(slot->guest_watch);
  mf_close_ptr(&slot->control);
  close_stream(slot, 0);
  close_stream(slot, 1);
}

void mf_child_exited(struct mf_slot *slot, bool has_status, int status, uint64_t cpu_us)
{
  if (!slot->guest_exited) {
    slot->guest_exited = true;
    slot->has_status = has_status;
    slot->status = status;
    slot->status_cpu_us = cpu_us;
  }
  switch (slot->state) {
  case MF_SLOT_PREPARING:
    /* its last frame says why, when it had the time to send one */
    mf_child_read_control(slot, FRAMES_PER_TURN);
    if (slot->state == MF_SLOT_PREPARING || slot->state == MF_SLOT_IDLE)
      mf_lane_child_failed(slot, "prepare", 0, "the sandbox ended while it was made");
    break;
  case MF_SLOT_IDLE:
    mf_slot_discard(slot);
    break;
  case MF_SLOT_STARTING:
  case MF_SLOT_BUSY:
    /* a word that was sent before the end is read before the end */
    mf_child_read_control(slot, FRAMES_AT_END);
    if (slot->run && !slot->run->is_ending)
      mf_sup_run_exited(slot->run);
    break;
  case MF_SLOT_FREE:
  case MF_SLOT_FORKING:
  case MF_SLOT_DRAINING:
  case MF_SLOT_DEAD:
  case MF_SLOT_STATE_N:
    break;
  }
}
