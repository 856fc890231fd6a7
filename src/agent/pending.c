/* Every output answers an open call of its kind, and once; every call has an answer when the request has been read.
 * Thread: any.
 *
 * Calls and outputs are sorted by call_id, so that the time grows with n log n, whatever ids a client makes up. A
 * call_id may be used again once it was answered: servers count from call_0 in every response. */
#include "pending.h"
#include "item.h"

#include <stdio.h>

#include "base/utf8.h"
#include "base/banned.h"

#define REQUEST_ERROR "invalid_request_error"

struct entry {
  struct mf_str call_id;
  const struct item_kind *kind;
  bool is_output, is_new;
  size_t order;
};

struct list {
  struct entry *entries;
  size_t n, cap;
};

static void list_done(struct list *l)
{
  free(l->entries);
}

/* False: an empty call_id in what the client has just sent. */
static bool add(struct list *l, const struct mf_json_val *item, bool is_new)
{
  const struct item_kind *k = item_kind_of(item);
  if (!k || (item_class_of(k) != ITEM_CALL && item_class_of(k) != ITEM_OUTPUT))
    return true;
  struct mf_str call_id = item_text(item, "call_id");
  if (call_id.len == 0)
    return !is_new;
  if (l->n == l->cap) {
    l->cap = l->cap ? l->cap * 2 : 64;
    l->entries = mf_xrealloc(l->entries, l->cap * sizeof(*l->entries));
  }
  l->entries[l->n] = (struct entry){ call_id, k, item_class_of(k) == ITEM_OUTPUT, is_new, l->n };
  l->n++;
  return true;
}

static bool add_all(struct list *l, const struct mf_json_val *items, bool is_new, struct mf_api_error *e)
{
  struct mf_json_iter it = mf_json_iter(mf_json_type_of(items) == MF_JSON_ARR ? items : NULL);
  for (size_t i = 0; mf_json_next(&it); i++)
    if (!add(l, it.val, is_new))
      return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                         "invalid request: input[%zu]: %s must have a call_id that is not empty", i,
                         item_type_of(item_kind_of(it.val)));
  return true;
}

static int compare(const void *a, const void *b)
{
  const struct entry *x = a, *y = b;
  if (x->call_id.len != y->call_id.len)
    return x->call_id.len < y->call_id.len ? -1 : 1;
  int order = memcmp(x->call_id.ptr, y->call_id.ptr, x->call_id.len);
  if (order)
    return order;
  return x->order < y->order ? -1 : x->order > y->order;
}

enum fault { FAULT_NONE, FAULT_NO_CALL, FAULT_TWICE, FAULT_KIND };

/* The first fault in the request's order. */
struct verdict {
  enum fault fault;
  const struct entry *at;   /* the output that is wrong */
  const struct entry *open; /* the first call without an output */
};

static void note_fault(struct verdict *v, enum fault fault, const struct entry *at)
{
  if (v->at && v->at->order < at->order)
    return;
  v->fault = fault;
  v->at = at;
}

/* All entries of one call_id, in order. A model that gave two open calls the same id gets two answers, or one. */
static void look_at(const struct entry *from, const struct entry *end, struct verdict *v)
{
  const struct entry *call = NULL;
  size_t open_n = 0;
  bool is_answered = false; /* in this request */
  for (const struct entry *x = from; x < end; x++) {
    if (!x->is_output) {
      call = x;
      open_n++;
      is_answered = false;
    } else if (open_n > 0 && (!x->is_new || item_answers(x->kind, call->kind))) {
      open_n--;
      is_answered = x->is_new;
    } else if (x->is_new) {
      note_fault(v, open_n > 0 ? FAULT_KIND : is_answered ? FAULT_TWICE : FAULT_NO_CALL, x);
    }
  }
  const struct entry *last = end - 1;
  if (!last->is_output && (!v->open || last->order < v->open->order))
    v->open = last;
}

static bool say(const struct verdict *v, struct mf_api_error *e)
{
  const struct entry *x = v->at ? v->at : v->open;
  if (!x)
    return true;
  int n = (int)mf_utf8_prefix(x->call_id, 120);
  const char *id = x->call_id.ptr, *type = item_type_of(x->kind);
  switch (v->fault) {
  case FAULT_NO_CALL:
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                       "invalid request: %s references call_id '%.*s' without a pending call", type, n, id);
  case FAULT_TWICE:
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL, "invalid request: duplicate %s for call_id '%.*s'",
                       type, n, id);
  case FAULT_KIND:
    return mf_api_fail(e, 400, REQUEST_ERROR, REQUEST_ERROR, NULL,
                       "invalid request: %s references call_id '%.*s', but the pending call is not a %s", type, n, id,
                       item_call_type_of(x->kind));
  case FAULT_NONE:
    break;
  }
  return mf_api_fail(e, 400, REQUEST_ERROR, NULL, "input", "No tool output found for function call %.*s.", n, id);
}

bool pending_check(const struct mf_json_val *past, const struct mf_json_val *input, struct mf_api_error *e)
{
  MF_CLEANUP(list_done) struct list l = { 0 };
  if (!add_all(&l, past, false, e) || !add_all(&l, input, true, e))
    return false;
  if (l.n > 0)
    qsort(l.entries, l.n, sizeof(*l.entries), compare);
  struct verdict v = { 0 };
  for (size_t from = 0, i = 1; i <= l.n; i++)
    if (i == l.n || !mf_str_eq(l.entries[from].call_id, l.entries[i].call_id)) {
      look_at(l.entries + from, l.entries + i, &v);
      from = i;
    }
  return say(&v, e);
}
