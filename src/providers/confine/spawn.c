/* Spawning and reaping. Thread: any; no state. */
#include "confine/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/banned.h"

#define FD_FIRST 3
/* All descriptors are moved out of the way of 3, 4, … first: dup2 in the child must not overwrite one that comes later.
 */
#define FD_FLOOR 16

int mf_spawn_plan_attr(posix_spawnattr_t *attr)
{
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!e)
    e = posix_spawnattr_setsigmask(attr, &none);
  if (!e)
    e = posix_spawnattr_setsigdefault(attr, &all);
  return e;
}

static int plan_fds(posix_spawn_file_actions_t *a, const struct mf_spawn_spec *spec, const int *high)
{
  int e = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
  if (!e)
    e = posix_spawn_file_actions_addopen(a, 1, "/dev/null", O_WRONLY, 0);
  if (!e && !spec->has_stderr)
    e = posix_spawn_file_actions_addopen(a, 2, "/dev/null", O_WRONLY, 0);
  for (unsigned i = 0; !e && i < spec->fd_n; i++)
    e = posix_spawn_file_actions_adddup2(a, high[i], FD_FIRST + (int)i);
  /* Ours are close-on-exec, but those that we inherited from a shell may not be. */
  if (!e)
    e = posix_spawn_file_actions_addclosefrom_np(a, FD_FIRST + (int)spec->fd_n);
  return e;
}

static int spawn_planned(const struct mf_spawn_spec *spec, const int *high, pid_t *ret_pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int e = posix_spawn_file_actions_init(&actions);
  if (e)
    return e;
  e = posix_spawnattr_init(&attr);
  if (!e) {
    e = plan_fds(&actions, spec, high);
    if (!e)
      e = mf_spawn_plan_attr(&attr);
    mf_auto_free char *name = mf_xstrdup(spec->argv0);
    char *argv[] = { name, NULL };
    char *envp[] = { NULL };
    /* /proc/self is the child's there, and names the same program: also when its file was replaced meanwhile. */
    if (!e)
      e = posix_spawn(ret_pid, spec->program ? spec->program : "/proc/self/exe", &actions, &attr, argv, envp);
    posix_spawnattr_destroy(&attr);
  }
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

static enum mf_code spawn_high(const struct mf_spawn_spec *spec, const int *high, struct mf_pidref *ret,
                               struct mf_err *err)
{
  pid_t pid = 0;
  int e = spawn_planned(spec, high, &pid);
  if (e)
    return mf_fail(err, MF_E_SYS, e, "execute %s", spec->program ? spec->program : "this program again");
  enum mf_code code = mf_pidref_open(ret, pid, err);
  if (code != MF_OK) {
    /* It is our child and not reaped, so the pid is still its own. */
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  return code;
}

enum mf_code mf_spawn(const struct mf_spawn_spec *spec, struct mf_pidref *ret, struct mf_err *err)
{
  assert(spec->fd_n <= MF_SPAWN_FDS_MAX);
  int high[MF_SPAWN_FDS_MAX];
  unsigned n = 0;
  enum mf_code code = MF_OK;
  for (; n < spec->fd_n && code == MF_OK; n++) {
    high[n] = fcntl(spec->fds[n], F_DUPFD_CLOEXEC, FD_FLOOR);
    if (high[n] < 0)
      code = mf_fail(err, MF_E_SYS, errno, "move a descriptor");
  }
  if (code == MF_OK)
    code = spawn_high(spec, high, ret, err);
  while (n-- > 0)
    mf_close_ptr(&high[n]);
  return code;
}

enum mf_code mf_spawn_config_fd(const void *config, size_t n, int *ret_fd, struct mf_err *err)
{
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("mayfly-config", &fd, err);
  if (code == MF_OK)
    code = mf_write_all(fd, config, n, err);
  if (code != MF_OK)
    return code;
  if (lseek(fd, 0, SEEK_SET) != 0)
    return mf_fail(err, MF_E_SYS, errno, "rewind the configuration");
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

enum mf_code mf_spawn_socket(int *ret_ours, int *ret_theirs, struct mf_err *err)
{
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, errno, "make its socket");
  mf_auto_close int ours = pair[0];
  mf_auto_close int theirs = pair[1];
  enum mf_code code = mf_fd_set_nonblock(ours, err);
  if (code != MF_OK)
    return code;
  *ret_ours = mf_take_fd(&ours);
  *ret_theirs = mf_take_fd(&theirs);
  return MF_OK;
}

bool mf_spawn_reap(struct mf_pidref *p, int *ret_status)
{
  int status = -1;
  pid_t got;
  do
    got = waitpid(p->pid, &status, WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0)
    return false;
  *ret_status = got > 0 ? status : -1;
  mf_pidref_done(p);
  return true;
}

void mf_spawn_status_words(int status, char *ret, size_t n)
{
  if (status >= 0 && WIFEXITED(status))
    snprintf(ret, n, "exit status %d", WEXITSTATUS(status));
  else if (status >= 0 && WIFSIGNALED(status))
    snprintf(ret, n, "signal %d", WTERMSIG(status));
  else
    snprintf(ret, n, "an unknown status");
}
