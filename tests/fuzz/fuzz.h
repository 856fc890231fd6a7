/* What a fuzz target defines, and how it says that something is wrong. */
#ifndef MF_TESTS_FUZZ_H
#define MF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Unlike assert, never compiled out. */
#define CHECK(what)                                                                                                    \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                               \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#endif
