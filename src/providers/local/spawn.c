/* Spawning of the supervisor. */
#include "supervisor-spawn.h"

#include "base/fd.h"
#include "confine/spawn.h"
#include "base/banned.h"

enum mf_code mf_spawn_supervisor(const char *program, const struct mf_supervisor_config *config,
                                 struct mf_pidref *ret_sup, int *ret_sock, struct mf_err *err)
{
  mf_auto_close int config_fd = -1, ours = -1, theirs = -1;
  enum mf_code code = mf_spawn_config_fd(config, sizeof(*config), &config_fd, err);
  if (code == MF_OK)
    code = mf_spawn_socket(&ours, &theirs, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start supervisor");
  const int fds[] = { config_fd, theirs };
  _Static_assert(MF_SUP_CONFIG_FD == 3 && MF_SUP_SOCKET_FD == 4, "the order of these");
  const struct mf_spawn_spec spec = {
    .program = program, .argv0 = MF_SUPERVISOR_ARGV0, .fds = fds, .fd_n = MF_ARRAY_N(fds), .has_stderr = true
  };
  code = mf_spawn(&spec, ret_sup, err);
  if (code != MF_OK)
    return mf_wrap(err, code, "start supervisor");
  *ret_sock = mf_take_fd(&ours);
  return MF_OK;
}
