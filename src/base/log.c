/* The log: one line an event, one write(2) a line, so that lines of several processes do not mix. Thread: any. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/utf8.h"
#include "base/banned.h"

#define MESSAGE_BYTES_MAX 1000

static atomic_int level_max = MF_LOG_INFO;
static atomic_int format_now = MF_LOG_TEXT;

static const char *const level_names[] = {
  [MF_LOG_ERROR] = "error",
  [MF_LOG_WARN] = "warn",
  [MF_LOG_INFO] = "info",
  [MF_LOG_DEBUG] = "debug",
};

void mf_log_set_level(enum mf_log_level level)
{
  atomic_store_explicit(&level_max, (int)level, memory_order_relaxed);
}

void mf_log_set_format(enum mf_log_format format)
{
  atomic_store_explicit(&format_now, (int)format, memory_order_relaxed);
}

/* A message cannot forge a second line or steer a terminal, and JSON stays UTF-8. */
static void make_plain(char *text, bool ascii)
{
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f || (ascii && c >= 0x80))
      *text = '?';
  }
}

/* Appends s as a JSON string's inside; `at` never passes n. */
static size_t put_json(char *line, size_t at, size_t n, const char *s)
{
  for (; *s && at + 2 < n; s++) {
    if (*s == '"' || *s == '\\')
      line[at++] = '\\';
    line[at++] = *s;
  }
  return at;
}

static size_t put(char *line, size_t at, size_t n, const char *s)
{
  while (*s && at < n)
    line[at++] = *s++;
  return at;
}

static void write_line(enum mf_log_level level, const char *request_id, const char *message)
{
  /* Every byte of the message may need an escape. */
  char line[2 * MESSAGE_BYTES_MAX + 512], when[32];
  size_t n = sizeof(line) - 1, at = 0;
  mf_wall_format(mf_wall_ms(), when);

  if (atomic_load_explicit(&format_now, memory_order_relaxed) == MF_LOG_JSON) {
    at = put(line, at, n, "{\"time\":\"");
    at = put(line, at, n, when);
    at = put(line, at, n, "\",\"level\":\"");
    at = put(line, at, n, level_names[level]);
    at = put(line, at, n, "\",\"message\":\"");
    at = put_json(line, at, n, message);
    if (request_id[0]) {
      at = put(line, at, n, "\",\"request_id\":\"");
      at = put_json(line, at, n, request_id);
    }
    at = put(line, at, n, "\"}");
  } else {
    at = put(line, at, n, when);
    at = put(line, at, n, " ");
    at = put(line, at, n, level_names[level]);
    if (request_id[0]) {
      at = put(line, at, n, " request=");
      at = put(line, at, n, request_id);
    }
    at = put(line, at, n, " ");
    at = put(line, at, n, message);
  }
  line[at++] = '\n';
  /* When standard error is closed or full there is nobody to tell. */
  ssize_t done = write(STDERR_FILENO, line, at);
  (void)done;
}

static void log_about(enum mf_log_level level, const char *request_id, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static void log_about(enum mf_log_level level, const char *request_id, const char *fmt, va_list ap)
{
  if ((int)level > atomic_load_explicit(&level_max, memory_order_relaxed))
    return;

  int saved = errno;
  char id[80], message[MESSAGE_BYTES_MAX];
  snprintf(id, sizeof(id), "%s", request_id ? request_id : "");
  make_plain(id, true);
  vsnprintf(message, sizeof(message), fmt, ap);
  make_plain(message, !mf_utf8_is_valid(mf_str_of(message)));
  write_line(level, id, message);
  errno = saved;
}

void mf_log(enum mf_log_level level, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  log_about(level, NULL, fmt, ap);
  va_end(ap);
}

void mf_log_request(enum mf_log_level level, const char *request_id, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  log_about(level, request_id, fmt, ap);
  va_end(ap);
}
