/* The result of a run: life cycle, names, words about what was denied, JSON.
 * Thread: the provider's until `finished`, then the receiver's. Neighbours: receipt.c; artifacts.c fills the
 * manifest. */
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "receipt.h"

#include "base/banned.h"

static const char *const status_names[MF_RUN_STATUS_N] = {
  [MF_RUN_SUCCEEDED] = "succeeded", [MF_RUN_FAILED] = "failed", [MF_RUN_TIMED_OUT] = "timed_out",
  [MF_RUN_CANCELLED] = "cancelled", [MF_RUN_LIMIT] = "limit",
};

/* What the task API says: a reached limit is a failure whose reason names the limit. */
static const char *const task_status_names[MF_RUN_STATUS_N] = {
  [MF_RUN_SUCCEEDED] = "succeeded", [MF_RUN_FAILED] = "failed", [MF_RUN_TIMED_OUT] = "timed_out",
  [MF_RUN_CANCELLED] = "cancelled", [MF_RUN_LIMIT] = "failed",
};

static const char *const reason_names[MF_REASON_N] = {
  [MF_REASON_EXIT] = "exit",
  [MF_REASON_EXCEPTION] = "exception",
  [MF_REASON_SIGNAL] = "signal",
  [MF_REASON_WALL_TIME] = "wall_time",
  [MF_REASON_CPU] = "cpu",
  [MF_REASON_FUEL] = "fuel",
  [MF_REASON_MEMORY] = "memory",
  [MF_REASON_OUTPUT] = "output",
  [MF_REASON_PIDS] = "pids",
  [MF_REASON_DISK] = "disk",
  [MF_REASON_CANCELLED] = "cancelled",
  [MF_REASON_CAPACITY] = "capacity",
  [MF_REASON_WORKER_CRASH] = "worker_crash",
  [MF_REASON_UNAVAILABLE] = "unavailable",
};

const char *mf_run_status_name(enum mf_run_status s)
{
  return (unsigned)s < MF_RUN_STATUS_N ? status_names[s] : "unknown";
}

const char *mf_run_reason_name(enum mf_run_reason r)
{
  return (unsigned)r < MF_REASON_N ? reason_names[r] : "unknown";
}

struct mf_sandbox_result *mf_sandbox_result_new(void)
{
  struct mf_sandbox_result *r = mf_xcalloc(1, sizeof(*r));
  mf_buf_init(&r->out, 0);
  mf_buf_init(&r->err, 0);
  return r;
}

void mf_sandbox_result_free(struct mf_sandbox_result *r)
{
  if (r == NULL)
    return;
  mf_buf_done(&r->out);
  mf_buf_done(&r->err);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    free(r->artifacts[i].path);
    mf_close_ptr(&r->artifacts[i].fd);
  }
  free(r->artifacts);
  for (unsigned i = 0; i < r->rejected_n; i++) {
    free(r->rejected[i].path);
    free(r->rejected[i].reason);
  }
  free(r->rejected);
  for (unsigned i = 0; i < r->denied_n; i++)
    free(r->denied[i]);
  receipt_done(&r->receipt);
  free(r);
}

/* ---- words about what was denied ---- */

/* Characters that could make a line of ours show something else than it says: controls, line separators, and marks
 * that change the direction of what follows (CVE-2021-42574). */
static bool is_deceptive(uint32_t cp)
{
  return cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == 0x2028 || cp == 0x2029 || cp == 0x200e || cp == 0x200f ||
         (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

/* Reads one character of valid UTF-8. */
static uint32_t read_char(const char *p, size_t *ret_n)
{
  const unsigned char *s = (const unsigned char *)p;
  size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  uint32_t cp = n == 1 ? s[0] : s[0] & (0x7fu >> n);
  for (size_t i = 1; i < n; i++)
    cp = cp << 6 | (s[i] & 0x3f);
  *ret_n = n;
  return cp;
}

#define ELLIPSIS "\xe2\x80\xa6"

/* Valid UTF-8 → at most MF_DENIED_TEXT_MAX bytes on one line; "…" at the end says that something is missing. */
static void escape_hint(struct mf_str text, char ret[MF_DENIED_TEXT_MAX + 1])
{
  const size_t room = MF_DENIED_TEXT_MAX - strlen(ELLIPSIS);
  size_t n = 0, cut = 0; /* cut: where the mark would go */
  for (size_t i = 0; i < text.len;) {
    char piece[12];
    size_t char_n;
    uint32_t cp = read_char(text.ptr + i, &char_n);
    size_t piece_n = char_n;
    if (is_deceptive(cp))
      piece_n = (size_t)snprintf(piece, sizeof(piece), cp < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)cp);
    else
      memcpy(piece, text.ptr + i, char_n);
    if (n + piece_n > MF_DENIED_TEXT_MAX) {
      memcpy(ret + cut, ELLIPSIS, strlen(ELLIPSIS));
      n = cut + strlen(ELLIPSIS);
      break;
    }
    memcpy(ret + n, piece, piece_n);
    n += piece_n;
    i += char_n;
    if (n <= room)
      cut = n;
  }
  ret[n] = 0;
}

void mf_sandbox_result_deny(struct mf_sandbox_result *r, struct mf_str text)
{
  if (text.len == 0 || r->denied_n == MF_DENIED_MAX)
    return;
  /* Enough raw bytes to fill the hint, and one to know that there was more. */
  text.len = MF_MIN(text.len, (size_t)MF_DENIED_TEXT_MAX + 1);
  mf_auto_buf struct mf_buf repaired;
  mf_buf_init(&repaired, 3ul * (MF_DENIED_TEXT_MAX + 4));
  struct mf_utf8_repair repair = { .held_n = 0 };
  if (mf_utf8_repair_feed(&repair, text, &repaired) != MF_OK || mf_utf8_repair_finish(&repair, &repaired) != MF_OK)
    return;
  char hint[MF_DENIED_TEXT_MAX + 1];
  escape_hint(mf_buf_str(&repaired), hint);
  for (unsigned i = 0; i < r->denied_n; i++) {
    if (strcmp(r->denied[i], hint) == 0)
      return;
  }
  r->denied[r->denied_n++] = mf_xstrdup(hint);
}

/* ---- JSON ---- */

static void write_artifacts(const struct mf_sandbox_result *r, const struct mf_result_members *m,
                            struct mf_json_writer *w)
{
  mf_jw_key(w, "artifacts");
  mf_jw_arr(w);
  for (unsigned i = 0; i < r->artifact_n; i++) {
    mf_jw_obj(w);
    if (m->artifact)
      m->artifact(m->user, i, w);
    mf_jw_kstrz(w, "path", r->artifacts[i].path);
    mf_jw_ku64(w, "sizeBytes", r->artifacts[i].size_bytes);
    mf_jw_kstrz(w, "sha256", r->artifacts[i].sha256);
    mf_jw_kstrz(w, "mimeType", r->artifacts[i].mime_type);
    mf_jw_obj_end(w);
  }
  mf_jw_arr_end(w);
  mf_jw_key(w, "rejectedArtifacts");
  mf_jw_arr(w);
  for (unsigned i = 0; i < r->rejected_n; i++) {
    mf_jw_obj(w);
    mf_jw_kstrz(w, "path", r->rejected[i].path);
    mf_jw_kstrz(w, "reason", r->rejected[i].reason);
    mf_jw_obj_end(w);
  }
  mf_jw_arr_end(w);
}

static void write_number_or_null(struct mf_json_writer *w, const char *key, bool has, int value)
{
  mf_jw_key(w, key);
  if (has)
    mf_jw_i64(w, value);
  else
    mf_jw_null(w);
}

static void write_usage(const struct mf_sandbox_result *r, struct mf_json_writer *w)
{
  uint64_t tenths = r->memory_peak_bytes / 1024 * 10 / 1024;
  mf_jw_obj(w);
  mf_jw_ku64(w, "durationMs", r->duration_ms);
  mf_jw_ku64(w, "cpuMs", r->cpu_ms);
  mf_jw_key(w, "memoryMb");
  if (r->memory_peak_bytes != 0)
    mf_jw_f64(w, (double)tenths / 10); /* MiB, one decimal */
  else
    mf_jw_null(w);
  if (r->fuel) /* only where it is counted */
    mf_jw_ku64(w, "fuel", r->fuel);
  mf_jw_obj_end(w);
}

void mf_sandbox_result_write_members(const struct mf_sandbox_result *r, const struct mf_result_members *m,
                                     struct mf_json_writer *w)
{
  mf_jw_kstrz(w, "reason", m->reason);
  write_number_or_null(w, "exitCode", r->has_exit_code, r->exit_code);
  write_number_or_null(w, "signal", r->signal != 0, r->signal);
  mf_jw_kstr(w, "stdout", mf_buf_str(&r->out));
  mf_jw_kstr(w, "stderr", mf_buf_str(&r->err));
  mf_jw_key(w, "truncated");
  mf_jw_obj(w);
  mf_jw_kbool(w, "stdout", r->out_truncated);
  mf_jw_kbool(w, "stderr", r->err_truncated);
  mf_jw_obj_end(w);
  write_artifacts(r, m, w);
  mf_jw_key(w, "denied");
  mf_jw_arr(w);
  for (unsigned i = 0; i < r->denied_n; i++)
    mf_jw_strz(w, r->denied[i]);
  mf_jw_arr_end(w);
  mf_jw_key(w, "usage");
  if (m->has_run)
    write_usage(r, w);
  else
    mf_jw_null(w);
  mf_jw_key(w, "receipt");
  if (m->has_run)
    mf_receipt_write_json(&r->receipt, w);
  else
    mf_jw_null(w);
}

void mf_sandbox_result_write_json(const struct mf_sandbox_result *r, const char *task_id, struct mf_json_writer *w)
{
  const struct mf_result_members all = { .reason = mf_run_reason_name(r->reason), .has_run = true };
  mf_jw_obj(w);
  mf_jw_kstrz(w, "taskId", task_id);
  mf_jw_kstrz(w, "status", (unsigned)r->status < MF_RUN_STATUS_N ? task_status_names[r->status] : "failed");
  mf_sandbox_result_write_members(r, &all, w);
  mf_jw_obj_end(w);
}
