/* mf_storage: fibers in front, connections behind, the worker pool between.
 *
 * Writes: one connection. The first fiber that comes takes what waits to a worker as one transaction; those that come
 * meanwhile wait, and one of them takes the next batch. So the disk is synced once for many. Reads: a few connections,
 * opened when needed, that do not wait for writers. A database in memory has one connection, and reads go the way of
 * writes.
 *
 * Thread: the loop's; what the workers touch is a batch, which nobody else touches meanwhile. */
#include "storage/storage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "migrations.h"
#include "op.h"
#include "url.h"
#include "base/banned.h"

enum { BATCH_MAX = 64, READERS_MAX = 4 };

/* A fiber that waits: for its turn as a writer, or for a connection to read with. On its stack. */
struct turn {
  struct turn *next;
  struct mf_fiber *fiber;
  struct op *op; /* of a writer */
  bool is_done;  /* somebody else's batch had it, or the connection is there */
  bool is_next;  /* of a writer: take a batch yourself */
  struct db *reader;
};
struct turns {
  struct turn *first, **last_next;
};

struct mf_storage {
  struct mf_pool *pool;
  char *path; /* NULL: in memory */
  struct db_file file;
  struct db writer;
  struct reserve reserve; /* of whoever has the writer */
  struct turns writes;
  bool is_writing;
  struct db readers[READERS_MAX];
  bool reader_is_busy[READERS_MAX];
  struct turns reads;
  unsigned busy; /* calls under way */
};

static void turns_init(struct turns *q)
{
  q->first = NULL;
  q->last_next = &q->first;
}

static void turns_add(struct turns *q, struct turn *t)
{
  t->next = NULL;
  *q->last_next = t;
  q->last_next = &t->next;
}

static struct turn *turns_take(struct turns *q)
{
  struct turn *t = q->first;
  if (t) {
    q->first = t->next;
    if (!q->first)
      q->last_next = &q->first;
  }
  return t;
}

/* Others hold a pointer to it, so a cancel does not end the wait. */
static void wait_for_turn(struct mf_fiber *self, const struct turn *t)
{
  enum mf_code code = MF_OK;
  mf_fiber_shield(self);
  while (code == MF_OK && !t->is_done && !t->is_next)
    code = mf_fiber_wait(self, 0);
  mf_fiber_unshield(self);
  assert(code == MF_OK); /* shielded, without a deadline */
}

/* ---- life ---- */

enum mf_code mf_storage_open(struct mf_loop *loop, struct mf_pool *pool, const char *url, struct mf_storage **ret,
                             struct mf_err *err)
{
  char *path = NULL;
  enum mf_code code = mf_storage_url_parse(url, &path, err);
  if (code)
    return code;
  struct mf_storage *s = mf_xcalloc(1, sizeof(*s));
  s->pool = pool;
  s->path = path;
  s->reserve.fd = -1;
  turns_init(&s->writes);
  turns_init(&s->reads);
  code = db_open_writer(&s->writer, s->path, err);
  if (!code)
    code = mf_migrations_apply(&s->writer, err);
  if (!code)
    code = db_file_note(&s->writer, &s->file, err);
  if (code) {
    mf_storage_close(s);
    return code;
  }
  reserve_open(&s->reserve, s->path);
  *ret = s;
  return MF_OK;
}

enum mf_code mf_storage_sync_every_commit(struct mf_storage *s, struct mf_err *err)
{
  return db_exec(&s->writer, "PRAGMA synchronous = FULL", err);
}

void mf_storage_close(struct mf_storage *s)
{
  if (!s)
    return;
  assert(s->busy == 0);
  for (unsigned i = 0; i < READERS_MAX; i++)
    db_close(&s->readers[i]);
  db_close(&s->writer);
  reserve_close(&s->reserve);
  free(s->path);
  free(s);
}

/* ---- writing ---- */

struct batch {
  struct mf_storage *storage;
  struct turn *turns[BATCH_MAX];
  struct op *ops[BATCH_MAX];
  unsigned n;
};

static void fail_batch(struct batch *b, enum mf_code code, const struct mf_err *err)
{
  for (unsigned i = 0; i < b->n; i++) {
    b->ops[i]->code = code;
    b->ops[i]->err = *err;
  }
}

static bool met_full_disk(const struct op *op)
{
  return op->code == MF_E_UNAVAILABLE && op->err.sys == ENOSPC;
}

/* SQLite writes its log back when a transaction has brought it to 4 MB: one for which there is no room never does. */
static void write_on_full(struct mf_storage *s, struct op *op, bool *is_spent)
{
  *is_spent = reserve_spend(&s->reserve, op->kind->reserve) || *is_spent;
  if (*is_spent)
    op_write_again(&s->writer, op);
  if (met_full_disk(op) && db_write_back(&s->writer))
    op_write_again(&s->writer, op);
}

static void write_batch(struct mf_storage *s, struct batch *b)
{
  bool any_ok = false, is_spent = false;
  op_write(&s->writer, b->ops, b->n);
  for (unsigned i = 0; i < b->n; i++) {
    if (met_full_disk(b->ops[i]) && b->ops[i]->kind->reserve)
      write_on_full(s, b->ops[i], &is_spent);
    any_ok = any_ok || b->ops[i]->code == MF_OK;
  }
  if (any_ok)
    reserve_refill(&s->reserve);
}

/* On a worker. */
static void run_batch(void *user)
{
  struct batch *b = user;
  struct mf_storage *s = b->storage;
  struct mf_err err = { 0 };
  enum mf_code code = db_file_check(&s->writer, &s->file, &err);
  if (code)
    fail_batch(b, code, &err);
  else
    write_batch(s, b);
}

/* Takes what waits, one's own first, and hands over to the next. */
static void lead(struct mf_storage *s, struct mf_fiber *self)
{
  struct batch b = { .storage = s };
  while (b.n < BATCH_MAX && s->writes.first) {
    b.turns[b.n] = turns_take(&s->writes);
    b.ops[b.n] = b.turns[b.n]->op;
    b.n++;
  }
  struct mf_err err = { 0 };
  enum mf_code code = mf_pool_run(s->pool, self, run_batch, &b, &err);
  if (code)
    fail_batch(&b, code, &err);
  for (unsigned i = 0; i < b.n; i++) {
    b.turns[i]->is_done = true;
    if (b.turns[i]->fiber != self)
      mf_fiber_wake(b.turns[i]->fiber);
  }
  struct turn *next = s->writes.first;
  s->is_writing = next != NULL;
  if (next) {
    next->is_next = true;
    mf_fiber_wake(next->fiber);
  }
}

static void do_write(struct mf_storage *s, struct mf_fiber *self, struct op *op)
{
  struct turn t = { .fiber = self, .op = op };
  turns_add(&s->writes, &t);
  if (s->is_writing) {
    wait_for_turn(self, &t);
  }
  if (t.is_done)
    return;
  s->is_writing = true;
  lead(s, self);
}

/* ---- reading ---- */

static struct db *find_reader(struct mf_storage *s)
{
  for (unsigned i = 0; i < READERS_MAX; i++)
    if (!s->reader_is_busy[i]) {
      s->reader_is_busy[i] = true;
      return &s->readers[i];
    }
  return NULL;
}

static struct db *take_reader(struct mf_storage *s, struct mf_fiber *self)
{
  struct db *d = find_reader(s);
  if (d)
    return d;
  struct turn t = { .fiber = self };
  turns_add(&s->reads, &t);
  wait_for_turn(self, &t);
  return t.reader;
}

static void give_reader(struct mf_storage *s, struct db *d)
{
  struct turn *t = turns_take(&s->reads);
  if (!t) {
    s->reader_is_busy[d - s->readers] = false;
    return;
  }
  t->reader = d;
  t->is_done = true;
  mf_fiber_wake(t->fiber);
}

struct reading {
  struct mf_storage *storage;
  struct db *reader;
  struct op *op;
};

static enum mf_code ping(struct db *d, struct op *op, struct mf_err *err)
{
  return db_run(d, SQL_PING, err);
}
static const struct op_kind ping_kind = { .doing = "look at the database", .apply = ping };

/* On a worker. */
static void run_read(void *user)
{
  struct reading *r = user;
  struct op *op = r->op;
  if (op->kind == &ping_kind) {
    op->code = db_file_check(&r->storage->writer, &r->storage->file, &op->err);
    if (op->code)
      return;
  }
  if (!r->reader->sqlite) {
    op->code = db_open_reader(r->reader, r->storage->path, &op->err);
    if (op->code)
      return;
  }
  op_read(r->reader, op);
}

static void do_read(struct mf_storage *s, struct mf_fiber *self, struct op *op)
{
  struct reading r = { .storage = s, .reader = take_reader(s, self), .op = op };
  struct mf_err err = { 0 };
  enum mf_code code = mf_pool_run(s->pool, self, run_read, &r, &err);
  if (code) {
    op->code = code;
    op->err = err;
  }
  give_reader(s, r.reader);
}

/* ---- the calls ---- */

/* What is wrong with the database is said with what was to be done; what is wrong with the request speaks for itself.
 */
static enum mf_code report(const struct op *op, struct mf_err *err)
{
  bool is_of_request =
      op->code == MF_E_NOT_FOUND || op->code == MF_E_EXISTS || op->code == MF_E_LIMIT || op->code == MF_E_INPUT;
  if (!op->code || !err)
    return op->code;
  *err = op->err;
  return is_of_request ? op->code : mf_wrap(err, op->code, "%s", op->kind->doing);
}

enum mf_code storage_run(struct mf_storage *s, struct mf_fiber *self, struct op *op, struct mf_err *err)
{
  s->busy++;
  if (op->kind->is_write || !s->path)
    do_write(s, self, op);
  else
    do_read(s, self, op);
  s->busy--;
  if (op->code && op->code != MF_E_EXISTS && op->kind->drop)
    op->kind->drop(op);
  return report(op, err);
}

enum mf_code mf_storage_ping(struct mf_storage *s, struct mf_fiber *self, struct mf_err *err)
{
  struct op op = { .kind = &ping_kind };
  return storage_run(s, self, &op, err);
}
