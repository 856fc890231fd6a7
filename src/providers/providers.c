/* The table of providers: a row names one and says how it is made. */
#include "providers/providers.h"

#include <stdio.h>

#include "base/path.h"

#include "base/banned.h"

typedef void ready_fn(void *user, enum mf_code code, const struct mf_err *err);

static bool is_always_built(void)
{
  return true;
}

static enum mf_code new_local(struct mf_loop *loop, const struct mf_provider_config *config, ready_fn *ready,
                              void *user, struct mf_provider **ret, struct mf_err *err)
{
  return mf_local_new(loop, &config->local, ready, user, ret, err);
}

static enum mf_code new_wasm(struct mf_loop *loop, const struct mf_provider_config *config, ready_fn *ready, void *user,
                             struct mf_provider **ret, struct mf_err *err)
{
  return mf_wasm_new(loop, &config->wasm, ready, user, ret, err);
}

static const struct {
  const char *name;
  bool (*is_built)(void);
  enum mf_code (*make)(struct mf_loop *loop, const struct mf_provider_config *config, ready_fn *ready, void *user,
                       struct mf_provider **ret, struct mf_err *err);
} kinds[MF_PROVIDER_KIND_N] = {
  [MF_PROVIDER_LOCAL] = { "local", is_always_built, new_local },
  [MF_PROVIDER_WASM] = { "wasm", mf_wasm_is_built, new_wasm },
};

const char *mf_provider_kind_name(enum mf_provider_kind kind)
{
  return kinds[kind].name;
}

bool mf_provider_kind_is_built(enum mf_provider_kind kind)
{
  return kinds[kind].is_built();
}

enum mf_code mf_provider_kind_find(const char *name, enum mf_provider_kind *ret, struct mf_err *err)
{
  char shown[80], known[80] = "";
  size_t at = 0;
  for (unsigned i = 0; i < MF_PROVIDER_KIND_N; i++) {
    if (strcmp(kinds[i].name, name) == 0) {
      *ret = (enum mf_provider_kind)i;
      return MF_OK;
    }
    at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", kinds[i].name);
  }
  mf_escape(mf_str_of(name), shown, sizeof(shown));
  return mf_fail(err, MF_E_INPUT, 0, "there is no provider '%s' here; available: %s", shown, known);
}

void mf_provider_config_default(struct mf_provider_config *c)
{
  *c = (struct mf_provider_config){ .kind = MF_PROVIDER_LOCAL };
  mf_local_config_default(&c->local);
  mf_wasm_config_default(&c->wasm);
}

enum mf_code mf_provider_new(struct mf_loop *loop, const struct mf_provider_config *config,
                             void (*ready)(void *user, enum mf_code code, const struct mf_err *err), void *user,
                             struct mf_provider **ret, struct mf_err *err)
{
  return kinds[config->kind].make(loop, config, ready, user, ret, err);
}
