/* The log: one line an event on standard error. Never user content, guest output or secrets.
 *
 * The level and the format are one of the two named exceptions to "no globals" (the other is the fatal-signal flag). */
#ifndef MF_BASE_LOG_H
#define MF_BASE_LOG_H

#include "base/compiler.h"

enum mf_log_level { MF_LOG_ERROR, MF_LOG_WARN, MF_LOG_INFO, MF_LOG_DEBUG };
enum mf_log_format {
  MF_LOG_TEXT, /* time level message */
  MF_LOG_JSON, /* {"time":…,"level":…,"message":…[,"request_id":…]} */
};

void mf_log_set_level(enum mf_log_level level);
void mf_log_set_format(enum mf_log_format format);
/* Thread: any. A message longer than a line (about 1,000 bytes) is cut. */
void mf_log(enum mf_log_level level, const char *fmt, ...) MF_PRINTF(2, 3);
/* The same about one request; its id becomes a field of its own ("request=ID" in text). NULL or "": none. */
void mf_log_request(enum mf_log_level level, const char *request_id, const char *fmt, ...) MF_PRINTF(3, 4);

#endif
