/* One task as it is known here: what was asked, where it stands, what has come out of it, and who waits for it.
 * Thread: the loop's. */
#ifndef MF_INTERPRETER_TASK_H
#define MF_INTERPRETER_TASK_H

#include "csv-hint.h"
#include "interpreter/tasks.h"

struct task_input {
  char *name;
  struct mf_file_ref ref;
  struct csv_hint hint;
  struct mf_buf data; /* the content; with files on disk only for a while: shorter than ref says where it is not here */
  bool is_on_disk;
};

/* A fiber that waits for something new of a task. On its stack. */
struct task_waiter {
  struct mf_fiber *fiber;
  struct task_waiter *next;
};

/* A small artifact; each content once. */
struct task_file {
  char sha256[MF_SHA256_HEX_N];
  struct mf_buf data;
};

struct task {
  struct mf_tasks *tasks;
  char id[MF_ID_N];
  char *owner, *idempotency_key;
  char fingerprint[MF_SHA256_HEX_N];
  enum mf_task_state state; /* as it is shown */
  uint64_t created_ms, started_ms, finished_ms, expires_ms;
  uint64_t input_bytes, artifact_bytes;
  uint64_t held_bytes; /* without files on disk: of these, in memory */

  char *code; /* NULL: is in the database */
  size_t code_n;
  uint64_t timeout_ms;
  unsigned memory_mb;
  bool display_last_expression;
  char source_name[256]; /* "": none of its own */
  struct task_input *inputs;
  unsigned input_n;

  struct mf_buf out, err;   /* while it runs */
  struct mf_buf result;     /* after the end: the task as JSON */
  struct mf_json *doc;      /* the same, parsed when first asked for */
  struct mf_artifact *kept; /* without files on disk: the artifacts */
  unsigned kept_n;
  struct task_file *files; /* small artifacts, until the database has them */
  unsigned file_n;

  struct mf_fiber *runner;
  bool has_started;     /* its code runs, or has run */
  bool is_hidden;       /* being submitted: nobody knows it yet */
  bool is_storing;      /* runs already while the database takes it */
  bool is_refused;      /* which it did not: what comes out is dropped */
  bool is_queued;       /* is in the queue */
  bool is_marked;       /* the database has it as running */
  bool is_cancel_asked; /* somebody wants it to end */
  bool is_ending;       /* how it ends is decided */
  bool is_saved;        /* the database knows the end */
  bool is_expired;      /* its content is gone */
  bool is_gone;         /* it does not exist any more, but for those who hold it */
  struct task_waiter *waiters;
  unsigned ref_n;

  struct task *bucket_next, *older, *newer; /* table */
  struct task *queue_next;                  /* queue */
  struct task *ended_prev, *ended_next;     /* ended ones that are kept: the one used last at the end */
  bool is_in_table, is_in_ended;
  size_t ended_bytes; /* what it counted as when it came there */
  struct task *unsaved_next;
};

struct task *task_new(struct mf_tasks *t, const char *id, struct mf_str owner); /* one reference */
void task_ref(struct task *k);
void task_unref(struct task *k);
bool task_has_ended(const struct task *k);
/* Content goes, id and times stay. */
void task_strip(struct task *k);
size_t task_bytes(const struct task *k); /* of content in memory */
/* What is on the disk is no longer in memory too. */
void task_leave_to_disk(struct task *k);
void task_inputs_free(struct task_input *inputs, unsigned n);
void task_files_free(struct task *k);

/* Something changed: everybody who waits looks again. */
void task_announce(struct task *k);
/* Waits until the task is announced, or as mf_fiber_wait. */
enum mf_code task_wait(struct task *k, struct mf_fiber *self, uint64_t deadline_ns);

const char *task_state_name(enum mf_task_state s);

#endif
