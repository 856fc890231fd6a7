/* Bytes of a module, read with a check at each step. */
#include "reader.h"

#include "base/banned.h"

struct mf_reader mf_reader_of(struct mf_str module)
{
  const uint8_t *p = (const uint8_t *)module.ptr;
  return (struct mf_reader){ .at = p, .end = p + module.len, .start = p };
}

bool mf_reader_is_done(const struct mf_reader *r)
{
  return r->at == r->end;
}

void mf_reader_fail(struct mf_reader *r, const char *fault)
{
  if (r->fault)
    return;
  r->fault = fault;
  r->fault_at = (size_t)(r->at - r->start);
  r->at = r->end;
}

uint8_t mf_read_u8(struct mf_reader *r)
{
  if (r->at == r->end) {
    mf_reader_fail(r, "ends too early");
    return 0;
  }
  return *r->at++;
}

/* The bits of a LEB128 number, seven from each byte. *ret_bits: how many bits were written down. */
static uint64_t read_leb(struct mf_reader *r, unsigned max_bytes, unsigned *ret_bits)
{
  uint64_t v = 0;
  for (unsigned i = 0; i < max_bytes; i++) {
    uint8_t b = mf_read_u8(r);
    v |= (uint64_t)(b & 0x7f) << (7 * i);
    if (!(b & 0x80)) {
      *ret_bits = 7 * (i + 1);
      return r->fault ? 0 : v;
    }
  }
  *ret_bits = 0;
  mf_reader_fail(r, "has a number that is too long");
  return 0;
}

uint32_t mf_read_u32(struct mf_reader *r)
{
  unsigned bits;
  uint64_t v = read_leb(r, 5, &bits);
  if (v > UINT32_MAX) {
    mf_reader_fail(r, "has a number above 32 bits");
    return 0;
  }
  return (uint32_t)v;
}

int32_t mf_read_i32(struct mf_reader *r)
{
  unsigned bits;
  uint64_t v = read_leb(r, 5, &bits);
  if (bits && (v >> (bits - 1)) & 1)
    v |= ~0ull << bits;
  int64_t s = (int64_t)v;
  if (s < INT32_MIN || s > INT32_MAX) {
    mf_reader_fail(r, "has a number above 32 bits");
    return 0;
  }
  return (int32_t)s;
}

void mf_skip_sleb(struct mf_reader *r)
{
  for (unsigned i = 0; i < 10; i++)
    if (!(mf_read_u8(r) & 0x80))
      return;
  mf_reader_fail(r, "has a number that is too long");
}

struct mf_reader mf_read_part(struct mf_reader *r, uint32_t n)
{
  struct mf_reader part = { .at = r->end, .end = r->end, .start = r->start };
  if (n > (size_t)(r->end - r->at)) {
    mf_reader_fail(r, "has a length that goes beyond its end");
    return part;
  }
  part.at = r->at;
  part.end = r->at + n;
  r->at += n;
  return part;
}

struct mf_str mf_read_name(struct mf_reader *r)
{
  uint32_t n = mf_read_u32(r);
  struct mf_reader part = mf_read_part(r, n);
  return (struct mf_str){ (const char *)part.at, (size_t)(part.end - part.at) };
}

enum mf_code mf_reader_check(const struct mf_reader *r, const char *what, struct mf_err *err)
{
  if (!r->fault)
    return MF_OK;
  return mf_fail(err, MF_E_INPUT, 0, "%s at byte %zu %s", what, r->fault_at, r->fault);
}
