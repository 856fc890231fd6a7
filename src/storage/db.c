/* A connection: opening with everything switched on that keeps data safe, prepared statements, and errors in words. */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/time.h"
#include "migrations.h"
#include "base/banned.h"

/* ---- words ---- */

struct word_row {
  int rc;
  enum mf_code code;
  const char *text;
};

#define SAFE "; what was acknowledged before is safe"

static const struct word_row words[] = {
  { SQLITE_BUSY, MF_E_UNAVAILABLE, "is locked by another process; end that one, or try again" },
  { SQLITE_LOCKED, MF_E_UNAVAILABLE, "is locked by another process; end that one, or try again" },
  { SQLITE_FULL, MF_E_UNAVAILABLE, "cannot grow: the disk is full; free some space" SAFE },
  { SQLITE_READONLY, MF_E_UNAVAILABLE,
    "cannot be written: the file or its file system is read-only; make both writable" },
  { SQLITE_PERM, MF_E_UNAVAILABLE,
    "cannot be opened: permission denied; let this user read and write it and its folder" },
  { SQLITE_CANTOPEN, MF_E_UNAVAILABLE, "cannot be opened; check that its folder is there and may be written to" },
  { SQLITE_CORRUPT, MF_E_UNAVAILABLE,
    "is damaged; stop Mayfly, keep a copy, then restore a backup, or save what can be read with 'sqlite3 FILE "
    ".recover'" },
  { SQLITE_NOTADB, MF_E_UNAVAILABLE, "is not an SQLite database; name another file, or restore a backup" },
  { SQLITE_NOLFS, MF_E_UNAVAILABLE, "is too large for its file system" },
  { SQLITE_PROTOCOL, MF_E_UNAVAILABLE,
    "cannot be locked: its file system has no working locks; move it to a local disk" },
  { SQLITE_TOOBIG, MF_E_LIMIT, "cannot hold a text that long" },
  { SQLITE_NOMEM, MF_E_LIMIT, "cannot be used: out of memory" },
};

enum mf_code db_fail(const struct db *d, int rc, struct mf_err *err)
{
  const char *path = d->path ? d->path : ":memory:";
  int sys = d->sqlite ? sqlite3_system_errno(d->sqlite) : 0;
  int kind = rc & 0xff;
  if (kind == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT))
    kind = SQLITE_FULL;
  for (unsigned i = 0; i < MF_ARRAY_N(words); i++)
    if (words[i].rc == kind) {
      enum mf_code code = mf_fail(err, words[i].code, 0, "database '%s' %s", path, words[i].text);
      if (err && kind == SQLITE_FULL)
        err->sys = ENOSPC;
      return code;
    }
  if (kind == SQLITE_IOERR)
    return mf_fail(err, MF_E_SYS, sys, "database '%s': the disk failed (%s)" SAFE, path, sqlite3_errstr(rc));
  /* Texts of SQLite's name tables and columns, never values. */
  return mf_fail(err, MF_E_INTERNAL, 0, "database '%s': %s", path,
                 d->sqlite ? sqlite3_errmsg(d->sqlite) : sqlite3_errstr(rc));
}

enum mf_code db_not_found(const char *what, struct mf_str id, struct mf_err *err)
{
  char shown[200];
  mf_escape(id, shown, sizeof(shown));
  return mf_fail(err, MF_E_NOT_FOUND, 0, "not found: %s with id '%s'", what, shown);
}

/* ---- statements ---- */

enum mf_code db_exec(struct db *d, const char *sql, struct mf_err *err)
{
  int rc = sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK ? MF_OK : db_fail(d, rc, err);
}

enum mf_code db_pragma_int(struct db *d, const char *sql, sqlite3_int64 *ret, struct mf_err *err)
{
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(d->sqlite, sql, -1, &st, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_step(st);
  enum mf_code code = MF_OK;
  if (rc == SQLITE_ROW)
    *ret = sqlite3_column_int64(st, 0);
  else
    code = db_fail(d, rc, err);
  sqlite3_finalize(st);
  return code;
}

enum mf_code db_begin(struct db *d, enum sql sql, sqlite3_stmt **ret, struct mf_err *err)
{
  if (!d->statements[sql]) {
    int rc = sqlite3_prepare_v3(d->sqlite, sql_text(sql), -1, SQLITE_PREPARE_PERSISTENT, &d->statements[sql], NULL);
    if (rc != SQLITE_OK)
      return db_fail(d, rc, err);
  }
  *ret = d->statements[sql];
  return MF_OK;
}

void db_bind_str(sqlite3_stmt *st, int at, struct mf_str s)
{
  /* Without a pointer it would be NULL and not the empty text. Lengths are bounded by MF_STORE_BYTES_MAX. */
  sqlite3_bind_text64(st, at, s.len ? s.ptr : "", s.len, SQLITE_STATIC, SQLITE_UTF8);
}

void db_bind_u64(sqlite3_stmt *st, int at, uint64_t v)
{
  sqlite3_bind_int64(st, at, (sqlite3_int64)v);
}

struct mf_str db_column(sqlite3_stmt *st, int at)
{
  /* The text first: its length is that of the conversion. */
  const char *text = (const char *)sqlite3_column_text(st, at);
  return (struct mf_str){ text, text ? (size_t)sqlite3_column_bytes(st, at) : 0 };
}

enum mf_code db_step(struct db *d, sqlite3_stmt *st, bool *ret_row, struct mf_err *err)
{
  int rc = sqlite3_step(st);
  *ret_row = rc == SQLITE_ROW;
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? MF_OK : db_fail(d, rc, err);
}

void db_end(sqlite3_stmt *st)
{
  sqlite3_reset(st);
  sqlite3_clear_bindings(st);
}

enum mf_code db_change(struct db *d, sqlite3_stmt *st, int *ret_n, struct mf_err *err)
{
  bool row;
  enum mf_code code = db_step(d, st, &row, err);
  if (!code && ret_n)
    *ret_n = sqlite3_changes(d->sqlite);
  db_end(st);
  return code;
}

enum mf_code db_find(struct db *d, enum sql sql, struct mf_str id, sqlite3_int64 *ret, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, sql, &st, err);
  if (code)
    return code;
  db_bind_str(st, 1, id);
  code = db_step(d, st, &row, err);
  if (!code)
    *ret = row ? sqlite3_column_int64(st, 0) : 0;
  db_end(st);
  return code;
}

enum mf_code db_run(struct db *d, enum sql sql, struct mf_err *err)
{
  sqlite3_stmt *st;
  bool row;
  enum mf_code code = db_begin(d, sql, &st, err);
  if (code)
    return code;
  code = db_step(d, st, &row, err);
  db_end(st);
  return code;
}

/* ---- opening ---- */

void db_close(struct db *d)
{
  for (unsigned i = 0; i < SQL_N; i++) {
    sqlite3_finalize(d->statements[i]);
    d->statements[i] = NULL;
  }
  sqlite3_close(d->sqlite);
  d->sqlite = NULL;
}

/* The folder of a path; malloc'ed. */
static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return mf_xstrdup(".");
  return slash == path ? mf_xstrdup("/") : mf_xasprintf("%.*s", (int)(slash - path), path);
}

/* SQLite would create the file by the umask; its -wal and -shm take over the mode of the file. One that exists is not
 * opened here: closing it would drop the locks that this process has on it. */
static enum mf_code create_file(const char *path, struct mf_err *err)
{
  mf_auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0)
    return MF_OK;
  int sys = errno;
  struct stat st;
  if (sys == EEXIST || stat(path, &st) == 0) {
    if (stat(path, &st) != 0) /* a link to nothing */
      return mf_fail(err, MF_E_UNAVAILABLE, errno, "database '%s' cannot be created through a link", path);
    if (!S_ISREG(st.st_mode))
      return mf_fail(err, MF_E_UNAVAILABLE, 0, "database '%s' is not a regular file; name another one", path);
    return MF_OK;
  }
  mf_auto_free char *folder = folder_of(path);
  if (sys == ENOENT || sys == ENOTDIR)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "database '%s' cannot be created: there is no folder '%s'; make it first",
                   path, folder);
  if (sys == ENOSPC || sys == EDQUOT)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "database '%s' cannot be created: the disk is full; free some space",
                   path);
  return mf_fail(err, MF_E_UNAVAILABLE, sys, "database '%s' cannot be created in '%s'; let this user write there", path,
                 folder);
}

static enum mf_code open_connection(struct db *d, const char *path, struct mf_err *err)
{
  *d = (struct db){ .path = path };
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int rc = sqlite3_open_v2(path ? path : ":memory:", &d->sqlite, flags, NULL);
  if (rc != SQLITE_OK) {
    enum mf_code code = db_fail(d, rc, err);
    int sys = d->sqlite ? sqlite3_system_errno(d->sqlite) : 0;
    if (rc == SQLITE_CANTOPEN && (sys == EACCES || sys == EPERM))
      code = db_fail(d, SQLITE_PERM, err);
    db_close(d);
    return code;
  }
  sqlite3_busy_timeout(d->sqlite, DB_BUSY_MS);
  sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  return MF_OK;
}

/* Changing the mode needs the file for oneself, and SQLite does not wait for that. */
static enum mf_code enter_wal(struct db *d, struct mf_err *err)
{
  const uint64_t deadline_ns = mf_now_ns() + DB_BUSY_MS * MF_NS_PER_MS;
  for (;;) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(d->sqlite, "PRAGMA journal_mode = WAL", -1, &st, NULL);
    if (rc == SQLITE_OK)
      rc = sqlite3_step(st);
    const char *mode = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
    bool is_wal = mode && strcmp(mode, "wal") == 0;
    sqlite3_finalize(st);
    if (is_wal)
      return MF_OK;
    if (rc == SQLITE_ROW)
      return mf_fail(err, MF_E_UNAVAILABLE, 0,
                     "database '%s' cannot be used: its file system has no shared memory; move it to a local disk",
                     d->path);
    if ((rc & 0xff) != SQLITE_BUSY || mf_now_ns() >= deadline_ns)
      return db_fail(d, rc, err);
    sqlite3_sleep(20);
  }
}

static enum mf_code set_up_writer(struct db *d, struct mf_err *err)
{
  if (d->path && sqlite3_db_readonly(d->sqlite, "main") == 1)
    return db_fail(d, SQLITE_READONLY, err);
  /* Another program's file is left as it is, its journal too. */
  sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  enum mf_code code = mf_migrations_check(d, err);
  if (code)
    return code;
  sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
  if (d->path)
    code = enter_wal(d, err);
  if (!code)
    code = db_exec(d,
                   "PRAGMA synchronous = NORMAL;"
                   "PRAGMA foreign_keys = ON;"
                   "PRAGMA secure_delete = ON;" /* what is deleted is not left in free pages */
                   "PRAGMA temp_store = MEMORY;"
                   "PRAGMA cache_size = -2048;"
                   "PRAGMA journal_size_limit = 67108864",
                   err);
  return code;
}

enum mf_code db_open_writer(struct db *d, const char *path, struct mf_err *err)
{
  *d = (struct db){ .path = path };
  enum mf_code code = path ? create_file(path, err) : MF_OK;
  if (!code)
    code = open_connection(d, path, err);
  if (!code)
    code = set_up_writer(d, err);
  if (code)
    db_close(d);
  return code;
}

enum mf_code db_open_reader(struct db *d, const char *path, struct mf_err *err)
{
  enum mf_code code = open_connection(d, path, err);
  if (code)
    return code;
  code = db_exec(d, "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024", err);
  if (code)
    db_close(d);
  return code;
}

bool db_write_back(struct db *d)
{
  int in_log = 0, written = 0;
  int rc = sqlite3_wal_checkpoint_v2(d->sqlite, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &written);
  return rc == SQLITE_OK && in_log > 0 && written == in_log;
}

/* ---- the file ---- */

enum mf_code db_file_note(const struct db *d, struct db_file *ret, struct mf_err *err)
{
  *ret = (struct db_file){ 0 };
  if (!d->path)
    return MF_OK;
  struct stat st;
  if (stat(d->path, &st) != 0)
    return mf_fail(err, MF_E_SYS, errno, "database '%s'", d->path);
  *ret = (struct db_file){ st.st_dev, st.st_ino };
  mf_auto_free char *folder = folder_of(d->path);
  mf_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* Some file systems cannot; then there is nothing to gain. */
  if (fd >= 0 && fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
    return mf_fail(err, MF_E_SYS, errno, "sync the folder '%s' of the database", folder);
  return MF_OK;
}

enum mf_code db_file_check(const struct db *d, const struct db_file *file, struct mf_err *err)
{
  struct stat st;
  if (!d->path || (stat(d->path, &st) == 0 && st.st_dev == file->dev && st.st_ino == file->ino))
    return MF_OK;
  return mf_fail(err, MF_E_UNAVAILABLE, 0,
                 "database '%s' was removed or replaced while it was in use; put it back, or restart Mayfly", d->path);
}
