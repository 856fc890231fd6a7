/* The table as Markdown. Thread: any. */
#include "config-internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

static const char *const type_words[] = {
  [MF_KEY_BOOL] = "true or false", [MF_KEY_NUMBER] = "number", [MF_KEY_TEXT] = "text",
  [MF_KEY_LIST] = "list",          [MF_KEY_LATER] = "–",
};

static void put(struct mf_buf *out, const char *fmt, ...) MF_PRINTF(2, 3);

static void put(struct mf_buf *out, const char *fmt, ...)
{
  char text[800];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  if (mf_buf_append_str(out, mf_str_of(text)) != MF_OK)
    abort(); /* the table is a constant: a buffer too small for it is a mistake in this program */
}

static void put_type(struct mf_buf *out, const struct mf_config_key *k)
{
  if (k->choices && k->choices[0] != '@') {
    for (const char *at = k->choices; *at; at += strspn(at, " ")) {
      size_t n = strcspn(at, " ");
      put(out, "%s`%.*s`", at == k->choices ? "" : ", ", (int)n, at);
      at += n;
    }
  } else if (k->type != MF_KEY_NUMBER) {
    put(out, "%s", type_words[k->type]);
  } else if (k->max == UINT64_MAX) {
    put(out, "number ≥ %llu", (unsigned long long)k->min);
  } else {
    put(out, "%llu…%llu", (unsigned long long)k->min, (unsigned long long)k->max);
  }
  if (k->traits & MF_KEY_SECRET)
    put(out, ", secret");
}

void mf_config_reference(struct mf_buf *out)
{
  put(out, "| Key in config.toml | Environment | Option | Value | Default | Meaning |\n|---|---|---|---|---|---|\n");
  for (unsigned i = 0; i < MF_CONFIG_N; i++) {
    const struct mf_config_key *k = &mf_config_keys[i];
    bool is_later = k->type == MF_KEY_LATER;
    put(out, "| `%s` | ", k->path);
    put(out, k->env ? "`%s` | " : "%s | ", k->env ? k->env : "–");
    put(out, k->flag ? "`--%s` | " : "%s | ", k->flag ? k->flag : "–");
    put_type(out, k);
    put(out, k->preset ? " | `%s` | " : " | %s | ", k->preset ? k->preset : "–");
    put(out, "%s%s |\n", is_later ? "accepted, does nothing yet: " : "", k->help);
  }
}
