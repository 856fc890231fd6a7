/* See rig.h. */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "base/banned.h"

enum { TURNS = 12 };

/* ---- the provider ---- */

void fake_start_code(struct fake_run *f)
{
  f->events->started(f->user);
}

void fake_print(struct fake_run *f, bool is_stderr, const char *text)
{
  f->events->output(f->user, is_stderr, mf_str_of(text));
}

static void unlink_run(struct rig *r, struct fake_run *f)
{
  struct fake_run **at = &r->runs;
  while (*at != f)
    at = &(*at)->next;
  *at = f->next;
}

static void add_artifact(struct mf_sandbox_result *result, const char *path, const char *content)
{
  result->artifacts = mf_xrealloc(result->artifacts, (result->artifact_n + 1) * sizeof(*result->artifacts));
  struct mf_artifact *a = &result->artifacts[result->artifact_n++];
  *a = (struct mf_artifact){ .path = mf_xstrdup(path), .size_bytes = strlen(content), .mime_type = "text/plain" };
  assert_int_equal(mf_memfd("test", &a->fd, NULL), MF_OK);
  assert_int_equal(mf_write_all(a->fd, content, strlen(content), NULL), MF_OK);
  mf_sha256_of(mf_str_of(content), a->sha256);
}

void fake_finish(struct rig *r, struct fake_run *f, enum mf_run_status status, enum mf_run_reason reason,
                 const char *out, const char *artifact)
{
  const char *const artifacts[] = { artifact, NULL };
  fake_finish_with(r, f, status, reason, out, artifacts);
}

void fake_finish_with(struct rig *r, struct fake_run *f, enum mf_run_status status, enum mf_run_reason reason,
                      const char *out, const char *const *artifacts)
{
  struct mf_sandbox_result *result = mf_sandbox_result_new();
  result->status = status;
  result->reason = reason;
  result->has_exit_code = status == MF_RUN_SUCCEEDED || status == MF_RUN_FAILED;
  result->exit_code = status == MF_RUN_FAILED;
  result->duration_ms = 5;
  memcpy(result->receipt.provider, "fake", 5);
  result->receipt.limits = f->limits;
  mf_buf_init(&result->out, 1u << 20);
  assert_int_equal(mf_buf_append_str(&result->out, mf_str_of(out)), MF_OK);
  for (unsigned i = 0; artifacts[i]; i++) {
    mf_auto_free char *path = i == 0 ? mf_xstrdup("out/made.txt") : mf_xasprintf("out/made-%u.txt", i);
    add_artifact(result, path, artifacts[i]);
  }
  f->is_finished = true;
  unlink_run(r, f);
  f->events->finished(f->user, result);
  const struct mf_sandbox_events *events = f->events;
  void *user = f->user;
  free(f->source);
  mf_buf_done(&f->inputs);
  free(f);
  events->released(user);
}

static void on_turn(void *user)
{
  struct fake_run *f = user;
  struct rig *r = (struct rig *)f->base.provider;
  bool is_over = f->turns >= 2 && !strstr(f->source, "wait:");
  f->turns++;
  if (f->turns == 1 && !f->is_cancelled)
    fake_start_code(f);
  if (f->turns == 2 && !f->is_cancelled)
    fake_print(f, false, f->source);
  if (is_over || f->is_cancelled) {
    const char *file = strstr(f->source, "file:");
    fake_finish(r, f, f->is_cancelled ? MF_RUN_CANCELLED : MF_RUN_SUCCEEDED,
                f->is_cancelled ? MF_REASON_CANCELLED : MF_REASON_EXIT, is_over ? f->source : "", file);
    return;
  }
  assert_int_equal(mf_loop_defer(r->loop, on_turn, f, NULL), MF_OK);
}

static enum mf_code fake_start(struct mf_provider *p, const struct mf_sandbox_spec *spec,
                               const struct mf_sandbox_events *events, void *user, struct mf_run **ret,
                               struct mf_err *err)
{
  struct rig *r = (struct rig *)p;
  if (r->refusal_n > 0) {
    r->refusal_n -= r->refusal_n != UINT32_MAX;
    return mf_fail(err, r->refusal, 0, "the fake says no");
  }
  struct fake_run *f = mf_xcalloc(1, sizeof(*f)), **end = &r->runs;
  *f = (struct fake_run){ .base = { p }, .events = events, .user = user, .limits = spec->limits };
  f->source = mf_xasprintf("%.*s", MF_STR_ARG(spec->source));
  f->display_last_expression = spec->display_last_expression;
  snprintf(f->source_name, sizeof(f->source_name), "%.*s", MF_STR_ARG(spec->source_name));
  mf_buf_init(&f->inputs, 1u << 20);
  for (unsigned i = 0; i < spec->file_n; i++)
    if (spec->files[i].data.len < 1000)
      assert_int_equal(
          mf_buf_printf(&f->inputs, "%.*s=%.*s;", MF_STR_ARG(spec->files[i].name), MF_STR_ARG(spec->files[i].data)),
          MF_OK);
  while (*end)
    end = &(*end)->next;
  *end = f;
  r->start_n++;
  *ret = &f->base;
  return r->is_auto ? mf_loop_defer(r->loop, on_turn, f, err) : MF_OK;
}

static void fake_cancel(struct mf_run *run)
{
  struct fake_run *f = (struct fake_run *)run;
  struct rig *r = (struct rig *)run->provider;
  bool was_cancelled = f->is_cancelled;
  f->is_cancelled = true;
  if (!r->is_auto && !was_cancelled)
    assert_int_equal(mf_loop_defer(r->loop, on_turn, f, NULL), MF_OK);
}

static const struct mf_provider_ops fake_ops = { .name = "fake", .start = fake_start, .cancel = fake_cancel };

/* ---- the service ---- */

static uint64_t now_ms(void *user)
{
  return ((struct rig *)user)->clock_ms;
}

struct rig rig_default(void)
{
  struct rig r = { .permits = 2, .files_max = 1u << 30, .clock_ms = 1767225600000 };
  mf_tasks_config_default(&r.config);
  r.config.sweep_ms = 3600000; /* tests sweep themselves */
  return r;
}

void rig_open_parts(struct rig *r)
{
  assert_ok(mf_pool_new(r->loop, 3, 256, &r->pool, &r->err), &r->err);
  assert_ok(mf_executor_new(r->loop, &r->base, r->permits, &r->executor, &r->err), &r->err);
  if (!r->dir[0])
    return;
  char path[128];
  snprintf(path, sizeof(path), "%s/db", r->dir);
  assert_ok(mf_storage_open(r->loop, r->pool, path, &r->storage, &r->err), &r->err);
  snprintf(path, sizeof(path), "%s/files", r->dir);
  assert_ok(mf_files_open(r->pool, path, r->files_max, &r->files, &r->err), &r->err);
}

void rig_open(struct rig *r)
{
  const struct mf_tasks_parts parts = { r->loop, r->pool, r->executor, r->storage, r->files };
  r->config.now_ms = now_ms;
  r->config.clock = r;
  assert_ok(mf_tasks_new(&r->config, &parts, r->self, &r->tasks, &r->err), &r->err);
  r->tasks->backoff_ms = 1;
}

void rig_close(struct rig *r, uint64_t deadline_ns)
{
  mf_tasks_close(r->tasks, r->self, deadline_ns);
  r->tasks = NULL;
}

void rig_restart(struct rig *r)
{
  rig_close(r, 1);
  rig_open(r);
}

void rig_close_parts(struct rig *r)
{
  rig_settle(r);
  assert_null(r->runs);
  mf_executor_free(r->executor);
  mf_files_close(r->files);
  mf_storage_close(r->storage);
}

static void run_body(void *user)
{
  struct rig *r = user;
  r->self = mf_fiber_self(r->loop);
  rig_open_parts(r);
  rig_open(r);
  r->body(r);
  if (r->tasks)
    rig_close(r, 1);
  rig_close_parts(r);
  mf_loop_stop(r->loop);
}

static void run(const struct rig *like, const char *dir, void (*body)(struct rig *r))
{
  struct rig *r = mf_xcalloc(1, sizeof(*r));
  *r = *like;
  mf_log_set_level(MF_LOG_ERROR);
  r->base.ops = &fake_ops;
  r->body = body;
  snprintf(r->dir, sizeof(r->dir), "%s", dir);
  assert_ok(mf_loop_new(&r->loop, &r->err), &r->err);
  assert_ok(mf_fiber_start(r->loop, run_body, r, 1u << 20, NULL, &r->err), &r->err);
  assert_ok(mf_loop_run(r->loop, &r->err), &r->err);
  mf_pool_free(r->pool);
  mf_loop_free(r->loop);
  free(r);
}

void rig_run_in_memory(const struct rig *like, void (*body)(struct rig *r))
{
  run(like, "", body);
}

void rig_run_on_disk(const struct rig *like, void (*body)(struct rig *r))
{
  char dir[] = "/tmp/mayfly-test-tasks-XXXXXX", command[128];
  assert_non_null(mkdtemp(dir));
  run(like, dir, body);
  snprintf(command, sizeof(command), "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

void rig_run_killed(const struct rig *like, void (*first)(struct rig *r), void (*second)(struct rig *r))
{
  char dir[] = "/tmp/mayfly-test-tasks-XXXXXX", command[128];
  assert_non_null(mkdtemp(dir));
  pid_t pid = fork();
  assert_int_not_equal(pid, -1);
  if (pid == 0) {
    run(like, dir, first);
    _exit(1);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  run(like, dir, second);
  snprintf(command, sizeof(command), "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

static bool write_text(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool is_ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0)
    close(fd);
  return is_ok;
}

static bool become_root_of_a_namespace(void)
{
  char uids[40], gids[40];
  snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
  snprintf(gids, sizeof(gids), "0 %u 1", getegid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", uids) &&
         write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", gids);
}

bool rig_run_on_small_disk(const struct rig *like, const char *size, void (*body)(struct rig *r))
{
  enum { CANNOT = 77 };
  char dir[] = "/tmp/mayfly-test-tasks-XXXXXX", options[32];
  snprintf(options, sizeof(options), "size=%s", size);
  assert_non_null(mkdtemp(dir));
  fflush(stdout);
  pid_t pid = fork();
  assert_int_not_equal(pid, -1);
  if (pid == 0) {
    if ((unshare(CLONE_NEWNS) != 0 && !become_root_of_a_namespace()) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("mf", dir, "tmpfs", 0, options) != 0)
      _exit(CANNOT);
    run(like, dir, body);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(rmdir(dir), 0);
  assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CANNOT));
  return WEXITSTATUS(status) == 0;
}

void rig_run_both(const struct rig *like, void (*body)(struct rig *r))
{
  rig_run_in_memory(like, body);
  rig_run_on_disk(like, body);
}

void rig_settle(struct rig *r)
{
  for (unsigned i = 0; i < TURNS; i++)
    assert_int_equal(mf_fiber_sleep(r->self, 0), MF_OK);
  /* Workers need time of their own. */
  if (r->storage)
    assert_int_equal(mf_fiber_sleep(r->self, MF_NS_PER_MS), MF_OK);
}

struct fake_run *rig_run_of(struct rig *r, const char *source)
{
  for (;;) {
    for (struct fake_run *f = r->runs; f; f = f->next)
      if (strcmp(f->source, source) == 0)
        return f;
    rig_settle(r);
  }
}

/* ---- calls ---- */

enum mf_code rig_try_submit_files(struct rig *r, const char *owner, const char *code, const char *key,
                                  const char *const *files, struct mf_task_submitted *ret)
{
  struct mf_task_request request;
  struct mf_task_draft *d = mf_task_draft_new(r->tasks, mf_str_of(owner));
  enum mf_code result = MF_OK;
  mf_task_request_default(&request);
  request.code = mf_str_of(code);
  r->fault = (struct mf_task_fault){ 0 };
  for (; files && *files && !result; files += 2) {
    result = mf_task_draft_file(d, r->self, mf_str_of(files[0]), &r->fault, &r->err);
    if (!result)
      result = mf_task_draft_data(d, r->self, mf_str_of(files[1]), &r->fault, &r->err);
  }
  if (result) {
    mf_task_draft_free(d, r->self);
    return result;
  }
  return mf_tasks_submit(r->tasks, r->self, d, &request, mf_str_of(key), ret, &r->retry_s, &r->fault, &r->err);
}

enum mf_code rig_try_submit(struct rig *r, const char *owner, const char *code, const char *key,
                            struct mf_task_submitted *ret)
{
  return rig_try_submit_files(r, owner, code, key, NULL, ret);
}

struct mf_task_submitted rig_submit(struct rig *r, const char *owner, const char *code)
{
  struct mf_task_submitted s = { .is_replay = true };
  assert_ok(rig_try_submit(r, owner, code, "", &s), &r->err);
  assert_false(s.is_replay);
  return s;
}

enum mf_code rig_get(struct rig *r, const char *owner, const char *id, uint64_t wait_ms, struct mf_buf *ret)
{
  uint64_t deadline_ns = wait_ms ? mf_now_ns() + wait_ms * MF_NS_PER_MS : 0;
  return mf_tasks_get(r->tasks, r->self, mf_str_of(owner), mf_str_of(id), deadline_ns, ret, &r->err);
}

char *rig_member(struct rig *r, const char *owner, const char *id, const char *key)
{
  const struct mf_json_limits limits = { .bytes_max = TASK_JSON_MAX, .depth_max = 16 };
  struct mf_json *doc = NULL;
  struct mf_json_writer w;
  struct mf_buf text, member;
  assert_ok(rig_get(r, owner, id, 0, &text), &r->err);
  assert_ok(mf_json_parse(mf_buf_str(&text), &limits, &doc, &r->err), &r->err);
  mf_buf_init(&member, TASK_JSON_MAX);
  mf_jw_init(&w, &member, false);
  const struct mf_json_val *v = mf_json_get(mf_json_root(doc), key);
  if (v)
    mf_jw_val(&w, v);
  char *ret = mf_buf_take(&member, NULL);
  mf_buf_done(&member);
  mf_buf_done(&text);
  mf_json_free(doc);
  return ret;
}

enum mf_code rig_cancel(struct rig *r, const char *owner, const char *id)
{
  return mf_tasks_cancel(r->tasks, r->self, mf_str_of(owner), mf_str_of(id), &r->err);
}

enum mf_code rig_delete(struct rig *r, const char *owner, const char *id)
{
  return mf_tasks_delete(r->tasks, r->self, mf_str_of(owner), mf_str_of(id), &r->err);
}

enum mf_code rig_artifact(struct rig *r, const char *owner, const char *id, const char *path, struct mf_buf *ret)
{
  struct mf_task_artifact a;
  char *list = rig_member(r, owner, id, "artifacts");
  mf_auto_free char *wanted = mf_xasprintf("\"path\":\"%s\"", path);
  const char *at = strstr(list, wanted), *key = "\"artifactId\":\"";
  assert_non_null(at);
  while (strncmp(at, key, strlen(key)) != 0)
    at--;
  at += strlen(key);
  const struct mf_str artifact_id = { at, strcspn(at, "\"") };
  enum mf_code code = mf_tasks_artifact(r->tasks, r->self, mf_str_of(owner), mf_str_of(id), artifact_id, &a, &r->err);
  free(list);
  if (code)
    return code;
  size_t n = (size_t)a.ref.size_bytes, got = 0;
  char *bytes = mf_xmalloc(n + 1);
  assert_ok(mf_files_pread(r->files, r->self, a.fd, bytes, n + 1, 0, &got, &r->err), &r->err);
  assert_int_equal(got, n);
  bytes[n] = 0;
  *ret = (struct mf_buf){ .ptr = bytes, .len = n, .cap = n + 1, .max = n };
  mf_task_artifact_done(&a);
  return MF_OK;
}

int rig_fill_disk(const struct rig *r)
{
  char path[128], block[4096] = "";
  snprintf(path, sizeof(path), "%s/filler", r->dir);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_int_not_equal(fd, -1);
  for (size_t n = sizeof(block); n > 0; n /= 2)
    while (write(fd, block, n) > 0)
      ;
  return fd;
}

void rig_free_disk(int fd)
{
  assert_int_equal(ftruncate(fd, 0), 0);
  close(fd);
}

void rig_move_database(const struct rig *r, bool away)
{
  char path[128], moved[140];
  snprintf(path, sizeof(path), "%s/db", r->dir);
  snprintf(moved, sizeof(moved), "%s.moved", path);
  assert_int_equal(away ? rename(path, moved) : rename(moved, path), 0);
}

void rig_sql(const struct rig *r, const char *sql)
{
  sqlite3 *db = NULL;
  char path[128];
  snprintf(path, sizeof(path), "%s/db", r->dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

unsigned rig_folder_n(const struct rig *r)
{
  char path[128];
  snprintf(path, sizeof(path), "%s/files", r->dir);
  DIR *d = opendir(path);
  assert_non_null(d);
  unsigned n = 0;
  const struct dirent *e;
  while ((e = readdir(d)))
    n += strncmp(e->d_name, "task_", 5) == 0;
  closedir(d);
  return n;
}
