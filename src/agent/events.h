/* The event types of a Responses stream, as a table: what each one does to the response it belongs to. */
#ifndef MF_AGENT_EVENTS_H
#define MF_AGENT_EVENTS_H

#include "base/str.h"
#include "agent/accumulator.h"

enum event_class {
  EVENT_UNKNOWN,
  EVENT_KEEPALIVE,
  EVENT_LIFECYCLE,
  EVENT_TERMINAL,
  EVENT_ERROR,
  EVENT_ITEM_ADDED,
  EVENT_ITEM_DONE,
  EVENT_PART_ADDED, /* `part` */
  EVENT_PART_DONE,
  EVENT_DELTA,      /* `delta` is appended */
  EVENT_TEXT_ADDED, /* `field` is the first text */
  EVENT_TEXT_DONE,  /* `field` is the whole text */
  EVENT_PROGRESS,   /* says something of an item and changes nothing */
};

/* Where in an item a text is. */
enum part_group { PART_CONTENT, PART_SUMMARY, PART_FIELD, PART_COMMAND };

struct event_row {
  const char *name;
  enum event_class class;
  enum part_group group;
  const char *item_type;        /* of the item it speaks of; with a '_' at its end a prefix; NULL: any */
  const char *part_type;        /* the type of a part of content or summary */
  const char *field;            /* the text's name in the done event, and in the part or item */
  const char *index_key;        /* which part; NULL: the item has one such text */
  enum mf_upstream_state state; /* after a terminal event */
  const char *status;           /* what `response.status` has to be */
};

/* Never NULL: an unknown type has a row of its own. */
const struct event_row *event_find(struct mf_str type);
bool event_fits_item(const struct event_row *row, struct mf_str item_type);

#endif
