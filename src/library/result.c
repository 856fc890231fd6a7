/* mayfly_result: the texts of a parsed document, which lives as long as the result. Thread: any. */
#include "result.h"

#include <stdlib.h>

#include "json/json.h"

#include "base/banned.h"

enum { JSON_DEPTH_MAX = 32 };

struct result {
  struct mayfly_result base; /* first */
  struct mf_buf text;
  struct mf_json *doc;
  struct mayfly_artifact *artifacts;
};

static const char *const status_names[] = {
  [MAYFLY_QUEUED] = "queued", [MAYFLY_RUNNING] = "running",     [MAYFLY_SUCCEEDED] = "succeeded",
  [MAYFLY_FAILED] = "failed", [MAYFLY_TIMED_OUT] = "timed_out", [MAYFLY_CANCELLED] = "cancelled",
};

/* Texts of a document end with a NUL (json.h takes them from yyjson). "" for one that is null or missing. */
static struct mf_str text_of(const struct mf_json_val *object, const char *key)
{
  const struct mf_json_val *v = mf_json_get(object, key);
  return v && mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : MF_STR("");
}

static uint64_t number_of(const struct mf_json_val *object, const char *key)
{
  uint64_t n = 0;
  (void)mf_json_u64(mf_json_get(object, key), &n);
  return n;
}

static bool read_status(const struct mf_json_val *root, enum mayfly_status *ret)
{
  struct mf_str name = text_of(root, "status");
  for (size_t i = 0; i < MF_ARRAY_N(status_names); i++) {
    if (!mf_str_is(name, status_names[i]))
      continue;
    *ret = (enum mayfly_status)i;
    return true;
  }
  return false;
}

static void read_artifacts(struct result *r, const struct mf_json_val *list)
{
  size_t n = mf_json_len(list);
  if (n == 0 || mf_json_type_of(list) != MF_JSON_ARR)
    return;
  r->artifacts = mf_xcalloc(n, sizeof(*r->artifacts));
  for (struct mf_json_iter it = mf_json_iter(list); mf_json_next(&it);)
    r->artifacts[r->base.artifact_n++] = (struct mayfly_artifact){
      .artifact_id = text_of(it.val, "artifactId").ptr,
      .path = text_of(it.val, "path").ptr,
      .mime_type = text_of(it.val, "mimeType").ptr,
      .sha256 = text_of(it.val, "sha256").ptr,
      .size_bytes = number_of(it.val, "sizeBytes"),
    };
  r->base.artifacts = r->artifacts;
}

struct mayfly_result *mf_library_result(struct mf_buf *json)
{
  struct result *r = mf_xcalloc(1, sizeof(*r));
  r->text = *json;
  mf_buf_init(json, 0);
  const struct mf_json_limits limits = { .bytes_max = SIZE_MAX, .depth_max = JSON_DEPTH_MAX };
  struct mayfly_result *b = &r->base;
  if (mf_json_parse(mf_buf_str(&r->text), &limits, &r->doc, NULL) != MF_OK ||
      !read_status(mf_json_root(r->doc), &b->status)) {
    mayfly_result_free(b);
    return NULL;
  }
  const struct mf_json_val *root = mf_json_root(r->doc);
  struct mf_str out = text_of(root, "stdout"), err = text_of(root, "stderr");
  int64_t exit_code = 0;
  b->reason = text_of(root, "reason").ptr;
  b->stdout_text = out.ptr;
  b->stdout_size = out.len;
  b->stderr_text = err.ptr;
  b->stderr_size = err.len;
  b->has_exit_code = mf_json_i64(mf_json_get(root, "exitCode"), &exit_code);
  b->exit_code = (int)exit_code;
  b->duration_ms = number_of(mf_json_get(root, "usage"), "durationMs");
  b->json = r->text.ptr;
  read_artifacts(r, mf_json_get(root, "artifacts"));
  return b;
}

void mayfly_result_free(struct mayfly_result *b)
{
  if (!b)
    return;
  struct result *r = (struct result *)b;
  mf_json_free(r->doc);
  mf_buf_done(&r->text);
  free(r->artifacts);
  free(r);
}
