/* One input item: what a client may send, what is stored of it, and what the model is shown. Private to this room. */
#ifndef MF_AGENT_ITEM_H
#define MF_AGENT_ITEM_H

#include "tools/tools.h"

enum item_class {
  ITEM_MESSAGE,
  ITEM_REASONING,
  ITEM_CALL,        /* for the client to answer */
  ITEM_OUTPUT,      /* the client's answer */
  ITEM_CODE,        /* upstream's own code_interpreter_call */
  ITEM_REFERENCE,   /* to one that is stored: references.c */
  ITEM_UNSUPPORTED, /* would change the answer if it were left out */
};
struct item_kind;
/* NULL: unknown, or no item at all. An object with a role and no type is a message. */
const struct item_kind *item_kind_of(const struct mf_json_val *item);
enum item_class item_class_of(const struct item_kind *k);
const char *item_type_of(const struct item_kind *k);
/* A call's output has its call's kind. */
bool item_answers(const struct item_kind *output, const struct item_kind *call);
const char *item_call_type_of(const struct item_kind *output);

/* The `index`th of the request's input. False: *e. Unknown items are fine: they are left out later. */
bool item_check(const struct mf_json_val *item, size_t index, struct mf_api_error *e);
/* As the model sees it. False, and nothing written: it does not see it (unknown, or reasoning without a text). */
bool item_write_model(const struct mf_json_val *item, struct mf_json_writer *w);
/* As it is stored: as the client sent it, with a type and without private members. */
void item_write_stored(const struct mf_json_val *item, struct mf_json_writer *w);

/* The string member `key`, or an empty string. */
struct mf_str item_text(const struct mf_json_val *obj, const char *key);

#endif
