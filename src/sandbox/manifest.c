/* The two lists of a manifest, and what decides between them. */
#include "manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"

#include "base/banned.h"

/* ---- inputs ---- */

static int compare_str(struct mf_str a, struct mf_str b)
{
  int order = memcmp(a.ptr, b.ptr, MF_MIN(a.len, b.len));
  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_inputs(const void *a, const void *b)
{
  const struct mf_sandbox_file *x = a, *y = b;
  return compare_str(x->name, y->name);
}

static void sort_inputs(struct manifest *m, const struct mf_sandbox_file *inputs, unsigned input_n)
{
  if (input_n == 0)
    return;
  m->inputs = mf_xcalloc(input_n, sizeof(*m->inputs));
  m->input_n = input_n;
  memcpy(m->inputs, inputs, input_n * sizeof(*m->inputs));
  qsort(m->inputs, input_n, sizeof(*m->inputs), compare_inputs);
}

void manifest_init(struct manifest *m, const struct mf_sandbox_limits *limits, const struct mf_sandbox_file *inputs,
                   unsigned input_n, struct mf_sandbox_result *result)
{
  assert(result->artifacts == NULL && result->rejected == NULL);
  *m = (struct manifest){ .limits = limits, .result = result };
  sort_inputs(m, inputs, input_n);
  result->artifacts = mf_xcalloc(limits->artifact_count + 1ull, sizeof(*result->artifacts));
  result->rejected = mf_xcalloc(MF_REJECTED_MAX + 1, sizeof(*result->rejected));
}

const struct mf_sandbox_file *manifest_input(const struct manifest *m, struct mf_str path)
{
  if (m->input_n == 0)
    return NULL;
  const struct mf_sandbox_file key = { .name = path };
  return bsearch(&key, m->inputs, m->input_n, sizeof(*m->inputs), compare_inputs);
}

/* ---- what is kept ---- */

const char *manifest_path_fault(struct mf_str path)
{
  if (mf_name_check(path, "path", NULL) == MF_OK)
    return NULL;
  if (!mf_utf8_is_valid(path))
    return "its name is not valid UTF-8";
  for (size_t i = 0; i < path.len; i++) {
    unsigned char b = (unsigned char)path.ptr[i];
    if (b < 0x20 || b == 0x7f || (b == 0xc2 && (unsigned char)path.ptr[i + 1] < 0xa0)) /* valid: a byte follows */
      return "its name has a control character";
  }
  if (path.len > 1023)
    return "its path has more than 1023 bytes";
  size_t part_n = 1;
  for (size_t i = 0; i < path.len; i++)
    part_n += path.ptr[i] == '/';
  return part_n > 16 ? "its path has more than 16 parts" : "its path does not lead to a file below the work directory";
}

bool manifest_is_full(const struct manifest *m)
{
  return m->result->artifact_n >= m->limits->artifact_count;
}

void manifest_keep(struct manifest *m, struct mf_str path, struct mf_artifact *artifact)
{
  struct mf_sandbox_result *r = m->result;
  assert(!manifest_is_full(m));
  artifact->path = mf_xasprintf("%.*s", MF_STR_ARG(path));
  r->artifacts[r->artifact_n++] = *artifact;
  m->bytes += artifact->size_bytes;
}

/* ---- what is refused ---- */

static char *shown_path(struct mf_str path)
{
  char shown[1024];
  if (path.len == 0)
    return mf_xstrdup(".");
  if (mf_name_check(path, "path", NULL) == MF_OK)
    return mf_xasprintf("%.*s", MF_STR_ARG(path));
  mf_escape(path, shown, sizeof(shown));
  return mf_xstrdup(shown);
}

void manifest_reject(struct manifest *m, struct mf_str path, const char *fmt, ...)
{
  struct mf_sandbox_result *r = m->result;
  m->rejected++;
  if (r->rejected_n >= MF_REJECTED_MAX)
    return;
  char reason[160];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(reason, sizeof(reason), fmt, ap);
  va_end(ap);
  struct mf_rejected_artifact *entry = &r->rejected[r->rejected_n++];
  entry->path = shown_path(path);
  entry->reason = mf_xstrdup(reason);
}

void manifest_reject_full(struct manifest *m, struct mf_str path)
{
  manifest_reject(m, path, "over the count limit (%u artifacts)", m->limits->artifact_count);
}

void manifest_reject_too_big(struct manifest *m, struct mf_str path)
{
  manifest_reject(m, path, "over the size limit (%" PRIu64 " bytes for all artifacts)", m->limits->artifact_bytes);
}

static void drop_last_rejected(struct mf_sandbox_result *r)
{
  struct mf_rejected_artifact *last = &r->rejected[--r->rejected_n];
  free(last->path);
  free(last->reason);
}

static int compare_rejected(const void *a, const void *b)
{
  const struct mf_rejected_artifact *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static int compare_artifacts(const void *a, const void *b)
{
  const struct mf_artifact *x = a, *y = b;
  return strcmp(x->path, y->path);
}

void manifest_finish(struct manifest *m, const char *const *notes, unsigned note_n, uint64_t unlisted)
{
  struct mf_sandbox_result *r = m->result;
  while (r->rejected_n + note_n > MF_REJECTED_MAX)
    drop_last_rejected(r);
  for (unsigned i = 0; i < note_n; i++)
    manifest_reject(m, (struct mf_str){ NULL, 0 }, "%s", notes[i]);
  m->rejected += unlisted;
  qsort(r->rejected, r->rejected_n, sizeof(*r->rejected), compare_rejected);
  if (m->rejected > r->rejected_n) {
    struct mf_rejected_artifact *entry = &r->rejected[r->rejected_n];
    entry->path = mf_xasprintf("\xe2\x80\xa6 and %" PRIu64 " more", m->rejected - r->rejected_n);
    entry->reason = mf_xstrdup("not listed one by one");
    r->rejected_n++;
  }
  qsort(r->artifacts, r->artifact_n, sizeof(*r->artifacts), compare_artifacts);
  free(m->inputs);
  m->inputs = NULL;
}
