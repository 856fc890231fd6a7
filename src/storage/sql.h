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
  /* Those that give a task give the columns TASK of sql.c. */
  SQL_ADD_TASK,
  SQL_ADD_TASK_REQUEST,
  SQL_ADD_TASK_RESULT,
  SQL_FIND_REPEATED, /* owner, idempotency_key → task */
  SQL_FIND_TASK,     /* id, owner → key, state */
  SQL_START_TASK,
  SQL_FINISH_TASK, /* → key */
  SQL_GET_TASK,    /* id, owner → task, request, result */
  SQL_LIST_TASKS,  /* owner, key, state or -1, how many, now → tasks, newest first */
  SQL_FIND_TASK_ANY,
  SQL_UNFINISHED_TASKS, /* key, how many → tasks, request; oldest first */
  SQL_DUE_TASKS,        /* now, how many → key, bytes beside it */
  SQL_EXPIRE_TASK,      /* key → task */
  SQL_DROP_TASK_REQUEST,
  SQL_DROP_TASK_RESULT,
  SQL_FORGET_TASKS, /* before, how many */
  SQL_DELETE_TASK,  /* key → bytes of its files here, unless they went before */
  SQL_ADD_TASK_FILE,
  SQL_GET_TASK_FILE, /* id, sha256 → content */
  SQL_DROP_TASK_FILES,
  SQL_SUM_FILE_BYTES,
  SQL_IS_TASK_KEPT, /* id */
  SQL_ADD_KEY,
  SQL_REVOKE_KEY,
  SQL_LIST_KEYS,
  SQL_GET_KEY, /* id */
  SQL_HAS_ANY_KEY,
  SQL_N
};
const char *sql_text(enum sql sql);

#endif
