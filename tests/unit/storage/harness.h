/* A storage with its loop and workers, and its calls as if they were ordinary functions: each runs in a fiber of its
 * own, and the loop runs until that has ended. */
#ifndef MF_TESTS_STORAGE_HARNESS_H
#define MF_TESTS_STORAGE_HARNESS_H

#include "storage/storage.h"

struct harness {
  struct mf_loop *loop;
  struct mf_pool *pool;
  struct mf_storage *storage; /* NULL when it could not be opened */
  struct mf_err err;          /* of the last call that failed */
};

/* MF_OK, or what mf_storage_open says. */
enum mf_code harness_open(struct harness *h, const char *url);
void harness_close(struct harness *h);

/* Runs fn(user) in a fiber and waits for it. */
void harness_call(struct harness *h, mf_fiber_fn *fn, void *user);

enum mf_code harness_put(struct harness *h, const struct mf_store_response *r);
enum mf_code harness_get(struct harness *h, const char *id, struct mf_stored **ret);
enum mf_code harness_payload(struct harness *h, const char *id, struct mf_stored **ret);
enum mf_code harness_history(struct harness *h, const char *id, struct mf_stored **ret);
enum mf_code harness_items(struct harness *h, const struct mf_str *ids, size_t n, struct mf_stored **ret);
enum mf_code harness_delete(struct harness *h, const char *id);
enum mf_code harness_ping(struct harness *h);

/* fn(user) in a child with a small file system of its own (a tmpfs, with these mount options) at folder; it ends the
 * process with another code than 0 when something is wrong. False: this user cannot mount one. */
bool harness_in_small_file_system(const char *folder, const char *options, void (*fn)(void *user), void *user);

/* A new folder; malloc'ed. */
char *harness_folder(void);
/* Removes it with everything in it. */
void harness_remove(char *folder);

#endif
