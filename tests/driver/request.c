/* Request lines: see request.h. Strict, so that a misspelt key in a test is an error and not a different test. */
#include "request.h"

#include <stdlib.h>

#include "base/base64.h"

#include "base/banned.h"

#define LINE_FILE_MAX (MF_INPUT_BYTES_MAX + (1u << 20)) /* tests send a little too much on purpose */

static enum mf_code wrong(struct mf_err *err, const char *key, const char *want)
{
  return mf_fail(err, MF_E_INPUT, 0, "%s: expected %s", key, want);
}

static enum mf_code read_u64(const struct mf_json_val *v, const char *key, uint64_t *ret, struct mf_err *err)
{
  return mf_json_type_of(v) == MF_JSON_NUM && mf_json_u64(v, ret) ? MF_OK : wrong(err, key, "a whole number");
}

static enum mf_code read_str(const struct mf_json_val *v, const char *key, struct mf_str *ret, struct mf_err *err)
{
  if (mf_json_type_of(v) != MF_JSON_STR)
    return wrong(err, key, "a text");
  *ret = mf_json_str(v);
  return MF_OK;
}

static enum mf_code read_bool(const struct mf_json_val *v, const char *key, bool *ret, struct mf_err *err)
{
  if (mf_json_type_of(v) != MF_JSON_BOOL)
    return wrong(err, key, "true or false");
  *ret = mf_json_bool(v);
  return MF_OK;
}

static enum mf_code read_limits(const struct mf_json_val *obj, struct mf_sandbox_limits *l, struct mf_err *err)
{
  if (mf_json_type_of(obj) != MF_JSON_OBJ)
    return wrong(err, "limits", "an object");
  const struct {
    const char *key;
    uint64_t *wide;
    uint32_t *narrow;
  } rows[] = {
    { "wallMs", &l->wall_ms, NULL },
    { "cpuMs", &l->cpu_ms, NULL },
    { "memoryBytes", &l->memory_bytes, NULL },
    { "pids", NULL, &l->pids },
    { "fuel", &l->fuel, NULL },
    { "stdoutBytes", &l->stdout_bytes, NULL },
    { "stderrBytes", &l->stderr_bytes, NULL },
    { "artifactBytes", &l->artifact_bytes, NULL },
    { "artifactCount", NULL, &l->artifact_count },
  };
  struct mf_json_iter it = mf_json_iter(obj);
  while (mf_json_next(&it)) {
    if (mf_str_is(it.key, "stopOnOutput")) {
      if (mf_json_type_of(it.val) != MF_JSON_BOOL)
        return wrong(err, "limits.stopOnOutput", "true or false");
      l->output_policy = mf_json_bool(it.val) ? MF_OUTPUT_STOP : MF_OUTPUT_TRUNCATE;
      continue;
    }
    size_t i = 0;
    while (i < MF_ARRAY_N(rows) && !mf_str_is(it.key, rows[i].key))
      i++;
    if (i == MF_ARRAY_N(rows))
      return mf_fail(err, MF_E_INPUT, 0, "limits: unknown key '%.*s'", MF_STR_ARG(it.key));
    uint64_t v = 0;
    enum mf_code code = read_u64(it.val, rows[i].key, &v, err);
    if (code != MF_OK)
      return code;
    if (rows[i].wide)
      *rows[i].wide = v;
    else if (v <= UINT32_MAX)
      *rows[i].narrow = (uint32_t)v;
    else
      return wrong(err, rows[i].key, "less than 2^32");
  }
  return MF_OK;
}

static enum mf_code read_argv(const struct mf_json_val *arr, struct mf_request *q, struct mf_err *err)
{
  if (mf_json_type_of(arr) != MF_JSON_ARR)
    return wrong(err, "argv", "a list");
  q->argv = mf_xcalloc(mf_json_len(arr) + 1, sizeof *q->argv);
  struct mf_json_iter it = mf_json_iter(arr);
  while (mf_json_next(&it)) {
    enum mf_code code = read_str(it.val, "argv[]", &q->argv[q->spec.argv_n], err);
    if (code != MF_OK)
      return code;
    q->spec.argv_n++;
  }
  q->spec.argv = q->argv;
  return MF_OK;
}

static enum mf_code read_file(const struct mf_json_val *obj, struct mf_request *q, struct mf_err *err)
{
  if (mf_json_type_of(obj) != MF_JSON_OBJ)
    return wrong(err, "files[]", "an object");
  struct mf_sandbox_file *f = &q->files[q->spec.file_n];
  const struct mf_json_val *name = mf_json_get(obj, "name");
  const struct mf_json_val *text = mf_json_get(obj, "text");
  const struct mf_json_val *coded = mf_json_get(obj, "base64");
  if (!name || (!text && !coded))
    return wrong(err, "files[]", "name and text or base64");
  enum mf_code code = read_str(name, "files[].name", &f->name, err);
  if (code == MF_OK && text)
    code = read_str(text, "files[].text", &f->data, err);
  if (code == MF_OK && !text) {
    struct mf_str in;
    code = read_str(coded, "files[].base64", &in, err);
    if (code != MF_OK)
      return code;
    struct mf_buf *b = &q->decoded[q->decoded_n++];
    mf_buf_init(b, LINE_FILE_MAX);
    code = mf_base64_decode(in, b);
    if (code != MF_OK)
      return wrong(err, "files[].base64", "padded base64 of at most 21 MiB");
    f->data = mf_buf_str(b);
  }
  if (code == MF_OK)
    q->spec.file_n++;
  return code;
}

static enum mf_code read_files(const struct mf_json_val *arr, struct mf_request *q, struct mf_err *err)
{
  if (mf_json_type_of(arr) != MF_JSON_ARR)
    return wrong(err, "files", "a list");
  size_t n = mf_json_len(arr);
  q->files = mf_xcalloc(n + 1, sizeof *q->files);
  q->decoded = mf_xcalloc(n + 1, sizeof *q->decoded);
  q->spec.files = q->files;
  struct mf_json_iter it = mf_json_iter(arr);
  while (mf_json_next(&it)) {
    enum mf_code code = read_file(it.val, q, err);
    if (code != MF_OK)
      return code;
  }
  return MF_OK;
}

static enum mf_code read_runtime(const struct mf_json_val *v, struct mf_request *q, struct mf_err *err)
{
  struct mf_str s;
  enum mf_code code = read_str(v, "runtime", &s, err);
  if (code != MF_OK)
    return code;
  if (mf_str_is(s, "auto"))
    q->spec.runtime = MF_RUNTIME_AUTO;
  else if (mf_str_is(s, "stdlib"))
    q->spec.runtime = MF_RUNTIME_STDLIB;
  else if (mf_str_is(s, "data"))
    q->spec.runtime = MF_RUNTIME_DATA;
  else
    return wrong(err, "runtime", "auto, stdlib or data");
  return MF_OK;
}

static enum mf_code read_member(struct mf_str key, const struct mf_json_val *v, struct mf_request *q,
                                struct mf_err *err)
{
  uint64_t n = 0;
  enum mf_code code;
  if (mf_str_is(key, "id")) {
    struct mf_str s;
    code = read_str(v, "id", &s, err);
    if (code == MF_OK)
      q->id = mf_xasprintf("%.*s", MF_STR_ARG(s));
    return code;
  }
  if (mf_str_is(key, "source"))
    return read_str(v, "source", &q->spec.source, err);
  if (mf_str_is(key, "sourceName"))
    return read_str(v, "sourceName", &q->spec.source_name, err);
  if (mf_str_is(key, "argv"))
    return read_argv(v, q, err);
  if (mf_str_is(key, "files"))
    return read_files(v, q, err);
  if (mf_str_is(key, "limits"))
    return read_limits(v, &q->spec.limits, err);
  if (mf_str_is(key, "runtime"))
    return read_runtime(v, q, err);
  if (mf_str_is(key, "content"))
    return read_bool(v, "content", &q->content, err);
  if (mf_str_is(key, "stream"))
    return read_bool(v, "stream", &q->stream, err);
  if (mf_str_is(key, "displayLastExpression"))
    return read_bool(v, "displayLastExpression", &q->spec.display_last_expression, err);
  if (mf_str_is(key, "cancelAfterMs") || mf_str_is(key, "cancelAfterStartMs")) {
    code = read_u64(v, "cancelAfter…", &n, err);
    if (code == MF_OK)
      *(mf_str_is(key, "cancelAfterMs") ? &q->cancel_after_ms : &q->cancel_after_start_ms) = (int64_t)n;
    return code;
  }
  return mf_fail(err, MF_E_INPUT, 0, "unknown key '%.*s'", MF_STR_ARG(key));
}

enum mf_code mf_request_new(struct mf_json *doc, struct mf_request **ret, struct mf_err *err)
{
  struct mf_request *q = mf_xcalloc(1, sizeof *q);
  q->doc = doc;
  q->cancel_after_ms = q->cancel_after_start_ms = -1;
  mf_sandbox_limits_default(&q->spec.limits);
  struct mf_json_iter it = mf_json_iter(mf_json_root(doc));
  enum mf_code code = MF_OK;
  while (code == MF_OK && mf_json_next(&it))
    code = read_member(it.key, it.val, q, err);
  if (code == MF_OK && !q->id)
    code = wrong(err, "id", "a text");
  if (code != MF_OK) {
    mf_request_free(q);
    return code;
  }
  *ret = q;
  return MF_OK;
}

void mf_request_free(struct mf_request *q)
{
  if (!q)
    return;
  for (unsigned i = 0; i < q->decoded_n; i++)
    mf_buf_done(&q->decoded[i]);
  free(q->decoded);
  free(q->argv);
  free(q->files);
  free(q->id);
  mf_json_free(q->doc);
  free(q);
}
