/* The outgoing queue. Thread: the supervisor's. Nobody is called back: the owner asks after each step. */
#include "supq.h"

#include <string.h>

#include "base/fd.h"

#include "base/banned.h"

struct mf_supq_entry {
  struct mf_supq_entry *next;
  size_t n;
  int fd;
  bool is_output;
  char bytes[];
};

void mf_supq_init(struct mf_supq *q, int sock)
{
  *q = (struct mf_supq){ .sock = sock };
  q->last_next = &q->first;
}

static void drop_first(struct mf_supq *q)
{
  struct mf_supq_entry *e = q->first;
  q->first = e->next;
  if (!q->first)
    q->last_next = &q->first;
  if (e->is_output)
    q->output_bytes -= e->n;
  q->n--;
  if (q->output_bytes <= MF_SUPQ_OUTPUT_MAX / 2)
    q->is_full = false;
  mf_close_ptr(&e->fd);
  free(e);
}

void mf_supq_done(struct mf_supq *q)
{
  while (q->first)
    drop_first(q);
}

/* True when the frame is dealt with: sent, or never to be sent. */
static bool try_send(struct mf_supq *q, const void *p, size_t n, int fd)
{
  enum mf_code code = mf_send_msg(q->sock, p, n, &fd, fd >= 0 ? 1 : 0, NULL);
  if (code == MF_E_CAPACITY)
    return false;
  if (code != MF_OK)
    q->is_gone = true;
  return true;
}

void mf_supq_push(struct mf_supq *q, const void *p, size_t n, int fd, bool is_output)
{
  mf_auto_close int owned = fd;
  if (q->is_gone || (!q->first && try_send(q, p, n, fd)))
    return;
  struct mf_supq_entry *e = mf_xmalloc(sizeof *e + n);
  *e = (struct mf_supq_entry){ .n = n, .fd = mf_take_fd(&owned), .is_output = is_output };
  memcpy(e->bytes, p, n);
  *q->last_next = e;
  q->last_next = &e->next;
  q->n++;
  if (is_output) {
    q->output_bytes += n;
    q->is_full = q->is_full || q->output_bytes >= MF_SUPQ_OUTPUT_MAX;
  }
}

void mf_supq_flush(struct mf_supq *q)
{
  while (q->first && (q->is_gone || try_send(q, q->first->bytes, q->first->n, q->first->fd)))
    drop_first(q);
}

bool mf_supq_is_empty(const struct mf_supq *q)
{
  return !q->first;
}

bool mf_supq_has_room(const struct mf_supq *q)
{
  return !q->is_full;
}
