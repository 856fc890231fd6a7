/* The verdict over a call's end. */
#include "verdict.h"

#include <signal.h>

#include "sandbox/frames.h"
#include "base/banned.h"

static void judge_word(const struct mf_worker_done *d, struct mf_wasm_verdict *v)
{
  uint32_t word = (uint32_t)d->word;
  v->has_exit_code = true;
  v->exit_code = (int)(word & 0xff);
  v->status = v->exit_code == 0 ? MF_RUN_SUCCEEDED : MF_RUN_FAILED;
  v->reason = MF_REASON_EXIT;
  switch (word >> 8) {
  case MF_UNCAUGHT_MEMORY:
    v->status = MF_RUN_LIMIT;
    v->reason = MF_REASON_MEMORY;
    return;
  case MF_UNCAUGHT_DISK: /* its files are in its memory */
    v->status = MF_RUN_LIMIT;
    v->reason = MF_REASON_DISK;
    return;
  case MF_UNCAUGHT_EXCEPTION:
    if (v->exit_code != 0)
      v->reason = MF_REASON_EXCEPTION;
    return;
  default: /* an unknown value says nothing; there are no processes to run out of */
    return;
  }
}

void mf_wasm_verdict_of(const struct mf_worker_done *d, struct mf_wasm_verdict *ret)
{
  struct mf_wasm_verdict v = { .status = MF_RUN_LIMIT };
  switch ((enum mf_worker_end)d->end) {
  case MF_END_WORD:
    judge_word(d, &v);
    break;
  case MF_END_FUEL:
    v.reason = MF_REASON_FUEL;
    break;
  case MF_END_WALL:
    v.status = MF_RUN_TIMED_OUT;
    v.reason = MF_REASON_WALL_TIME;
    break;
  case MF_END_OUTPUT:
    v.reason = MF_REASON_OUTPUT;
    break;
  case MF_END_MEMORY:
    v.reason = MF_REASON_MEMORY;
    break;
  case MF_END_FAULT:
  case MF_END_ABORT:
    /* Python ends itself where it cannot even make a MemoryError. */
    if (d->is_memory_full) {
      v.reason = MF_REASON_MEMORY;
      break;
    }
    v.status = MF_RUN_FAILED;
    v.reason = MF_REASON_SIGNAL;
    v.signal = d->end == MF_END_FAULT ? SIGSEGV : SIGABRT;
    break;
  case MF_END_BROKEN:
  case MF_END_N:
    v.status = MF_RUN_FAILED;
    v.reason = MF_REASON_WORKER_CRASH;
    break;
  }
  *ret = v;
}
