/* What is POSTed upstream: fixtures of our own, and recorded dialogues of the system that Mayfly can replace, where
 * they are: whatever it sent upstream for a request, we send, and what it refused, we refuse. */
#include "turns.h"

#include <stdio.h>
#include <sys/wait.h>

#include "base/banned.h"

#define HI "[{'type':'message','role':'user','content':'hi'}]"
#define CI "{'type':'code_interpreter','container':{'type':'auto'}}"
#define FN(name) "{'type':'function','name':'" name "'}"
#define UP_FN(name) "{'type':'function','name':'" name "','description':null,'parameters':null,'strict':null}"

static void fields(void **state)
{
  static const struct {
    const char *sent, *upstream;
  } rows[] = {
    { "", "" },
    { ",'stream':null,'store':null,'temperature':null,'metadata':null,'tools':null,'tool_choice':null,'user':null",
      "" },
    { ",'instructions':'be brief','temperature':0.50,'top_p':1e-1,'max_output_tokens':12345678901234567890,"
      "'truncation':'auto','metadata':{'a':'b'},'text':{'format':{'type':'text'}},'include':['x'],"
      "'prompt_cache_key':'k','cache_salt':'s','ignore_eos':true,'reasoning':{'effort':'low'}",
      ",'instructions':'be brief','temperature':0.50,'top_p':1e-1,'max_output_tokens':12345678901234567890,"
      "'truncation':'auto','metadata':{'a':'b'},'text':{'format':{'type':'text'}},'include':['x'],"
      "'prompt_cache_key':'k','cache_salt':'s','ignore_eos':true,'reasoning':{'effort':'low'}" },
    { ",'user':'u','service_tier':'default','max_tool_calls':3,'foo':{'bar':1},'top_logprobs':2,'store':true,"
      "'background':false,'safety_identifier':'i','multi_agent':{'enabled':false},'context_management':[]",
      "" },
    { ",'parallel_tool_calls':true", ",'parallel_tool_calls':true" },
    { ",'parallel_tool_calls':false", ",'parallel_tool_calls':false" },
    { ",'tools':[]", "" },
    { ",'tool_choice':'none'", ",'tool_choice':'none'" },
    { ",'tool_choice':'auto','tools':[" FN("f") "]", ",'tools':[" UP_FN("f") "]" },
    { ",'tool_choice':{'type':'function','name':'f'},'tools':[" FN("f") "]",
      ",'tool_choice':{'type':'function','name':'f'},'tools':[" UP_FN("f") "]" },
    { ",'tool_choice':{'type':'custom','name':'c'},'tools':[{'type':'custom','name':'c','description':'d'}]",
      ",'tool_choice':{'type':'function','name':'c'},'tools':[{'type':'function','name':'c','description':'d',"
      "'parameters':{'type':'object','properties':{'input':{'type':'string','description':'The whole input of the "
      "tool, as plain text.'}},'required':['input'],'additionalProperties':false},'strict':true}]" },
  };
  struct world *w = *state;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_free char *body = mf_xasprintf("{'model':'m','input':'hi'%s}", rows[i].sent),
                      *want = mf_xasprintf("{'model':'m','stream':false,'input':" HI "%s}", rows[i].upstream);
    sends(w, body, want);
  }
  sends(w, "{'model':'','stream':true,'input':[]}", "{'model':'','stream':true,'input':[]}");
}

static void items(void **state)
{
  static const struct {
    const char *sent, *upstream;
  } rows[] = {
    { "{'type':'weird_item','x':1}", "" },
    { "{'type':'mcp_call','id':'mcp_1'}", "" },
    { "{'role':'developer','content':'x'}", "{'type':'message','role':'developer','content':'x'}" },
    { "{'role':'user','content':[{'type':'input_image','image_url':'data:','detail':'low'}],'phase':'p'}",
      "{'type':'message','role':'user','content':[{'type':'input_image','image_url':'data:','detail':'low'}],'phase':'"
      "p'}" },
    { "{'type':'reasoning','summary':[{'type':'summary_text','text':'s'}]}", "" },
    { "{'type':'reasoning','id':'rs_1','status':'completed','summary':[],'encrypted_content':'z',"
      "'content':[{'type':'reasoning_text','text':'a'},{'type':'reasoning_text','text':'b'}]}",
      "{'type':'reasoning','id':'rs_1','status':'completed','summary':[],'encrypted_content':null,"
      "'content':[{'type':'reasoning_text','text':'a\\nb'}]}" },
    { "{'type':'function_call','call_id':'c','name':'m','namespace':'n','arguments':'{}'}",
      "{'type':'function_call','call_id':'c','name':'agentic_ns__n__m','arguments':'{}'}" },
    { "{'type':'function_call','id':'fc_1','call_id':'c','name':'f','namespace':null,'arguments':'{}','status':null}",
      "{'type':'function_call','id':'fc_1','call_id':'c','name':'f','namespace':null,'arguments':'{}','status':null}" },
    { "{'type':'function_call_output','call_id':'c','output':[{'type':'input_text','text':'x'}]}",
      "{'type':'function_call_output','call_id':'c','output':[{'type':'input_text','text':'x'}]}" },
    { "{'type':'code_interpreter_call','id':'ci_1','container_id':'k','code':null,'outputs':null,'status':'completed',"
      "'_agentic_code_interpreter_origin':'gateway'}",
      "{'type':'code_interpreter_call','id':'ci_1','container_id':'k','code':null,'outputs':null,'status':'completed'"
      "}" },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    mf_auto_free char *body = mf_xasprintf("{'model':'m','input':[%s]}", rows[i].sent),
                      *want = mf_xasprintf("{'model':'m','stream':false,'input':[%s]}", rows[i].upstream);
    sends(*state, body, want);
  }
}

static struct mf_json *written(const struct turn *t, unsigned round, bool without_gateway)
{
  mf_auto_buf struct mf_buf out;
  struct mf_err err = { 0 };
  mf_buf_init(&out, 1u << 20);
  assert_ok(turn_write_upstream(t, round, without_gateway, &out, &err), &err);
  return parsed(mf_buf_str(&out));
}

/* After the first round the model is free to choose, and after max_tool_calls built-in tools are gone. */
static void later_rounds(void **state)
{
  struct world *w = *state;
  struct mf_api_error e = { 0 };
  struct mf_err err = { 0 };
  struct turn t;
  struct mf_turn_request *r =
      request_of(w, "{'model':'m','input':'hi','tool_choice':'required','tools':[" CI "," FN("f") "]}", &e);
  assert_true(r && begin_turn(w, r, &t, &e));
  mf_auto_free char *call = quoted("{'type':'function_call','id':'fc_1','call_id':'c','name':'code_interpreter',"
                                   "'arguments':'{}'}");
  mf_auto_json struct mf_json *item = parsed(mf_str_of(call)), *first = written(&t, 0, false);
  assert_int_equal(mf_json_len(mf_json_get(mf_json_root(first), "tools")), 2);
  assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_root(first), "tool_choice")), "required"));
  assert_ok(turn_input_add(&t, mf_json_root(item), &err), &err);
  mf_auto_json struct mf_json *second = written(&t, 1, false), *last = written(&t, 2, true);
  const struct mf_json_val *input = mf_json_get(mf_json_root(second), "input");
  assert_int_equal(mf_json_len(input), 2);
  assert_true(json_equal(mf_json_at(input, 1), mf_json_root(item)));
  assert_null(mf_json_get(mf_json_root(second), "tool_choice"));
  assert_int_equal(mf_json_len(mf_json_get(mf_json_root(second), "tools")), 2);
  const struct mf_json_val *tools = mf_json_get(mf_json_root(last), "tools");
  assert_int_equal(mf_json_len(tools), 1);
  assert_true(mf_str_is(mf_json_str(mf_json_get(mf_json_at(tools, 0), "name")), "f"));
  /* A buffer that is too small is an error, not half a body. */
  mf_auto_buf struct mf_buf small;
  mf_buf_init(&small, 100);
  assert_int_equal(turn_write_upstream(&t, 0, false, &small, &err), MF_E_LIMIT);
  turn_done(&t);
  mf_turn_request_free(r);
}

/* ---- recorded dialogues ---- */

struct recorded {
  struct mf_json *doc;
  char reason[200]; /* why there are none */
};
static struct recorded recorded;
static struct world world;

static struct mf_str text_of(const struct mf_json_val *obj, const char *key)
{
  const struct mf_json_val *v = mf_json_get(obj, key);
  return mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : (struct mf_str){ 0 };
}

static char *text(const struct mf_json_val *v)
{
  struct mf_buf out;
  struct mf_json_writer w;
  mf_buf_init(&out, 16u << 20);
  mf_jw_init(&w, &out, false);
  mf_jw_val(&w, v);
  assert_int_equal(w.code, MF_OK);
  return mf_buf_take(&out, NULL);
}

/* Tools that we do not have yet are left out of the comparison; that they are declared is then ignored. */
static bool has_foreign_tools(const struct mf_json_val *tools)
{
  struct mf_json_iter it = mf_json_iter(tools);
  while (mf_json_next(&it))
    if (!mf_str_is(text_of(it.val, "type"), "function") && !mf_str_is(text_of(it.val, "type"), "custom"))
      return true;
  return false;
}

/* parallel_tool_calls is ours: it goes upstream when the client has sent it. */
static bool same_request(const struct mf_json_val *ours, const struct mf_json_val *theirs,
                         const struct mf_json_val *sent, bool without_tools)
{
  static const char *const keys[] = { "model",       "input",   "stream",      "instructions", "tools",
                                      "tool_choice", "include", "temperature", "metadata",     "parallel_tool_calls" };
  struct mf_json_iter it = mf_json_iter(theirs);
  while (mf_json_next(&it)) {
    bool is_known = false;
    for (size_t i = 0; i < MF_ARRAY_N(keys); i++)
      is_known = is_known || mf_str_is(it.key, keys[i]);
    assert_true(is_known);
  }
  for (size_t i = 0; i < MF_ARRAY_N(keys); i++) {
    if (without_tools && strcmp(keys[i], "tools") == 0)
      continue;
    if (strcmp(keys[i], "parallel_tool_calls") == 0 && !mf_json_get(sent, keys[i])) {
      assert_null(mf_json_get(ours, keys[i]));
      continue;
    }
    if (!json_equal(mf_json_get(ours, keys[i]), mf_json_get(theirs, keys[i])))
      return false;
  }
  return true;
}

static void keep_turn(const struct turn *t, const struct mf_json_val *response)
{
  struct mf_store_item items[64] = { 0 };
  char *texts[64] = { 0 };
  size_t n = 0;
  for (; n < t->inputs.item_n; n++) {
    assert_true(n < MF_ARRAY_N(items));
    items[n] = t->inputs.items[n];
  }
  struct mf_json_iter it = mf_json_iter(mf_json_get(response, "output"));
  while (mf_json_next(&it)) {
    assert_true(n < MF_ARRAY_N(items));
    texts[n] = text(it.val);
    items[n] = (struct mf_store_item){ .id = text_of(it.val, "id"), .json = mf_str_of(texts[n]), .is_public = true };
    n++;
  }
  mf_auto_free char *tools = t->tools ? text(t->tools) : NULL, *choice = t->choice ? text(t->choice) : NULL;
  const struct mf_store_response r = { .id = text_of(response, "id"),
                                       .previous_id = t->r->previous_id,
                                       .payload = MF_STR("{}"),
                                       .tools = mf_str_of(tools),
                                       .tool_choice = mf_str_of(choice),
                                       .items = items,
                                       .item_n = n };
  assert_ok(harness_put(&world.h, &r), &world.h.err);
  for (size_t i = 0; i < MF_ARRAY_N(texts); i++)
    free(texts[i]);
}

struct counts {
  unsigned compared, refused, raw, not_served;
};

static void check_refused(const struct mf_json_val *turn, const struct mf_api_error *e)
{
  const struct mf_json_val *error = mf_json_get(turn, "error");
  struct mf_str message = text_of(error, "message");
  uint64_t status = 0;
  assert_true(mf_json_u64(mf_json_get(turn, "status"), &status));
  bool is_form = mf_str_starts(message, "json error: ");
  if ((int)status != e->status ||
      (is_form ? strncmp(e->message, "json error: ", 12) != 0 : !mf_str_is(message, e->message)))
    fail_msg("%d %s\n  instead of %d %.*s", e->status, e->message, (int)status, MF_STR_ARG(message));
  assert_true(mf_str_is(text_of(error, "type"), e->type));
  assert_true(e->code ? mf_str_is(text_of(error, "code"), e->code)
                      : mf_json_type_of(mf_json_get(error, "code")) == MF_JSON_NULL);
  assert_int_equal(mf_json_get(error, "param") != NULL, e->has_param);
}

/* False: the rest of the dialogue needs what we do not serve. */
static bool run_turn(const struct mf_json_val *turn, struct counts *n)
{
  const struct mf_json_val *sent = mf_json_get(turn, "request"), *upstream = mf_json_get(turn, "upstream");
  mf_auto_free char *body = text(sent);
  struct mf_api_error e = { 0 };
  struct turn t = { 0 };
  struct mf_turn_request *r = NULL;
  uint64_t status = 0;
  assert_true(mf_json_u64(mf_json_get(turn, "status"), &status));
  bool is_ok = mf_turn_request_new(&world.agent, mf_str_of(body), &r, &e), goes_on = true;
  if (is_ok && mf_turn_request_is_proxy(r)) {
    assert_true(json_equal(sent, mf_json_at(upstream, 0)));
    n->raw++;
    mf_turn_request_free(r);
    return true;
  }
  is_ok = is_ok && begin_turn(&world, r, &t, &e);
  if (!is_ok && e.code && strcmp(e.code, "unsupported_parameter") == 0) {
    n->not_served++;
    goes_on = false;
  } else if (!is_ok && status == 200 && mf_json_len(upstream) == 0) {
    n->refused++; /* a conflict of names, which it reports in the stream */
    assert_int_equal(e.status, 400);
  } else if (!is_ok) {
    check_refused(turn, &e);
    n->refused++;
  } else {
    /* Refused by it for a kind of tool that we do not have: ignored here. */
    if (status != 200)
      assert_true(has_foreign_tools(t.tools));
    if (mf_json_len(upstream) > 0) {
      mf_auto_json struct mf_json *ours = written(&t, 0, false);
      if (!same_request(mf_json_root(ours), mf_json_at(upstream, 0), sent, has_foreign_tools(t.tools)))
        fail_msg("sent\n%s\ninstead of\n%s", text(mf_json_root(ours)), text(mf_json_at(upstream, 0)));
      n->compared++;
    }
    const struct mf_json_val *response = mf_json_get(turn, "response");
    goes_on = mf_json_len(upstream) == 1 && !has_foreign_tools(t.tools);
    if (goes_on && r->is_store && mf_json_type_of(response) == MF_JSON_OBJ)
      keep_turn(&t, response);
  }
  turn_done(&t);
  mf_turn_request_free(r);
  return goes_on;
}

/* Turns of some files have nothing to do with one another. */
static bool are_apart(struct mf_str where)
{
  return mf_str_starts(where, "errors/") || mf_str_starts(where, "extra/") ||
         mf_str_is(where, "code_interpreter/declaration-rejections.yaml");
}

static void recorded_dialogues(void **state)
{
  if (!recorded.doc) {
    print_message("# %s\n", recorded.reason);
    skip();
  }
  struct counts n = { 0 };
  world.agent.tools.ignore_unsupported = true;
  struct mf_json_iter it = mf_json_iter(mf_json_root(recorded.doc));
  while (mf_json_next(&it)) {
    struct mf_str where = text_of(it.val, "where");
    mf_auto_free char *name = text(mf_json_get(it.val, "where"));
    print_message("# %s\n", name);
    world.agent.tools.interpreter_built = !mf_str_is(where, "code_interpreter/declaration-rejections.yaml");
    struct mf_json_iter turns = mf_json_iter(mf_json_get(it.val, "turns"));
    while (mf_json_next(&turns))
      if (!run_turn(turns.val, &n) && !are_apart(where))
        break;
  }
  world.agent.tools.ignore_unsupported = false;
  world.agent.tools.interpreter_built = true;
  print_message("# %u compared, %u refused, %u raw, %u not served\n", n.compared, n.refused, n.raw, n.not_served);
  assert_true(n.compared >= 30);
  assert_true(n.refused >= 30);
  assert_true(n.raw >= 2);
}

static void load(const char *script, const char *folder)
{
  char command[9000];
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, 64u << 20);
  snprintf(command, sizeof(command), "python3 '%s' '%s'", script, folder);
  FILE *p = popen(command, "r");
  char chunk[65536];
  size_t n;
  while (p && (n = fread(chunk, 1, sizeof(chunk), p)) > 0)
    if (mf_buf_append(&out, chunk, n))
      exit(1);
  int status = p ? pclose(p) : -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    snprintf(recorded.reason, sizeof(recorded.reason), "%.*s", (int)strcspn(out.ptr, "\n"), out.ptr);
    return;
  }
  const struct mf_json_limits limits = { .bytes_max = out.max, .depth_max = 256 };
  if (status != 0 || mf_json_parse(mf_buf_str(&out), &limits, &recorded.doc, NULL)) {
    fprintf(stderr, "%s could not read the recordings\n", script);
    exit(1);
  }
}

int main(int argc, char **argv)
{
  if (argc != 3)
    return 1;
  load(argv[1], argv[2]);
  world_open(&world);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_prestate(fields, &world),
    cmocka_unit_test_prestate(items, &world),
    cmocka_unit_test_prestate(later_rounds, &world),
    cmocka_unit_test(recorded_dialogues),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  world_close(&world);
  mf_json_free(recorded.doc);
  return failed;
}
