/* Ids that the house makes: a prefix that names the kind and a UUIDv7 (RFC 9562), so that they sort by time. */
#ifndef MF_BASE_IDS_H
#define MF_BASE_IDS_H

#include <stdint.h>

#define MF_UUID_N 37 /* with the NUL */
#define MF_ID_PREFIX_MAX 16
#define MF_ID_N (MF_ID_PREFIX_MAX + MF_UUID_N)

/* Lower-case, with dashes. The time is of the wall clock, in milliseconds. Thread: any. */
void mf_uuid7(char ret[MF_UUID_N]);
/* The same of a given time and 10 given random bytes. */
void mf_uuid7_of(uint64_t wall_ms, const unsigned char random[10], char ret[MF_UUID_N]);

/* "resp_" gives "resp_01a2284c-66a8-7f90-b67e-ac279ac39149". The prefix is at most MF_ID_PREFIX_MAX bytes. Thread: any.
 */
void mf_id_new(const char *prefix, char ret[MF_ID_N]);

#endif
