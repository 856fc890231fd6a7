/* Whole turns over real loopback HTTP: the scripted model is upstream, a provider that only pretends is the sandbox,
 * the database is in memory. JSON is written with ' for " in these tests. Every stream is checked by check_stream. */
#ifndef MF_TESTS_AGENT_HARNESS_H
#define MF_TESTS_AGENT_HARNESS_H

#include "unit.h"

#include "agent/turn.h"
#include "model/model.h"

/* A provider that "runs" what it knows: print(X) prints X, raise fails, hang waits until it is cancelled. */
struct fake {
  struct mf_provider base;
  struct mf_loop *loop;
  unsigned start_n, cancel_n, busy, busy_max;
};
void fake_init(struct fake *f, struct mf_loop *loop);

struct event {
  char *type, *json;
};

struct bench {
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_storage *storage;
  struct mf_http_client *client;
  struct mf_model *model;
  struct fake fake;
  struct mf_executor *executor;
  struct mf_interpreter_config interpreter;
  struct mf_agent agent;
  char base[64];

  /* When the turn shall be cancelled. */
  size_t cancel_after_events; /* 0: never */
  bool cancel_when_guest_runs;
  uint64_t cancel_after_ms;  /* 0: never */
  size_t break_after_events; /* the sink fails from then on; 0: never */

  /* Of the newest turn. */
  struct mf_fiber *fiber;
  struct mf_turn_request *request;
  struct mf_api_error refusal; /* of the request, when there is none */
  struct mf_turn_result result;
  struct event *events;
  size_t event_n, event_cap;
  bool is_running;
};

void bench_open(struct bench *b, const char *scenario);
/* The scenario from its beginning, or another one. */
void bench_close(struct bench *b);
/* Runs one turn to its end and until every place of the provider is free. A stream that was not broken off is checked.
 */
void bench_run(struct bench *b, const char *body);

/* What the model was asked, oldest first: {"requests":[{"body":…,"headers":…}…]}. Release with mf_json_free. */
struct mf_json *bench_seen(struct bench *b);
size_t bench_seen_n(struct bench *b);
/* Whether the response that the newest turn named is stored, and then its payload. */
bool bench_is_stored(struct bench *b, struct mf_buf *payload);

/* The invariants of a stream that hold whatever the model says. Fails with the place. gateway: the name of a tool whose
 * function calls must never be seen, or NULL. */
void check_stream(const struct event *events, size_t n, const char *gateway);

/* The events of the newest stream as one line, without their prefix "response.": "created in_progress …". */
void expect_types(const struct bench *b, const char *want);
/* The value at a path of members and numbers, "output.0.status", of the payload; "" when there is none. Strings
 * without quotes, else JSON. The result is good until the next call. */
const char *payload_at(struct bench *b, const char *path);
const char *json_at(const char *json, const char *path);
const char *event_at(const struct bench *b, size_t i, const char *path);

#endif
