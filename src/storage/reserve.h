/* Room on the disk for what has to be written when it is full: how a task ended, and whatever makes room. A file beside
 * the database, PATH-reserve, that is cut then and filled again when there is room. The ends of tasks get a half of it
 * only: what they do not need others may take, and then nothing could make room any more. Without the file (a small
 * disk, a file system that cannot) all is as ever. One thread at a time. */
#ifndef MF_STORAGE_RESERVE_H
#define MF_STORAGE_RESERVE_H

#include <stdbool.h>
#include <sys/types.h>

enum reserve_share { RESERVE_NONE, RESERVE_HALF, RESERVE_ALL };

struct reserve {
  int fd; /* -1: none */
  off_t bytes;
};

/* Fills it. database NULL: in memory, which needs none. */
void reserve_open(struct reserve *r, const char *database);
void reserve_close(struct reserve *r);
/* After a write that went well. */
void reserve_refill(struct reserve *r);
/* Gives room back to the disk. False: there is none for this share. */
bool reserve_spend(struct reserve *r, enum reserve_share share);

#endif
