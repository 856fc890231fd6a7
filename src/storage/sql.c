/* The texts of the statements. Written for SQLite ≥ 3.37 (RETURNING, STRICT). */
#include "sql.h"

#include "base/banned.h"

#define TASK                                                                                                           \
  "id, owner, idempotency_key, fingerprint, state, is_expired, created_ms, started_ms, finished_ms, expires_ms,"       \
  " input_bytes, artifact_bytes, file_bytes"

static const char *const texts[SQL_N] = {
  [SQL_BEGIN_READ] = "BEGIN",
  /* The lock is taken at once: a transaction that has read cannot always get it later. */
  [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
  [SQL_COMMIT] = "COMMIT",
  [SQL_ROLLBACK] = "ROLLBACK",
  [SQL_SAVE] = "SAVEPOINT op",
  [SQL_SAVE_RELEASE] = "RELEASE op",
  [SQL_SAVE_ROLLBACK] = "ROLLBACK TO op",
  [SQL_FIND_ANY] = "SELECT key FROM responses WHERE id = ?1",
  [SQL_FIND_LIVE] = "SELECT key FROM responses WHERE id = ?1 AND NOT is_deleted",
  [SQL_ADD_RESPONSE] = "INSERT INTO responses (id, previous_key, created_at, item_bytes, payload, tools, tool_choice,"
                       " instructions) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
  [SQL_ADD_ITEM] = "INSERT INTO items (response_key, id, is_input, is_public, is_gateway_code, json)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
  [SQL_GET_RESPONSE] = "SELECT r.key, p.id, r.created_at, r.payload, r.tools, r.tool_choice, r.instructions, r.id"
                       " FROM responses r LEFT JOIN responses p ON p.key = r.previous_key"
                       " WHERE r.id = ?1 AND NOT r.is_deleted",
  /* Each step finds one row, so they come in the order of the chain. */
  [SQL_GET_CHAIN] = "WITH RECURSIVE chain (key, previous_key, item_bytes, depth) AS ("
                    " SELECT key, previous_key, item_bytes, 1 FROM responses WHERE key = ?1"
                    " UNION ALL"
                    " SELECT r.key, r.previous_key, r.item_bytes, chain.depth + 1"
                    " FROM chain JOIN responses r ON r.key = chain.previous_key WHERE chain.depth < ?2)"
                    " SELECT key, item_bytes FROM chain",
  [SQL_GET_ITEMS] = "SELECT id, is_input, is_public, is_gateway_code, json FROM items WHERE response_key = ?1"
                    " ORDER BY key",
  [SQL_GET_ITEM] = "SELECT i.id, i.is_input, i.is_public, i.is_gateway_code, i.json"
                   " FROM items i JOIN responses r ON r.key = i.response_key"
                   " WHERE i.id = ?1 AND i.is_public AND NOT r.is_deleted ORDER BY i.key DESC LIMIT 1",
  [SQL_BURY] = "UPDATE responses SET is_deleted = 1, payload = '', tools = '', tool_choice = '', instructions = ''"
               " WHERE key = ?1",
  [SQL_PURGE] = "DELETE FROM responses WHERE key = ?1 AND is_deleted"
                " AND NOT EXISTS (SELECT 1 FROM responses child WHERE child.previous_key = ?1)"
                " RETURNING previous_key",
  [SQL_PING] = "SELECT 1 FROM responses LIMIT 1",

  [SQL_ADD_TASK] = "INSERT INTO tasks (id, owner, idempotency_key, fingerprint, state, created_ms, started_ms,"
                   " input_bytes, text_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
  [SQL_ADD_TASK_REQUEST] = "INSERT INTO task_requests (task_key, json) VALUES (?1, ?2)",
  [SQL_ADD_TASK_RESULT] = "INSERT INTO task_results (task_key, json) VALUES (?1, ?2)",
  [SQL_FIND_REPEATED] =
      "SELECT " TASK " FROM tasks WHERE owner = ?1 AND idempotency_key = ?2 AND idempotency_key <> ''",
  [SQL_FIND_TASK] = "SELECT key, state FROM tasks WHERE id = ?1 AND owner = ?2",
  [SQL_FIND_TASK_ANY] = "SELECT key FROM tasks WHERE id = ?1",
  [SQL_START_TASK] = "UPDATE tasks SET state = 1, started_ms = ?2 WHERE id = ?1 AND state = 0",
  [SQL_FINISH_TASK] = "UPDATE tasks SET state = ?2, finished_ms = ?3, expires_ms = ?4, artifact_bytes = ?5,"
                      " text_bytes = text_bytes + ?6, file_bytes = ?7"
                      " WHERE id = ?1 AND state <= 1 RETURNING key",
  [SQL_GET_TASK] = "SELECT " TASK ", q.json, r.json FROM tasks"
                   " LEFT JOIN task_requests q ON q.task_key = key LEFT JOIN task_results r ON r.task_key = key"
                   " WHERE id = ?1 AND owner = ?2",
  [SQL_LIST_TASKS] = "SELECT " TASK " FROM tasks WHERE owner = ?1 AND NOT is_expired AND key < ?2"
                     " AND (expires_ms = 0 OR expires_ms > ?5) AND (?3 < 0 OR state = ?3) ORDER BY key DESC LIMIT ?4",
  [SQL_UNFINISHED_TASKS] = "SELECT " TASK ", q.json FROM tasks LEFT JOIN task_requests q ON q.task_key = key"
                           " WHERE state <= 1 AND key > ?1 ORDER BY key LIMIT ?2",
  /* Only ended ones have expires_ms. */
  [SQL_DUE_TASKS] =
      "SELECT key, text_bytes + file_bytes FROM tasks WHERE is_expired = 0 AND expires_ms > 0 AND expires_ms <= ?1"
      " ORDER BY expires_ms LIMIT ?2",
  [SQL_EXPIRE_TASK] = "UPDATE tasks SET is_expired = 1, text_bytes = 0 WHERE key = ?1 RETURNING " TASK,
  [SQL_DROP_TASK_REQUEST] = "DELETE FROM task_requests WHERE task_key = ?1",
  [SQL_DROP_TASK_RESULT] = "DELETE FROM task_results WHERE task_key = ?1",
  [SQL_FORGET_TASKS] = "DELETE FROM tasks WHERE key IN (SELECT key FROM tasks"
                       " WHERE is_expired = 1 AND expires_ms > 0 AND expires_ms <= ?1 LIMIT ?2)",
  [SQL_DELETE_TASK] = "DELETE FROM tasks WHERE key = ?1 RETURNING iif(is_expired, 0, file_bytes)",
  [SQL_ADD_TASK_FILE] = "INSERT INTO task_files (task_key, sha256, content) VALUES (?1, ?2, ?3)",
  [SQL_GET_TASK_FILE] = "SELECT content FROM task_files"
                        " WHERE task_key = (SELECT key FROM tasks WHERE id = ?1) AND sha256 = ?2",
  [SQL_DROP_TASK_FILES] = "DELETE FROM task_files WHERE task_key = ?1",
  [SQL_SUM_FILE_BYTES] = "SELECT coalesce(sum(file_bytes), 0) FROM tasks WHERE NOT is_expired",
  [SQL_IS_TASK_KEPT] = "SELECT 1 FROM tasks WHERE id = ?1 AND NOT is_expired",

  [SQL_ADD_KEY] = "INSERT INTO api_keys (id, name, sha256, created_ms, revoked_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
  [SQL_REVOKE_KEY] = "UPDATE api_keys SET revoked_ms = iif(revoked_ms > 0, revoked_ms, ?2) WHERE id = ?1",
  [SQL_LIST_KEYS] = "SELECT id, name, sha256, created_ms, revoked_ms FROM api_keys ORDER BY key",
  [SQL_GET_KEY] = "SELECT id, name, sha256, created_ms, revoked_ms FROM api_keys WHERE id = ?1",
  [SQL_HAS_ANY_KEY] = "SELECT EXISTS (SELECT 1 FROM api_keys)",
};

const char *sql_text(enum sql sql)
{
  return texts[sql];
}
