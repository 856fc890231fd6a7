/* What ASan and TSan must be told when stacks change; nothing without them. ASan keeps the bounds of the present stack
 * and a "fake stack" for locals of functions that have returned; TSan keeps a clock and a call stack for each fiber. */
#ifndef MF_LOOP_SANITIZER_H
#define MF_LOOP_SANITIZER_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MF_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define MF_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(MF_ASAN)
#define MF_ASAN
#endif
#if defined(__SANITIZE_THREAD__) && !defined(MF_TSAN)
#define MF_TSAN
#endif

/* Always: TSan counts calls and returns on the call stack of the fiber it was told of, and a function of its own here
 * would be called on one and return on the other. */
#define MF_SAN_INLINE __attribute__((always_inline)) static inline

#ifdef MF_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef MF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Just before a change to the stack [bottom, bottom + bytes). ret_fake NULL: nobody comes back to this one. */
MF_SAN_INLINE void mf_san_leave(void **ret_fake, const void *bottom, size_t bytes)
{
#ifdef MF_ASAN
  __sanitizer_start_switch_fiber(ret_fake, bottom, bytes);
#endif
}

/* Just after it, with what mf_san_leave gave when this stack was left (NULL the first time); tells the one we came
 * from. */
MF_SAN_INLINE void mf_san_arrive(void *fake, const void **ret_bottom, size_t *ret_bytes)
{
#ifdef MF_ASAN
  __sanitizer_finish_switch_fiber(fake, ret_bottom, ret_bytes);
#endif
}

/* A stack that nobody is on any more: its marks must not hurt the next user of this memory. */
MF_SAN_INLINE void mf_san_forget(void *p, size_t bytes)
{
#ifdef MF_ASAN
  __asan_unpoison_memory_region(p, bytes);
#endif
}

MF_SAN_INLINE void *mf_san_new_fiber(void)
{
#ifdef MF_TSAN
  return __tsan_create_fiber(0);
#else
  return NULL;
#endif
}

MF_SAN_INLINE void mf_san_end_fiber(void *f)
{
#ifdef MF_TSAN
  __tsan_destroy_fiber(f);
#endif
}

/* Directly before the change; returns the one that is left. */
MF_SAN_INLINE void *mf_san_change_fiber(void *f)
{
#ifdef MF_TSAN
  void *from = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(f, 0);
  return from;
#else
  return NULL;
#endif
}

#endif
