/* What the files of a turn share. request.c makes the request (item.c: its input items), history.c begins a turn,
 * references.c finds items that it refers to, pending.c checks it against the calls that are open, turn-items.c holds
 * what it will store, upstream.c writes what is POSTed; rounds.c, ask.c, calls.c, deliver.c and payload.c do the rest.
 * Thread: the loop's. */
#ifndef MF_AGENT_TURN_INTERNAL_H
#define MF_AGENT_TURN_INTERNAL_H

#include "agent/turn.h"

struct mf_turn_request {
  struct mf_json *doc; /* the client's body; what follows is borrowed from it */
  bool is_stream, is_store, is_proxy;
  struct mf_str model, previous_id;                 /* previous_id empty: none */
  const struct mf_json_val *input, *tools, *choice; /* NULL where the client left it out, or said null */
  uint64_t max_tool_calls;                          /* UINT64_MAX: no bound */
  size_t bytes;                                     /* of the body */
};

/* What this turn will store, in order. Owned copies. */
struct turn_items {
  struct mf_store_item *items;
  size_t item_n, item_cap;
  size_t bytes; /* what counts against the bound: of a turn's inputs those only that came after turn_begin */
};

struct turn {
  struct mf_agent *agent;
  struct mf_fiber *self;
  const struct mf_turn_request *r;
  struct mf_str bearer;
  char id[MF_ID_N];
  uint64_t created_at; /* Unix seconds */

  /* history.c */
  struct mf_json *inherited;                /* the parent's tools and tool_choice */
  struct mf_json *resolved;                 /* the request's input, when it refers to stored items */
  const struct mf_json_val *sent;           /* the input: the request's, or the resolved one */
  const struct mf_json_val *tools, *choice; /* in force: the request's, else the parent's; NULL: none */
  struct mf_toolset *toolset;
  struct mf_buf input;      /* upstream's `input` so far: elements with commas between, without brackets */
  size_t begun;             /* its length when the turn began: history and the request's items */
  struct turn_items inputs; /* the request's input items, then the gateway's call/output pairs: stored before outputs */
  struct turn_items outputs;

  /* the rest belongs to rounds.c, calls.c, deliver.c and payload.c: see rounds.h */
};

/* ---- history.c ---- */
/* Rehydrates, inherits, makes the toolset, checks pending calls, fills input and inputs. False: *e; turn_done releases
 * in both cases. t is zeroed but for agent, self, r and bearer. */
bool turn_begin(struct turn *t, struct mf_api_error *e);
void turn_done(struct turn *t);
/* Appends an item of the model (as the accumulator holds it), or a function_call_output of the gateway's, to input as
 * upstream shall see it in the next round (reasoning normalised …). MF_E_LIMIT: over retained_max. */
MF_MUST_USE enum mf_code turn_input_add(struct turn *t, const struct mf_json_val *item, struct mf_err *err);
MF_MUST_USE enum mf_code turn_items_add(struct turn_items *l, size_t bytes_max, const struct mf_store_item *item,
                                        struct mf_err *err);
void turn_items_done(struct turn_items *l);

/* ---- upstream.c ---- */
/* The whole body of round `round` (from 0): after the first, tool_choice is left out (auto). without_gateway: built-in
 * tools are no longer offered (max_tool_calls is used up). */
MF_MUST_USE enum mf_code turn_write_upstream(const struct turn *t, unsigned round, bool without_gateway,
                                             struct mf_buf *out, struct mf_err *err);

#endif
