/* The guest in this process: loaded once, a fresh instance for each call. Everything here touches the engine; nothing
 * of the provider does. Only compiled with the feature. Thread: the guest's, but for mf_guest_interrupt. */
#ifndef MF_WASM_CALL_H
#define MF_WASM_CALL_H

#include "base/err.h"
#include "frames.h"
#include "host.h"

struct mf_guest;

/* Loads compiled code from a path (as /proc/self/fd/5) whose bytes nobody can change, so that processes which load the
 * same file share its pages. pagemap_fd: /proc/self/pagemap (borrowed), or -1. MF_E_UNAVAILABLE: not code that this
 * engine can run, or not a guest of this ABI. */
MF_MUST_USE enum mf_code mf_guest_load(const char *path, int pagemap_fd, struct mf_guest **ret, struct mf_err *err);
void mf_guest_free(struct mf_guest *g); /* NULL is fine */

/* Makes running code look at its deadline. Thread: any. */
void mf_guest_interrupt(struct mf_guest *g);

struct mf_guest_events {
  /* mf_guest_interrupt must be called at this time; 0: not any more. */
  void (*arm)(void *user, uint64_t deadline_ns);
  bool (*began)(void *user); /* false: the machinery is broken */
  enum mf_host_sent (*output)(void *user, bool is_stderr, const void *p, size_t n, bool is_dropped,
                              uint64_t deadline_ns);
  /* A file that the program left; data NULL: past the limits, only its size is told. False: broken. */
  bool (*file)(void *user, const void *name, size_t name_n, const void *data, uint64_t data_n);
};

/* Drops the instance of the last call and makes the next one, so that its call finds it ready. */
void mf_guest_prepare(struct mf_guest *g);

/* Runs one job from its descriptor (borrowed) to its end, then lists its files. The instance is kept: see
 * mf_guest_prepare. ret: everything but type and serial. */
void mf_guest_call(struct mf_guest *g, const struct mf_worker_call *call, int job_fd,
                   const struct mf_guest_events *events, void *user, struct mf_worker_done *ret);

#endif
