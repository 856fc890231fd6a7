/* From the JSON of a task to the struct of a C program. */
#ifndef MF_LIBRARY_RESULT_H
#define MF_LIBRARY_RESULT_H

#include "base/buf.h"
#include "mayfly.h"

/* Consumes json, which is a task as mf_tasks_get shows it. NULL: it is not one. Thread: any. */
struct mayfly_result *mf_library_result(struct mf_buf *json);

#endif
