/* How a fresh stack begins, and the portable switch. Neighbours: context-switch.S. */
#include "context.h"

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "base/banned.h"

#ifdef MF_CONTEXT_ASM

/* context-switch.S: where the first switch to a stack "returns" to. */
void mf_context_start(void);

void *mf_context_make(void *stack_top, mf_context_fn *fn, void *arg)
{
  /* The words that the switch takes from the stack, lowest first. The start finds fn and arg in saved registers. */
#if defined(__x86_64__)
  uint32_t mxcsr;
  uint16_t fcw;
  __asm__("stmxcsr %0" : "=m"(mxcsr));
  __asm__("fnstcw %0" : "=m"(fcw));
  const uint64_t frame[8] = {
    [0] = mxcsr | (uint64_t)fcw << 32,
    [3] = (uintptr_t)arg,             /* r13 */
    [4] = (uintptr_t)fn,              /* r12 */
    [7] = (uintptr_t)mf_context_start /* where to return */
  };
#else
  const uint64_t frame[20] = {
    [0] = (uintptr_t)fn,                /* x19 */
    [1] = (uintptr_t)arg,               /* x20 */
    [11] = (uintptr_t)mf_context_start, /* x30 */
  };
#endif
  return memcpy((char *)stack_top - sizeof(frame), frame, sizeof(frame));
}

#else

/* makecontext passes only ints. */
static void start(unsigned fn_high, unsigned fn_low, unsigned arg_high, unsigned arg_low)
{
  mf_context_fn *fn = (mf_context_fn *)(uintptr_t)((uint64_t)fn_high << 32 | fn_low);
  fn((void *)(uintptr_t)((uint64_t)arg_high << 32 | arg_low));
}

void *mf_context_make(void *stack_top, mf_context_fn *fn, void *arg)
{
  /* Nobody says how much is below; makecontext only needs the end, and the owner has put a guard at the beginning. */
  enum { SPACE = 4096 };
  ucontext_t *c = (ucontext_t *)((uintptr_t)((char *)stack_top - sizeof(*c)) & ~(uintptr_t)63);
  getcontext(c);
  c->uc_stack.ss_sp = (char *)c - SPACE;
  c->uc_stack.ss_size = SPACE;
  c->uc_link = NULL;
  uint64_t f = (uintptr_t)fn, a = (uintptr_t)arg;
  makecontext(c, (void (*)(void))start, 4, (unsigned)(f >> 32), (unsigned)f, (unsigned)(a >> 32), (unsigned)a);
  return c;
}

void mf_context_switch(void **ret_from, void *to)
{
  /* It lives as long as this stack stands still. */
  ucontext_t here;
  *ret_from = &here;
  swapcontext(&here, to);
}

#endif
