/* Every key of the configuration: parsing, --help, `mayfly config` and docs/configuration.md are made from these rows.
 *
 * FLAG(id, flag, argument, env, path, type, field, default, min, max, choices, traits, help) or, for keys that have no
 * option on the command line, PLAIN with the same columns without the first two after id.
 *
 * flag: the long option of `serve` and `config`. env: NULL for none. path: in config.toml, and the name of the key
 * everywhere. type: BOOL, NUMBER (min..max), TEXT (choices: the only values), LIST (commas in environment and options)
 * or LATER (accepted and not used). field: in struct mf_config. default: IS("text"), OFF (false) or NONE, which the
 * includer defines. traits: MF_KEY_*. */
#ifndef MF_CONFIG_KEYS_H
#define MF_CONFIG_KEYS_H

#define MF_GIB 1073741824

/* clang-format off */
#define MF_CONFIG_KEYS(FLAG, PLAIN)                                                                                    \
  FLAG(LLM_API_BASE, "llm-api-base", "URL", "LLM_API_BASE", "llm_api_base", TEXT, llm_api_base, NONE, 0, 0, NULL, 0,   \
    "the LLM server, such as http://127.0.0.1:8000; without one only the task API is served")                          \
  FLAG(OPENAI_API_KEY, "openai-api-key", "KEY", "OPENAI_API_KEY", "openai_api_key", TEXT, openai_api_key, NONE, 0, 0,  \
    NULL, MF_KEY_SECRET, "sent to the LLM server when a client has no key of its own")                                 \
  FLAG(HOST, "gateway-host", "ADDRESS", "GATEWAY_HOST", "server.host", TEXT, host, IS("127.0.0.1"), 0, 0, NULL, 0,     \
    "where to listen")                                                                                                 \
  FLAG(PORT, "gateway-port", "N", "GATEWAY_PORT", "server.port", NUMBER, port, IS("9000"), 0, 65535, NULL, 0,          \
    "the port; 0: any that is free")                                                                                   \
  FLAG(UNIX_SOCKET, "unix-socket", "PATH", "MAYFLY_UNIX_SOCKET", "server.unix_socket", TEXT, unix_socket, NONE, 0, 0,  \
    "@file", 0, "listen on this socket instead of a port")                                                             \
  FLAG(LOCAL_SOCKET, "no-local-socket", NULL, "MAYFLY_LOCAL_SOCKET", "server.local_socket", BOOL, local_socket,        \
    ON, 0, 0, NULL, MF_KEY_NEGATED,                                                                                    \
    "mayfly.sock in the home folder, for the same user's commands (the option: without it)")                           \
  FLAG(TLS_CERT, "tls-cert", "FILE", "MAYFLY_TLS_CERT", "server.tls_cert", TEXT, tls_cert, NONE, 0, 0, "@file", 0,     \
    "certificate chain (PEM): serve HTTPS; needs the key too")                                                         \
  FLAG(TLS_KEY, "tls-key", "FILE", "MAYFLY_TLS_KEY", "server.tls_key", TEXT, tls_key, NONE, 0, 0, "@file", 0,          \
    "private key (PEM) of the certificate")                                                                            \
  PLAIN(API_KEYS, "MAYFLY_API_KEYS", "server.api_keys", LIST, api_keys, NONE, 0, 0, NULL, MF_KEY_SECRET,               \
    "keys of clients: with any, each request needs one as bearer")                                                     \
  FLAG(API_KEYS_FILE, "api-keys-file", "FILE", "MAYFLY_API_KEYS_FILE", "server.api_keys_file", TEXT, api_keys_file,    \
    NONE, 0, 0, "@file", 0, "more keys of clients, one a line")                                                        \
  FLAG(INSECURE_NO_AUTH, "insecure-no-auth", NULL, "MAYFLY_INSECURE_NO_AUTH", "server.insecure_no_auth", BOOL,         \
    insecure_no_auth, OFF, 0, 0, NULL, 0, "listen beyond this machine without any key")                                \
  PLAIN(CORS, "CORS_ALLOWED_ORIGINS", "server.cors_allowed_origins", LIST, cors_origins, NONE, 0, 0, NULL, 0,          \
    "web pages that may call the gateway; *: any")                                                                     \
  FLAG(BODY_BYTES, "max-request-body-size-bytes", "BYTES", "AGENTIC_MAX_REQUEST_BODY_SIZE_BYTES",                      \
    "server.max_request_body_size_bytes", NUMBER, body_bytes, IS("10485760"), 1, MF_GIB, NULL, 0,                      \
    "the largest request, but for tasks")                                                                              \
  PLAIN(OPENAPI, "ENABLE_OPENAPI_DOCS", "server.enable_openapi_docs", BOOL, openapi_docs, OFF, 0, 0, NULL, 0,          \
    "serve /openapi.json")                                                                                             \
  FLAG(OIDC_ISSUER, "oidc-issuer", "URL", "OIDC_ISSUER", "oidc_issuer", TEXT, oidc_issuer, NONE, 0, 0, NULL, 0,        \
    "not in this version: refuses to start")                                                                           \
  FLAG(OIDC_AUDIENCE, "oidc-audience", "NAME", "OIDC_AUDIENCE", "oidc_audience", TEXT, oidc_audience, NONE, 0, 0,      \
    NULL, 0, "not in this version: refuses to start")                                                                  \
  FLAG(DATABASE_URL, "db-url", "URL", "DATABASE_URL", "database_url", TEXT, database_url, NONE, 0, 0, NULL, 0,         \
    "sqlite:///path, or sqlite::memory: (default: mayfly.db in the home folder)")                                      \
  PLAIN(SQLITE_SYNCHRONOUS, "SQLITE_SYNCHRONOUS", "sqlite.synchronous", TEXT, sqlite_synchronous, IS("normal"), 0, 0, \
    "normal full", 0, "normal: stored responses survive any end of the server; full: a power failure too, slower")     \
  FLAG(READY_TIMEOUT, "llm-ready-timeout-s", "S", NULL, "llm_ready_timeout_s", NUMBER, llm_ready_timeout_s, IS("600"), \
    1, 86400, NULL, 0, "how long to wait for the LLM server at start")                                                 \
  FLAG(READY_INTERVAL, "llm-ready-interval-s", "S", NULL, "llm_ready_interval_s", NUMBER, llm_ready_interval_s,        \
    IS("2"), 1, 3600, NULL, 0, "how often to ask it meanwhile")                                                        \
  FLAG(SKIP_READY, "skip-llm-ready-check", NULL, "SKIP_LLM_READY_CHECK", "skip_llm_ready_check", BOOL,                 \
    skip_llm_ready_check, OFF, 0, 0, NULL, 0, "do not ask for its /health, at start and for /ready")                   \
  PLAIN(CHUNK_TIMEOUT, "STREAMING_CHUNK_TIMEOUT_S", "streaming_chunk_timeout_s", NUMBER, chunk_timeout_s, IS("600"),   \
    0, 86400, NULL, 0, "seconds of silence after which the LLM server is given up; 0: never")                          \
  PLAIN(RETAINED, "AGENTIC_MAX_RETAINED_RESPONSE_BYTES", "responses.max_retained_bytes", NUMBER, retained_bytes,       \
    IS("8388608"), 1, MF_GIB, NULL, 0, "of one response, all its items together")                                      \
  PLAIN(UPSTREAM_JSON, "AGENTIC_MAX_UPSTREAM_JSON_BYTES", "responses.max_upstream_json_bytes", NUMBER,                 \
    upstream_json_bytes, IS("16777216"), 1, MF_GIB, NULL, 0, "of one answer of the LLM server")                        \
  PLAIN(UPSTREAM_LINE, "AGENTIC_MAX_UPSTREAM_SSE_LINE_BYTES", "responses.max_upstream_sse_line_bytes", NUMBER,         \
    upstream_line_bytes, IS("16777216"), 1, MF_GIB, NULL, 0, "of one line of its stream")                              \
  PLAIN(STREAM_EVENT, "AGENTIC_MAX_STREAM_EVENT_BYTES", "responses.max_stream_event_bytes", NUMBER, event_bytes,       \
    IS("16777216"), 1, MF_GIB, NULL, 0, "of one event to a client")                                                    \
  PLAIN(TOOL_CALLS, "AGENTIC_MAX_CONCURRENT_GATEWAY_CALLS", "tools.max_concurrent_gateway_calls", NUMBER,              \
    concurrent_calls, IS("5"), 1, 1024, NULL, 0, "tool calls of one request at a time")                                \
  PLAIN(TOOLS_UNSUPPORTED, "MAYFLY_TOOLS_UNSUPPORTED", "tools.unsupported", TEXT, tools_unsupported, IS("reject"),     \
    0, 0, "reject ignore", 0, "a tool type that cannot be served: refuse the request, or leave the tool out")          \
  FLAG(CI_ENABLED, "code-interpreter", NULL, "AGENTIC_CODE_INTERPRETER_ENABLED", "code_interpreter.enabled", BOOL,     \
    interpreter.enabled, OFF, 0, 0, NULL, 0, "run the Python of code_interpreter calls in sandboxes here")             \
  FLAG(CI_PROVIDER, "provider", "NAME", "AGENTIC_CODE_INTERPRETER_PROVIDER", "code_interpreter.provider", TEXT,        \
    provider, IS("local"), 0, 0, "local wasm", 0, "what runs it; wasm: where this program was built with it")          \
  FLAG(CI_ISOLATION, "isolation", "POLICY", "AGENTIC_CODE_INTERPRETER_ISOLATION", "code_interpreter.isolation", TEXT,  \
    isolation, IS("require"), 0, 0, "require prefer", 0, "require: no start without every layer; prefer: warn")        \
  FLAG(CI_RUNTIME, "runtime", "DIR", "MAYFLY_RUNTIME", "code_interpreter.runtime", TEXT, runtime, NONE, 0, 0, "@dir",  \
    0, "the Python runtime (default: beside this program)")                                                            \
  PLAIN(CI_POOL_STDLIB, "AGENTIC_CODE_INTERPRETER_POOL_STDLIB", "code_interpreter.pool_stdlib", NUMBER, pool_stdlib,   \
    IS("2"), 0, 64, NULL, 0, "sandboxes kept ready for the standard library; wasm: workers")                           \
  PLAIN(CI_POOL_DATA, "AGENTIC_CODE_INTERPRETER_POOL_DATA", "code_interpreter.pool_data", NUMBER, pool_data,           \
    IS("2"), 0, 64, NULL, 0, "sandboxes kept ready with numpy and pandas loaded; 0: loaded when first needed")         \
  FLAG(CI_WASM_RUNTIME, "wasm-runtime", "DIR", "MAYFLY_WASM_RUNTIME", "code_interpreter.wasm_runtime", TEXT,           \
    wasm_runtime, NONE, 0, 0, "@dir", 0, "of the wasm provider (default: beside this program)")                        \
  PLAIN(CI_WASM_CALLS, "AGENTIC_CODE_INTERPRETER_WASM_CALLS_PER_WORKER", "code_interpreter.wasm_calls_per_worker",     \
    NUMBER, wasm_calls_per_worker, IS("1000"), 1, 1000000, NULL, 0,                                                    \
    "wasm: a worker process is replaced after so many programs; 1: a process for each")                                \
  PLAIN(CI_SOURCE, "AGENTIC_CODE_INTERPRETER_MAX_SOURCE_BYTES", "code_interpreter.max_source_bytes", NUMBER,           \
    interpreter.max_source_bytes, IS("65536"), 1, 524288, NULL, 0, "of a program")                                     \
  PLAIN(CI_WALL, "AGENTIC_CODE_INTERPRETER_EXECUTION_WALL_TIME_SECONDS",                                               \
    "code_interpreter.execution_wall_time_seconds", NUMBER, interpreter.execution_wall_time_seconds, IS("10"), 1,      \
    UINT64_MAX, NULL, 0, "how long a program may run; counted from its first line")                                    \
  PLAIN(CI_FUEL, "AGENTIC_CODE_INTERPRETER_MAX_FUEL", "code_interpreter.max_fuel", NUMBER, interpreter.max_fuel,       \
    IS("10000000000"), 1, UINT64_MAX, NULL, 0, "instructions, where the provider counts them")                         \
  PLAIN(CI_GUEST, "AGENTIC_CODE_INTERPRETER_MAX_GUEST_MEMORY_BYTES", "code_interpreter.max_guest_memory_bytes",        \
    NUMBER, interpreter.max_guest_memory_bytes, IS("134217728"), 1, UINT64_MAX, NULL, 0,                               \
    "of a guest, where the provider has one; counts for how many run at a time")                                       \
  PLAIN(CI_STDOUT, "AGENTIC_CODE_INTERPRETER_MAX_STDOUT_BYTES", "code_interpreter.max_stdout_bytes", NUMBER,           \
    interpreter.max_stdout_bytes, IS("65536"), 1, UINT64_MAX, NULL, 0, "of standard output")                           \
  PLAIN(CI_STDERR, "AGENTIC_CODE_INTERPRETER_MAX_STDERR_BYTES", "code_interpreter.max_stderr_bytes", NUMBER,           \
    interpreter.max_stderr_bytes, IS("65536"), 1, UINT64_MAX, NULL, 0, "of standard error; both: 2097152 at most")     \
  PLAIN(CI_GUESTS, "AGENTIC_CODE_INTERPRETER_MAX_CONCURRENT_GUESTS", "code_interpreter.max_concurrent_guests",         \
    NUMBER, interpreter.max_concurrent_guests, IS("2"), 1, UINT64_MAX, NULL, 0, "programs at a time")                  \
  PLAIN(CI_ALL_GUESTS, "AGENTIC_CODE_INTERPRETER_MAX_AGGREGATE_GUEST_MEMORY_BYTES",                                    \
    "code_interpreter.max_aggregate_guest_memory_bytes", NUMBER, interpreter.max_aggregate_guest_memory_bytes,         \
    IS("268435456"), 1, UINT64_MAX, NULL, 0, "of all guests together")                                                 \
  PLAIN(CI_WORKER, "AGENTIC_CODE_INTERPRETER_MAX_WORKER_MEMORY_BYTES", "code_interpreter.max_worker_memory_bytes",     \
    NUMBER, interpreter.max_worker_memory_bytes, IS("1073741824"), 1, UINT64_MAX, NULL, 0, "of one sandbox")           \
  PLAIN(CI_ALL_WORKERS, "AGENTIC_CODE_INTERPRETER_MAX_AGGREGATE_WORKER_MEMORY_BYTES",                                  \
    "code_interpreter.max_aggregate_worker_memory_bytes", NUMBER, interpreter.max_aggregate_worker_memory_bytes,       \
    IS("2147483648"), 1, UINT64_MAX, NULL, 0, "of all sandboxes together")                                             \
  PLAIN(TASKS_ENABLED, "MAYFLY_TASKS_ENABLED", "tasks.enabled", BOOL, tasks_enabled, IS("true"), 0, 0, NULL, 0,        \
    "serve the task API where the code interpreter is enabled")                                                        \
  PLAIN(TASKS_CONCURRENT, "MAYFLY_TASKS_MAX_CONCURRENT", "tasks.max_concurrent", NUMBER, tasks_concurrent, IS("0"), 0, \
    4096, NULL, 0, "tasks that run at a time; 0: as many as programs may")                                             \
  PLAIN(TASKS_QUEUE, "MAYFLY_TASKS_QUEUE_MAX", "tasks.queue_max", NUMBER, tasks_queue, IS("1000"), 1, 1000000, NULL,   \
    0, "tasks that wait; more are refused")                                                                            \
  PLAIN(TASKS_MEMORY, "MAYFLY_TASKS_MAX_MEMORY_MB", "tasks.max_memory_mb", NUMBER, tasks_memory_mb, IS("0"), 0,        \
    1048576, NULL, 0, "the most that one task may ask for, 64 at least; 0: the machine's memory")                      \
  PLAIN(TASKS_FUEL, "MAYFLY_TASKS_MAX_FUEL", "tasks.max_fuel", NUMBER, tasks_fuel, IS("1000000000000"), 1, UINT64_MAX, \
    NULL, 0, "instructions of one task, where the provider counts them; as it is, its time ends first")                \
  PLAIN(TASKS_RETENTION, "MAYFLY_TASKS_RETENTION_SECONDS", "tasks.retention_seconds", NUMBER, tasks_retention_s,       \
    IS("3600"), 1, 31536000, NULL, 0, "how long files and results are kept after a task's end")                        \
  PLAIN(TASKS_FILES, "MAYFLY_TASKS_MAX_FILES_BYTES", "tasks.max_files_bytes", NUMBER, tasks_files_bytes,               \
    IS("4294967296"), 1, UINT64_MAX, NULL, 0, "of inputs and artifacts of all tasks together, on the disk")            \
  FLAG(LOG_FORMAT, "log-format", "FORMAT", "MAYFLY_LOG_FORMAT", "log.format", TEXT, log_format, IS("text"), 0, 0,      \
    "text json", 0, "how log lines look on standard error")                                                            \
  FLAG(LOG_LEVEL, "log-level", "LEVEL", "MAYFLY_LOG_LEVEL", "log.level", TEXT, log_level, IS("info"), 0, 0,            \
    "error warn info debug", 0, "what is logged")                                                                      \
  PLAIN(MCP_HOSTS, "AGENTIC_MCP_ALLOWED_HOSTS", "mcp.allowed_hosts", LATER, later, NONE, 0, 0, NULL, 0, "MCP servers") \
  PLAIN(MCP_SERVERS, NULL, "mcp_servers", LATER, later, NONE, 0, 0, NULL, 0, "MCP servers")                            \
  PLAIN(WEB_PROVIDER, NULL, "web_search.provider", LATER, later, NONE, 0, 0, NULL, 0, "web search")                    \
  PLAIN(WEB_BASE, NULL, "web_search.base_url", LATER, later, NONE, 0, 0, NULL, 0, "web search")                        \
  PLAIN(WEB_KEY, NULL, "web_search.api_key_env", LATER, later, NONE, 0, 0, NULL, 0, "web search")                      \
  PLAIN(WEB_QUERIES, NULL, "web_search.max_concurrent_queries", LATER, later, NONE, 0, 0, NULL, 0, "web search")       \
  PLAIN(MESSAGES, "MESSAGES_GATEWAY_TOOL_ALIASES", "messages_gateway.tool_aliases", LATER, later, NONE, 0, 0, NULL, 0, \
    "the Anthropic Messages tool loop")                                                                                \
  PLAIN(MODELS, NULL, "models", LATER, later, NONE, 0, 0, NULL, 0, "input modalities of models")                       \
  PLAIN(CI_WORKER_PATH, "AGENTIC_CODE_INTERPRETER_WORKER_EXECUTABLE", "code_interpreter.worker_executable", LATER,     \
    later, NONE, 0, 0, NULL, 0, "a worker program of its own")
/* clang-format on */

#endif
