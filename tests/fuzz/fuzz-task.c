/* Any JSON as a request of the task API: read, its files staged, submitted to a service in memory whose provider runs
 * nothing, shown. What is refused is named by its path; what is taken reaches an end that is JSON; nothing is left. */
#include <string.h>

#include "base/base64.h"
#include "base/log.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "tasks-internal.h"
#include "base/banned.h"

static enum mf_code refuse(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                           const struct mf_sandbox_events *events, void *user, struct mf_run **ret, struct mf_err *err)
{
  CHECK(mf_sandbox_spec_check(spec, NULL) == MF_OK);
  return mf_fail(err, MF_E_INTERNAL, 0, "nothing runs here");
}

static const struct mf_provider_ops ops = { .name = "none", .start = refuse };

struct input {
  struct mf_provider provider;
  struct mf_loop *loop;
  struct mf_executor *executor;
  struct mf_tasks *tasks;
  struct mf_fiber *self;
  const struct mf_json_val *root;
};

static void check_fault(const struct mf_task_fault *f, const struct mf_err *err, bool needs_param)
{
  CHECK(f->code[0] && (f->param[0] || !needs_param) && err->msg[0]);
  CHECK(mf_utf8_is_valid(mf_str_of(f->param)) && mf_utf8_is_valid(mf_str_of(f->code)));
}

static bool stage(struct input *in, struct mf_task_draft *d, const struct mf_task_file_text *files, unsigned n)
{
  struct mf_task_fault fault = { 0 };
  struct mf_err err = { 0 };
  for (unsigned i = 0; i < n; i++) {
    mf_auto_buf struct mf_buf data;
    mf_buf_init(&data, MF_INPUT_BYTES_MAX);
    if (mf_base64_decode(files[i].base64, &data) != MF_OK)
      return false;
    enum mf_code code = mf_task_draft_file(d, in->self, files[i].name, &fault, &err);
    if (!code)
      code = mf_task_draft_data(d, in->self, mf_buf_str(&data), &fault, &err);
    if (code) {
      CHECK(code == MF_E_INPUT || code == MF_E_LIMIT);
      check_fault(&fault, &err, true);
      return false;
    }
  }
  return true;
}

static void check_shown(struct input *in, const char *id)
{
  const struct mf_json_limits limits = { .bytes_max = TASK_JSON_MAX, .depth_max = 16 };
  struct mf_buf text;
  struct mf_json *doc = NULL;
  CHECK(mf_tasks_get(in->tasks, in->self, MF_STR(""), mf_str_of(id), UINT64_MAX, &text, NULL) == MF_OK);
  CHECK(mf_json_parse(mf_buf_str(&text), &limits, &doc, NULL) == MF_OK);
  CHECK(mf_str_is(mf_json_str(mf_json_get(mf_json_root(doc), "status")), "failed"));
  mf_json_free(doc);
  mf_buf_done(&text);
  CHECK(mf_tasks_delete(in->tasks, in->self, MF_STR(""), mf_str_of(id), NULL) == MF_OK);
}

static void submit(struct input *in, const struct mf_task_request *request, const struct mf_task_file_text *files,
                   unsigned file_n)
{
  struct mf_task_fault fault = { 0 };
  struct mf_err err = { 0 };
  struct mf_task_submitted s;
  unsigned retry_s = 0;
  struct mf_task_draft *d = mf_task_draft_new(in->tasks, MF_STR(""));
  if (!stage(in, d, files, file_n)) {
    mf_task_draft_free(d, in->self);
  } else if (mf_tasks_submit(in->tasks, in->self, d, request, MF_STR(""), &s, &retry_s, &fault, &err) == MF_OK) {
    check_shown(in, s.id);
  } else {
    check_fault(&fault, &err, true);
  }
  CHECK(mf_tasks_stats(in->tasks).files_bytes == 0);
}

static void body(void *user)
{
  struct input *in = user;
  struct mf_tasks_config config;
  const struct mf_tasks_parts parts = { .loop = in->loop, .executor = in->executor };
  struct mf_task_request request;
  struct mf_task_file_text *files = NULL;
  unsigned file_n = 0;
  struct mf_task_fault fault = { 0 };
  struct mf_err err = { 0 };
  in->self = mf_fiber_self(in->loop);
  mf_tasks_config_default(&config);
  CHECK(mf_tasks_new(&config, &parts, in->self, &in->tasks, NULL) == MF_OK);
  if (mf_task_request_parse(in->root, &request, &files, &file_n, &fault, &err) == MF_OK)
    submit(in, &request, files, file_n);
  else
    check_fault(&fault, &err, false);
  free(files);
  mf_tasks_close(in->tasks, in->self, 1);
  mf_loop_stop(in->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  const struct mf_json_limits limits = { .bytes_max = 1u << 20, .depth_max = 16 };
  struct mf_json *doc = NULL;
  struct input in = { .provider = { &ops } };
  mf_log_set_level(MF_LOG_ERROR);
  if (mf_json_parse((struct mf_str){ (const char *)data, n }, &limits, &doc, NULL) != MF_OK)
    return 0;
  in.root = mf_json_root(doc);
  CHECK(mf_loop_new(&in.loop, NULL) == MF_OK);
  CHECK(mf_executor_new(in.loop, &in.provider, 1, &in.executor, NULL) == MF_OK);
  CHECK(mf_fiber_start(in.loop, body, &in, 0, NULL, NULL) == MF_OK);
  CHECK(mf_loop_run(in.loop, NULL) == MF_OK);
  mf_executor_free(in.executor);
  mf_loop_free(in.loop);
  mf_json_free(doc);
  return 0;
}
