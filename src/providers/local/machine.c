/* Reading the machine's settings. Few small files of /proc and /sys, each of which may be missing. */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "sandbox/frames.h"

#include "base/banned.h"

#define FILE_BYTES_MAX (1u << 20) /* a mountinfo of thousands of mounts */

static void make_path(char ret[PATH_MAX], const char *root, const char *path)
{
  snprintf(ret, PATH_MAX, "%s%s", root, path);
}

/* The whole text, "" when it cannot be read. Files of /proc have no size, so they are read to their end. */
static void read_text(const char *root, const char *path, struct mf_buf *ret)
{
  char full[PATH_MAX], chunk[4096];
  make_path(full, root, path);
  mf_buf_init(ret, FILE_BYTES_MAX);
  mf_auto_close int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0)
    return;
  for (ssize_t n; (n = read(fd, chunk, sizeof(chunk))) != 0;) {
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 || mf_buf_append(ret, chunk, (size_t)n) != MF_OK)
      return;
  }
}

/* The first line without its newline. */
static void read_line(const char *root, const char *path, char *ret, size_t n)
{
  mf_auto_buf struct mf_buf text;
  read_text(root, path, &text);
  size_t len = MF_MIN(strcspn(text.ptr, "\n"), n - 1);
  memcpy(ret, text.ptr, len);
  ret[len] = '\0';
}

static bool line_is(const char *root, const char *path, const char *want)
{
  char line[32];
  read_line(root, path, line, sizeof(line));
  return strcmp(line, want) == 0;
}

static bool exists(const char *root, const char *path)
{
  char full[PATH_MAX];
  struct stat st;
  make_path(full, root, path);
  return lstat(full, &st) == 0;
}

static uint32_t read_zero_namespaces(const char *root)
{
  static const struct {
    const char *path;
    uint32_t layer;
  } rows[] = {
    { "/proc/sys/user/max_user_namespaces", MF_LAYER_USER }, { "/proc/sys/user/max_pid_namespaces", MF_LAYER_PID },
    { "/proc/sys/user/max_mnt_namespaces", MF_LAYER_MOUNT }, { "/proc/sys/user/max_net_namespaces", MF_LAYER_NET },
    { "/proc/sys/user/max_ipc_namespaces", MF_LAYER_IPC },   { "/proc/sys/user/max_uts_namespaces", MF_LAYER_UTS },
  };
  uint32_t ret = 0;
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++)
    if (line_is(root, rows[i].path, "0"))
      ret |= rows[i].layer;
  return ret;
}

static enum mf_container read_container(const char *root)
{
  char kind[32];
  /* First, since its pods run in what looks like any other container. */
  if (exists(root, "/var/run/secrets/kubernetes.io") || exists(root, "/run/secrets/kubernetes.io"))
    return MF_CONTAINER_KUBERNETES;
  if (exists(root, "/run/.containerenv"))
    return MF_CONTAINER_PODMAN;
  if (exists(root, "/.dockerenv"))
    return MF_CONTAINER_DOCKER;
  read_line(root, "/run/systemd/container", kind, sizeof(kind));
  if (strcmp(kind, "docker") == 0)
    return MF_CONTAINER_DOCKER;
  if (strcmp(kind, "podman") == 0)
    return MF_CONTAINER_PODMAN;
  if (kind[0])
    return MF_CONTAINER_OTHER;

  mf_auto_buf struct mf_buf cgroup;
  read_text(root, "/proc/self/cgroup", &cgroup);
  if (strstr(cgroup.ptr, "/kubepods"))
    return MF_CONTAINER_KUBERNETES;
  if (strstr(cgroup.ptr, "/docker/") || strstr(cgroup.ptr, "/docker-"))
    return MF_CONTAINER_DOCKER;
  if (strstr(cgroup.ptr, "/lxc/") || strstr(cgroup.ptr, "/lxc.payload"))
    return MF_CONTAINER_OTHER;
  return MF_CONTAINER_NONE;
}

static int read_seccomp_mode(const char *root)
{
  mf_auto_buf struct mf_buf status;
  read_text(root, "/proc/self/status", &status);
  const char *at = strstr(status.ptr, "\nSeccomp:");
  return at ? (int)strtol(at + strlen("\nSeccomp:"), NULL, 10) : 0;
}

static void read_apparmor_profile(const char *root, char *ret, size_t n)
{
  read_line(root, "/proc/self/attr/apparmor/current", ret, n);
  if (!ret[0])
    read_line(root, "/proc/self/attr/current", ret, n);
  ret[strcspn(ret, " ")] = '\0'; /* "docker-default (enforce)" */
  /* SELinux and Smack answer in the same file: only a label of theirs has a colon or stands alone as "_". */
  if (strcmp(ret, "unconfined") == 0 || strchr(ret, ':') || strcmp(ret, "_") == 0)
    ret[0] = '\0';
}

/* Looks at the mount points: what lies over /proc (the kernel then refuses a new one in a user namespace, see
 * mount_too_revealing in fs/namespace.c), and whether our root is a mount at all: in a chroot into a plain folder it is
 * not, and a chroot may make no user namespace (current_chrooted). */
static void read_mounts(const char *root, struct mf_machine *m)
{
  mf_auto_buf struct mf_buf text;
  read_text(root, "/proc/self/mountinfo", &text);
  bool has_root = false, has_any = false;

  for (char *line = text.ptr; *line;) {
    char *end = line + strcspn(line, "\n");
    char *next = *end ? end + 1 : end;
    *end = '\0';
    int at = 0;
    char point[PATH_MAX];
    if (sscanf(line, "%*s %*s %*s %*s %n%4095s", &at, point) == 1) {
      has_any = true;
      has_root |= strcmp(point, "/") == 0;
      /* binfmt_misc is mounted there by every systemd and hides nothing: the place is an empty folder for that. */
      bool harmless = strncmp(point, "/proc/sys/fs/binfmt_misc", 24) == 0;
      if (strncmp(point, "/proc/", 6) == 0 && !harmless && !m->proc_masked) {
        m->proc_masked = true;
        snprintf(m->proc_mask, sizeof(m->proc_mask), "%.63s", point);
      }
    }
    line = next;
  }
  m->chrooted = has_any && !has_root;

  /* In a chroot into a mount point the list has a "/": then only the first process's root can tell, if we may look. */
  struct stat first, ours;
  char one[PATH_MAX], self[PATH_MAX];
  make_path(one, root, "/proc/1/root");
  make_path(self, root, "/proc/self/root");
  if (!m->chrooted && root[0] == '\0' && stat(one, &first) == 0 && stat(self, &ours) == 0) {
    char ns_one[64] = "", ns_self[64] = "";
    ssize_t a = readlink("/proc/1/ns/mnt", ns_one, sizeof(ns_one) - 1);
    ssize_t b = readlink("/proc/self/ns/mnt", ns_self, sizeof(ns_self) - 1);
    bool same_ns = a > 0 && a == b && memcmp(ns_one, ns_self, (size_t)a) == 0;
    m->chrooted = same_ns && (first.st_dev != ours.st_dev || first.st_ino != ours.st_ino);
  }
}

static void read_security_modules(const char *root, struct mf_machine *m)
{
  read_line(root, "/sys/kernel/security/lsm", m->lsm, sizeof(m->lsm));
  m->landlock_absent = m->lsm[0] && !strstr(m->lsm, "landlock");
}

static void read_program(struct mf_machine *m)
{
  ssize_t n = readlink("/proc/self/exe", m->program, sizeof(m->program) - 1);
  if (n <= 0)
    snprintf(m->program, sizeof(m->program), "/usr/local/bin/mayfly");
  else
    m->program[n] = '\0';
}

void mf_machine_read(const char *root, struct mf_machine *ret)
{
  struct utsname u;
  char thp[64];

  *ret = (struct mf_machine){ .is_root = geteuid() == 0 };
  ret->zero_namespaces = read_zero_namespaces(root);
  ret->userns_clone_off = line_is(root, "/proc/sys/kernel/unprivileged_userns_clone", "0");
  ret->apparmor_restricts = line_is(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1");
  read_apparmor_profile(root, ret->apparmor_profile, sizeof(ret->apparmor_profile));
  ret->container = read_container(root);
  ret->seccomp_mode = read_seccomp_mode(root);
  read_mounts(root, ret);
  read_security_modules(root, ret);
  read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", thp, sizeof(thp));
  ret->thp_never = strstr(thp, "[never]") != NULL;
  if (uname(&u) == 0)
    snprintf(ret->kernel, sizeof(ret->kernel), "%.63s", u.release);
  read_program(ret);
}
