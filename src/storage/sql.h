/* The statements, by name. Their texts are in sql.c, those that make the tables in migrations.c; there is no other SQL.
 */
#ifndef MF_STORAGE_SQL_H
#define MF_STORAGE_SQL_H

enum sql {
  SQL_BEGIN_READ,
  SQL_BEGIN_WRITE,
  SQL_COMMIT,
  SQL_ROLLBACK,
  SQL_SAVE,
  SQL_SAVE_RELEASE,
  SQL_SAVE_ROLLBACK,
  SQL_FIND_ANY,  /* id → key, deleted ones too */
  SQL_FIND_LIVE, /* id → key */
  SQL_ADD_RESPONSE,
  SQL_ADD_ITEM,
  SQL_GET_RESPONSE,
  SQL_GET_CHAIN, /* key, how many → key, item_bytes; newest first */
  SQL_GET_ITEMS,
  SQL_GET_ITEM, /* id → the newest public one of a response that is there */
  SQL_BURY,     /* key: empties a response and marks it */
  SQL_PURGE,    /* key: removes one that is marked and has no child → previous_key */
  SQL_PING,
  SQL_N
};
const char *sql_text(enum sql sql);

#endif
