/* Private to guest.c (loading), imports.c (the five functions as the engine calls them), instance.c (one instance),
 * hot.c (pages that every program writes) and call.c (one call). */
#ifndef MF_WASM_GUEST_H
#define MF_WASM_GUEST_H

#include <wasm.h>
#include <wasmtime.h>

#include "call.h"

/* What a store belongs to: its data. */
struct mf_guest_run {
  struct mf_host host;
  wasmtime_memory_t memory;
  bool has_memory;
};

struct mf_host_view mf_guest_view(struct mf_guest_run *r, wasmtime_context_t *cx);

/* ---- an instance: for one call ---- */

struct mf_instance {
  struct mf_guest_run run; /* first: the store's data */
  wasmtime_store_t *store;
  wasmtime_context_t *cx;
  wasmtime_instance_t instance;
  wasmtime_func_t reserve, run_job, list_files;
};

/* NULL: the engine cannot make one, or it is not a guest of this ABI. */
struct mf_instance *mf_instance_open(struct mf_guest *g);
void mf_instance_close(struct mf_instance *i); /* NULL is fine */

/* ---- hot pages ---- */

#define MF_HOT_RUNS_MAX 256u

/* Pages of the snapshot that even the smallest program writes. Each costs a fault, which is most of what starting
 * Python costs; an instance that waits for its call takes them all at once. They hold what the snapshot holds. */
struct mf_hot {
  int pagemap; /* /proc/self/pagemap; -1: the kernel does not tell */
  unsigned tries, run_n;
  struct {
    uint32_t first, n; /* pages */
  } runs[MF_HOT_RUNS_MAX];
};

/* Looks which pages the first programs have written, before their memory is gone. */
void mf_hot_learn(struct mf_hot *h, struct mf_host_view memory);
void mf_hot_take(const struct mf_hot *h, struct mf_host_view memory);

/* ---- the guest ---- */

struct mf_guest {
  wasm_engine_t *engine;
  wasmtime_module_t *module;
  wasmtime_instance_pre_t *pre;
  struct mf_instance *next, *used; /* made ahead; of the last call */
  struct mf_hot hot;
};

/* Defines the five functions of the module "mayfly". */
wasmtime_error_t *mf_guest_define_host(wasmtime_linker_t *linker);

/* Takes an error or a trap and writes its words. */
void mf_guest_fail_text(wasmtime_error_t *error, wasm_trap_t *trap, char *ret, size_t n);

#endif
