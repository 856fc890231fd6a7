/* What a table in a file probably looks like, told from its start: hints for who reads it, never used to change a byte.
 * Thread: any. */
#ifndef MF_INTERPRETER_CSV_HINT_H
#define MF_INTERPRETER_CSV_HINT_H

#include <stdbool.h>

#include "base/str.h"

#define CSV_HINT_HEAD_N 65536u /* bytes of a file's start that are looked at */

struct csv_hint {
  const char *encoding; /* a constant; NULL: not text, or not told */
  char delimiter;       /* 0: none found */
  bool bom;             /* meaningful with an encoding */
};
/* head: the first CSV_HINT_HEAD_N bytes, or all; is_whole: nothing comes behind it. */
struct csv_hint csv_hint_of(struct mf_str name, struct mf_str head, bool is_whole);
/* The constant of this name, or NULL: for hints that were stored. */
const char *csv_hint_encoding(struct mf_str name);

#endif
