/* The texts of the statements. Written for SQLite ≥ 3.37 (RETURNING, STRICT). */
#include "sql.h"

#include "base/banned.h"

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
  [SQL_GET_RESPONSE] = "SELECT r.key, p.id, r.created_at, r.payload, r.tools, r.tool_choice, r.instructions"
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
};

const char *sql_text(enum sql sql)
{
  return texts[sql];
}
