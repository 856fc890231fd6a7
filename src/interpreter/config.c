/* mf_interpreter_config: the limits of [code_interpreter], as a table. Thread: any. */
#include "interpreter/executor.h"

#include <limits.h>

#include "base/banned.h"

/* A row is a key: its place, default and ceiling of its own. */
struct limit_row {
  const char *key;
  size_t offset;
  uint64_t by_default, ceiling;
};
#define ROW(name, by_default, ceiling)                                                                                 \
  {                                                                                                                    \
#name, offsetof(struct mf_interpreter_config, name), by_default, ceiling                                           \
  }
#define ANY UINT64_MAX

enum { OUTPUT_BYTES_CEILING = 2097152 }; /* both streams together */
/* As many as a semaphore of the replaced system can count. */
#define GUESTS_CEILING (UINT64_MAX >> 3)

static const struct limit_row rows[] = {
  ROW(max_source_bytes, 65536, 524288),
  ROW(execution_wall_time_seconds, 10, ANY),
  ROW(max_fuel, 10000000000, ANY),
  ROW(max_guest_memory_bytes, 134217728, ANY),
  ROW(max_stdout_bytes, 65536, ANY),
  ROW(max_stderr_bytes, 65536, ANY),
  ROW(max_concurrent_guests, 2, GUESTS_CEILING),
  ROW(max_aggregate_guest_memory_bytes, 268435456, ANY),
  ROW(max_worker_memory_bytes, 1073741824, ANY),
  ROW(max_aggregate_worker_memory_bytes, 2147483648, ANY),
};

static uint64_t get(const struct mf_interpreter_config *c, const struct limit_row *row)
{
  uint64_t value;
  memcpy(&value, (const char *)c + row->offset, sizeof(value));
  return value;
}

void mf_interpreter_config_default(struct mf_interpreter_config *c)
{
  *c = (struct mf_interpreter_config){ .enabled = false };
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++)
    memcpy((char *)c + rows[i].offset, &rows[i].by_default, sizeof(rows[i].by_default));
}

static enum mf_code check_row(const struct mf_interpreter_config *c, const struct limit_row *row, struct mf_err *err)
{
  uint64_t value = get(c, row);
  if (value == 0)
    return mf_fail(err, MF_E_INPUT, 0, "code_interpreter.%s must be greater than 0", row->key);
  if (value > row->ceiling)
    return mf_fail(err, MF_E_INPUT, 0, "code_interpreter.%s (%llu) exceeds its ceiling of %llu", row->key,
                   (unsigned long long)value, (unsigned long long)row->ceiling);
  return MF_OK;
}

static enum mf_code check_at_most(const char *key, uint64_t value, const char *of_key, uint64_t of, struct mf_err *err)
{
  if (value <= of)
    return MF_OK;
  return mf_fail(err, MF_E_INPUT, 0, "code_interpreter.%s (%llu) exceeds code_interpreter.%s (%llu)", key,
                 (unsigned long long)value, of_key, (unsigned long long)of);
}

enum mf_code mf_interpreter_config_check(const struct mf_interpreter_config *c, struct mf_err *err)
{
  for (unsigned i = 0; i < MF_ARRAY_N(rows); i++) {
    enum mf_code code = check_row(c, &rows[i], err);
    if (code != MF_OK)
      return code;
  }
  /* Each alone first, so that their sum cannot wrap. */
  if (c->max_stdout_bytes > OUTPUT_BYTES_CEILING || c->max_stderr_bytes > OUTPUT_BYTES_CEILING ||
      c->max_stdout_bytes + c->max_stderr_bytes > OUTPUT_BYTES_CEILING)
    return mf_fail(
        err, MF_E_INPUT, 0,
        "code_interpreter.max_stdout_bytes (%llu) and code_interpreter.max_stderr_bytes (%llu) together exceed "
        "the ceiling of %d",
        (unsigned long long)c->max_stdout_bytes, (unsigned long long)c->max_stderr_bytes, OUTPUT_BYTES_CEILING);
  enum mf_code code = check_at_most("max_guest_memory_bytes", c->max_guest_memory_bytes,
                                    "max_aggregate_guest_memory_bytes", c->max_aggregate_guest_memory_bytes, err);
  if (code != MF_OK)
    return code;
  if (c->max_worker_memory_bytes <= c->max_guest_memory_bytes)
    return mf_fail(
        err, MF_E_INPUT, 0,
        "code_interpreter.max_worker_memory_bytes (%llu) must exceed code_interpreter.max_guest_memory_bytes "
        "(%llu)",
        (unsigned long long)c->max_worker_memory_bytes, (unsigned long long)c->max_guest_memory_bytes);
  return check_at_most("max_worker_memory_bytes", c->max_worker_memory_bytes, "max_aggregate_worker_memory_bytes",
                       c->max_aggregate_worker_memory_bytes, err);
}

unsigned mf_interpreter_permits(const struct mf_interpreter_config *c, unsigned provider_max)
{
  uint64_t permits = MF_MIN(c->max_concurrent_guests, (uint64_t)provider_max);
  permits = MF_MIN(permits, c->max_aggregate_guest_memory_bytes / MF_MAX(c->max_guest_memory_bytes, 1u));
  permits = MF_MIN(permits, c->max_aggregate_worker_memory_bytes / MF_MAX(c->max_worker_memory_bytes, 1u));
  return (unsigned)permits;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
  return MF_MIN(MF_MAX(value, min), max);
}

void mf_interpreter_limits(const struct mf_interpreter_config *c, struct mf_sandbox_limits *ret)
{
  mf_sandbox_limits_default(ret);
  ret->wall_ms = clamp(c->execution_wall_time_seconds, 1, MF_WALL_MS_MAX / 1000) * 1000;
  ret->memory_bytes = c->guest_ceiling_bytes
                          ? clamp(c->max_guest_memory_bytes, MF_MEMORY_BYTES_MIN, c->guest_ceiling_bytes)
                          : clamp(c->max_worker_memory_bytes, MF_MEMORY_BYTES_MIN, MF_MEMORY_BYTES_MAX);
  ret->fuel = c->max_fuel;
  ret->stdout_bytes = MF_MIN(c->max_stdout_bytes, (uint64_t)MF_OUTPUT_BYTES_MAX);
  ret->stderr_bytes = MF_MIN(c->max_stderr_bytes, (uint64_t)MF_OUTPUT_BYTES_MAX);
  ret->artifact_bytes = 0;
  ret->artifact_count = 0;
  ret->output_policy = MF_OUTPUT_STOP;
}
