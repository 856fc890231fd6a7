/* What the files of the task service share. Thread: the loop's. */
#ifndef MF_INTERPRETER_TASKS_INTERNAL_H
#define MF_INTERPRETER_TASKS_INTERNAL_H

#include "task-queue.h"
#include "task-table.h"

/* Ended tasks that are kept in memory: with a database, those used last; without one, all there are. */
#define TASKS_RECENT_MAX 256u
#define TASKS_RECENT_BYTES_MAX (16u << 20)
#define TASKS_ENDED_MAX 1000u
#define TASKS_ENDED_BYTES_MAX (64u << 20)
/* Without files on disk: content of all tasks together. */
#define TASKS_MEMORY_BYTES_MAX (256u << 20)
/* Code of a task that waits is kept in memory up to here; more is loaded when it is its turn. */
#define TASKS_CODE_KEPT_MAX 16384u
#define TASKS_INPUTS_KEPT_MAX 65536u /* bytes of all inputs of a task */
/* Artifacts of a task that are stored beside it in the database, in all: a file of their own on the disk takes longer
 * than the whole rest of a small task. */
#define TASKS_SMALL_FILES_MAX 65536u

struct mf_tasks {
  struct mf_tasks_config config;
  struct mf_tasks_parts parts;
  struct task_table table;
  struct task_queue queue;
  unsigned submitting_n; /* places of the queue that are being filled */
  unsigned running_n;    /* tasks that run, or are about to */
  unsigned ending_n;     /* that have run and are being saved */
  unsigned runner_n;     /* fibers of tasks */
  unsigned call_n;       /* calls from outside that are under way */
  struct mf_task_draft *drafts;
  struct task *ended_first, *ended_last; /* the one used longest ago first */
  unsigned ended_n;
  size_t ended_bytes;
  struct task *unsaved; /* have ended, and the database does not know yet; holds references */
  unsigned unsaved_n;
  uint64_t memory_bytes; /* without files on disk: content that is held */
  uint64_t small_bytes;  /* with files on disk: of artifacts in the database, counted with those */
  uint64_t run_ms;       /* of a task, on average */
  struct mf_tasks_stats stats;
  struct mf_timer *resume; /* ends a pause */
  bool is_paused;          /* the database does not take it that a task starts */
  bool is_draining;        /* nothing starts any more */
  bool is_closing, is_closed;
  struct mf_fiber *sweeper, *closer;
  unsigned sweep_n;
  uint64_t backoff_ms; /* between tries when the provider is down; doubles */
};

/* ---- tasks.c ---- */

uint64_t tasks_now_ms(const struct mf_tasks *t);
/* Every call from outside is between the two. */
void tasks_enter(struct mf_tasks *t);
void tasks_leave(struct mf_tasks *t);
/* A task of this owner, with a reference for the caller. MF_E_NOT_FOUND, MF_E_GONE. */
MF_MUST_USE enum mf_code tasks_find(struct mf_tasks *t, struct mf_fiber *self, struct mf_str owner, struct mf_str id,
                                    struct task **ret, struct mf_err *err);
/* Whether what is held may still be shown. */
MF_MUST_USE enum mf_code tasks_check_kept(const struct task *k, struct mf_err *err);
/* Whether a call to storage or files is worth another try: the worker pool had no room. Waits before. */
bool tasks_again(enum mf_code code, struct mf_fiber *self, unsigned *tries);
/* A worker has it done, where there are workers with room; else it is done here. */
void tasks_offload(struct mf_tasks *t, struct mf_fiber *self, void (*fn)(void *user), void *user);

/* ---- task-ended.c ---- */

/* One that has ended: kept among those used last. */
void tasks_keep_ended(struct mf_tasks *t, struct task *k);
void tasks_recount_ended(struct mf_tasks *t, struct task *k); /* its bytes changed */
/* Forgets it, and tells who waits. */
void tasks_drop(struct mf_tasks *t, struct task *k);

/* ---- task-run.c ---- */

/* Starts what may start. */
void tasks_dispatch(struct mf_tasks *t);
void tasks_pause(struct mf_tasks *t);
bool tasks_may_start(const struct mf_tasks *t);
/* Starts the fiber of a task that has its place among the running ones; false: not possible now. */
bool tasks_start_runner(struct mf_tasks *t, struct task *k);
void tasks_put_back(struct task *k); /* from its place into the queue, for a while */

/* ---- task-artifacts.c ---- */

struct task_outcome;
/* Takes the artifacts of a result to where they are kept. Those that cannot be are listed among the refused, and the
 * task has failed. */
void task_keep_artifacts(struct task *k, struct mf_fiber *self, struct task_outcome *o);
/* Gives up those that the database was to have. */
void task_reject_small(struct task *k, struct task_outcome *o);
/* They are the database's now; or nobody will ever want them. */
void task_settle_small(struct task *k, bool are_stored);
/* Bytes of small ones that are in the database already, or that have left it. */
void tasks_note_small(struct mf_tasks *t, uint64_t bytes);
void tasks_give_small(struct mf_tasks *t, uint64_t bytes);
/* A descriptor for mf_files_pread. MF_E_NOT_FOUND: it has been removed. */
MF_MUST_USE enum mf_code task_open_artifact(const struct task *k, struct mf_fiber *self,
                                            const struct mf_task_artifact *a, int *ret_fd, struct mf_err *err);
/* Whether there was no room: a quota, or a full disk. */
bool tasks_is_full(enum mf_code code, const struct mf_err *err);

/* ---- task-end.c ---- */

struct task_outcome {
  enum mf_task_state state;
  const char *reason;
  struct mf_sandbox_result *result; /* NULL: nothing came out */
  bool has_run;                     /* usage and receipt of the result mean something */
};
/* Decides how it ends, keeps artifacts, saves, then announces. Not interrupted by a cancel. Frees the result. */
void task_end(struct task *k, struct mf_fiber *self, struct task_outcome *o);
/* Tells the database how it ended, unless it knows. false: not possible now. */
bool task_save(struct task *k, struct mf_fiber *self);
/* Removes what is stored of files of a task. */
void tasks_remove_files(struct mf_tasks *t, struct mf_fiber *self, const char *id);

/* ---- task-json.c ---- */

#define TASK_JSON_MAX (48u << 20)

/* What has not ended, as it is now. */
void task_json_write(const struct task *k, struct mf_json_writer *w);
/* The end of it; ids: of the result's artifacts. */
void task_json_write_end(const struct task *k, const struct task_outcome *o, const char (*ids)[MF_ID_N],
                         struct mf_json_writer *w);
void task_json_write_row(const struct task *k, struct mf_json_writer *w); /* of a list */
/* The data of a status event; after the end, from the parsed result. */
void task_json_write_status(const struct task *k, struct mf_json_writer *w);
/* What the database keeps of a request, and back. MF_E_INTERNAL: not what was written. */
void task_json_write_request(const struct task *k, struct mf_str code, struct mf_json_writer *w);
MF_MUST_USE enum mf_code task_json_read_request(struct task *k, struct mf_str json, bool needs_code,
                                                struct mf_err *err);
/* The parsed result of an ended task, borrowed from it. */
MF_MUST_USE enum mf_code task_doc(struct task *k, struct mf_fiber *self, const struct mf_json_val **ret,
                                  struct mf_err *err);

/* ---- task-draft.c ---- */

bool tasks_is_draft(const struct mf_tasks *t, struct mf_str id);

/* ---- task-restart.c ---- */

MF_MUST_USE enum mf_code tasks_restart(struct mf_tasks *t, struct mf_fiber *self, struct mf_err *err);
/* A task as the database has it, with one reference. */
MF_MUST_USE enum mf_code task_of_row(struct mf_tasks *t, const struct mf_store_task *row, struct task **ret,
                                     struct mf_err *err);

/* ---- task-sweep.c ---- */

/* One round: what could not be saved, what has expired, what can be forgotten; folders of nobody when with_folders. */
void tasks_sweep(struct mf_tasks *t, struct mf_fiber *self, bool with_folders);
void tasks_save_unsaved(struct mf_tasks *t, struct mf_fiber *self); /* as many as can be */
void tasks_sweep_forever(void *user);                               /* a fiber, until it is cancelled */

#endif
