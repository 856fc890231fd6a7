/* The person's side of a live run: the guest's output as it comes, and a progress line on a terminal.
 *
 * A reader that does not read must not stop the loop, so what a descriptor does not take at once is kept (the run's own
 * output limit bounds it) and written when it can be. Standard output is never made non-blocking: it is shared with the
 * shell. Thread: the loop's. */
#ifndef MF_CLI_CONSOLE_H
#define MF_CLI_CONSOLE_H

#include "base/str.h"
#include "loop/loop.h"

struct mf_console;

struct mf_console_events {
  void (*broken)(void *user, int sys); /* standard output failed (EPIPE: closed); what comes after is dropped */
  void (*drained)(void *user);         /* all that was kept has been written */
};

/* `bytes_max`: the most that can be kept of each stream. */
MF_MUST_USE enum mf_code mf_console_new(struct mf_loop *loop, size_t bytes_max, const struct mf_console_events *events,
                                        void *user, struct mf_console **ret, struct mf_err *err);
void mf_console_free(struct mf_console *c); /* NULL is fine; writes nothing */

/* On a terminal, text passes through terminal.h; elsewhere its bytes are not touched. */
void mf_console_write(struct mf_console *c, bool is_stderr, struct mf_str text);
/* Nothing more comes: on a terminal what the program left open is closed (colours, half of a sequence). */
void mf_console_end(struct mf_console *c);
bool mf_console_is_drained(const struct mf_console *c);

/* "starting 1.2 s", then "running 3.2 s / 60 s" (limit_ms 0: no total), from one second after the call on; only when
 * standard error is a terminal that can erase. */
void mf_console_progress(struct mf_console *c, const char *verb, uint64_t limit_ms);
void mf_console_progress_end(struct mf_console *c);
/* Ends an unfinished line of standard error, so that a message of ours begins a new one. */
void mf_console_new_line(struct mf_console *c);

#endif
