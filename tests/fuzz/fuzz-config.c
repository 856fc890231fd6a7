/* A configuration: lines of an environment, an empty line, and config.toml. What is taken can be shown, key by key;
 * what is refused is told in a sentence that a terminal can print. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "config/config.h"
#include "fuzz.h"
#include "base/banned.h"

enum { VARIABLES_MAX = 32, INPUT_MAX = 16384 };

static void check_line(const char *text)
{
  CHECK(mf_utf8_is_valid(mf_str_of(text)));
  for (const char *at = text; *at; at++)
    CHECK((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_error(enum mf_code code, const struct mf_err *err)
{
  CHECK(code == err->code && err->msg[0]);
  CHECK(code == MF_E_INPUT || code == MF_E_UNAVAILABLE || code == MF_E_LIMIT);
  check_line(err->msg);
}

static void check_config(const struct mf_config *c)
{
  char origin[3400];
  mf_auto_buf struct mf_buf value;
  mf_buf_init(&value, 1u << 20);
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    mf_config_show(c, (enum mf_config_id)i, &value);
    mf_config_origin(c, (enum mf_config_id)i, origin, sizeof(origin));
    check_line(origin);
  }
  for (unsigned i = 0; i < c->warning_n; i++)
    check_line(c->warnings[i]);
}

static void load(const struct mf_config_input *in)
{
  struct mf_config *c = NULL;
  struct mf_err err = { 0 };
  enum mf_code code = mf_config_load(in, &c, &err);
  CHECK(code == MF_OK || !c);
  if (code) {
    check_error(code, &err);
    return;
  }
  check_config(c);
  /* A file of keys could be any file of this machine. */
  if (!c->api_keys_file) {
    code = mf_config_load_secrets(c, in, &err);
    if (!code)
      code = mf_config_check_exposed(c, false, &err);
    if (code)
      check_error(code, &err);
    else
      check_config(c);
  }
  mf_config_free(c);
}

/* Cuts the lines at their ends, up to an empty one; returns what follows it. */
static char *cut_lines(char *text, char **words, unsigned n)
{
  while (*text && *text != '\n') {
    char *end = strchr(text, '\n');
    if (n < VARIABLES_MAX)
      words[n++] = text;
    if (!end)
      return text + strlen(text);
    *end = 0;
    text = end + 1;
  }
  return *text ? text + 1 : text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  if (n > INPUT_MAX)
    return 0;
  mf_auto_free char *text = mf_xmalloc(n + 1);
  memcpy(text, data, n);
  text[n] = 0;
  char home[] = "AGENTIC_API_HOME=/tmp/mf-fuzz-config-XXXXXX", path[100];
  CHECK(mkdtemp(strchr(home, '/')));
  char *words[VARIABLES_MAX + 1] = { home };
  const char *file = cut_lines(text, words, 1);

  snprintf(path, sizeof(path), "%s/config.toml", strchr(home, '/'));
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  CHECK(fd >= 0 && mf_write_all(fd, file, n - (size_t)(file - text), NULL) == MF_OK);
  close(fd);
  const struct mf_config_input in = { .environ = words };
  load(&in);
  CHECK(unlink(path) == 0 && rmdir(strchr(home, '/')) == 0);
  return 0;
}
