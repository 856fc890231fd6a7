/* texts: see texts.h. */
#include "texts.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "base/banned.h"

enum { CHUNK_BYTES = 16 * 1024 };

struct texts_chunk {
  struct texts_chunk *next;
  size_t used, size;
  char bytes[];
};

void texts_done(struct texts *t)
{
  while (t->chunks) {
    struct texts_chunk *c = t->chunks;
    t->chunks = c->next;
    free(c);
  }
}

static struct texts_chunk *add_chunk(struct texts *t, size_t size)
{
  struct texts_chunk *c = malloc(sizeof(*c) + size);
  if (!c)
    return NULL;
  *c = (struct texts_chunk){ .size = size };
  /* One that is full already goes behind the one that has room. */
  struct texts_chunk **at = t->chunks && size > CHUNK_BYTES ? &t->chunks->next : &t->chunks;
  c->next = *at;
  *at = c;
  return c;
}

bool texts_copy(struct texts *t, struct mf_str s, struct mf_str *ret)
{
  *ret = (struct mf_str){ "", 0 };
  if (s.len == 0)
    return true;
  struct texts_chunk *c = t->chunks;
  if (!c || c->size - c->used < s.len)
    c = add_chunk(t, MF_MAX(s.len, (size_t)CHUNK_BYTES));
  if (!c)
    return false;
  char *to = c->bytes + c->used;
  memcpy(to, s.ptr, s.len);
  c->used += s.len;
  *ret = (struct mf_str){ to, s.len };
  return true;
}

enum mf_code texts_load_id(struct texts *t, sqlite3_stmt *st, int at, struct mf_str *ret, struct mf_err *err)
{
  if (!texts_copy(t, db_column(st, at), ret))
    return mf_fail(err, MF_E_LIMIT, 0, "out of memory for what is stored");
  return MF_OK;
}

enum mf_code texts_load(struct texts *t, struct db *d, sqlite3_stmt *st, int at, struct mf_str *ret, struct mf_err *err)
{
  if (!mf_utf8_is_valid(db_column(st, at)))
    return db_fail(d, SQLITE_CORRUPT, err);
  return texts_load_id(t, st, at, ret, err);
}
