/* Names of one set of files: different under canonical equivalence, and no file that is also a folder.
 *
 * Two texts are equal in NFC exactly when they are equal in NFD (UAX #15), and NFD needs no composition, so NFD it is.
 * Thread: any. Neighbour: spec.c. */
#include "names.h"

#include <stdlib.h>

#include "base/path.h"
#include "nfd-table.h"

#include "base/banned.h"

/* A name has at most 1023 bytes, and no code point of n bytes decomposes into more than 4 (UAX #15 has 4 in UTF-16
 * units at most), so this many code points always suffice. */
#define KEY_MAX 4096u

static uint32_t next_code_point(const unsigned char **p, const unsigned char *end)
{
  const unsigned char *s = *p;
  unsigned n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  if ((size_t)(end - s) < n) {
    *p = end;
    return 0xfffd;
  }
  uint32_t cp = n == 1 ? s[0] : s[0] & (0x7fu >> n);
  for (unsigned i = 1; i < n; i++)
    cp = cp << 6 | (s[i] & 0x3f);
  *p = s + n;
  return cp;
}

static const struct nfd_pair *find_pair(uint32_t cp)
{
  size_t lo = 0, hi = MF_ARRAY_N(nfd_pairs);
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (nfd_pairs[mid].cp == cp)
      return &nfd_pairs[mid];
    if (nfd_pairs[mid].cp < cp)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NULL;
}

static unsigned combining_class(uint32_t cp)
{
  size_t lo = 0, hi = MF_ARRAY_N(nfd_classes);
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (cp >= nfd_classes[mid].first && cp <= nfd_classes[mid].last)
      return nfd_classes[mid].ccc;
    if (nfd_classes[mid].last < cp)
      lo = mid + 1;
    else
      hi = mid;
  }
  return 0;
}

/* Puts one code point where canonical ordering wants it: after every mark of a class that is not greater, never before
 * a starter. */
static void put_ordered(uint32_t *out, size_t max, size_t *n, uint32_t cp)
{
  if (*n == max)
    return;
  size_t at = *n;
  unsigned ccc = combining_class(cp);
  if (ccc != 0) {
    while (at > 0 && combining_class(out[at - 1]) > ccc) {
      out[at] = out[at - 1];
      at--;
    }
  }
  out[at] = cp;
  (*n)++;
}

static void put_decomposed(uint32_t *out, size_t max, size_t *n, uint32_t cp)
{
  /* Hangul syllables are computed (Unicode 3.12): 11172 rows less. */
  if (cp >= 0xac00 && cp <= 0xd7a3) {
    uint32_t i = cp - 0xac00;
    put_ordered(out, max, n, 0x1100 + i / 588);
    put_ordered(out, max, n, 0x1161 + i % 588 / 28);
    if (i % 28 != 0)
      put_ordered(out, max, n, 0x11a7 + i % 28);
    return;
  }
  const struct nfd_pair *pair = cp < 0xc0 ? NULL : find_pair(cp);
  if (pair == NULL) {
    put_ordered(out, max, n, cp);
    return;
  }
  put_decomposed(out, max, n, pair->a); /* at most four deep: the table has no cycle */
  if (pair->b != 0)
    put_ordered(out, max, n, pair->b); /* the second part never decomposes (Unicode 3.7) */
}

size_t names_nfd(struct mf_str name, uint32_t *ret, size_t max)
{
  size_t n = 0;
  const unsigned char *p = (const unsigned char *)name.ptr, *end = p + name.len;
  while (p < end)
    put_decomposed(ret, max, &n, next_code_point(&p, end));
  return n;
}

struct name_key {
  uint32_t *points;
  size_t n;
  struct mf_str name;
};

static int compare_points(const uint32_t *a, size_t a_n, const uint32_t *b, size_t b_n)
{
  for (size_t i = 0; i < a_n && i < b_n; i++) {
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  }
  return a_n == b_n ? 0 : a_n < b_n ? -1 : 1;
}

static int compare_keys(const void *a, const void *b)
{
  const struct name_key *x = a, *y = b;
  return compare_points(x->points, x->n, y->points, y->n);
}

static enum mf_code check_sorted(const struct name_key *keys, unsigned n, struct mf_err *err)
{
  char shown[200];
  for (unsigned i = 1; i < n; i++) {
    if (compare_keys(&keys[i - 1], &keys[i]) == 0) {
      mf_escape(keys[i].name, shown, sizeof(shown));
      return mf_fail(err, MF_E_INPUT, 0, "two input files have the name '%s'", shown);
    }
  }
  for (unsigned i = 0; i < n; i++) {
    for (size_t end = 1; end < keys[i].n; end++) {
      if (keys[i].points[end] != '/')
        continue;
      struct name_key folder = { keys[i].points, end, { NULL, 0 } };
      const struct name_key *hit = bsearch(&folder, keys, n, sizeof(*keys), compare_keys);
      if (hit == NULL)
        continue;
      mf_escape(hit->name, shown, sizeof(shown));
      return mf_fail(err, MF_E_INPUT, 0, "input file '%s' is also the folder of another input file", shown);
    }
  }
  return MF_OK;
}

enum mf_code names_check_different(const struct mf_sandbox_file *files, unsigned file_n, struct mf_err *err)
{
  if (file_n < 2)
    return MF_OK;
  struct name_key *keys = mf_xcalloc(file_n, sizeof(*keys));
  uint32_t *scratch = mf_xcalloc(KEY_MAX, sizeof(*scratch));
  for (unsigned i = 0; i < file_n; i++) {
    keys[i].name = files[i].name;
    keys[i].n = names_nfd(files[i].name, scratch, KEY_MAX);
    keys[i].points = mf_xcalloc(keys[i].n + 1, sizeof(*scratch));
    memcpy(keys[i].points, scratch, keys[i].n * sizeof(*scratch));
  }
  qsort(keys, file_n, sizeof(*keys), compare_keys);
  enum mf_code code = check_sorted(keys, file_n, err);
  for (unsigned i = 0; i < file_n; i++)
    free(keys[i].points);
  free(scratch);
  free(keys);
  return code;
}
