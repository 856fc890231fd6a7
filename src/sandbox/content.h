/* The content of one artifact: compared with an input, or copied into a sealed memory file while it is hashed. */
#ifndef MF_SANDBOX_CONTENT_H
#define MF_SANDBOX_CONTENT_H

#include "sandbox/sandbox.h"

enum content_outcome {
  CONTENT_OK,
  CONTENT_DIFFERENT, /* content_compare: not these bytes */
  CONTENT_TOO_BIG,   /* more bytes came than allowed */
  CONTENT_TIMEOUT,
  CONTENT_FAILED, /* a system call failed: errno */
};

#define CONTENT_CHUNK_N 65536u

/* `chunk` has CONTENT_CHUNK_N bytes. Both read from offset 0 and never believe st_size. */
enum content_outcome content_compare(int fd, struct mf_str data, uint64_t deadline_ns, char *chunk);
/* Fills size_bytes, sha256, mime_type and fd of *ret on CONTENT_OK. Reads at most max_bytes + 1. */
enum content_outcome content_copy(int fd, struct mf_str name, uint64_t max_bytes, uint64_t deadline_ns, char *chunk,
                                  struct mf_artifact *ret);

#endif
