/* What a scenario looks at in a request, and the placeholders that quote it. Thread: any. */
#ifndef MF_MODEL_ASK_H
#define MF_MODEL_ASK_H

#include "json/json.h"
#include "scenario.h"

struct mf_model_ask {
  struct mf_json *doc; /* owns the rest */
  const struct mf_json_val *root;
  struct mf_str model;
  bool streams;
  struct mf_str last_user_text;
  struct mf_str last_output; /* of a tool */
  size_t turn_outputs;       /* runs of tool outputs since the last message of a user */
};

/* Release with mf_model_ask_done, also after an error. */
MF_MUST_USE enum mf_code mf_model_ask_parse(struct mf_str body, struct mf_model_ask *ret, struct mf_err *err);
void mf_model_ask_done(struct mf_model_ask *a);

bool mf_model_ask_fits(const struct mf_model_ask *a, const struct mf_model_round *r);
/* Appends text with {{last_tool_output}}, {{last_tool_output.MEMBER}} (of an output that is a JSON object),
 * {{last_user_text}} and {{model}} replaced; other braces stay. in_json: text is JSON, so what comes in is escaped. */
MF_MUST_USE enum mf_code mf_model_ask_fill(const struct mf_model_ask *a, struct mf_str text, bool in_json,
                                           struct mf_buf *out);

#endif
