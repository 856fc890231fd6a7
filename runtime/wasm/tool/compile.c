/* From WebAssembly to machine code. */
#include "tool.h"

#include "build-host.h"
#include "wasm/engine.h"

#include "base/banned.h"

#ifdef __x86_64__
/* What Cranelift can use of x86-64-v2. */
static const char *const default_flags[] = { "has_sse3",  "has_ssse3",  "has_sse41",
                                             "has_sse42", "has_popcnt", "has_cmpxchg16b" };
#define TARGET "x86_64-unknown-linux-gnu"
#define DEFAULT_FLAGS_N MF_ARRAY_N(default_flags)
#elif defined __aarch64__
static const char *const default_flags[] = { NULL };
#define TARGET "aarch64-unknown-linux-gnu"
#define DEFAULT_FLAGS_N 0
#else
#error "the wasm provider is for x86-64 and aarch64"
#endif

static enum mf_code set_cpu(wasm_config_t *config, const char *cpu, struct mf_err *err)
{
  if (strcmp(cpu, "native") == 0)
    return MF_OK;
  if (*cpu && strcmp(cpu, "default") != 0)
    return mf_fail(err, MF_E_INPUT, 0, "'%s' is no kind of processor here: default or native", cpu);
  wasmtime_error_t *error = wasmtime_config_target_set(config, TARGET);
  if (error)
    return mf_wasmtime_fail(err, MF_E_INTERNAL, "target " TARGET, error, NULL);
  for (size_t i = 0; i < DEFAULT_FLAGS_N; i++)
    wasmtime_config_cranelift_flag_enable(config, default_flags[i]);
  return MF_OK;
}

static enum mf_code compile(wasm_engine_t *engine, struct mf_str in, struct mf_buf *out, struct mf_err *err)
{
  wasmtime_module_t *module;
  wasmtime_error_t *error = wasmtime_module_new(engine, (const uint8_t *)in.ptr, in.len, &module);
  if (error)
    return mf_wasmtime_fail(err, MF_E_INPUT, "compile", error, NULL);
  wasm_byte_vec_t code = { 0 };
  error = wasmtime_module_serialize(module, &code);
  wasmtime_module_delete(module);
  if (error)
    return mf_wasmtime_fail(err, MF_E_INTERNAL, "serialize", error, NULL);
  enum mf_code c = mf_buf_append(out, code.data, code.size);
  if (c != MF_OK)
    mf_fail(err, c, 0, "the code is longer than %zu bytes", out->max);
  wasm_byte_vec_delete(&code);
  return c;
}

enum mf_code mf_tool_compile(struct mf_str module, const char *cpu, struct mf_buf *out, struct mf_err *err)
{
  wasm_config_t *config = mf_engine_config();
  if (!config)
    return mf_fail(err, MF_E_INTERNAL, 0, "no memory for Wasmtime's configuration");
  wasmtime_config_cranelift_opt_level_set(config, WASMTIME_OPT_LEVEL_SPEED);
  enum mf_code c = set_cpu(config, cpu, err);
  if (c != MF_OK) {
    wasm_config_delete(config);
    return c;
  }
  wasm_engine_t *engine = wasm_engine_new_with_config(config);
  if (!engine)
    return mf_fail(err, MF_E_INTERNAL, 0, "Wasmtime does not take this configuration");
  c = compile(engine, module, out, err);
  wasm_engine_delete(engine);
  return c;
}
