/* What the client and its calls know of each other. */
#ifndef MF_HTTP_CLIENT_INTERNAL_H
#define MF_HTTP_CLIENT_INTERNAL_H

#include "curl.h"
#include "http/client.h"

/* A descriptor that libcurl wants to be told of. */
struct mf_client_socket {
  struct mf_client_socket *next, **back;
  struct mf_http_client *client;
  curl_socket_t fd;
  struct mf_watch *watch;
};

enum { MF_CLIENT_EASY_KEPT = 64 };

struct mf_http_client {
  struct mf_loop *loop;
  const struct mf_curl *curl;
  CURLM *multi;
  struct mf_timer *timer;
  struct mf_client_socket *sockets;
  unsigned call_n;
  bool is_starting;
  /* Handles of calls that are over: making one costs more than emptying one. */
  CURL *kept[MF_CLIENT_EASY_KEPT];
  unsigned kept_n;
};

/* Adds a transfer and lets it go as far as it can: when this returns it may have called back, and be over. Outside of
 * libcurl's callbacks only. */
enum mf_code mf_http_client_start(struct mf_http_client *c, CURL *easy);

/* A transfer is over: from the client to its call, outside of libcurl's callbacks. */
void mf_http_call_finished(struct mf_http_call *call, CURLcode result);

#endif
