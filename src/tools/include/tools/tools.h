/* Tools: what a client may declare, what the model sees of it, and who executes a call.
 *
 * A tool kind is one file with one row in the table of registry.c: it checks a declaration, writes the functions that
 * the model sees, and says who executes: the client (function, custom, namespace, tool_search, shell) or the gateway
 * (code_interpreter). A gateway kind also runs calls and writes their public items and events.
 *
 * Declarations are data of one request; a toolset binds every model-visible name to its kind. Thread: the loop's. */
#ifndef MF_TOOLS_TOOLS_H
#define MF_TOOLS_TOOLS_H

#include "interpreter/executor.h"
#include "json/json.h"
#include "loop/fiber.h"

/* An error as a client of the API sees it. */
struct mf_api_error {
  int status;       /* HTTP */
  const char *type; /* "invalid_request_error" … */
  const char *code; /* NULL: JSON null */
  bool has_param;
  char param[200]; /* written only when has_param */
  char message[600];
};
/* {"error":{"message","type","code"[,"param"]}} */
void mf_api_error_write(const struct mf_api_error *e, struct mf_json_writer *w);
/* Fills e; returns false, so that failing is one line. param NULL: none. The message is cut on a character boundary. */
bool mf_api_fail(struct mf_api_error *e, int status, const char *type, const char *code, const char *param,
                 const char *fmt, ...) MF_PRINTF(6, 7);
/* 400, "json error: … at AT". */
bool mf_api_fail_json(struct mf_api_error *e, const char *at, const char *fmt, ...) MF_PRINTF(3, 4);
/* The same: "invalid type: number `5`, expected WHAT". */
bool mf_api_fail_type(struct mf_api_error *e, const struct mf_json_val *v, const char *what, const char *at);
/* A value's type as such a message says it: "string \"x\"". */
void mf_api_value_words(const struct mf_json_val *v, char *ret, size_t n);

/* What the kinds may use: built once, borrowed by every toolset. */
struct mf_tools_env {
  struct mf_executor *executor; /* NULL: the interpreter is off */
  const struct mf_interpreter_config *interpreter;
  bool interpreter_built;  /* the provider is compiled in */
  bool ignore_unsupported; /* tools.unsupported = "ignore" */
  struct mf_loop *loop;
  uint64_t call_timeout_ms; /* of one gateway call; 0: 60 s */
};

enum mf_tool_executor { MF_TOOL_CLIENT, MF_TOOL_GATEWAY };
struct mf_tool_kind;
struct mf_toolset;

/* tools: the request's JSON array, or NULL. Copies what it needs. False: *e says why, and *ret is untouched. An
 * unsupported type has param tools[i].type. */
bool mf_toolset_new(const struct mf_tools_env *env, const struct mf_json_val *tools, struct mf_toolset **ret,
                    struct mf_api_error *e);
void mf_toolset_free(struct mf_toolset *t); /* NULL is fine */
/* The tools of a tool_search_output become callable: functions that were declared with defer_loading, which must be the
 * same, and new ones. False: *e says why; t is then only good for mf_toolset_free. */
bool mf_toolset_load(struct mf_toolset *t, const struct mf_json_val *tools, struct mf_api_error *e);
bool mf_toolset_has_gateway(const struct mf_toolset *t);    /* any gateway-executed tool */
bool mf_toolset_only_functions(const struct mf_toolset *t); /* the raw proxy may serve it */
/* The model-facing array of functions; nothing (returns false) when it is empty. `without_gateway`: after
 * max_tool_calls. */
bool mf_toolset_write_upstream(const struct mf_toolset *t, bool without_gateway, struct mf_json_writer *w);
/* tool_choice as the client sent it → what goes upstream; returns false when the key is left out (auto). On a bad
 * choice *e. t NULL: only its form is checked, before the tools are. */
bool mf_toolset_check_choice(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_api_error *e);
bool mf_toolset_write_choice(const struct mf_toolset *t, const struct mf_json_val *choice, struct mf_json_writer *w);

/* Who a model-made call is for. An undeclared name is a client function call. */
struct mf_tool_binding {
  enum mf_tool_executor executor;
  const struct mf_tool_kind *kind; /* never NULL */
  bool is_withheld;                /* declared with defer_loading and not loaded: the model was not offered it */
};
struct mf_tool_binding mf_toolset_bind(const struct mf_toolset *t, struct mf_str name);

/* ---- one call of the model, as its function_call item says ---- */
struct mf_tool_call {
  struct mf_str item_id, call_id, name, arguments;
  uint32_t output_index;
};

/* How an item that the client sends back (a call or an output of custom, shell, tool_search, or a function with a
 * namespace) looks to the model: function_call and function_call_output. False, and nothing written: the item is not of
 * such a kind. */
bool mf_tool_write_model_item(const struct mf_json_val *item, struct mf_json_writer *w);

/* How a kind shows a client-executed call in place of the plain function_call (custom_tool_call, shell_call, a function
 * with its namespace restored …): the final public item, and its events. Plain functions pass through as they came. */
bool mf_tool_is_plain(struct mf_tool_binding b); /* function and undeclared: upstream's own frames are delivered */
void mf_tool_write_client_item(struct mf_tool_binding b, const struct mf_toolset *t, const struct mf_tool_call *call,
                               const char *status, struct mf_json_writer *w);

/* Events go through this. type is the full one ("response.output_item.added"). */
struct mf_event_sink {
  void *user;
  /* json: the members after `output_index` as ",\"k\":v…" text without braces; index -1: none. */
  enum mf_code (*emit)(void *user, const char *type, int64_t output_index, struct mf_str members, struct mf_err *err);
};
enum mf_code mf_tool_emit_client(struct mf_tool_binding b, const struct mf_toolset *t, const struct mf_tool_call *call,
                                 const struct mf_event_sink *sink, struct mf_err *err);

/* ---- a gateway call ---- */
struct mf_gateway_call; /* state of one call from start to item */
/* Copies what it needs of call; borrows env. b must be a gateway binding. */
struct mf_gateway_call *mf_gateway_call_new(const struct mf_tools_env *env, struct mf_tool_binding b,
                                            const struct mf_tool_call *call);
void mf_gateway_call_free(struct mf_gateway_call *c);
/* Events 1–5 of the lifecycle (opening item …). */
enum mf_code mf_gateway_call_emit_start(struct mf_gateway_call *c, const struct mf_event_sink *sink,
                                        struct mf_err *err);
/* Executes. Never fails but with MF_E_CANCELLED: every fault becomes an output for the model. */
enum mf_code mf_gateway_call_run(struct mf_gateway_call *c, struct mf_fiber *self);
/* The call is refused without running (max_tool_calls): `text` is the model's output. */
void mf_gateway_call_refuse(struct mf_gateway_call *c, struct mf_str text);
/* The string for function_call_output.output. */
struct mf_str mf_gateway_call_output(const struct mf_gateway_call *c);
/* Events 6–7. */
enum mf_code mf_gateway_call_emit_end(struct mf_gateway_call *c, const struct mf_event_sink *sink, struct mf_err *err);
/* The final public item. */
void mf_gateway_call_write_item(const struct mf_gateway_call *c, struct mf_json_writer *w);
struct mf_str mf_gateway_call_item_id(const struct mf_gateway_call *c);

#endif
