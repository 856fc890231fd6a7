/* One request line of the driver, as a sandbox spec with everything it borrows. */
#ifndef MF_DRIVER_REQUEST_H
#define MF_DRIVER_REQUEST_H

#include "json/json.h"
#include "sandbox/sandbox.h"

struct mf_request {
  char *id;
  struct mf_json *doc;    /* owns source, argv and text files; taken */
  struct mf_buf *decoded; /* contents that came as base64 */
  unsigned decoded_n;
  struct mf_str *argv;
  struct mf_sandbox_file *files;
  struct mf_sandbox_spec spec;   /* borrows all of the above */
  bool content;                  /* send artifacts' bytes too */
  bool stream;                   /* send each chunk as a line */
  int64_t cancel_after_ms;       /* from the submission; -1: never */
  int64_t cancel_after_start_ms; /* from `started`; -1: never */
};

/* Takes `doc` on success and on failure. */
MF_MUST_USE enum mf_code mf_request_new(struct mf_json *doc, struct mf_request **ret, struct mf_err *err);
void mf_request_free(struct mf_request *q); /* NULL is fine */

#endif
