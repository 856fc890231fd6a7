/* The five functions that a guest may call (runtime/wasm/abi.h), over a plain view of its memory: no type of the
 * engine, so that unit tests and the fuzzer call exactly what a guest calls.
 *
 * Every pointer and length is the guest's and may be anything. A function that finds the call at its end (exit, output
 * past its cap, the deadline) sets `end`; the engine glue then traps. Thread: the one that runs the guest. */
#ifndef MF_WASM_HOST_H
#define MF_WASM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The guest's memory as it is now; it may grow and move between two calls. */
struct mf_host_view {
  uint8_t *ptr;
  size_t n;
};

enum mf_host_end {
  MF_HOST_RUNS,
  MF_HOST_EXITED, /* exit_code is set */
  MF_HOST_OUTPUT, /* a stream passed its cap, and the policy is to stop */
  MF_HOST_WALL,   /* the deadline has passed */
  MF_HOST_BROKEN, /* the sink cannot take any more */
};

enum mf_host_sent { MF_SENT, MF_SENT_LATE, MF_SENT_NEVER };

struct mf_host_stream {
  uint64_t left;   /* bytes that may still go up; the last spare_n of them are past the cap */
  bool is_dropped; /* and more than those were written */
};

struct mf_host {
  /* Takes n > 0 bytes of a stream, or with n = 0 the news that bytes were dropped. Waits until deadline_ns at most
   * (MF_SENT_LATE). */
  enum mf_host_sent (*sink)(void *user, bool is_stderr, const void *p, size_t n, bool is_dropped, uint64_t deadline_ns);
  void *user;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC */
  uint64_t cpu_base_ns; /* of this thread, when the call began */
  bool stop_on_output;
  uint64_t spare_n;
  struct mf_host_stream streams[2]; /* stdout, stderr */
  enum mf_host_end end;
  int exit_code; /* 0..255 */
};

int64_t mf_host_clock(const struct mf_host *h, int32_t id);
int32_t mf_host_random(struct mf_host *h, struct mf_host_view memory, int32_t ptr, int32_t n);
int32_t mf_host_write(struct mf_host *h, struct mf_host_view memory, int32_t fd, int32_t ptr, int32_t n);
void mf_host_sleep(struct mf_host *h, int64_t ns);
void mf_host_exit(struct mf_host *h, int32_t code);

/* The n bytes at ptr, or NULL when they are not all in the memory; never NULL otherwise, also for n = 0. For the glue
 * and for reading what the guest left. */
uint8_t *mf_host_at(struct mf_host_view memory, uint32_t ptr, uint64_t n);

/* Processor time of the calling thread. */
uint64_t mf_host_cpu_ns(void);

#endif
