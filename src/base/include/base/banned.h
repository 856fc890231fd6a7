/* Functions with a safer counterpart here are compile errors (after git's banned.h). Include last. */
#ifndef MF_BASE_BANNED_H
#define MF_BASE_BANNED_H

/* Some are macros where libc checks buffer sizes, and clang refuses to poison a macro. */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf
#pragma GCC poison atoi atol atoll gets localtime gmtime tmpnam mktemp

#endif
