/* One stream of a guest: raw bytes in, bounded valid UTF-8 out.
 *
 * Feeding n bytes costs O(n) whatever the chunks are, and holds at most the cap plus one small scratch buffer: bytes
 * past the cap are not even looked at. Thread: the provider's. */
#include "sandbox/sandbox.h"

#include <assert.h>
#include <stdlib.h>

#include "base/utf8.h"

#include "base/banned.h"

/* Raw bytes repaired at a time. Each byte becomes at most one U+FFFD (3 bytes), as does each byte held back before. */
#define PIECE_N 4096u
#define SCRATCH_MAX (3ul * (PIECE_N + 4u))

struct mf_output {
  struct mf_utf8_repair repair;
  struct mf_buf text;    /* what is kept; its max is the cap */
  struct mf_buf scratch; /* one repaired piece */
  bool truncated;
};

struct mf_output *mf_output_new(uint64_t max_bytes)
{
  assert(max_bytes <= SIZE_MAX / 4);
  struct mf_output *o = mf_xcalloc(1, sizeof(*o));
  mf_buf_init(&o->text, (size_t)max_bytes);
  mf_buf_init(&o->scratch, SCRATCH_MAX);
  return o;
}

void mf_output_free(struct mf_output *o)
{
  if (o == NULL)
    return;
  mf_buf_done(&o->text);
  mf_buf_done(&o->scratch);
  free(o);
}

/* Moves the repaired piece behind the kept text; what does not fit ends the text for ever, so that it stays a
 * prefix. */
static void keep_scratch(struct mf_output *o)
{
  struct mf_str piece = mf_buf_str(&o->scratch);
  size_t room = o->text.max - o->text.len;
  if (piece.len > room) {
    piece.len = mf_utf8_prefix(piece, room);
    o->truncated = true;
  }
  /* Without memory the text ends here, as at the cap. */
  if (mf_buf_append_str(&o->text, piece) != MF_OK)
    o->truncated = true;
  mf_buf_truncate(&o->scratch, 0);
}

static struct mf_str text_from(const struct mf_output *o, size_t start)
{
  return (struct mf_str){ o->text.ptr + start, o->text.len - start };
}

void mf_output_feed(struct mf_output *o, struct mf_str raw, struct mf_str *ret_new)
{
  size_t start = o->text.len;
  while (raw.len > 0 && !o->truncated) {
    struct mf_str piece = { raw.ptr, MF_MIN(raw.len, (size_t)PIECE_N) };
    raw.ptr += piece.len;
    raw.len -= piece.len;
    enum mf_code code = mf_utf8_repair_feed(&o->repair, piece, &o->scratch);
    keep_scratch(o);
    o->truncated |= code != MF_OK;
  }
  if (ret_new != NULL)
    *ret_new = text_from(o, start);
}

void mf_output_finish(struct mf_output *o, struct mf_str *ret_new)
{
  size_t start = o->text.len;
  if (!o->truncated) {
    enum mf_code code = mf_utf8_repair_finish(&o->repair, &o->scratch);
    keep_scratch(o);
    o->truncated |= code != MF_OK;
  }
  if (ret_new != NULL)
    *ret_new = text_from(o, start);
}

void mf_output_drop(struct mf_output *o)
{
  o->truncated = true;
  o->repair.held_n = 0;
}

bool mf_output_is_truncated(const struct mf_output *o)
{
  return o->truncated;
}

void mf_output_take(struct mf_output *o, struct mf_buf *ret)
{
  *ret = o->text;
  mf_buf_init(&o->text, 0);
  o->truncated = true; /* the text is gone: what is fed from now on is dropped */
}
