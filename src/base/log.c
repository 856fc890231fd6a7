/* The log: one line an event, one write(2) a line, so that lines of several processes do not mix. Thread: any. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/banned.h"

static atomic_int level_max = MF_LOG_INFO;

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

void mf_log(enum mf_log_level level, const char *fmt, ...)
{
  if ((int)level > atomic_load_explicit(&level_max, memory_order_relaxed))
    return;

  int saved = errno;
  char when[32], line[1024];
  mf_wall_format(mf_wall_ms(), when);
  int head = snprintf(line, sizeof(line), "%s %s ", when, level_names[level]);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line + head, sizeof(line) - (size_t)head - 1, fmt, ap);
  va_end(ap);

  /* A message cannot forge a second line or steer a terminal. */
  size_t n = strnlen(line, sizeof(line));
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
      line[i] = '?';
  line[n++] = '\n';
  /* When standard error is closed or full there is nobody to tell. */
  ssize_t done = write(STDERR_FILENO, line, n);
  (void)done;
  errno = saved;
}
