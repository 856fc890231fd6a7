/* The home folder, and the first config.toml in it. Thread: the one that starts the program. */
#include "config-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#include "base/banned.h"

const char *config_env(char *const *env, const char *name)
{
  size_t n = strlen(name);
  for (char *const *e = env; e && *e; e++)
    if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1])
      return *e + n + 1;
  return NULL;
}

enum mf_code config_find_home(struct mf_config *c, char *const *env, struct mf_err *err)
{
  const char *home = config_env(env, "AGENTIC_API_HOME");
  char shown[120];

  if (home && home[0] != '/') {
    mf_escape(mf_str_of(home), shown, sizeof(shown));
    return mf_fail(err, MF_E_INPUT, 0, "environment AGENTIC_API_HOME: expected an absolute path, got '%s'", shown);
  }
  if (home && strlen(home) > 3000)
    return mf_fail(err, MF_E_INPUT, 0, "environment AGENTIC_API_HOME: is longer than 3000 bytes");
  if (home) {
    c->home = mf_xstrdup(home);
  } else {
    const char *user = config_env(env, "HOME");
    struct passwd *pw = user && user[0] == '/' ? NULL : getpwuid(geteuid());
    if (pw)
      user = pw->pw_dir;
    if (!user || user[0] != '/')
      return mf_fail(err, MF_E_INPUT, 0,
                     "there is no home folder for the configuration: set AGENTIC_API_HOME to an absolute path");
    c->home = mf_xasprintf("%s/.agentic-api", user);
  }
  c->file_path = mf_xasprintf("%s/config.toml", c->home);
  return MF_OK;
}

enum mf_code mf_config_find_home(char *const *env, struct mf_config **ret, struct mf_err *err)
{
  struct mf_config *c = mf_xcalloc(1, sizeof(*c));
  enum mf_code code = config_find_home(c, env, err);
  if (code) {
    mf_config_free(c);
    return code;
  }
  *ret = c;
  return MF_OK;
}

enum mf_code mf_config_make_home(const struct mf_config *c, struct mf_err *err)
{
  mf_auto_free char *path = mf_xstrdup(c->home);
  for (char *at = path + 1; *at; at++) {
    if (*at != '/')
      continue;
    *at = 0;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
      return mf_fail(err, MF_E_SYS, errno, "make folder %s", path);
    *at = '/';
  }
  if (mkdir(path, 0700) < 0 && errno != EEXIST)
    return mf_fail(err, MF_E_SYS, errno, "make folder %s", path);
  return MF_OK;
}

enum mf_code mf_config_check_home(const struct mf_config *c, struct mf_err *err)
{
  struct stat st;
  if (stat(c->home, &st) < 0)
    return mf_fail(err, errno == ENOENT ? MF_E_NOT_FOUND : MF_E_SYS, errno, "home folder %.250s", c->home);
  if (st.st_uid != geteuid())
    return mf_fail(err, MF_E_INPUT, 0, "home folder %.250s: belongs to another user", c->home);
  if (st.st_mode & (S_IWGRP | S_IWOTH))
    return mf_fail(err, MF_E_INPUT, 0, "home folder %.250s: others may write to it (mode %03o)", c->home,
                   (unsigned)st.st_mode & 0777);
  return MF_OK;
}

char *mf_config_local_socket(const struct mf_config *c)
{
  return mf_xasprintf("%s/mayfly.sock", c->home);
}

enum mf_code mf_config_write_first(const struct mf_config *c, struct mf_err *err)
{
  if (c->has_file || !c->llm_api_base)
    return MF_OK;
  enum mf_code code = mf_config_make_home(c, err);
  if (code)
    return code;
  /* Under another name until it is whole: the next start must not find half of it. */
  mf_auto_free char *draft = mf_xasprintf("%s.%d", c->file_path, (int)getpid());
  mf_auto_close int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "write %s", c->file_path);
  /* Checked to hold nothing that needs an escape. */
  mf_auto_free char *text = mf_xasprintf("# Written at the first start; 'mayfly config --reference' lists every key.\n"
                                         "llm_api_base = \"%s\"\n",
                                         c->llm_api_base);
  code = mf_write_all(fd, text, strlen(text), err);
  /* link, not rename: somebody else's file is kept. */
  if (!code && link(draft, c->file_path) < 0 && errno != EEXIST)
    code = mf_fail(err, MF_E_SYS, errno, "write %s", c->file_path);
  (void)unlink(draft);
  return code;
}
