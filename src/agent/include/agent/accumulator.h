/* The accumulator: one upstream response, from its SSE events or its JSON body, to typed items, usage and a terminal
 * state.
 *
 * Lenient (the server) or strict (for those who want to know what is wrong with a stream). It never trusts order, ids
 * or numbers: a missing opening, an index or id that is used twice, an empty id lose no item, and every item has an
 * upstream_index and an id of its own. Unknown item and event types are kept and passed through.
 *
 * Thread: one at a time. Every string that it returns is borrowed until the next feed, end or free. Memory: what it
 * keeps is at most retained_max, and the terminal event and the one that was fed last, which whoever read them has
 * bounded. */
#ifndef MF_AGENT_ACCUMULATOR_H
#define MF_AGENT_ACCUMULATOR_H

#include "json/json.h"

/* OPEN after the last event means that the stream was cut: mf_acc_end makes that a failure. */
enum mf_upstream_state { MF_UPSTREAM_OPEN, MF_UPSTREAM_COMPLETED, MF_UPSTREAM_INCOMPLETE, MF_UPSTREAM_FAILED };

struct mf_acc_item {
  uint32_t upstream_index; /* unlike upstream's own, never twice: a repeated output_index gets the next free one */
  struct mf_str type, id;  /* id: as upstream gave it, or a generated one where it was empty or another item's */
  bool is_done;
  bool saw_added, saw_done; /* by events; an item only of the terminal event or of a JSON body has neither */
  /* The item as it stands, with the id above: upstream's done item; else (mf_acc_items only) its opening with what the
   * deltas brought, with status "incomplete", or "completed" when the response is. */
  struct mf_str json;
  /* Of function_call (and of others that have them): */
  struct mf_str call_id, name, arguments;
};
struct mf_usage {
  bool present;
  uint64_t input_tokens, output_tokens, total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens;
  bool has_cache_write;
};

struct mf_acc;
struct mf_acc *mf_acc_new(bool strict, size_t retained_max);
void mf_acc_free(struct mf_acc *a); /* NULL is fine */

/* What the caller shall do with an event that was just fed. */
enum mf_acc_verdict {
  MF_ACC_DELIVER,  /* to the client, renumbered, with the item's id in place of its own */
  MF_ACC_SWALLOW,  /* lifecycle of the upstream response, "[DONE]", what contradicts or comes too late */
  MF_ACC_TERMINAL, /* the state is no longer OPEN; once */
};
struct mf_acc_event {
  struct mf_str type;        /* of the JSON, else the `type` that was given; empty when there is none */
  const struct mf_json *doc; /* borrowed until the next feed; NULL when the data were no JSON object */
  enum mf_acc_verdict verdict;
  bool has_index;
  uint32_t upstream_index;        /* of the item it speaks of: that of `item` when there is one */
  const struct mf_acc_item *item; /* NULL when it speaks of none */
  bool opens, closes;             /* output_item.added / .done. A done without added closes what was never opened: then
                                   * item->saw_added is false */
};
/* Feeds one event (`type` may be empty: taken from the JSON). MF_E_INPUT: a contradiction that even lenient refuses;
 * the text is the stream error's ("message completion contradicts a completed content part"). MF_E_LIMIT: over
 * retained_max. After either the state is FAILED. */
MF_MUST_USE enum mf_code mf_acc_feed(struct mf_acc *a, struct mf_str type, struct mf_str data, struct mf_acc_event *ret,
                                     struct mf_err *err);
/* The stream has ended: an OPEN response becomes FAILED, with an error that says so. */
void mf_acc_end(struct mf_acc *a);
/* Feeds a whole JSON response body (non-streamed), to a fresh accumulator. MF_E_INPUT: not JSON, or no response. A
 * status that is none of an ended response is FAILED. */
MF_MUST_USE enum mf_code mf_acc_feed_json(struct mf_acc *a, struct mf_str body, struct mf_err *err);

enum mf_upstream_state mf_acc_state(const struct mf_acc *a);
/* An array in upstream_index order. An item that is only in the terminal event's `output` is among them. */
size_t mf_acc_items(const struct mf_acc *a, const struct mf_acc_item **ret);
struct mf_usage mf_acc_usage(const struct mf_acc *a);
void mf_usage_add(struct mf_usage *sum, const struct mf_usage *u); /* saturating */
struct mf_str mf_acc_error(const struct mf_acc *a);      /* upstream's error object as JSON; empty when none */
struct mf_str mf_acc_incomplete(const struct mf_acc *a); /* incomplete_details as JSON; empty when none */
/* The response object of the terminal event or of the body, as it came (its items, put right, are above). NULL when
 * there was none. Good until mf_acc_free. */
const struct mf_json_val *mf_acc_response(const struct mf_acc *a);

#endif
