/* API keys in the database. */
#include "unit.h"

#include <stdlib.h>

#include "harness.h"
#include "storage/tasks.h"
#include "base/banned.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
  struct harness h;
  struct mf_fiber *self;
  struct mf_err err;
};

static struct mf_store_key key_of(const char *id)
{
  return (struct mf_store_key){
    .id = mf_str_of(id), .name = MF_STR("build server"), .sha256 = MF_STR(DIGEST), .created_ms = 1790000000000
  };
}

static size_t count(struct fixture *f)
{
  struct mf_stored_keys *k = NULL;
  assert_ok(mf_storage_list_keys(f->h.storage, f->self, &k, &f->err), &f->err);
  size_t n = mf_stored_keys_n(k);
  mf_stored_keys_free(k);
  return n;
}

static void keys(void *user)
{
  struct fixture *f = user;
  struct mf_storage *s = f->h.storage;
  struct mf_stored_keys *k = NULL;
  bool any = true;
  f->self = mf_fiber_self(f->h.loop);
  assert_ok(mf_storage_find_key(s, f->self, MF_STR("key_a"), &k, &any, &f->err), &f->err);
  assert_int_equal(mf_stored_keys_n(k), 0);
  assert_false(any);
  mf_stored_keys_free(k);
  assert_int_equal(count(f), 0);

  struct mf_store_key a = key_of("key_a"), b = key_of("key_b");
  assert_ok(mf_storage_put_key(s, f->self, &a, &f->err), &f->err);
  assert_ok(mf_storage_put_key(s, f->self, &b, &f->err), &f->err);
  assert_int_equal(mf_storage_put_key(s, f->self, &a, &f->err), MF_E_EXISTS);
  struct mf_store_key bad = key_of("key_c");
  bad.sha256 = MF_STR("secret");
  assert_int_equal(mf_storage_put_key(s, f->self, &bad, &f->err), MF_E_INPUT);
  assert_null(strstr(f->err.msg, "secret"));
  bad = key_of("");
  assert_int_equal(mf_storage_put_key(s, f->self, &bad, &f->err), MF_E_INPUT);
  bad = key_of("key_c");
  bad.created_ms = UINT64_MAX;
  assert_int_equal(mf_storage_put_key(s, f->self, &bad, &f->err), MF_E_INPUT);

  assert_ok(mf_storage_revoke_key(s, f->self, a.id, 1790000000001, &f->err), &f->err);
  assert_ok(mf_storage_revoke_key(s, f->self, a.id, 1790000000002, &f->err), &f->err);
  assert_int_equal(mf_storage_revoke_key(s, f->self, MF_STR("key_c"), 1, &f->err), MF_E_NOT_FOUND);
  assert_int_equal(mf_storage_revoke_key(s, f->self, b.id, 0, &f->err), MF_E_INPUT);

  assert_ok(mf_storage_find_key(s, f->self, a.id, &k, &any, &f->err), &f->err);
  assert_int_equal(mf_stored_keys_n(k), 1);
  assert_true(any);
  const struct mf_store_key *got = mf_stored_key(k, 0);
  assert_true(mf_str_is(got->id, "key_a") && mf_str_is(got->name, "build server") && mf_str_is(got->sha256, DIGEST));
  assert_int_equal(got->created_ms, 1790000000000);
  assert_int_equal(got->revoked_ms, 1790000000001); /* the first time is when it was */
  mf_stored_keys_free(k);
  assert_ok(mf_storage_find_key(s, f->self, MF_STR("key_c"), &k, &any, &f->err), &f->err);
  assert_int_equal(mf_stored_keys_n(k), 0);
  assert_true(any);
  mf_stored_keys_free(k);
  mf_stored_keys_free(NULL);
}

static void still_there(void *user)
{
  struct fixture *f = user;
  struct mf_stored_keys *k = NULL;
  f->self = mf_fiber_self(f->h.loop);
  assert_ok(mf_storage_list_keys(f->h.storage, f->self, &k, &f->err), &f->err);
  assert_int_equal(mf_stored_keys_n(k), 2);
  assert_true(mf_str_is(mf_stored_key(k, 0)->id, "key_a") && mf_stored_key(k, 0)->revoked_ms);
  assert_true(mf_str_is(mf_stored_key(k, 1)->id, "key_b") && !mf_stored_key(k, 1)->revoked_ms);
  mf_stored_keys_free(k);
}

static void keys_in_a_file(void **state)
{
  char *folder = harness_folder(), *path = mf_xasprintf("%s/m.db", folder);
  struct fixture f = { 0 };
  assert_ok(harness_open(&f.h, path), &f.h.err);
  harness_call(&f.h, keys, &f);
  harness_close(&f.h);
  assert_ok(harness_open(&f.h, path), &f.h.err);
  harness_call(&f.h, still_there, &f);
  harness_close(&f.h);
  free(path);
  harness_remove(folder);
}

static void keys_in_memory(void **state)
{
  struct fixture f = { 0 };
  assert_ok(harness_open(&f.h, ":memory:"), &f.h.err);
  harness_call(&f.h, keys, &f);
  harness_call(&f.h, still_there, &f);
  harness_close(&f.h);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(keys_in_a_file), cmocka_unit_test(keys_in_memory) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
