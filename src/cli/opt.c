/* The option parser. One pass over the words, no allocation, no global state. */
#include "opt.h"

#include <string.h>

#include "base/near.h"
#include "base/path.h"

#include "base/banned.h"

#define WORD_MAX 48 /* longer words are nobody's typing error */

void mf_opt_init(struct mf_opt_parser *p, const struct mf_opt *table, int argc, char **argv)
{
  *p = (struct mf_opt_parser){ .table = table, .argv = argv, .argc = argc };
}

static const char *next_visible_name(void *user)
{
  const struct mf_opt **at = user;
  while ((*at)->name && !(*at)->help)
    (*at)++;
  return (*at)->name ? (*at)++->name : NULL;
}

static enum mf_code unknown_long(const struct mf_opt_parser *p, const char *name, size_t n, struct mf_err *err)
{
  char word[WORD_MAX + 1], shown[120];
  const char *near = NULL;

  mf_escape((struct mf_str){ name, n }, shown, sizeof(shown));
  if (n <= WORD_MAX) {
    memcpy(word, name, n);
    word[n] = 0;
    const struct mf_opt *at = p->table;
    near = mf_nearest(word, next_visible_name, &at);
  }
  if (near)
    return mf_fail(err, MF_E_INPUT, 0, "unknown option '--%s': did you mean --%s?", shown, near);
  return mf_fail(err, MF_E_INPUT, 0, "unknown option '--%s': see --help", shown);
}

static enum mf_code check_choice(const struct mf_opt *o, const char *value, struct mf_err *err)
{
  if (!o->choices || o->choices[0] == '@')
    return MF_OK;

  size_t n = strlen(value);
  for (const char *c = o->choices; *c;) {
    size_t len = strcspn(c, " ");
    if (len == n && memcmp(c, value, n) == 0)
      return MF_OK;
    c += len + (c[len] == ' ');
  }
  char shown[120];
  mf_escape(mf_str_of(value), shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "--%s: expected one of: %s; got '%s'", o->name, o->choices, shown);
}

/* The value of an option that needs one: the rest of its word, or the next word whatever it looks like. */
static enum mf_code take_value(struct mf_opt_parser *p, const struct mf_opt *o, const char *here,
                               const char **ret_value, struct mf_err *err)
{
  const char *value = here;
  if (!value) {
    if (p->i >= p->argc)
      return mf_fail(err, MF_E_INPUT, 0, "--%s: needs a value: %s", o->name, o->arg);
    value = p->argv[p->i++];
  }
  enum mf_code code = check_choice(o, value, err);
  if (code == MF_OK)
    *ret_value = value;
  return code;
}

static enum mf_code next_short(struct mf_opt_parser *p, const char *letters, const struct mf_opt **ret_opt,
                               const char **ret_value, struct mf_err *err)
{
  for (const struct mf_opt *o = p->table; o->name; o++) {
    if (o->letter != letters[0])
      continue;
    *ret_opt = o;
    p->joined = NULL;
    if (mf_opt_takes_word(o))
      return take_value(p, o, letters[1] ? letters + 1 : NULL, ret_value, err);
    p->joined = letters[1] ? letters + 1 : NULL;
    return MF_OK;
  }
  char shown[24];
  size_t n = 1; /* the whole character when it has several bytes */
  while (((unsigned char)letters[n] & 0xc0) == 0x80)
    n++;
  mf_escape((struct mf_str){ letters, n }, shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "unknown option '-%s': see --help", shown);
}

enum mf_code mf_opt_next(struct mf_opt_parser *p, const struct mf_opt **ret_opt, const char **ret_value,
                         struct mf_err *err)
{
  *ret_opt = NULL;
  *ret_value = NULL;
  if (p->joined)
    return next_short(p, p->joined, ret_opt, ret_value, err);
  if (p->i >= p->argc)
    return MF_OK;

  const char *word = p->argv[p->i++];
  if (p->ended || word[0] != '-' || word[1] == 0) { /* "-" alone is a word: standard input */
    *ret_value = word;
    return MF_OK;
  }
  if (word[1] != '-')
    return next_short(p, word + 1, ret_opt, ret_value, err);
  if (word[2] == 0) {
    p->ended = true;
    return mf_opt_next(p, ret_opt, ret_value, err);
  }

  const char *name = word + 2, *eq = strchr(name, '=');
  size_t n = eq ? (size_t)(eq - name) : strlen(name);
  for (const struct mf_opt *o = p->table; o->name; o++) {
    if (strlen(o->name) != n || memcmp(o->name, name, n) != 0)
      continue;
    if (!o->arg && eq)
      return mf_fail(err, MF_E_INPUT, 0, "--%s: takes no value", o->name);
    *ret_opt = o;
    return eq || mf_opt_takes_word(o) ? take_value(p, o, eq ? eq + 1 : NULL, ret_value, err) : MF_OK;
  }
  return unknown_long(p, name, n, err);
}
