/* One place for what compiler and worker must have in common. */
#include "wasm/engine.h"

#include "wasm/abi.h"

wasm_config_t *mf_engine_config(void)
{
  wasm_config_t *c = wasm_config_new();
  if (!c)
    return NULL;
  /* What becomes part of the code. */
  wasmtime_config_consume_fuel_set(c, true);
  wasmtime_config_epoch_interruption_set(c, true);
  wasmtime_config_memory_reservation_set(c, MF_ENGINE_MEMORY_RESERVATION_BYTES);
  wasmtime_config_memory_guard_size_set(c, MF_ENGINE_MEMORY_GUARD_BYTES);
  wasmtime_config_signals_based_traps_set(c, true);
  /* No exception ever crosses the guest's frames, and no debugger looks at them. */
  wasmtime_config_native_unwind_info_set(c, false);
  wasmtime_config_debug_info_set(c, false);
  wasmtime_config_wasm_memory64_set(c, false);
  wasmtime_config_wasm_multi_memory_set(c, false);
  wasmtime_config_wasm_relaxed_simd_set(c, false);
  /* What is decided when the code runs. */
  wasmtime_config_max_wasm_stack_set(c, MF_GUEST_STACK_BYTES);
  wasmtime_config_async_stack_size_set(c, MF_GUEST_STACK_BYTES +
                                              MF_ENGINE_HOST_STACK_BYTES); /* unused, but must be more */
  wasmtime_config_memory_init_cow_set(c, true);
  return c;
}
