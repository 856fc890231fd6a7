/* What the files of the loop share: rounds.c decides, ask.c asks the model, slots.c holds the round's items,
 * calls.c runs its gateway calls, deliver.c writes events, payload.c the public response object. Thread: the loop's;
 * all of it in the turn's fiber.
 *
 * A function that returns bool has, when it returns false, said in run->ret how the turn ends. */
#ifndef MF_AGENT_ROUNDS_H
#define MF_AGENT_ROUNDS_H

#include "http/sse.h"
#include "turn-internal.h"

/* What becomes of an upstream item. */
enum slot_kind {
  SLOT_PLAIN,   /* its own frames are delivered */
  SLOT_CLIENT,  /* a call that the client sees in another form: held back, then made from the whole call */
  SLOT_GATEWAY, /* a call that we execute: its frames are never seen */
  SLOT_UNNAMED, /* a function call that has not said its name yet: held back until it does */
};

/* How much of an item's type is made up where upstream has left it out. */
enum slot_form {
  FORM_OPEN,     /* nothing */
  FORM_DONE,     /* what clients cannot do without */
  FORM_RESPONSE, /* all that the response object of the contract has */
};

/* One item of the round that is under way, by the order in which it came: that is its place in `output`. */
struct slot {
  enum slot_kind kind;
  uint32_t upstream_index; /* the accumulator's name for it */
  uint32_t index;          /* output_index: dense over the whole response */
  bool is_held;            /* its frames wait in `held` for what is before it */
  bool is_added, is_done;  /* what the client has been told, or what waits in `held` */
  bool is_call;            /* a function_call */
  bool is_reasoning;
  bool is_refused;    /* over max_tool_calls: not run */
  struct mf_buf held; /* records of held_head, type, members */
  char *id;
  bool is_renamed;     /* id is not the accumulator's, which an earlier round has used */
  struct mf_buf shown; /* the item as it was asked for last, where that is not the accumulator's */
  size_t item;         /* in run->items, once the round has ended */
  struct mf_tool_binding binding;
  struct mf_gateway_call *call;
};

struct run {
  struct turn t;
  const struct mf_turn_sink *sink; /* NULL: JSON */
  struct mf_turn_result *ret;
  bool is_over; /* ret->end is decided: an error, a verbatim answer or a cancel */

  /* deliver.c */
  uint64_t sequence;
  bool sent_created, sent_in_progress;
  struct mf_buf frame;   /* the event that is being written */
  struct mf_buf members; /* its members */
  size_t held_bytes;

  /* of the round */
  unsigned round;
  struct mf_http_call *call;       /* until the next round, or the end */
  struct mf_acc *acc;              /* of the newest round; what the response says of itself is what that round said */
  const struct mf_acc_item *items; /* of the accumulator, once the round has ended */
  size_t item_n;
  struct slot *slots;
  size_t slot_n, slot_cap;
  bool is_holding; /* a slot is held, so that every later one is too */

  /* over all rounds */
  struct mf_usage usage;
  unsigned gateway_rounds;
  uint64_t dispatched; /* gateway calls that max_tool_calls counts */
  enum mf_upstream_state state;
  bool is_too_many; /* rounds: incomplete for that reason */
};

/* ---- rounds.c ---- */
/* The turn ends with an error; returns false. */
bool run_fail(struct run *run, int status, const char *type, const char *code, const char *fmt, ...) MF_PRINTF(5, 6);
bool run_fail_limit(struct run *run, int status, const char *fmt, ...) MF_PRINTF(3, 4);
/* The client has gone; returns false. */
bool run_cancel(struct run *run);
/* Upstream's own answer, which is in run->ret, is the turn's; returns false. */
bool run_verbatim(struct run *run);

/* ---- ask.c ---- */
/* Asks the model; its answer is in run->acc, and what there was of it to deliver has been. */
bool ask(struct run *run);
/* Lets go of the connection, so that it can be used again where that is possible. */
void ask_leave(struct run *run);

/* ---- deliver.c ---- */
/* One event. index -1: none. members: ",\"k\":v…" or empty. */
bool deliver(struct run *run, struct mf_str type, int64_t index, struct mf_str members);
/* What the accumulator made of one upstream event. data: its text. */
bool deliver_upstream(struct run *run, const struct mf_acc_event *e, struct mf_str data);
/* created and in_progress, where they have not been sent. */
bool deliver_begin(struct run *run);
/* An error event, the last one. */
void deliver_error(struct run *run);
/* Everything of a plain slot that the client has not been told, and that it is done. `json` is the final item. */
bool deliver_rest(struct run *run, struct slot *s, struct mf_str json);
/* The adapter for events of tools; code is MF_OK or what an emitting function said. */
struct mf_event_sink deliver_sink(struct run *run);
bool deliver_check(struct run *run, enum mf_code code, const struct mf_err *err);

/* ---- slots.c ---- */
struct slot *slot_find(struct run *run, uint32_t upstream_index);
struct slot *slot_add(struct run *run, const struct mf_acc_item *item);
void slots_clear(struct run *run);
/* A call that was held back because it had no name has one now. */
void slot_name(struct slot *s, const struct run *run, const struct mf_acc_item *item);
/* *json: the item as the accumulator has it; becomes what is shown of it: with the slot's id where that is another, and
 * with members of its type that upstream has left out. Borrowed from the slot until the next call. */
bool slot_json(struct run *run, struct slot *s, enum slot_form form, struct mf_str *json);
/* The slot's item, put together where upstream did not finish it. Borrowed until the accumulator is fed again. */
const struct mf_acc_item *slot_item(const struct run *run, const struct slot *s);

/* ---- calls.c ---- */
/* The upstream round has ended: runs its gateway calls, delivers what was held back, and adds its items to t.outputs
 * and t.inputs. *ret_client: a call of the client's is among them. *ret_gateway: how many are the gateway's. */
bool round_settle(struct run *run, bool *ret_client, size_t *ret_gateway);

/* ---- payload.c ---- */
/* The public object. status: "in_progress" … */
bool payload_write(struct run *run, const char *status, struct mf_buf *out);
/* What an upstream lifecycle event said, with our ids, and with what is missing in it. */
bool payload_write_lifecycle(struct run *run, const struct mf_json_val *response, struct mf_buf *out);
/* Stores the response and its items. */
bool payload_store(struct run *run);

#endif
