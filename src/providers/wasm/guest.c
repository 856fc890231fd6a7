/* Loading: engine, module, the five imports, a pre-linked instance. */
#include "guest.h"

#include "wasm/abi.h"
#include "wasm/engine.h"
#include "base/banned.h"

/* One call at a time. The whole address space of one memory is reserved once; between two calls what was written is
 * dropped (hot.c brings back what the next call will write anyway). */
#define SLOT_N 1u
#define TABLE_KEEP_BYTES (1u << 20) /* the guest fills its table at each start */
#define TABLE_ELEMENTS_MAX 65536u
#define INSTANCE_BYTES_MAX (1u << 20)

void mf_guest_fail_text(wasmtime_error_t *error, wasm_trap_t *trap, char *ret, size_t n)
{
  wasm_byte_vec_t text = { 0 };
  if (error)
    wasmtime_error_message(error, &text);
  else if (trap)
    wasm_trap_message(trap, &text);
  size_t len = MF_MIN(text.size, n - 1);
  if (len > 0)
    memcpy(ret, text.data, len);
  ret[len] = '\0';
  if (text.data)
    wasm_byte_vec_delete(&text);
  if (error)
    wasmtime_error_delete(error);
  if (trap)
    wasm_trap_delete(trap);
}

static enum mf_code fail_with(wasmtime_error_t *error, const char *what, struct mf_err *err)
{
  char text[160];
  mf_guest_fail_text(error, NULL, text, sizeof(text));
  return mf_fail(err, MF_E_UNAVAILABLE, 0, "%s: %s", what, text);
}

static void set_pool(wasm_config_t *c)
{
  wasmtime_pooling_allocation_config_t *p = wasmtime_pooling_allocation_config_new();
  wasmtime_pooling_allocation_config_total_memories_set(p, SLOT_N);
  wasmtime_pooling_allocation_config_total_tables_set(p, SLOT_N);
  wasmtime_pooling_allocation_config_total_core_instances_set(p, SLOT_N);
  wasmtime_pooling_allocation_config_total_stacks_set(p, SLOT_N); /* none is used; a thousand would be reserved */
  wasmtime_pooling_allocation_config_max_memory_size_set(p, (size_t)4 << 30);
  wasmtime_pooling_allocation_config_table_elements_set(p, TABLE_ELEMENTS_MAX);
  wasmtime_pooling_allocation_config_max_core_instance_size_set(p, INSTANCE_BYTES_MAX);
  wasmtime_pooling_allocation_config_table_keep_resident_set(p, TABLE_KEEP_BYTES);
  wasmtime_pooling_allocation_strategy_set(c, p);
  wasmtime_pooling_allocation_config_delete(p);
}

static enum mf_code make_engine(struct mf_guest *g, struct mf_err *err)
{
  wasm_config_t *c = mf_engine_config();
  if (!c)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "no memory for the engine's configuration");
  set_pool(c);
  g->engine = wasm_engine_new_with_config(c);
  if (!g->engine)
    return mf_fail(err, MF_E_UNAVAILABLE, 0, "the engine cannot be made (address space for one guest)");
  return MF_OK;
}

static enum mf_code link_imports(struct mf_guest *g, struct mf_err *err)
{
  wasmtime_linker_t *linker = wasmtime_linker_new(g->engine);
  wasmtime_error_t *error = mf_guest_define_host(linker);
  if (!error)
    error = wasmtime_linker_instantiate_pre(linker, g->module, &g->pre);
  wasmtime_linker_delete(linker);
  return error ? fail_with(error, "link the guest", err) : MF_OK;
}

enum mf_code mf_guest_load(const char *path, int pagemap_fd, struct mf_guest **ret, struct mf_err *err)
{
  struct mf_guest *g = mf_xcalloc(1, sizeof(*g));
  g->hot.pagemap = pagemap_fd;
  enum mf_code code = make_engine(g, err);
  if (code == MF_OK) {
    wasmtime_error_t *error = wasmtime_module_deserialize_file(g->engine, path, &g->module);
    if (error)
      code = fail_with(error, "load the guest's code", err);
  }
  if (code == MF_OK)
    code = link_imports(g, err);
  if (code != MF_OK) {
    mf_guest_free(g);
    return code;
  }
  *ret = g;
  return MF_OK;
}

void mf_guest_free(struct mf_guest *g)
{
  if (!g)
    return;
  mf_instance_close(g->used);
  mf_instance_close(g->next);
  if (g->pre)
    wasmtime_instance_pre_delete(g->pre);
  if (g->module)
    wasmtime_module_delete(g->module);
  if (g->engine)
    wasm_engine_delete(g->engine);
  free(g);
}

void mf_guest_interrupt(struct mf_guest *g)
{
  wasmtime_engine_increment_epoch(g->engine);
}
