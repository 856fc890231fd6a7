/* The content of one artifact. Thread: any. Neighbour: artifacts.c. */
#include "content.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/time.h"

#include "base/banned.h"

/* Reads up to n bytes at an offset; fewer only at the end. -1: errno. */
static ssize_t read_at(int fd, char *p, size_t n, uint64_t at)
{
  size_t got = 0;
  while (got < n) {
    ssize_t r = pread(fd, p + got, n - got, (off_t)(at + got));
    if (r < 0 && errno == EINTR)
      continue;
    if (r < 0)
      return -1;
    if (r == 0)
      break;
    got += (size_t)r;
  }
  return (ssize_t)got;
}

enum content_outcome content_compare(int fd, struct mf_str data, uint64_t deadline_ns, char *chunk)
{
  for (uint64_t at = 0;;) {
    if (mf_now_ns() >= deadline_ns)
      return CONTENT_TIMEOUT;
    size_t want = MF_MIN(data.len - (size_t)at, (size_t)CONTENT_CHUNK_N);
    ssize_t got = read_at(fd, chunk, want > 0 ? want : 1, at);
    if (got < 0)
      return CONTENT_FAILED;
    if (want == 0)
      return got == 0 ? CONTENT_OK : CONTENT_DIFFERENT;
    if ((size_t)got != want || memcmp(chunk, data.ptr + at, want) != 0)
      return CONTENT_DIFFERENT;
    at += want;
  }
}

/* errno is the caller's on CONTENT_FAILED. */
static enum content_outcome copy_chunks(int fd, int memfd, uint64_t max_bytes, uint64_t deadline_ns, char *chunk,
                                        struct mf_sha256 *hash, struct mf_str name, struct mf_artifact *ret)
{
  uint64_t at = 0;
  for (;;) {
    if (mf_now_ns() >= deadline_ns)
      return CONTENT_TIMEOUT;
    size_t want = (size_t)MF_MIN(max_bytes - at + 1, (uint64_t)CONTENT_CHUNK_N);
    ssize_t got = read_at(fd, chunk, want, at);
    if (got < 0)
      return CONTENT_FAILED;
    if ((uint64_t)got > max_bytes - at)
      return CONTENT_TOO_BIG;
    if (at == 0)
      ret->mime_type = mf_mime_sniff(name, (struct mf_str){ chunk, MF_MIN((size_t)got, (size_t)MF_MIME_HEAD_N) });
    mf_sha256_update(hash, chunk, (size_t)got);
    if (got > 0 && mf_write_all(memfd, chunk, (size_t)got, NULL) != MF_OK)
      return CONTENT_FAILED;
    at += (uint64_t)got;
    if ((size_t)got < want)
      break;
  }
  ret->size_bytes = at;
  return CONTENT_OK;
}

enum content_outcome content_copy(int fd, struct mf_str name, uint64_t max_bytes, uint64_t deadline_ns, char *chunk,
                                  struct mf_artifact *ret)
{
  mf_auto_close int memfd = -1;
  if (mf_memfd("mayfly-artifact", &memfd, NULL) != MF_OK)
    return CONTENT_FAILED;
  struct mf_sha256 *hash = mf_sha256_new();
  enum content_outcome outcome = copy_chunks(fd, memfd, max_bytes, deadline_ns, chunk, hash, name, ret);
  int saved = errno;
  mf_sha256_finish(hash, ret->sha256);
  errno = saved;
  if (outcome != CONTENT_OK)
    return outcome;
  /* From here on nobody can change what the digest was made of, whoever else gets the descriptor. */
  if (fcntl(memfd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 ||
      lseek(memfd, 0, SEEK_SET) != 0)
    return CONTENT_FAILED;
  ret->fd = mf_take_fd(&memfd);
  return CONTENT_OK;
}
