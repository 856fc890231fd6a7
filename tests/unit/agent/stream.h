/* What the tests of the accumulator share: feeding events written in C, and files of whole streams. */
#ifndef MF_TESTS_AGENT_STREAM_H
#define MF_TESTS_AGENT_STREAM_H

#include "unit.h"

#include "agent/accumulator.h"
#include "http/sse.h"

enum { RETAINED_MAX = 1 << 20 };

/* Feeds one event, which must be taken. Single quotes stand for double ones. */
struct mf_acc_event feed(struct mf_acc *a, const char *json);
/* The same, with what came of it. */
enum mf_code try_feed(struct mf_acc *a, const char *json, struct mf_acc_event *ret, struct mf_err *err);
/* Fails unless the event is refused with this text in its error. */
void refused(struct mf_acc *a, const char *json, const char *text);
void assert_str(struct mf_str s, const char *expected);
/* Single quotes in `expected` stand for double ones. */
void assert_json(struct mf_str s, const char *expected);
const struct mf_acc_item *item_at(const struct mf_acc *a, size_t i);
size_t item_n(const struct mf_acc *a);
/* created and in_progress, as strict wants them; the next sequence_number is 2. */
void begin(struct mf_acc *a);

/* A whole file, malloc'ed. */
struct mf_str read_whole(const char *path);

#endif
