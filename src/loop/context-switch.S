/* mf_context_switch: what the ABI lets a callee change is the caller's affair; the rest goes to the stack, and the stack is
 * changed. Before and after the change the frame has the same shape, so the unwind information holds on both stacks.
 *
 * mf_context_start: the first frame of a stack; made by mf_context_make. An unwinder stops here.
 *
 * A file of its own without a shadow-stack note: the linker then leaves shadow stacks off for the program, which this switch
 * would break. */
#include "context.h"

#if defined(MF_CONTEXT_ASM) && defined(__x86_64__)

/* System V ABI: rbx, rbp, r12-r15 and the control bits of MXCSR and of the x87 word are the callee's to keep. */
  .text
  .globl mf_context_switch
  .hidden mf_context_switch
  .type mf_context_switch, @function
  .p2align 4
mf_context_switch:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r15
  .cfi_adjust_cfa_offset -8
  popq %r14
  .cfi_adjust_cfa_offset -8
  popq %r13
  .cfi_adjust_cfa_offset -8
  popq %r12
  .cfi_adjust_cfa_offset -8
  popq %rbx
  .cfi_adjust_cfa_offset -8
  popq %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size mf_context_switch, . - mf_context_switch

  .globl mf_context_start
  .hidden mf_context_start
  .type mf_context_start, @function
  .p2align 4
mf_context_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  call *%r12
  ud2
  .cfi_endproc
  .size mf_context_start, . - mf_context_start

#elif defined(MF_CONTEXT_ASM) && defined(__aarch64__)

/* AAPCS64: x19-x29, the low halves of v8-v15 and the stack pointer; x30 is where to return. */
  .text
  .globl mf_context_switch
  .hidden mf_context_switch
  .type mf_context_switch, %function
  .p2align 4
mf_context_switch:
  .cfi_startproc
  sub sp, sp, #160
  .cfi_adjust_cfa_offset 160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  .cfi_rel_offset x29, 80
  .cfi_rel_offset x30, 88
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  .cfi_adjust_cfa_offset -160
  ret
  .cfi_endproc
  .size mf_context_switch, . - mf_context_switch

  .globl mf_context_start
  .hidden mf_context_start
  .type mf_context_start, %function
  .p2align 4
mf_context_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #1
  .cfi_endproc
  .size mf_context_start, . - mf_context_start

#endif

  .section .note.GNU-stack, "", %progbits
