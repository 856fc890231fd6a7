/* The table of routes, and how a request finds its row. */
#ifndef MF_GATEWAY_ROUTES_H
#define MF_GATEWAY_ROUTES_H

#include "base/err.h"
#include "base/str.h"

struct mf_gw_request;
typedef enum mf_code mf_gw_handler(struct mf_gw_request *r);

/* Who may. */
enum mf_gw_auth {
  MF_GW_ANYONE,
  MF_GW_CLIENT, /* a client's key, where there are such keys */
  MF_GW_OWNER,  /* the same; without them the upstream key, where there is one */
};

struct mf_gw_route {
  const char *method; /* "GET" serves HEAD too */
  const char *path;   /* a segment in braces takes any one that is not empty */
  enum mf_gw_auth auth;
  mf_gw_handler *handler;
};
size_t mf_gw_routes(const struct mf_gw_route **ret);

#define MF_GW_ARG_MAX 256
#define MF_GW_ARGS_MAX 2 /* segments in braces of one path */
struct mf_gw_match {
  const struct mf_gw_route *route; /* NULL: no such path, or not with this method */
  bool knows_path;
  bool is_malformed; /* an {id} cannot be decoded, holds a control character, is no UTF-8 or too long */
  char allow[64];    /* "GET, HEAD, DELETE, OPTIONS" */
  char args[MF_GW_ARGS_MAX][MF_GW_ARG_MAX + 1]; /* the segments in braces, decoded, in their order */
};
/* Thread: any. */
void mf_gw_route_find(struct mf_str method, struct mf_str path, struct mf_gw_match *ret);

#endif
