/* The form of a worker's frames. Thread: any; no state. */
#include "frames.h"

#include <string.h>

#include "base/compiler.h"
#include "base/banned.h"

#define US_MAX (48ull * 3600 * 1000000) /* more than any call can last */

static bool is_flag(uint32_t v)
{
  return v <= 1;
}

static bool has_end(const char *text, size_t n)
{
  return memchr(text, '\0', n) != NULL;
}

static bool check_output(struct mf_worker_msg *m, size_t tail_n)
{
  const struct mf_worker_output *f = &m->u.output;
  m->serial = f->serial;
  return f->len == tail_n && f->len <= MF_WORKER_CHUNK_MAX && is_flag(f->is_stderr) && is_flag(f->dropped) &&
         (f->len > 0 || f->dropped);
}

static bool check_file(struct mf_worker_msg *m, size_t tail_n)
{
  m->serial = m->u.file.serial;
  return m->u.file.name_n == tail_n && tail_n <= MF_WORKER_NAME_MAX;
}

static bool check_done(struct mf_worker_msg *m)
{
  const struct mf_worker_done *f = &m->u.done;
  m->serial = f->serial;
  return f->end < MF_END_N && is_flag(f->is_memory_full) && is_flag(f->files_failed) && f->wall_us <= US_MAX &&
         f->cpu_us <= US_MAX && f->memory_bytes <= 4ull << 30;
}

static bool check(struct mf_worker_msg *m, size_t tail_n)
{
  switch (m->type) {
  case MF_WORKER_HELLO:
    return m->u.hello.version == MF_WORKER_VERSION;
  case MF_WORKER_READY:
    return has_end(m->u.ready.seccomp_sha256, sizeof(m->u.ready.seccomp_sha256));
  case MF_WORKER_FATAL:
    return has_end(m->u.fatal.text, sizeof(m->u.fatal.text));
  case MF_WORKER_BEGAN:
    m->serial = m->u.began.serial;
    return true;
  case MF_WORKER_OUTPUT:
    return check_output(m, tail_n);
  case MF_WORKER_FILE:
    return check_file(m, tail_n);
  case MF_WORKER_DONE:
    return check_done(m);
  case MF_WORKER_GO: /* these go the other way */
  case MF_WORKER_CALL:
    break;
  }
  return false;
}

/* What follows the fixed part may have a length of its own, or must be nothing. */
static const struct {
  size_t size;
  bool has_tail;
  unsigned fd_max;
} shapes[] = {
  [MF_WORKER_HELLO] = { sizeof(struct mf_worker_hello), false, 0 },
  [MF_WORKER_READY] = { sizeof(struct mf_worker_ready), false, 0 },
  [MF_WORKER_FATAL] = { sizeof(struct mf_worker_fatal), false, 0 },
  [MF_WORKER_BEGAN] = { sizeof(struct mf_worker_began), false, 0 },
  [MF_WORKER_OUTPUT] = { sizeof(struct mf_worker_output), true, 0 },
  [MF_WORKER_FILE] = { sizeof(struct mf_worker_file), true, 1 },
  [MF_WORKER_DONE] = { sizeof(struct mf_worker_done), false, 0 },
};

bool mf_worker_parse(const void *p, size_t n, unsigned fd_n, struct mf_worker_msg *ret)
{
  uint32_t type = 0;
  if (n < sizeof(type))
    return false;
  memcpy(&type, p, sizeof(type));
  if (type >= MF_ARRAY_N(shapes) || shapes[type].size == 0 || n < shapes[type].size || fd_n > shapes[type].fd_max)
    return false;
  size_t tail_n = n - shapes[type].size;
  if (tail_n > 0 && !shapes[type].has_tail)
    return false;
  struct mf_worker_msg m = { .type = (enum mf_worker_frame)type,
                             .tail = (const char *)p + shapes[type].size,
                             .tail_n = tail_n };
  memcpy(&m.u, p, shapes[type].size); /* the message is bytes: a copy has the right alignment and type */
  if (!check(&m, tail_n))
    return false;
  *ret = m;
  return true;
}
