/* Room on the disk for what has to be written when it is full: how a task ended, and whatever makes room. A file beside
 * the database, PATH-reserve, that is emptied then and filled again when there is room. Without it (a small disk, a
 * file system that cannot) all is as ever. One thread at a time. */
#ifndef MF_STORAGE_RESERVE_H
#define MF_STORAGE_RESERVE_H

#include <stdbool.h>

struct reserve {
  int fd; /* -1: none */
  bool is_full;
  unsigned asked; /* since the last try to fill it */
};

/* Fills it. database NULL: in memory, which needs none. */
void reserve_open(struct reserve *r, const char *database);
void reserve_close(struct reserve *r);
/* After a write that went well: fills it now and then, when it is empty. */
void reserve_refill(struct reserve *r);
/* Gives its room back to the disk. False: there was none. */
bool reserve_spend(struct reserve *r);

#endif
