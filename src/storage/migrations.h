/* The tables, and how older ones become them. */
#ifndef MF_STORAGE_MIGRATIONS_H
#define MF_STORAGE_MIGRATIONS_H

#include "db.h"

/* Ours, written into the file's header ("MFly"): another program's database is refused, not migrated. */
#define MF_STORAGE_APPLICATION_ID 0x4d466c79

/* Changes nothing. MF_E_UNAVAILABLE: another program's, or newer than we are. */
MF_MUST_USE enum mf_code mf_migrations_check(struct db *d, struct mf_err *err);
/* Brings the tables up to date, each step in a transaction of its own. Other processes may do the same meanwhile. */
MF_MUST_USE enum mf_code mf_migrations_apply(struct db *d, struct mf_err *err);

#endif
