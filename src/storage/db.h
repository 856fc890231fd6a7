/* One connection to the database: opening, statements, the words for what goes wrong.
 *
 * A connection is used by one thread at a time, whichever that is. Neighbours: sql.h names the statements, migrations.c
 * makes the tables, op.c uses both. */
#ifndef MF_STORAGE_DB_H
#define MF_STORAGE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "sql.h"

struct db {
  sqlite3 *sqlite;  /* NULL: closed */
  const char *path; /* borrowed; NULL: in memory */
  sqlite3_stmt *statements[SQL_N];
};

/* Which file it was: an open connection would go on writing into a removed one. */
struct db_file {
  dev_t dev;
  ino_t ino;
};

/* Waits so long for another process's lock. */
enum { DB_BUSY_MS = 5000 };

/* Creates the file if there is none, checks whose it is, and opens it for writing. Its tables are as they were. */
MF_MUST_USE enum mf_code db_open_writer(struct db *d, const char *path, struct mf_err *err);
/* Another connection to what a writer has opened before. */
MF_MUST_USE enum mf_code db_open_reader(struct db *d, const char *path, struct mf_err *err);
void db_close(struct db *d); /* fine on a closed one */
/* Makes the file's name as lasting as its content, and notes which file it is. */
MF_MUST_USE enum mf_code db_file_note(const struct db *d, struct db_file *ret, struct mf_err *err);
MF_MUST_USE enum mf_code db_file_check(const struct db *d, const struct db_file *file, struct mf_err *err);

/* Brings what is in the log to the database file, so that the log's room can be used again. False: not all of it now.
 */
bool db_write_back(struct db *d);

/* Fills err with what rc means here and what to do about it. */
enum mf_code db_fail(const struct db *d, int rc, struct mf_err *err);
/* "not found: Task with id 'x'" */
enum mf_code db_not_found(const char *what, struct mf_str id, struct mf_err *err);
/* Several statements without results. */
enum mf_code db_exec(struct db *d, const char *sql, struct mf_err *err);
MF_MUST_USE enum mf_code db_pragma_int(struct db *d, const char *sql, sqlite3_int64 *ret, struct mf_err *err);

/* A statement ready for binding; db_end it whatever happened. */
MF_MUST_USE enum mf_code db_begin(struct db *d, enum sql sql, sqlite3_stmt **ret, struct mf_err *err);
/* Borrowed until db_end. */
void db_bind_str(sqlite3_stmt *st, int at, struct mf_str s);
/* Times and sizes: at most INT64_MAX. */
void db_bind_u64(sqlite3_stmt *st, int at, uint64_t v);
/* A text of the row that st stands on, borrowed until the next step; NULL is empty. */
struct mf_str db_column(sqlite3_stmt *st, int at);
/* *ret_row: whether there is one. */
MF_MUST_USE enum mf_code db_step(struct db *d, sqlite3_stmt *st, bool *ret_row, struct mf_err *err);
void db_end(sqlite3_stmt *st);
/* Steps one that changes rows to its end, and ends it. *ret_n (may be NULL): how many. */
MF_MUST_USE enum mf_code db_change(struct db *d, sqlite3_stmt *st, int *ret_n, struct mf_err *err);
/* The key that a statement gives for an id; 0: none. */
MF_MUST_USE enum mf_code db_find(struct db *d, enum sql sql, struct mf_str id, sqlite3_int64 *ret, struct mf_err *err);
/* db_begin, db_step, db_end of one that needs nothing and gives nothing. */
enum mf_code db_run(struct db *d, enum sql sql, struct mf_err *err);

#endif
