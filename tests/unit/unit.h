/* What every unit test includes: cmocka wants these headers first and in this order. */
#ifndef MF_TESTS_UNIT_H
#define MF_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

/* Fails with the error's text, which says more than a code. */
#define assert_ok(code, err)                                                                                           \
  do {                                                                                                                 \
    if ((code) != MF_OK)                                                                                               \
      fail_msg("%s", (err)->msg);                                                                                      \
  } while (0)

#endif
