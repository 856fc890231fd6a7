/* The task service of a server: see task-service.h. */
#include "task-service.h"

#include "base/log.h"

#include "base/banned.h"

static enum mf_code open_files(struct mf_task_service *t, const struct mf_config *c, struct mf_pool *pool,
                               struct mf_err *err)
{
  mf_auto_free char *dir = mf_xasprintf("%s/files", c->home);
  enum mf_code code = mf_config_make_home(c, err);
  return code ? code : mf_files_open(pool, dir, c->tasks_files_bytes, &t->files, err);
}

/* 0: the machine's memory. */
static unsigned memory_mb_max(const struct mf_config *c)
{
  uint64_t asked_mb = c->tasks_memory_mb, guest_mb = c->interpreter.guest_ceiling_bytes >> 20;
  return (unsigned)(asked_mb && guest_mb ? MF_MIN(asked_mb, guest_mb) : MF_MAX(asked_mb, guest_mb));
}

static enum mf_code start(struct mf_task_service *t, const struct mf_config *c, const struct mf_tasks_parts *parts,
                          struct mf_fiber *self, struct mf_err *err)
{
  struct mf_tasks_config config;
  struct mf_tasks_parts all = *parts;
  enum mf_code code = open_files(t, c, parts->pool, err);
  if (code)
    return code;
  all.files = t->files;
  mf_tasks_config_default(&config);
  config.running_max = (unsigned)c->tasks_concurrent;
  config.queue_max = (unsigned)c->tasks_queue;
  config.memory_mb_max = memory_mb_max(c);
  config.retention_ms = c->tasks_retention_s * 1000;
  /* What is deleted after seconds is looked for more often. */
  config.sweep_ms = MF_MIN(config.sweep_ms, MF_MAX(config.retention_ms / 4, UINT64_C(250)));
  return mf_tasks_new(&config, &all, self, &t->tasks, err);
}

enum mf_code mf_task_service_open(struct mf_task_service *t, const struct mf_config *c,
                                  const struct mf_tasks_parts *parts, struct mf_fiber *self, struct mf_err *err)
{
  struct mf_err why = { 0 };
  *t = (struct mf_task_service){ 0 };
  enum mf_code code = start(t, c, parts, self, &why);
  if (!code)
    return MF_OK;
  mf_task_service_close(t, self, 0);
  if (c->from[MF_CONFIG_TASKS_ENABLED] != MF_FROM_DEFAULT || !c->llm_api_base || code == MF_E_CANCELLED)
    return mf_fail(err, code, 0, "task API (tasks.enabled, AGENTIC_API_HOME): %s", why.msg);
  mf_log(MF_LOG_WARN, "the task API is not served (tasks.enabled = false does without): %s", why.msg);
  return MF_OK;
}

void mf_task_service_close(struct mf_task_service *t, struct mf_fiber *self, uint64_t deadline_ns)
{
  mf_tasks_close(t->tasks, self, deadline_ns);
  mf_files_close(t->files);
  *t = (struct mf_task_service){ 0 };
}
