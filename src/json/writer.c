/* mf_json_writer: JSON straight into an mf_buf. Thread: one owner at a time.
 *
 * The first failure sticks in w->code and turns every later call into nothing, so callers check once. */
#include "json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <yyjson.h>

#include "base/utf8.h"
#include "base/banned.h"

void mf_jw_init(struct mf_json_writer *w, struct mf_buf *out, bool pretty)
{
  *w = (struct mf_json_writer){ .out = out, .code = MF_OK, .pretty = pretty };
}

static void put(struct mf_json_writer *w, struct mf_str s)
{
  if (!w->code)
    w->code = mf_buf_append_str(w->out, s);
}

static void put_line(struct mf_json_writer *w)
{
  put(w, MF_STR("\n"));
  for (unsigned i = 0; i < w->depth && !w->code; i++)
    put(w, MF_STR("  "));
}

/* What stands between the last thing and the next. */
static void begin_value(struct mf_json_writer *w)
{
  if (w->after_key) {
    w->after_key = false;
    return;
  }
  if (w->need_comma)
    put(w, MF_STR(","));
  if (w->pretty && w->depth > 0)
    put_line(w);
}

static void put_value(struct mf_json_writer *w, struct mf_str s)
{
  begin_value(w);
  put(w, s);
  w->need_comma = true;
}

static void open_container(struct mf_json_writer *w, struct mf_str bracket)
{
  begin_value(w);
  put(w, bracket);
  w->depth++;
  w->need_comma = false;
}

static void close_container(struct mf_json_writer *w, struct mf_str bracket)
{
  /* A key without a value or an end without a start is a broken promise of the caller, and never leaves as JSON. */
  if (!w->code && (w->depth == 0 || w->after_key))
    w->code = MF_E_INTERNAL;
  if (w->code)
    return;
  w->depth--;
  if (w->pretty && w->need_comma)
    put_line(w);
  put(w, bracket);
  w->need_comma = true;
}

void mf_jw_obj(struct mf_json_writer *w)
{
  open_container(w, MF_STR("{"));
}

void mf_jw_obj_end(struct mf_json_writer *w)
{
  close_container(w, MF_STR("}"));
}

void mf_jw_arr(struct mf_json_writer *w)
{
  open_container(w, MF_STR("["));
}

void mf_jw_arr_end(struct mf_json_writer *w)
{
  close_container(w, MF_STR("]"));
}

/* ---- strings ---- */

static void put_escape(struct mf_json_writer *w, unsigned char c)
{
  static const char hex[] = "0123456789abcdef";
  static const char shorts[32] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
  char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
  if (c == '"' || c == '\\' || (c < 0x20 && shorts[c])) {
    text[1] = c < 0x20 ? shorts[c] : (char)c;
    put(w, (struct mf_str){ text, 2 });
  } else {
    put(w, (struct mf_str){ text, sizeof(text) });
  }
}

/* JSON asks for the controls below U+0020. DEL and U+0080 to U+009F are escaped as well: whoever shows the text on a
 * terminal as it is lets nobody steer it. */
static void put_escaped(struct mf_json_writer *w, struct mf_str s)
{
  size_t from = 0;
  for (size_t i = 0; i < s.len && !w->code; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    bool is_c1 = c == 0xc2 && (unsigned char)s.ptr[i + 1] < 0xa0; /* valid: a byte follows */
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f && !is_c1)
      continue;
    put(w, (struct mf_str){ s.ptr + from, i - from });
    if (is_c1)
      c = (unsigned char)s.ptr[++i];
    put_escape(w, c);
    from = i + 1;
  }
  if (from < s.len)
    put(w, (struct mf_str){ s.ptr + from, s.len - from });
}

/* The length of what stands in JSON as it is: printable ASCII but for quote and backslash. Eight bytes go at once: a
 * byte below 0x20, or one that equals another, borrows from its high bit. */
static size_t plain_prefix(struct mf_str s)
{
  const uint64_t each = 0x0101010101010101ull;
  size_t i = 0;
  for (uint64_t x; s.len - i >= sizeof(x); i += sizeof(x)) {
    memcpy(&x, s.ptr + i, sizeof(x));
    uint64_t odd =
        x | (x - each * 0x20) | ((x ^ each * '"') - each) | ((x ^ each * '\\') - each) | ((x ^ each * 0x7f) - each);
    if (odd & each * 0x80)
      break;
  }
  for (; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
      break;
  }
  return i;
}

/* Most keys and strings are short and plain: with what stands around them they go out in one piece. */
static bool put_short(struct mf_json_writer *w, struct mf_str s, bool is_key)
{
  enum { SHORT_BYTES = 92 };
  char text[SHORT_BYTES + 4];
  size_t n = 0;
  if (w->pretty || s.len > SHORT_BYTES || plain_prefix(s) != s.len)
    return false;
  if (w->need_comma && !w->after_key)
    text[n++] = ',';
  text[n++] = '"';
  if (s.len > 0)
    memcpy(text + n, s.ptr, s.len);
  n += s.len;
  text[n++] = '"';
  if (is_key)
    text[n++] = ':';
  put(w, (struct mf_str){ text, n });
  return true;
}

static void put_quoted(struct mf_json_writer *w, struct mf_str s)
{
  put(w, MF_STR("\""));
  if (plain_prefix(s) == s.len) {
    put(w, s);
  } else if (mf_utf8_is_valid(s)) {
    put_escaped(w, s);
  } else {
    /* A bad byte becomes three. What does not fit into the output need not be repaired. */
    mf_auto_buf struct mf_buf fixed;
    mf_buf_init(&fixed, w->out->max);
    struct mf_utf8_repair repair = { .held_n = 0 };
    enum mf_code code = mf_utf8_repair_feed(&repair, s, &fixed);
    if (!code)
      code = mf_utf8_repair_finish(&repair, &fixed);
    if (!w->code)
      w->code = code;
    put_escaped(w, mf_buf_str(&fixed));
  }
  put(w, MF_STR("\""));
}

static void put_key(struct mf_json_writer *w, struct mf_str key)
{
  if (!w->code && (w->after_key || w->depth == 0))
    w->code = MF_E_INTERNAL;
  if (!put_short(w, key, true)) {
    begin_value(w);
    put_quoted(w, key);
    put(w, w->pretty ? MF_STR(": ") : MF_STR(":"));
  }
  w->after_key = true;
}

void mf_jw_key(struct mf_json_writer *w, const char *key)
{
  put_key(w, mf_str_of(key));
}

void mf_jw_key_str(struct mf_json_writer *w, struct mf_str key)
{
  put_key(w, key);
}

void mf_jw_str(struct mf_json_writer *w, struct mf_str s)
{
  if (!put_short(w, s, false)) {
    begin_value(w);
    put_quoted(w, s);
  }
  w->after_key = false;
  w->need_comma = true;
}

void mf_jw_strz(struct mf_json_writer *w, const char *z)
{
  if (z)
    mf_jw_str(w, mf_str_of(z));
  else
    mf_jw_null(w);
}

/* ---- other values ---- */

void mf_jw_u64(struct mf_json_writer *w, uint64_t v)
{
  char text[20];
  size_t at = sizeof(text);
  do {
    text[--at] = (char)('0' + v % 10);
    v /= 10;
  } while (v > 0);
  put_value(w, (struct mf_str){ text + at, sizeof(text) - at });
}

void mf_jw_i64(struct mf_json_writer *w, int64_t v)
{
  char text[24];
  int n = snprintf(text, sizeof(text), "%" PRId64, v);
  put_value(w, (struct mf_str){ text, (size_t)n });
}

void mf_jw_f64(struct mf_json_writer *w, double v)
{
  if (!isfinite(v)) {
    mf_jw_null(w);
    return;
  }
  /* yyjson knows the shortest text and, unlike printf, no locale. One number fits into memory of our own. */
  char memory[1024];
  yyjson_alc alc;
  yyjson_alc_pool_init(&alc, memory, sizeof(memory));
  yyjson_val num = { .tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL, .uni.f64 = v };
  size_t n = 0;
  const char *text = yyjson_val_write_opts(&num, YYJSON_WRITE_NOFLAG, &alc, &n, NULL);
  if (text)
    put_value(w, (struct mf_str){ text, n });
  else if (!w->code)
    w->code = MF_E_INTERNAL;
}

void mf_jw_bool(struct mf_json_writer *w, bool v)
{
  put_value(w, v ? MF_STR("true") : MF_STR("false"));
}

void mf_jw_null(struct mf_json_writer *w)
{
  put_value(w, MF_STR("null"));
}

void mf_jw_raw(struct mf_json_writer *w, struct mf_str json)
{
  put_value(w, json);
}

/* The parser bounds the depth of every document, and with it this recursion. */
void mf_jw_val(struct mf_json_writer *w, const struct mf_json_val *v)
{
  struct mf_json_iter it = mf_json_iter(v);
  switch (mf_json_type_of(v)) {
  case MF_JSON_NULL:
    mf_jw_null(w);
    break;
  case MF_JSON_BOOL:
    mf_jw_bool(w, mf_json_bool(v));
    break;
  case MF_JSON_NUM:
    mf_jw_raw(w, mf_json_num_text(v));
    break;
  case MF_JSON_STR:
    mf_jw_str(w, mf_json_str(v));
    break;
  case MF_JSON_ARR:
    mf_jw_arr(w);
    while (!w->code && mf_json_next(&it))
      mf_jw_val(w, it.val);
    mf_jw_arr_end(w);
    break;
  case MF_JSON_OBJ:
    mf_jw_obj(w);
    while (!w->code && mf_json_next(&it)) {
      put_key(w, it.key);
      mf_jw_val(w, it.val);
    }
    mf_jw_obj_end(w);
    break;
  }
}

void mf_jw_kstr(struct mf_json_writer *w, const char *key, struct mf_str s)
{
  mf_jw_key(w, key);
  mf_jw_str(w, s);
}

void mf_jw_kstrz(struct mf_json_writer *w, const char *key, const char *z)
{
  mf_jw_key(w, key);
  mf_jw_strz(w, z);
}

void mf_jw_ku64(struct mf_json_writer *w, const char *key, uint64_t v)
{
  mf_jw_key(w, key);
  mf_jw_u64(w, v);
}

void mf_jw_ki64(struct mf_json_writer *w, const char *key, int64_t v)
{
  mf_jw_key(w, key);
  mf_jw_i64(w, v);
}

void mf_jw_kf64(struct mf_json_writer *w, const char *key, double v)
{
  mf_jw_key(w, key);
  mf_jw_f64(w, v);
}

void mf_jw_kbool(struct mf_json_writer *w, const char *key, bool v)
{
  mf_jw_key(w, key);
  mf_jw_bool(w, v);
}
