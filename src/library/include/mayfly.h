/* libmayfly: run Python in Mayfly's sandbox from a program of your own. Three calls: submit, get, cancel.
 *
 *     struct mayfly *m;
 *     struct mayfly_error e;
 *     char id[MAYFLY_ID_N];
 *     struct mayfly_result *r;
 *     if (mayfly_open(NULL, &m, &e) == MAYFLY_OK &&
 *         mayfly_submit(m, &(struct mayfly_request){ .code = "print(6 * 7)" }, id, &e) == MAYFLY_OK &&
 *         mayfly_get(m, id, 60000, &r, &e) == MAYFLY_OK)
 *       puts(r->stdout_text);
 *
 * Programs run in the same sandboxes as those of `mayfly run`: fresh, isolated, without network. Tasks live in this
 * process: they end with mayfly_close, and are forgotten an hour after their end or by mayfly_delete.
 *
 * Thread: any, every function, also at the same time with the same `struct mayfly`; mayfly_close only when no other
 * call is under way. Strings are UTF-8 with a NUL at the end; output that was not UTF-8 has been repaired. `e` may be
 * NULL and is untouched on success. */
#ifndef MAYFLY_H
#define MAYFLY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mayfly_code {
  MAYFLY_OK,
  MAYFLY_E_INPUT,       /* the request is wrong: e->param says where */
  MAYFLY_E_NOT_FOUND,   /* no such task or artifact */
  MAYFLY_E_GONE,        /* the task has expired */
  MAYFLY_E_BUSY,        /* the queue is full: try again later */
  MAYFLY_E_UNAVAILABLE, /* this machine cannot run programs now: the message says why and what to do */
};
struct mayfly_error {
  enum mayfly_code code;
  char param[120]; /* "files[2].name", or "" */
  char message[400];
};

/* Zeros are defaults; NULL for mayfly_open means all of them. Copied. */
struct mayfly_options {
  const char *program; /* the installed `mayfly`, which holds the sandboxes; default: $MAYFLY_PROGRAM, else where it was
                          installed together with this library */
  const char *runtime; /* the provider's runtime; default: $MAYFLY_RUNTIME (wasm: $MAYFLY_WASM_RUNTIME), else the one
                          installed with the program */
  unsigned running_max; /* tasks at a time; default 2 */
  unsigned queue_max;   /* tasks that may wait; default 1000 */
  const char *provider; /* "local" (default): Linux sandboxes; "wasm": CPython in WebAssembly, where the library was
                           built with it: files in, files out, the standard library, no processes and threads */
};

struct mayfly;
/* Starts the sandboxes and waits until one has been seen to work, with every layer of isolation: else
 * MAYFLY_E_UNAVAILABLE (`mayfly doctor` says more). Takes a second or two. The environment of this process is never
 * seen by a program that it runs. */
enum mayfly_code mayfly_open(const struct mayfly_options *options, struct mayfly **ret, struct mayfly_error *e);
void mayfly_close(struct mayfly *m); /* ends what runs; NULL is fine */

struct mayfly_file {
  const char *name; /* relative: "sales.csv", "in/a.csv" */
  const void *data;
  size_t size;
};
/* Everything is borrowed until mayfly_submit returns. */
struct mayfly_request {
  const char *code;
  const struct mayfly_file *files; /* 256 at most, 20 MiB together */
  size_t file_n;
  unsigned timeout_ms;         /* 0: 60000, which is the most */
  unsigned memory_mb;          /* 0: 1024; with wasm 4096 at most */
  int display_last_expression; /* as a notebook does */
};
#define MAYFLY_ID_N 64
/* Queues the program. ret_id is written on success. */
enum mayfly_code mayfly_submit(struct mayfly *m, const struct mayfly_request *request, char ret_id[MAYFLY_ID_N],
                               struct mayfly_error *e);

enum mayfly_status {
  MAYFLY_QUEUED,
  MAYFLY_RUNNING,
  MAYFLY_SUCCEEDED,
  MAYFLY_FAILED,
  MAYFLY_TIMED_OUT,
  MAYFLY_CANCELLED,
};
struct mayfly_artifact {
  const char *artifact_id;
  const char *path; /* relative and safe as a file name; made by the program: escape it for a terminal */
  const char *mime_type, *sha256;
  uint64_t size_bytes;
};
struct mayfly_result {
  enum mayfly_status status;
  const char *reason; /* "exit", "exception", "wall_time", "memory" …; "" before the end */
  int has_exit_code, exit_code;
  const char *stdout_text, *stderr_text; /* before the end: what there is so far */
  size_t stdout_size, stderr_size;       /* bytes; a text may hold NULs */
  const struct mayfly_artifact *artifacts;
  size_t artifact_n;
  uint64_t duration_ms;
  const char *json; /* all of it, receipt included: what the task API returns */
};
/* Waits up to wait_ms for the end (0: not at all); a task that has not ended then is shown as it is. *ret is released
 * with mayfly_result_free. */
enum mayfly_code mayfly_get(struct mayfly *m, const char *id, unsigned wait_ms, struct mayfly_result **ret,
                            struct mayfly_error *e);
void mayfly_result_free(struct mayfly_result *r); /* NULL is fine */

/* Idempotent; what has ended stays as it is. */
enum mayfly_code mayfly_cancel(struct mayfly *m, const char *id, struct mayfly_error *e);

/* The bytes of an artifact, the caller's: free(). */
enum mayfly_code mayfly_artifact(struct mayfly *m, const char *id, const char *artifact_id, void **ret,
                                 size_t *ret_size, struct mayfly_error *e);
/* Ends a task where it has not ended, and forgets it. */
enum mayfly_code mayfly_delete(struct mayfly *m, const char *id, struct mayfly_error *e);

#ifdef __cplusplus
}
#endif

#endif
