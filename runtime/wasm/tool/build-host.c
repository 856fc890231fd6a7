/* A host without surprises. */
#include "build-host.h"

#include <errno.h>
#include <unistd.h>

#include "wasm/abi.h"
#include "base/fd.h"

#include "base/banned.h"

/* 2025-01-01 00:00:00 UTC: a guest that computes with it at build time gets an ordinary date. */
#define BUILD_TIME_NS 1735689600000000000ull

enum mf_code mf_wasmtime_fail(struct mf_err *err, enum mf_code code, const char *what, wasmtime_error_t *error,
                              wasm_trap_t *trap)
{
  wasm_byte_vec_t text = { 0 };
  if (error)
    wasmtime_error_message(error, &text);
  else if (trap)
    wasm_trap_message(trap, &text);
  mf_fail(err, code, 0, "%s: %.*s", what, (int)MF_MIN(text.size, 300), text.data ? text.data : "");
  if (text.data)
    wasm_byte_vec_delete(&text);
  if (error)
    wasmtime_error_delete(error);
  if (trap)
    wasm_trap_delete(trap);
  return code;
}

/* The n bytes at guest address p, or NULL when they are not all in the memory. */
static uint8_t *guest_bytes(wasmtime_caller_t *caller, int32_t p, int32_t n)
{
  wasmtime_extern_t memory;
  if (!wasmtime_caller_export_get(caller, "memory", 6, &memory) || memory.kind != WASMTIME_EXTERN_MEMORY)
    return NULL;
  wasmtime_context_t *cx = wasmtime_caller_context(caller);
  size_t size = wasmtime_memory_data_size(cx, &memory.of.memory);
  uint64_t begin = (uint32_t)p, end = begin + (uint32_t)n;
  return end <= size ? wasmtime_memory_data(cx, &memory.of.memory) + begin : NULL;
}

static wasm_trap_t *host_clock(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t args_n,
                               wasmtime_val_t *results, size_t results_n)
{
  struct mf_build_host *host = env;
  bool known = args[0].of.i32 >= MF_GUEST_CLOCK_REALTIME && args[0].of.i32 <= MF_GUEST_CLOCK_CPUTIME;
  results[0].kind = WASMTIME_I64;
  results[0].of.i64 = known ? (int64_t)(BUILD_TIME_NS + 1000 * host->clock_calls_n++) : -1;
  return NULL;
}

/* splitmix64: of no use as a secret, and not meant as one. */
static uint8_t next_random(struct mf_build_host *host)
{
  uint64_t z = (host->random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (uint8_t)(z >> 56);
}

static wasm_trap_t *host_random(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t args_n,
                                wasmtime_val_t *results, size_t results_n)
{
  uint32_t n = (uint32_t)args[1].of.i32;
  uint8_t *p = guest_bytes(caller, args[0].of.i32, args[1].of.i32);
  for (uint32_t i = 0; p && i < n; i++)
    p[i] = next_random(env);
  results[0] = (wasmtime_val_t){ .kind = WASMTIME_I32, .of.i32 = p ? 0 : MF_GUEST_EFAULT };
  return NULL;
}

static wasm_trap_t *host_write(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t args_n,
                               wasmtime_val_t *results, size_t results_n)
{
  int32_t fd = args[0].of.i32, n = args[2].of.i32, answer = n;
  const uint8_t *p = guest_bytes(caller, args[1].of.i32, n);
  if (fd != STDOUT_FILENO && fd != STDERR_FILENO)
    answer = -MF_GUEST_EBADF;
  else if (!p || n < 0)
    answer = -MF_GUEST_EFAULT;
  else if (mf_write_all(STDERR_FILENO, p, (size_t)n, NULL) != MF_OK)
    answer = -MF_GUEST_EBADF;
  results[0] = (wasmtime_val_t){ .kind = WASMTIME_I32, .of.i32 = answer };
  return NULL;
}

static wasm_trap_t *host_sleep(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t args_n,
                               wasmtime_val_t *results, size_t results_n)
{
  return NULL;
}

static wasm_trap_t *host_exit(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args, size_t args_n,
                              wasmtime_val_t *results, size_t results_n)
{
  static const char text[] = "the guest called exit";
  return wasmtime_trap_new(text, sizeof(text) - 1);
}

/* Types as the letters of their values: 'i' i32, 'l' i64. */
static const struct {
  const char *name, *params, *results;
  wasmtime_func_callback_t call;
} functions[] = {
  { "clock", "i", "l", host_clock }, { "random", "ii", "i", host_random }, { "write", "iii", "i", host_write },
  { "sleep", "l", "", host_sleep },  { "exit", "i", "", host_exit },
};

static void types_of(const char *letters, wasm_valtype_vec_t *ret)
{
  wasm_valtype_t *types[3];
  size_t n = strlen(letters);
  for (size_t i = 0; i < n; i++)
    types[i] = wasm_valtype_new(letters[i] == 'l' ? WASM_I64 : WASM_I32);
  wasm_valtype_vec_new(ret, n, types);
}

enum mf_code mf_build_host_define(wasmtime_linker_t *linker, struct mf_build_host *host, struct mf_err *err)
{
  for (size_t i = 0; i < MF_ARRAY_N(functions); i++) {
    wasm_valtype_vec_t params, results;
    types_of(functions[i].params, &params);
    types_of(functions[i].results, &results);
    wasm_functype_t *type = wasm_functype_new(&params, &results); /* takes both */
    const char *name = functions[i].name;
    wasmtime_error_t *error = wasmtime_linker_define_func(linker, MF_GUEST_MODULE, strlen(MF_GUEST_MODULE), name,
                                                          strlen(name), type, functions[i].call, host, NULL);
    wasm_functype_delete(type);
    if (error)
      return mf_wasmtime_fail(err, MF_E_INTERNAL, name, error, NULL);
  }
  return MF_OK;
}
