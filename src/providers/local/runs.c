/* A run, from START to REAPED. Thread: the supervisor's.
 *
 * The order at the end matters: measure, read what the pipes still hold, FINISHED, kill, reap, REAPED. The answer never
 * waits for a process: a frozen descendant delays REAPED only. Nobody waits for the end of a pipe, since a
 * descendant may hold it; what one pipe can hold is read and no more. */
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/time.h"
#include "proctree.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define TRIES_MAX 2u
#define FIGURES_WAIT_NS (5 * MF_NS_PER_MS)
#define PIPE_BYTES_DEFAULT 65536u
#define PIPE_BYTES_MAX (1u << 20)
#define PIPE_PAGE_BYTES 4096u

/* ---- start ---- */

static struct mf_sup_run *find_run(struct mf_supervisor *sup, uint64_t id)
{
  for (unsigned i = 0; i < sup->config.max_running; i++) {
    if (sup->runs[i].is_used && sup->runs[i].spec.id == id)
      return &sup->runs[i];
  }
  return NULL;
}

static struct mf_sup_run *new_run(struct mf_supervisor *sup, const struct mf_sup_start *spec, int *job)
{
  for (unsigned i = 0; i < sup->config.max_running; i++) {
    struct mf_sup_run *run = &sup->runs[i];
    if (run->is_used)
      continue;
    *run = (struct mf_sup_run){ .sup = sup, .is_used = true, .spec = *spec, .job = mf_take_fd(job) };
    run->fin = (struct mf_sup_finished){ .type = MF_SUP_FINISHED, .id = spec->id, .exit_code = -1 };
    sup->run_n++;
    return run;
  }
  return NULL;
}

static void free_run(struct mf_sup_run *run)
{
  mf_close_ptr(&run->job);
  run->is_used = false;
  run->sup->run_n--;
}

void mf_sup_run_reject(struct mf_supervisor *sup, const struct mf_sup_start *spec, const char *text)
{
  struct mf_sup_run none = { .sup = sup, .is_used = true, .spec = *spec, .job = -1 };
  none.fin = (struct mf_sup_finished){ .type = MF_SUP_FINISHED, .id = spec->id, .exit_code = -1 };
  sup->run_n++;
  mf_sup_run_refuse(&none, MF_KILL_NONE, text);
}

void mf_sup_run_start(struct mf_supervisor *sup, const struct mf_sup_start *spec, int *job)
{
  if (find_run(sup, spec->id))
    return; /* a second answer to one id would confuse more than none */
  struct mf_sup_run *run = new_run(sup, spec, job);
  if (!run) {
    mf_sup_run_reject(sup, spec, "no free place");
    return;
  }
  mf_lane_queue(&sup->lanes[spec->runtime - 1], run, false);
}

void mf_sup_run_refuse(struct mf_sup_run *run, enum mf_kill_cause cause, const char *text)
{
  assert(!run->slot && !run->is_finished);
  run->is_finished = true;
  run->fin.killed = cause;
  run->fin.crashed = cause == MF_KILL_NONE;
  if (text)
    snprintf(run->fin.text, sizeof run->fin.text, "%s", text);
  mf_supervisor_send(run->sup, &run->fin, sizeof run->fin);
  struct mf_sup_reaped reaped = { .type = MF_SUP_REAPED, .id = run->spec.id };
  mf_supervisor_send(run->sup, &reaped, sizeof reaped);
  free_run(run);
}

void mf_sup_run_cancel(struct mf_supervisor *sup, uint64_t id)
{
  struct mf_sup_run *run = find_run(sup, id);
  if (!run || run->is_ending)
    return;
  if (run->is_waiting) {
    mf_lane_unqueue(&sup->lanes[run->spec.runtime - 1], run);
    mf_sup_run_refuse(run, MF_KILL_CANCEL, NULL);
  } else
    mf_sup_run_kill(run, MF_KILL_CANCEL);
}

/* A child of no use is thrown away; another is tried, but not for ever. */
static void bind_failed(struct mf_sup_run *run, struct mf_slot *slot, const char *text)
{
  mf_slot_discard(slot);
  if (++run->tries < TRIES_MAX)
    return;
  mf_lane_unqueue(&run->sup->lanes[run->spec.runtime - 1], run);
  mf_sup_run_refuse(run, MF_KILL_NONE, text);
}

bool mf_sup_run_bind(struct mf_sup_run *run, struct mf_slot *slot)
{
  struct mf_supervisor *sup = run->sup;
  assert(slot->state == MF_SLOT_IDLE && run->is_waiting);
  const struct mf_sup_start *spec = &run->spec;
  struct mf_err err;
  if (mf_cgroup_slot_limit(sup->cgroup, slot->index, spec->memory_bytes, spec->pids, &err) != MF_OK) {
    bind_failed(run, slot, err.msg);
    return false;
  }
  struct mf_child_job job = {
    .type = MF_CHILD_JOB,
    .pids = spec->pids,
    .memory_bytes = spec->memory_bytes,
    .cpu_ms = spec->cpu_ms,
    .use_rlimit_data = mf_cgroup_kind(sup->cgroup) == MF_CGROUP_NONE,
  };
  if (slot->control < 0 || mf_send_msg(slot->control, &job, sizeof job, &run->job, 1, NULL) != MF_OK) {
    bind_failed(run, slot, "the sandbox did not take its job");
    return false;
  }
  mf_close_ptr(&run->job);
  mf_lane_unqueue(&sup->lanes[spec->runtime - 1], run);
  run->slot = slot;
  slot->run = run;
  sup->last_start_ns = mf_now_ns();
  mf_slot_set(slot, MF_SLOT_STARTING);
  return true;
}

void mf_sup_run_begin(struct mf_sup_run *run)
{
  struct mf_slot *slot = run->slot;
  run->begin_ns = mf_now_ns();
  run->fin.begun = 1;
  mf_slot_set(slot, MF_SLOT_BUSY);
  uint64_t wall_ns =
      run->spec.wall_ms <= UINT64_MAX / 2 / MF_NS_PER_MS ? run->spec.wall_ms * MF_NS_PER_MS : UINT64_MAX / 2;
  mf_timer_arm(slot->wall, run->begin_ns + wall_ns);
  mf_meter_begin(run);
  struct mf_sup_started started = { .type = MF_SUP_STARTED, .from_pool = run->from_pool, .id = run->spec.id };
  mf_supervisor_send(run->sup, &started, sizeof started);
}

/* ---- end ---- */

static void send_finished(struct mf_sup_run *run)
{
  struct mf_slot *slot = run->slot;
  run->is_finished = true;
  if (slot->workdir < 0)
    run->fin.has_files = 0;
  mf_supq_push(&run->sup->out, &run->fin, sizeof run->fin, mf_take_fd(&slot->workdir), false);
}

void mf_sup_run_pump(struct mf_sup_run *run)
{
  struct mf_slot *slot = run->slot;
  if (run->is_finished)
    return;
  bool is_done = true;
  for (unsigned i = 0; i < 2; i++) {
    size_t n = 1;
    while (run->budget[i] > 0 && run->reads[i] > 0 && n > 0) {
      if (!mf_supq_has_room(&run->sup->out)) {
        is_done = false;
        break;
      }
      run->reads[i]--;
      if (!mf_child_read_pipe(slot, i, run->budget[i], &n))
        run->budget[i] = 0;
      else
        run->budget[i] -= MF_MIN(n, run->budget[i]);
    }
  }
  if (is_done)
    send_finished(run);
  mf_slot_kill(slot);
  if (is_done) {
    mf_child_detach(slot);
    mf_slot_advance(slot);
  }
}

static size_t pipe_bytes(int fd)
{
  int n = fd >= 0 ? fcntl(fd, F_GETPIPE_SZ) : -1;
  return n > 0 ? (size_t)MF_MIN(n, (int)PIPE_BYTES_MAX) : PIPE_BYTES_DEFAULT;
}

/* run->fin says how; `kill_first` when the guest must not write one byte more. */
static void end_run(struct mf_sup_run *run, uint64_t children_cpu_us, bool kill_first)
{
  struct mf_slot *slot = run->slot;
  assert(!run->is_ending);
  run->is_ending = true;
  run->fin.wall_us = run->begin_ns ? (mf_now_ns() - run->begin_ns) / 1000 : 0;
  mf_timer_disarm(slot->wall);
  mf_timer_disarm(slot->meter);
  mf_meter_end(run, children_cpu_us);
  /* the kernel's own limits: SIGXCPU at the soft one, SIGKILL one second later at the hard one */
  struct mf_sup_finished *fin = &run->fin;
  if (fin->killed == MF_KILL_NONE && run->spec.cpu_ms > 0 && !fin->by_word &&
      (fin->signal == SIGXCPU || (fin->signal == SIGKILL && fin->cpu_us / 1000 >= run->spec.cpu_ms)))
    fin->killed = MF_KILL_CPU;
  mf_slot_set(slot, MF_SLOT_DRAINING);
  if (kill_first)
    mf_slot_kill(slot);
  mf_child_set_reading(slot, false);
  for (unsigned i = 0; i < 2; i++) {
    run->budget[i] = pipe_bytes(slot->pipe[i]);
    /* A pipe has one place for each page of its size. With O_DIRECT a write of one byte takes a place and is a read of
     * its own (pipe(2)): byte by byte, a descendant that goes on writing could keep us here. */
    run->reads[i] = (unsigned)(run->budget[i] / PIPE_PAGE_BYTES);
  }
  mf_sup_run_pump(run);
}

static void end_by_word(struct mf_sup_run *run)
{
  const struct mf_child_word *word = &run->word;
  run->fin.by_word = 1;
  run->fin.exit_code = word->exit_code & 0xff;
  run->fin.uncaught = word->uncaught <= MF_UNCAUGHT_PIDS ? word->uncaught : MF_UNCAUGHT_NONE;
  run->fin.has_files = word->has_files != 0;
  end_run(run, word->children_cpu_us, false);
}

void mf_sup_run_word(struct mf_sup_run *run, const struct mf_child_word *word)
{
  const struct mf_slot *slot = run->slot;
  uint64_t cpu_us;
  run->word = *word;
  run->has_word = true;
  /* A child that was reaped before we came to read its word has no clock any more; the zygote's frame with the figures
   * is there already, or nearly. */
  if (slot->guest_exited || mf_proc_cpu_us(slot->guest.pid, &cpu_us))
    end_by_word(run);
  else
    mf_timer_arm(slot->wall, mf_now_ns() + FIGURES_WAIT_NS);
}

void mf_sup_run_exited(struct mf_sup_run *run)
{
  const struct mf_slot *slot = run->slot;
  if (run->has_word) {
    end_by_word(run);
    return;
  }
  run->fin.has_files = 1;
  if (!slot->has_status) {
    run->fin.crashed = 1;
    snprintf(run->fin.text, sizeof run->fin.text, "how the program ended is not known");
  } else if (WIFSIGNALED(slot->status))
    run->fin.signal = WTERMSIG(slot->status);
  else if (WIFEXITED(slot->status))
    run->fin.exit_code = WEXITSTATUS(slot->status);
  end_run(run, 0, false);
}

void mf_sup_run_kill(struct mf_sup_run *run, enum mf_kill_cause cause)
{
  if (run->is_ending)
    return;
  if (run->has_word) { /* it has ended before */
    end_by_word(run);
    return;
  }
  run->fin.killed = cause;
  run->fin.has_files = 1;
  end_run(run, 0, true);
}

void mf_sup_run_crash(struct mf_sup_run *run, const char *text)
{
  if (run->is_ending)
    return;
  if (run->has_word) {
    end_by_word(run);
    return;
  }
  run->fin.crashed = 1;
  run->fin.has_files = 1;
  snprintf(run->fin.text, sizeof run->fin.text, "%s", text);
  end_run(run, 0, true);
}

void mf_sup_run_gone(struct mf_sup_run *run)
{
  if (!run->is_finished)
    return;
  struct mf_sup_reaped reaped = { .type = MF_SUP_REAPED, .id = run->spec.id };
  mf_supervisor_send(run->sup, &reaped, sizeof reaped);
  run->slot->run = NULL;
  run->slot = NULL;
  free_run(run);
}

/* ---- timers ---- */

void mf_sup_run_on_wall(void *user)
{
  struct mf_slot *slot = user;
  struct mf_sup_run *run = slot->run;
  if (run && !run->is_ending) {
    uint64_t passed_ms = run->begin_ns ? (mf_now_ns() - run->begin_ns) / MF_NS_PER_MS : 0;
    if (passed_ms < run->spec.wall_ms && !run->has_word && mf_pidref_is_dead(&slot->guest))
      mf_child_exited(slot, false, 0, 0); /* armed early, to wait for a status that did not come */
    else
      mf_sup_run_kill(run, MF_KILL_WALL);
  }
  mf_supervisor_settle(slot->sup);
}

void mf_sup_run_on_meter(void *user)
{
  struct mf_slot *slot = user;
  if (slot->run && !slot->run->is_ending)
    mf_meter_look(slot->run);
  mf_supervisor_settle(slot->sup);
}
