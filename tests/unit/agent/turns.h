/* Turns that begin without a server: an agent with a database in memory and an interpreter that is only looked at.
 * Single quotes in JSON stand for double ones. */
#ifndef MF_TESTS_AGENT_TURNS_H
#define MF_TESTS_AGENT_TURNS_H

#include "unit.h"

#include "../storage/harness.h"
#include "turn-internal.h"

struct world {
  struct harness h;
  struct mf_interpreter_config interpreter;
  struct mf_agent agent;
};
void world_open(struct world *w);
void world_close(struct world *w);

char *quoted(const char *text); /* release with free */
struct mf_json *parsed(struct mf_str text);
bool json_equal(const struct mf_json_val *a, const struct mf_json_val *b); /* as values: order of keys does not count */

/* The request, or NULL with *e. */
struct mf_turn_request *request_of(struct world *w, const char *body, struct mf_api_error *e);
/* Begins a turn; false with *e. turn_done in both cases, then the request. */
bool begin_turn(struct world *w, const struct mf_turn_request *r, struct turn *t, struct mf_api_error *e);
/* The whole thing: begun, and written as round 0. What goes upstream is compared with `want`. */
void sends(struct world *w, const char *body, const char *want);
/* It is refused with this message, when it is read or when it begins. */
void refused_turn(struct world *w, const char *body, int status, const char *code, const char *param,
                  const char *message);

/* A stored response `id` that follows `previous` ("" for none). Each item: its JSON, and whether it is an input, public
 * and gateway code. */
struct past_item {
  const char *json;
  bool is_input, is_hidden, is_gateway_code;
};
void store(struct world *w, const char *id, const char *previous, const char *tools, const char *choice,
           const struct past_item *items, size_t n);

#endif
