/* Tasks and API keys in the database. The rules are those of storage/storage.h: called from a fiber, runs on the worker
 * pool, MF_OK means that it survives this process; a failed call changed nothing. Times are milliseconds since 1970.
 *
 * A task row lives longer than its content: an expired one keeps its id, owner and times (so that it can be answered as
 * "gone"), and nothing that a person wrote or a program printed. */
#ifndef MF_STORAGE_TASKS_H
#define MF_STORAGE_TASKS_H

#include "base/hash.h"
#include "storage/storage.h"

enum mf_task_state {
  MF_TASK_QUEUED,
  MF_TASK_RUNNING,
  MF_TASK_SUCCEEDED,
  MF_TASK_FAILED,
  MF_TASK_TIMED_OUT,
  MF_TASK_CANCELLED,
  MF_TASK_STATE_N
};

struct mf_store_task {
  struct mf_str id, owner;       /* owner: whose key made it; "" where no keys are asked for */
  struct mf_str idempotency_key; /* "" : none */
  struct mf_str fingerprint;     /* what was asked, as hex SHA-256: the same key with another one is a conflict */
  enum mf_task_state state;
  bool is_expired;
  uint64_t created_ms, started_ms, finished_ms, expires_ms; /* 0: not yet */
  uint64_t input_bytes, artifact_bytes;
  uint64_t file_bytes;   /* of its small files, which are beside it here */
  struct mf_str request; /* JSON: all that is needed to run it */
  struct mf_str result;  /* JSON as it is shown; "" before the end */
};

/* Inserts a queued or (it starts at once) running task. MF_E_EXISTS: this owner used this idempotency key before (an
 * expired task counts, a deleted one does not); *ret_other is then that task, without request and result; free it with
 * mf_stored_tasks_free. */
struct mf_stored_tasks;
MF_MUST_USE enum mf_code mf_storage_put_task(struct mf_storage *s, struct mf_fiber *self, const struct mf_store_task *t,
                                             struct mf_stored_tasks **ret_other, struct mf_err *err);
/* The task for which this owner used this key, as *ret_other above. MF_E_NOT_FOUND: none. */
MF_MUST_USE enum mf_code mf_storage_repeated_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                                  struct mf_str idempotency_key, struct mf_stored_tasks **ret,
                                                  struct mf_err *err);
/* queued → running. MF_E_NOT_FOUND: no such queued task. */
MF_MUST_USE enum mf_code mf_storage_start_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                               uint64_t started_ms, struct mf_err *err);
/* A small file: beside its task, so that it comes and goes with it and costs no inode. Larger ones: storage/files.h. */
struct mf_store_file {
  char sha256[MF_SHA256_HEX_N]; /* its name: each content is there once */
  struct mf_str content;
};
struct mf_store_end {
  enum mf_task_state state;
  uint64_t finished_ms, expires_ms, artifact_bytes;
  struct mf_str result;
  const struct mf_store_file *files;
  size_t file_n;
  bool was_shown; /* somebody may have seen it already, and its files */
};
/* queued or running → its end, all of it or nothing. MF_E_NOT_FOUND: it has ended already, or was deleted. MF_E_LIMIT:
 * a result and files over MF_STORE_BYTES_MAX. On a full disk (err->sys is ENOSPC) an end without files has a reserve,
 * and one that was shown. */
MF_MUST_USE enum mf_code mf_storage_finish_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                const struct mf_store_end *end, struct mf_err *err);
/* A small file into *ret, which is initialised here (and only on success). MF_E_NOT_FOUND. */
MF_MUST_USE enum mf_code mf_storage_task_file(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                              const char *sha256, struct mf_buf *ret, struct mf_err *err);
/* Bytes of all small files. */
MF_MUST_USE enum mf_code mf_storage_file_bytes(struct mf_storage *s, struct mf_fiber *self, uint64_t *ret,
                                               struct mf_err *err);
/* One task of this owner, whole. MF_E_NOT_FOUND: none, or another's. */
MF_MUST_USE enum mf_code mf_storage_get_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                             struct mf_str id, struct mf_stored_tasks **ret, struct mf_err *err);
/* Up to `limit` of this owner's tasks that are not expired, nor due at now_ms, newest first, without request and
 * result, from behind the task `after` on ("": from the newest). state: MF_TASK_STATE_N for all. *ret_more: there are
 * others behind them. MF_E_NOT_FOUND: `after` is not this owner's. */
MF_MUST_USE enum mf_code mf_storage_list_tasks(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                               struct mf_str after, enum mf_task_state state, uint64_t now_ms,
                                               unsigned limit, struct mf_stored_tasks **ret, bool *ret_more,
                                               struct mf_err *err);
/* Tasks that have not ended, oldest first, without result: for the start. Up to `limit`, fewer when their requests are
 * large (MF_STORE_BYTES_MAX), behind the task `after` ("": from the oldest); none is the end. MF_E_NOT_FOUND: there is
 * no task `after`. */
MF_MUST_USE enum mf_code mf_storage_unfinished_tasks(struct mf_storage *s, struct mf_fiber *self, struct mf_str after,
                                                     unsigned limit, struct mf_stored_tasks **ret, struct mf_err *err);
/* Marks up to `limit` (at most 64 at a time) tasks whose expires_ms is not after now_ms as expired, drops their
 * request, result and small files, and returns them, oldest expiry first: their files can go. None: there are no more.
 */
MF_MUST_USE enum mf_code mf_storage_expire_tasks(struct mf_storage *s, struct mf_fiber *self, uint64_t now_ms,
                                                 unsigned limit, struct mf_stored_tasks **ret, struct mf_err *err);
/* Forgets tasks that expired at or before `before_ms`. */
MF_MUST_USE enum mf_code mf_storage_forget_tasks(struct mf_storage *s, struct mf_fiber *self, uint64_t before_ms,
                                                 struct mf_err *err);
/* Removes an ended task of this owner; *ret_file_bytes: of the small files that went with it. MF_E_NOT_FOUND;
 * MF_E_INPUT: it has not ended. */
MF_MUST_USE enum mf_code mf_storage_delete_task(struct mf_storage *s, struct mf_fiber *self, struct mf_str owner,
                                                struct mf_str id, uint64_t *ret_file_bytes, struct mf_err *err);
/* Whether the task may have files: it exists and is not expired. */
MF_MUST_USE enum mf_code mf_storage_task_is_kept(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                 bool *ret, struct mf_err *err);

size_t mf_stored_tasks_n(const struct mf_stored_tasks *t);
const struct mf_store_task *mf_stored_task(const struct mf_stored_tasks *t, size_t i); /* borrowed */
void mf_stored_tasks_free(struct mf_stored_tasks *t);                                  /* NULL is fine */

/* ---- API keys: only a digest of the secret is stored ---- */

struct mf_store_key {
  struct mf_str id;                /* public part: "key_…" */
  struct mf_str name;              /* what a person called it */
  struct mf_str sha256;            /* of the secret, hex */
  uint64_t created_ms, revoked_ms; /* 0: valid */
};
MF_MUST_USE enum mf_code mf_storage_put_key(struct mf_storage *s, struct mf_fiber *self, const struct mf_store_key *k,
                                            struct mf_err *err); /* MF_E_EXISTS */
MF_MUST_USE enum mf_code mf_storage_revoke_key(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                               uint64_t revoked_ms,
                                               struct mf_err *err); /* MF_E_NOT_FOUND; twice is fine */
struct mf_stored_keys;
/* All keys, revoked ones too, oldest first. */
MF_MUST_USE enum mf_code mf_storage_list_keys(struct mf_storage *s, struct mf_fiber *self, struct mf_stored_keys **ret,
                                              struct mf_err *err);
/* The key with this id, or none; *ret_any: whether any key is stored, revoked or not. */
MF_MUST_USE enum mf_code mf_storage_find_key(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                             struct mf_stored_keys **ret, bool *ret_any, struct mf_err *err);
size_t mf_stored_keys_n(const struct mf_stored_keys *k);
const struct mf_store_key *mf_stored_key(const struct mf_stored_keys *k, size_t i);
void mf_stored_keys_free(struct mf_stored_keys *k);

#endif
