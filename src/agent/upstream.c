/* The body that is POSTed upstream. Thread: any. */
#include "fields.h"
#include "turn-internal.h"

#include "base/banned.h"

static void write_input(const struct turn *t, struct mf_json_writer *w)
{
  mf_jw_key(w, "input");
  mf_jw_arr(w);
  if (t->input.len > 0)
    mf_jw_raw(w, mf_buf_str(&t->input));
  mf_jw_arr_end(w);
}

/* "tools" and its array, or nothing: the array is only there when it has something in it. */
static void write_tools(const struct turn *t, bool without_gateway, struct mf_json_writer *w)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, w->out->max);
  struct mf_json_writer tools;
  mf_jw_init(&tools, &text, false);
  bool has_any = mf_toolset_write_upstream(t->toolset, without_gateway, &tools);
  if (tools.code && !w->code)
    w->code = tools.code;
  if (!has_any)
    return;
  mf_jw_key(w, "tools");
  mf_jw_raw(w, mf_buf_str(&text));
}

static void write_choice(const struct turn *t, struct mf_json_writer *w)
{
  mf_auto_buf struct mf_buf text;
  mf_buf_init(&text, w->out->max);
  struct mf_json_writer choice;
  mf_jw_init(&choice, &text, false);
  bool is_there = mf_toolset_write_choice(t->toolset, t->choice, &choice);
  if (choice.code && !w->code)
    w->code = choice.code;
  if (!is_there)
    return;
  mf_jw_key(w, "tool_choice");
  mf_jw_raw(w, mf_buf_str(&text));
}

/* What the client left out, or said null to, is left out: a server's own default is better than a null that it may not
 * know. */
static void write_passed(const struct mf_json_val *root, struct mf_json_writer *w)
{
  const char *key;
  for (size_t i = 0; (key = request_passed_field(i)); i++) {
    const struct mf_json_val *v = mf_json_get(root, key);
    if (mf_json_type_of(v) == MF_JSON_NULL)
      continue;
    mf_jw_key(w, key);
    mf_jw_val(w, v);
  }
}

enum mf_code turn_write_upstream(const struct turn *t, unsigned round, bool without_gateway, struct mf_buf *out,
                                 struct mf_err *err)
{
  struct mf_json_writer w;
  mf_jw_init(&w, out, false);
  mf_jw_obj(&w);
  mf_jw_kstr(&w, "model", t->r->model);
  write_input(t, &w);
  mf_jw_kbool(&w, "stream", t->r->is_stream);
  write_tools(t, without_gateway, &w);
  /* A choice is for the first answer: the same function again and again would never end. */
  if (round == 0)
    write_choice(t, &w);
  write_passed(mf_json_root(t->r->doc), &w);
  mf_jw_obj_end(&w);
  return w.code ? mf_fail(err, w.code, 0, "the request for the model exceeded %zu bytes", out->max) : MF_OK;
}
