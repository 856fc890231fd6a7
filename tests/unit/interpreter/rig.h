/* The task service over a provider that does only what the test says, or what the program's text says. A test is a
 * fiber. */
#ifndef MF_TESTS_RIG_H
#define MF_TESTS_RIG_H

#include "unit.h"

#include "tasks-internal.h"

/* ---- the provider ---- */

struct rig;
struct fake_run {
  struct mf_run base;
  struct fake_run *next; /* newer ones behind */
  const struct mf_sandbox_events *events;
  void *user;
  char *source;
  struct mf_sandbox_limits limits;
  bool display_last_expression;
  char source_name[64];
  struct mf_buf inputs; /* "name=content;" of each */
  bool is_cancelled, is_finished;
  unsigned turns;
};

/* ---- the service ---- */

struct rig {
  struct mf_provider base;
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_executor *executor;
  struct mf_storage *storage;
  struct mf_files *files;
  struct mf_tasks *tasks;
  struct mf_fiber *self; /* of the test */
  struct mf_tasks_config config;
  unsigned permits;
  uint64_t files_max;
  char dir[64]; /* "": in memory */
  uint64_t clock_ms;
  struct fake_run *runs;
  unsigned start_n;
  enum mf_code refusal; /* of the next starts */
  unsigned refusal_n;   /* so many of them; UINT32_MAX: all */
  bool is_auto;         /* runs go on by themselves: print their text, keep a file for each "file:" in it, succeed; with
                         * "wait:" in it only when cancelled */
  void (*body)(struct rig *r);
  struct mf_err err;
  struct mf_task_fault fault;
  unsigned retry_s;
};

/* Runs body in a fiber, in memory and on disk; what was set in *r before holds for both. */
void rig_run_both(const struct rig *like, void (*body)(struct rig *r));
void rig_run_in_memory(const struct rig *like, void (*body)(struct rig *r));
void rig_run_on_disk(const struct rig *like, void (*body)(struct rig *r));
/* On disk, in two processes: `first` kills its own, `second` finds what it left. */
void rig_run_killed(const struct rig *like, void (*first)(struct rig *r), void (*second)(struct rig *r));
/* On a file system of `size` ("3m") in a process of its own; false: this user cannot mount one. */
bool rig_run_on_small_disk(const struct rig *like, const char *size, void (*body)(struct rig *r));
struct rig rig_default(void);

/* Stops and starts the service (not the process) over the same database and files. */
void rig_restart(struct rig *r);
void rig_close(struct rig *r, uint64_t deadline_ns); /* the service */
void rig_open(struct rig *r);
void rig_open_parts(struct rig *r);  /* loop, pool, executor, database, files, service */
void rig_close_parts(struct rig *r); /* but for the service */

/* Lets everything happen that can happen now. */
void rig_settle(struct rig *r);
/* Settles until it is so. */
#define RIG_UNTIL(r, what)                                                                                             \
  do                                                                                                                   \
    rig_settle(r);                                                                                                     \
  while (!(what))

struct fake_run *rig_run_of(struct rig *r, const char *source); /* that has not finished; waits for its start */
void fake_start_code(struct fake_run *f);
void fake_print(struct fake_run *f, bool is_stderr, const char *text);
void fake_finish(struct rig *r, struct fake_run *f, enum mf_run_status status, enum mf_run_reason reason,
                 const char *out, const char *artifact);
/* With several: "out/made.txt", "out/made-1.txt", …, until NULL. */
void fake_finish_with(struct rig *r, struct fake_run *f, enum mf_run_status status, enum mf_run_reason reason,
                      const char *out, const char *const *artifacts);

/* ---- calls ---- */

enum mf_code rig_try_submit(struct rig *r, const char *owner, const char *code, const char *key,
                            struct mf_task_submitted *ret);
enum mf_code rig_try_submit_files(struct rig *r, const char *owner, const char *code, const char *key,
                                  const char *const *names_and_contents, struct mf_task_submitted *ret);
struct mf_task_submitted rig_submit(struct rig *r, const char *owner, const char *code);
/* The member of the task as JSON text; the caller frees. */
char *rig_member(struct rig *r, const char *owner, const char *id, const char *key);
enum mf_code rig_get(struct rig *r, const char *owner, const char *id, uint64_t wait_ms, struct mf_buf *ret);
#define assert_member(r, owner, id, key, expected)                                                                     \
  do {                                                                                                                 \
    char *member_ = rig_member(r, owner, id, key);                                                                     \
    assert_string_equal(member_, expected);                                                                            \
    free(member_);                                                                                                     \
  } while (0)
#define assert_status(r, owner, id, expected) assert_member(r, owner, id, "status", "\"" expected "\"")
enum mf_code rig_cancel(struct rig *r, const char *owner, const char *id);
enum mf_code rig_delete(struct rig *r, const char *owner, const char *id);
/* The content of the artifact with this path; on disk only. The caller frees. */
enum mf_code rig_artifact(struct rig *r, const char *owner, const char *id, const char *path, struct mf_buf *ret);
/* Leaves no byte on its file system, until rig_free_disk of what this returns. */
int rig_fill_disk(const struct rig *r);
void rig_free_disk(int fd);
/* A database whose file was moved away takes nothing until it is back. */
void rig_move_database(const struct rig *r, bool away);
/* As another process does it to the database. */
void rig_sql(const struct rig *r, const char *sql);
unsigned rig_folder_n(const struct rig *r); /* of tasks, on disk */

#endif
