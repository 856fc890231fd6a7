/* One call: a fresh instance, the job into its memory, the program, its files. Whatever the guest returns or has
 * written is checked against its memory before it is touched. */
#include "call.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"
#include "guest.h"
#include "wasm/abi.h"
#include "base/banned.h"

/* Listing the files has a budget of its own: the program's may be used up. */
#define FILES_FUEL 2000000000ull
#define FILES_WALL_NS (3 * MF_NS_PER_S)
#define FILES_MEMORY_BYTES (4u << 20)
/* So near at its limit the memory is full: the guest's allocator asks for at least a page of 64 KiB, mostly for more.
 */
#define FULL_SLACK_BYTES (1u << 20)

struct call {
  struct mf_instance *i;
  const struct mf_worker_call *ask;
  const struct mf_guest_events *events;
  void *user;
  struct mf_worker_done *done;
};

/* ---- into the guest ---- */

static enum mf_worker_end end_of_trap(const wasm_trap_t *trap)
{
  wasmtime_trap_code_t code = 0;
  if (!trap || !wasmtime_trap_code(trap, &code))
    return MF_END_BROKEN;
  switch ((unsigned)code) {
  case WASMTIME_TRAP_CODE_OUT_OF_FUEL:
    return MF_END_FUEL;
  case WASMTIME_TRAP_CODE_INTERRUPT:
    return MF_END_WALL;
  case WASMTIME_TRAP_CODE_STACK_OVERFLOW:
  case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS:
  case WASMTIME_TRAP_CODE_HEAP_MISALIGNED:
  case WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS:
  case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:
  case WASMTIME_TRAP_CODE_BAD_SIGNATURE:
    return MF_END_FAULT;
  case WASMTIME_TRAP_CODE_INTEGER_OVERFLOW:
  case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO:
  case WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER:
  case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED:
    return MF_END_ABORT;
  default: /* nothing that our guest can do: whoever did it, this process is not to be trusted any more */
    return MF_END_BROKEN;
  }
}

static enum mf_worker_end end_of_host(const struct mf_host *h, enum mf_worker_end otherwise, int32_t *ret_word)
{
  switch (h->end) {
  case MF_HOST_RUNS:
    return otherwise;
  case MF_HOST_EXITED:
    *ret_word = MF_GUEST_WORD(h->exit_code, 0);
    return MF_END_WORD;
  case MF_HOST_OUTPUT:
    return MF_END_OUTPUT;
  case MF_HOST_WALL:
    return MF_END_WALL;
  case MF_HOST_BROKEN:
    break;
  }
  return MF_END_BROKEN;
}

/* Calls a function of (i32 …) -> i32. MF_END_WORD: it returned, or exit was called; *ret is its result or the word. */
static enum mf_worker_end call_guest(struct call *c, const wasmtime_func_t *f, bool has_arg, int32_t arg, int32_t *ret)
{
  wasmtime_val_t in = { .kind = WASMTIME_I32, .of.i32 = arg }, out = { 0 };
  wasm_trap_t *trap = NULL;
  wasmtime_error_t *error = wasmtime_func_call(c->i->cx, f, &in, has_arg ? 1 : 0, &out, 1, &trap);
  if (!error && !trap) {
    *ret = out.of.i32;
    return MF_END_WORD;
  }
  enum mf_worker_end end = end_of_host(&c->i->run.host, end_of_trap(trap), ret);
  char text[8];
  mf_guest_fail_text(error, trap, text, sizeof(text)); /* its words may be the guest's: nobody reads them */
  return end;
}

static struct mf_host_view view_of(struct call *c)
{
  return mf_guest_view(&c->i->run, c->i->cx);
}

/* ---- the job ---- */

static bool read_job(int fd, uint8_t *to, size_t n)
{
  for (size_t at = 0; at < n;) {
    ssize_t got = pread(fd, to + at, n - at, (off_t)at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += (size_t)got;
  }
  return true;
}

static enum mf_worker_end place_job(struct call *c, int job_fd, int32_t *ret_n)
{
  off_t size = lseek(job_fd, 0, SEEK_END);
  if (size <= 0 || size > INT32_MAX)
    return MF_END_BROKEN;
  int32_t at = 0;
  enum mf_worker_end end = call_guest(c, &c->i->reserve, true, (int32_t)size, &at);
  if (end != MF_END_WORD)
    return end;
  if (at == 0)
    return MF_END_MEMORY;
  uint8_t *to = mf_host_at(view_of(c), (uint32_t)at, (uint64_t)size);
  if (!to || !read_job(job_fd, to, (size_t)size))
    return MF_END_BROKEN;
  *ret_n = (int32_t)size;
  return MF_END_WORD;
}

/* ---- its files ---- */

/* False: the machinery is broken. */
static bool tell_file(struct call *c, struct mf_host_view memory, const struct mf_guest_file *f, uint64_t *bytes_left,
                      uint32_t *count_left)
{
  const uint8_t *name = mf_host_at(memory, f->name, f->name_n);
  const uint8_t *data = mf_host_at(memory, f->data, f->data_n);
  if (!name || !data) {
    c->done->files_failed = 1;
    return true;
  }
  bool fits = *count_left > 0 && f->data_n <= *bytes_left;
  if (fits) {
    *bytes_left -= f->data_n;
    *count_left -= 1;
  }
  return c->events->file(c->user, name, MF_MIN(f->name_n, MF_WORKER_NAME_MAX), fits ? data : NULL, f->data_n);
}

static bool tell_files(struct call *c, uint32_t address)
{
  struct mf_host_view memory = view_of(c);
  struct mf_guest_files list;
  const uint8_t *at = address ? mf_host_at(memory, address, sizeof(list)) : NULL;
  c->done->files_failed = 1;
  if (!at)
    return true;
  memcpy(&list, at, sizeof(list));
  if (list.n > MF_GUEST_FILES_MAX)
    return true;
  const uint8_t *files = mf_host_at(memory, list.files, (uint64_t)list.n * sizeof(struct mf_guest_file));
  if (!files)
    return true;
  c->done->files_failed = 0;
  c->done->file_left_n = list.left_n;
  c->done->file_other_n = list.other_n;
  uint64_t bytes_left = c->ask->artifact_bytes;
  uint32_t count_left = c->ask->artifact_count;
  for (uint32_t i = 0; i < list.n && !c->done->files_failed; i++) {
    struct mf_guest_file f;
    memcpy(&f, files + (size_t)i * sizeof(f), sizeof(f));
    if (!tell_file(c, memory, &f, &bytes_left, &count_left))
      return false;
  }
  return true;
}

/* After a trap the guest's stack is as deep as it was then: where none of it is left, there is no list. */
static void list_files(struct call *c)
{
  /* What it prints now is nobody's. */
  c->i->run.host.stop_on_output = false;
  for (unsigned i = 0; i < 2; i++)
    c->i->run.host.streams[i] = (struct mf_host_stream){ .left = 0, .is_dropped = true };
  c->i->run.host.end = MF_HOST_RUNS;
  c->i->run.host.deadline_ns = mf_now_ns() + FILES_WALL_NS;
  wasmtime_store_limiter(c->i->store, (int64_t)(c->ask->memory_bytes + FILES_MEMORY_BYTES), -1, 1, -1, 1);
  wasmtime_error_t *error = wasmtime_context_set_fuel(c->i->cx, FILES_FUEL);
  if (error) {
    wasmtime_error_delete(error);
    c->done->end = MF_END_BROKEN;
    return;
  }
  c->events->arm(c->user, c->i->run.host.deadline_ns);
  int32_t at = 0;
  enum mf_worker_end end = call_guest(c, &c->i->list_files, false, 0, &at);
  c->events->arm(c->user, 0);
  if (end == MF_END_BROKEN)
    c->done->end = MF_END_BROKEN;
  else if (end != MF_END_WORD || c->i->run.host.end != MF_HOST_RUNS)
    c->done->files_failed = 1;
  else if (!tell_files(c, (uint32_t)at))
    c->done->end = MF_END_BROKEN;
}

/* ---- the whole ---- */

static void measure(struct call *c)
{
  struct mf_worker_done *d = c->done;
  uint64_t fuel_left = 0;
  wasmtime_error_t *error = wasmtime_context_get_fuel(c->i->cx, &fuel_left);
  if (error)
    wasmtime_error_delete(error);
  d->fuel_used = c->ask->fuel - MF_MIN(fuel_left, c->ask->fuel);
  d->memory_bytes = view_of(c).n;
  d->is_memory_full = d->memory_bytes + FULL_SLACK_BYTES > c->ask->memory_bytes;
}

static void run_program(struct call *c, int job_fd)
{
  struct mf_host *h = &c->i->run.host;
  struct mf_worker_done *d = c->done;
  int32_t job_n = 0;
  d->end = place_job(c, job_fd, &job_n);
  if (d->end != MF_END_WORD)
    return;
  if (!c->events->began(c->user)) {
    d->end = MF_END_BROKEN;
    return;
  }
  uint64_t start_ns = mf_now_ns();
  h->cpu_base_ns = mf_host_cpu_ns();
  h->deadline_ns = start_ns + c->ask->wall_ns;
  c->events->arm(c->user, h->deadline_ns);
  d->end = call_guest(c, &c->i->run_job, true, job_n, &d->word);
  c->events->arm(c->user, 0);
  d->wall_us = (mf_now_ns() - start_ns) / 1000;
  d->cpu_us = (mf_host_cpu_ns() - h->cpu_base_ns) / 1000;
}

/* False: the engine refuses. */
static bool set_limits(struct call *c)
{
  c->i->run.host = (struct mf_host){
    .sink = c->events->output,
    .user = c->user,
    .deadline_ns = UINT64_MAX, /* nothing of the user's runs yet */
    .cpu_base_ns = mf_host_cpu_ns(),
    .stop_on_output = c->ask->stop_on_output != 0,
    .spare_n = MF_WORKER_SPARE_BYTES,
    .streams = { { .left = c->ask->stdout_bytes }, { .left = c->ask->stderr_bytes } },
  };
  wasmtime_store_limiter(c->i->store, (int64_t)c->ask->memory_bytes, -1, 1, -1, 1);
  wasmtime_error_t *error = wasmtime_context_set_fuel(c->i->cx, c->ask->fuel);
  if (error)
    wasmtime_error_delete(error);
  return !error;
}

void mf_guest_prepare(struct mf_guest *g)
{
  if (g->used) {
    mf_hot_learn(&g->hot, mf_guest_view(&g->used->run, g->used->cx));
    mf_instance_close(g->used);
    g->used = NULL;
  }
  if (g->next)
    return;
  g->next = mf_instance_open(g);
  if (g->next)
    mf_hot_take(&g->hot, mf_guest_view(&g->next->run, g->next->cx));
}

void mf_guest_call(struct mf_guest *g, const struct mf_worker_call *ask, int job_fd,
                   const struct mf_guest_events *events, void *user, struct mf_worker_done *ret)
{
  *ret = (struct mf_worker_done){ .end = MF_END_BROKEN };
  mf_guest_prepare(g);
  if (!g->next)
    return;
  g->used = g->next;
  g->next = NULL;
  struct call c = { .i = g->used, .ask = ask, .events = events, .user = user, .done = ret };
  if (!set_limits(&c))
    return;
  run_program(&c, job_fd);
  measure(&c);
  if (ret->end != MF_END_BROKEN && ret->end != MF_END_MEMORY)
    list_files(&c);
}
