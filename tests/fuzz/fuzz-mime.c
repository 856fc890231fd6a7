/* MIME types: always one of the known ones, and text only for what is text. Input: length of the name, name, head. */
#include <string.h>

#include "base/utf8.h"
#include "fuzz.h"
#include "sandbox/sandbox.h"
#include "base/banned.h"

static const struct {
  const char *type;
  bool is_text;
} types[] = {
  { "application/octet-stream", false },
  { "text/plain; charset=utf-8", true },
  { "image/png", false },
  { "image/jpeg", false },
  { "image/gif", false },
  { "image/webp", false },
  { "image/svg+xml", true },
  { "text/html", true },
  { "text/csv", true },
  { "text/tab-separated-values", true },
  { "application/json", true },
  { "application/pdf", false },
  { "application/zip", false },
  { "application/gzip", false },
  { "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", false },
  { "application/vnd.apache.parquet", false },
  { "application/vnd.apache.arrow.file", false },
  { "application/vnd.sqlite3", false },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n < 1)
    return 0;
  size_t name_n = MF_MIN((size_t)data[0], n - 1);
  struct mf_str name = { (const char *)data + 1, name_n };
  struct mf_str head = { name.ptr + name_n, n - 1 - name_n };
  const char *type = mf_mime_sniff(name, head);
  size_t i = 0;
  while (i < MF_ARRAY_N(types) && strcmp(types[i].type, type) != 0)
    i++;
  CHECK(i < MF_ARRAY_N(types));
  if (types[i].is_text) {
    CHECK(head.len == 0 || memchr(head.ptr, 0, head.len) == NULL);
    CHECK(mf_utf8_is_valid(head) || head.len >= MF_MIME_HEAD_N);
  }
  return 0;
}
