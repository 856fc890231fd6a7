/* Words that are nearly right. Thread: any. */
#include "base/near.h"

#include <string.h>

#include "base/compiler.h"

#include "base/banned.h"

#define WORD_MAX 48 /* longer words are nobody's typing error */

/* Damerau-Levenshtein distance in its "optimal string alignment" form, on words of at most WORD_MAX bytes. */
static unsigned edit_distance(const char *a, size_t an, const char *b, size_t bn)
{
  unsigned d[3][WORD_MAX + 1];
  for (size_t j = 0; j <= bn; j++)
    d[0][j] = (unsigned)j;

  for (size_t i = 1; i <= an; i++) {
    unsigned *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= bn; j++) {
      unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);
      best = MF_MIN(best, up[j] + 1);
      best = MF_MIN(best, row[j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = MF_MIN(best, up2[j - 2] + 1);
      row[j] = best;
    }
  }
  return d[an % 3][bn];
}

const char *mf_nearest(const char *word, const char *(*next)(void *user), void *user)
{
  size_t n = strlen(word);
  unsigned best = n <= 3 ? 2 : n <= 6 ? 3 : 4; /* one less than this many edits may be a slip */
  const char *ret = NULL, *candidate;

  if (n > WORD_MAX)
    return NULL;
  while ((candidate = next(user)) != NULL) {
    size_t m = strlen(candidate);
    if (m > WORD_MAX)
      continue;
    /* A word cut short or overfull ("--output" for "--output-limit") is meant, whatever the distance. */
    unsigned d = edit_distance(word, n, candidate, m);
    if (n >= 3 && m > n && memcmp(word, candidate, n) == 0)
      d = 1;
    if (d < best && d < m) {
      best = d;
      ret = candidate;
    }
  }
  return ret;
}
