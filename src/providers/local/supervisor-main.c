/* The supervisor's process: what must be true before the first zygote starts. Thread: its only one.
 *
 * It was exec'ed with an empty environment; its configuration and its socket are descriptors 3 and 4, since a command
 * line and an environment can be read by others. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "local/local.h"
#include "supervisor-internal.h"

#include "base/banned.h"

#define HANG_MAX_S 10
#define PROVIDER_DIED (SIGRTMIN + 7) /* one that nobody sends by mistake */

static void real_kill(const struct mf_pidref *init)
{
  (void)mf_pidref_signal(init, SIGKILL, NULL);
}

const struct mf_supervisor_hooks mf_supervisor_real_hooks = {
  .outer_start = mf_outer_start,
  .seccomp_sha256 = mf_outer_seccomp_sha256,
  .kill = real_kill,
};

/* Handlers rather than SIG_IGN: what is ignored stays ignored across exec, and a guest would inherit that. */
static void ignore(int sig)
{
}

static void provider_died(int sig)
{
  /* The end of the socket tells the loop, which tidies up. Should it hang, this ends us, and with us the zygotes. */
  alarm(HANG_MAX_S);
}

static void set_handler(int sig, void (*fn)(int))
{
  struct sigaction a = { .sa_handler = fn, .sa_flags = SA_RESTART };
  sigemptyset(&a.sa_mask);
  sigaction(sig, &a, NULL);
}

static enum mf_code set_up(struct mf_err *err)
{
  static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };
  for (size_t i = 0; i < MF_ARRAY_N(ignored); i++)
    set_handler(ignored[i], ignore); /* when to end is the provider's decision */
  set_handler(SIGALRM, SIG_DFL);
  set_handler(SIGCHLD, SIG_DFL);
  set_handler(PROVIDER_DIED, provider_died);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* Not SIGKILL: a provider that is killed must not leave control groups behind, and only we can remove them. */
  if (prctl(PR_SET_PDEATHSIG, PROVIDER_DIED) != 0)
    return mf_fail(err, MF_E_SYS, errno, "ask for the provider's death");
  if (fcntl(MF_SUP_CONFIG_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(MF_SUP_SOCKET_FD, F_SETFD, FD_CLOEXEC) < 0)
    return mf_fail(err, MF_E_SYS, errno, "no configuration or socket was passed");
  (void)syscall(SYS_close_range, MF_SUP_SOCKET_FD + 1u, ~0u, 0u);
  /* a slot has up to a dozen descriptors */
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = MF_MIN(files.rlim_max, (rlim_t)65536);
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
  return MF_OK;
}

static enum mf_code supervise(struct mf_err *err)
{
  enum mf_code code = set_up(err);
  if (code != MF_OK)
    return code;
  struct mf_supervisor_config config;
  code = mf_read_all(MF_SUP_CONFIG_FD, &config, sizeof config, err);
  if (code == MF_OK)
    code = mf_supervisor_config_check(&config, err);
  if (code != MF_OK)
    return code;
  close(MF_SUP_CONFIG_FD);
  struct mf_loop *loop = NULL;
  code = mf_loop_new(&loop, err);
  if (code != MF_OK)
    return code;
  struct mf_supervisor *sup = mf_supervisor_new(loop, &config, NULL, MF_SUP_SOCKET_FD);
  code = mf_loop_run(loop, err);
  mf_supervisor_free(sup);
  mf_loop_free(loop);
  return code;
}

bool mf_local_is_supervisor(int argc, char **argv)
{
  return argc > 0 && argv[0] && strcmp(argv[0], MF_SUPERVISOR_ARGV0) == 0;
}

int mf_local_supervisor_main(void)
{
  struct mf_err err;
  if (supervise(&err) == MF_OK)
    return 0;
  mf_log(MF_LOG_ERROR, "supervisor: %s", err.msg);
  return 1;
}
