/* A stranger's text on its way to a terminal.
 *
 * A terminal obeys what is written to it: it can be told to fill the clipboard, to rename its window, to answer as if
 * somebody had typed. So only what belongs to text passes: newline, tab, carriage return (progress bars), and colours
 * (SGR: ESC [ digits ; : m). Every other control, from U+0000 to U+001F and U+007F to U+009F, is shown as \xHH.
 * Thread: any. */
#ifndef MF_CLI_TERMINAL_H
#define MF_CLI_TERMINAL_H

#include <stdbool.h>

#include "base/buf.h"

#define MF_TERMINAL_GROWTH 4u   /* at most so many bytes for one */
#define MF_TERMINAL_END_MAX 80u /* and so many at the end */

/* All zero at first. */
struct mf_terminal {
  char held[32]; /* the beginning of a sequence or of a character, until it is known what it is */
  size_t held_n;
  bool is_styled; /* a colour was let through and not ended */
};

/* Appends what may be shown of `text`, which is valid UTF-8 in pieces of any size. MF_E_LIMIT: `out` is full. */
MF_MUST_USE enum mf_code mf_terminal_feed(struct mf_terminal *t, struct mf_str text, struct mf_buf *out);
/* Appends what is held, and the end of all colours if there were any. */
MF_MUST_USE enum mf_code mf_terminal_end(struct mf_terminal *t, struct mf_buf *out);

#endif
