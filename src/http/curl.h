/* libcurl, loaded when the first client is made.
 *
 * It is not linked because it brings some thirty libraries with it (LDAP, Kerberos, SSH, a second TLS): 6 ms of CPU at
 * each start of the program, and their code in processes that must not have it, as the supervisor is the same program.
 */
#ifndef MF_HTTP_CURL_H
#define MF_HTTP_CURL_H

/* Its macros that check arguments stand for the linked functions. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/err.h"

#define MF_CURL_FUNCTIONS(X)                                                                                           \
  X(version_info)                                                                                                      \
  X(global_init)                                                                                                       \
  X(slist_append)                                                                                                      \
  X(slist_free_all)                                                                                                    \
  X(easy_init)                                                                                                         \
  X(easy_setopt)                                                                                                       \
  X(easy_getinfo)                                                                                                      \
  X(easy_pause)                                                                                                        \
  X(easy_reset)                                                                                                        \
  X(easy_strerror)                                                                                                     \
  X(easy_cleanup)                                                                                                      \
  X(multi_init)                                                                                                        \
  X(multi_setopt)                                                                                                      \
  X(multi_assign)                                                                                                      \
  X(multi_add_handle)                                                                                                  \
  X(multi_remove_handle)                                                                                               \
  X(multi_socket_action)                                                                                               \
  X(multi_info_read)                                                                                                   \
  X(multi_cleanup)

/* curl->easy_init is curl_easy_init, and so on. */
struct mf_curl {
#define MF_CURL_MEMBER(name) __typeof__(curl_##name) *name;
  MF_CURL_FUNCTIONS(MF_CURL_MEMBER)
#undef MF_CURL_MEMBER
};

/* For the life of the process. MF_E_UNAVAILABLE: not there, or too old. Thread: any. */
MF_MUST_USE enum mf_code mf_curl_load(const struct mf_curl **ret, struct mf_err *err);

#endif
