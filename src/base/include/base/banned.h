/* Functions with a safer counterpart here are compile errors (after git's banned.h). Include last. */
#ifndef MF_BASE_BANNED_H
#define MF_BASE_BANNED_H

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf atoi atol atoll gets localtime gmtime tmpnam mktemp

#endif
