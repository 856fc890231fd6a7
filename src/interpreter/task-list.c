/* Lists of tasks, and artifacts of one. Thread: the loop's. */
#include <stdlib.h>

#include "base/fd.h"
#include "base/path.h"
#include "tasks-internal.h"
#include "base/banned.h"

enum { LIST_MAX = 100 };

/* ---- a list ---- */

struct list {
  struct mf_json_writer w;
  unsigned n, limit;
  char first[MF_ID_N], last[MF_ID_N];
  bool has_more;
};

static void add_row(struct list *l, const struct task *k)
{
  task_json_write_row(k, &l->w);
  memcpy(l->n == 0 ? l->first : l->last, k->id, sizeof(k->id));
  memcpy(l->last, k->id, sizeof(k->id));
  l->n++;
}

static bool is_listed(const struct task *k, struct mf_str owner, enum mf_task_state state)
{
  return mf_str_is(owner, k->owner) && !k->is_hidden && !k->is_expired &&
         (k->expires_ms == 0 || k->expires_ms > tasks_now_ms(k->tasks)) &&
         (state == MF_TASK_STATE_N || k->state == state);
}

static enum mf_code fail_after(struct mf_str after, struct mf_err *err)
{
  char shown[80];
  mf_escape(after, shown, sizeof(shown));
  return mf_fail(err, MF_E_NOT_FOUND, 0, "after: there is no task '%s'", shown);
}

static enum mf_code list_memory(struct mf_tasks *t, struct mf_str owner, struct mf_str after, enum mf_task_state state,
                                struct list *l, struct mf_err *err)
{
  const struct task *k = t->table.newest;
  if (after.len > 0) {
    k = task_table_find(&t->table, after);
    if (!k || k->is_hidden || !mf_str_is(owner, k->owner))
      return fail_after(after, err);
    k = k->older;
  }
  for (; k; k = k->older) {
    if (!is_listed(k, owner, state))
      continue;
    l->has_more = l->n == l->limit;
    if (l->has_more)
      break;
    add_row(l, k);
  }
  return MF_OK;
}

/* What is in memory may be ahead of the database. */
static enum mf_code add_stored(struct mf_tasks *t, const struct mf_store_task *row, struct list *l, struct mf_err *err)
{
  struct task *k = task_table_find(&t->table, row->id);
  if (k) {
    add_row(l, k);
    return MF_OK;
  }
  enum mf_code code = task_of_row(t, row, &k, err);
  if (!code) {
    add_row(l, k);
    task_unref(k);
  }
  return code;
}

static enum mf_code list_stored(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str after,
                                enum mf_task_state state, struct list *l, struct mf_err *err)
{
  struct mf_stored_tasks *rows = NULL;
  enum mf_code code = mf_storage_list_tasks(t->parts.storage, self, owner, after, state, tasks_now_ms(t), l->limit,
                                            &rows, &l->has_more, err);
  if (code == MF_E_NOT_FOUND)
    return fail_after(after, err);
  for (size_t i = 0; !code && i < mf_stored_tasks_n(rows); i++)
    code = add_stored(t, mf_stored_task(rows, i), l, err);
  mf_stored_tasks_free(rows);
  return code;
}

static void end_list(struct list *l)
{
  mf_jw_arr_end(&l->w);
  mf_jw_kbool(&l->w, "has_more", l->has_more);
  mf_jw_kstrz(&l->w, "first_id", l->n > 0 ? l->first : NULL);
  mf_jw_kstrz(&l->w, "last_id", l->n > 0 ? l->last : NULL);
  mf_jw_obj_end(&l->w);
}

enum mf_code mf_tasks_list(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str after,
                           enum mf_task_state state, unsigned limit, struct mf_buf *ret, struct mf_err *err)
{
  struct mf_buf out;
  struct list l = { .limit = MF_MIN(MF_MAX(limit, 1u), (unsigned)LIST_MAX) };
  tasks_enter(t);
  mf_buf_init(&out, TASK_JSON_MAX);
  mf_jw_init(&l.w, &out, false);
  mf_jw_obj(&l.w);
  mf_jw_kstrz(&l.w, "object", "list");
  mf_jw_key(&l.w, "data");
  mf_jw_arr(&l.w);
  enum mf_code code = t->parts.storage ? list_stored(t, self, owner, after, state, &l, err)
                                       : list_memory(t, owner, after, state, &l, err);
  end_list(&l);
  if (!code && l.w.code)
    code = mf_fail(err, l.w.code, 0, "the list is too large to be shown");
  if (code)
    mf_buf_done(&out);
  else
    *ret = out;
  tasks_leave(t);
  return code;
}

/* ---- an artifact ---- */

static bool read_artifact(const struct mf_json_val *v, struct mf_task_artifact *ret)
{
  const struct mf_json_val *path = mf_json_get(v, "path"), *mime = mf_json_get(v, "mimeType"),
                           *sha256 = mf_json_get(v, "sha256");
  if (mf_json_type_of(path) != MF_JSON_STR || mf_json_type_of(mime) != MF_JSON_STR ||
      mf_json_type_of(sha256) != MF_JSON_STR || mf_json_str(sha256).len != MF_SHA256_HEX_N - 1 ||
      !mf_json_u64(mf_json_get(v, "sizeBytes"), &ret->ref.size_bytes))
    return false;
  struct mf_str type = mf_json_str(mime);
  memcpy(ret->mime_type, type.ptr, MF_MIN(type.len, sizeof(ret->mime_type) - 1));
  memcpy(ret->ref.sha256, mf_json_str(sha256).ptr, MF_SHA256_HEX_N - 1);
  ret->path = mf_xasprintf("%.*s", MF_STR_ARG(mf_json_str(path)));
  return true;
}

static enum mf_code find_artifact(struct task *k, struct mf_fiber *self, struct mf_str artifact_id,
                                  struct mf_task_artifact *ret, struct mf_err *err)
{
  const struct mf_json_val *root = NULL;
  enum mf_code code = task_has_ended(k) ? task_doc(k, self, &root, err) : MF_OK;
  if (code)
    return code;
  struct mf_json_iter it = mf_json_iter(mf_json_get(root, "artifacts"));
  while (mf_json_next(&it)) {
    const struct mf_json_val *id = mf_json_get(it.val, "artifactId");
    if (mf_json_type_of(id) == MF_JSON_STR && mf_str_eq(mf_json_str(id), artifact_id))
      return read_artifact(it.val, ret)
                 ? MF_OK
                 : mf_fail(err, MF_E_INTERNAL, 0, "an artifact of task %s is not readable", k->id);
  }
  char shown[80];
  mf_escape(artifact_id, shown, sizeof(shown));
  return mf_fail(err, MF_E_NOT_FOUND, 0, "the task has no artifact '%s'", shown);
}

enum mf_code mf_tasks_artifact(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                               struct mf_str artifact_id, struct mf_task_artifact *ret, struct mf_err *err)
{
  struct task *k = NULL;
  struct mf_task_artifact a = { .fd = -1 };
  tasks_enter(t);
  enum mf_code code = tasks_find(t, self, owner, id, &k, err);
  if (!code)
    code = find_artifact(k, self, artifact_id, &a, err);
  if (!code)
    code = task_open_artifact(k, self, &a, &a.fd, err);
  if (code == MF_E_NOT_FOUND && a.path) { /* it expired or was deleted in between */
    enum mf_code kept = tasks_check_kept(k, err);
    code = kept ? kept : code;
  }
  if (k)
    task_unref(k);
  if (code)
    mf_task_artifact_done(&a);
  else
    *ret = a;
  tasks_leave(t);
  return code;
}

void mf_task_artifact_done(struct mf_task_artifact *a)
{
  free(a->path);
  a->path = NULL;
  mf_close_ptr(&a->fd);
}
