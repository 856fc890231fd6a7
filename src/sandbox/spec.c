/* The spec of a run: everything that a door must know to be right before a provider sees it.
 * Thread: any. Neighbours: limits.c, names.c. */
#include "sandbox/sandbox.h"

#include <stdio.h>

#include "base/path.h"
#include "base/utf8.h"
#include "names.h"

#include "base/banned.h"

static enum mf_code check_text(struct mf_str s, const char *what, struct mf_err *err)
{
  if (s.len != 0 && memchr(s.ptr, 0, s.len) != NULL)
    return mf_fail(err, MF_E_INPUT, 0, "%s: has a NUL byte", what);
  if (!mf_utf8_is_valid(s))
    return mf_fail(err, MF_E_INPUT, 0, "%s: is not valid UTF-8", what);
  return MF_OK;
}

static enum mf_code check_source(const struct mf_sandbox_spec *spec, struct mf_err *err)
{
  if (spec->source.len > MF_SOURCE_BYTES_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "source: has %zu bytes, more than the limit of %u", spec->source.len,
                   MF_SOURCE_BYTES_MAX);
  enum mf_code code = check_text(spec->source, "source", err);
  if (code != MF_OK || spec->source_name.len == 0)
    return code;
  code = mf_name_check(spec->source_name, "source", err);
  if (code != MF_OK)
    return code;
  if (memchr(spec->source_name.ptr, '/', spec->source_name.len) != NULL)
    return mf_fail(err, MF_E_INPUT, 0, "source: its name must be a plain file name, without a folder");
  return MF_OK;
}

static enum mf_code check_argv(const struct mf_sandbox_spec *spec, struct mf_err *err)
{
  if (spec->argv_n > MF_ARGV_COUNT_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "arguments: %u are more than the limit of %u", spec->argv_n, MF_ARGV_COUNT_MAX);
  uint64_t total = 0;
  for (unsigned i = 0; i < spec->argv_n; i++) {
    total += spec->argv[i].len;
    if (total > MF_ARGV_BYTES_MAX)
      return mf_fail(err, MF_E_INPUT, 0, "arguments: together more than the limit of %u bytes", MF_ARGV_BYTES_MAX);
    char what[32];
    snprintf(what, sizeof(what), "argument %u", i + 1);
    enum mf_code code = check_text(spec->argv[i], what, err);
    if (code != MF_OK)
      return code;
  }
  return MF_OK;
}

static enum mf_code check_files(const struct mf_sandbox_spec *spec, struct mf_err *err)
{
  if (spec->file_n > MF_INPUT_COUNT_MAX)
    return mf_fail(err, MF_E_INPUT, 0, "input files: %u are more than the limit of %u", spec->file_n,
                   MF_INPUT_COUNT_MAX);
  uint64_t total = 0;
  for (unsigned i = 0; i < spec->file_n; i++) {
    enum mf_code code = mf_name_check(spec->files[i].name, "input file", err);
    if (code != MF_OK)
      return code;
    /* Each length is checked before it is added, so the sum cannot wrap. */
    if (spec->files[i].data.len > MF_INPUT_BYTES_MAX)
      total = MF_INPUT_BYTES_MAX + 1ull;
    else
      total += spec->files[i].data.len;
    if (total > MF_INPUT_BYTES_MAX) {
      char shown[200];
      mf_escape(spec->files[i].name, shown, sizeof(shown));
      return mf_fail(err, MF_E_INPUT, 0, "input files: with '%s' they are over the limit of %u bytes in all", shown,
                     MF_INPUT_BYTES_MAX);
    }
  }
  return names_check_different(spec->files, spec->file_n, err);
}

enum mf_code mf_sandbox_spec_check(const struct mf_sandbox_spec *spec, struct mf_err *err)
{
  enum mf_code code = check_source(spec, err);
  if (code == MF_OK)
    code = check_argv(spec, err);
  if (code == MF_OK)
    code = check_files(spec, err);
  if (code == MF_OK)
    code = mf_sandbox_limits_check(&spec->limits, err);
  if (code == MF_OK && spec->runtime != MF_RUNTIME_AUTO && spec->runtime != MF_RUNTIME_STDLIB &&
      spec->runtime != MF_RUNTIME_DATA)
    code = mf_fail(err, MF_E_INPUT, 0, "runtime: unknown value %d", (int)spec->runtime);
  return code;
}
