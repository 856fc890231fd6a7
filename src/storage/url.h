/* Where the database is. Thread: any. */
#ifndef MF_STORAGE_URL_H
#define MF_STORAGE_URL_H

#include <stdbool.h>

#include "base/err.h"

/* *ret_path is malloc'ed; NULL for a database in memory. MF_E_INPUT; MF_E_UNAVAILABLE for a kind of database that we
 * cannot use. */
MF_MUST_USE enum mf_code mf_storage_url_parse(const char *url, char **ret_path, struct mf_err *err);

#endif
