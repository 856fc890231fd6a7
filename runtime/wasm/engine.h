/* The settings of Wasmtime that the compiled guest depends on. The build tool compiles with them and the worker runs
 * with them; code that was compiled under others is refused when it is loaded, so both take them from here.
 *
 * Needs Wasmtime's headers (include/ of the folder that scripts/setup-wasm-runtime makes). Includes nothing of ours but
 * abi.h. */
#ifndef MF_RUNTIME_WASM_ENGINE_H
#define MF_RUNTIME_WASM_ENGINE_H

#include <wasm.h>
#include <wasmtime.h>

/* The whole address space of a guest is reserved and guarded, so that its loads and stores need no comparison. */
#define MF_ENGINE_MEMORY_RESERVATION_BYTES (4ull << 30)
#define MF_ENGINE_MEMORY_GUARD_BYTES (32ull << 20)

/* Makes a configuration (the caller's; wasm_engine_new_with_config takes it): fuel and epochs are on, the WebAssembly
 * stack has MF_GUEST_STACK_BYTES, memories start as copy-on-write maps of the snapshot, and every proposal that the
 * guest does not use is off. Which allocator (pooling) is the caller's own choice and does not matter to the code.
 *
 * A thread that calls into the guest needs MF_GUEST_STACK_BYTES of native stack and MF_ENGINE_HOST_STACK_BYTES more.
 * Thread: any. Returns NULL when there is no memory. */
#define MF_ENGINE_HOST_STACK_BYTES (1u << 20)
wasm_config_t *mf_engine_config(void);

#endif
