/* A task of a server as a result of our own. */
#include "remote-result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "remote-task.h"

#include "base/banned.h"

enum { FETCH_IDLE_MS = 60000 };

static enum mf_code fail_result(struct mf_err *err, const char *what)
{
  return mf_fail(err, MF_E_UNAVAILABLE, 0, "the server's answer is no result: %s", what);
}

/* ---- members ---- */

static struct mf_str text_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : MF_STR("");
}

static void copy_text(const struct mf_json_val *obj, const char *key, char *ret, size_t n)
{
  snprintf(ret, n, "%.*s", MF_STR_ARG(text_of(obj, key)));
}

static uint64_t number_of(const struct mf_json_val *obj, const char *key)
{
  uint64_t n = 0;
  return mf_json_u64(mf_json_get(obj, key), &n) ? n : 0;
}

static bool flag_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  return mf_json_type_of(v) == MF_JSON_BOOL && mf_json_bool(v);
}

/* A text without control characters: it becomes a part of a line of ours. */
static char *line_of(const struct mf_json_val *obj, const char *key)
{
  char shown[1100];
  mf_escape(text_of(obj, key), shown, sizeof(shown));
  return mf_xstrdup(shown);
}

/* ---- status and reason ---- */

static const struct {
  const char *status;
  enum mf_run_status is;
} statuses[] = {
  { "succeeded", MF_RUN_SUCCEEDED },
  { "failed", MF_RUN_FAILED },
  { "timed_out", MF_RUN_TIMED_OUT },
  { "cancelled", MF_RUN_CANCELLED },
};

static enum mf_code take_status(const struct mf_json_val *task, struct mf_sandbox_result *r, struct mf_err *err)
{
  struct mf_str status = mf_remote_status(task), reason = text_of(task, "reason");
  size_t i = 0;
  while (i < MF_ARRAY_N(statuses) && !mf_str_is(status, statuses[i].status))
    i++;
  if (i == MF_ARRAY_N(statuses))
    return fail_result(err, "status");
  r->status = statuses[i].is;
  for (unsigned n = 0; n < MF_REASON_N; n++)
    if (mf_str_is(reason, mf_run_reason_name((enum mf_run_reason)n))) {
      r->reason = (enum mf_run_reason)n;
      return MF_OK;
    }
  r->reason = MF_REASON_UNAVAILABLE;
  snprintf(r->diagnostic, sizeof(r->diagnostic), "%s",
           mf_str_is(reason, "interrupted") ? "the server stopped while it ran" : "the server gives no known reason");
  return MF_OK;
}

static enum mf_code take_end(const struct mf_json_val *task, struct mf_sandbox_result *r, struct mf_err *err)
{
  const struct mf_json_val *code = mf_json_get(task, "exitCode");
  uint64_t n = 0;
  if (mf_json_type_of(code) != MF_JSON_NULL) {
    if (!mf_json_u64(code, &n) || n > 255)
      return fail_result(err, "exitCode");
    r->has_exit_code = true;
    r->exit_code = (int)n;
  }
  n = number_of(task, "signal");
  if (n > 64)
    return fail_result(err, "signal");
  r->signal = (int)n;
  const struct mf_json_val *usage = mf_json_get(task, "usage");
  double mb = 0;
  r->duration_ms = number_of(usage, "durationMs");
  r->cpu_ms = number_of(usage, "cpuMs");
  r->fuel = number_of(usage, "fuel");
  if (mf_json_f64(mf_json_get(usage, "memoryMb"), &mb) && mb > 0 && mb < 1e9)
    r->memory_peak_bytes = ((uint64_t)(mb * 1024) + 1) * 1024; /* written again it is the same number */
  return MF_OK;
}

static enum mf_code take_output(const struct mf_json_val *task, struct mf_sandbox_result *r, struct mf_err *err)
{
  const struct mf_json_val *truncated = mf_json_get(task, "truncated");
  struct mf_str out = text_of(task, "stdout"), errors = text_of(task, "stderr");
  mf_buf_init(&r->out, MF_OUTPUT_BYTES_MAX);
  mf_buf_init(&r->err, MF_OUTPUT_BYTES_MAX);
  if (mf_buf_append_str(&r->out, out) || mf_buf_append_str(&r->err, errors))
    return fail_result(err, "more output than a program may have");
  r->out_truncated = flag_of(truncated, "stdout");
  r->err_truncated = flag_of(truncated, "stderr");
  return MF_OK;
}

/* ---- artifacts ---- */

static bool is_digest(struct mf_str s)
{
  bool is_hex = s.len == MF_SHA256_HEX_N - 1;
  for (size_t i = 0; is_hex && i < s.len; i++)
    is_hex = (s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'a' && s.ptr[i] <= 'f');
  return is_hex;
}

static enum mf_code take_artifact(const struct mf_json_val *v, struct mf_sandbox_result *r, uint64_t *total,
                                  struct mf_err *err)
{
  struct mf_str path = text_of(v, "path"), sha256 = text_of(v, "sha256");
  uint64_t size = 0;
  if (mf_name_check(path, "artifact", NULL) || memchr(path.ptr, 0, path.len))
    return fail_result(err, "an artifact's path");
  if (!mf_json_u64(mf_json_get(v, "sizeBytes"), &size) || size > MF_ARTIFACT_BYTES_MAX - *total || !is_digest(sha256) ||
      !mf_remote_is_id(text_of(v, "artifactId")))
    return fail_result(err, "an artifact's size, digest or id");
  for (unsigned i = 0; i < r->artifact_n; i++)
    if (mf_str_is(path, r->artifacts[i].path))
      return fail_result(err, "two artifacts of one name");
  *total += size;
  struct mf_artifact *a = &r->artifacts[r->artifact_n++];
  *a = (struct mf_artifact){ .path = mf_xasprintf("%.*s", MF_STR_ARG(path)), .size_bytes = size, .fd = -1 };
  a->mime_type = mf_mime_sniff(path, MF_STR(""));
  memcpy(a->sha256, sha256.ptr, sha256.len);
  return MF_OK;
}

static enum mf_code take_artifacts(const struct mf_json_val *task, struct mf_sandbox_result *r, struct mf_err *err)
{
  struct mf_json_iter it = mf_json_iter(mf_json_get(task, "artifacts"));
  uint64_t total = 0;
  enum mf_code code = MF_OK;
  if (it.n > MF_ARTIFACT_COUNT_MAX)
    return fail_result(err, "too many artifacts");
  r->artifacts = mf_xcalloc(it.n + 1, sizeof(*r->artifacts));
  while (!code && mf_json_next(&it))
    code = take_artifact(it.val, r, &total, err);
  it = mf_json_iter(mf_json_get(task, "rejectedArtifacts"));
  r->rejected = mf_xcalloc(MF_REJECTED_MAX + 1, sizeof(*r->rejected));
  while (!code && r->rejected_n <= MF_REJECTED_MAX && mf_json_next(&it))
    r->rejected[r->rejected_n++] = (struct mf_rejected_artifact){ line_of(it.val, "path"), line_of(it.val, "reason") };
  return code;
}

/* ---- the receipt ---- */

static void take_layers(const struct mf_json_val *layers, struct mf_receipt *c)
{
  struct mf_json_iter it = mf_json_iter(layers);
  size_t at = 0;
  while (mf_json_next(&it)) {
    struct mf_str layer = mf_json_type_of(it.val) == MF_JSON_STR ? mf_json_str(it.val) : MF_STR("");
    if (layer.len > 0 && at + layer.len + 1 < sizeof(c->layers))
      at += (size_t)snprintf(c->layers + at, sizeof(c->layers) - at, "%s%.*s", at ? "," : "", MF_STR_ARG(layer));
  }
}

static void take_inputs(const struct mf_json_val *inputs, struct mf_receipt *c)
{
  struct mf_json_iter it = mf_json_iter(inputs);
  c->inputs = mf_xcalloc(MF_MIN(it.n, (size_t)MF_INPUT_COUNT_MAX) + 1, sizeof(*c->inputs));
  while (c->input_n < MF_INPUT_COUNT_MAX && mf_json_next(&it)) {
    c->inputs[c->input_n].name = mf_xasprintf("%.*s", MF_STR_ARG(text_of(it.val, "name")));
    c->inputs[c->input_n].size_bytes = number_of(it.val, "sizeBytes");
    copy_text(it.val, "sha256", c->inputs[c->input_n].sha256, MF_SHA256_HEX_N);
    c->input_n++;
  }
}

static void take_receipt(const struct mf_json_val *v, struct mf_receipt *c)
{
  const struct mf_json_val *runtime = mf_json_get(v, "runtime"), *limits = mf_json_get(v, "limits");
  copy_text(v, "provider", c->provider, sizeof(c->provider));
  copy_text(v, "isolation", c->isolation, sizeof(c->isolation));
  take_layers(mf_json_get(v, "layers"), c);
  copy_text(v, "seccompSha256", c->seccomp_sha256, sizeof(c->seccomp_sha256));
  c->landlock_abi = (int)MF_MIN(number_of(v, "landlockAbi"), UINT64_C(1000));
  copy_text(v, "memoryControl", c->memory_control, sizeof(c->memory_control));
  copy_text(runtime, "id", c->runtime_id, sizeof(c->runtime_id));
  copy_text(runtime, "digest", c->runtime_digest, sizeof(c->runtime_digest));
  copy_text(runtime, "pythonVersion", c->python_version, sizeof(c->python_version));
  copy_text(v, "start", c->start, sizeof(c->start));
  copy_text(v, "codeSha256", c->code_sha256, sizeof(c->code_sha256));
  take_inputs(mf_json_get(v, "inputs"), c);
  c->limits = (struct mf_sandbox_limits){
    .wall_ms = number_of(limits, "wallMs"),
    .cpu_ms = number_of(limits, "cpuMs"),
    .memory_bytes = number_of(limits, "memoryBytes"),
    .pids = (uint32_t)MF_MIN(number_of(limits, "pids"), (uint64_t)UINT32_MAX),
    .stdout_bytes = number_of(limits, "stdoutBytes"),
    .stderr_bytes = number_of(limits, "stderrBytes"),
    .artifact_bytes = number_of(limits, "artifactBytes"),
    .artifact_count = (uint32_t)MF_MIN(number_of(limits, "artifactCount"), (uint64_t)UINT32_MAX),
  };
}

enum mf_code mf_remote_result(const struct mf_json_val *task, struct mf_sandbox_result **ret, struct mf_err *err)
{
  struct mf_sandbox_result *r = mf_sandbox_result_new();
  enum mf_code code = take_status(task, r, err);
  if (!code)
    code = take_end(task, r, err);
  if (!code)
    code = take_output(task, r, err);
  if (!code)
    code = take_artifacts(task, r, err);
  if (code) {
    mf_sandbox_result_free(r);
    return code;
  }
  struct mf_json_iter it = mf_json_iter(mf_json_get(task, "denied"));
  while (mf_json_next(&it))
    if (mf_json_type_of(it.val) == MF_JSON_STR)
      mf_sandbox_result_deny(r, mf_json_str(it.val));
  take_receipt(mf_json_get(task, "receipt"), &r->receipt);
  *ret = r;
  return MF_OK;
}

/* ---- contents ---- */

/* Reads a body of exactly the size and digest that were said into a new descriptor. */
static enum mf_code read_content(struct mf_http_call *call, struct mf_fiber *self, struct mf_artifact *a,
                                 struct mf_err *err)
{
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("artifact", &fd, err);
  if (code)
    return code;
  char hex[MF_SHA256_HEX_N];
  struct mf_sha256 *sum = mf_sha256_new();
  uint64_t done = 0;
  struct mf_str piece = { "", 1 };
  while (!code && piece.len > 0 && done <= a->size_bytes) {
    code = mf_http_call_read(call, self, &piece, err);
    if (code || piece.len == 0)
      break;
    done += piece.len;
    mf_sha256_update(sum, piece.ptr, piece.len);
    if (done <= a->size_bytes)
      code = mf_write_all(fd, piece.ptr, piece.len, err);
  }
  mf_sha256_finish(sum, hex);
  if (!code && (done != a->size_bytes || !mf_str_is(mf_str_of(hex), a->sha256)))
    code = mf_fail(err, MF_E_UNAVAILABLE, 0, "what came is not what the server has promised (size or SHA-256)");
  if (!code)
    a->fd = mf_take_fd(&fd);
  return code;
}

static enum mf_code fetch_one(struct mf_remote *r, struct mf_fiber *self, struct mf_str id, struct mf_str artifact_id,
                              struct mf_artifact *a, struct mf_err *err)
{
  mf_auto_free char *path = mf_xasprintf("/v1/tasks/%.*s/artifacts/%.*s", MF_STR_ARG(id), MF_STR_ARG(artifact_id));
  const struct mf_remote_request req = { .method = "GET", .path = path, .idle_ms = FETCH_IDLE_MS };
  struct mf_http_call *call = NULL;
  enum mf_code code = mf_remote_open(r, self, &req, &call, err);
  if (!code)
    code = read_content(call, self, a, err);
  mf_http_call_close(call);
  if (code)
    return mf_wrap(err, code, "artifact %.120s", a->path);
  char head[MF_MIME_HEAD_N];
  ssize_t n = pread(a->fd, head, sizeof(head), 0);
  a->mime_type = mf_mime_sniff(mf_str_of(a->path), (struct mf_str){ head, n > 0 ? (size_t)n : 0 });
  return MF_OK;
}

enum mf_code mf_remote_fetch(struct mf_remote *r, struct mf_fiber *self, const struct mf_json_val *task,
                             struct mf_sandbox_result *result, struct mf_err *err)
{
  struct mf_str id = text_of(task, "taskId");
  if (!mf_remote_is_id(id))
    return fail_result(err, "taskId");
  struct mf_json_iter it = mf_json_iter(mf_json_get(task, "artifacts"));
  enum mf_code code = MF_OK;
  for (unsigned i = 0; !code && i < result->artifact_n && mf_json_next(&it); i++)
    code = fetch_one(r, self, id, text_of(it.val, "artifactId"), &result->artifacts[i], err);
  return code;
}
