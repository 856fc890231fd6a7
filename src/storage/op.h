/* One operation: what a fiber asks for, and how a worker does it with a connection. */
#ifndef MF_STORAGE_OP_H
#define MF_STORAGE_OP_H

#include "db.h"
#include "storage/storage.h"

enum op_kind { OP_PUT, OP_DELETE, OP_GET, OP_PAYLOAD, OP_HISTORY, OP_ITEMS, OP_PING };

struct op {
  enum op_kind kind;
  const struct mf_store_response *response; /* PUT */
  struct mf_str id;                         /* the others */
  const struct mf_str *ids;                 /* ITEMS */
  size_t id_n;
  struct mf_stored *loaded; /* GET, PAYLOAD, HISTORY, ITEMS: owned */
  enum mf_code code;
  struct mf_err err;
};

/* Before anything else: sizes and presence. Thread: any. */
MF_MUST_USE enum mf_code op_check(const struct op *op, struct mf_err *err);
/* Inside a transaction of the caller's; sets code and err. */
void op_apply(struct db *d, struct op *op);

/* A reading operation in a transaction of its own, so that it sees one moment. */
void op_read(struct db *d, struct op *op);
/* Operations that came together share one transaction and one sync of the disk; each succeeds or fails for itself. */
void op_write(struct db *d, struct op *const *ops, unsigned n);

#endif
