/* See harness.h. It asserts with assert(): it is also used where no test framework is (in children). */
#undef NDEBUG
#include "harness.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { THREADS = 4, QUEUE = 64 };

enum mf_code harness_open(struct harness *h, const char *url)
{
  *h = (struct harness){ 0 };
  enum mf_code code = mf_loop_new(&h->loop, NULL);
  assert(code == MF_OK);
  code = mf_pool_new(h->loop, THREADS, QUEUE, &h->pool, NULL);
  assert(code == MF_OK);
  return mf_storage_open(h->loop, h->pool, url, &h->storage, &h->err);
}

void harness_close(struct harness *h)
{
  mf_storage_close(h->storage);
  mf_pool_free(h->pool);
  mf_loop_free(h->loop);
  *h = (struct harness){ 0 };
}

struct called {
  struct harness *h;
  mf_fiber_fn *fn;
  void *user;
};

static void run_call(void *user)
{
  struct called *c = user;
  c->fn(c->user);
  mf_loop_stop(c->h->loop);
}

void harness_call(struct harness *h, mf_fiber_fn *fn, void *user)
{
  struct called c = { h, fn, user };
  enum mf_code code = mf_fiber_start(h->loop, run_call, &c, 0, NULL, NULL);
  assert(code == MF_OK);
  code = mf_loop_run(h->loop, NULL);
  assert(code == MF_OK);
}

/* ---- the calls ---- */

struct args {
  struct harness *h;
  const struct mf_store_response *response;
  struct mf_str id;
  const struct mf_str *ids;
  size_t id_n;
  struct mf_stored **ret;
  enum mf_code code;
};

static void call_put(void *user)
{
  struct args *a = user;
  a->code = mf_storage_put_response(a->h->storage, mf_fiber_self(a->h->loop), a->response, &a->h->err);
}

static void call_get(void *user)
{
  struct args *a = user;
  a->code = mf_storage_get_response(a->h->storage, mf_fiber_self(a->h->loop), a->id, a->ret, &a->h->err);
}

static void call_payload(void *user)
{
  struct args *a = user;
  a->code = mf_storage_get_payload(a->h->storage, mf_fiber_self(a->h->loop), a->id, a->ret, &a->h->err);
}

static void call_history(void *user)
{
  struct args *a = user;
  a->code = mf_storage_get_history(a->h->storage, mf_fiber_self(a->h->loop), a->id, a->ret, &a->h->err);
}

static void call_delete(void *user)
{
  struct args *a = user;
  a->code = mf_storage_delete_response(a->h->storage, mf_fiber_self(a->h->loop), a->id, &a->h->err);
}

static void call_ping(void *user)
{
  struct args *a = user;
  a->code = mf_storage_ping(a->h->storage, mf_fiber_self(a->h->loop), &a->h->err);
}

static void call_items(void *user)
{
  struct args *a = user;
  a->code = mf_storage_get_items(a->h->storage, mf_fiber_self(a->h->loop), a->ids, a->id_n, a->ret, &a->h->err);
}

enum mf_code harness_put(struct harness *h, const struct mf_store_response *r)
{
  struct args a = { .h = h, .response = r };
  harness_call(h, call_put, &a);
  return a.code;
}

enum mf_code harness_payload(struct harness *h, const char *id, struct mf_stored **ret)
{
  struct args a = { .h = h, .id = mf_str_of(id), .ret = ret };
  harness_call(h, call_payload, &a);
  return a.code;
}

enum mf_code harness_get(struct harness *h, const char *id, struct mf_stored **ret)
{
  struct args a = { .h = h, .id = mf_str_of(id), .ret = ret };
  harness_call(h, call_get, &a);
  return a.code;
}

enum mf_code harness_history(struct harness *h, const char *id, struct mf_stored **ret)
{
  struct args a = { .h = h, .id = mf_str_of(id), .ret = ret };
  harness_call(h, call_history, &a);
  return a.code;
}

enum mf_code harness_items(struct harness *h, const struct mf_str *ids, size_t n, struct mf_stored **ret)
{
  struct args a = { .h = h, .ids = ids, .id_n = n, .ret = ret };
  harness_call(h, call_items, &a);
  return a.code;
}

enum mf_code harness_delete(struct harness *h, const char *id)
{
  struct args a = { .h = h, .id = mf_str_of(id) };
  harness_call(h, call_delete, &a);
  return a.code;
}

enum mf_code harness_ping(struct harness *h)
{
  struct args a = { .h = h };
  harness_call(h, call_ping, &a);
  return a.code;
}

/* ---- folders ---- */

char *harness_folder(void)
{
  const char *base = getenv("TMPDIR");
  char *folder = mf_xasprintf("%s/mf-storage-XXXXXX", base && base[0] ? base : "/tmp");
  char *made = mkdtemp(folder);
  assert(made);
  return made;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
  return remove(path);
}

void harness_remove(char *folder)
{
  int failed = nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
  assert(!failed);
  free(folder);
}

/* ---- a small file system ---- */

static bool write_text(const char *path, const char *text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0)
    close(fd);
  return ok;
}

/* A file has an owner and a group: without both of them mapped nothing can be made in a file system of ours. */
static bool become_root_of_a_namespace(void)
{
  char uids[40], gids[40];
  snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
  snprintf(gids, sizeof(gids), "0 %u 1", getegid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", uids) &&
         write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", gids);
}

bool harness_in_small_file_system(const char *folder, const char *options, void (*fn)(void *user), void *user)
{
  enum { CANNOT = 77 };
  fflush(stdout);
  pid_t child = fork();
  assert(child >= 0);
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 && !become_root_of_a_namespace())
      _exit(CANNOT);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("mf", folder, "tmpfs", 0, options) != 0)
      _exit(CANNOT);
    fn(user);
    _exit(0);
  }
  int status = -1;
  pid_t ended = waitpid(child, &status, 0);
  assert(ended == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
    return false;
  assert(status == 0);
  return true;
}
