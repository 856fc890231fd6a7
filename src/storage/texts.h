/* texts: copies of strings that were loaded, in chunks, so that many small ones cost few allocations. All of them go at
 * once. One thread at a time. */
#ifndef MF_STORAGE_TEXTS_H
#define MF_STORAGE_TEXTS_H

#include "db.h"

struct texts {
  struct texts_chunk *chunks; /* the first one has room */
};
void texts_done(struct texts *t); /* fine on a zeroed struct */
/* False without memory. */
MF_MUST_USE bool texts_copy(struct texts *t, struct mf_str s, struct mf_str *ret);
/* A column of the row that st stands on. What is no UTF-8 is damage: SQLite notices a hurt page only where its own
 * structure is. Ids may be anything: texts_load_id. MF_E_UNAVAILABLE, MF_E_LIMIT (no memory). */
MF_MUST_USE enum mf_code texts_load(struct texts *t, struct db *d, sqlite3_stmt *st, int at, struct mf_str *ret,
                                    struct mf_err *err);
MF_MUST_USE enum mf_code texts_load_id(struct texts *t, sqlite3_stmt *st, int at, struct mf_str *ret,
                                       struct mf_err *err);

#endif
