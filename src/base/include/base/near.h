/* The known word that a wrong one was probably meant to be: for errors that help. */
#ifndef MF_BASE_NEAR_H
#define MF_BASE_NEAR_H

/* The candidate nearest to `word` by edits (a swap of neighbours is one), or NULL when none is near enough to be meant.
 * `next` yields candidates until NULL. Thread: any. */
const char *mf_nearest(const char *word, const char *(*next)(void *user), void *user);

#endif
