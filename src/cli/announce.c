/* "listening on …". */
#include "announce.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#include "base/banned.h"

/* Whoever waits for the file sees it whole: it gets its name when it is written. */
static enum mf_code write_port_file(const char *path, unsigned port, struct mf_err *err)
{
  char text[16];
  int n = snprintf(text, sizeof(text), "%u\n", port);
  mf_auto_free char *draft = mf_xasprintf("%s.%d", path, (int)getpid());
  mf_auto_close int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0)
    return mf_fail(err, MF_E_SYS, errno, "--port-file");
  enum mf_code code = mf_write_all(fd, text, (size_t)n, err);
  if (!code && rename(draft, path) < 0)
    code = mf_fail(err, MF_E_SYS, errno, "--port-file");
  if (code)
    (void)unlink(draft);
  return code;
}

void mf_address_text(const struct mf_address *a, char *ret, size_t n)
{
  const char *host = a->host ? a->host : "127.0.0.1";
  bool is_v6 = strchr(host, ':') != NULL;
  if (a->unix_path)
    snprintf(ret, n, "unix:%s", a->unix_path);
  else
    snprintf(ret, n, "%s://%s%.200s%s:%u/v1", a->is_tls ? "https" : "http", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
             a->port);
}

enum mf_code mf_announce(const struct mf_address *a, const char *port_file, bool quiet, struct mf_err *err)
{
  enum mf_code code = port_file ? write_port_file(port_file, a->port, err) : MF_OK;
  if (code || quiet)
    return code;
  char address[300], line[340];
  mf_address_text(a, address, sizeof(address));
  int n = snprintf(line, sizeof(line), "listening on %s\n", address);
  (void)!mf_write_all(STDOUT_FILENO, line, (size_t)n, NULL);
  return MF_OK;
}
