/* Feeding events to an accumulator, and looking at what it found. */
#include "stream.h"

#include <fcntl.h>

#include "base/fd.h"
#include "base/banned.h"

static char *with_quotes(const char *json)
{
  char *text = mf_xstrdup(json);
  for (char *c = text; *c; c++)
    if (*c == '\'')
      *c = '"';
  return text;
}

enum mf_code try_feed(struct mf_acc *a, const char *json, struct mf_acc_event *ret, struct mf_err *err)
{
  mf_auto_free char *text = with_quotes(json);
  return mf_acc_feed(a, (struct mf_str){ 0 }, mf_str_of(text), ret, err);
}

struct mf_acc_event feed(struct mf_acc *a, const char *json)
{
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  assert_ok(try_feed(a, json, &e, &err), &err);
  return e;
}

void refused(struct mf_acc *a, const char *json, const char *text)
{
  struct mf_acc_event e = { 0 };
  struct mf_err err = { 0 };
  assert_int_equal(try_feed(a, json, &e, &err), MF_E_INPUT);
  if (!strstr(err.msg, text))
    fail_msg("'%s' is not in '%s'", text, err.msg);
  assert_int_equal(mf_acc_state(a), MF_UPSTREAM_FAILED);
}

void assert_str(struct mf_str s, const char *expected)
{
  if (!mf_str_is(s, expected))
    fail_msg("'%.*s' is not '%s'", MF_STR_ARG(s), expected);
}

void assert_json(struct mf_str s, const char *expected)
{
  mf_auto_free char *text = with_quotes(expected);
  assert_str(s, text);
}

size_t item_n(const struct mf_acc *a)
{
  const struct mf_acc_item *items = NULL;
  return mf_acc_items(a, &items);
}

const struct mf_acc_item *item_at(const struct mf_acc *a, size_t i)
{
  const struct mf_acc_item *items = NULL;
  assert_true(i < mf_acc_items(a, &items));
  return &items[i];
}

void begin(struct mf_acc *a)
{
  feed(a, "{'type':'response.created','sequence_number':0,'response':{'id':'r','status':'in_progress','output':[]}}");
  feed(a, "{'type':'response.in_progress','sequence_number':1,'response':{'id':'r','status':'in_progress'}}");
}

struct mf_str read_whole(const char *path)
{
  char *text = NULL;
  size_t n = 0;
  struct mf_err err = { 0 };
  assert_ok(mf_read_file(AT_FDCWD, path, 64u << 20, &text, &n, &err), &err);
  return (struct mf_str){ text, n };
}
