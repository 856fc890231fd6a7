/* Live output and the progress line. */
#include "console.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/time.h"
#include "terminal.h"

#include "base/banned.h"

#define CHUNK 4096u /* PIPE_BUF: poll(2) calls a pipe writable only when so much fits, so such a write never waits */
#define TICK_MS 100u
#define QUIET_MS 300u /* after output the line stays away for so long: it must not flicker between prints */

struct stream {
  struct mf_console *console;
  int fd;
  bool is_tty, dead;
  bool in_line;                /* the last byte written was not a newline */
  struct mf_terminal terminal; /* for a terminal */
  struct mf_buf kept;
  size_t off; /* of kept: written already */
  struct mf_watch *watch;
};

struct mf_console {
  struct mf_loop *loop;
  const struct mf_console_events *events;
  void *user;
  struct stream out, err;
  struct mf_timer *timer;
  const char *verb; /* NULL: no progress */
  uint64_t since_ns, limit_ms, wrote_ns;
  bool can_draw, drawn;
};

static void erase_progress(struct mf_console *c)
{
  if (!c->drawn)
    return;
  (void)!write(STDERR_FILENO, "\r\033[K", 4);
  c->drawn = false;
}

static void draw_progress(struct mf_console *c)
{
  char line[80];
  double seconds = (double)(mf_now_ns() - c->since_ns) / 1e9;
  int n;
  if (c->limit_ms == 0)
    n = snprintf(line, sizeof(line), "\r%s %.1f s\033[K", c->verb, seconds);
  else if (c->limit_ms % 1000 == 0)
    n = snprintf(line, sizeof(line), "\r%s %.1f s / %llu s\033[K", c->verb, seconds,
                 (unsigned long long)(c->limit_ms / 1000));
  else
    n = snprintf(line, sizeof(line), "\r%s %.1f s / %.1f s\033[K", c->verb, seconds, (double)c->limit_ms / 1000);
  (void)!write(STDERR_FILENO, line, (size_t)n);
  c->drawn = true;
}

static void on_tick(void *user)
{
  struct mf_console *c = user;
  if (!c->verb)
    return;
  uint64_t now = mf_now_ns();
  /* Never over a line that the program has not finished: erasing ours would erase its text. */
  bool in_line = (c->out.is_tty && c->out.in_line) || c->err.in_line;
  if (!in_line && now - c->since_ns >= MF_NS_PER_S && now - c->wrote_ns >= QUIET_MS * MF_NS_PER_MS)
    draw_progress(c);
  mf_timer_arm(c->timer, now + TICK_MS * MF_NS_PER_MS);
}

static size_t kept_n(const struct stream *s)
{
  return s->kept.len - s->off;
}

static void fail_stream(struct stream *s, int sys)
{
  struct mf_console *c = s->console;
  s->dead = true;
  mf_buf_truncate(&s->kept, 0);
  s->off = 0;
  s->watch = mf_watch_free(s->watch);
  if (s == &c->out)
    c->events->broken(c->user, sys);
}

static bool can_write_now(int fd)
{
  struct pollfd p = { .fd = fd, .events = POLLOUT };
  return poll(&p, 1, 0) > 0; /* an error counts: write will name it */
}

/* Writes while the descriptor takes it. False when the stream failed. */
static bool flush(struct stream *s, bool may_wait)
{
  while (kept_n(s) > 0 && (may_wait || can_write_now(s->fd))) {
    ssize_t n = write(s->fd, s->kept.ptr + s->off, MF_MIN(kept_n(s), CHUNK));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) /* a signal: the loop has something to say first */
      break;
    if (n < 0) {
      fail_stream(s, errno);
      return false;
    }
    s->off += (size_t)n;
    s->in_line = s->kept.ptr[s->off - 1] != '\n';
  }
  if (kept_n(s) == 0) {
    mf_buf_truncate(&s->kept, 0);
    s->off = 0;
  }
  return true;
}

static void on_writable(void *user, unsigned events)
{
  struct stream *s = user;
  struct mf_console *c = s->console;
  (void)events;
  erase_progress(c);
  if (flush(s, false) && kept_n(s) == 0)
    s->watch = mf_watch_free(s->watch);
  if (mf_console_is_drained(c))
    c->events->drained(c->user);
}

static void init_stream(struct mf_console *c, struct stream *s, int fd, size_t bytes_max)
{
  *s = (struct stream){ .console = c, .fd = fd, .is_tty = isatty(fd) == 1 };
  mf_buf_init(&s->kept, s->is_tty ? bytes_max * MF_TERMINAL_GROWTH + MF_TERMINAL_END_MAX : bytes_max);
}

enum mf_code mf_console_new(struct mf_loop *loop, size_t bytes_max, const struct mf_console_events *events, void *user,
                            struct mf_console **ret, struct mf_err *err)
{
  struct mf_console *c = mf_xcalloc(1, sizeof(*c));
  const char *term = getenv("TERM");

  c->loop = loop;
  c->events = events;
  c->user = user;
  init_stream(c, &c->out, STDOUT_FILENO, bytes_max);
  init_stream(c, &c->err, STDERR_FILENO, bytes_max);
  c->can_draw = c->err.is_tty && term && term[0] && strcmp(term, "dumb") != 0;
  enum mf_code code = mf_timer_new(loop, on_tick, c, &c->timer, err);
  if (code != MF_OK) {
    mf_console_free(c);
    return code;
  }
  *ret = c;
  return MF_OK;
}

void mf_console_free(struct mf_console *c)
{
  if (!c)
    return;
  mf_watch_free(c->out.watch);
  mf_watch_free(c->err.watch);
  mf_timer_free(c->timer);
  mf_buf_done(&c->out.kept);
  mf_buf_done(&c->err.kept);
  free(c);
}

/* Writes what it takes now and watches for the rest. */
static void push(struct stream *s)
{
  if (s->watch || !flush(s, false) || kept_n(s) == 0)
    return;
  /* What cannot be watched (a regular file) is always writable; should it ever not be, waiting is right. */
  if (mf_watch_new(s->console->loop, s->fd, MF_WATCH_WRITE, on_writable, s, &s->watch, NULL) != MF_OK)
    (void)flush(s, true);
}

void mf_console_write(struct mf_console *c, bool is_stderr, struct mf_str text)
{
  struct stream *s = is_stderr ? &c->err : &c->out;
  if (text.len == 0 || s->dead)
    return;
  if (s->is_tty || is_stderr) {
    erase_progress(c);
    c->wrote_ns = mf_now_ns();
  }
  /* A pipe or a file gets the bytes as they are. */
  enum mf_code code = s->is_tty ? mf_terminal_feed(&s->terminal, text, &s->kept) : mf_buf_append_str(&s->kept, text);
  if (code != MF_OK) { /* more than the run may print: cannot be */
    fail_stream(s, ENOBUFS);
    return;
  }
  push(s);
}

static void end_stream(struct stream *s)
{
  if (s->dead || !s->is_tty)
    return;
  (void)!mf_terminal_end(&s->terminal, &s->kept); /* there is room for it */
  push(s);
}

void mf_console_end(struct mf_console *c)
{
  end_stream(&c->out);
  end_stream(&c->err);
}

bool mf_console_is_drained(const struct mf_console *c)
{
  return kept_n(&c->out) == 0 && kept_n(&c->err) == 0;
}

void mf_console_progress(struct mf_console *c, const char *verb, uint64_t limit_ms)
{
  if (!c->can_draw)
    return;
  erase_progress(c);
  c->verb = verb;
  c->limit_ms = limit_ms;
  c->since_ns = mf_now_ns();
  mf_timer_arm(c->timer, c->since_ns + MF_NS_PER_S);
}

void mf_console_progress_end(struct mf_console *c)
{
  erase_progress(c);
  c->verb = NULL;
  mf_timer_disarm(c->timer);
}

void mf_console_new_line(struct mf_console *c)
{
  if (c->err.in_line || (c->out.is_tty && c->err.is_tty && c->out.in_line))
    (void)!write(STDERR_FILENO, "\n", 1);
  c->err.in_line = c->out.in_line = false;
}
