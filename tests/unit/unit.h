/* What every unit test includes: cmocka wants these headers first and in this order. */
#ifndef MF_TESTS_UNIT_H
#define MF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

/* Fails with the error's text, which says more than a code. */
#define assert_ok(code, err)                                                                                           \
  do {                                                                                                                 \
    if ((code) != MF_OK)                                                                                               \
      fail_msg("%s", (err)->msg);                                                                                      \
  } while (0)

/* A skip says why: print_message("# no device nodes here\n"); skip();
 *
 * cmocka 1.1 writes a skipped test as "not ok … # SKIP", which a reader of TAP counts as failed, and has no place for
 * the reason. It calls its own print_message through the linker, so this one takes its place: the last comment before a
 * skip is its reason. Weak, for programs of several files. */
__attribute__((weak, used)) void print_message(const char *const format, ...)
{
  static char reason[300];
  char line[1024];
  va_list ap;
  va_start(ap, format);
  if (strstr(format, "# SKIP %s")) {
    unsigned number = va_arg(ap, unsigned);
    const char *name = va_arg(ap, const char *);
    snprintf(line, sizeof(line), "ok %u - %s # SKIP %s\n", number, name, reason[0] ? reason : "no reason given");
  } else {
    vsnprintf(line, sizeof(line), format, ap);
  }
  va_end(ap);
  reason[0] = 0;
  if (line[0] == '#')
    snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(line + 1 + strspn(line + 1, " "), "\n"),
             line + 1 + strspn(line + 1, " "));
  fputs(line, stdout);
  fflush(stdout);
}

#endif
