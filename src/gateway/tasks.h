/* What the handlers of /v1/tasks share: their errors, and a task as an answer. docs/tasks.md is the wire. Thread: the
 * loop's; from the request's fiber. */
#ifndef MF_GATEWAY_TASKS_H
#define MF_GATEWAY_TASKS_H

#include "interpreter/tasks.h"
#include "reply.h"

enum {
  MF_GW_TASK_BODY_MAX = 36 << 20,   /* of a submission: 20 MiB as base64, and code that is all escapes */
  MF_GW_TASK_SMALL = 256 << 10,     /* a JSON body that is read at once, whatever else is going on */
  MF_GW_TASK_BULK_MAX = 128 << 20,  /* larger ones that are in memory, together */
  MF_GW_TASK_INLINE = 64 << 10,     /* so much JSON or base64 is read on the loop: faster than asking a worker */
  MF_GW_TASK_TEXT_MAX = 16 << 20,   /* a task as JSON: two texts of 1 MiB, all of it escaped, and lists */
  MF_GW_TASK_REQUEST_MAX = 8 << 20, /* the part `request` of an upload */
  MF_GW_TASK_WAIT_MAX_S = 60,
};

/* An answer in OpenAI's form of an error. param NULL: null. retry_s: of Retry-After; 0: none. */
struct mf_gw_fault {
  int status;
  const char *type, *code, *param;
  unsigned retry_s;
};
MF_MUST_USE enum mf_code mf_gw_refuse_fault(struct mf_gw_request *r, const struct mf_gw_fault *f, const char *fmt, ...)
    MF_PRINTF(3, 4);
/* 400 about one parameter. */
MF_MUST_USE enum mf_code mf_gw_refuse_param(struct mf_gw_request *r, const char *param, const char *expected);
/* What a failed call about a task that is there means: 404, 410, or trouble of the server's. */
MF_MUST_USE enum mf_code mf_gw_refuse_find(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err);
/* What a failed step of a submission means. */
struct mf_gw_submit_fault {
  struct mf_task_fault fault; /* code "": none was told */
  unsigned retry_s;
  struct mf_err err;
};
MF_MUST_USE enum mf_code mf_gw_refuse_submit(struct mf_gw_request *r, enum mf_code code,
                                             const struct mf_gw_submit_fault *f);
/* True: this server runs no tasks, and the client was told so; *ret_code as of a handler. */
bool mf_gw_has_no_tasks(struct mf_gw_request *r, enum mf_code *ret_code);

/* Answers with the task as it is, after waiting for its end until deadline_ns (0: not at all). */
MF_MUST_USE enum mf_code mf_gw_reply_task(struct mf_gw_request *r, int status, struct mf_str id, uint64_t deadline_ns,
                                          const struct mf_http_header *more, size_t more_n);
/* Submits what was gathered, and answers; consumes draft. */
MF_MUST_USE enum mf_code mf_gw_submit(struct mf_gw_request *r, struct mf_task_draft *draft,
                                      const struct mf_task_request *request);

/* Reads `{…}` of a submission: on a worker when it is long. Release with mf_gw_task_text_done, also after an error.
 * MF_E_INPUT: *f. */
struct mf_gw_task_text {
  struct mf_json *doc;
  struct mf_task_request request;
  struct mf_task_file_text *files;
  unsigned file_n;
};
MF_MUST_USE enum mf_code mf_gw_task_text_read(struct mf_gw_request *r, struct mf_str json, struct mf_gw_task_text *ret,
                                              struct mf_gw_submit_fault *f);
void mf_gw_task_text_done(struct mf_gw_task_text *t);

/* POST /v1/tasks with multipart/form-data. */
mf_gw_handler mf_gw_upload_task;

const char *mf_gw_task_state_name(enum mf_task_state state); /* "queued" … */

/* "1.5" seconds, 0..60 with up to 9 decimals. False: anything else. */
bool mf_gw_wait_parse(const char *text, uint64_t *ret_ns);

/* A field for downloads: attachment; filename="…"; filename*=UTF-8''… (RFC 6266, RFC 8187), of the last part of the
 * path, whatever bytes it has. MF_GW_DISPOSITION_N is enough for any name of 255 bytes; a longer one is cut. */
#define MF_GW_DISPOSITION_N 1200
void mf_gw_disposition(struct mf_str path, char ret[MF_GW_DISPOSITION_N]);

/* One byte range of a body (RFC 9110 §14). Several ranges, other units and what is malformed are left alone: ALL. */
enum mf_gw_range { MF_GW_RANGE_ALL, MF_GW_RANGE_PART, MF_GW_RANGE_NONE /* 416 */ };
enum mf_gw_range mf_gw_range_parse(struct mf_str range, uint64_t size, uint64_t *ret_from, uint64_t *ret_n);
/* Whether a list of entity tags (If-None-Match) has this one, given without quotes; "*" has any. */
bool mf_gw_etag_matches(struct mf_str list, struct mf_str etag);

#endif
