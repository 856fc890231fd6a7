/* A gateway on a loopback port with storage in memory, a model server that does what the path and body say, and a
 * client. The client and both servers are on the test's own loop; the test judges on its own stack. */
#ifndef HOUSE_H
#define HOUSE_H

#include "unit.h"

#include "fake-turn.h"
#include "gateway/gateway.h"

struct house {
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_storage *storage;
  struct mf_http_client *client;
  struct mf_http_server *upstream;
  struct mf_gateway *gateway;
  struct mf_agent agent;
  char base[64], upstream_base[64];
  int health_status; /* of upstream's /health; 0: it never answers */
  unsigned health_n;
  /* What upstream saw last: "POST /v1/x?q" and its headers, one a line; the body. */
  char saw[8192];
  char saw_body[256];
  uint64_t flooded; /* bytes that upstream could write */
  unsigned stopped;
};
void house_open(struct house *h, const struct mf_gateway_config *config); /* http of config: without an address */
void house_close(struct house *h);
/* Runs the loop until *flag. */
void house_run_until(struct house *h, const unsigned *flag, unsigned n);

struct ask {
  const char *method, *path, *body;
  const char *headers[8]; /* "Name", "value", … */
  size_t leave_after;     /* bytes of the body; 0: stay to the end */
  const uint64_t *holds;  /* before it leaves it reads nothing until this number stands still */
};
struct reply {
  enum mf_code code; /* of a body that was cut */
  int status;
  char head[4096]; /* "name: value\n" … */
  struct mf_buf body;
};
/* Asks and waits. Release with reply_done. */
void house_ask(struct house *h, const struct ask *a, struct reply *ret);
void reply_done(struct reply *r);
/* Asks and gives back the status only. */
int house_status(struct house *h, const struct ask *a);
bool reply_has(const struct reply *r, const char *line); /* "name: value", as it was sent */

#endif
