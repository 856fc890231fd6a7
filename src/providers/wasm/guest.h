/* Private to guest.c (loading), imports.c (the five functions as the engine calls them) and call.c (one call). */
#ifndef MF_WASM_GUEST_H
#define MF_WASM_GUEST_H

#include <wasm.h>
#include <wasmtime.h>

#include "call.h"

#define MF_GUEST_KEEP_BYTES (4u << 20)
#define MF_GUEST_KEEP_TABLE_BYTES (1u << 20)

struct mf_guest {
  wasm_engine_t *engine;
  wasmtime_module_t *module;
  wasmtime_instance_pre_t *pre;
};

/* What a store belongs to: its data. */
struct mf_guest_run {
  struct mf_host host;
  wasmtime_memory_t memory;
  bool has_memory;
};

struct mf_host_view mf_guest_view(struct mf_guest_run *r, wasmtime_context_t *cx);

/* Defines the five functions of the module "mayfly". */
wasmtime_error_t *mf_guest_define_host(wasmtime_linker_t *linker);

/* Takes an error or a trap and writes its words. */
void mf_guest_fail_text(wasmtime_error_t *error, wasm_trap_t *trap, char *ret, size_t n);

#endif
