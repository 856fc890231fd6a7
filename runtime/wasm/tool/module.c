/* A module's sections, copied one by one; those that hold the state are written anew. */
#include "module.h"

#include "reader.h"

#include "base/banned.h"

enum {
  SECTION_CUSTOM = 0,
  SECTION_IMPORT = 2,
  SECTION_MEMORY = 5,
  SECTION_GLOBAL = 6,
  SECTION_EXPORT = 7,
  SECTION_START = 8,
  SECTION_DATA = 11,
  SECTION_DATA_COUNT = 12,
  SECTION_MAX = 13,
};
enum { OP_END = 0x0b, OP_I32_CONST = 0x41, OP_I64_CONST, OP_F32_CONST, OP_F64_CONST };

/* The image is cut into blocks of a host page, since that is what a worker maps. A gap of fewer empty blocks than this
 * costs less in the file than a further segment would at run time. */
#define BLOCK 4096u
#define GAP_BLOCKS 16u
static const uint8_t empty_block[BLOCK];

struct rewrite {
  const struct mf_memory_image *image;
  const char *const *drop;
  size_t drop_n;
  struct mf_buf *out;
  struct mf_buf section; /* of the section that is being written */
  uint32_t segment_n;
  bool has_memory, has_data;
};

static enum mf_code put(struct mf_buf *b, const void *p, size_t n, struct mf_err *err)
{
  enum mf_code c = mf_buf_append(b, p, n);
  return c == MF_OK ? MF_OK : mf_fail(err, c, 0, "the module becomes longer than %zu bytes", b->max);
}

static enum mf_code put_byte(struct mf_buf *b, uint8_t v, struct mf_err *err)
{
  return put(b, &v, 1, err);
}

static enum mf_code put_u32(struct mf_buf *b, uint32_t v, struct mf_err *err)
{
  uint8_t bytes[5];
  size_t n = 0;
  do {
    bytes[n] = v & 0x7f;
    v >>= 7;
    if (v)
      bytes[n] |= 0x80;
    n++;
  } while (v);
  return put(b, bytes, n, err);
}

/* An address as i32.const has it: signed. */
static enum mf_code put_address(struct mf_buf *b, uint32_t address, struct mf_err *err)
{
  int64_t v = (int32_t)address;
  for (;;) {
    uint8_t byte = v & 0x7f;
    v = v >= 0 ? v >> 7 : ~(~v >> 7);
    bool last = (v == 0 && !(byte & 0x40)) || (v == -1 && (byte & 0x40));
    enum mf_code c = put_byte(b, last ? byte : (uint8_t)(byte | 0x80), err);
    if (c != MF_OK || last)
      return c;
  }
}

static bool is_empty(const struct mf_memory_image *m, size_t at)
{
  return memcmp(m->bytes + at, empty_block, BLOCK) == 0;
}

/* The next run of blocks at or after *at that holds anything: [*at, *ret_end). False: there is none. */
static bool next_run(const struct mf_memory_image *m, size_t *at, size_t *ret_end)
{
  size_t begin = *at;
  while (begin < m->n && is_empty(m, begin))
    begin += BLOCK;
  if (begin == m->n)
    return false;
  size_t end = begin + BLOCK;
  for (size_t p = end; p < m->n && p - end < GAP_BLOCKS * BLOCK; p += BLOCK)
    if (!is_empty(m, p))
      end = p + BLOCK;
  *at = begin;
  *ret_end = end;
  return true;
}

static uint32_t count_runs(const struct mf_memory_image *m)
{
  uint32_t n = 0;
  size_t end;
  for (size_t at = m->stack_bytes; next_run(m, &at, &end); at = end)
    n++;
  return n;
}

static enum mf_code write_image(struct rewrite *w, struct mf_err *err)
{
  const struct mf_memory_image *m = w->image;
  enum mf_code c = put_u32(&w->section, w->segment_n, err);
  size_t end;
  for (size_t at = m->stack_bytes; c == MF_OK && next_run(m, &at, &end); at = end) {
    c = put_u32(&w->section, 0, err); /* active, in memory 0 */
    if (c == MF_OK)
      c = put_byte(&w->section, OP_I32_CONST, err);
    if (c == MF_OK)
      c = put_address(&w->section, (uint32_t)at, err);
    if (c == MF_OK)
      c = put_byte(&w->section, OP_END, err);
    if (c == MF_OK)
      c = put_u32(&w->section, (uint32_t)(end - at), err);
    if (c == MF_OK)
      c = put(&w->section, m->bytes + at, end - at, err);
  }
  return c;
}

static enum mf_code check_imports(struct mf_reader r, struct mf_err *err)
{
  uint32_t n = mf_read_u32(&r);
  for (uint32_t i = 0; i < n && !r.fault; i++) {
    mf_read_name(&r);
    mf_read_name(&r);
    if (mf_read_u8(&r) != 0)
      mf_reader_fail(&r, "imports something else than functions");
    mf_read_u32(&r);
  }
  return mf_reader_check(&r, "the import section", err);
}

/* A mutable global is state outside the memory. The stack pointer is the one that is back at its first value. */
static enum mf_code check_globals(struct mf_reader r, struct mf_err *err)
{
  uint32_t mutable_n = 0;
  uint32_t n = mf_read_u32(&r);
  for (uint32_t i = 0; i < n && !r.fault; i++) {
    mf_read_u8(&r);
    mutable_n += mf_read_u8(&r) == 1;
    switch (mf_read_u8(&r)) {
    case OP_I32_CONST:
    case OP_I64_CONST:
      mf_skip_sleb(&r);
      break;
    case OP_F32_CONST:
      mf_read_part(&r, 4);
      break;
    case OP_F64_CONST:
      mf_read_part(&r, 8);
      break;
    default:
      mf_reader_fail(&r, "has a global that does not begin as a constant");
    }
    if (mf_read_u8(&r) != OP_END)
      mf_reader_fail(&r, "has a global that does not begin as a constant");
  }
  if (mutable_n > 1)
    mf_reader_fail(&r, "has more mutable globals than the stack pointer: a snapshot would lose them");
  return mf_reader_check(&r, "the global section", err);
}

/* What was there as data is in the image too. It only has to be sure that nothing but the stack was below its end, and
 * that no instruction names a segment. */
static enum mf_code check_data(struct mf_reader r, size_t stack_bytes, struct mf_err *err)
{
  uint32_t n = mf_read_u32(&r);
  for (uint32_t i = 0; i < n && !r.fault; i++) {
    if (mf_read_u32(&r) != 0)
      mf_reader_fail(&r, "has a segment that is not simply active");
    if (mf_read_u8(&r) != OP_I32_CONST)
      mf_reader_fail(&r, "has a segment whose address is no constant");
    uint32_t address = (uint32_t)mf_read_i32(&r);
    if (mf_read_u8(&r) != OP_END)
      mf_reader_fail(&r, "has a segment whose address is no constant");
    if (address < stack_bytes)
      mf_reader_fail(&r, "has data below the end of the stack: link with --stack-first");
    mf_read_part(&r, mf_read_u32(&r));
  }
  return mf_reader_check(&r, "the data section", err);
}

static enum mf_code write_memory(struct rewrite *w, struct mf_reader r, struct mf_err *err)
{
  if (mf_read_u32(&r) != 1)
    mf_reader_fail(&r, "does not have exactly one memory");
  uint8_t flags = mf_read_u8(&r);
  if (flags > 1)
    mf_reader_fail(&r, "has a shared or 64-bit memory");
  mf_read_u32(&r);
  uint32_t max = flags ? mf_read_u32(&r) : 0;
  enum mf_code c = mf_reader_check(&r, "the memory section", err);
  if (c == MF_OK)
    c = put_byte(&w->section, 1, err);
  if (c == MF_OK)
    c = put_byte(&w->section, flags, err);
  if (c == MF_OK)
    c = put_u32(&w->section, (uint32_t)(w->image->n / MF_WASM_PAGE_BYTES), err);
  if (c == MF_OK && flags)
    c = put_u32(&w->section, max, err);
  w->has_memory = true;
  return c;
}

static bool is_dropped(const struct rewrite *w, struct mf_str name)
{
  for (size_t i = 0; i < w->drop_n; i++)
    if (mf_str_is(name, w->drop[i]))
      return true;
  return false;
}

static enum mf_code write_exports(struct rewrite *w, struct mf_reader r, struct mf_err *err)
{
  mf_auto_buf struct mf_buf kept;
  mf_buf_init(&kept, w->section.max);
  uint32_t kept_n = 0;
  enum mf_code c = MF_OK;
  uint32_t n = mf_read_u32(&r);
  for (uint32_t i = 0; i < n && !r.fault && c == MF_OK; i++) {
    const uint8_t *begin = r.at;
    struct mf_str name = mf_read_name(&r);
    mf_read_u8(&r);
    mf_read_u32(&r);
    if (r.fault || is_dropped(w, name))
      continue;
    kept_n++;
    c = put(&kept, begin, (size_t)(r.at - begin), err);
  }
  if (c == MF_OK)
    c = mf_reader_check(&r, "the export section", err);
  if (c == MF_OK)
    c = put_u32(&w->section, kept_n, err);
  if (c == MF_OK)
    c = put(&w->section, kept.ptr, kept.len, err);
  return c;
}

/* Fills w->section with what stands for section `id`. */
static enum mf_code write_section(struct rewrite *w, uint8_t id, struct mf_reader body, struct mf_err *err)
{
  enum mf_code c = MF_OK;
  switch (id) {
  case SECTION_MEMORY:
    return write_memory(w, body, err);
  case SECTION_EXPORT:
    return write_exports(w, body, err);
  case SECTION_DATA_COUNT:
    return put_u32(&w->section, w->segment_n, err);
  case SECTION_DATA:
    w->has_data = true;
    c = check_data(body, w->image->stack_bytes, err);
    return c == MF_OK ? write_image(w, err) : c;
  case SECTION_IMPORT:
    c = check_imports(body, err);
    break;
  case SECTION_GLOBAL:
    c = check_globals(body, err);
    break;
  default:
    break;
  }
  return c == MF_OK ? put(&w->section, body.at, (size_t)(body.end - body.at), err) : c;
}

static enum mf_code write_sections(struct rewrite *w, struct mf_reader r, struct mf_err *err)
{
  enum mf_code c = MF_OK;
  while (c == MF_OK && !mf_reader_is_done(&r)) {
    uint8_t id = mf_read_u8(&r);
    struct mf_reader body = mf_read_part(&r, mf_read_u32(&r));
    if (id > SECTION_MAX)
      mf_reader_fail(&r, "has a section of an unknown kind");
    if (r.fault)
      break;
    if (id == SECTION_CUSTOM || id == SECTION_START)
      continue;
    mf_buf_truncate(&w->section, 0);
    c = write_section(w, id, body, err);
    if (c == MF_OK)
      c = put_byte(w->out, id, err);
    if (c == MF_OK)
      c = put_u32(w->out, (uint32_t)w->section.len, err);
    if (c == MF_OK)
      c = put(w->out, w->section.ptr, w->section.len, err);
  }
  return c == MF_OK ? mf_reader_check(&r, "the module", err) : c;
}

enum mf_code mf_module_with_memory(struct mf_str in, const struct mf_memory_image *image, const char *const *drop,
                                   size_t drop_n, struct mf_buf *out, struct mf_err *err)
{
  static const uint8_t head[8] = { 0, 'a', 's', 'm', 1, 0, 0, 0 };
  struct mf_reader r = mf_reader_of(in);
  struct mf_reader magic = mf_read_part(&r, sizeof(head));
  if (r.fault || memcmp(magic.at, head, sizeof(head)) != 0)
    return mf_fail(err, MF_E_INPUT, 0, "this is no WebAssembly module of version 1");
  if (image->n % MF_WASM_PAGE_BYTES || image->stack_bytes % BLOCK || image->stack_bytes > image->n)
    return mf_fail(err, MF_E_INPUT, 0, "a memory of %zu bytes with a stack of %zu cannot be", image->n,
                   image->stack_bytes);

  struct rewrite w = { .image = image, .drop = drop, .drop_n = drop_n, .out = out, .segment_n = count_runs(image) };
  mf_buf_init(&w.section, out->max);
  enum mf_code c = put(out, head, sizeof(head), err);
  if (c == MF_OK)
    c = write_sections(&w, r, err);
  mf_buf_done(&w.section);
  if (c == MF_OK && !(w.has_memory && w.has_data))
    return mf_fail(err, MF_E_INPUT, 0, "the module has no memory or no data section");
  return c;
}
