/* `mayfly get`, `mayfly cancel` and `mayfly tasks`: tasks of a server. */
#include <stdio.h>

#include "base/num.h"
#include "base/path.h"
#include "base/time.h"
#include "input.h"
#include "remote-task.h"
#include "task-show.h"
#include "task-words.h"

#include "base/banned.h"

enum { OPT_WAIT = 2, OPT_STATUS, OPT_LIMIT, OPT_AFTER };
enum { WAIT_S_MAX = 86400, LIMIT_MAX = 100, TEXT_BYTES_MAX = 1 << 20 };

struct tasks_args {
  struct mf_task_words task;
  bool waits;
  uint64_t wait_s; /* 0: to the end */
  const char *status, *after;
  uint64_t limit;
};

static enum mf_code take_option(void *args, const struct mf_opt *o, const char *value, struct mf_err *err)
{
  struct tasks_args *a = args;
  if (mf_task_take(&a->task, o, value))
    return MF_OK;
  switch (o->id) {
  case OPT_WAIT:
    a->waits = true;
    return value ? mf_parse_u64(mf_str_of(value), "--wait", 1, WAIT_S_MAX, &a->wait_s, err) : MF_OK;
  case OPT_STATUS:
    a->status = value;
    return MF_OK;
  case OPT_LIMIT:
    return mf_parse_u64(mf_str_of(value), "--limit", 1, LIMIT_MAX, &a->limit, err);
  case OPT_AFTER:
    a->after = value;
    return mf_remote_is_id(mf_str_of(value)) ? MF_OK
                                             : mf_fail(err, MF_E_INPUT, 0, "--after: expected the id of a task");
  default:
    return mf_fail(err, MF_E_INTERNAL, 0, "option --%s has no meaning", o->name);
  }
}

static enum mf_code take_id(void *args, const char *word, bool ended, struct mf_err *err)
{
  return mf_task_take_id(&((struct tasks_args *)args)->task, word, err);
}

static int run_tasks_command(const struct mf_command *self, const struct mf_words *words,
                             int (*work)(struct mf_session *s), int argc, char **argv)
{
  struct tasks_args a = { .waits = false };
  int status;
  if (!mf_task_words_read(self, words, &a, argc, argv, &status))
    return status;
  return mf_task_session(&a.task, work, &a);
}

/* ---- get ---- */

static const struct mf_opt get_opts[] = {
  { OPT_WAIT, 'w', "wait", "[S]", "show what it prints until it ends; with S: wait at most S seconds, then show",
    NULL },
  MF_TASK_ROWS MF_OPT_HELP_ROW,
  MF_OPT_END,
};

static enum mf_code check_get(const void *args, struct mf_err *err)
{
  return mf_task_check_id(&((const struct tasks_args *)args)->task, "get", err);
}

static enum mf_code wait_some(struct mf_session *s, const struct tasks_args *a, struct mf_json **ret,
                              struct mf_err *err)
{
  uint64_t end_ns = mf_now_ns() + a->wait_s * MF_NS_PER_S;
  for (;;) {
    uint64_t now_ns = mf_now_ns(), left_ms = now_ns < end_ns ? (end_ns - now_ns) / MF_NS_PER_MS + 999 : 0;
    enum mf_code code = mf_remote_get(s->remote, s->self, a->task.id, left_ms, ret, err);
    if (code || left_ms == 0 || mf_remote_has_ended(mf_json_root(*ret)))
      return code;
    mf_json_free(*ret);
    *ret = NULL;
    if (mf_remote_pause(s->self, now_ns))
      return mf_fail(err, MF_E_CANCELLED, 0, "cancelled");
  }
}

static int work_get(struct mf_session *s)
{
  const struct tasks_args *a = s->user;
  mf_auto_json struct mf_json *task = NULL;
  struct mf_err err = { 0 };
  if (a->waits && a->wait_s == 0)
    return mf_task_follow(s, a->task.id, a->task.json, false);
  if (wait_some(s, a, &task, &err))
    return mf_session_fail(s, &err);
  return mf_task_show(s, mf_json_root(task), a->task.json);
}

static int run_get(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_id, .check = check_get };
  return run_tasks_command(self, &words, work_get, argc, argv);
}

const struct mf_command mf_command_get = {
  .name = "get",
  .usage = "[options] ID",
  .summary = "show a task of a server: what it printed, how it ended",
  .about =
      "Shows what a task has printed so far and, after its end, how it ended; its exit status becomes ours (0 while\n"
      "it has none; 125 when there is no such task, or no server). With --wait it shows what comes until the end;\n"
      "^C ends the watching, not the task.",
  .examples = "  mayfly get task_… --wait\n  mayfly get task_… --wait=5 --json | jq .status",
  .opts = get_opts,
  .run = run_get,
};

/* ---- cancel ---- */

static const struct mf_opt cancel_opts[] = { MF_TASK_ROWS MF_OPT_HELP_ROW, MF_OPT_END };

static enum mf_code check_cancel(const void *args, struct mf_err *err)
{
  return mf_task_check_id(&((const struct tasks_args *)args)->task, "cancel", err);
}

static int work_cancel(struct mf_session *s)
{
  const struct tasks_args *a = s->user;
  mf_auto_json struct mf_json *task = NULL;
  struct mf_err err = { 0 };
  if (mf_remote_cancel(s->remote, s->self, a->task.id, &task, &err))
    return mf_session_fail(s, &err);
  if (a->task.json)
    return mf_session_print(mf_json_root(task));
  mf_say("%s is %.*s", a->task.id, MF_STR_ARG(mf_remote_status(mf_json_root(task))));
  return 0;
}

static int run_cancel(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option, .take_word = take_id, .check = check_cancel };
  return run_tasks_command(self, &words, work_cancel, argc, argv);
}

const struct mf_command mf_command_cancel = {
  .name = "cancel",
  .usage = "[options] ID",
  .summary = "end a task of a server",
  .about = "Ends a task, or takes it out of the queue. One that has ended stays as it is.",
  .examples = "  mayfly cancel task_…",
  .opts = cancel_opts,
  .run = run_cancel,
};

/* ---- tasks ---- */

static const struct mf_opt tasks_opts[] = {
  { OPT_STATUS, 's', "status", "STATUS", "only these: queued, running, succeeded, failed, timed_out or cancelled",
    "queued running succeeded failed timed_out cancelled" },
  { OPT_LIMIT, 'n', "limit", "N", "at most so many, from 1 to 100 (default 20)", NULL },
  { OPT_AFTER, 0, "after", "ID", "those older than this one", NULL },
  MF_TASK_ROWS MF_OPT_HELP_ROW,
  MF_OPT_END,
};

static void put_cell(struct mf_buf *out, const struct mf_json_val *task, const char *key, int width)
{
  char shown[80];
  const struct mf_json_val *v = mf_json_get(task, key);
  mf_escape(mf_json_type_of(v) == MF_JSON_STR ? mf_json_str(v) : MF_STR(""), shown, sizeof(shown));
  for (char *c = shown; *c; c++) /* ids, words and times are ASCII; marks that turn a line around are not */
    *c = *c & (char)0x80 ? '?' : *c;
  mf_put(out, "%-*s  ", width, shown);
}

static void put_task(struct mf_buf *out, const struct mf_json_val *task)
{
  char size[32];
  uint64_t bytes = 0;
  put_cell(out, task, "taskId", 41);
  put_cell(out, task, "status", 9);
  put_cell(out, task, "createdAt", 24);
  put_cell(out, task, "finishedAt", 24);
  if (mf_json_u64(mf_json_get(task, "artifactBytes"), &bytes) && bytes > 0) {
    mf_size_text(bytes, size);
    mf_put(out, "%s", size);
  }
  mf_put(out, "\n");
}

static int print_table(const struct mf_json_val *list)
{
  mf_auto_buf struct mf_buf out;
  mf_buf_init(&out, TEXT_BYTES_MAX);
  struct mf_json_iter it = mf_json_iter(mf_json_get(list, "data"));
  if (it.n > 0)
    mf_put(&out, "%-41s  %-9s  %-24s  %-24s  %s\n", "ID", "STATUS", "CREATED", "FINISHED", "FILES");
  for (unsigned i = 0; i < LIMIT_MAX && mf_json_next(&it); i++)
    put_task(&out, it.val);
  return mf_print_exit(mf_buf_str(&out));
}

static int work_tasks(struct mf_session *s)
{
  const struct tasks_args *a = s->user;
  mf_auto_json struct mf_json *list = NULL;
  struct mf_err err = { 0 };
  mf_auto_free char *path = mf_xasprintf("/v1/tasks?limit=%llu%s%s%s%s", (unsigned long long)(a->limit ? a->limit : 20),
                                         a->status ? "&status=" : "", a->status ? a->status : "",
                                         a->after ? "&after=" : "", a->after ? a->after : "");
  const struct mf_remote_request req = { .method = "GET", .path = path };
  if (mf_remote_ask(s->remote, s->self, &req, &list, &err))
    return mf_session_fail(s, &err);
  if (mf_json_type_of(mf_json_get(mf_json_root(list), "data")) != MF_JSON_ARR) {
    (void)!mf_fail(&err, MF_E_UNAVAILABLE, 0, "the server's answer is not a list of tasks");
    return mf_session_fail(s, &err);
  }
  return a->task.json ? mf_session_print(mf_json_root(list)) : print_table(mf_json_root(list));
}

static int run_tasks(const struct mf_command *self, int argc, char **argv)
{
  static const struct mf_words words = { .take_option = take_option };
  return run_tasks_command(self, &words, work_tasks, argc, argv);
}

const struct mf_command mf_command_tasks = {
  .name = "tasks",
  .usage = "[options]",
  .summary = "list tasks of a server, the newest first",
  .about =
      "Lists the tasks that this user, or the key in MAYFLY_API_KEY, has given to a server. Those that ended more\n"
      "than an hour ago are gone.",
  .examples = "  mayfly tasks --status running\n  mayfly tasks --json | jq -r '.data[].taskId'",
  .opts = tasks_opts,
  .run = run_tasks,
};
