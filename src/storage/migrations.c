/* Migrations: numbered, applied in order, never changed once released: a new one is a new row.
 *
 * The number of the last one is in the file (user_version), written by the transaction that applied it. */
#include "migrations.h"

#include "base/banned.h"

static const char to_1_responses_and_items[] =
    /* previous_key is always smaller than key: a parent is stored before its child. A deleted response stays as an
     * empty row while it has children. item_bytes is what its items weigh, so that a history can be refused before it
     * is read. */
    "CREATE TABLE responses ("
    " key INTEGER PRIMARY KEY,"
    " id TEXT NOT NULL UNIQUE,"
    " previous_key INTEGER REFERENCES responses (key),"
    " created_at INTEGER NOT NULL,"
    " is_deleted INTEGER NOT NULL DEFAULT 0,"
    " item_bytes INTEGER NOT NULL,"
    " payload TEXT NOT NULL,"
    " tools TEXT NOT NULL,"
    " tool_choice TEXT NOT NULL,"
    " instructions TEXT NOT NULL) STRICT;"
    "CREATE INDEX responses_previous ON responses (previous_key) WHERE previous_key IS NOT NULL;"
    /* In the order of their keys. An id is what upstream or a client said: not unique, and no key. */
    "CREATE TABLE items ("
    " key INTEGER PRIMARY KEY,"
    " response_key INTEGER NOT NULL REFERENCES responses (key) ON DELETE CASCADE,"
    " id TEXT NOT NULL,"
    " is_input INTEGER NOT NULL,"
    " is_public INTEGER NOT NULL,"
    " is_gateway_code INTEGER NOT NULL,"
    " json TEXT NOT NULL) STRICT;"
    "CREATE INDEX items_response ON items (response_key);";

static const char to_2_items_by_id[] = "CREATE INDEX items_id ON items (id);";

static const char to_3_tasks_and_keys[] =
    /* The numbers of enum mf_task_state; 0 and 1 have not ended. In the order of their keys. Times: 0 is "not yet". */
    "CREATE TABLE tasks ("
    " key INTEGER PRIMARY KEY,"
    " id TEXT NOT NULL UNIQUE,"
    " owner TEXT NOT NULL,"
    " idempotency_key TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL,"
    " state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),"
    " is_expired INTEGER NOT NULL DEFAULT 0,"
    " created_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0,"
    " finished_ms INTEGER NOT NULL DEFAULT 0,"
    " expires_ms INTEGER NOT NULL DEFAULT 0,"
    " input_bytes INTEGER NOT NULL,"
    " artifact_bytes INTEGER NOT NULL DEFAULT 0,"
    " text_bytes INTEGER NOT NULL) STRICT;" /* of its request and result */
    "CREATE UNIQUE INDEX tasks_idempotency ON tasks (owner, idempotency_key) WHERE idempotency_key <> '';"
    "CREATE INDEX tasks_owner ON tasks (owner) WHERE NOT is_expired;"
    "CREATE INDEX tasks_unfinished ON tasks (key) WHERE state <= 1;"
    "CREATE INDEX tasks_expires ON tasks (is_expired, expires_ms) WHERE expires_ms > 0;"
    /* Apart, so that a change of state does not write them again. They go when the task expires. */
    "CREATE TABLE task_requests ("
    " task_key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,"
    " json TEXT NOT NULL) STRICT;"
    "CREATE TABLE task_results ("
    " task_key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,"
    " json TEXT NOT NULL) STRICT;"
    /* Of API keys only a digest. */
    "CREATE TABLE api_keys ("
    " key INTEGER PRIMARY KEY,"
    " id TEXT NOT NULL UNIQUE,"
    " name TEXT NOT NULL,"
    " sha256 TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " revoked_ms INTEGER NOT NULL DEFAULT 0) STRICT;";

static const char to_4_files_of_tasks[] =
    /* Small ones; the others are on the disk, under the same names. They go when the task expires. */
    "CREATE TABLE task_files ("
    " key INTEGER PRIMARY KEY,"
    " task_key INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,"
    " sha256 TEXT NOT NULL,"
    " content BLOB NOT NULL,"
    " UNIQUE (task_key, sha256)) STRICT;"
    "ALTER TABLE tasks ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;"; /* of these */

struct migration {
  int number;
  const char *sql;
};

static const struct migration migrations[] = {
  { 1, to_1_responses_and_items },
  { 2, to_2_items_by_id },
  { 3, to_3_tasks_and_keys },
  { 4, to_4_files_of_tasks },
};

static const int newest = 4;

static enum mf_code read_version(struct db *d, sqlite3_int64 *ret, struct mf_err *err)
{
  return db_pragma_int(d, "PRAGMA user_version", ret, err);
}

/* What tells whose file it is. Read in one transaction: between two reads of a new file another could migrate it, and
 * then it would look like a third one's. */
struct marks {
  sqlite3_int64 application, version, tables;
};

static enum mf_code read_marks(struct db *d, struct marks *ret, struct mf_err *err)
{
  enum mf_code code = db_exec(d, "BEGIN", err);
  if (code)
    return code;
  code = db_pragma_int(d, "PRAGMA application_id", &ret->application, err);
  if (!code)
    code = read_version(d, &ret->version, err);
  if (!code)
    code = db_pragma_int(d, "SELECT count(*) FROM sqlite_schema", &ret->tables, err);
  if (!code)
    code = db_exec(d, "COMMIT", err);
  if (code && !sqlite3_get_autocommit(d->sqlite))
    (void)db_exec(d, "ROLLBACK", NULL);
  return code;
}

enum mf_code mf_migrations_check(struct db *d, struct mf_err *err)
{
  struct marks m = { 0 };
  enum mf_code code = read_marks(d, &m, err);
  if (code)
    return code;
  bool is_new = m.application == 0 && m.version == 0 && m.tables == 0;
  const char *path = d->path ? d->path : ":memory:";
  if (!is_new && m.application != MF_STORAGE_APPLICATION_ID)
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "database '%s' belongs to another program and was left as it is; name another file", path);
  if (m.version > newest)
    return mf_fail(err, MF_E_UNAVAILABLE, 0,
                   "database '%s' was written by a newer Mayfly (schema %lld, this one knows %d); "
                   "use that version, or name another file",
                   path, (long long)m.version, newest);
  return MF_OK;
}

static enum mf_code apply(struct db *d, const struct migration *m, struct mf_err *err)
{
  enum mf_code code = db_exec(d, m->sql, err);
  if (code)
    return mf_wrap(err, code, "migrate the database to schema %d", m->number);
  char pragmas[100];
  sqlite3_snprintf(sizeof(pragmas), pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d", m->number,
                   MF_STORAGE_APPLICATION_ID);
  return db_exec(d, pragmas, err);
}

static enum mf_code apply_next(struct db *d, bool *ret_more, struct mf_err *err)
{
  enum mf_code code = db_exec(d, "BEGIN IMMEDIATE", err);
  if (code)
    return code;
  /* Whoever waited for the lock sees here what the other has done. */
  sqlite3_int64 version = 0;
  code = read_version(d, &version, err);
  const struct migration *next = NULL;
  for (unsigned i = 0; i < MF_ARRAY_N(migrations) && !next; i++)
    if (migrations[i].number > version)
      next = &migrations[i];
  if (!code && next)
    code = apply(d, next, err);
  if (!code)
    code = db_exec(d, "COMMIT", err);
  if (code && !sqlite3_get_autocommit(d->sqlite))
    (void)db_exec(d, "ROLLBACK", NULL);
  *ret_more = next != NULL;
  return code;
}

enum mf_code mf_migrations_apply(struct db *d, struct mf_err *err)
{
  enum mf_code code = mf_migrations_check(d, err);
  sqlite3_int64 version = 0;
  if (!code)
    code = read_version(d, &version, err);
  /* One that is up to date is not written to. */
  for (bool more = version < newest; !code && more;)
    code = apply_next(d, &more, err);
  return code;
}
