/* The queue of frames from the supervisor to the provider: what the socket does not take at once waits here.
 *
 * Guest output is bounded: when more than MF_SUPQ_OUTPUT_MAX bytes of it wait there is no room, and nobody reads a pipe
 * until half of it has gone. Control frames are few and small (a fixed number for each run) and always fit. Order is
 * kept. Thread: the supervisor's. */
#ifndef MF_LOCAL_SUPQ_H
#define MF_LOCAL_SUPQ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define MF_SUPQ_OUTPUT_MAX ((size_t)256 * 1024)

struct mf_supq_entry;
struct mf_supq {
  int sock; /* borrowed */
  struct mf_supq_entry *first, **last_next;
  size_t output_bytes;
  unsigned n;
  bool is_full; /* until half has drained */
  bool is_gone; /* the provider has ended: everything is thrown away */
};

void mf_supq_init(struct mf_supq *q, int sock);
void mf_supq_done(struct mf_supq *q);

/* Sends a frame, or keeps a copy of it. Owns: fd (consumed; -1 for none). */
void mf_supq_push(struct mf_supq *q, const void *p, size_t n, int fd, bool is_output);
/* Sends what waits. */
void mf_supq_flush(struct mf_supq *q);
bool mf_supq_is_empty(const struct mf_supq *q); /* nothing waits: no need to watch for writability */
bool mf_supq_has_room(const struct mf_supq *q);

#endif
