/* Processes that store and say so, and are killed at any moment; what they said is noted. */
#ifndef MF_TESTS_STORAGE_CRASH_H
#define MF_TESTS_STORAGE_CRASH_H

/* Well mixed bits that follow from n. */
unsigned crash_mix(unsigned n);

/* In the child: a word about something, 10 bytes, which a pipe takes whole. */
void crash_say(int out, char letter, unsigned number);

struct crash_row {
  unsigned number;
  unsigned said; /* bit i: the letter letters[i] */
};
struct crash_ledger {
  const char *letters; /* the first one makes a row */
  struct crash_row *rows;
  unsigned n;
};
void crash_ledger_done(struct crash_ledger *l);

/* One life: be_child(user, round, out) in a child that does not return, and is killed a while after its first word;
 * every fifth, from the first on, while it may still be opening. */
void crash_round(struct crash_ledger *l, unsigned round, unsigned seed,
                 void (*be_child)(void *user, unsigned round, int out), void *user);

#endif
