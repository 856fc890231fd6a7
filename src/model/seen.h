/* The requests that came, for tests to look at: the newest, bounded in number and bytes. Thread: one owner. */
#ifndef MF_MODEL_SEEN_H
#define MF_MODEL_SEEN_H

#include "http/server.h"
#include "json/json.h"

enum { MF_SEEN_MAX = 256, MF_SEEN_BYTES_MAX = 16 << 20 };

struct mf_seen;

struct mf_seen *mf_seen_new(void);
void mf_seen_free(struct mf_seen *s); /* NULL is fine */
void mf_seen_reset(struct mf_seen *s);

struct mf_seen_answer {
  struct mf_str scenario, session;
  int64_t round; /* -1: none was left */
};
/* A body that is not JSON is shown as a string; one that is too large is not shown. */
void mf_seen_add(struct mf_seen *s, const struct mf_http_exchange *x, struct mf_str body,
                 const struct mf_json_val *json, const struct mf_seen_answer *answer);
/* {"total", "dropped", "requests": [{"number", "method", "path", "scenario", "session", "round", "headers", "body"}]},
 * oldest first. */
void mf_seen_write(const struct mf_seen *s, struct mf_json_writer *w);

#endif
