/* The fields of a request that go upstream as the client sent them. Private to this room. */
#ifndef MF_AGENT_FIELDS_H
#define MF_AGENT_FIELDS_H

#include <stddef.h>

/* The ith, in the order in which they are written; NULL past the last. */
const char *request_passed_field(size_t i);

#endif
