/* A bounded reader of WebAssembly's encoding: every step is checked, and the first fault is kept, so that a run of
 * reads needs one check at its end. Offsets in messages count from the beginning of the module. */
#ifndef MF_WASM_TOOL_READER_H
#define MF_WASM_TOOL_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct mf_reader {
  const uint8_t *at, *end;
  const uint8_t *start; /* of the module */
  const char *fault;    /* NULL, or what was wrong first; at == end then */
  size_t fault_at;      /* offset of it */
};

struct mf_reader mf_reader_of(struct mf_str module);
bool mf_reader_is_done(const struct mf_reader *r); /* nothing is left, or there was a fault */
void mf_reader_fail(struct mf_reader *r, const char *fault);
/* After a fault these give 0, an empty part, and leave the reader at its end. */
uint8_t mf_read_u8(struct mf_reader *r);
uint32_t mf_read_u32(struct mf_reader *r);                      /* LEB128 of at most 32 bits */
void mf_skip_sleb(struct mf_reader *r);                         /* a signed LEB128 of at most 64 bits */
int32_t mf_read_i32(struct mf_reader *r);                       /* a signed LEB128 of 32 bits */
struct mf_reader mf_read_part(struct mf_reader *r, uint32_t n); /* a reader of the next n bytes */
struct mf_str mf_read_name(struct mf_reader *r);                /* length and bytes */
/* MF_OK, or MF_E_INPUT with what, the fault and its offset. */
MF_MUST_USE enum mf_code mf_reader_check(const struct mf_reader *r, const char *what, struct mf_err *err);

#endif
