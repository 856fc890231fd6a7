/* The build tool: what has to happen to the linked guest before a worker can load it. Each function does one of its
 * commands, from bytes to bytes. Thread: one that has MF_GUEST_STACK_BYTES + MF_ENGINE_HOST_STACK_BYTES of stack. */
#ifndef MF_WASM_TOOL_TOOL_H
#define MF_WASM_TOOL_TOOL_H

#include "base/buf.h"

/* Starts the guest, lets it prepare itself (mayfly_prepare) on a host that is the same each time, and appends the
 * module whose memory begins as it was left. The same input always gives the same output. MF_E_INPUT: not such a guest,
 * or it failed; what it wrote is on stderr. */
MF_MUST_USE enum mf_code mf_tool_snapshot(struct mf_str module, struct mf_buf *out, struct mf_err *err);

/* Compiles the module to machine code under the settings of engine.h and appends it in Wasmtime's own form.
 *
 * `cpu`: which processors can run it. "" or "default": on x86-64 those with SSE4.2, POPCNT and SSSE3 (x86-64-v2: all
 * since about 2010), elsewhere the architecture's base, so that what one machine made runs on the others; "native":
 * what this machine has. Wasmtime verifies at load that the processor has what the code needs. MF_E_INPUT: a processor
 * of another name, or no valid module. */
MF_MUST_USE enum mf_code mf_tool_compile(struct mf_str module, const char *cpu, struct mf_buf *out, struct mf_err *err);

#endif
