/* config.toml, and the file of API keys. Thread: the one that starts the program. */
#include "config-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "base/path.h"
#include "toml.h"

#include "base/banned.h"

struct reading {
  struct mf_config *c;
  bool secrets;
  enum mf_code code; /* the first error; nothing is looked at after it */
  struct mf_err *err;
};

static void fail_unknown(struct reading *r, const struct mf_toml_node *node)
{
  char shown[120];
  mf_escape(mf_str_of(node->path), shown, sizeof(shown));
  const char *near = config_nearest(node->path);
  r->code = mf_fail(r->err, MF_E_INPUT, 0, "%s:%u: unknown key %s%s%s%s", r->c->file_path, node->line, shown,
                    near ? ": did you mean " : ": 'mayfly config --reference' lists every key", near ? near : "",
                    near ? "?" : "");
}

/* Turns the node into the text that the environment would have given. False: it is of the wrong kind. */
static bool take_value(struct reading *r, enum mf_config_id id, const struct mf_toml_node *node, const char *where)
{
  char number[24];
  const char *text = NULL;
  switch (mf_config_keys[id].type) {
  case MF_KEY_BOOL:
    if (node->kind == MF_TOML_BOOL)
      text = node->boolean ? "true" : "false";
    break;
  case MF_KEY_NUMBER:
    if (node->kind == MF_TOML_INTEGER) {
      snprintf(number, sizeof(number), "%lld", (long long)node->integer);
      text = number;
    }
    break;
  case MF_KEY_TEXT:
    text = node->text;
    break;
  case MF_KEY_LIST:
    if (node->items)
      config_set_list(r->c, id, node->items, node->item_n);
    return node->items != NULL;
  case MF_KEY_LATER:
    return true;
  }
  if (text)
    r->code = config_set_text(r->c, id, text, where, r->err);
  return text != NULL;
}

static const char *const kind_wanted[] = {
  [MF_KEY_BOOL] = "true or false",       [MF_KEY_NUMBER] = "a whole number", [MF_KEY_TEXT] = "a string",
  [MF_KEY_LIST] = "an array of strings", [MF_KEY_LATER] = "anything",
};

static bool on_node(void *user, const struct mf_toml_node *node)
{
  struct reading *r = user;
  struct mf_config *c = r->c;
  if (r->code)
    return false;
  enum mf_config_id id = config_find(node->path);
  if (id == MF_CONFIG_N) {
    if (node->kind == MF_TOML_TABLE && config_is_table(node->path))
      return true;
    fail_unknown(r, node);
    return false;
  }
  /* What the environment or the command line said is not looked at here. */
  bool is_mine = config_is_secret(id) == r->secrets;
  if (!is_mine || c->from[id] != MF_FROM_DEFAULT)
    return false;
  char where[3300];
  snprintf(where, sizeof(where), "%s:%u: %s", c->file_path, node->line, node->path);
  bool is_right = take_value(r, id, node, where);
  if (!is_right && !r->code)
    r->code = mf_fail(r->err, MF_E_INPUT, 0, "%s: expected %s, got %s", where, kind_wanted[mf_config_keys[id].type],
                      node->kind_name);
  c->from[id] = MF_FROM_FILE;
  c->line[id] = node->line;
  return false;
}

enum mf_code config_read_file(struct mf_config *c, bool secrets, struct mf_err *err)
{
  char *text = NULL;
  size_t n = 0;
  enum mf_code code = mf_read_file(AT_FDCWD, c->file_path, CONFIG_FILE_BYTES_MAX, &text, &n, err);
  c->has_file = code == MF_OK;
  /* Something on the way that is no folder is no file either. */
  if (code == MF_E_NOT_FOUND || (code == MF_E_SYS && err && err->sys == ENOTDIR))
    return MF_OK;
  if (code)
    return mf_wrap(err, code, "%s", c->file_path);

  struct reading r = { .c = c, .secrets = secrets, .err = err };
  unsigned line = 0;
  char why[200];
  if (!mf_toml_read(text, n, on_node, &r, &line, why, sizeof(why)))
    r.code = mf_fail(err, MF_E_INPUT, 0, "%s:%u: %s", c->file_path, line, why);
  explicit_bzero(text, n);
  free(text);
  return r.code;
}

enum mf_code config_read_api_keys(struct mf_config *c, struct mf_err *err)
{
  char *text = NULL, origin[3300];
  size_t n = 0;
  enum mf_code code = mf_read_file(AT_FDCWD, c->api_keys_file, CONFIG_FILE_BYTES_MAX, &text, &n, err);
  if (code) {
    mf_config_origin(c, MF_CONFIG_API_KEYS_FILE, origin, sizeof(origin));
    return mf_wrap(err, code, "server.api_keys_file (%s)", origin);
  }
  size_t before = c->api_keys.n;
  for (const char *at = text; at < text + n;) {
    size_t len = strcspn(at, "\n");
    if (at[0] != '#')
      config_list_add(&c->api_keys, (struct mf_str){ at, len });
    at += len + 1;
  }
  explicit_bzero(text, n);
  free(text);
  if (c->api_keys.n == before)
    return mf_fail(err, MF_E_INPUT, 0, "server.api_keys_file: there is no key in %s", c->api_keys_file);
  return MF_OK;
}
