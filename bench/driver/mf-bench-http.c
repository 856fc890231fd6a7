/* Puts load on an HTTP server on this machine and says how long each answer took and what processor time the server
 * used meanwhile. In C, one thread and poll, so that the measuring side costs next to nothing.
 *
 *   mf-bench-http
 *   load PORT PID CONNECTIONS COUNT FILE    POST FILE to /v1/responses COUNT times over kept connections:
 *                                           {"ms": [0.31, …], "cpuMs": 20.1, "events": 200}
 *   task PORT PID CONNECTIONS COUNT FILE    POST FILE to /v1/tasks, then GET the task with a wait, COUNT times: "ms" is
 *                                           from the first byte of the one to the last of the other
 *
 * Every answer must be a 200 with a completed response (of a task: it succeeded), and all must have the same number of
 * events. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "answer.h"
#include "base/fd.h"
#include "base/num.h"
#include "base/time.h"

#include "base/banned.h"

#define COUNT_MAX 10000u /* what one line of an answer holds */
#define REQUEST_BYTES_MAX ((size_t)1 << 20)
#define ANSWER_BYTES_MAX (16u << 20)
#define SILENCE_MS 30000

struct connection {
  int fd;             /* -1: none */
  bool is_second;     /* a task is being waited for */
  uint64_t begin_ns;  /* 0: no request is under way */
  size_t head_n;      /* with the empty line; 0: not there yet */
  uint64_t body_n;    /* chunked: UINT64_MAX */
  struct mf_buf text; /* what came of the answer */
};

struct load {
  uint64_t port, pid, connections, count;
  bool is_task;
  struct mf_buf request; /* head and body */
  struct connection all[MF_BENCH_RUNNING_MAX];
  uint64_t begun, ended, events;
  struct mf_answer answer;
};

static bool has(struct mf_str text, const char *word)
{
  return memmem(text.ptr, text.len, word, strlen(word)) != NULL;
}

static enum mf_code processor_time(uint64_t pid, uint64_t *ret_ns, struct mf_err *err)
{
  clockid_t clock;
  struct timespec t;
  int failed = clock_getcpuclockid((pid_t)pid, &clock); /* user and system, all threads */
  if (failed || clock_gettime(clock, &t) < 0)
    return mf_fail(err, MF_E_SYS, failed ? failed : errno, "processor time of the server");
  *ret_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
  return MF_OK;
}

/* ---- one connection ---- */

static enum mf_code connect_to(struct load *l, struct connection *c, struct mf_err *err)
{
  struct sockaddr_in a = { .sin_family = AF_INET,
                           .sin_port = htons((uint16_t)l->port),
                           .sin_addr = { htonl(INADDR_LOOPBACK) } };
  int on = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&a, sizeof a) < 0)
    return mf_fail(err, MF_E_SYS, errno, "connect");
  (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return MF_OK;
}

/* The request is small: the kernel takes it at once, or the server is broken. */
static enum mf_code ask(struct load *l, struct connection *c, struct mf_err *err)
{
  mf_buf_truncate(&c->text, 0);
  c->head_n = 0;
  c->begin_ns = mf_now_ns();
  l->begun++;
  if (send(c->fd, l->request.ptr, l->request.len, MSG_NOSIGNAL) != (ssize_t)l->request.len)
    return mf_fail(err, MF_E_SYS, errno, "send");
  return MF_OK;
}

/* The task that was acknowledged, with a wait for its end. */
static enum mf_code ask_second(struct load *l, struct connection *c, struct mf_err *err)
{
  static const char key[] = "\"taskId\":\"";
  char text[200];
  const char *id = memmem(c->text.ptr, c->text.len, key, sizeof key - 1);
  if (!id)
    return mf_fail(err, MF_E_INPUT, 0, "an answer has no taskId");
  id += sizeof key - 1;
  int n = snprintf(text, sizeof text, "GET /v1/tasks/%.*s?wait=60 HTTP/1.1\r\nHost: 127.0.0.1:%ju\r\n\r\n",
                   (int)strcspn(id, "\""), id, (uintmax_t)l->port);
  mf_buf_truncate(&c->text, 0);
  c->head_n = 0;
  c->is_second = true;
  if (n >= (int)sizeof text || send(c->fd, text, (size_t)n, MSG_NOSIGNAL) != n)
    return mf_fail(err, MF_E_SYS, errno, "send");
  return MF_OK;
}

static enum mf_code read_head(struct connection *c, struct mf_err *err)
{
  const char *end = memmem(c->text.ptr, c->text.len, "\r\n\r\n", 4);
  if (!end)
    return MF_OK;
  struct mf_str head = { c->text.ptr, (size_t)(end - c->text.ptr) + 4 };
  if (head.len < 12 || (memcmp(head.ptr, "HTTP/1.1 200", 12) != 0 && memcmp(head.ptr, "HTTP/1.1 202", 12) != 0))
    return mf_fail(err, MF_E_INPUT, 0, "the answer begins %.*s", (int)(c->text.len > 300 ? 300 : c->text.len),
                   c->text.ptr);
  for (const char *p = head.ptr; p < end; p = (const char *)memchr(p, '\n', (size_t)(end + 2 - p)) + 1) {
    if (strncasecmp(p, "transfer-encoding: chunked", 26) == 0)
      c->body_n = UINT64_MAX;
    else if (strncasecmp(p, "content-length: ", 16) == 0)
      c->body_n = strtoull(p + 16, NULL, 10);
  }
  c->head_n = head.len;
  return MF_OK;
}

static bool is_whole(const struct connection *c)
{
  if (!c->head_n)
    return false;
  if (c->body_n != UINT64_MAX)
    return c->text.len - c->head_n >= c->body_n;
  return c->text.len - c->head_n >= 5 && memcmp(c->text.ptr + c->text.len - 5, "0\r\n\r\n", 5) == 0;
}

static uint64_t count_events(struct mf_str text)
{
  uint64_t n = 0;
  for (const char *p = text.ptr; (p = memmem(p, (size_t)(text.ptr + text.len - p), "event: ", 7)); p += 7)
    n++;
  return n;
}

static enum mf_code finish(struct load *l, struct connection *c, uint64_t now_ns, struct mf_err *err)
{
  struct mf_str text = mf_buf_str(&c->text);
  if (!has(text, l->is_task ? "\"status\":\"succeeded\"" : "\"status\":\"completed\""))
    return mf_fail(err, MF_E_INPUT, 0, "an answer is not completed: %.*s", (int)(text.len > 600 ? 600 : text.len),
                   text.ptr);
  mf_jw_f64(&l->answer.w, (double)(now_ns - c->begin_ns) / 1e6);
  uint64_t events = count_events(text);
  if (l->ended && events != l->events)
    return mf_fail(err, MF_E_INPUT, 0, "one answer has %ju events, another %ju", (uintmax_t)l->events,
                   (uintmax_t)events);
  l->events = events;
  l->ended++;
  c->begin_ns = 0;
  c->is_second = false;
  return MF_OK;
}

static enum mf_code take(struct load *l, struct connection *c, struct mf_err *err)
{
  char piece[65536];
  ssize_t n = recv(c->fd, piece, sizeof piece, 0);
  if (n <= 0)
    return mf_fail(err, MF_E_SYS, n < 0 ? errno : 0, "the server closed the connection");
  enum mf_code code = mf_buf_append(&c->text, piece, (size_t)n);
  if (!code && !c->head_n)
    code = read_head(c, err);
  if (code || !is_whole(c))
    return code;
  if (l->is_task && !c->is_second)
    return ask_second(l, c, err);
  uint64_t now_ns = mf_now_ns();
  if ((code = finish(l, c, now_ns, err)))
    return code;
  return l->begun < l->count ? ask(l, c, err) : MF_OK;
}

/* ---- all of them ---- */

static enum mf_code run(struct load *l, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  for (uint64_t i = 0; !code && i < l->connections && l->begun < l->count; i++)
    code = ask(l, &l->all[i], err);
  while (!code && l->ended < l->count) {
    struct pollfd fds[MF_BENCH_RUNNING_MAX];
    for (uint64_t i = 0; i < l->connections; i++)
      fds[i] = (struct pollfd){ .fd = l->all[i].begin_ns ? l->all[i].fd : -1, .events = POLLIN };
    if (poll(fds, (nfds_t)l->connections, SILENCE_MS) <= 0)
      return mf_fail(err, MF_E_TIMEOUT, 0, "the server is silent");
    for (uint64_t i = 0; !code && i < l->connections; i++)
      if (fds[i].revents)
        code = take(l, &l->all[i], err);
  }
  return code;
}

static enum mf_code measure(struct load *l, struct mf_err *err)
{
  enum mf_code code = MF_OK;
  uint64_t before_ns = 0, after_ns = 0;
  for (uint64_t i = 0; !code && i < l->connections; i++)
    code = connect_to(l, &l->all[i], err);
  if (!code)
    code = processor_time(l->pid, &before_ns, err);
  mf_jw_key(&l->answer.w, "ms");
  mf_jw_arr(&l->answer.w);
  if (!code)
    code = run(l, err);
  mf_jw_arr_end(&l->answer.w);
  if (!code)
    code = processor_time(l->pid, &after_ns, err);
  mf_jw_kf64(&l->answer.w, "cpuMs", (double)(after_ns - before_ns) / 1e6);
  mf_jw_ku64(&l->answer.w, "events", l->events);
  return code;
}

static enum mf_code make_request(struct load *l, const char *path, struct mf_err *err)
{
  char *body = NULL;
  size_t n;
  enum mf_code code = mf_read_file(AT_FDCWD, path, REQUEST_BYTES_MAX, &body, &n, err);
  if (!code)
    code = mf_buf_printf(&l->request,
                         "POST /v1/%s HTTP/1.1\r\nHost: 127.0.0.1:%ju\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n",
                         l->is_task ? "tasks" : "responses", (uintmax_t)l->port, n);
  if (!code)
    code = mf_buf_append(&l->request, body, n);
  free(body);
  return code;
}

static enum mf_code do_load(struct load *l, char *line, struct mf_err *err)
{
  char *w[6];
  unsigned n = mf_words(line, w, MF_ARRAY_N(w));
  l->is_task = n == 6 && strcmp(w[0], "task") == 0;
  if (n != 6 || (!l->is_task && strcmp(w[0], "load") != 0))
    return mf_fail(err, MF_E_INPUT, 0, "expected: load or task, PORT PID CONNECTIONS COUNT FILE");
  enum mf_code code = mf_parse_u64(mf_str_of(w[1]), "PORT", 1, UINT16_MAX, &l->port, err);
  if (!code)
    code = mf_parse_u64(mf_str_of(w[2]), "PID", 1, INT32_MAX, &l->pid, err);
  if (!code)
    code = mf_parse_u64(mf_str_of(w[3]), "CONNECTIONS", 1, MF_BENCH_RUNNING_MAX, &l->connections, err);
  if (!code)
    code = mf_parse_u64(mf_str_of(w[4]), "COUNT", 1, COUNT_MAX, &l->count, err);
  if (!code)
    code = make_request(l, w[5], err);
  return code ? code : measure(l, err);
}

static void take_command(char *line)
{
  struct load l = { 0 };
  struct mf_err err = { 0 };
  mf_buf_init(&l.request, 2 * REQUEST_BYTES_MAX);
  for (unsigned i = 0; i < MF_BENCH_RUNNING_MAX; i++) {
    l.all[i].fd = -1;
    mf_buf_init(&l.all[i].text, ANSWER_BYTES_MAX);
  }
  mf_answer_begin(&l.answer);
  enum mf_code code = do_load(&l, line, &err);
  if (!code)
    mf_answer_send(&l.answer);
  else {
    mf_buf_done(&l.answer.text);
    mf_answer_error(err.msg[0] ? err.msg : mf_code_name(code));
  }
  for (unsigned i = 0; i < MF_BENCH_RUNNING_MAX; i++) {
    mf_close_ptr(&l.all[i].fd);
    mf_buf_done(&l.all[i].text);
  }
  mf_buf_done(&l.request);
}

int main(void)
{
  char line[512];
  struct mf_answer a;
  mf_answer_begin(&a);
  mf_jw_kbool(&a.w, "ready", true);
  mf_answer_send(&a);
  while (fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = 0;
    take_command(line);
  }
  return 0;
}
