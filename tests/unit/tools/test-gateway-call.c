/* A call of the code interpreter from the model's arguments to its output, its item and its events, over the real
 * executor and a provider that says what the test wants. */
#include "set.h"

#include <stdlib.h>

#include "base/banned.h"

/* ---- a provider ---- */

struct script {
  enum mf_run_status status;
  enum mf_run_reason reason;
  const char *out, *err;
  enum mf_code refusal;
  bool hangs; /* until it is cancelled */
  const char *denied;
  const char *files[4]; /* that were left behind, and not collected */
};

struct fake_run {
  struct mf_run base;
  const struct mf_sandbox_events *events;
  void *user;
  unsigned step;
};

struct fake {
  struct mf_provider base;
  struct mf_loop *loop;
  const struct script *script;
  struct mf_buf source; /* what it was last given */
  struct mf_sandbox_limits limits;
  unsigned start_n, cancel_n, busy;
};

static void step(void *user);

static void next(struct fake_run *r)
{
  assert_int_equal(mf_loop_defer(((struct fake *)r->base.provider)->loop, step, r, NULL), MF_OK);
}

static void finish(struct fake_run *r, const struct script *x)
{
  struct mf_sandbox_result *result = mf_sandbox_result_new();
  result->status = x->status;
  result->reason = x->reason;
  mf_buf_init(&result->out, 1u << 20);
  mf_buf_init(&result->err, 1u << 20);
  assert_int_equal(mf_buf_append_str(&result->out, mf_str_of(x->out)), MF_OK);
  assert_int_equal(mf_buf_append_str(&result->err, mf_str_of(x->err)), MF_OK);
  snprintf(result->diagnostic, sizeof(result->diagnostic), "/a/path of the host");
  if (x->denied)
    result->denied[result->denied_n++] = mf_xstrdup(x->denied);
  result->rejected = mf_xcalloc(MF_ARRAY_N(x->files), sizeof(*result->rejected));
  for (size_t i = 0; i < MF_ARRAY_N(x->files) && x->files[i]; i++)
    result->rejected[result->rejected_n++] =
        (struct mf_rejected_artifact){ mf_xstrdup(x->files[i]), mf_xstrdup("over the count limit (0 artifacts)") };
  r->events->finished(r->user, result);
}

static void step(void *user)
{
  struct fake_run *r = user;
  struct fake *f = (struct fake *)r->base.provider;
  switch (r->step++) {
  case 0:
    r->events->started(r->user);
    if (!f->script->hangs)
      next(r);
    return;
  case 1:
    finish(r, f->script);
    next(r);
    return;
  default:
    f->busy--;
    r->events->released(r->user);
    free(r);
  }
}

static enum mf_code fake_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct fake *f = (struct fake *)p;
  f->start_n++;
  if (f->script->refusal)
    return mf_fail(err, f->script->refusal, 0, "the fake says no: /a/path of the host");
  mf_buf_truncate(&f->source, 0);
  assert_int_equal(mf_buf_append_str(&f->source, spec->source), MF_OK);
  f->limits = spec->limits;
  f->busy++;
  struct fake_run *r = mf_xcalloc(1, sizeof(*r));
  *r = (struct fake_run){ .base = { p }, .events = events, .user = user };
  *ret = &r->base;
  next(r);
  return MF_OK;
}

static void fake_cancel(struct mf_run *run)
{
  static const struct script cancelled = { MF_RUN_CANCELLED, MF_REASON_CANCELLED, .out = "", .err = "" };
  struct fake *f = (struct fake *)run->provider;
  f->cancel_n++;
  if (f->script->hangs) {
    f->script = &cancelled;
    next((struct fake_run *)run);
  }
}

static unsigned fake_busy(const struct mf_provider *p)
{
  return ((const struct fake *)p)->busy;
}

static const struct mf_provider_ops fake_ops = {
  .name = "fake", .start = fake_start, .cancel = fake_cancel, .busy = fake_busy
};

/* ---- a call ---- */

struct fixture {
  struct fake fake;
  struct set set;
  struct mf_gateway_call *call;
  struct mf_fiber *fiber;
  enum mf_code code;
  bool has_returned, is_dropped; /* is_dropped: cancelled once the guest runs */
  const struct fixture *also;    /* another call that must have returned too */
};

static void set_up(struct fixture *fx, const struct script *script)
{
  struct mf_err err = { 0 };
  *fx = (struct fixture){ .fake = { .base = { &fake_ops }, .script = script } };
  mf_buf_init(&fx->fake.source, 1u << 20);
  assert_ok(mf_loop_new(&fx->fake.loop, &err), &err);
  set_env(&fx->set);
  fx->set.env.loop = fx->fake.loop;
  fx->set.env.executor = NULL;
  assert_ok(mf_executor_new(fx->fake.loop, &fx->fake.base, 1, &fx->set.env.executor, &err), &err);
  set_declare(&fx->set, "[{'type':'code_interpreter','container':{'type':'auto'}}]");
  assert_non_null(fx->set.tools);
}

static void tear_down(struct fixture *fx)
{
  mf_gateway_call_free(fx->call);
  set_done(&fx->set);
  assert_int_equal(fx->fake.busy, 0);
  assert_int_equal(mf_executor_stats(fx->set.env.executor).busy, 0);
  mf_executor_free(fx->set.env.executor);
  mf_loop_free(fx->fake.loop);
  mf_buf_done(&fx->fake.source);
}

static void make(struct fixture *fx, const char *item_id, const char *arguments)
{
  const struct mf_tool_call call = { mf_str_of(item_id), MF_STR("call_1"), MF_STR("code_interpreter"),
                                     mf_str_of(arguments), 2 };
  mf_gateway_call_free(fx->call);
  fx->call = mf_gateway_call_new(&fx->set.env, mf_toolset_bind(fx->set.tools, call.name), &call);
}

/* Goes on until nothing is left to do: the place is free again. */
static void watch(void *user)
{
  struct fixture *fx = user;
  if (fx->is_dropped && fx->fake.busy && fx->fiber)
    mf_fiber_cancel(fx->fiber);
  if (fx->has_returned && fx->fake.busy == 0 && (!fx->also || fx->also->has_returned))
    mf_loop_stop(fx->fake.loop);
  else
    assert_int_equal(mf_loop_defer(fx->fake.loop, watch, fx, NULL), MF_OK);
}

static void execute(void *user)
{
  struct fixture *fx = user;
  fx->code = mf_gateway_call_run(fx->call, fx->fiber);
  fx->has_returned = true;
  fx->fiber = NULL;
}

static void run(struct fixture *fx)
{
  struct mf_err err = { 0 };
  fx->has_returned = false;
  assert_ok(mf_fiber_start(fx->fake.loop, execute, fx, 0, &fx->fiber, &err), &err);
  mf_fiber_detach(fx->fiber);
  assert_int_equal(mf_loop_defer(fx->fake.loop, watch, fx, NULL), MF_OK);
  assert_ok(mf_loop_run(fx->fake.loop, &err), &err);
}

static void expect_item(const struct fixture *fx, const char *want)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, 1u << 22);
  struct mf_json_writer w;
  mf_jw_init(&w, &text, false);
  mf_gateway_call_write_item(fx->call, &w);
  assert_int_equal(w.code, MF_OK);
  assert_json(&text, want);
}

#define ITEM "{'type':'code_interpreter_call','id':'ci_x1','container_id':'cntr_x1','code':"
#define FIXED "'status':'failed','outputs':[{'type':'logs','logs':'Code execution failed.'}]}"

/* ---- arguments ---- */

static void bad_arguments_never_reach_a_sandbox(void **state)
{
#define NOT_JSON "{\"error\":\"code_interpreter arguments must be valid JSON\"}"
#define NOT_CODE "{\"error\":\"code_interpreter arguments must contain exactly one string field 'code'\"}"
  static const struct {
    const char *arguments, *output;
  } rows[] = {
    { "", NOT_JSON },
    { "print(1)", NOT_JSON },
    { "{\"code\":\"print(1)\"", NOT_JSON },
    { "{\"code\":\"\\ud800\"}", NOT_JSON },
    { "{\"code\":\"x\"} x", NOT_JSON },
    { "{}", NOT_CODE },
    { "null", NOT_CODE },
    { "7", NOT_CODE },
    { "\"print(1)\"", NOT_CODE },
    { "[\"print(1)\"]", NOT_CODE },
    { "{\"code\":null}", NOT_CODE },
    { "{\"code\":[\"x\"]}", NOT_CODE },
    { "{\"source\":\"x\"}", NOT_CODE },
    { "{\"code\":\"x\",\"lang\":\"py\"}", NOT_CODE },
    { "{\"code\":\"x\",\"code\":\"y\"}", NOT_CODE },
  };
  static const struct script script = { .out = "", .err = "" };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct fixture fx;
    set_up(&fx, &script);
    make(&fx, "fc_x1", rows[i].arguments);
    run(&fx);
    assert_int_equal(fx.code, MF_OK);
    assert_string_equal(mf_gateway_call_output(fx.call).ptr, rows[i].output);
    assert_int_equal(fx.fake.start_n, 0);
    expect_item(&fx, ITEM "''," FIXED);
    tear_down(&fx);
  }
}

static void deep_arguments(void **state)
{
  static const struct script script = { .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  mf_auto_buf struct mf_buf deep;
  mf_buf_init(&deep, 1u << 20);
  for (unsigned i = 0; i < 100000; i++)
    assert_int_equal(mf_buf_append_str(&deep, MF_STR("[")), MF_OK);
  make(&fx, "fc_x1", deep.ptr);
  run(&fx);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr, NOT_JSON);
  tear_down(&fx);
}

/* Bytes of the decoded source count, not those of its JSON. */
static void the_source_has_a_limit(void **state)
{
  static const struct script script = { MF_RUN_SUCCEEDED, MF_REASON_EXIT, .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  fx.set.interpreter.max_source_bytes = 6;
  make(&fx, "fc_x1", "{\"code\":\"\\u20ac\\u20ac\"}");
  run(&fx);
  assert_string_equal(fx.fake.source.ptr, "€€");
  make(&fx, "fc_x1", "{\"code\":\"\\u20ac\\u20ac1\"}");
  run(&fx);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr,
                      "{\"error\":\"code_interpreter source is 7 bytes, exceeding the 6-byte limit\"}");
  assert_int_equal(fx.fake.start_n, 1);
  expect_item(&fx, ITEM "''," FIXED);
  tear_down(&fx);
}

static void an_empty_source_and_one_with_a_nul(void **state)
{
  static const struct script script = { MF_RUN_SUCCEEDED, MF_REASON_EXIT, .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  make(&fx, "fc_x1", "{\"code\":\"\"}");
  run(&fx);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr,
                      "{\"status\":\"completed\",\"stdout\":\"\",\"stderr\":\"\"}");
  expect_item(&fx, ITEM "'','status':'completed','outputs':[]}");
  make(&fx, "fc_x1", "{\"code\":\"a\\u0000b\"}");
  run(&fx);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr,
                      "{\"status\":\"failed\",\"stdout\":\"\",\"stderr\":\"SyntaxError: source code string cannot "
                      "contain null bytes\"}");
  assert_int_equal(fx.fake.start_n, 1);
  tear_down(&fx);
}

/* ---- results ---- */

static void every_end_has_its_words(void **state)
{
#define MODEL(status, out, err) "{'status':'" status "','stdout':'" out "','stderr':'" err "'}"
#define LOGS(text) "{'type':'logs','logs':'" text "'}"
#define OVER "Code execution exceeded a resource limit."
#define REFUSED "[refused by the sandbox: connect to 203.0.113.7:443]\\n"
#define TIME "\\n[timed out after 10 s]"
#define RAISED "Python execution raised an exception."
#define CRASHED "{'error':'code interpreter isolated worker failed'}"
#define FULL "{'error':'code interpreter capacity is temporarily unavailable'}"
  static const struct {
    struct script script;
    const char *output, *item;
  } rows[] = {
    { { MF_RUN_SUCCEEDED, MF_REASON_EXIT, "4\n", "w" },
      MODEL("completed", "4\\n", "w"),
      "'status':'completed','outputs':[" LOGS("4\\n") "," LOGS("w") "]}" },
    { { MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "" }, MODEL("completed", "", ""), "'status':'completed','outputs':[]}" },
    { { MF_RUN_SUCCEEDED, MF_REASON_EXIT, "", "w" },
      MODEL("completed", "", "w"),
      "'status':'completed','outputs':[" LOGS("w") "]}" },
    { { MF_RUN_FAILED, MF_REASON_EXCEPTION, "1", "ValueError" },
      MODEL("failed", "1", "ValueError"),
      "'status':'failed','outputs':[" LOGS("1") "," LOGS("ValueError") "]}" },
    { { MF_RUN_FAILED, MF_REASON_EXCEPTION, "", "PermissionError\n", .denied = "connect to 203.0.113.7:443" },
      MODEL("failed", "", "PermissionError\\n" REFUSED),
      "'status':'failed','outputs':[" LOGS("PermissionError\\n" REFUSED) "]}" },
    { { MF_RUN_SUCCEEDED, MF_REASON_EXIT, "1", "", .denied = "connect to 203.0.113.7:443" },
      MODEL("completed", "1", ""),
      "'status':'completed','outputs':[" LOGS("1") "]}" },
    { { MF_RUN_FAILED, MF_REASON_EXIT, "", "" },
      MODEL("failed", "", RAISED),
      "'status':'failed','outputs':[" LOGS(RAISED) "]}" },
    { { MF_RUN_FAILED, MF_REASON_SIGNAL, "1", "" },
      MODEL("failed", "1", RAISED),
      "'status':'failed','outputs':[" LOGS("1") "," LOGS(RAISED) "]}" },
    { { MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "1", "" },
      MODEL("incomplete", "1", OVER TIME),
      "'status':'incomplete','outputs':[" LOGS("1") "," LOGS(OVER TIME) "]}" },
    { { MF_RUN_TIMED_OUT, MF_REASON_WALL_TIME, "", "e" },
      MODEL("incomplete", "", "e" TIME),
      "'status':'incomplete','outputs':[" LOGS("e" TIME) "]}" },
    { { MF_RUN_LIMIT, MF_REASON_MEMORY, "", "" },
      MODEL("incomplete", "", OVER),
      "'status':'incomplete','outputs':[" LOGS(OVER) "]}" },
    { { MF_RUN_LIMIT, MF_REASON_FUEL, "", "" },
      MODEL("incomplete", "", OVER),
      "'status':'incomplete','outputs':[" LOGS(OVER) "]}" },
    { { MF_RUN_LIMIT, MF_REASON_CPU, "", "" },
      MODEL("incomplete", "", OVER),
      "'status':'incomplete','outputs':[" LOGS(OVER) "]}" },
    { { MF_RUN_FAILED, MF_REASON_WORKER_CRASH, "x", "" }, CRASHED, FIXED },
    { { MF_RUN_FAILED, MF_REASON_UNAVAILABLE, "", "" }, CRASHED, FIXED },
    { { MF_RUN_FAILED, MF_REASON_CAPACITY, "", "" }, FULL, FIXED },
    { { MF_RUN_FAILED, MF_REASON_MEMORY, "", "" },
      "{'error':'code interpreter worker exceeded its memory limit'}",
      FIXED },
    { { MF_RUN_CANCELLED, MF_REASON_CANCELLED, "", "" }, CRASHED, FIXED },
    { { .out = "", .err = "", .refusal = MF_E_CAPACITY }, FULL, FIXED },
    { { .out = "", .err = "", .refusal = MF_E_UNAVAILABLE }, CRASHED, FIXED },
    { { .out = "", .err = "", .refusal = MF_E_SYS }, CRASHED, FIXED },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct fixture fx;
    set_up(&fx, &rows[i].script);
    make(&fx, "fc_x1", "{\"code\":\"print(4)\"}");
    run(&fx);
    assert_int_equal(fx.code, MF_OK);
    struct mf_str output = mf_gateway_call_output(fx.call);
    assert_json(&output, rows[i].output);
    mf_auto_free char *item = mf_xasprintf(ITEM "'print(4)',%s", rows[i].item);
    expect_item(&fx, item);
    tear_down(&fx);
  }
}

static void the_guest_gets_the_gateways_limits(void **state)
{
  static const struct script script = { MF_RUN_SUCCEEDED, MF_REASON_EXIT, .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  make(&fx, "fc_x1", "{\"code\":\"x\"}");
  run(&fx);
  assert_int_equal(fx.fake.limits.wall_ms, 10000);
  assert_int_equal(fx.fake.limits.stdout_bytes, 65536);
  assert_int_equal(fx.fake.limits.memory_bytes, 1u << 30);
  assert_int_equal(fx.fake.limits.output_policy, MF_OUTPUT_STOP);
  assert_int_equal(fx.fake.limits.artifact_count, 0);
  tear_down(&fx);
}

/* The text and the note that it was cut are within the limit together, on a character boundary. */
static void too_much_output(void **state)
{
  static const struct {
    uint64_t max;
    const char *out, *want;
  } rows[] = {
    { 30, "0123456789012345678901234567890123456789", "01234567890\\n[output truncated]" },
    { 30, "012345678€012345678901234567890123456789", "012345678\\n[output truncated]" },
    { 19, "0123456789012345678901234567890123456789", "\\n[output truncated]" },
    { 4, "0123456789", "\\n[ou" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    const struct script script = { MF_RUN_LIMIT, MF_REASON_OUTPUT, .out = rows[i].out, .err = "" };
    struct fixture fx;
    set_up(&fx, &script);
    fx.set.interpreter.max_stdout_bytes = rows[i].max;
    make(&fx, "fc_x1", "{\"code\":\"\"}");
    run(&fx);
    mf_auto_free char *want = mf_xasprintf(MODEL("incomplete", "%s", ""), rows[i].want);
    struct mf_str output = mf_gateway_call_output(fx.call);
    assert_json(&output, want);
    mf_auto_free char *item = mf_xasprintf(ITEM "'','status':'incomplete','outputs':[" LOGS("%s") "]}", rows[i].want);
    expect_item(&fx, item);
    tear_down(&fx);
  }
}

/* No file comes back, so a figure that was shown is spoken of; other files were the program's own idea. */
static void figures_are_spoken_of(void **state)
{
#define MADE(n, were) "[" n " figure" were " made; pictures are not returned here]\\n"
  static const struct {
    const char *out;
    uint64_t max;
    const char *files[4], *want;
  } rows[] = {
    { "end\n", 65536, { "figure-1.png", "figure-2.png" }, "end\\n" MADE("2", "s were") },
    { "end", 65536, { "figure-12.png", "data.csv" }, "end\\n" MADE("1", " was") },
    { "", 65536, { "figure-1.png" }, MADE("1", " was") },
    { "x", 65536, { "figure-.png", "figure-1.pngx", "d/figure-1.png", "my.png" }, "x" },
    { "no room", 40, { "figure-1.png" }, "no room" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    struct script script = { MF_RUN_SUCCEEDED, MF_REASON_EXIT, .out = rows[i].out, .err = "" };
    memcpy(script.files, rows[i].files, sizeof(script.files));
    struct fixture fx;
    set_up(&fx, &script);
    fx.set.interpreter.max_stdout_bytes = rows[i].max;
    make(&fx, "fc_x1", "{\"code\":\"\"}");
    run(&fx);
    mf_auto_free char *want = mf_xasprintf(MODEL("completed", "%s", ""), rows[i].want);
    struct mf_str output = mf_gateway_call_output(fx.call);
    assert_json(&output, want);
    mf_auto_free char *item = mf_xasprintf(ITEM "'','status':'completed','outputs':[" LOGS("%s") "]}", rows[i].want);
    expect_item(&fx, item);
    tear_down(&fx);
  }
}

static void no_permit_is_no_wait(void **state)
{
  static const struct script script = { .out = "", .err = "", .hangs = true };
  struct fixture fx;
  set_up(&fx, &script);
  /* The only permit is out for as long as the first call hangs. */
  make(&fx, "fc_x1", "{\"code\":\"1\"}");
  struct mf_gateway_call *first = fx.call;
  fx.call = NULL;
  fx.set.env.call_timeout_ms = 30;
  struct fixture other = { .call = first };
  fx.also = &other;
  struct mf_err err = { 0 };
  assert_ok(mf_fiber_start(fx.fake.loop, execute, &other, 0, &other.fiber, &err), &err);
  mf_fiber_detach(other.fiber);
  make(&fx, "fc_x2", "{\"code\":\"2\"}");
  run(&fx);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr,
                      "{\"error\":\"code interpreter capacity is temporarily unavailable\"}");
  assert_int_equal(fx.fake.start_n, 1);
  assert_non_null(strstr(mf_gateway_call_output(first).ptr, "timed out"));
  mf_gateway_call_free(first);
  tear_down(&fx);
}

static void a_call_has_a_time_limit(void **state)
{
  static const struct script script = { .out = "", .err = "", .hangs = true };
  struct fixture fx;
  set_up(&fx, &script);
  fx.set.env.call_timeout_ms = 20;
  make(&fx, "fc_x1", "{\"code\":\"while True: pass\"}");
  run(&fx);
  assert_int_equal(fx.code, MF_OK);
  assert_string_equal(mf_gateway_call_output(fx.call).ptr,
                      "{\"error\":\"gateway tool 'code_interpreter' timed out after 20ms\"}");
  assert_int_equal(fx.fake.cancel_n, 1);
  expect_item(&fx, ITEM "'while True: pass'," FIXED);
  tear_down(&fx);
}

static void the_client_goes_away(void **state)
{
  static const struct script script = { .out = "", .err = "", .hangs = true };
  struct fixture fx;
  set_up(&fx, &script);
  fx.is_dropped = true;
  make(&fx, "fc_x1", "{\"code\":\"while True: pass\"}");
  run(&fx);
  assert_int_equal(fx.code, MF_E_CANCELLED);
  assert_int_equal(fx.fake.cancel_n, 1);
  tear_down(&fx);
}

static void a_refused_call(void **state)
{
  static const struct script script = { .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  make(&fx, "fc_x1", "{\"code\":\"1\"}");
  mf_gateway_call_refuse(fx.call, MF_STR("UserError: Reached tool call limit of 1"));
  assert_string_equal(mf_gateway_call_output(fx.call).ptr, "UserError: Reached tool call limit of 1");
  expect_item(&fx, ITEM "'1'," FIXED);
  assert_int_equal(fx.fake.start_n, 0);
  tear_down(&fx);
}

/* ---- ids and events ---- */

static void ids(void **state)
{
  static const struct {
    const char *item_id, *id;
  } rows[] = {
    { "fc_x1", "ci_x1" },
    { "fc_0199-ab", "ci_0199-ab" },
    /* FNV-1a-64 over the id, a NUL byte and "call_1" */
    { "fc_", "ci_h52df4479d1395ef5" },
    { "fc_fc_x", "ci_ha3d57347699d3d7d" },
    { "", "ci_he2b1f5ffba4f1ef3" },
    { "item_7", "ci_h8ce7af74e6cfd2c8" },
  };
  static const struct script script = { .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    make(&fx, rows[i].item_id, "{\"code\":\"\"}");
    struct mf_str id = mf_gateway_call_item_id(fx.call);
    assert_string_equal(id.ptr, rows[i].id);
    mf_gateway_call_refuse(fx.call, MF_STR("x"));
    mf_auto_free char *item =
        mf_xasprintf("{'type':'code_interpreter_call','id':'%s','container_id':'cntr_%s','code':''," FIXED, rows[i].id,
                     rows[i].id + 3);
    expect_item(&fx, item);
  }
  tear_down(&fx);
}

#define CI "response.code_interpreter_call"

static void seven_events(void **state)
{
  static const struct script script = { MF_RUN_SUCCEEDED, MF_REASON_EXIT, .out = "4", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  make(&fx, "fc_x1", "{\"code\":\"print(4)\"}");
  mf_auto_buf struct mf_buf lines;
  mf_buf_init(&lines, 1u << 16);
  struct mf_event_sink sink = lines_sink(&lines);
  struct mf_err err = { 0 };
  assert_ok(mf_gateway_call_emit_start(fx.call, &sink, &err), &err);
  assert_json(&lines,
              "response.output_item.added 2 {'item':" ITEM "'','status':'in_progress','outputs':null}}\n" CI
              ".in_progress 2 {'item_id':'ci_x1'}\n" CI "_code.delta 2 {'item_id':'ci_x1','delta':'print(4)'}\n" CI
              "_code.done 2 {'item_id':'ci_x1','code':'print(4)'}\n" CI ".interpreting 2 {'item_id':'ci_x1'}\n");
  run(&fx);
  mf_buf_truncate(&lines, 0);
  assert_ok(mf_gateway_call_emit_end(fx.call, &sink, &err), &err);
  assert_json(&lines, CI ".completed 2 {'item_id':'ci_x1'}\nresponse.output_item.done 2 {'item':" ITEM
                         "'print(4)','status':'completed','outputs':[" LOGS("4") "]}}\n");
  tear_down(&fx);
}

static void events_of_bad_arguments(void **state)
{
  static const struct script script = { .out = "", .err = "" };
  struct fixture fx;
  set_up(&fx, &script);
  make(&fx, "fc_x1", "print(4)");
  mf_auto_buf struct mf_buf lines;
  mf_buf_init(&lines, 1u << 16);
  struct mf_event_sink sink = lines_sink(&lines);
  struct mf_err err = { 0 };
  assert_ok(mf_gateway_call_emit_start(fx.call, &sink, &err), &err);
  assert_non_null(strstr(lines.ptr, CI "_code.delta 2 {\"item_id\":\"ci_x1\",\"delta\":\"\"}\n"));
  assert_non_null(strstr(lines.ptr, CI "_code.done 2 {\"item_id\":\"ci_x1\",\"code\":\"\"}\n"));
  run(&fx);
  mf_buf_truncate(&lines, 0);
  assert_ok(mf_gateway_call_emit_end(fx.call, &sink, &err), &err);
  assert_json(&lines,
              CI ".completed 2 {'item_id':'ci_x1'}\nresponse.output_item.done 2 {'item':" ITEM "''," FIXED "}\n");
  tear_down(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(bad_arguments_never_reach_a_sandbox),
    cmocka_unit_test(deep_arguments),
    cmocka_unit_test(the_source_has_a_limit),
    cmocka_unit_test(an_empty_source_and_one_with_a_nul),
    cmocka_unit_test(every_end_has_its_words),
    cmocka_unit_test(the_guest_gets_the_gateways_limits),
    cmocka_unit_test(too_much_output),
    cmocka_unit_test(figures_are_spoken_of),
    cmocka_unit_test(no_permit_is_no_wait),
    cmocka_unit_test(a_call_has_a_time_limit),
    cmocka_unit_test(the_client_goes_away),
    cmocka_unit_test(a_refused_call),
    cmocka_unit_test(ids),
    cmocka_unit_test(seven_events),
    cmocka_unit_test(events_of_bad_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
