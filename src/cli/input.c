/* Reading the program and its inputs. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#include "base/banned.h"

void mf_size_text(uint64_t bytes, char ret[32])
{
  if (bytes < 1024)
    snprintf(ret, 32, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
  else if (bytes < 1u << 20)
    snprintf(ret, 32, "%.1f KiB", (double)bytes / 1024);
  else
    snprintf(ret, 32, "%.1f MiB", (double)bytes / (1u << 20));
}

/* RFC 3629: the length of the character at s, or 0 when there is none. */
static size_t utf8_char(const unsigned char *s, size_t n)
{
  unsigned char lo = 0x80, hi = 0xbf;
  size_t need;

  if (s[0] < 0x80)
    return 1;
  if (s[0] >= 0xc2 && s[0] <= 0xdf)
    need = 2;
  else if (s[0] >= 0xe0 && s[0] <= 0xef)
    need = 3;
  else if (s[0] >= 0xf0 && s[0] <= 0xf4)
    need = 4;
  else
    return 0;
  if (s[0] == 0xe0)
    lo = 0xa0; /* overlong */
  if (s[0] == 0xed)
    hi = 0x9f; /* surrogates */
  if (s[0] == 0xf0)
    lo = 0x90;
  if (s[0] == 0xf4)
    hi = 0x8f; /* above U+10FFFF */
  if (n < need || s[1] < lo || s[1] > hi)
    return 0;
  for (size_t i = 2; i < need; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  return need;
}

size_t mf_utf8_bad_at(struct mf_str s)
{
  size_t i = 0;
  while (i < s.len) {
    size_t n = utf8_char((const unsigned char *)s.ptr + i, s.len - i);
    if (n == 0)
      return i;
    i += n;
  }
  return s.len;
}

static size_t line_of(struct mf_str s, size_t at)
{
  size_t line = 1;
  for (size_t i = 0; i < at; i++)
    line += s.ptr[i] == '\n';
  return line;
}

void mf_input_done(struct mf_input *in)
{
  free(in->source);
  free(in->source_name);
  for (unsigned i = 0; i < in->file_n; i++) {
    free((char *)in->files[i].name.ptr);
    free((char *)in->files[i].data.ptr);
  }
  *in = (struct mf_input){ 0 };
}

/* Reads to the end, but not past max + 1 bytes: what grows or never ends is noticed by its size. *ret_n may be max + 1.
 */
static enum mf_code read_bounded(int fd, size_t guess, size_t max, const char *shown, char **ret, size_t *ret_n,
                                 struct mf_err *err)
{
  size_t cap = MF_MIN(guess, max) + 1, n = 0;
  mf_auto_free char *p = mf_xmalloc(cap + 1);

  for (;;) {
    if (n == cap) {
      if (cap > max)
        break;
      cap = MF_MIN(cap * 2, max + 1);
      p = mf_xrealloc(p, cap + 1);
    }
    ssize_t got = read(fd, p + n, cap - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return mf_fail(err, MF_E_SYS, errno, "%s", shown);
    if (got == 0)
      break;
    n += (size_t)got;
  }
  p[n] = 0;
  *ret = p;
  *ret_n = n;
  p = NULL;
  return MF_OK;
}

static const char *kind_of(mode_t mode)
{
  return S_ISDIR(mode)    ? "is a directory"
         : S_ISFIFO(mode) ? "is a pipe, not a regular file"
         : S_ISSOCK(mode) ? "is a socket, not a regular file"
                          : "is a device, not a regular file";
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* A program may come through a pipe (process substitution), so only what cannot be read is refused. */
static enum mf_code open_source(const char *path, const char *shown, int *ret_fd, size_t *ret_size, struct mf_err *err)
{
  struct stat st;
  if (stat(path, &st) < 0)
    return mf_fail(err, MF_E_INPUT, errno, "%s", shown);
  /* Waiting for the writer of a named pipe is what reading one means; nothing else may make us wait. */
  int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (S_ISFIFO(st.st_mode) ? 0 : O_NONBLOCK);
  mf_auto_close int fd = open(path, flags);
  if (fd < 0)
    return mf_fail(err, MF_E_INPUT, errno, "%s", shown);
  if (fstat(fd, &st) < 0)
    return mf_fail(err, MF_E_SYS, errno, "%s", shown);
  if (S_ISDIR(st.st_mode))
    return mf_fail(err, MF_E_INPUT, 0, "%s: is a directory", shown);
  *ret_size = S_ISREG(st.st_mode) ? (size_t)st.st_size : 4096;
  *ret_fd = mf_take_fd(&fd);
  return MF_OK;
}

enum mf_code mf_input_source(struct mf_input *in, const char *path, struct mf_err *err)
{
  bool from_stdin = strcmp(path, "-") == 0;
  mf_auto_close int owned = -1;
  int fd = STDIN_FILENO;
  size_t size = 4096;
  char shown[200];
  enum mf_code code;

  mf_escape(mf_str_of(from_stdin ? "standard input" : path), shown, sizeof(shown));
  if (!from_stdin) {
    const char *name = base_name(path);
    code = open_source(path, shown, &owned, &size, err);
    if (code == MF_OK)
      code = mf_name_check(mf_str_of(name), "program", err);
    if (code != MF_OK)
      return code;
    fd = owned;
    free(in->source_name);
    in->source_name = mf_xstrdup(name);
  }

  code = read_bounded(fd, size, MF_SOURCE_BYTES_MAX, shown, &in->source, &in->source_n, err);
  if (code != MF_OK)
    return code;
  if (in->source_n > MF_SOURCE_BYTES_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "%s: a program may have at most %u bytes", shown, MF_SOURCE_BYTES_MAX);

  struct mf_str text = { in->source, in->source_n };
  const char *nul = memchr(text.ptr, 0, text.len);
  size_t bad = mf_utf8_bad_at(text);
  if (nul && (size_t)(nul - text.ptr) < bad)
    return mf_fail(err, MF_E_INPUT, 0, "%s: NUL byte at offset %zu (line %zu)", shown, (size_t)(nul - text.ptr),
                   line_of(text, (size_t)(nul - text.ptr)));
  if (bad < text.len)
    return mf_fail(err, MF_E_INPUT, 0, "%s: invalid UTF-8 at byte offset %zu (line %zu)", shown, bad,
                   line_of(text, bad));
  return MF_OK;
}

/* One name must not be another's folder either: both cannot exist in one directory. */
static bool names_clash(struct mf_str a, struct mf_str b)
{
  size_t n = MF_MIN(a.len, b.len);
  if (n && memcmp(a.ptr, b.ptr, n) != 0)
    return false;
  return a.len == b.len || (a.len > n ? a.ptr[n] : b.ptr[n]) == '/';
}

/* Splits "FILE:NAME". *ret_path malloc'ed. */
static void split_arg(const char *arg, char **ret_path, const char **ret_name)
{
  const char *colon = strrchr(arg, ':');
  if (!colon || access(arg, F_OK) == 0) {
    *ret_path = mf_xstrdup(arg);
    *ret_name = base_name(arg);
    return;
  }
  *ret_path = mf_xasprintf("%.*s", (int)(colon - arg), arg);
  *ret_name = colon + 1;
}

enum mf_code mf_input_add(struct mf_input *in, const char *arg, struct mf_err *err)
{
  mf_auto_free char *path = NULL;
  const char *name;
  char shown[200];

  split_arg(arg, &path, &name);
  mf_escape(mf_str_of(path), shown, sizeof(shown));
  if (in->file_n >= MF_INPUT_COUNT_MAX)
    return mf_fail(err, MF_E_LIMIT, 0, "%s: at most %u input files", shown, MF_INPUT_COUNT_MAX);

  mf_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat st;
  if (fd < 0 && errno == ENXIO) /* a socket's name */
    return mf_fail(err, MF_E_INPUT, 0, "%s: %s", shown, kind_of(S_IFSOCK));
  if (fd < 0)
    return mf_fail(err, MF_E_INPUT, errno, "%s", shown);
  if (fstat(fd, &st) < 0)
    return mf_fail(err, MF_E_SYS, errno, "%s", shown);
  if (!S_ISREG(st.st_mode))
    return mf_fail(err, MF_E_INPUT, 0, "%s: %s", shown, kind_of(st.st_mode));

  struct mf_str checked = mf_str_of(name);
  enum mf_code code = mf_name_check(checked, "input name", err);
  if (code != MF_OK)
    return code;
  for (unsigned i = 0; i < in->file_n; i++) {
    if (!names_clash(in->files[i].name, checked))
      continue;
    char other[120], twice[120];
    mf_escape(mf_str_of(in->paths[i]), other, sizeof(other));
    mf_escape(checked, twice, sizeof(twice));
    return mf_fail(err, MF_E_INPUT, 0, "%s and %s would both be '%s' in the sandbox: name one with FILE:NAME", other,
                   shown, twice);
  }

  uint64_t left = MF_INPUT_BYTES_MAX - in->bytes;
  char *data = NULL;
  size_t data_n = 0;
  uint64_t size = (uint64_t)st.st_size;
  if (size <= left) {
    code = read_bounded(fd, (size_t)size, (size_t)left, shown, &data, &data_n, err);
    if (code != MF_OK)
      return code;
    size = data_n;
  }
  if (size > left) {
    free(data);
    return mf_fail(err, MF_E_LIMIT, 0, "%s: over the limit: all inputs together may hold %u MiB (%u bytes)", shown,
                   MF_INPUT_BYTES_MAX >> 20, MF_INPUT_BYTES_MAX);
  }

  in->paths[in->file_n] = arg;
  in->files[in->file_n++] = (struct mf_sandbox_file){ mf_str_of(mf_xstrdup(name)), { data, data_n } };
  in->bytes += data_n;
  return MF_OK;
}
