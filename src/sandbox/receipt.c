/* The receipt: what really held the guest, and digests of what went in.
 * Thread: any. Neighbour: result.c writes it as a member. */
#include "sandbox/sandbox.h"

#include <stdlib.h>

#include "receipt.h"

#include "base/banned.h"

void receipt_done(struct mf_receipt *r)
{
  for (unsigned i = 0; i < r->input_n; i++)
    free(r->inputs[i].name);
  free(r->inputs);
  r->inputs = NULL;
  r->input_n = 0;
}

void mf_receipt_fill_from_spec(struct mf_receipt *r, const struct mf_sandbox_spec *spec)
{
  receipt_done(r);
  mf_sha256_of(spec->source, r->code_sha256);
  r->limits = spec->limits;
  if (spec->file_n == 0)
    return;
  r->inputs = mf_xcalloc(spec->file_n, sizeof(*r->inputs));
  r->input_n = spec->file_n;
  for (unsigned i = 0; i < spec->file_n; i++) {
    const struct mf_sandbox_file *file = &spec->files[i];
    r->inputs[i].name = mf_xasprintf("%.*s", MF_STR_ARG(file->name));
    r->inputs[i].size_bytes = file->data.len;
    mf_sha256_of(file->data, r->inputs[i].sha256);
  }
}

/* "user,pid,,mount" → ["user","pid","mount"] */
static void write_layers(const char *layers, struct mf_json_writer *w)
{
  mf_jw_key(w, "layers");
  mf_jw_arr(w);
  while (*layers != 0) {
    size_t n = strcspn(layers, ",");
    if (n > 0)
      mf_jw_str(w, (struct mf_str){ layers, n });
    layers += n + (layers[n] == ',');
  }
  mf_jw_arr_end(w);
}

static void write_or_null(struct mf_json_writer *w, const char *key, const char *text)
{
  mf_jw_kstrz(w, key, text[0] != 0 ? text : NULL);
}

void mf_receipt_write_json(const struct mf_receipt *r, struct mf_json_writer *w)
{
  mf_jw_obj(w);
  mf_jw_kstrz(w, "provider", r->provider);
  mf_jw_kstrz(w, "isolation", r->isolation);
  write_layers(r->layers, w);
  write_or_null(w, "seccompSha256", r->seccomp_sha256);
  mf_jw_ki64(w, "landlockAbi", r->landlock_abi);
  mf_jw_kstrz(w, "memoryControl", r->memory_control);

  mf_jw_key(w, "runtime");
  mf_jw_obj(w);
  write_or_null(w, "id", r->runtime_id);
  write_or_null(w, "digest", r->runtime_digest);
  write_or_null(w, "pythonVersion", r->python_version);
  mf_jw_obj_end(w);

  write_or_null(w, "start", r->start);
  mf_jw_kstrz(w, "codeSha256", r->code_sha256);
  mf_jw_key(w, "inputs");
  mf_jw_arr(w);
  for (unsigned i = 0; i < r->input_n; i++) {
    mf_jw_obj(w);
    mf_jw_kstrz(w, "name", r->inputs[i].name);
    mf_jw_ku64(w, "sizeBytes", r->inputs[i].size_bytes);
    mf_jw_kstrz(w, "sha256", r->inputs[i].sha256);
    mf_jw_obj_end(w);
  }
  mf_jw_arr_end(w);

  mf_jw_key(w, "limits");
  mf_jw_obj(w);
  mf_jw_ku64(w, "wallMs", r->limits.wall_ms);
  mf_jw_ku64(w, "cpuMs", r->limits.cpu_ms);
  mf_jw_ku64(w, "memoryBytes", r->limits.memory_bytes);
  mf_jw_ku64(w, "pids", r->limits.pids);
  if (r->limits.fuel) /* only where it is counted */
    mf_jw_ku64(w, "fuel", r->limits.fuel);
  mf_jw_ku64(w, "stdoutBytes", r->limits.stdout_bytes);
  mf_jw_ku64(w, "stderrBytes", r->limits.stderr_bytes);
  mf_jw_ku64(w, "artifactBytes", r->limits.artifact_bytes);
  mf_jw_ku64(w, "artifactCount", r->limits.artifact_count);
  mf_jw_obj_end(w);
  mf_jw_obj_end(w);
}
