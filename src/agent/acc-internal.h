/* What the files of the accumulator share. An acc_ function that fails leaves an accumulator that is done with. */
#ifndef MF_AGENT_ACC_INTERNAL_H
#define MF_AGENT_ACC_INTERNAL_H

#include "agent/accumulator.h"
#include "events.h"

/* Looking for an item or part is linear; these keep that cheap whatever upstream sends. */
enum { ACC_ITEMS_MAX = 1024, ACC_PARTS_MAX = 4096 };

/* A text of an item while the item is open. */
struct acc_part {
  enum part_group group;
  uint32_t index;
  const char *type, *field; /* of an event row; NULL when only `json` is known */
  struct mf_buf text;
  struct mf_buf json;     /* the `part` object as it was added or done */
  struct mf_buf logprobs; /* of its done event */
  bool is_text_done, is_done;
};

struct acc_item {
  struct mf_acc_item pub; /* its strings point into the buffers below */
  bool has_raw_index;
  uint32_t raw_index; /* upstream's output_index */
  struct mf_buf type, id, upstream_id, json, call_id, name, arguments;
  struct mf_buf assembled; /* not counted: it exists only while a caller looks at an item that was never done */
  struct acc_part *parts;  /* by group and index */
  size_t part_n, part_cap;
};

struct acc_view {
  struct mf_acc_item *items;
  size_t cap;
};

struct mf_acc {
  bool strict;
  size_t max, used;
  enum mf_upstream_state state;
  struct acc_item **items; /* by pub.upstream_index */
  size_t item_n, item_cap;
  struct acc_view *view; /* what mf_acc_items returned last */
  struct mf_usage usage;
  struct mf_buf error, incomplete;
  struct mf_json *doc;                /* of the newest event, or of the body */
  struct mf_json *last;               /* of the terminal event */
  const struct mf_json_val *response; /* in one of them */
  /* of strict only */
  bool saw_created, saw_in_progress, saw_sequence;
  uint64_t sequence;
};

/* ---- accumulator.c: memory that is counted, and complaints ---- */

MF_MUST_USE enum mf_code acc_charge(struct mf_acc *a, size_t n, struct mf_err *err);
MF_MUST_USE enum mf_code acc_add(struct mf_acc *a, struct mf_buf *b, struct mf_str s, struct mf_err *err);
MF_MUST_USE enum mf_code acc_set(struct mf_acc *a, struct mf_buf *b, struct mf_str s, struct mf_err *err);
MF_MUST_USE enum mf_code acc_set_val(struct mf_acc *a, struct mf_buf *b, const struct mf_json_val *v,
                                     struct mf_err *err);
void acc_drop(struct mf_acc *a, struct mf_buf *b);
/* Strict fails with this text; lenient swallows the event. */
enum mf_code acc_complain(struct mf_acc *a, struct mf_acc_event *e, struct mf_err *err, const char *fmt, ...)
    MF_PRINTF(4, 5);
/* A string member, empty when it is none. */
struct mf_str acc_get_str(const struct mf_json_val *obj, const char *key);
bool acc_has_str(const struct mf_json_val *obj, const char *key);
/* False unless a whole number below 2^32. */
bool acc_get_index(const struct mf_json_val *obj, const char *key, uint32_t *ret);

/* ---- items.c ---- */

/* The item an event speaks of: still open, and not contradicted by the event's other name for it. NULL: none. */
struct acc_item *acc_find_open(struct mf_acc *a, bool has_index, uint32_t index, struct mf_str id);
MF_MUST_USE enum mf_code acc_item_added(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e,
                                        struct mf_err *err);
MF_MUST_USE enum mf_code acc_item_done(struct mf_acc *a, const struct mf_json_val *root, struct mf_acc_event *e,
                                       struct mf_err *err);
/* Items of a finished response object: those that are known are completed where they are open, the others are added. */
MF_MUST_USE enum mf_code acc_merge_output(struct mf_acc *a, const struct mf_json_val *output, struct mf_err *err);
void acc_item_free(struct acc_item *it);
void acc_event_names(struct mf_acc_event *e, const struct acc_item *it);
void acc_item_refresh(struct acc_item *it);

/* ---- deltas.c ---- */

MF_MUST_USE enum mf_code acc_part_event(struct mf_acc *a, struct acc_item *it, const struct event_row *row,
                                        const struct mf_json_val *root, struct mf_acc_event *e, struct mf_err *err);
struct acc_part *acc_part_find(const struct acc_item *it, enum part_group group, uint32_t index);
/* Whether a done item says otherwise than the parts that were done before it. */
MF_MUST_USE enum mf_code acc_parts_check(const struct mf_acc *a, const struct acc_item *it,
                                         const struct mf_json_val *item, struct mf_err *err);
void acc_parts_drop(struct mf_acc *a, struct acc_item *it);

/* ---- assemble.c ---- */

/* The item's opening with the texts of its parts, into it->assembled; false when memory does not suffice. */
bool acc_item_assemble(struct acc_item *it, const char *status);
/* `item` with its id in place of whatever is there. */
void acc_write_item(struct mf_json_writer *w, const struct mf_json_val *item, struct mf_str id);

/* ---- usage.c ---- */

struct mf_usage acc_usage_read(const struct mf_json_val *usage);

#endif
