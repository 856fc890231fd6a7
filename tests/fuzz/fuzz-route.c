/* The import scanner: any bytes, and what it must find in them whatever stands around. */
#include <string.h>

#include "fuzz.h"
#include "route.h"
#include "base/banned.h"

/* The source with a line before or after it. */
static bool is_data_with(const uint8_t *data, size_t n, const char *before, const char *after)
{
  size_t before_n = strlen(before), after_n = strlen(after);
  char *text = malloc(before_n + n + after_n + 1);
  if (!text)
    abort();
  memcpy(text, before, before_n);
  if (n > 0)
    memcpy(text + before_n, data, n);
  memcpy(text + before_n + n, after, after_n);
  bool is_data = mf_route_is_data((struct mf_str){ text, before_n + n + after_n });
  free(text);
  return is_data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  bool is_data = mf_route_is_data((struct mf_str){ (const char *)data, n });
  /* An import in the first line counts whatever follows. */
  CHECK(is_data_with(data, n, "import numpy\n", ""));
  /* What does not import is as if it were not there; a comment neither. */
  CHECK(is_data_with(data, n, "x = 'import numpy' # import numpy\n", "") == is_data);
  /* A name cannot be imported without being written. */
  if (is_data)
    CHECK(n >= 3);
  return 0;
}
