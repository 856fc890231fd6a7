#include "set.h"

#include "base/banned.h"

char *quoted(const char *text)
{
  char *copy = mf_xstrdup(text);
  for (char *p = copy; *p; p++)
    if (*p == '\'')
      *p = '"';
  return copy;
}

struct mf_json *parsed(const char *text)
{
  const struct mf_json_limits limits = { 1u << 22, 64 };
  struct mf_err err = { 0 };
  struct mf_json *doc = NULL;
  mf_auto_free char *json = quoted(text);
  assert_ok(mf_json_parse(mf_str_of(json), &limits, &doc, &err), &err);
  return doc;
}

void set_env(struct set *s)
{
  *s = (struct set){ 0 };
  mf_interpreter_config_default(&s->interpreter);
  s->interpreter.enabled = true;
  /* Only looked at for being there. */
  s->env = (struct mf_tools_env){ .executor = (struct mf_executor *)s, .interpreter_built = true };
}

void set_declare(struct set *s, const char *tools)
{
  mf_auto_json struct mf_json *doc = tools ? parsed(tools) : NULL;
  s->env.interpreter = &s->interpreter;
  if (!mf_toolset_new(&s->env, doc ? mf_json_root(doc) : NULL, &s->tools, &s->error))
    assert_null(s->tools);
}

void set_done(struct set *s)
{
  mf_toolset_free(s->tools);
  s->tools = NULL;
}

static enum mf_code line(void *user, const char *type, int64_t output_index, struct mf_str members, struct mf_err *err)
{
  struct mf_buf *lines = user;
  assert_true(members.len > 0 && members.ptr[0] == ',');
  return mf_buf_printf(lines, "%s %d {%.*s}\n", type, (int)output_index, (int)members.len - 1, members.ptr + 1);
}

struct mf_event_sink lines_sink(struct mf_buf *lines)
{
  return (struct mf_event_sink){ lines, line };
}
