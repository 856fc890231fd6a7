/* Conversations: a few thousand at most, so a list does. */
#include "plan.h"
#include "base/banned.h"

enum { NAME_MAX_BYTES = 200 };

struct session {
  struct session *next;
  const struct mf_model_script *script;
  bool *used; /* a flag for each round of the script */
  size_t name_n;
  char name[NAME_MAX_BYTES];
};

struct mf_plan {
  struct session *first;
  size_t session_n;
};

struct mf_plan *mf_plan_new(void)
{
  return mf_xcalloc(1, sizeof(struct mf_plan));
}

void mf_plan_reset(struct mf_plan *p)
{
  while (p->first) {
    struct session *s = p->first;
    p->first = s->next;
    free(s->used);
    free(s);
  }
  p->session_n = 0;
}

void mf_plan_free(struct mf_plan *p)
{
  if (!p)
    return;
  mf_plan_reset(p);
  free(p);
}

/* NULL: there are too many, or the name is too long. */
static struct session *find_session(struct mf_plan *p, const struct mf_model_script *script, struct mf_str name)
{
  for (struct session *s = p->first; s; s = s->next)
    if (s->script == script && mf_str_eq((struct mf_str){ s->name, s->name_n }, name))
      return s;
  if (name.len > NAME_MAX_BYTES || p->session_n >= MF_PLAN_SESSIONS_MAX)
    return NULL;
  struct session *s = mf_xcalloc(1, sizeof(*s));
  s->script = script;
  s->used = mf_xcalloc(script->round_n, sizeof(*s->used));
  s->name_n = name.len;
  if (name.len > 0)
    memcpy(s->name, name.ptr, name.len);
  s->next = p->first;
  p->first = s;
  p->session_n++;
  return s;
}

static bool next_unused(const struct session *s, const struct mf_model_ask *a, size_t *ret)
{
  for (size_t i = 0; i < s->script->round_n; i++)
    if (!s->used[i] && mf_model_ask_fits(a, &s->script->rounds[i])) {
      *ret = i;
      return true;
    }
  return false;
}

static bool next_by_turn(const struct mf_model_script *script, const struct mf_model_ask *a, size_t *ret)
{
  size_t fitting = 0, wanted = a->turn_outputs;
  for (size_t i = 0; i < script->round_n; i++)
    fitting += mf_model_ask_fits(a, &script->rounds[i]);
  if (fitting == 0 || (wanted >= fitting && !script->loops))
    return false;
  wanted %= fitting;
  for (size_t i = 0; i < script->round_n; i++) {
    if (!mf_model_ask_fits(a, &script->rounds[i]))
      continue;
    if (wanted-- == 0) {
      *ret = i;
      return true;
    }
  }
  return false;
}

enum mf_code mf_plan_next(struct mf_plan *p, const struct mf_model_script *script, struct mf_str session,
                          const struct mf_model_ask *a, size_t *ret_round, struct mf_err *err)
{
  static const char none_left[] = "the scenario has no round left for this request";
  if (script->is_by_turn)
    return next_by_turn(script, a, ret_round) ? MF_OK : mf_fail(err, MF_E_GONE, 0, "%s", none_left);
  struct session *s = find_session(p, script, session);
  if (!s)
    return mf_fail(err, MF_E_LIMIT, 0, "more than %d sessions, or a session with a name of more than %d bytes",
                   MF_PLAN_SESSIONS_MAX, NAME_MAX_BYTES);
  size_t at = 0;
  bool found = next_unused(s, a, &at);
  if (!found && script->loops) {
    memset(s->used, 0, script->round_n * sizeof(*s->used));
    found = next_unused(s, a, &at);
  }
  if (!found)
    return mf_fail(err, MF_E_GONE, 0, "%s", none_left);
  s->used[at] = true;
  *ret_round = at;
  return MF_OK;
}
