/* Answers: each carries the request's id and what CORS asks for. Thread: the loop's; from the request's fiber. */
#ifndef MF_GATEWAY_REPLY_H
#define MF_GATEWAY_REPLY_H

#include "gateway-internal.h"

/* headers: at most MF_GW_HEADERS_MAX - 16. Errors: those of mf_http_respond, mf_http_begin and mf_http_begin_sized. */
MF_MUST_USE enum mf_code mf_gw_respond(struct mf_gw_request *r, int status, const struct mf_http_header *headers,
                                       size_t header_n, struct mf_str body);
MF_MUST_USE enum mf_code mf_gw_begin(struct mf_gw_request *r, int status, const struct mf_http_header *headers,
                                     size_t header_n);
MF_MUST_USE enum mf_code mf_gw_begin_sized(struct mf_gw_request *r, int status, const struct mf_http_header *headers,
                                           size_t header_n, uint64_t body_bytes);
MF_MUST_USE enum mf_code mf_gw_json(struct mf_gw_request *r, int status, struct mf_str body);
/* An error of a turn, as it is. */
MF_MUST_USE enum mf_code mf_gw_error(struct mf_gw_request *r, const struct mf_api_error *e);
/* An error of the HTTP layer: param is null. */
MF_MUST_USE enum mf_code mf_gw_refuse(struct mf_gw_request *r, int status, const char *type, const char *code,
                                      const char *fmt, ...) MF_PRINTF(5, 6);
/* There is no LLM server for what was asked. */
MF_MUST_USE enum mf_code mf_gw_refuse_no_llm(struct mf_gw_request *r);
/* What a failed read of the body means. Returns `code` when nobody is there to be told. */
MF_MUST_USE enum mf_code mf_gw_refuse_body(struct mf_gw_request *r, enum mf_code code);
/* What a failed call of storage means; the message of err goes to the log. */
MF_MUST_USE enum mf_code mf_gw_refuse_storage(struct mf_gw_request *r, enum mf_code code, const struct mf_err *err);

/* {"error":{"message","type","param","code"}}; param NULL: null. */
void mf_gw_write_error(struct mf_buf *out, const char *type, const char *code, const char *param, const char *message);
/* How the server itself answers a bad request (http/server.h): with an id and in the same form; it is counted and
 * logged, too. */
void mf_gw_refused_header(void *user, struct mf_http_header *ret);
void mf_gw_refused_body(void *user, int status, const char *message, struct mf_buf *ret);

#endif
