/* Small files of tasks, read; finishing a task writes them (tasks.c). Thread: the calls are the loop's, what has a db
 * is a worker's. */
#include "op.h"
#include "storage/tasks.h"
#include "base/banned.h"

struct file_op {
  struct op op;
  struct mf_str id;
  const char *sha256;
  struct mf_buf content;
  uint64_t bytes;
};

static enum mf_code get_file(struct db *d, struct op *op, struct mf_err *err)
{
  struct file_op *o = (struct file_op *)op;
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_GET_TASK_FILE, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, o->id);
  db_bind_str(st, 2, mf_str_of(o->sha256));
  code = db_step(d, st, &row, err);
  if (!code && !row)
    code = mf_fail(err, MF_E_NOT_FOUND, 0, "there is no such file");
  if (!code) {
    const char *bytes = sqlite3_column_blob(st, 0); /* before its size; NULL where that is 0 */
    struct mf_str content = { bytes ? bytes : "", (size_t)sqlite3_column_bytes(st, 0) };
    mf_buf_init(&o->content, content.len);
    if (mf_buf_append_str(&o->content, content))
      code = mf_fail(err, MF_E_LIMIT, 0, "out of memory for a file");
  }
  db_end(st);
  return code;
}

enum mf_code mf_storage_task_file(struct mf_storage *s, struct mf_fiber *self, struct mf_str id, const char *sha256,
                                  struct mf_buf *ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "load a file of a task", .apply = get_file };
  struct file_op o = { .op = { .kind = &kind }, .id = id, .sha256 = sha256 };
  enum mf_code code = storage_run(s, self, &o.op, err);
  if (code)
    mf_buf_done(&o.content);
  else
    *ret = o.content;
  return code;
}

static enum mf_code sum_files(struct db *d, struct op *op, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, SQL_SUM_FILE_BYTES, &st, err);
  if (code)
    return code;
  code = db_step(d, st, &row, err);
  if (!code && row)
    ((struct file_op *)op)->bytes = (uint64_t)sqlite3_column_int64(st, 0);
  db_end(st);
  return code;
}

enum mf_code mf_storage_file_bytes(struct mf_storage *s, struct mf_fiber *self, uint64_t *ret, struct mf_err *err)
{
  static const struct op_kind kind = { .doing = "count the files of tasks", .apply = sum_files };
  struct file_op o = { .op = { .kind = &kind } };
  enum mf_code code = storage_run(s, self, &o.op, err);
  if (!code)
    *ret = o.bytes;
  return code;
}
