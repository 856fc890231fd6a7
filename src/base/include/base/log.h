/* The log: one line an event on standard error. Never user content, guest output or secrets.
 *
 * The level is one of the two named exceptions to "no globals" (the other is the fatal-signal flag). */
#ifndef MF_BASE_LOG_H
#define MF_BASE_LOG_H

#include "base/compiler.h"

enum mf_log_level { MF_LOG_ERROR, MF_LOG_WARN, MF_LOG_INFO, MF_LOG_DEBUG };

void mf_log_set_level(enum mf_log_level level);
void mf_log(enum mf_log_level level, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
