/* A server for the client's tests: blocking threads that do what the path of a request says, bad manners included. */
#ifndef MF_TESTS_HTTP_PEER_H
#define MF_TESTS_HTTP_PEER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

enum { PEER_CONNECTIONS_MAX = 256 };

struct peer {
  int listen_fd;
  uint16_t port;
  pthread_t thread, connections[PEER_CONNECTIONS_MAX];
  atomic_uint accepted; /* connections so far */
  atomic_uint asked;    /* requests so far */
  sem_t arrived;        /* a request that /hang… holds is here */
  sem_t dropped;        /* the client has closed a connection that /hang… held */
  sem_t gate;           /* /gate sends its body after this */
  atomic_ullong big_sent;
  sem_t big_stalled; /* /big cannot send any more */
};

enum { PEER_BIG_BYTES = 48 * 1024 * 1024 };
/* The byte at a place of /big's body. */
static inline char peer_big_byte(uint64_t at)
{
  return (char)('a' + at % 23);
}

struct peer *peer_new(void);
void peer_free(struct peer *p); /* no client may hold a connection open but idle ones */

#endif
