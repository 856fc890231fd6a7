/* The standard library and our own Python, as code objects (runtime/wasm/python/freeze.py). */
#include "python.h"

static const unsigned char blob[] __attribute__((aligned(16))) = {
#embed "frozen.bin"
};

const struct _frozen mfg_frozen_modules[] = {
#include "frozen_table.h"
  { NULL, NULL, 0, 0 },
};
const struct _frozen mfg_frozen_own[] = {
#include "own_table.h"
  { NULL, NULL, 0, 0 },
};
