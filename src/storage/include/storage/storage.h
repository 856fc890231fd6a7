/* Storage: responses and items; tasks and API keys are in storage/tasks.h. SQLite in WAL mode now; the only SQL of the
 * house. Every call is made from a fiber and runs on the worker pool; what returns MF_OK survives whatever happens to
 * this process, and with mf_storage_sync_every_commit a power failure too. Strings that come back belong to the
 * caller's result object. Thread: the loop's.
 *
 * A call is not interrupted by a cancel of its fiber: when it returns, it is done or has failed.
 *
 * Besides the codes named at each call: MF_E_UNAVAILABLE (disk full, read-only, damaged, locked, removed; the message
 * says what to do; err->sys is ENOSPC for a full disk), MF_E_SYS (the disk failed), MF_E_CAPACITY (the pool's queue is
 * full). A failed call changed nothing. Messages may name the file: they are for the log, not for a client; those of
 * MF_E_NOT_FOUND and MF_E_EXISTS name the id only. Beside the database is a file PATH-reserve: what makes room on a
 * full disk, and how a task ended, can be written with it. */
#ifndef MF_STORAGE_STORAGE_H
#define MF_STORAGE_STORAGE_H

#include "base/buf.h"
#include "loop/work.h"

struct mf_storage;
/* url: "sqlite:///abs/path", "sqlite://relative", "sqlite::memory:" or a plain path. Creates (mode 0600; the folder
 * must exist) and migrates. MF_E_INPUT: the url. MF_E_UNAVAILABLE with a clear message when it is corrupt, read-only,
 * locked, another program's or newer than we are. Thread: the loop's, may block (start-up). */
MF_MUST_USE enum mf_code mf_storage_open(struct mf_loop *loop, struct mf_pool *pool, const char *url,
                                         struct mf_storage **ret, struct mf_err *err);
/* From now on MF_OK comes after the disk has said that it has the commit; otherwise a power failure (not the end of a
 * process) may take back the last ones, never more. Thread: the loop's, start-up. */
MF_MUST_USE enum mf_code mf_storage_sync_every_commit(struct mf_storage *s, struct mf_err *err);
/* When no call is under way, and before the pool is freed. Blocks for the last checkpoint. NULL is fine. */
void mf_storage_close(struct mf_storage *s);

#define MF_STORE_BYTES_MAX (64u << 20) /* of one put, and of one history */
#define MF_STORE_DEPTH_MAX 4096u       /* responses of one history */
#define MF_STORE_REFERENCES_MAX 4096u  /* items that are asked for by id at once */

/* One stored item. `json` is the item as public or model-facing JSON without private members. */
struct mf_store_item {
  struct mf_str id; /* "" : one is not needed */
  struct mf_str json;
  bool is_input;  /* a request's input (or a gateway call/output pair kept as input) or the model's output */
  bool is_public; /* shown by input_items / output; gateway function_call pairs are not */
  bool
      is_gateway_code; /* never replayed: a gateway-executed code_interpreter_call, or a call that was never finished */
};
/* One stored response. Chain: its own items; history = the chain of previous_id. */
struct mf_store_response {
  struct mf_str id, previous_id;                  /* previous_id may be empty */
  uint64_t created_at;                            /* Unix seconds */
  struct mf_str payload;                          /* exact public JSON, returned by GET */
  struct mf_str tools, tool_choice, instructions; /* effective, JSON texts; empty when none */
  const struct mf_store_item *items;              /* this turn's, in order */
  size_t item_n;
};
/* All or nothing. MF_E_EXISTS: the response id is stored already, or was before it was deleted. MF_E_NOT_FOUND:
 * previous_id is not stored. MF_E_LIMIT: over MF_STORE_BYTES_MAX. A repeated item id collides with nothing: items have
 * keys of their own. */
MF_MUST_USE enum mf_code mf_storage_put_response(struct mf_storage *s, struct mf_fiber *self,
                                                 const struct mf_store_response *r, struct mf_err *err);
struct mf_stored; /* a loaded response, or a whole history; free with mf_stored_free */
MF_MUST_USE enum mf_code mf_storage_get_response(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                 struct mf_stored **ret, struct mf_err *err); /* MF_E_NOT_FOUND */
/* The same without its items, which may be much larger. */
MF_MUST_USE enum mf_code mf_storage_get_payload(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                struct mf_stored **ret, struct mf_err *err);
/* The response `id` and the items of its whole chain, oldest first. Bounded: MF_STORE_DEPTH_MAX, MF_STORE_BYTES_MAX
 * (MF_E_LIMIT). */
MF_MUST_USE enum mf_code mf_storage_get_history(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                struct mf_stored **ret, struct mf_err *err);
/* The newest public item under each of these ids, in their order, of responses that are not deleted; the response that
 * comes back has nothing but items. MF_E_NOT_FOUND names the first id that is not there. MF_E_LIMIT: more than
 * MF_STORE_REFERENCES_MAX, or over MF_STORE_BYTES_MAX. */
MF_MUST_USE enum mf_code mf_storage_get_items(struct mf_storage *s, struct mf_fiber *self, const struct mf_str *ids,
                                              size_t id_n, struct mf_stored **ret, struct mf_err *err);
const struct mf_store_response *mf_stored_response(const struct mf_stored *h); /* items: of the chain, for a history */
void mf_stored_free(struct mf_stored *h);
/* A deleted response is gone for GET and as a parent; its items stay for children that were made before (of it and, by
 * that, for theirs), and no longer. MF_E_NOT_FOUND. */
MF_MUST_USE enum mf_code mf_storage_delete_response(struct mf_storage *s, struct mf_fiber *self, struct mf_str id,
                                                    struct mf_err *err);
/* Readiness: a trivial query, and that the file is still the one that was opened. */
MF_MUST_USE enum mf_code mf_storage_ping(struct mf_storage *s, struct mf_fiber *self, struct mf_err *err);

#endif
