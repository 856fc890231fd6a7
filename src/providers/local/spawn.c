/* Spawning and reaping of the supervisor. */
#include "supervisor-spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "spawn-attr.h"
#include "base/banned.h"

/* Both descriptors are moved out of the way of 3 and 4 first: dup2 in the child must not overwrite the one that comes
 * second. */
#define FD_FLOOR 16

static enum mf_code move_up(int *fd, struct mf_err *err)
{
  int high = fcntl(*fd, F_DUPFD_CLOEXEC, FD_FLOOR);
  if (high < 0)
    return mf_fail(err, MF_E_SYS, errno, "move a descriptor");
  mf_close_ptr(fd);
  *fd = high;
  return MF_OK;
}

static enum mf_code make_config_fd(const struct mf_supervisor_config *config, int *ret_fd, struct mf_err *err)
{
  mf_auto_close int fd = -1;
  enum mf_code code = mf_memfd("mayfly-config", &fd, err);
  if (code == MF_OK)
    code = mf_write_all(fd, config, sizeof(*config), err);
  if (code != MF_OK)
    return code;
  if (lseek(fd, 0, SEEK_SET) != 0)
    return mf_fail(err, MF_E_SYS, errno, "rewind the configuration");
  code = move_up(&fd, err);
  if (code == MF_OK)
    *ret_fd = mf_take_fd(&fd);
  return code;
}

struct spawn_plan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
};

static int plan_fds(posix_spawn_file_actions_t *a, int config_fd, int sock_fd)
{
  int e = posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
  if (!e)
    e = posix_spawn_file_actions_addopen(a, 1, "/dev/null", O_WRONLY, 0);
  if (!e)
    e = posix_spawn_file_actions_adddup2(a, config_fd, MF_SUP_CONFIG_FD);
  if (!e)
    e = posix_spawn_file_actions_adddup2(a, sock_fd, MF_SUP_SOCKET_FD);
  /* Ours are close-on-exec, but those that we inherited from a shell may not be. */
  if (!e)
    e = posix_spawn_file_actions_addclosefrom_np(a, MF_SUP_SOCKET_FD + 1);
  return e;
}

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

static int spawn_planned(const char *program, int config_fd, int sock_fd, pid_t *ret_pid)
{
  struct spawn_plan plan;
  int e = posix_spawn_file_actions_init(&plan.actions);
  if (e)
    return e;
  e = posix_spawnattr_init(&plan.attr);
  if (!e) {
    e = plan_fds(&plan.actions, config_fd, sock_fd);
    if (!e)
      e = mf_spawn_plan_attr(&plan.attr);
    char name[] = MF_SUPERVISOR_ARGV0;
    char *argv[] = { name, NULL };
    char *envp[] = { NULL };
    /* /proc/self is the child's there, and names the same program: also when its file was replaced meanwhile. */
    if (!e)
      e = posix_spawn(ret_pid, program ? program : "/proc/self/exe", &plan.actions, &plan.attr, argv, envp);
    posix_spawnattr_destroy(&plan.attr);
  }
  posix_spawn_file_actions_destroy(&plan.actions);
  return e;
}

enum mf_code mf_spawn_supervisor(const char *program, const struct mf_supervisor_config *config,
                                 struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  mf_auto_close int config_fd = -1;
  enum mf_code code = make_config_fd(config, &config_fd, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start supervisor");
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return mf_fail(err, MF_E_SYS, errno, "start supervisor: make its socket");
  mf_auto_close int ours = pair[0];
  mf_auto_close int theirs = pair[1];
  code = mf_fd_set_nonblock(ours, err);
  if (code == MF_OK)
    code = move_up(&theirs, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start supervisor");

  pid_t pid = 0;
  int e = spawn_planned(program, config_fd, theirs, &pid);
  if (e)
    return mf_fail(err, MF_E_SYS, e, "start supervisor: execute %s", program ? program : "this program again");
  code = mf_pidref_open(ret_sup, pid, err);
  if (code != MF_OK) {
    /* It is our child and not reaped, so the pid is still its own. */
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
      ;
    return mf_wrap(err, code, "start supervisor");
  }
  *ret_sock = mf_take_fd(&ours);
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
