/* What a tool kind is made of, and the toolset that its declarations go into. Private to this room. */
#ifndef MF_TOOLS_KIND_H
#define MF_TOOLS_KIND_H

#include "base/utf8.h"
#include "tools/tools.h"

/* The most names that one request may declare: finding one is a walk. */
#define TOOLS_MAX 1024u
/* What model servers accept as a name of a function. */
#define TOOL_NAME_MAX 64u

/* One function as the model sees it. */
struct tool_fn {
  const struct mf_tool_kind *kind;
  char *name;        /* model-visible */
  char *public_name; /* as the client declared it */
  char *ns;          /* its namespace, or NULL */
  size_t from, len;  /* its upstream object in the toolset's text */
  bool is_deferred, is_loaded;
};

struct mf_toolset {
  const struct mf_tools_env *env;
  struct mf_buf text; /* the upstream objects, one behind the other */
  struct tool_fn *fns;
  unsigned fn_n, fn_cap;
  bool has_other; /* something that is not a plain function was declared */
  bool has_search;
  bool is_loading; /* what is declared now comes from a tool_search_output */
};

/* Where a declaration stands, for messages: "tools[2]", "tools[2].tools[0]". */
struct tool_place {
  char text[64];
};

/* One call that the gateway executes. */
struct gateway_ops {
  void *(*open)(const struct mf_tools_env *env, const struct mf_tool_call *call);
  void (*close)(void *state);
  enum mf_code (*emit_start)(void *state, const struct mf_event_sink *sink, struct mf_err *err);
  /* MF_OK with the model's output in `out`, or MF_E_CANCELLED. Runs in a fiber of its own. */
  enum mf_code (*run)(void *state, struct mf_fiber *self, struct mf_buf *out);
  void (*fail)(void *state); /* did not run, or was ended: the item is a failed one */
  enum mf_code (*emit_end)(void *state, const struct mf_event_sink *sink, struct mf_err *err);
  void (*write_item)(const void *state, struct mf_json_writer *w);
  struct mf_str (*item_id)(const void *state);
  size_t (*output_max)(const struct mf_tools_env *env);
};

struct mf_tool_kind {
  const char *type;  /* in a declaration */
  const char *label; /* in a message: "function tool" */
  enum mf_tool_executor executor;
  bool is_plain;
  /* Checks one declaration and adds its functions. */
  bool (*declare)(struct mf_toolset *t, const struct mf_json_val *decl, const struct tool_place *at,
                  struct mf_api_error *e);
  /* Client kinds that are not plain. */
  void (*write_item)(const struct tool_fn *fn, const struct mf_tool_call *call, const char *status, bool is_open,
                     struct mf_json_writer *w);
  /* The events between output_item.added and output_item.done; NULL: none. */
  enum mf_code (*emit_middle)(const struct tool_fn *fn, const struct mf_tool_call *call,
                              const struct mf_event_sink *sink, struct mf_err *err);
  /* Gateway kinds. */
  const struct gateway_ops *gateway;
};

extern const struct mf_tool_kind tool_function, tool_custom, tool_namespace, tool_namespace_fn, tool_search, tool_shell,
    tool_code_interpreter;

/* search.c: the search's function as the model sees it now; text: its upstream object. */
void tool_search_write(const struct mf_toolset *t, struct mf_str text, struct mf_json_writer *w);

/* registry.c */
const struct mf_tool_kind *tool_kind_find(struct mf_str type); /* NULL: not supported */
void tool_kind_list(char *ret, size_t n);                      /* "'function', 'custom', …" */

/* toolset.c */
struct fn_spec {
  struct mf_str name; /* model-visible; empty: public_name */
  struct mf_str public_name;
  struct mf_str ns;
  const struct mf_json_val *description; /* string, null or missing */
  struct mf_str description_text;        /* when there is no `description` */
  const struct mf_json_val *parameters;  /* object, null or missing */
  struct mf_str parameters_text;         /* JSON, when there is no `parameters` */
  const struct mf_json_val *strict;
  bool is_strict; /* when there is no `strict` and parameters_text is used */
  bool is_deferred;
};
bool toolset_add(struct mf_toolset *t, const struct mf_tool_kind *kind, const struct fn_spec *spec,
                 struct mf_api_error *e);
const struct tool_fn *toolset_find(const struct mf_toolset *t, struct mf_str name);
const struct tool_fn *toolset_find_kind(const struct mf_toolset *t, const struct mf_tool_kind *kind);
/* By the client's names; ns empty: without one. */
const struct tool_fn *toolset_find_public(const struct mf_toolset *t, const struct mf_tool_kind *kind, struct mf_str ns,
                                          struct mf_str name);

/* A name in a message, for "%.*s": long ones are cut. */
#define TOOL_SHOWN(s) (int)mf_utf8_prefix(s, 120), (s).ptr

/* check.c: what declarations have in common. False: *e is filled. */
bool tool_config_fail(struct mf_api_error *e, const char *fmt, ...)
    MF_PRINTF(2, 3); /* "tool error: invalid tool config: …" */
bool check_object(const struct mf_json_val *v, const char *what, const char *at, struct mf_api_error *e);
bool check_name(const struct mf_json_val *decl, const struct tool_place *at, struct mf_str *ret,
                struct mf_api_error *e);
/* A member that is absent or null, or has this type. */
bool check_optional(const struct mf_json_val *decl, const char *key, enum mf_json_type type, const char *what,
                    const struct tool_place *at, struct mf_api_error *e);
bool check_function(const struct mf_json_val *decl, const struct tool_place *at, struct fn_spec *ret,
                    struct mf_api_error *e);
bool check_custom(const struct mf_json_val *decl, const struct tool_place *at, struct fn_spec *ret,
                  struct mf_api_error *e);

/* ids.c: the suffix that a public id has of its function call: what follows fc_, else a hash. */
#define TOOL_ID_HASH_N 18 /* 'h', 16 digits, NUL */
struct mf_str tool_id_suffix(const struct mf_tool_call *call, char hash[TOOL_ID_HASH_N]);
char *tool_id(const char *prefix, const struct mf_tool_call *call);
uint64_t tool_fnv1a(uint64_t h, const void *p, size_t n);
#define TOOL_FNV_START 0xcbf29ce484222325ull

/* namespace.c: the model-visible name of a member. */
char *tool_namespace_name(struct mf_str ns, struct mf_str name);

/* events.c */
typedef void members_fn(const void *user, struct mf_json_writer *w);
enum mf_code tool_emit(const struct mf_event_sink *sink, const char *type, uint32_t output_index, members_fn *fn,
                       const void *user, struct mf_err *err);
/* {"item_id":…} and, with a key, one string member more. */
enum mf_code tool_emit_text(const struct mf_event_sink *sink, const char *type, uint32_t output_index,
                            struct mf_str item_id, const char *key, struct mf_str text, struct mf_err *err);

/* The string member `key` of a call's arguments when they are an object; else the arguments as they are. *doc owns it.
 */
struct mf_str tool_argument(struct mf_str arguments, const char *key, struct mf_json **doc);
struct mf_json *tool_parse(struct mf_str text); /* NULL: not JSON */

#endif
