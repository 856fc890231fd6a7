/* The one thing that C cannot say: leaving one stack for another.
 *
 * In assembly where we have it, because swapcontext(3) asks the kernel for the signal mask at each switch; a fiber
 * never changes the mask. Elsewhere, and with MF_CONTEXT_UCONTEXT, swapcontext does it. */
#ifndef MF_LOOP_CONTEXT_H
#define MF_LOOP_CONTEXT_H

#if !defined(MF_CONTEXT_UCONTEXT) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define MF_CONTEXT_ASM
#endif

#ifndef __ASSEMBLER__
typedef void mf_context_fn(void *arg);

/* Prepares a stack that ends at stack_top (aligned to 16) so that the first switch to what is returned calls fn(arg) on
 * it. fn must not return. */
void *mf_context_make(void *stack_top, mf_context_fn *fn, void *arg);
/* Leaves the present stack, whose place is put into *ret_from, for `to`; returns when something switches back. */
void mf_context_switch(void **ret_from, void *to);
#endif

#endif
