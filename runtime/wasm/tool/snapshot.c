/* The guest's life before its first call: started once, at build time. */
#include "tool.h"

#include "build-host.h"
#include "wasm/engine.h"
#include "module.h"

#include "base/banned.h"

/* Not in the snapshot: they have done their work. */
static const char *const drop[] = { "__stack_pointer", "mayfly_prepare", "_initialize" };

struct guest {
  wasm_engine_t *engine;
  wasmtime_module_t *module;
  wasmtime_linker_t *linker;
  wasmtime_store_t *store;
  wasmtime_context_t *cx; /* the store's */
  wasmtime_instance_t instance;
  struct mf_build_host host;
};

static void guest_done(struct guest *g)
{
  if (g->store)
    wasmtime_store_delete(g->store);
  if (g->linker)
    wasmtime_linker_delete(g->linker);
  if (g->module)
    wasmtime_module_delete(g->module);
  if (g->engine)
    wasm_engine_delete(g->engine);
}

static enum mf_code make_engine(struct guest *g, struct mf_err *err)
{
  wasm_config_t *config = mf_engine_config();
  if (!config)
    return mf_fail(err, MF_E_INTERNAL, 0, "no memory for Wasmtime's configuration");
  /* This code runs for a second, once: compiling it well would take longer. */
  wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_NONE);
  wasmtime_config_consume_fuel_set(config, false);
  wasmtime_config_epoch_interruption_set(config, false);
  g->engine = wasm_engine_new_with_config(config);
  return g->engine ? MF_OK : mf_fail(err, MF_E_INTERNAL, 0, "Wasmtime does not take this configuration");
}

static enum mf_code instantiate(struct guest *g, struct mf_str in, struct mf_err *err)
{
  wasmtime_error_t *error = wasmtime_module_new(g->engine, (const uint8_t *)in.ptr, in.len, &g->module);
  if (error)
    return mf_wasmtime_fail(err, MF_E_INPUT, "compile the guest", error, NULL);
  g->linker = wasmtime_linker_new(g->engine);
  g->store = wasmtime_store_new(g->engine, NULL, NULL);
  g->cx = wasmtime_store_context(g->store);
  enum mf_code c = mf_build_host_define(g->linker, &g->host, err);
  if (c != MF_OK)
    return c;
  wasm_trap_t *trap = NULL;
  error = wasmtime_linker_instantiate(g->linker, g->cx, g->module, &g->instance, &trap);
  if (error || trap)
    return mf_wasmtime_fail(err, MF_E_INPUT, "start the guest", error, trap);
  return MF_OK;
}

static bool find_export(struct guest *g, const char *name, wasmtime_extern_kind_t kind, wasmtime_extern_t *ret)
{
  return wasmtime_instance_export_get(g->cx, &g->instance, name, strlen(name), ret) && ret->kind == kind;
}

static enum mf_code call(struct guest *g, const char *name, struct mf_err *err)
{
  wasmtime_extern_t f;
  wasm_trap_t *trap = NULL;
  if (!find_export(g, name, WASMTIME_EXTERN_FUNC, &f))
    return mf_fail(err, MF_E_INPUT, 0, "the guest exports no function %s", name);
  wasmtime_error_t *error = wasmtime_func_call(g->cx, &f.of.func, NULL, 0, NULL, 0, &trap);
  return error || trap ? mf_wasmtime_fail(err, MF_E_INPUT, name, error, trap) : MF_OK;
}

static enum mf_code stack_pointer(struct guest *g, uint32_t *ret, struct mf_err *err)
{
  wasmtime_extern_t x;
  wasmtime_val_t v;
  if (!find_export(g, "__stack_pointer", WASMTIME_EXTERN_GLOBAL, &x))
    return mf_fail(err, MF_E_INPUT, 0, "the guest exports no __stack_pointer: link with --export=__stack_pointer");
  wasmtime_global_get(g->cx, &x.of.global, &v);
  if (v.kind != WASMTIME_I32)
    return mf_fail(err, MF_E_INPUT, 0, "the guest's __stack_pointer is no i32");
  *ret = (uint32_t)v.of.i32;
  return MF_OK;
}

/* Runs the constructors and mayfly_prepare. *ret_stack_bytes: where the stack begins, downwards. */
static enum mf_code prepare(struct guest *g, uint32_t *ret_stack_bytes, struct mf_err *err)
{
  uint32_t before, after;
  wasmtime_extern_t x;
  enum mf_code c = stack_pointer(g, &before, err);
  if (c == MF_OK && find_export(g, "_initialize", WASMTIME_EXTERN_FUNC, &x))
    c = call(g, "_initialize", err);
  if (c == MF_OK)
    c = call(g, "mayfly_prepare", err);
  if (c == MF_OK)
    c = stack_pointer(g, &after, err);
  if (c != MF_OK)
    return c;
  if (before != after)
    return mf_fail(err, MF_E_INPUT, 0, "mayfly_prepare left the stack pointer at %u instead of %u", after, before);
  *ret_stack_bytes = before;
  return MF_OK;
}

static enum mf_code snapshot(struct guest *g, struct mf_str in, struct mf_buf *out, struct mf_err *err)
{
  uint32_t stack_bytes = 0;
  wasmtime_extern_t memory;
  enum mf_code c = make_engine(g, err);
  if (c == MF_OK)
    c = instantiate(g, in, err);
  if (c == MF_OK)
    c = prepare(g, &stack_bytes, err);
  if (c != MF_OK)
    return c;
  if (!find_export(g, "memory", WASMTIME_EXTERN_MEMORY, &memory))
    return mf_fail(err, MF_E_INPUT, 0, "the guest exports no memory");
  struct mf_memory_image image = {
    .bytes = wasmtime_memory_data(g->cx, &memory.of.memory),
    .n = wasmtime_memory_data_size(g->cx, &memory.of.memory),
    .stack_bytes = stack_bytes,
  };
  return mf_module_with_memory(in, &image, drop, MF_ARRAY_N(drop), out, err);
}

enum mf_code mf_tool_snapshot(struct mf_str module, struct mf_buf *out, struct mf_err *err)
{
  struct guest g = { 0 };
  enum mf_code c = snapshot(&g, module, out, err);
  guest_done(&g);
  return c;
}
