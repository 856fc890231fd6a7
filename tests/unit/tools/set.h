/* Toolsets out of texts, and what they write as texts. JSON is written with ' for " in these tests. */
#ifndef MF_TESTS_TOOLS_SET_H
#define MF_TESTS_TOOLS_SET_H

#include "unit.h"

#include "tools/tools.h"

struct set {
  struct mf_tools_env env;
  struct mf_interpreter_config interpreter;
  struct mf_toolset *tools; /* NULL: refused */
  struct mf_api_error error;
};

/* ' becomes ". NULL stays. Release with free. */
char *quoted(const char *text);
struct mf_json *parsed(const char *text);

/* An environment whose interpreter is there; no run is made with it. */
void set_env(struct set *s);
/* After set_env and changes to the environment. */
void set_declare(struct set *s, const char *tools);
void set_done(struct set *s);

/* Buffers that check what was written against JSON with '. */
typedef void write_fn(void *user, struct mf_json_writer *w);
#define assert_json(buf, want)                                                                                         \
  do {                                                                                                                 \
    mf_auto_free char *want_json_ = quoted(want);                                                                      \
    assert_string_equal((buf)->ptr, want_json_);                                                                       \
  } while (0)

/* A sink that writes every event as one line: TYPE INDEX {members}. */
struct mf_event_sink lines_sink(struct mf_buf *lines);

#endif
