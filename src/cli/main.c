/* The program: one table of commands. Nothing is read before the question whether we are a helper of a provider. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "providers/providers.h"

#include "base/banned.h"

/* A missing standard descriptor would be given to the next file that we open, and the program's output would go into
 * it. The place holder makes the wrong direction fail as EBADF does. */
static void fill_standard_fds(void)
{
  for (int fd = 0; fd <= 2; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
      continue;
    int got = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (got != fd && got >= 0)
      (void)close(got);
  }
}

static void on_sigpipe(int sig)
{
  (void)sig;
}

/* A closed reader is an EPIPE that each writer handles. A handler, unlike SIG_IGN, is not inherited by what we exec. */
static void survive_closed_pipes(void)
{
  struct sigaction sa = { .sa_handler = on_sigpipe, .sa_flags = SA_RESTART };
  sigemptyset(&sa.sa_mask);
  (void)sigaction(SIGPIPE, &sa, NULL);
}

/* A connection, a sandbox and an artifact each hold descriptors; the usual 1024 is a limit for programs with select(2).
 */
static void raise_descriptor_limit(void)
{
  struct rlimit r;
  if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
    r.rlim_cur = r.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &r);
  }
}

int main(int argc, char **argv)
{
  int status;
  if (mf_provider_was_helper(argc, argv, &status))
    return status;

  fill_standard_fds();
  survive_closed_pipes();
  raise_descriptor_limit();

  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    name = "help";
  else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
    name = "version";

  if (name[0] == 0) {
    mf_auto_buf struct mf_buf out;
    mf_buf_init(&out, 16384);
    mf_help_overview(&out);
    (void)!write(STDERR_FILENO, out.ptr, out.len);
    return MF_EXIT_USAGE;
  }

  const struct mf_command *c = mf_command_find(name);
  if (!c) {
    struct mf_err err = { 0 };
    (void)!mf_command_unknown(name, &err);
    mf_say("%s", err.msg);
    return MF_EXIT_USAGE;
  }
  return c->run(c, argc - 2, argv + 2);
}
