/* SIGINT, SIGTERM and SIGHUP as events of the loop: the first asks to end, the second ends at once. */
#ifndef MF_CLI_SIGNALS_H
#define MF_CLI_SIGNALS_H

#include "loop/loop.h"

struct mf_signals;
/* `fn` is called once from the loop for the first signal. A second one, unless it is an echo of the first within a
 * fifth of a second (timeout(1) signals the process and then its group), exits with 128 + signal from the handler. One
 * instance at a time. */
MF_MUST_USE enum mf_code mf_signals_new(struct mf_loop *loop, void (*fn)(void *user, int sig), void *user,
                                        struct mf_signals **ret, struct mf_err *err);
struct mf_signals *mf_signals_free(struct mf_signals *s); /* NULL is fine; returns NULL; restores the defaults */

#endif
