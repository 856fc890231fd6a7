/* One operation: what a fiber asks for, and how a worker does it with a connection. A noun's file (responses.c,
 * tasks.c, keys.c) has its kinds; storage.c brings them to a connection, transaction.c puts them into transactions. */
#ifndef MF_STORAGE_OP_H
#define MF_STORAGE_OP_H

#include "db.h"
#include "reserve.h"
#include "storage/storage.h"

struct op;
struct op_kind {
  const char *doing; /* "store a response": for what goes wrong with the database */
  bool is_write;
  /* Inside a transaction of the caller's, on a worker. A failed one is undone. */
  enum mf_code (*apply)(struct db *d, struct op *op, struct mf_err *err);
  void (*drop)(struct op *op); /* frees what apply has loaded; NULL: it loads nothing */
  enum reserve_share reserve;  /* what it may use on a full disk */
};

/* The first member of what a kind needs and loads. */
struct op {
  const struct op_kind *kind;
  enum mf_code code;
  struct mf_err err;
};

/* From a fiber: brings the operation to a connection and waits for it. What a failed one has loaded is dropped; that of
 * MF_E_EXISTS is the caller's, as that of MF_OK. Thread: the loop's. */
MF_MUST_USE enum mf_code storage_run(struct mf_storage *s, struct mf_fiber *self, struct op *op, struct mf_err *err);

/* A reading operation in a transaction of its own, so that it sees one moment. Thread: a worker. */
void op_read(struct db *d, struct op *op);
/* Operations that came together share one transaction and one sync of the disk; each succeeds or fails for itself.
 * Thread: a worker. */
void op_write(struct db *d, struct op *const *ops, unsigned n);
/* One that has failed, once more. */
void op_write_again(struct db *d, struct op *op);

#endif
