/* The client: libcurl's multi handle on the loop. libcurl says which descriptors and which time it waits for; when one
 * comes it is called, and calls back into call.c, which only notes what came and wakes the fiber.
 *
 * Nothing here or in call.c waits while libcurl is on the stack: fibers call into it, it never calls into a fiber. */
#include "http/client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "client-internal.h"
#include "base/banned.h"

/* ---- what libcurl asks for ---- */

static void collect_finished(struct mf_http_client *c)
{
  CURLMsg *m;
  int left;
  while ((m = c->curl->multi_info_read(c->multi, &left))) {
    if (m->msg != CURLMSG_DONE)
      continue;
    struct mf_http_call *call = NULL;
    c->curl->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&call);
    mf_http_call_finished(call, m->data.result);
  }
}

static void on_socket(void *user, unsigned events)
{
  struct mf_client_socket *s = user;
  struct mf_http_client *c = s->client;
  int what = (events & MF_WATCH_READ ? CURL_CSELECT_IN : 0) | (events & MF_WATCH_WRITE ? CURL_CSELECT_OUT : 0);
  int running;
  /* May free s. */
  c->curl->multi_socket_action(c->multi, s->fd, what, &running);
  collect_finished(c);
}

static void on_timer(void *user)
{
  struct mf_http_client *c = user;
  int running;
  c->curl->multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  collect_finished(c);
}

enum mf_code mf_http_client_start(struct mf_http_client *c, CURL *easy)
{
  c->is_starting = true;
  bool failed = c->curl->multi_add_handle(c->multi, easy) != CURLM_OK;
  c->is_starting = false;
  /* Without a way round the loop, which would cost a timer and a question to the kernel. */
  on_timer(c);
  return failed ? MF_E_SYS : MF_OK;
}

static void forget_socket(struct mf_client_socket *s)
{
  *s->back = s->next;
  if (s->next)
    s->next->back = s->back;
  s->watch = mf_watch_free(s->watch);
  free(s);
}

/* CURLMOPT_SOCKETFUNCTION. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
  struct mf_http_client *c = user;
  struct mf_client_socket *s = known;
  if (what == CURL_POLL_REMOVE) {
    if (s)
      forget_socket(s);
    return 0;
  }
  unsigned events = (what & CURL_POLL_IN ? MF_WATCH_READ : 0u) | (what & CURL_POLL_OUT ? MF_WATCH_WRITE : 0u);
  if (s) {
    mf_watch_set(s->watch, events);
    return 0;
  }
  s = mf_xcalloc(1, sizeof(*s));
  *s = (struct mf_client_socket){ .client = c, .fd = fd, .next = c->sockets, .back = &c->sockets };
  if (mf_watch_new(c->loop, fd, events, on_socket, s, &s->watch, NULL)) {
    free(s);
    return -1; /* libcurl ends the transfers with an error */
  }
  if (s->next)
    s->next->back = &s->next;
  c->sockets = s;
  c->curl->multi_assign(c->multi, fd, s);
  return 0;
}

/* CURLMOPT_TIMERFUNCTION. */
static int want_time(CURLM *multi, long wait_ms, void *user)
{
  struct mf_http_client *c = user;
  if (c->is_starting)
    return 0; /* it asks for "now", and gets it when the start is done */
  if (wait_ms < 0)
    mf_timer_disarm(c->timer);
  else
    mf_timer_arm(c->timer, mf_now_ns() + (uint64_t)wait_ms * MF_NS_PER_MS);
  return 0;
}

/* ---- life ---- */

enum mf_code mf_http_client_new(struct mf_loop *loop, struct mf_http_client **ret, struct mf_err *err)
{
  const struct mf_curl *curl;
  enum mf_code code = mf_curl_load(&curl, err);
  if (code)
    return code;
  struct mf_http_client *c = mf_xcalloc(1, sizeof(*c));
  c->loop = loop;
  c->curl = curl;
  code = mf_timer_new(loop, on_timer, c, &c->timer, err);
  if (code == MF_OK && !(c->multi = c->curl->multi_init()))
    code = mf_fail(err, MF_E_SYS, ENOMEM, "create HTTP client");
  if (code) {
    mf_http_client_free(c);
    return code;
  }
  enum { IDLE_CONNECTIONS = 256 }; /* kept for the next calls */
  c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
  c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
  c->curl->multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_time);
  c->curl->multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
  c->curl->multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
  c->curl->multi_setopt(c->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  *ret = c;
  return MF_OK;
}

void mf_http_client_free(struct mf_http_client *c)
{
  if (!c)
    return;
  assert(c->call_n == 0);
  while (c->kept_n > 0)
    c->curl->easy_cleanup(c->kept[--c->kept_n]);
  /* Closes idle connections, and says so while they are open. */
  if (c->multi)
    c->curl->multi_cleanup(c->multi);
  while (c->sockets)
    forget_socket(c->sockets);
  c->timer = mf_timer_free(c->timer);
  free(c);
}
