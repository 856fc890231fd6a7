/* The bytes of a WebAssembly module: reading its sections, and writing the same module with a memory that is already
 * filled. Pure functions over bytes: nothing here runs a module or knows Wasmtime. */
#ifndef MF_WASM_TOOL_MODULE_H
#define MF_WASM_TOOL_MODULE_H

#include <stdint.h>

#include "base/buf.h"

#define MF_MODULE_MAX_BYTES (1u << 30)
#define MF_WASM_PAGE_BYTES 65536u

/* What the memory of a module holds after it was prepared. */
struct mf_memory_image {
  const uint8_t *bytes;
  size_t n;           /* a multiple of MF_WASM_PAGE_BYTES */
  size_t stack_bytes; /* the module's own stack is [0, stack_bytes): dead, so not part of the image */
};

/* Appends to `out` the module `in` with `image` as its data segments and as its memory's smallest size. Left out: the
 * exports named in drop[0..drop_n), the start function (it has run) and custom sections.
 *
 * MF_E_INPUT, with the reason and the offset: not a valid module of version 1, or one whose state is not all in its
 * memory: another mutable global than the stack pointer, a second memory, passive data segments, data below the
 * stack's end (it was not linked with --stack-first). MF_E_LIMIT: longer than out's maximum. Thread: any. */
MF_MUST_USE enum mf_code mf_module_with_memory(struct mf_str in, const struct mf_memory_image *image,
                                               const char *const *drop, size_t drop_n, struct mf_buf *out,
                                               struct mf_err *err);

#endif
