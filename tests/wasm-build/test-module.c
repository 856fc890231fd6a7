/* The bytes of a module: a memory goes in, hostile bytes give words and never more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "module.h"
#include "reader.h"

/* (module (import "mayfly" "sleep" (func (param i64))) (memory 1 16) (global (mut i32) (i32.const 4096))
 *   (export "memory" (memory 0)) (export "gone" (func 0)) (data (i32.const 4096) "ab")), and a custom section. */
#define HEAD "\0asm\1\0\0\0"
#define TYPE "\1\5\1\x60\1\x7e\0"
#define IMPORT "\2\x10\1\6mayfly\5sleep\0\0"
#define MEMORY "\5\4\1\1\1\x10"
#define GLOBAL "\6\7\1\x7f\1\x41\x80\x20\x0b"
#define EXPORT "\7\x11\2\6memory\2\0\4gone\0\0"
#define DATA "\x0b\x09\1\0\x41\x80\x20\x0b\2ab"
#define CUSTOM "\0\6\4nameX"
static const char whole[] = HEAD TYPE IMPORT MEMORY GLOBAL EXPORT DATA CUSTOM;
static const char *const drop[] = { "gone" };

#define STACK 4096u
#define PAGES 2u

struct fixture {
  uint8_t *memory;
  struct mf_buf out;
  struct mf_err err;
};

static int set_up(void **state)
{
  struct fixture *f = calloc(1, sizeof(*f));
  f->memory = calloc(PAGES, MF_WASM_PAGE_BYTES);
  mf_buf_init(&f->out, 1 << 20);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;
  mf_buf_done(&f->out);
  free(f->memory);
  free(f);
  return 0;
}

static enum mf_code rewrite(struct fixture *f, const char *bytes, size_t n)
{
  struct mf_memory_image image = { f->memory, (size_t)PAGES * MF_WASM_PAGE_BYTES, STACK };
  f->err.msg[0] = '\0';
  mf_buf_truncate(&f->out, 0);
  return mf_module_with_memory((struct mf_str){ bytes, n }, &image, drop, 1, &f->out, &f->err);
}

static void assert_refused(struct fixture *f, const char *bytes, size_t n, const char *why)
{
  assert_int_equal(rewrite(f, bytes, n), MF_E_INPUT);
  if (!strstr(f->err.msg, why))
    fail_msg("'%s' does not say '%s'", f->err.msg, why);
}

static bool has(const struct fixture *f, const char *bytes, size_t n)
{
  return memmem(f->out.ptr, f->out.len, bytes, n) != NULL;
}

static void test_memory_goes_in(void **state)
{
  struct fixture *f = *state;
  memset(f->memory, 's', STACK);  /* the dead stack */
  f->memory[STACK + 5] = 'x';     /* one block */
  f->memory[65536 + 40960] = 'y'; /* far away: a segment of its own */
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_OK);
  assert_memory_equal(f->out.ptr, HEAD TYPE IMPORT, sizeof(HEAD TYPE IMPORT) - 1);
  assert_true(has(f, "\5\4\1\1\2\x10", 6));                /* two pages now, sixteen at most as before */
  assert_true(has(f, "\7\x0a\1\6memory\2\0\x0b", 13));     /* one export less; the data follows */
  assert_true(has(f, "\2\0\x41\x80\x20\x0b\x80\x20", 8));  /* two segments; 4096 bytes at 4096 */
  assert_true(has(f, "\0\x41\x80\xc0\6\x0b\x80\x20y", 9)); /* 4096 bytes at 106496 */
  assert_false(has(f, "s", 1) && has(f, "ss", 2));
  assert_false(has(f, "nameX", 5));
  assert_true(f->out.len > 2 * 4096 && f->out.len < 2 * 4096 + 120);
}

static void test_near_blocks_are_one_segment(void **state)
{
  struct fixture *f = *state;
  f->memory[STACK] = f->memory[STACK + 16 * 4096] = 1;
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_OK);
  assert_true(has(f, "\1\0\x41\x80\x20\x0b\x80\xa0\4", 9)); /* one segment of 17 blocks */
  f->memory[STACK + 16 * 4096] = 0;
  f->memory[STACK + 18 * 4096] = 1;
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_OK);
  assert_true(has(f, "\2\0\x41\x80\x20\x0b\x80\x20", 8));
}

static void test_the_same_twice(void **state)
{
  struct fixture *f = *state;
  f->memory[70000] = 7;
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_OK);
  size_t n = f->out.len;
  char *first = malloc(n);
  memcpy(first, f->out.ptr, n);
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_OK);
  assert_int_equal(f->out.len, n);
  assert_memory_equal(f->out.ptr, first, n);
  free(first);
}

static void test_state_outside_the_memory_is_refused(void **state)
{
  struct fixture *f = *state;
#define REFUSED(bytes, why) assert_refused(f, HEAD bytes, sizeof(HEAD bytes) - 1, why)
  REFUSED("\6\x0d\2\x7f\1\x41\x80\x20\x0b\x7f\1\x41\0\x0b" MEMORY DATA, "more mutable globals");
  REFUSED("\6\6\1\x7f\1\x23\0\x0b" MEMORY DATA, "does not begin as a constant");
  REFUSED("\5\5\2\0\1\0\1" DATA, "exactly one memory");
  REFUSED("\5\4\1\3\1\x10" DATA, "shared or 64-bit");
  REFUSED("\2\7\1\1m\1g\3\x7f\0" MEMORY DATA, "something else than functions");
  REFUSED(MEMORY "\x0b\4\1\1\1x", "not simply active");
  REFUSED(MEMORY "\x0b\x08\1\0\x41\x80\x1f\x0b\1x", "--stack-first");
  REFUSED(MEMORY "\x0b\7\1\0\x23\0\x0b\1x", "no constant");
  REFUSED(MEMORY, "no memory or no data");
  REFUSED(DATA, "no memory or no data");
  REFUSED("\x0e\0" MEMORY DATA, "unknown kind");
#undef REFUSED
}

static void test_no_module(void **state)
{
  struct fixture *f = *state;
  assert_refused(f, "", 0, "no WebAssembly module");
  assert_refused(f, "\0asm\2\0\0\0", 8, "no WebAssembly module");
  assert_refused(f, "\0asm\x0d\0\1\0", 8, "no WebAssembly module"); /* a component */
}

static void test_limit(void **state)
{
  struct fixture *f = *state;
  f->memory[STACK] = 1;
  f->out.max = 1000;
  assert_int_equal(rewrite(f, whole, sizeof(whole) - 1), MF_E_LIMIT);
}

/* Cut anywhere, or with any byte changed to any other: an answer, and no byte is read that is not there (the copy has
 * its exact size, so that a sanitizer sees it). */
static void test_hostile_bytes(void **state)
{
  struct fixture *f = *state;
  size_t n = sizeof(whole) - 1;
  unsigned refused_n = 0;
  for (size_t cut = 0; cut < n; cut++) {
    char *copy = malloc(cut ? cut : 1);
    memcpy(copy, whole, cut);
    refused_n += rewrite(f, copy, cut) != MF_OK;
    free(copy);
  }
  assert_true(refused_n >= n - 10); /* only the custom section may be missing */
  char *copy = malloc(n);
  for (size_t at = 0; at < n; at++)
    for (int v = 0; v < 256; v++) {
      memcpy(copy, whole, n);
      copy[at] = (char)v;
      enum mf_code c = rewrite(f, copy, n);
      assert_true(c == MF_OK || (c == MF_E_INPUT && f->err.msg[0]));
    }
  free(copy);
}

static void test_numbers(void **state)
{
  struct mf_reader r = mf_reader_of((struct mf_str){ "\xff\xff\xff\xff\x0f\x7f\x80\x80\x80\x80\x78\xe5\x8e\x26", 14 });
  assert_int_equal(mf_read_u32(&r), UINT32_MAX);
  assert_int_equal(mf_read_i32(&r), -1);
  assert_int_equal(mf_read_i32(&r), INT32_MIN);
  assert_int_equal(mf_read_u32(&r), 624485);
  assert_true(mf_reader_is_done(&r) && !r.fault);
  assert_int_equal(mf_read_u8(&r), 0);
  assert_non_null(r.fault);
  r = mf_reader_of((struct mf_str){ "\xff\xff\xff\xff\x1f", 5 });
  assert_int_equal(mf_read_u32(&r), 0);
  assert_non_null(r.fault);
  r = mf_reader_of((struct mf_str){ "\x80\x80\x80\x80\x80\x01", 6 });
  mf_read_u32(&r);
  assert_string_equal(r.fault, "has a number that is too long");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_memory_goes_in, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_near_blocks_are_one_segment, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_the_same_twice, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_state_outside_the_memory_is_refused, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_no_module, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
    cmocka_unit_test_setup_teardown(test_hostile_bytes, set_up, tear_down),
    cmocka_unit_test(test_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
