/* Operations inside transactions. Thread: a worker. */
#include <sqlite3.h>

#include "op.h"
#include "base/banned.h"

static bool is_open(const struct db *d)
{
  return !sqlite3_get_autocommit(d->sqlite);
}

static void roll_back(struct db *d)
{
  /* Some failures (disk full, a failing disk) have rolled it back already. */
  if (is_open(d))
    (void)db_run(d, SQL_ROLLBACK, NULL);
}

static void fail_op(struct op *op, enum mf_code code, const struct mf_err *err)
{
  if (op->kind->drop)
    op->kind->drop(op);
  op->code = code;
  op->err = *err;
}

static void fail_all(struct op *const *ops, unsigned n, enum mf_code code, const struct mf_err *err)
{
  for (unsigned i = 0; i < n; i++)
    fail_op(ops[i], code, err);
}

static void apply(struct db *d, struct op *op)
{
  op->code = op->kind->apply(d, op, &op->err);
}

void op_read(struct db *d, struct op *op)
{
  struct mf_err err = { 0 };
  enum mf_code code = db_run(d, SQL_BEGIN_READ, &err);
  if (code) {
    fail_op(op, code, &err);
    return;
  }
  apply(d, op);
  if (is_open(d))
    (void)db_run(d, SQL_COMMIT, NULL); /* nothing was written: all it does is to let go */
  roll_back(d);
}

/* One of several: what it did before it failed is undone alone. False: the whole transaction is gone. */
static bool apply_saved(struct db *d, struct op *op, struct mf_err *err)
{
  if (db_run(d, SQL_SAVE, err))
    return false;
  apply(d, op);
  if (!is_open(d)) {
    *err = op->err;
    return false;
  }
  if (op->code && db_run(d, SQL_SAVE_ROLLBACK, err))
    return false;
  return db_run(d, SQL_SAVE_RELEASE, err) == MF_OK;
}

static void write_one(struct db *d, struct op *op)
{
  struct mf_err err = { 0 };
  enum mf_code code = db_run(d, SQL_BEGIN_WRITE, &err);
  if (code) {
    fail_op(op, code, &err);
    return;
  }
  apply(d, op);
  if (!op->code) {
    code = db_run(d, SQL_COMMIT, &err);
    if (code)
      fail_op(op, code, &err);
  }
  roll_back(d);
}

void op_write_again(struct db *d, struct op *op)
{
  fail_op(op, MF_OK, &(struct mf_err){ 0 });
  write_one(d, op);
}

void op_write(struct db *d, struct op *const *ops, unsigned n)
{
  if (n == 1) {
    write_one(d, ops[0]);
    return;
  }
  struct mf_err err = { 0 };
  enum mf_code code = db_run(d, SQL_BEGIN_WRITE, &err);
  if (code) {
    fail_all(ops, n, code, &err);
    return;
  }
  bool is_whole = true;
  for (unsigned i = 0; i < n && is_whole; i++)
    is_whole = apply_saved(d, ops[i], &err);
  if (is_whole && db_run(d, SQL_COMMIT, &err) == MF_OK)
    return;
  /* One that is too much for the disk must not take the others along: each again, for itself. */
  roll_back(d);
  for (unsigned i = 0; i < n; i++)
    op_write_again(d, ops[i]);
}
