/* Each request is kept as the JSON that shows it. */
#include "seen.h"
#include "base/banned.h"

struct mf_seen {
  struct mf_buf ring[MF_SEEN_MAX]; /* request number n is at n % MF_SEEN_MAX */
  uint64_t first, next;
  size_t bytes;
};

struct mf_seen *mf_seen_new(void)
{
  return mf_xcalloc(1, sizeof(struct mf_seen));
}

static void drop_first(struct mf_seen *s)
{
  struct mf_buf *b = &s->ring[s->first++ % MF_SEEN_MAX];
  s->bytes -= b->len;
  mf_buf_done(b);
  *b = (struct mf_buf){ 0 };
}

void mf_seen_reset(struct mf_seen *s)
{
  while (s->first < s->next)
    drop_first(s);
  s->first = s->next = 0;
}

void mf_seen_free(struct mf_seen *s)
{
  if (!s)
    return;
  mf_seen_reset(s);
  free(s);
}

static void write_headers(struct mf_json_writer *w, const struct mf_http_exchange *x)
{
  const struct mf_http_header *headers = NULL;
  size_t n = mf_http_headers(x, &headers);
  mf_jw_arr(w);
  for (size_t i = 0; i < n; i++) {
    mf_jw_arr(w);
    mf_jw_str(w, headers[i].name);
    mf_jw_str(w, headers[i].value);
    mf_jw_arr_end(w);
  }
  mf_jw_arr_end(w);
}

void mf_seen_add(struct mf_seen *s, const struct mf_http_exchange *x, struct mf_str body,
                 const struct mf_json_val *json, const struct mf_seen_answer *answer)
{
  if (s->next - s->first == MF_SEEN_MAX)
    drop_first(s);
  struct mf_buf *b = &s->ring[s->next % MF_SEEN_MAX];
  mf_buf_init(b, MF_SEEN_BYTES_MAX);
  for (int with_body = 1; with_body >= 0; with_body--) {
    struct mf_json_writer w;
    mf_buf_truncate(b, 0);
    mf_jw_init(&w, b, false);
    mf_jw_obj(&w);
    mf_jw_ku64(&w, "number", s->next);
    mf_jw_kstr(&w, "method", mf_http_method(x));
    mf_jw_kstr(&w, "path", mf_http_path(x));
    mf_jw_kstr(&w, "scenario", answer->scenario);
    mf_jw_kstr(&w, "session", answer->session);
    mf_jw_ki64(&w, "round", answer->round);
    mf_jw_key(&w, "headers");
    write_headers(&w, x);
    mf_jw_key(&w, "body");
    if (!with_body)
      mf_jw_null(&w);
    else if (json)
      mf_jw_val(&w, json);
    else
      mf_jw_str(&w, body);
    mf_jw_obj_end(&w);
    if (!w.code)
      break;
  }
  s->bytes += b->len;
  s->next++;
  while (s->bytes > MF_SEEN_BYTES_MAX && s->first < s->next)
    drop_first(s);
}

void mf_seen_write(const struct mf_seen *s, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_ku64(w, "total", s->next);
  mf_jw_ku64(w, "dropped", s->first);
  mf_jw_key(w, "requests");
  mf_jw_arr(w);
  for (uint64_t i = s->first; i < s->next; i++)
    mf_jw_raw(w, mf_buf_str(&s->ring[i % MF_SEEN_MAX]));
  mf_jw_arr_end(w);
  mf_jw_obj_end(w);
}
