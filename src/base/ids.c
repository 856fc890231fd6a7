/* UUIDv7 and prefixed ids. Thread: any. */
#include "base/ids.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/compiler.h"
#include "base/time.h"
#include "base/banned.h"

void mf_uuid7_of(uint64_t wall_ms, const unsigned char random[10], char ret[MF_UUID_N])
{
  unsigned char b[16];
  for (unsigned i = 0; i < 6; i++)
    b[i] = (unsigned char)(wall_ms >> (8 * (5 - i)));
  memcpy(b + 6, random, 10);
  b[6] = (unsigned char)((b[6] & 0x0f) | 0x70); /* version 7 */
  b[8] = (unsigned char)((b[8] & 0x3f) | 0x80); /* the variant of RFC 9562 */
  char *at = ret;
  for (unsigned i = 0; i < sizeof(b); i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      *at++ = '-';
    *at++ = "0123456789abcdef"[b[i] >> 4];
    *at++ = "0123456789abcdef"[b[i] & 15];
  }
  *at = 0;
}

void mf_uuid7(char ret[MF_UUID_N])
{
  unsigned char random[10];
  /* So few bytes are never cut short; before the kernel's pool is ready, at boot, it waits. An id that could be guessed
   * or repeated would be worse than an end. */
  while (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
    if (errno != EINTR)
      abort();
  mf_uuid7_of(mf_wall_ms(), random, ret);
}

void mf_id_new(const char *prefix, char ret[MF_ID_N])
{
  size_t n = strlen(prefix);
  assert(n <= MF_ID_PREFIX_MAX);
  memcpy(ret, prefix, n);
  mf_uuid7(ret + n);
}
