/* Which providers there are, and how the one that was named is made: the same way for every door that starts one
 * (serve, run, bench, doctor, libmayfly, the tests' driver).
 *
 * Thread: the loop's, unless a function says otherwise. */
#ifndef MF_PROVIDERS_PROVIDERS_H
#define MF_PROVIDERS_PROVIDERS_H

#include "local/local.h"
#include "wasm/wasm.h"

enum mf_provider_kind { MF_PROVIDER_LOCAL, MF_PROVIDER_WASM, MF_PROVIDER_KIND_N };

/* As options and keys name it. Thread: any. */
const char *mf_provider_kind_name(enum mf_provider_kind kind);
/* MF_E_INPUT: there is no such provider; the message names those that there are. Thread: any. */
MF_MUST_USE enum mf_code mf_provider_kind_find(const char *name, enum mf_provider_kind *ret, struct mf_err *err);
/* Whether this program was built with it. Thread: any. */
bool mf_provider_kind_is_built(enum mf_provider_kind kind);

/* Only the part of `kind` counts. */
struct mf_provider_config {
  enum mf_provider_kind kind;
  struct mf_local_config local;
  struct mf_wasm_config wasm;
};
/* The local provider, everything else as its room has it. */
void mf_provider_config_default(struct mf_provider_config *c);

/* As mf_local_new and mf_wasm_new say: `ready` is called once from the loop; an error of this call itself means that
 * there is nothing to close. Owns: copies config. */
MF_MUST_USE enum mf_code mf_provider_new(struct mf_loop *loop, const struct mf_provider_config *config,
                                         void (*ready)(void *user, enum mf_code code, const struct mf_err *err),
                                         void *user, struct mf_provider **ret, struct mf_err *err);

/* For main, before anything else is read: true when this process was exec'ed as a helper of a provider (a supervisor, a
 * worker); *ret_exit is then its exit status, since it has done its work. */
bool mf_provider_was_helper(int argc, char **argv, int *ret_exit);

#endif
