/* `mayfly key`: API keys in the database of `serve`, whether that runs or not. */
#include <stdio.h>
#include <unistd.h>

#include "base/key.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "json/json.h"
#include "key.h"
#include "settings.h"
#include "stage.h"
#include "storage/tasks.h"
#include "words.h"

#include "base/banned.h"

enum { OPT_NAME = 2, OPT_JSON, OPT_DB };
enum { NAME_BYTES_MAX = 100, TEXT_BYTES_MAX = 16 << 20 };

static const struct mf_opt key_opts[] = {
  { OPT_NAME, 'n', "name", "NAME", "what to call a new key", NULL },
  { OPT_JSON, 'j', "json", NULL, "print one JSON object", NULL },
  { OPT_DB, 0, "db-url", "URL", "the database (default: that of serve: DATABASE_URL, config.toml, the home folder)",
    NULL },
  MF_OPT_HELP_ROW,
  MF_OPT_END,
};

struct key_args {
  struct mf_config_input in;
  const char *action, *id, *name;
  bool json;
};

/* One action on the database, in a fiber. */
struct keyring {
  const struct key_args *args; /* NULL: only looks whether there are any */
  bool has_any;
  struct mf_stage stage;
  struct mf_pool *pool;
  struct mf_storage *storage;
  struct mf_fiber *fiber;
  struct mf_buf out; /* for standard output */
  enum mf_code code;
  struct mf_err err;
};

/* ---- the words on the command line ---- */

static enum mf_code check_name(const char *name, struct mf_err *err)
{
  struct mf_str s = mf_str_of(name);
  bool is_text = s.len <= NAME_BYTES_MAX && mf_utf8_is_valid(s);
  for (size_t i = 0; is_text && i < s.len; i++)
    is_text = (unsigned char)name[i] >= 0x20 && name[i] != 0x7f;
  return is_text ? MF_OK
                 : mf_fail(err, MF_E_INPUT, 0, "--name: at most %d bytes of UTF-8 without control characters",
                           NAME_BYTES_MAX);
}

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct key_args *a = args;
  switch (o->id) {
  case OPT_NAME:
    a->name = value;
    return check_name(value, err);
  case OPT_JSON:
    a->json = true;
    return MF_OK;
  case OPT_DB:
    a->in.flags[MF_CONFIG_DATABASE_URL] = value;
    return MF_OK;
  default:
    return mf_fail(err, MF_E_INTERNAL, 0, "option --%s has no meaning", o->name);
  }
}

static enum mf_code take_word(void *args, const char *word, bool ended, struct mf_err *err)
{
  struct key_args *a = args;
  if (!a->action)
    a->action = word;
  else if (!a->id && strcmp(a->action, "revoke") == 0)
    a->id = word;
  else
    return mf_fail(err, MF_E_INPUT, 0, "key %.20s: one word too many", a->action);
  return MF_OK;
}

static enum mf_code check(const void *args, struct mf_err *err)
{
  const struct key_args *a = args;
  bool creates = a->action && strcmp(a->action, "create") == 0, revokes = a->action && strcmp(a->action, "revoke") == 0;
  if (!creates && !revokes && (!a->action || strcmp(a->action, "list") != 0))
    return mf_fail(err, MF_E_INPUT, 0, "key: say what to do: create, list or revoke");
  if (a->name && !creates)
    return mf_fail(err, MF_E_INPUT, 0, "key %s: takes no --name", a->action);
  if (!revokes)
    return MF_OK;
  if (!a->id)
    return mf_fail(err, MF_E_INPUT, 0, "key revoke: needs the id of a key ('mayfly key list')");
  struct mf_key key;
  if (mf_key_parse(mf_str_of(a->id), &key)) /* others can read it there */
    return mf_fail(err, MF_E_INPUT, 0, "key revoke: give the id, %s, and never the key itself on a command line",
                   key.id);
  if (!mf_key_is_id(mf_str_of(a->id)))
    return mf_fail(err, MF_E_INPUT, 0, "key revoke: that is no id of a key ('mayfly key list')");
  return MF_OK;
}

/* ---- the actions ---- */

static void write_time(struct mf_json_writer *w, const char *name, uint64_t ms)
{
  char text[32];
  mf_wall_format(ms, text);
  mf_jw_kstrz(w, name, ms ? text : NULL);
}

static void write_key(struct mf_json_writer *w, const struct mf_store_key *k, const char *text)
{
  mf_jw_obj(w);
  mf_jw_kstr(w, "id", k->id);
  mf_jw_kstr(w, "name", k->name);
  if (text)
    mf_jw_kstrz(w, "key", text);
  write_time(w, "createdAt", k->created_ms);
  write_time(w, "revokedAt", k->revoked_ms);
  mf_jw_obj_end(w);
}

static enum mf_code create_key(struct keyring *r)
{
  char text[MF_KEY_N];
  struct mf_key key;
  mf_key_new(text, &key);
  const struct mf_store_key stored = { .id = mf_str_of(key.id),
                                       .name = mf_str_of(r->args->name ? r->args->name : ""),
                                       .sha256 = mf_str_of(key.sha256),
                                       .created_ms = mf_wall_ms() };
  enum mf_code code = mf_storage_put_key(r->storage, r->fiber, &stored, &r->err);
  if (!code && r->args->json) {
    struct mf_json_writer w;
    mf_jw_init(&w, &r->out, false);
    write_key(&w, &stored, text);
    mf_put(&r->out, "\n");
  } else if (!code) {
    mf_put(&r->out, "%s\n", text);
    mf_say("%s: the key is shown this once; send it as 'Authorization: Bearer KEY', or set MAYFLY_API_KEY", key.id);
  }
  explicit_bzero(text, sizeof(text));
  return code;
}

static void put_line(struct mf_buf *out, const struct mf_store_key *k)
{
  char name[4 * NAME_BYTES_MAX + 1], created[32], revoked[32] = "no";
  mf_escape(k->name, name, sizeof(name));
  mf_wall_format(k->created_ms, created);
  if (k->revoked_ms)
    mf_wall_format(k->revoked_ms, revoked);
  mf_put(out, "%-*.*s  %s  %-24s  %s\n", MF_KEY_ID_N - 1, MF_STR_ARG(k->id), created, revoked, name);
}

static enum mf_code list_keys(struct keyring *r)
{
  struct mf_stored_keys *keys = NULL;
  struct mf_json_writer w;
  enum mf_code code = mf_storage_list_keys(r->storage, r->fiber, &keys, &r->err);
  if (code)
    return code;
  mf_jw_init(&w, &r->out, false);
  if (r->args->json) {
    mf_jw_obj(&w);
    mf_jw_kstrz(&w, "object", "list");
    mf_jw_key(&w, "data");
    mf_jw_arr(&w);
  } else if (mf_stored_keys_n(keys) > 0) {
    mf_put(&r->out, "%-*s  %-24s  %-24s  %s\n", MF_KEY_ID_N - 1, "ID", "CREATED", "REVOKED", "NAME");
  }
  for (size_t i = 0; i < mf_stored_keys_n(keys); i++) {
    if (r->args->json)
      write_key(&w, mf_stored_key(keys, i), NULL);
    else
      put_line(&r->out, mf_stored_key(keys, i));
  }
  mf_stored_keys_free(keys);
  if (!r->args->json)
    return MF_OK;
  mf_jw_arr_end(&w);
  mf_jw_obj_end(&w);
  mf_put(&r->out, "\n");
  return w.code ? mf_fail(&r->err, w.code, 0, "too many keys for one list") : MF_OK;
}

static enum mf_code revoke_key(struct keyring *r)
{
  enum mf_code code = mf_storage_revoke_key(r->storage, r->fiber, mf_str_of(r->args->id), mf_wall_ms(), &r->err);
  if (code == MF_E_NOT_FOUND)
    return mf_fail(&r->err, code, 0, "key revoke: there is no %s here ('mayfly key list')", r->args->id);
  if (code)
    return code;
  if (r->args->json)
    mf_put(&r->out, "{\"id\":\"%s\",\"revoked\":true}\n", r->args->id);
  else
    mf_say("%s is revoked: a server that runs refuses it from now on, within a second", r->args->id);
  return MF_OK;
}

static enum mf_code look(struct keyring *r)
{
  struct mf_stored_keys *none = NULL;
  enum mf_code code = mf_storage_find_key(r->storage, r->fiber, MF_STR(""), &none, &r->has_any, &r->err);
  mf_stored_keys_free(none);
  return code;
}

static void act(void *user)
{
  struct keyring *r = user;
  const char *action = r->args ? r->args->action : "";
  if (strcmp(action, "create") == 0)
    r->code = create_key(r);
  else if (strcmp(action, "list") == 0)
    r->code = list_keys(r);
  else
    r->code = r->args ? revoke_key(r) : look(r);
  mf_fiber_detach(r->fiber);
  mf_loop_stop(r->stage.loop);
}

/* ---- the database ---- */

static bool is_memory(const char *url)
{
  return strstr(url, ":memory:") != NULL;
}

static enum mf_code open_database(struct keyring *r, const struct mf_config *c, struct mf_err *err)
{
  if (is_memory(c->database_url))
    return mf_fail(err, MF_E_INPUT, 0,
                   "key: the database is in memory (sqlite::memory:) and keeps no keys: MAYFLY_API_KEYS can name some");
  enum mf_code code = mf_stage_init(&r->stage, NULL, NULL, err);
  if (!code)
    code = mf_pool_new(r->stage.loop, 1, 4, &r->pool, err);
  if (!code && c->from[MF_CONFIG_DATABASE_URL] == MF_FROM_DEFAULT)
    code = mf_config_make_home(c, err);
  if (!code)
    code = mf_storage_open(r->stage.loop, r->pool, c->database_url, &r->storage, err);
  if (!code) /* what was said to be created or revoked stays so, whatever happens to the power */
    code = mf_storage_sync_every_commit(r->storage, err);
  return code;
}

static enum mf_code use_database(struct keyring *r, const struct mf_config *c, struct mf_err *err)
{
  enum mf_code code = open_database(r, c, err);
  if (!code)
    code = mf_fiber_start(r->stage.loop, act, r, 0, &r->fiber, err);
  if (!code)
    code = mf_loop_run(r->stage.loop, err);
  mf_storage_close(r->storage);
  mf_pool_free(r->pool);
  mf_stage_done(&r->stage, false);
  if (!code && r->code)
    *err = r->err;
  return code ? code : r->code;
}

bool mf_key_is_any_stored(const struct mf_config *c)
{
  struct keyring r = { .args = NULL };
  mf_auto_free char *own = mf_xasprintf("%s/mayfly.db", c->home);
  bool is_own = c->from[MF_CONFIG_DATABASE_URL] == MF_FROM_DEFAULT;
  if ((is_own && access(own, F_OK) < 0) || use_database(&r, c, &(struct mf_err){ 0 }))
    return false;
  return r.has_any;
}

static int run_key(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_word, .check = check };
  struct key_args a = { .json = false };
  struct keyring r = { .args = &a };
  struct mf_config *c = NULL;
  struct mf_err err = { 0 };
  int exit;
  mf_settings_init(&a.in);
  if (!mf_words_read(self, &words, &a, argc, argv, &exit))
    return exit;

  mf_buf_init(&r.out, TEXT_BYTES_MAX);
  enum mf_code code = mf_config_load(&a.in, &c, &err);
  if (!code)
    code = use_database(&r, c, &err);
  exit = 1;
  if (code)
    mf_say("%s", err.msg);
  else
    exit = mf_print_exit(mf_buf_str(&r.out));
  explicit_bzero(r.out.ptr, r.out.len);
  mf_buf_done(&r.out);
  mf_config_free(c);
  return exit;
}

const struct mf_command mf_command_key = {
  .name = "key",
  .usage = "create [--name NAME] | list | revoke ID",
  .summary = "make, list and revoke API keys of serve",
  .about =
      "Keys of clients, in the database of `mayfly serve`. As soon as there is one, revoked or not, every request\n"
      "to /v1 needs a valid key as 'Authorization: Bearer KEY', and each key sees its own tasks only; commands\n"
      "of the same user on the server's own Unix socket need none. A server that runs takes note within a\n"
      "second. `create` prints the new key, once: only a digest of it is stored. Keys in MAYFLY_API_KEYS or\n"
      "config.toml are not listed here.",
  .examples = "  KEY=$(mayfly key create --name ci)\n  mayfly key list --json\n  mayfly key revoke "
              "key_0123456789abcdefghijklmn",
  .opts = key_opts,
  .words = "create list revoke",
  .run = run_key,
};
