/* The five host functions as the engine calls them: unpack, call host.c, trap where the call is at its end. */
#include "guest.h"
#include "wasm/abi.h"
#include "base/banned.h"

struct mf_host_view mf_guest_view(struct mf_guest_run *r, wasmtime_context_t *cx)
{
  if (!r->has_memory)
    return (struct mf_host_view){ NULL, 0 };
  return (struct mf_host_view){ wasmtime_memory_data(cx, &r->memory), wasmtime_memory_data_size(cx, &r->memory) };
}

static struct mf_guest_run *run_of(wasmtime_context_t *cx)
{
  return wasmtime_context_get_data(cx);
}

static wasm_trap_t *end_or_go_on(const struct mf_guest_run *r)
{
  static const char text[] = "the call is at its end";
  return r->host.end == MF_HOST_RUNS ? NULL : wasmtime_trap_new(text, sizeof(text) - 1);
}

static wasm_trap_t *on_clock(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *a, size_t n)
{
  struct mf_guest_run *r = run_of(wasmtime_caller_context(caller));
  a[0].i64 = mf_host_clock(&r->host, a[0].i32);
  return NULL;
}

static wasm_trap_t *on_random(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *a, size_t n)
{
  wasmtime_context_t *cx = wasmtime_caller_context(caller);
  struct mf_guest_run *r = run_of(cx);
  a[0].i32 = mf_host_random(&r->host, mf_guest_view(r, cx), a[0].i32, a[1].i32);
  return end_or_go_on(r);
}

static wasm_trap_t *on_write(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *a, size_t n)
{
  wasmtime_context_t *cx = wasmtime_caller_context(caller);
  struct mf_guest_run *r = run_of(cx);
  a[0].i32 = mf_host_write(&r->host, mf_guest_view(r, cx), a[0].i32, a[1].i32, a[2].i32);
  return end_or_go_on(r);
}

static wasm_trap_t *on_sleep(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *a, size_t n)
{
  struct mf_guest_run *r = run_of(wasmtime_caller_context(caller));
  mf_host_sleep(&r->host, a[0].i64);
  return end_or_go_on(r);
}

static wasm_trap_t *on_exit_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *a, size_t n)
{
  struct mf_guest_run *r = run_of(wasmtime_caller_context(caller));
  mf_host_exit(&r->host, a[0].i32);
  return end_or_go_on(r);
}

/* Parameters and result as letters: i is i32, I is i64. */
static const struct {
  const char *name, *params, *result;
  wasmtime_func_unchecked_callback_t fn;
} imports[] = {
  { "clock", "i", "I", on_clock }, { "random", "ii", "i", on_random }, { "write", "iii", "i", on_write },
  { "sleep", "I", "", on_sleep },  { "exit", "i", "", on_exit_call },
};

static void fill_types(const char *letters, wasm_valtype_vec_t *ret)
{
  wasm_valtype_t *types[4];
  size_t n = strlen(letters);
  for (size_t i = 0; i < n; i++)
    types[i] = wasm_valtype_new(letters[i] == 'I' ? WASM_I64 : WASM_I32);
  wasm_valtype_vec_new(ret, n, types);
}

wasmtime_error_t *mf_guest_define_host(wasmtime_linker_t *linker)
{
  for (size_t i = 0; i < MF_ARRAY_N(imports); i++) {
    wasm_valtype_vec_t params, results;
    fill_types(imports[i].params, &params);
    fill_types(imports[i].result, &results);
    wasm_functype_t *type = wasm_functype_new(&params, &results);
    const char *name = imports[i].name;
    wasmtime_error_t *error = wasmtime_linker_define_func_unchecked(
        linker, MF_GUEST_MODULE, strlen(MF_GUEST_MODULE), name, strlen(name), type, imports[i].fn, NULL, NULL);
    wasm_functype_delete(type);
    if (error)
      return error;
  }
  return NULL;
}
