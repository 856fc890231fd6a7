/* mf_stored_tasks: tasks that were loaded, in memory of their own. One thread at a time. */
#ifndef MF_STORAGE_STORED_TASKS_H
#define MF_STORAGE_STORED_TASKS_H

#include "storage/tasks.h"
#include "texts.h"

struct mf_stored_tasks {
  struct mf_store_task *tasks;
  size_t n, cap;
  uint64_t text_bytes; /* of requests and results */
  struct texts texts;
};

struct mf_stored_tasks *stored_tasks_new(void);
/* Adds all rows of a bound statement, or fewer when they are large; ends it. A statement gives the columns TASK of
 * sql.c, and behind them the request, or the request and the result, or neither. */
MF_MUST_USE enum mf_code stored_tasks_load_all(struct mf_stored_tasks *t, struct db *d, sqlite3_stmt *st,
                                               struct mf_err *err);

#endif
