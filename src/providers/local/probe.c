/* `mayfly doctor`'s eyes: one row for each layer and each thing around it. */
#include "local/local.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "probe.h"
#include "sandbox/frames.h"

#include "base/banned.h"

struct probe {
  const struct mf_local_config *config;
  struct mf_machine machine;
  struct mf_probe_row *rows;
  unsigned n;
};

static struct mf_probe_row *add_row(struct probe *p, const char *layer, enum mf_probe_state state)
{
  struct mf_probe_row *row = &p->rows[p->n++];
  *row = (struct mf_probe_row){ .layer = layer, .state = state };
  return row;
}

struct layer_row {
  const char *name;
  const char *step; /* as mf_local_remedy knows it */
  enum mf_attempt_kind kind;
  uint32_t layer;            /* of config.disable_layers; 0: none */
  enum mf_probe_state worst; /* what its failure means */
  bool needs_user;           /* without a user namespace there is nothing to try */
};

static const struct layer_row layer_rows[] = {
  { "user namespace", "unshare user", MF_ATTEMPT_USER, MF_LAYER_USER, MF_PROBE_FAIL, false },
  { "pid namespace", "unshare pid", MF_ATTEMPT_PID, MF_LAYER_PID, MF_PROBE_FAIL, true },
  { "mount namespace", "unshare mount", MF_ATTEMPT_MOUNT, MF_LAYER_MOUNT, MF_PROBE_FAIL, true },
  { "network namespace", "unshare network", MF_ATTEMPT_NET, MF_LAYER_NET, MF_PROBE_FAIL, true },
  { "ipc namespace", "unshare ipc", MF_ATTEMPT_IPC, MF_LAYER_IPC, MF_PROBE_FAIL, true },
  { "uts namespace", "unshare uts", MF_ATTEMPT_UTS, MF_LAYER_UTS, MF_PROBE_FAIL, true },
  { "proc", "mount proc", MF_ATTEMPT_PROC, MF_LAYER_PROC, MF_PROBE_WARN,
    true }, /* a sandbox without /proc shows even less */
  { "pivot_root", "pivot root", MF_ATTEMPT_PIVOT, 0, MF_PROBE_FAIL, true },
  { "no_new_privs", "no_new_privs", MF_ATTEMPT_NNP, MF_LAYER_NNP, MF_PROBE_FAIL, false },
  { "capabilities", "drop capabilities", MF_ATTEMPT_CAPS, MF_LAYER_CAPS, MF_PROBE_FAIL, true },
  { "rlimits", "rlimits", MF_ATTEMPT_RLIMIT, MF_LAYER_RLIMIT, MF_PROBE_FAIL, false },
  { "seccomp", "seccomp", MF_ATTEMPT_SECCOMP, MF_LAYER_SECCOMP, MF_PROBE_FAIL, false },
  { "landlock", "landlock", MF_ATTEMPT_LANDLOCK, MF_LAYER_LANDLOCK, MF_PROBE_FAIL, false },
  { "pidfd", "pidfd", MF_ATTEMPT_PIDFD, 0, MF_PROBE_FAIL, false },
  { "memfd", "memfd", MF_ATTEMPT_MEMFD, 0, MF_PROBE_FAIL, false },
  { "openat2", "openat2", MF_ATTEMPT_OPENAT2, 0, MF_PROBE_FAIL, false },
  { "close_range", "close_range", MF_ATTEMPT_CLOSE_RANGE, 0, MF_PROBE_FAIL, false },
  { "cgroup", "cgroup", MF_ATTEMPT_CGROUP, MF_LAYER_CGROUP, MF_PROBE_WARN, false },
  { "huge pages", "huge pages", MF_ATTEMPT_PAGES, 0, MF_PROBE_WARN, true },
};

static void describe_failure(const struct probe *p, const struct layer_row *l, const struct mf_attempt *a,
                             struct mf_probe_row *row)
{
  const char *why = a->sys ? strerrordesc_np(a->sys) : "it had no effect";
  bool filtered = p->machine.seccomp_mode == 2 && (a->sys == EPERM || a->sys == ENOSYS);
  if (l->kind == MF_ATTEMPT_CGROUP)
    snprintf(row->detail, sizeof(row->detail), "%.250s; memory is watched by polling instead", a->note);
  else
    snprintf(row->detail, sizeof(row->detail), "%s: %s%s", a->step, why ? why : "unknown error",
             filtered ? " (a seccomp filter is around this process, as in a container)" : "");
  mf_machine_remedy(&p->machine, a->step, a->sys, row->remedy, sizeof(row->remedy));
}

static void add_layer(struct probe *p, const struct layer_row *l, bool has_user)
{
  struct mf_attempt a = { 0 };
  struct mf_probe_row *row = add_row(p, l->name, l->worst);

  if (l->kind == MF_ATTEMPT_CGROUP && !p->config->use_cgroup) {
    snprintf(row->detail, sizeof(row->detail), "switched off; memory is watched by polling instead");
    return;
  }
  if (l->layer && (p->config->disable_layers & l->layer)) {
    a = (struct mf_attempt){ .sys = l->kind == MF_ATTEMPT_LANDLOCK ? EOPNOTSUPP : EPERM };
    snprintf(a.step, sizeof(a.step), "%s", l->step);
    snprintf(a.note, sizeof(a.note), "switched off by a test");
  } else if (l->needs_user && !has_user) {
    snprintf(row->detail, sizeof(row->detail), "not tried: it needs a user namespace");
    return;
  } else {
    mf_attempt(l->kind, &a);
  }

  if (a.ok) {
    row->state = MF_PROBE_OK;
    snprintf(row->detail, sizeof(row->detail), "%s", a.note);
  } else {
    describe_failure(p, l, &a, row);
  }
}

/* ---- the runtime ---- */

/* A font for Chinese, Japanese and Korean below `dir`, by the names such fonts have. */
static bool find_font(const char *dir, unsigned depth, char *ret, size_t n)
{
  static const char *const marks[] = { "CJK",       "cjk",   "wqy",  "NotoSansSC",       "NotoSansJP",
                                       "SourceHan", "uming", "ukai", "DroidSansFallback" };
  DIR *d = opendir(dir);
  bool found = false;
  if (!d)
    return false;
  for (struct dirent *e; !found && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.')
      continue;
    if (e->d_type == DT_DIR && depth > 0) {
      mf_auto_free char *sub = mf_xasprintf("%s/%s", dir, e->d_name);
      found = find_font(sub, depth - 1, ret, n);
    }
    const char *dot = strrchr(e->d_name, '.');
    bool is_font = dot && (!strcmp(dot, ".ttf") || !strcmp(dot, ".otf") || !strcmp(dot, ".ttc"));
    for (size_t i = 0; is_font && !found && i < MF_ARRAY_N(marks); i++) {
      if (strstr(e->d_name, marks[i])) {
        snprintf(ret, n, "%.*s", (int)n - 1, e->d_name);
        found = true;
      }
    }
  }
  closedir(d);
  return found;
}

static bool add_runtime(struct probe *p)
{
  struct mf_runtime_info info = { 0 };
  struct mf_err err = { 0 };
  struct mf_probe_row *row = add_row(p, "runtime", MF_PROBE_FAIL);
  mf_auto_free char *dir = NULL;

  enum mf_code code = mf_local_find_runtime(p->config->runtime_dir, &dir, &err);
  if (code == MF_OK)
    code = mf_local_read_runtime(dir, &info, &err);
  if (code != MF_OK) {
    snprintf(row->detail, sizeof(row->detail), "%.*s", (int)sizeof(row->detail) - 1, err.msg);
    mf_machine_remedy(&p->machine, "runtime", err.sys, row->remedy, sizeof(row->remedy));
    return false;
  }
  row->state = MF_PROBE_OK;
  snprintf(row->detail, sizeof(row->detail), "%s (Python %s) in %.150s", info.id, info.python_version, dir);

  char font[120] = "";
  mf_auto_free char *fonts = mf_xasprintf("%s/rootfs/usr/share/fonts", dir);
  row = add_row(p, "CJK font", MF_PROBE_WARN);
  if (find_font(fonts, 4, font, sizeof(font))) {
    row->state = MF_PROBE_OK;
    snprintf(row->detail, sizeof(row->detail), "%s", font);
  } else {
    snprintf(row->detail, sizeof(row->detail),
             "none in the runtime: Chinese, Japanese and Korean text in plots shows as boxes");
    mf_machine_remedy(&p->machine, "font", 0, row->remedy, sizeof(row->remedy));
  }
  return true;
}

/* ---- the whole ---- */

/* The error of the whole ends with a remedy, which the row of the layer has told already. */
static void drop_told(const struct probe *p, char *detail)
{
  char *tail = strstr(detail, "; ");
  for (unsigned i = 0; tail && i < p->n; i++) {
    if (tail[2] && !strncmp(p->rows[i].remedy, tail + 2, strlen(tail + 2))) {
      *tail = '\0';
      return;
    }
  }
}

static void add_whole(struct probe *p)
{
  struct mf_attempt a;
  struct mf_local_info info;
  struct mf_probe_row *row;

  mf_probe_whole(p->config, &a, &info);
  if (a.ok) {
    row = add_row(p, "checkpoint", info.checkpointed ? MF_PROBE_OK : MF_PROBE_WARN);
    if (info.checkpointed)
      snprintf(row->detail, sizeof(row->detail), "a fork copies no page tables");
    else
      snprintf(row->detail, sizeof(row->detail), "%s; sandboxes start a little slower",
               info.checkpoint_note[0] ? info.checkpoint_note : "not used");
  }
  row = add_row(p, "whole sandbox", a.ok ? MF_PROBE_OK : MF_PROBE_FAIL);
  snprintf(row->detail, sizeof(row->detail), "%s", a.note);
  if (!a.ok) {
    drop_told(p, row->detail);
    snprintf(row->remedy, sizeof(row->remedy),
             "mend the rows marked above; where there are none, please report this text");
  }
}

unsigned mf_local_probe(const struct mf_local_config *config, struct mf_probe_row rows[MF_PROBE_ROWS_MAX])
{
  struct probe p = { .config = config, .rows = rows };
  bool has_user = true;

  mf_machine_read("", &p.machine);
  for (size_t i = 0; i < MF_ARRAY_N(layer_rows); i++) {
    add_layer(&p, &layer_rows[i], has_user);
    if (layer_rows[i].kind == MF_ATTEMPT_USER)
      has_user = rows[p.n - 1].state == MF_PROBE_OK;
  }
  if (add_runtime(&p))
    add_whole(&p);
  return p.n;
}
