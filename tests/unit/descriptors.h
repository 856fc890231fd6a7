/* Descriptors that run out, for tests of what is done then. */
#ifndef MF_TESTS_DESCRIPTORS_H
#define MF_TESTS_DESCRIPTORS_H

#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

/* From now on this process can open only so many more. The limit before is what give_descriptors takes. */
static inline struct rlimit leave_descriptors(unsigned n)
{
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = before;
  int lowest = dup(STDERR_FILENO); /* every number below is taken */
  assert_true(lowest >= 0);
  close(lowest);
  few.rlim_cur = (rlim_t)lowest + n;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  return before;
}

static inline void give_descriptors(const struct rlimit *before)
{
  assert_int_equal(setrlimit(RLIMIT_NOFILE, before), 0);
}

#endif
