/* Reads a scenario and refuses whatever it does not know, with the place. */
#include "base/num.h"
#include "base/path.h"
#include "scenario.h"
#include "base/banned.h"

enum { FILE_BYTES_MAX = 64 << 20, DEPTH_MAX = 128, DELAY_MS_MAX = 600000, SHOWN_MAX = 80 };

static const char *const fault_names[MF_FAULT_N] = {
  [MF_FAULT_NONE] = "none",       [MF_FAULT_REFUSE] = "refuse",
  [MF_FAULT_HANG] = "hang",       [MF_FAULT_RESET_MID_EVENT] = "reset_mid_event",
  [MF_FAULT_CUT] = "cut",         [MF_FAULT_HTML] = "html",
  [MF_FAULT_CRLF] = "crlf",       [MF_FAULT_HUGE_LINE] = "huge_line",
  [MF_FAULT_NO_DONE] = "no_done", [MF_FAULT_WRONG_TYPE] = "wrong_type",
};

/* ---- members ---- */

/* Every member must be in the list, which NULL ends. */
static enum mf_code check_members(const struct mf_json_val *v, const char *path, const char *const *known,
                                  struct mf_err *err)
{
  if (mf_json_type_of(v) != MF_JSON_OBJ)
    return mf_fail(err, MF_E_INPUT, 0, "%s: expected an object", path);
  struct mf_json_iter it = mf_json_iter(v);
  while (mf_json_next(&it)) {
    const char *const *k = known;
    while (*k && !mf_str_is(it.key, *k))
      k++;
    if (!*k) {
      char shown[SHOWN_MAX];
      mf_escape(it.key, shown, sizeof(shown));
      return mf_fail(err, MF_E_INPUT, 0, "%s: unknown member '%s'", path, shown);
    }
  }
  return MF_OK;
}

/* *ret stays NULL when it is absent. */
static enum mf_code get_typed(const struct mf_json_val *v, const char *path, const char *key, enum mf_json_type type,
                              const struct mf_json_val **ret, struct mf_err *err)
{
  static const char *const words[] = {
    [MF_JSON_NULL] = "null",    [MF_JSON_BOOL] = "a boolean", [MF_JSON_NUM] = "a number",
    [MF_JSON_STR] = "a string", [MF_JSON_ARR] = "an array",   [MF_JSON_OBJ] = "an object",
  };
  const struct mf_json_val *member = mf_json_get(v, key);
  if (member && mf_json_type_of(member) != type)
    return mf_fail(err, MF_E_INPUT, 0, "%s.%s: expected %s", path, key, words[type]);
  *ret = member;
  return MF_OK;
}

static enum mf_code get_number(const struct mf_json_val *v, const char *path, const char *key, uint64_t min,
                               uint64_t max, uint64_t *ret, struct mf_err *err)
{
  const struct mf_json_val *member = mf_json_get(v, key);
  uint64_t n = 0;
  if (!member)
    return MF_OK;
  if (!mf_json_u64(member, &n) || n < min || n > max)
    return mf_fail(err, MF_E_INPUT, 0, "%s.%s: expected a whole number from %llu to %llu", path, key,
                   (unsigned long long)min, (unsigned long long)max);
  *ret = n;
  return MF_OK;
}

static enum mf_code get_bool(const struct mf_json_val *v, const char *path, const char *key, bool *ret,
                             struct mf_err *err)
{
  const struct mf_json_val *member = NULL;
  enum mf_code code = get_typed(v, path, key, MF_JSON_BOOL, &member, err);
  if (!code && member)
    *ret = mf_json_bool(member);
  return code;
}

static enum mf_code get_text(const struct mf_json_val *v, const char *path, const char *key, struct mf_str *ret,
                             struct mf_err *err)
{
  const struct mf_json_val *member = NULL;
  enum mf_code code = get_typed(v, path, key, MF_JSON_STR, &member, err);
  if (!code && member)
    *ret = mf_json_str(member);
  return code;
}

/* ---- a round ---- */

static enum mf_code read_match(struct mf_model_round *r, const struct mf_json_val *v, const char *path,
                               struct mf_err *err)
{
  static const char *const known[] = { "model", "contains", NULL };
  const struct mf_json_val *match = mf_json_get(v, "match");
  if (!match)
    return MF_OK;
  mf_auto_free char *inner = mf_xasprintf("%s.match", path);
  enum mf_code code = check_members(match, inner, known, err);
  if (!code)
    code = get_text(match, inner, "model", &r->match_model, err);
  if (!code)
    code = get_text(match, inner, "contains", &r->match_contains, err);
  return code;
}

/* "every 7 bytes" or [3, 10, …]. */
static enum mf_code read_split(struct mf_model_round *r, const struct mf_json_val *v, const char *path,
                               struct mf_err *err)
{
  const struct mf_json_val *split = mf_json_get(v, "split");
  if (!split)
    return MF_OK;
  if (mf_json_type_of(split) == MF_JSON_STR) {
    struct mf_str s = mf_json_str(split);
    const size_t before = strlen("every ");
    const char *space = s.len > before ? memchr(s.ptr + before, ' ', s.len - before) : NULL;
    struct mf_str n = { s.ptr + before, space ? (size_t)(space - s.ptr) - before : 0 };
    struct mf_str unit = { space, space ? s.len - (size_t)(space - s.ptr) : 0 };
    if (!mf_str_starts(s, "every ") || !(mf_str_is(unit, " bytes") || mf_str_is(unit, " byte")) ||
        mf_parse_u64(n, path, 1, FILE_BYTES_MAX, &r->split_every, NULL))
      return mf_fail(err, MF_E_INPUT, 0, "%s.split: expected \"every N bytes\" or an array of offsets", path);
    return MF_OK;
  }
  if (mf_json_type_of(split) != MF_JSON_ARR)
    return mf_fail(err, MF_E_INPUT, 0, "%s.split: expected \"every N bytes\" or an array of offsets", path);
  uint64_t last = 0, n = 0;
  struct mf_json_iter it = mf_json_iter(split);
  for (size_t i = 0; mf_json_next(&it); i++, last = n)
    if (!mf_json_u64(it.val, &n) || n <= last)
      return mf_fail(err, MF_E_INPUT, 0, "%s.split[%zu]: expected a whole number above the one before it", path, i);
  r->split_at = split;
  return MF_OK;
}

static enum mf_code read_fault(struct mf_model_round *r, const struct mf_json_val *v, const char *path,
                               struct mf_err *err)
{
  struct mf_str name = { NULL, 0 };
  enum mf_code code = get_text(v, path, "fault", &name, err);
  if (code || !name.ptr)
    return code;
  for (unsigned i = MF_FAULT_NONE + 1; i < MF_FAULT_N; i++)
    if (mf_str_is(name, fault_names[i])) {
      r->fault = (enum mf_model_fault)i;
      return MF_OK;
    }
  char shown[SHOWN_MAX];
  mf_escape(name, shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "%s.fault: unknown fault '%s'", path, shown);
}

static enum mf_code check_calls(const struct mf_json_val *calls, const char *path, struct mf_err *err)
{
  static const char *const known[] = { "name", "arguments", NULL };
  if (mf_json_len(calls) > MF_SCENARIO_CALLS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "%s.calls: more than %d", path, MF_SCENARIO_CALLS_MAX);
  struct mf_json_iter it = mf_json_iter(calls);
  for (size_t i = 0; mf_json_next(&it); i++) {
    mf_auto_free char *inner = mf_xasprintf("%s.calls[%zu]", path, i);
    enum mf_code code = check_members(it.val, inner, known, err);
    if (code)
      return code;
    if (mf_json_type_of(mf_json_get(it.val, "name")) != MF_JSON_STR)
      return mf_fail(err, MF_E_INPUT, 0, "%s.name: expected a string", inner);
    enum mf_json_type type = mf_json_type_of(mf_json_get(it.val, "arguments"));
    if (type != MF_JSON_OBJ && type != MF_JSON_STR)
      return mf_fail(err, MF_E_INPUT, 0, "%s.arguments: expected an object, or a string that is sent as it is", inner);
  }
  return MF_OK;
}

static enum mf_code check_events(const struct mf_json_val *events, const char *path, struct mf_err *err)
{
  struct mf_json_iter it = mf_json_iter(events);
  for (size_t i = 0; mf_json_next(&it); i++) {
    enum mf_json_type type = mf_json_type_of(it.val);
    if (type != MF_JSON_STR && (type != MF_JSON_OBJ || mf_json_type_of(mf_json_get(it.val, "type")) != MF_JSON_STR))
      return mf_fail(err, MF_E_INPUT, 0, "%s.events[%zu]: expected an object with a type, or a string of raw text",
                     path, i);
  }
  return MF_OK;
}

static enum mf_code check_headers(const struct mf_json_val *headers, const char *path, struct mf_err *err)
{
  struct mf_json_iter it = mf_json_iter(headers);
  while (mf_json_next(&it))
    if (mf_json_type_of(it.val) != MF_JSON_STR)
      return mf_fail(err, MF_E_INPUT, 0, "%s.headers: every value is a string", path);
  if (mf_json_len(headers) > 32)
    return mf_fail(err, MF_E_LIMIT, 0, "%s.headers: more than 32", path);
  return MF_OK;
}

static enum mf_code check_content(const struct mf_model_round *r, const char *path, struct mf_err *err)
{
  bool is_written = r->text || r->calls || r->reasoning;
  if ((r->body != NULL) + (r->events != NULL) + is_written > 1)
    return mf_fail(err, MF_E_INPUT, 0, "%s: body, events, and text with calls exclude each other", path);
  bool says_enough = r->status >= 400 || r->fault == MF_FAULT_REFUSE || r->fault == MF_FAULT_HTML ||
                     r->fault == MF_FAULT_HUGE_LINE || r->fault == MF_FAULT_HANG;
  if (!r->body && !r->events && !is_written && !says_enough)
    return mf_fail(err, MF_E_INPUT, 0, "%s: has neither text nor calls, events or body", path);
  return MF_OK;
}

static enum mf_code read_round(struct mf_model_round *r, const struct mf_json_val *v, const char *path,
                               struct mf_err *err)
{
  static const char *const known[] = { "match",     "status", "headers", "body",     "events", "text",    "calls",
                                       "reasoning", "usage",  "split",   "delay_ms", "fault",  "comment", NULL };
  const struct {
    const char *key;
    enum mf_json_type type;
    const struct mf_json_val **to;
    enum mf_code (*check)(const struct mf_json_val *v, const char *path, struct mf_err *err);
  } members[] = {
    { "headers", MF_JSON_OBJ, &r->headers, check_headers },
    { "events", MF_JSON_ARR, &r->events, check_events },
    { "text", MF_JSON_STR, &r->text, NULL },
    { "reasoning", MF_JSON_STR, &r->reasoning, NULL },
    { "calls", MF_JSON_ARR, &r->calls, check_calls },
    { "usage", MF_JSON_OBJ, &r->usage, NULL },
  };
  uint64_t status = 200;
  enum mf_code code = check_members(v, path, known, err);
  for (size_t i = 0; i < MF_ARRAY_N(members) && !code; i++) {
    code = get_typed(v, path, members[i].key, members[i].type, members[i].to, err);
    if (!code && *members[i].to && members[i].check)
      code = members[i].check(*members[i].to, path, err);
  }
  if (!code)
    code = get_number(v, path, "status", 200, 599, &status, err);
  if (!code)
    code = get_number(v, path, "delay_ms", 0, DELAY_MS_MAX, &r->delay_ms, err);
  if (!code)
    code = read_match(r, v, path, err);
  if (!code)
    code = read_split(r, v, path, err);
  if (!code)
    code = read_fault(r, v, path, err);
  r->status = (int)status;
  r->body = mf_json_get(v, "body");
  return code ? code : check_content(r, path, err);
}

/* ---- scripts ---- */

/* `prefix` is empty or "scenarios.NAME". */
static enum mf_code read_script(struct mf_model_script *s, const struct mf_json_val *v, const char *prefix,
                                struct mf_err *err)
{
  const struct mf_json_val *rounds = mf_json_get(v, "rounds");
  const char *what = *prefix ? prefix : "scenario";
  size_t n = mf_json_len(rounds);
  if (mf_json_type_of(rounds) != MF_JSON_ARR || n == 0 || n > MF_SCENARIO_ROUNDS_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "%s.rounds: expected an array of 1 to %d rounds", what, MF_SCENARIO_ROUNDS_MAX);

  struct mf_str pick = { NULL, 0 };
  enum mf_code code = get_bool(v, what, "loop", &s->loops, err);
  if (!code)
    code = get_text(v, what, "pick", &pick, err);
  if (!code && pick.ptr && !mf_str_is(pick, "order") && !mf_str_is(pick, "turn"))
    code = mf_fail(err, MF_E_INPUT, 0, "%s.pick: expected \"order\" or \"turn\"", what);
  if (code)
    return code;
  s->is_by_turn = mf_str_is(pick, "turn");
  s->rounds = mf_xcalloc(n, sizeof(*s->rounds));
  struct mf_json_iter it = mf_json_iter(rounds);
  while (!code && mf_json_next(&it)) {
    mf_auto_free char *path = mf_xasprintf("%s%srounds[%zu]", prefix, *prefix ? "." : "", s->round_n);
    code = read_round(&s->rounds[s->round_n], it.val, path, err);
    s->round_n++;
  }
  return code;
}

static enum mf_code read_scripts(struct mf_scenario *s, const struct mf_json_val *list, struct mf_err *err)
{
  static const char *const known[] = { "rounds", "loop", "pick", "comment", NULL };
  size_t n = mf_json_len(list);
  if (mf_json_type_of(list) != MF_JSON_OBJ || n == 0 || n > MF_SCENARIO_ROUNDS_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "scenarios: expected an object of 1 to %d scenarios", MF_SCENARIO_ROUNDS_MAX);
  s->scripts = mf_xcalloc(n, sizeof(*s->scripts));
  s->is_named = true;
  struct mf_json_iter it = mf_json_iter(list);
  enum mf_code code = MF_OK;
  while (!code && mf_json_next(&it)) {
    char shown[SHOWN_MAX];
    mf_escape(it.key, shown, sizeof(shown));
    mf_auto_free char *prefix = mf_xasprintf("scenarios.%s", shown);
    struct mf_model_script *script = &s->scripts[s->script_n++];
    script->name = it.key;
    code = check_members(it.val, prefix, known, err);
    if (!code)
      code = read_script(script, it.val, prefix, err);
  }
  return code;
}

static enum mf_code read_paths(struct mf_scenario *s, const struct mf_json_val *root, struct mf_err *err)
{
  const struct mf_json_val *list = NULL;
  enum mf_code code = get_typed(root, "scenario", "paths", MF_JSON_OBJ, &list, err);
  if (code || !list)
    return code;
  size_t n = mf_json_len(list);
  if (n > MF_SCENARIO_ROUNDS_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "paths: more than %d", MF_SCENARIO_ROUNDS_MAX);
  s->paths = mf_xcalloc(n ? n : 1, sizeof(*s->paths));
  struct mf_json_iter it = mf_json_iter(list);
  while (!code && mf_json_next(&it)) {
    char shown[SHOWN_MAX];
    mf_escape(it.key, shown, sizeof(shown));
    mf_auto_free char *where = mf_xasprintf("paths.%s", shown);
    struct mf_model_path *p = &s->paths[s->path_n++];
    p->path = it.key;
    code = mf_str_starts(it.key, "/") ? read_round(&p->round, it.val, where, err)
                                      : mf_fail(err, MF_E_INPUT, 0, "%s: a path begins with '/'", where);
  }
  return code;
}

static enum mf_code read_root(struct mf_scenario *s, struct mf_err *err)
{
  static const char *const known_one[] = { "name", "rounds", "loop", "pick", "paths", "comment", NULL };
  static const char *const known_many[] = { "scenarios", "paths", "comment", NULL };
  const struct mf_json_val *root = mf_json_root(s->doc), *many = mf_json_get(root, "scenarios");
  enum mf_code code = check_members(root, "scenario", many ? known_many : known_one, err);
  if (!code)
    code = read_paths(s, root, err);
  if (code)
    return code;
  if (many)
    return read_scripts(s, many, err);
  s->scripts = mf_xcalloc(1, sizeof(*s->scripts));
  s->script_n = 1;
  code = get_text(root, "scenario", "name", &s->scripts[0].name, err);
  return code ? code : read_script(&s->scripts[0], root, "", err);
}

enum mf_code mf_scenario_parse(struct mf_str text, struct mf_scenario **ret, struct mf_err *err)
{
  const struct mf_json_limits limits = { .bytes_max = FILE_BYTES_MAX, .depth_max = DEPTH_MAX };
  struct mf_scenario *s = mf_xcalloc(1, sizeof(*s));
  enum mf_code code = mf_json_parse(text, &limits, &s->doc, err);
  if (!code)
    code = read_root(s, err);
  if (code) {
    mf_scenario_free(s);
    return code;
  }
  *ret = s;
  return MF_OK;
}

void mf_scenario_free(struct mf_scenario *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < s->script_n; i++)
    free(s->scripts[i].rounds);
  free(s->scripts);
  free(s->paths);
  mf_json_free(s->doc);
  free(s);
}

const struct mf_model_script *mf_scenario_find(const struct mf_scenario *s, struct mf_str model)
{
  if (!s->is_named)
    return &s->scripts[0];
  for (size_t i = 0; i < s->script_n; i++)
    if (mf_str_eq(s->scripts[i].name, model))
      return &s->scripts[i];
  return NULL;
}

const struct mf_model_round *mf_scenario_path(const struct mf_scenario *s, struct mf_str path)
{
  for (size_t i = 0; i < s->path_n; i++)
    if (mf_str_eq(s->paths[i].path, path))
      return &s->paths[i].round;
  return NULL;
}
