/* The task as JSON: as docs/tasks.md shows it, and as the database keeps what was asked.
 * Thread: the loop's; task_json_write_end also a worker's, while nobody else touches the task. */
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "tasks-internal.h"
#include "base/banned.h"

/* ---- members ---- */

static void write_time(struct mf_json_writer *w, const char *key, uint64_t ms)
{
  char text[32];
  if (ms > 0)
    mf_wall_format(ms, text);
  mf_jw_kstrz(w, key, ms > 0 ? text : NULL);
}

static void write_times(const struct task *k, struct mf_json_writer *w)
{
  write_time(w, "createdAt", k->created_ms);
  write_time(w, "startedAt", k->started_ms);
  write_time(w, "finishedAt", k->finished_ms);
  write_time(w, "expiresAt", k->expires_ms);
}

static void write_hint(const struct csv_hint *h, struct mf_json_writer *w)
{
  mf_jw_kstrz(w, "encodingGuess", h->encoding);
  mf_jw_key(w, "delimiter");
  if (h->delimiter)
    mf_jw_str(w, (struct mf_str){ &h->delimiter, 1 });
  else
    mf_jw_null(w);
  mf_jw_key(w, "bom");
  if (h->encoding)
    mf_jw_bool(w, h->bom);
  else
    mf_jw_null(w);
}

static void write_inputs(const struct task *k, struct mf_json_writer *w)
{
  mf_jw_key(w, "inputs");
  mf_jw_arr(w);
  for (unsigned i = 0; i < k->input_n; i++) {
    const struct task_input *in = &k->inputs[i];
    mf_jw_obj(w);
    mf_jw_kstrz(w, "name", in->name);
    mf_jw_ku64(w, "sizeBytes", in->ref.size_bytes);
    mf_jw_kstrz(w, "sha256", in->ref.sha256);
    write_hint(&in->hint, w);
    mf_jw_obj_end(w);
  }
  mf_jw_arr_end(w);
}

static void write_head(const struct task *k, enum mf_task_state state, struct mf_json_writer *w)
{
  mf_jw_kstrz(w, "taskId", k->id);
  mf_jw_kstrz(w, "status", task_state_name(state));
  if (k->is_queued)
    mf_jw_ku64(w, "queuePosition", task_queue_position(&k->tasks->queue, k));
}

/* ---- the task ---- */

void task_json_write(const struct task *k, struct mf_json_writer *w)
{
  /* As a result it is one of which only the texts are there. */
  const struct mf_sandbox_result so_far = { .out = k->out, .err = k->err };
  const struct mf_result_members open = { .reason = NULL };
  mf_jw_obj(w);
  write_head(k, k->state, w);
  mf_sandbox_result_write_members(&so_far, &open, w);
  write_inputs(k, w);
  write_times(k, w);
  mf_jw_obj_end(w);
}

struct named {
  const struct task *task;
  const char (*ids)[MF_ID_N];
};

static void write_artifact(void *user, unsigned i, struct mf_json_writer *w)
{
  const struct named *n = user;
  char url[3 * MF_ID_N];
  snprintf(url, sizeof(url), "/v1/tasks/%s/artifacts/%s", n->task->id, n->ids[i]);
  mf_jw_kstrz(w, "artifactId", n->ids[i]);
  mf_jw_kstrz(w, "url", url);
}

void task_json_write_end(const struct task *k, const struct task_outcome *o, const char (*ids)[MF_ID_N],
                         struct mf_json_writer *w)
{
  const struct mf_sandbox_result nothing = { .artifact_n = 0 };
  struct named named = { k, ids };
  const struct mf_result_members m = {
    .reason = o->reason, .has_run = o->has_run, .artifact = write_artifact, .user = &named
  };
  mf_jw_obj(w);
  write_head(k, o->state, w);
  mf_sandbox_result_write_members(o->result ? o->result : &nothing, &m, w);
  write_inputs(k, w);
  write_times(k, w);
  mf_jw_obj_end(w);
}

void task_json_write_row(const struct task *k, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  write_head(k, k->state, w);
  mf_jw_ku64(w, "inputBytes", k->input_bytes);
  mf_jw_ku64(w, "artifactBytes", k->artifact_bytes);
  write_times(k, w);
  mf_jw_obj_end(w);
}

/* ---- a status event ---- */

static bool is_large(struct mf_str key)
{
  static const char *const large[] = { "stdout", "stderr", "artifacts", "inputs", "receipt" };
  for (unsigned i = 0; i < MF_ARRAY_N(large); i++)
    if (mf_str_is(key, large[i]))
      return true;
  return false;
}

void task_json_write_status(const struct task *k, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  if (task_has_ended(k)) {
    struct mf_json_iter it = mf_json_iter(k->doc ? mf_json_root(k->doc) : NULL);
    while (mf_json_next(&it))
      if (!is_large(it.key)) {
        mf_jw_key_str(w, it.key);
        mf_jw_val(w, it.val);
      }
  } else {
    write_head(k, k->state, w);
    write_time(w, "createdAt", k->created_ms);
    write_time(w, "startedAt", k->started_ms);
  }
  mf_jw_obj_end(w);
}

/* ---- what the database keeps of a request ---- */

void task_json_write_request(const struct task *k, struct mf_str code, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstr(w, "code", code);
  mf_jw_ku64(w, "timeoutMs", k->timeout_ms);
  mf_jw_ku64(w, "memoryMb", k->memory_mb);
  mf_jw_kbool(w, "display_last_expression", k->display_last_expression);
  if (k->source_name[0])
    mf_jw_kstrz(w, "source_name", k->source_name);
  write_inputs(k, w);
  mf_jw_obj_end(w);
}

static bool read_str(const struct mf_json_val *v, struct mf_str *ret)
{
  if (mf_json_type_of(v) != MF_JSON_STR)
    return false;
  *ret = mf_json_str(v);
  return true;
}

static bool read_input(const struct mf_json_val *v, struct task_input *ret)
{
  struct mf_str name, sha256, text;
  if (!read_str(mf_json_get(v, "name"), &name) || !read_str(mf_json_get(v, "sha256"), &sha256) ||
      sha256.len != MF_SHA256_HEX_N - 1 || !mf_json_u64(mf_json_get(v, "sizeBytes"), &ret->ref.size_bytes))
    return false;
  ret->name = mf_xasprintf("%.*s", MF_STR_ARG(name));
  memcpy(ret->ref.sha256, sha256.ptr, sha256.len);
  if (read_str(mf_json_get(v, "encodingGuess"), &text))
    ret->hint.encoding = csv_hint_encoding(text);
  if (read_str(mf_json_get(v, "delimiter"), &text) && text.len == 1)
    ret->hint.delimiter = text.ptr[0];
  const struct mf_json_val *bom = mf_json_get(v, "bom");
  ret->hint.bom = mf_json_type_of(bom) == MF_JSON_BOOL && mf_json_bool(bom);
  return true;
}

static bool read_inputs(struct task *k, const struct mf_json_val *inputs)
{
  if (mf_json_len(inputs) > MF_INPUT_COUNT_MAX)
    return false;
  k->inputs = mf_xcalloc(mf_json_len(inputs) + 1, sizeof(*k->inputs));
  struct mf_json_iter it = mf_json_iter(inputs);
  while (mf_json_next(&it))
    if (!read_input(it.val, &k->inputs[k->input_n++]))
      return false;
  return true;
}

static bool read_request(struct task *k, const struct mf_json_val *root, bool needs_code)
{
  struct mf_str code, source_name;
  uint64_t memory_mb = 0;
  const struct mf_json_val *display = mf_json_get(root, "display_last_expression");
  if (!read_str(mf_json_get(root, "code"), &code) || !mf_json_u64(mf_json_get(root, "timeoutMs"), &k->timeout_ms) ||
      !mf_json_u64(mf_json_get(root, "memoryMb"), &memory_mb))
    return false;
  k->memory_mb = (unsigned)memory_mb;
  k->display_last_expression = mf_json_type_of(display) == MF_JSON_BOOL && mf_json_bool(display);
  if (read_str(mf_json_get(root, "source_name"), &source_name))
    snprintf(k->source_name, sizeof(k->source_name), "%.*s", MF_STR_ARG(source_name));
  if (needs_code) {
    k->code = mf_xmalloc(code.len + 1);
    memcpy(k->code, code.ptr, code.len);
    k->code_n = code.len;
  }
  return k->inputs || read_inputs(k, mf_json_get(root, "inputs"));
}

enum mf_code task_json_read_request(struct task *k, struct mf_str json, bool needs_code, struct mf_err *err)
{
  const struct mf_json_limits limits = { .bytes_max = MF_STORE_BYTES_MAX, .depth_max = 8 };
  mf_auto_json struct mf_json *doc = NULL;
  enum mf_code code = mf_json_parse(json, &limits, &doc, err);
  if (!code && !read_request(k, mf_json_root(doc), needs_code))
    code = mf_fail(err, MF_E_INTERNAL, 0, "has members of another kind");
  return code ? mf_wrap(err, MF_E_INTERNAL, "read the stored request of task %s", k->id) : MF_OK;
}

/* ---- the parsed result ---- */

struct parsing {
  struct mf_str text;
  struct mf_json *doc;
  enum mf_code code;
  struct mf_err err;
};

static void parse(void *user)
{
  struct parsing *p = user;
  const struct mf_json_limits limits = { .bytes_max = MF_STORE_BYTES_MAX, .depth_max = 16 };
  p->code = mf_json_parse(p->text, &limits, &p->doc, &p->err);
}

enum mf_code task_doc(struct task *k, struct mf_fiber *self, const struct mf_json_val **ret, struct mf_err *err)
{
  enum { LONG_TEXT = 262144 };
  if (!k->doc) {
    struct parsing p = { .text = mf_buf_str(&k->result) };
    if (p.text.len > LONG_TEXT)
      tasks_offload(k->tasks, self, parse, &p);
    else
      parse(&p);
    if (p.code)
      return mf_fail(err, MF_E_INTERNAL, 0, "read the result of task %s: %s", k->id, p.err.msg);
    if (k->doc) /* another fiber was faster */
      mf_json_free(p.doc);
    else
      k->doc = p.doc;
    tasks_recount_ended(k->tasks, k);
  }
  *ret = mf_json_root(k->doc);
  return MF_OK;
}
