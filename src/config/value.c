/* One value: text into its field, and back into text. Thread: any. */
#include "config-internal.h"

#include <ctype.h>
#include <stdio.h>

#include "base/num.h"
#include "base/path.h"

#include "base/banned.h"

static void *field(struct mf_config *c, enum mf_config_id id)
{
  return (char *)c + mf_config_keys[id].offset;
}

static void wipe(char *text)
{
  if (text)
    explicit_bzero(text, strlen(text));
  free(text);
}

void config_value_free(struct mf_config *c, enum mf_config_id id)
{
  if (mf_config_keys[id].type == MF_KEY_TEXT) {
    char **text = field(c, id);
    wipe(*text);
    *text = NULL;
  } else if (mf_config_keys[id].type == MF_KEY_LIST) {
    struct mf_config_list *l = field(c, id);
    for (size_t i = 0; i < l->n; i++)
      wipe(l->items[i]);
    free(l->items);
    *l = (struct mf_config_list){ 0 };
  }
}

/* ---- text into a value ---- */

static struct mf_str trim(struct mf_str s)
{
  while (s.len && isspace((unsigned char)s.ptr[0])) {
    s.ptr++;
    s.len--;
  }
  while (s.len && isspace((unsigned char)s.ptr[s.len - 1]))
    s.len--;
  return s;
}

static bool is_word(struct mf_str s, const char *word)
{
  return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* Fails with what was expected and, unless it is a secret, what was there. */
static enum mf_code fail_value(enum mf_config_id id, const char *text, const char *where, const char *expected,
                               struct mf_err *err)
{
  char shown[80];
  if (config_is_secret(id))
    return mf_fail(err, MF_E_INPUT, 0, "%s: expected %s", where, expected);
  mf_escape(mf_str_of(text), shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "%s: expected %s, got '%s'", where, expected, shown);
}

static enum mf_code set_bool(struct mf_config *c, enum mf_config_id id, const char *text, const char *where,
                             struct mf_err *err)
{
  bool *value = field(c, id);
  struct mf_str s = trim(mf_str_of(text));
  bool yes = is_word(s, "true") || is_word(s, "1");
  if (!yes && !is_word(s, "false") && !is_word(s, "0"))
    return fail_value(id, text, where, "true, false, 1 or 0", err);
  *value = yes;
  return MF_OK;
}

static enum mf_code set_number(struct mf_config *c, enum mf_config_id id, const char *text, const char *where,
                               struct mf_err *err)
{
  const struct mf_config_key *k = &mf_config_keys[id];
  char expected[80];
  uint64_t *value = field(c, id);
  if (mf_parse_u64(trim(mf_str_of(text)), "", k->min, k->max, value, NULL) == MF_OK)
    return MF_OK;
  if (k->max == UINT64_MAX)
    snprintf(expected, sizeof(expected), "a whole number of at least %llu", (unsigned long long)k->min);
  else
    snprintf(expected, sizeof(expected), "a whole number from %llu to %llu", (unsigned long long)k->min,
             (unsigned long long)k->max);
  return fail_value(id, text, where, expected, err);
}

static bool is_choice(const char *choices, const char *text)
{
  size_t n = strlen(text);
  for (const char *at = choices; *at; at += strspn(at, " ")) {
    size_t len = strcspn(at, " ");
    if (len == n && memcmp(at, text, n) == 0)
      return true;
    at += len;
  }
  return false;
}

static enum mf_code set_text(struct mf_config *c, enum mf_config_id id, const char *text, const char *where,
                             struct mf_err *err)
{
  const char *choices = mf_config_keys[id].choices;
  char expected[120];
  char **value = field(c, id);

  if (strlen(text) > CONFIG_TEXT_BYTES_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "%s: is longer than %u bytes", where, CONFIG_TEXT_BYTES_MAX);
  if (choices && choices[0] != '@' && !is_choice(choices, text)) {
    snprintf(expected, sizeof(expected), "%s%s", strchr(choices, ' ') ? "one of: " : "", choices);
    return fail_value(id, text, where, expected, err);
  }
  config_value_free(c, id);
  *value = mf_xstrdup(text);
  return MF_OK;
}

void config_list_add(struct mf_config_list *l, struct mf_str item)
{
  item = trim(item);
  if (item.len == 0)
    return;
  l->items = mf_xrealloc(l->items, (l->n + 1) * sizeof(*l->items));
  l->items[l->n++] = mf_xasprintf("%.*s", MF_STR_ARG(item));
}

void config_set_list(struct mf_config *c, enum mf_config_id id, const char *const *items, size_t n)
{
  config_value_free(c, id);
  for (size_t i = 0; i < n; i++)
    config_list_add(field(c, id), mf_str_of(items[i]));
}

enum mf_code config_set_text(struct mf_config *c, enum mf_config_id id, const char *text, const char *where,
                             struct mf_err *err)
{
  switch (mf_config_keys[id].type) {
  case MF_KEY_BOOL:
    return set_bool(c, id, text, where, err);
  case MF_KEY_NUMBER:
    return set_number(c, id, text, where, err);
  case MF_KEY_TEXT:
    return set_text(c, id, text, where, err);
  case MF_KEY_LIST:
    config_value_free(c, id);
    for (const char *at = text; *at; at += *at == ',') {
      size_t n = strcspn(at, ",");
      config_list_add(field(c, id), (struct mf_str){ at, n });
      at += n;
    }
    return MF_OK;
  case MF_KEY_LATER:
    break;
  }
  return MF_OK;
}

/* ---- a value into text ---- */

static void put(struct mf_buf *out, const char *text)
{
  if (mf_buf_append_str(out, mf_str_of(text)) != MF_OK)
    mf_buf_truncate(out, 0); /* the caller's buffer is too small for one value: show nothing rather than a part */
}

void mf_config_show(const struct mf_config *c, enum mf_config_id id, struct mf_buf *out)
{
  const void *at = (const char *)c + mf_config_keys[id].offset;
  const struct mf_config_list *l = at;
  char number[24];

  switch (mf_config_keys[id].type) {
  case MF_KEY_BOOL:
    put(out, *(const bool *)at ? "true" : "false");
    break;
  case MF_KEY_NUMBER:
    snprintf(number, sizeof(number), "%llu", *(const unsigned long long *)at);
    put(out, number);
    break;
  case MF_KEY_TEXT:
    if (*(char *const *)at)
      put(out, config_is_secret(id) ? "(set)" : *(char *const *)at);
    break;
  case MF_KEY_LIST:
    for (size_t i = 0; i < l->n && !config_is_secret(id); i++) {
      put(out, i ? "," : "");
      put(out, l->items[i]);
    }
    if (l->n && config_is_secret(id))
      put(out, "(set)");
    break;
  case MF_KEY_LATER:
    break;
  }
}

void mf_config_origin(const struct mf_config *c, enum mf_config_id id, char *ret, size_t n)
{
  switch (c->from[id]) {
  case MF_FROM_DEFAULT:
    snprintf(ret, n, "default");
    break;
  case MF_FROM_FILE:
    snprintf(ret, n, "%s:%u", c->file_path, c->line[id]);
    break;
  case MF_FROM_ENV:
    snprintf(ret, n, "environment %s", mf_config_keys[id].env);
    break;
  case MF_FROM_FLAG:
    snprintf(ret, n, "option --%s", mf_config_keys[id].flag);
    break;
  }
}
