/* One instance: a fresh copy of the snapshot with everything that one call needs looked up. */
#include "guest.h"

#include "base/time.h"
#include "base/banned.h"

/* The epoch ends a call only at its deadline: an interrupt that was meant for the one before is passed over. */
static wasmtime_error_t *on_epoch(wasmtime_context_t *cx, void *data, uint64_t *delta,
                                  wasmtime_update_deadline_kind_t *kind)
{
  struct mf_guest_run *r = data;
  *delta = 1;
  *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
  if (mf_now_ns() < r->host.deadline_ns)
    return NULL;
  r->host.end = MF_HOST_WALL;
  return wasmtime_error_new("the deadline has passed");
}

static bool find(struct mf_instance *i, const char *name, wasmtime_extern_kind_t kind, wasmtime_extern_t *ret)
{
  return wasmtime_instance_export_get(i->cx, &i->instance, name, strlen(name), ret) && ret->kind == kind;
}

static bool find_func(struct mf_instance *i, const char *name, wasmtime_func_t *ret)
{
  wasmtime_extern_t item;
  if (!find(i, name, WASMTIME_EXTERN_FUNC, &item))
    return false;
  *ret = item.of.func;
  return true;
}

static bool find_exports(struct mf_instance *i)
{
  wasmtime_extern_t item;
  if (!find(i, "memory", WASMTIME_EXTERN_MEMORY, &item))
    return false;
  i->run.memory = item.of.memory;
  i->run.has_memory = true;
  return find_func(i, "mayfly_reserve", &i->reserve) && find_func(i, "mayfly_run", &i->run_job) &&
         find_func(i, "mayfly_files", &i->list_files);
}

static bool instantiate(struct mf_guest *g, struct mf_instance *i)
{
  wasm_trap_t *trap = NULL;
  wasmtime_error_t *error = wasmtime_context_set_fuel(i->cx, UINT64_MAX); /* of its own start; a call has its own */
  if (!error)
    error = wasmtime_instance_pre_instantiate(g->pre, i->cx, &i->instance, &trap);
  if (!error && !trap)
    return true;
  char text[8];
  mf_guest_fail_text(error, trap, text, sizeof(text)); /* nobody reads it: the call ends as broken */
  return false;
}

struct mf_instance *mf_instance_open(struct mf_guest *g)
{
  struct mf_instance *i = mf_xcalloc(1, sizeof(*i));
  i->run.host.deadline_ns = UINT64_MAX;
  i->store = wasmtime_store_new(g->engine, &i->run, NULL);
  i->cx = wasmtime_store_context(i->store);
  wasmtime_store_limiter(i->store, -1, -1, 1, -1, 1);
  wasmtime_store_epoch_deadline_callback(i->store, on_epoch, &i->run, NULL);
  wasmtime_context_set_epoch_deadline(i->cx, 1);
  if (!instantiate(g, i) || !find_exports(i)) {
    mf_instance_close(i);
    return NULL;
  }
  return i;
}

void mf_instance_close(struct mf_instance *i)
{
  if (!i)
    return;
  wasmtime_store_delete(i->store);
  free(i);
}
