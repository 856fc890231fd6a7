/* Limits of a run: defaults, ceilings, and the check that names the member which is out of range.
 * Thread: any. Neighbours: spec.c calls the check for every spec. */
#include <inttypes.h>

#include "sandbox/sandbox.h"

#include "base/banned.h"

void mf_sandbox_limits_default(struct mf_sandbox_limits *ret)
{
  *ret = (struct mf_sandbox_limits){
    .wall_ms = 60000,
    .memory_bytes = 1ull << 30,
    .pids = 64,
    .stdout_bytes = 1u << 20,
    .stderr_bytes = 1u << 20,
    .artifact_bytes = MF_ARTIFACT_BYTES_MAX,
    .artifact_count = MF_ARTIFACT_COUNT_MAX,
    .output_policy = MF_OUTPUT_TRUNCATE,
  };
}

struct limit_row {
  const char *name;
  uint64_t value, min, max;
};

enum mf_code mf_sandbox_limits_check(const struct mf_sandbox_limits *l, struct mf_err *err)
{
  const struct limit_row rows[] = {
    { "wall_ms", l->wall_ms, 1, MF_WALL_MS_MAX },
    { "cpu_ms", l->cpu_ms, 0, MF_CPU_MS_MAX },
    { "memory_bytes", l->memory_bytes, MF_MEMORY_BYTES_MIN, MF_MEMORY_BYTES_MAX },
    { "pids", l->pids, 1, MF_PIDS_MAX },
    { "stdout_bytes", l->stdout_bytes, 0, MF_OUTPUT_BYTES_MAX },
    { "stderr_bytes", l->stderr_bytes, 0, MF_OUTPUT_BYTES_MAX },
    { "artifact_bytes", l->artifact_bytes, 0, MF_ARTIFACT_BYTES_MAX },
    { "artifact_count", l->artifact_count, 0, MF_ARTIFACT_COUNT_MAX },
  };
  for (size_t i = 0; i < MF_ARRAY_N(rows); i++) {
    const struct limit_row *row = &rows[i];
    if (row->value < row->min || row->value > row->max)
      return mf_fail(err, MF_E_INPUT, 0, "limit %s: must be from %" PRIu64 " to %" PRIu64 ", got %" PRIu64, row->name,
                     row->min, row->max, row->value);
  }
  if (l->output_policy != MF_OUTPUT_TRUNCATE && l->output_policy != MF_OUTPUT_STOP)
    return mf_fail(err, MF_E_INPUT, 0, "limit output_policy: unknown value %d", (int)l->output_policy);
  return MF_OK;
}
