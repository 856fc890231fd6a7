/* mf-driver: keeps one provider alive and runs what it reads, for the tests that run programs.
 *
 * Lines of JSON on stdin, lines of JSON on stdout; everything on one loop.
 *   {"id", "source", "argv", "files", "limits", "runtime", "cancelAfterMs", "cancelAfterStartMs", "content", "stream",
 *    "displayLastExpression"}
 *   {"info": true, "id"}    {"cancel": "<id>"}    {"close": true}
 * Replies: {"ready": …} first; {"id", "result", "stream", "contents"}, {"id", "error"}, {"id", "started": true},
 * {"id", "chunk", "isStderr"}, {"id", "info"}. End of stdin closes the provider and ends the driver. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/time.h"

#include "options.h"
#include "request.h"

#include "base/banned.h"

#define LINE_MAX_BYTES (96u << 20)
#define READ_CHUNK (256u << 10)

struct driver {
  struct mf_loop *loop;
  enum mf_provider_kind kind;
  struct mf_provider *provider;
  struct mf_watch *watch;
  struct mf_buf in;
  size_t scanned;       /* bytes of `in` known to hold no newline */
  struct task *tasks;   /* runs that have not finished */
  struct asking *asked; /* info requests without an answer yet */
  uint64_t done_n;
  bool closing;
  int status;
};

struct stream {
  struct mf_sha256 *digest;
  uint64_t chunk_n, byte_n;
};

struct task {
  struct driver *d;
  struct task *next;
  struct mf_request *q;
  struct mf_run *run;
  struct mf_timer *timer;
  struct stream streams[2];
  bool started;
};

struct asking {
  struct driver *d;
  struct asking *next;
  char *id;
};

/* ---- writing lines ---- */

struct line {
  struct mf_buf buf;
  struct mf_json_writer w;
};

static void line_begin(struct line *l, const char *id)
{
  mf_buf_init(&l->buf, LINE_MAX_BYTES);
  mf_jw_init(&l->w, &l->buf, false);
  mf_jw_obj(&l->w);
  if (id)
    mf_jw_kstrz(&l->w, "id", id);
}

static void line_end(struct driver *d, struct line *l)
{
  mf_jw_obj_end(&l->w);
  struct mf_err err;
  if (l->w.code != MF_OK || mf_buf_append(&l->buf, "\n", 1) != MF_OK) {
    fprintf(stderr, "mf-driver: a line is over %u bytes\n", LINE_MAX_BYTES);
    d->status = 2;
  } else if (mf_write_all(STDOUT_FILENO, l->buf.ptr, l->buf.len, &err) != MF_OK) {
    _exit(3); /* nobody listens any more; the supervisor sees the socket close */
  }
  mf_buf_done(&l->buf);
}

static void say_error(struct driver *d, const char *id, enum mf_code code, const struct mf_err *err)
{
  struct line l;
  line_begin(&l, id);
  mf_jw_key(&l.w, "error");
  mf_jw_obj(&l.w);
  mf_jw_kstrz(&l.w, "code", mf_code_name(code));
  mf_jw_kstrz(&l.w, "message", err->msg);
  mf_jw_obj_end(&l.w);
  line_end(d, &l);
}

static void write_local_info(struct mf_json_writer *w, const struct mf_local_info *i)
{
  mf_jw_ku64(w, "layers", i->layers);
  mf_jw_ki64(w, "landlockAbi", i->landlock_abi);
  mf_jw_ku64(w, "memoryControl", i->memory_control);
  mf_jw_ku64(w, "pidsControl", i->pids_control);
  mf_jw_ku64(w, "pythonHex", i->python_hex);
  mf_jw_kbool(w, "checkpointed", i->checkpointed);
  mf_jw_kstrz(w, "checkpointNote", i->checkpoint_note);
  mf_jw_ki64(w, "supervisorPid", i->supervisor_pid);
  mf_jw_ki64(w, "zygoteStdlibPid", i->zygote_stdlib_pid);
  mf_jw_ki64(w, "zygoteDataPid", i->zygote_data_pid);
  mf_jw_ku64(w, "poolStdlib", i->pool_stdlib);
  mf_jw_ku64(w, "poolData", i->pool_data);
  mf_jw_ku64(w, "busy", i->busy);
  mf_jw_ku64(w, "zygoteRestarts", i->zygote_restarts);
  mf_jw_ku64(w, "forks", i->forks);
  mf_jw_ku64(w, "idlePrivateBytes", i->idle_private_bytes);
}

static void write_wasm_info(struct mf_json_writer *w, const struct mf_wasm_info *i)
{
  mf_jw_ku64(w, "workers", i->workers);
  mf_jw_ku64(w, "busy", i->busy);
  mf_jw_ku64(w, "workersStarted", i->started_n);
  mf_jw_ku64(w, "calls", i->calls_n);
  mf_jw_kstrz(w, "memoryControl", i->memory_control);
  mf_jw_ku64(w, "workerPrivateBytes", i->worker_private_bytes);
  mf_jw_key(w, "workerPids");
  mf_jw_arr(w);
  for (unsigned n = 0; n < i->workers && n < MF_ARRAY_N(i->worker_pids); n++)
    mf_jw_i64(w, i->worker_pids[n]);
  mf_jw_arr_end(w);
}

/* One of the two is NULL. */
static void say_info(struct driver *d, const char *id, const struct mf_local_info *local,
                     const struct mf_wasm_info *wasm)
{
  struct line l;
  line_begin(&l, id);
  mf_jw_key(&l.w, "info");
  mf_jw_obj(&l.w);
  if (local)
    write_local_info(&l.w, local);
  if (wasm)
    write_wasm_info(&l.w, wasm);
  mf_jw_ku64(&l.w, "providerBusy", d->provider ? mf_provider_busy(d->provider) : 0);
  mf_jw_ku64(&l.w, "doneRuns", d->done_n);
  mf_jw_ki64(&l.w, "driverPid", getpid());
  mf_jw_ku64(&l.w, "caps", d->provider ? mf_provider_caps(d->provider) : 0);
  mf_jw_obj_end(&l.w);
  line_end(d, &l);
}

/* ---- runs ---- */

static void task_free(struct task *t)
{
  struct task **p = &t->d->tasks;
  while (*p && *p != t)
    p = &(*p)->next;
  if (*p)
    *p = t->next;
  for (unsigned i = 0; i < 2; i++) {
    char hex[MF_SHA256_HEX_N];
    if (t->streams[i].digest)
      mf_sha256_finish(t->streams[i].digest, hex);
  }
  mf_timer_free(t->timer);
  mf_request_free(t->q);
  free(t);
}

static void cancel_now(void *user)
{
  struct task *t = user;
  if (t->run)
    mf_sandbox_cancel(t->run);
}

static void on_started(void *user)
{
  struct task *t = user;
  t->started = true;
  if (t->q->cancel_after_start_ms >= 0)
    mf_timer_arm(t->timer, mf_now_ns() + (uint64_t)t->q->cancel_after_start_ms * MF_NS_PER_MS);
  if (!t->q->stream)
    return;
  struct line l;
  line_begin(&l, t->q->id);
  mf_jw_kbool(&l.w, "started", true);
  line_end(t->d, &l);
}

static void on_output(void *user, bool is_stderr, struct mf_str text)
{
  struct task *t = user;
  struct stream *s = &t->streams[is_stderr];
  mf_sha256_update(s->digest, text.ptr, text.len);
  s->chunk_n++;
  s->byte_n += text.len;
  if (!t->q->stream)
    return;
  struct line l;
  line_begin(&l, t->q->id);
  mf_jw_kstr(&l.w, "chunk", text);
  mf_jw_kbool(&l.w, "isStderr", is_stderr);
  line_end(t->d, &l);
}

/* What was streamed live must be what the result says: compared by digest. */
static void write_stream(struct mf_json_writer *w, const char *name, struct stream *s, struct mf_str whole)
{
  char live[MF_SHA256_HEX_N], kept[MF_SHA256_HEX_N];
  mf_sha256_finish(s->digest, live);
  s->digest = NULL;
  mf_sha256_of(whole, kept);
  mf_jw_key(w, name);
  mf_jw_obj(w);
  mf_jw_ku64(w, "chunks", s->chunk_n);
  mf_jw_ku64(w, "bytes", s->byte_n);
  mf_jw_kbool(w, "same", strcmp(live, kept) == 0);
  mf_jw_obj_end(w);
}

static void write_contents(struct mf_json_writer *w, const struct mf_sandbox_result *r)
{
  mf_jw_key(w, "contents");
  mf_jw_obj(w);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    const struct mf_artifact *a = &r->artifacts[i];
    mf_auto_buf struct mf_buf raw = { 0 }, text = { 0 };
    mf_buf_init(&raw, LINE_MAX_BYTES);
    mf_buf_init(&text, LINE_MAX_BYTES);
    char chunk[65536];
    for (off_t at = 0;;) {
      ssize_t n = pread(a->fd, chunk, sizeof chunk, at);
      if (n <= 0 || mf_buf_append(&raw, chunk, (size_t)n) != MF_OK)
        break;
      at += n;
    }
    mf_jw_key(w, a->path);
    if (raw.len == a->size_bytes && mf_base64_encode(mf_buf_str(&raw), &text) == MF_OK)
      mf_jw_str(w, mf_buf_str(&text));
    else
      mf_jw_null(w);
  }
  mf_jw_obj_end(w);
}

static void on_finished(void *user, struct mf_sandbox_result *r)
{
  struct task *t = user;
  t->run = NULL;
  t->d->done_n++;
  struct line l;
  line_begin(&l, t->q->id);
  mf_jw_key(&l.w, "result");
  mf_sandbox_result_write_json(r, t->q->id, &l.w);
  mf_jw_kstrz(&l.w, "rawStatus", mf_run_status_name(r->status)); /* before the projection for the task API */
  mf_jw_kstrz(&l.w, "diagnostic", r->diagnostic);
  mf_jw_kbool(&l.w, "started", t->started);
  mf_jw_key(&l.w, "stream");
  mf_jw_obj(&l.w);
  write_stream(&l.w, "stdout", &t->streams[0], mf_buf_str(&r->out));
  write_stream(&l.w, "stderr", &t->streams[1], mf_buf_str(&r->err));
  mf_jw_obj_end(&l.w);
  if (t->q->content)
    write_contents(&l.w, r);
  line_end(t->d, &l);
  mf_sandbox_result_free(r);
  task_free(t);
}

static const struct mf_sandbox_events events = { .started = on_started, .output = on_output, .finished = on_finished };

static void start_run(struct driver *d, struct mf_json *doc)
{
  const struct mf_json_val *idv = mf_json_get(mf_json_root(doc), "id");
  mf_auto_free char *id =
      idv && mf_json_type_of(idv) == MF_JSON_STR ? mf_xasprintf("%.*s", MF_STR_ARG(mf_json_str(idv))) : NULL;
  struct mf_err err = { 0 };
  struct mf_request *q = NULL;
  enum mf_code code = mf_request_new(doc, &q, &err);
  if (code != MF_OK) {
    say_error(d, id, code, &err);
    return;
  }
  struct task *t = mf_xcalloc(1, sizeof *t);
  t->d = d;
  t->q = q;
  t->next = d->tasks;
  d->tasks = t;
  for (unsigned i = 0; i < 2; i++)
    t->streams[i].digest = mf_sha256_new();
  code = mf_timer_new(d->loop, cancel_now, t, &t->timer, &err);
  if (code == MF_OK)
    code = mf_sandbox_start(d->provider, &q->spec, &events, t, &t->run, &err);
  if (code != MF_OK) {
    say_error(d, id, code, &err);
    task_free(t);
    return;
  }
  if (q->cancel_after_ms >= 0)
    mf_timer_arm(t->timer, mf_now_ns() + (uint64_t)q->cancel_after_ms * MF_NS_PER_MS);
}

/* ---- commands ---- */

static void asking_free(struct asking *a)
{
  struct asking **p = &a->d->asked;
  while (*p && *p != a)
    p = &(*p)->next;
  if (*p)
    *p = a->next;
  free(a->id);
  free(a);
}

static void on_info(void *user, const struct mf_local_info *info)
{
  struct asking *a = user;
  if (info) {
    say_info(a->d, a->id, info, NULL);
  } else {
    struct line l;
    line_begin(&l, a->id);
    mf_jw_kstrz(&l.w, "info", NULL);
    line_end(a->d, &l);
  }
  asking_free(a);
}

static void take_info(struct driver *d, const struct mf_json_val *id)
{
  struct asking *a = mf_xcalloc(1, sizeof *a);
  a->d = d;
  a->id = id && mf_json_type_of(id) == MF_JSON_STR ? mf_xasprintf("%.*s", MF_STR_ARG(mf_json_str(id))) : NULL;
  a->next = d->asked;
  d->asked = a;
  if (d->kind == MF_PROVIDER_LOCAL) {
    mf_local_info(d->provider, on_info, a);
    return;
  }
  struct mf_wasm_info info;
  mf_wasm_info(d->provider, &info);
  say_info(d, a->id, NULL, &info);
  asking_free(a);
}

static void on_closed(void *user)
{
  struct driver *d = user;
  d->provider = NULL;
  mf_loop_stop(d->loop);
}

static void close_down(struct driver *d)
{
  if (d->closing)
    return;
  d->closing = true;
  mf_watch_set(d->watch, 0);
  mf_provider_close(d->provider, on_closed, d);
}

static void cancel_by_id(struct driver *d, struct mf_str id)
{
  for (struct task *t = d->tasks; t; t = t->next)
    if (mf_str_is(id, t->q->id)) {
      cancel_now(t);
      return;
    }
}

static void take_line(struct driver *d, struct mf_str text)
{
  static const struct mf_json_limits limits = { .bytes_max = LINE_MAX_BYTES, .depth_max = 16 };
  struct mf_err err = { 0 };
  mf_auto_json struct mf_json *doc = NULL;
  enum mf_code code = mf_json_parse(text, &limits, &doc, &err);
  const struct mf_json_val *root = code == MF_OK ? mf_json_root(doc) : NULL;
  if (code != MF_OK || mf_json_type_of(root) != MF_JSON_OBJ) {
    say_error(d, NULL, MF_E_INPUT, &err);
    return;
  }
  const struct mf_json_val *cancel = mf_json_get(root, "cancel");
  const struct mf_json_val *id = mf_json_get(root, "id");
  if (mf_json_get(root, "close")) {
    close_down(d);
  } else if (cancel && mf_json_type_of(cancel) == MF_JSON_STR) {
    cancel_by_id(d, mf_json_str(cancel));
  } else if (mf_json_get(root, "info")) {
    take_info(d, id);
  } else {
    struct mf_json *taken = doc;
    doc = NULL;
    start_run(d, taken);
  }
}

static void on_stdin(void *user, unsigned got)
{
  struct driver *d = user;
  char chunk[READ_CHUNK];
  ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0) {
    close_down(d);
    return;
  }
  if (mf_buf_append(&d->in, chunk, (size_t)n) != MF_OK) {
    fprintf(stderr, "mf-driver: a request line is over %u bytes\n", LINE_MAX_BYTES);
    d->status = 2;
    close_down(d);
    return;
  }
  size_t begin = 0;
  char *nl;
  while (!d->closing && (nl = memchr(d->in.ptr + d->scanned, '\n', d->in.len - d->scanned))) {
    size_t end = (size_t)(nl - d->in.ptr);
    take_line(d, (struct mf_str){ d->in.ptr + begin, end - begin });
    begin = d->scanned = end + 1;
  }
  mf_buf_consume(&d->in, begin);
  d->scanned = d->in.len;
}

static void on_ready(void *user, enum mf_code code, const struct mf_err *err)
{
  struct driver *d = user;
  struct line l;
  line_begin(&l, NULL);
  mf_jw_kbool(&l.w, "ready", code == MF_OK);
  mf_jw_ki64(&l.w, "driverPid", getpid());
  if (code != MF_OK) {
    mf_jw_kstrz(&l.w, "code", mf_code_name(code));
    mf_jw_kstrz(&l.w, "message", err ? err->msg : "");
  } else {
    mf_jw_ku64(&l.w, "caps", mf_provider_caps(d->provider));
  }
  line_end(d, &l);
  if (code != MF_OK) {
    d->status = 1;
    close_down(d);
  } else {
    mf_watch_set(d->watch, MF_WATCH_READ);
  }
}

int main(int argc, char **argv)
{
  int status;
  if (mf_provider_was_helper(argc, argv, &status))
    return status;

  struct mf_provider_config config;
  if (!mf_driver_options(argc, argv, &config)) {
    fprintf(stderr, "mf-driver: a wrong option; see options.c\n");
    return 2;
  }
  struct driver d = { .kind = config.kind };
  struct mf_err err = { 0 };
  mf_buf_init(&d.in, LINE_MAX_BYTES);
  enum mf_code code = mf_loop_new(&d.loop, &err);
  if (code == MF_OK)
    code = mf_fd_set_nonblock(STDIN_FILENO, &err);
  if (code == MF_OK)
    code = mf_watch_new(d.loop, STDIN_FILENO, 0, on_stdin, &d, &d.watch, &err);
  if (code == MF_OK)
    code = mf_provider_new(d.loop, &config, on_ready, &d, &d.provider, &err);
  if (code != MF_OK) {
    struct line l;
    line_begin(&l, NULL);
    mf_jw_kbool(&l.w, "ready", false);
    mf_jw_kstrz(&l.w, "code", mf_code_name(code));
    mf_jw_kstrz(&l.w, "message", err.msg);
    line_end(&d, &l);
    return 1;
  }
  code = mf_loop_run(d.loop, &err);
  if (code != MF_OK) {
    fprintf(stderr, "mf-driver: %s\n", err.msg);
    d.status = 2;
  }
  while (d.asked)
    asking_free(d.asked);
  mf_watch_free(d.watch);
  mf_loop_free(d.loop);
  mf_buf_done(&d.in);
  return d.status;
}
