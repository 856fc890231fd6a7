/* The thread behind a `struct mayfly`: a loop with provider, executor and task service, and how other threads have a
 * function run in a fiber of it. */
#ifndef MF_LIBRARY_ENGINE_H
#define MF_LIBRARY_ENGINE_H

#include "interpreter/tasks.h"
#include "providers/providers.h"

struct mf_engine_config {
  enum mf_provider_kind kind;
  char *program, *runtime; /* the engine's: it frees them */
  unsigned running_max, queue_max;
};
struct mf_engine;
/* Returns when the sandboxes are ready, or MF_E_UNAVAILABLE and the like. Takes config's strings, always. Thread: any.
 */
MF_MUST_USE enum mf_code mf_engine_new(struct mf_engine_config *config, struct mf_engine **ret, struct mf_err *err);
/* Ends everything and waits for it. Thread: any, when no call is under way; NULL is fine. */
void mf_engine_free(struct mf_engine *e);

typedef enum mf_code mf_engine_fn(void *user, struct mf_tasks *tasks, struct mf_fiber *self, struct mf_err *err);
/* Runs fn in a fiber of the loop, and waits for its end. Thread: any but the engine's. */
enum mf_code mf_engine_call(struct mf_engine *e, mf_engine_fn *fn, void *user, struct mf_err *err);

#endif
