/* A server of the task API, from a command's side: which one, and requests to it. What it answers is a stranger's
 * word: bounded, parsed strictly, and shown escaped only. Thread: the loop's; requests are made from a fiber. */
#ifndef MF_CLI_REMOTE_H
#define MF_CLI_REMOTE_H

#include "http/client.h"
#include "json/json.h"

struct mf_remote_place {
  char *base;      /* "http://127.0.0.1:9000" */
  char *unix_path; /* the socket instead of that host; NULL: none */
  bool is_guess;   /* nobody named it, and there was no socket */
};
void mf_remote_place_done(struct mf_remote_place *p);

/* MF_OK: the socket of this user's server, which is there and ours. MF_E_NOT_FOUND: there is none, or none to be
 * trusted. */
MF_MUST_USE enum mf_code mf_remote_find_local(struct mf_remote_place *ret, struct mf_err *err);
/* `where`: "auto" (the socket, else http://127.0.0.1:9000), "unix:PATH", "http://HOST", "https://HOST". NULL: what
 * MAYFLY_SERVER says, else "auto". MF_E_INPUT. */
MF_MUST_USE enum mf_code mf_remote_find(const char *where, struct mf_remote_place *ret, struct mf_err *err);
/* The value of --server, or of MAYFLY_SERVER when that is NULL, or "auto". */
const char *mf_remote_where(const char *said);

struct mf_remote;
/* Takes *place. The key is MAYFLY_API_KEY of the environment. MF_E_INPUT: that is none; those of mf_http_client_new. */
MF_MUST_USE enum mf_code mf_remote_new(struct mf_loop *loop, struct mf_remote_place *place, struct mf_remote **ret,
                                       struct mf_err *err);
void mf_remote_free(struct mf_remote *r); /* no call may be open; NULL is fine */

struct mf_remote_request {
  const char *method, *path; /* path: "/v1/tasks/…", made of ids that were checked */
  struct mf_str body;        /* JSON; empty: none */
  uint64_t idle_ms;          /* 0: 30 s */
};
/* Sends it. The call has a 2xx status; any other is an error in the server's own words: MF_E_INPUT (400, 413, 415),
 * MF_E_NOT_FOUND, MF_E_GONE (410), MF_E_CAPACITY (429), MF_E_UNAVAILABLE (401, 403, 5xx, another API, nobody there),
 * MF_E_CANCELLED. */
MF_MUST_USE enum mf_code mf_remote_open(struct mf_remote *r, struct mf_fiber *self, const struct mf_remote_request *req,
                                        struct mf_http_call **ret, struct mf_err *err);
/* The same with a JSON answer. */
MF_MUST_USE enum mf_code mf_remote_ask(struct mf_remote *r, struct mf_fiber *self, const struct mf_remote_request *req,
                                       struct mf_json **ret, struct mf_err *err);

/* An id of a task or artifact that may be part of a path. */
bool mf_remote_is_id(struct mf_str s);

#endif
