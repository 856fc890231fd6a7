/* The configuration: command line > environment > config.toml of the home folder > default; docs/configuration.md.
 *
 * keys.h is the table. Loading has two steps, so that processes that must know no secret are started between them:
 * first all keys but the secret ones, then those. Errors are for the person who starts the program: one sentence with
 * the key, where its value came from, and what is expected. They never show a secret.
 *
 * Thread: the one that starts the program, before others are there. Blocks on files. */
#ifndef MF_CONFIG_CONFIG_H
#define MF_CONFIG_CONFIG_H

#include "base/buf.h"
#include "config/keys.h"
#include "interpreter/executor.h"

enum mf_config_id {
#define MF_KEY_ID(id, ...) MF_CONFIG_##id,
  MF_CONFIG_KEYS(MF_KEY_ID, MF_KEY_ID)
#undef MF_KEY_ID
      MF_CONFIG_N
};

enum mf_key_type { MF_KEY_BOOL, MF_KEY_NUMBER, MF_KEY_TEXT, MF_KEY_LIST, MF_KEY_LATER };
enum {
  MF_KEY_SECRET = 1u << 0,
  MF_KEY_NEGATED = 1u << 1, /* the option, which has no value, says "false" */
};

/* A row of the table. */
struct mf_config_key {
  const char *flag; /* NULL: none */
  const char *env;  /* NULL: none */
  const char *path;
  enum mf_key_type type;
  unsigned traits;
  size_t offset;
  const char *preset; /* NULL: unset */
  uint64_t min, max;
  const char *choices; /* "a b"; "@file" and "@dir" are words for completion */
  const char *help;
};
extern const struct mf_config_key mf_config_keys[MF_CONFIG_N];

enum mf_config_from { MF_FROM_DEFAULT, MF_FROM_FILE, MF_FROM_ENV, MF_FROM_FLAG };

struct mf_config_list {
  char **items; /* owned; never holds an empty text */
  size_t n;
};

#define MF_CONFIG_WARNINGS_MAX 16

/* The effective values. Texts are owned; NULL: unset. */
struct mf_config {
  char *home;      /* absolute; need not exist */
  char *file_path; /* of config.toml, whether there is one or not */
  bool has_file;

  char *llm_api_base; /* without a last slash and without /v1; NULL: none, and only the task API is served */
  char *host, *unix_socket, *tls_cert, *tls_key, *api_keys_file;
  uint64_t port, body_bytes;
  bool insecure_no_auth, openapi_docs, local_socket;
  struct mf_config_list cors_origins;
  char *oidc_issuer, *oidc_audience;
  char *database_url; /* never NULL */
  char *sqlite_synchronous;
  uint64_t llm_ready_timeout_s, llm_ready_interval_s, chunk_timeout_s;
  bool skip_llm_ready_check;
  uint64_t retained_bytes, upstream_json_bytes, upstream_line_bytes, event_bytes, concurrent_calls;
  char *tools_unsupported;
  struct mf_interpreter_config interpreter;
  char *provider, *isolation, *runtime, *wasm_runtime;
  uint64_t pool_stdlib, pool_data, wasm_calls_per_worker;
  bool tasks_enabled;
  uint64_t tasks_concurrent, tasks_queue, tasks_memory_mb, tasks_fuel, tasks_retention_s, tasks_files_bytes;
  char *log_format, *log_level;
  bool later;

  /* Secret; there after mf_config_load_secrets. */
  char *openai_api_key;
  struct mf_config_list api_keys;

  enum mf_config_from from[MF_CONFIG_N];
  unsigned line[MF_CONFIG_N]; /* of config.toml, for MF_FROM_FILE */
  char *warnings[MF_CONFIG_WARNINGS_MAX];
  unsigned warning_n;
};

struct mf_config_input {
  char *const *environ;           /* "NAME=value" …, NULL ends; an empty value counts as unset */
  const char *flags[MF_CONFIG_N]; /* what the command line said; "true" (or "false") for an option without a value */
};

/* Every key but the secret ones, checked alone and together. MF_E_INPUT; MF_E_UNAVAILABLE: what this version cannot do;
 * MF_E_SYS: config.toml cannot be read. */
MF_MUST_USE enum mf_code mf_config_load(const struct mf_config_input *in, struct mf_config **ret, struct mf_err *err);
/* The secret keys. Once for each c. */
MF_MUST_USE enum mf_code mf_config_load_secrets(struct mf_config *c, const struct mf_config_input *in,
                                                struct mf_err *err);
/* What only a server needs: something to serve, be it in front of an LLM server or the task API. Apart, so that an
 * unfinished configuration can be looked at. */
MF_MUST_USE enum mf_code mf_config_check_serve(const struct mf_config *c, struct mf_err *err);
/* Whether the server may be seen by others: not without a key, those stored in the database counting too, unless the
 * operator says so. After mf_config_load_secrets. MF_E_INPUT. */
MF_MUST_USE enum mf_code mf_config_check_exposed(const struct mf_config *c, bool has_stored_key, struct mf_err *err);
void mf_config_free(struct mf_config *c); /* wipes secrets; NULL is fine */

/* Overwrites the values of secret variables in the environment itself, which others can read under /proc, and forgets
 * them. */
void mf_config_wipe_environment(char **env);

/* Writes config.toml with the LLM server's address, if there is one, when there is no file yet; makes the home folder.
 * Nothing secret is written. An error is no reason not to start. */
MF_MUST_USE enum mf_code mf_config_write_first(const struct mf_config *c, struct mf_err *err);
/* Nothing but `home` and `file_path`: for who only looks for what is there. */
MF_MUST_USE enum mf_code mf_config_find_home(char *const *env, struct mf_config **ret, struct mf_err *err);
/* Makes the home folder, mode 0700, and those above it. */
MF_MUST_USE enum mf_code mf_config_make_home(const struct mf_config *c, struct mf_err *err);
/* MF_E_NOT_FOUND: there is no home folder. MF_E_INPUT: it belongs to somebody else, or others may write to it, so that
 * what is there may be theirs. */
MF_MUST_USE enum mf_code mf_config_check_home(const struct mf_config *c, struct mf_err *err);
/* The server's socket for the same user's commands: mayfly.sock in the home folder. malloc'ed. */
char *mf_config_local_socket(const struct mf_config *c);

/* Nobody else on the network can reach a server that listens so. */
bool mf_config_is_local(const struct mf_config *c);
/* The value as text: "true", "9000", "a,b"; "(set)" for a secret; "" when unset. */
void mf_config_show(const struct mf_config *c, enum mf_config_id id, struct mf_buf *out);
/* Where it came from: "default", "/etc/x/config.toml:3", "environment LLM_API_BASE", "option --llm-api-base". */
void mf_config_origin(const struct mf_config *c, enum mf_config_id id, char *ret, size_t n);
/* The table as Markdown, for docs/configuration.md. */
void mf_config_reference(struct mf_buf *out);

#endif
