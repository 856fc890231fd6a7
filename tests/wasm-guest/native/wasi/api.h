/* What the guest's files in memory and its job parser need of WASI's header, with its numbers, so that they are tested
 * as programs of this machine: sanitizers, and a malloc that fails, work there. */
#ifndef MF_TEST_WASI_API_H
#define MF_TEST_WASI_API_H

#include <stdint.h>

typedef uint16_t __wasi_errno_t;

enum {
  __WASI_ERRNO_ACCES = 2,
  __WASI_ERRNO_BUSY = 10,
  __WASI_ERRNO_EXIST = 20,
  __WASI_ERRNO_FBIG = 22,
  __WASI_ERRNO_INVAL = 28,
  __WASI_ERRNO_ISDIR = 31,
  __WASI_ERRNO_LOOP = 32,
  __WASI_ERRNO_NAMETOOLONG = 37,
  __WASI_ERRNO_NOENT = 44,
  __WASI_ERRNO_NOSPC = 51,
  __WASI_ERRNO_NOTDIR = 54,
  __WASI_ERRNO_NOTEMPTY = 55,
  __WASI_ERRNO_PERM = 63,
  __WASI_ERRNO_ROFS = 69,
};

#endif
