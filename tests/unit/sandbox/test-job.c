/* Job memfds: what is written is read back, and what is no job is refused. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/job.h"
#include "sandbox/frames.h"
#include "base/banned.h"

static void assert_str(struct mf_str got, struct mf_str want)
{
  assert_int_equal(got.len, want.len);
  if (want.len > 0)
    assert_memory_equal(got.ptr, want.ptr, want.len);
}

static void round_trip(const struct mf_sandbox_spec *spec, const char *name)
{
  struct mf_err err;
  mf_auto_close int fd = -1;
  assert_ok(mf_job_write(spec, &fd, &err), &err);
  assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
  struct mf_job job;
  assert_ok(mf_job_map(fd, &job, &err), &err);
  assert_str(job.source, spec->source);
  assert_str(job.name, mf_str_of(name));
  assert_int_equal(job.display_last, spec->display_last_expression);
  assert_int_equal(job.argv_n, spec->argv_n);
  for (unsigned i = 0; i < spec->argv_n; i++)
    assert_str(job.argv[i], spec->argv[i]);
  assert_int_equal(job.file_n, spec->file_n);
  for (unsigned i = 0; i < spec->file_n; i++) {
    assert_str(job.files[i].name, spec->files[i].name);
    assert_str(job.files[i].data, spec->files[i].data);
  }
  mf_job_done(&job);
  mf_job_done(&job);
}

static void reads_back_the_smallest(void **state)
{
  round_trip(&(struct mf_sandbox_spec){ 0 }, "main.py");
}

static void reads_back_everything(void **state)
{
  const struct mf_str argv[] = { MF_STR("--n"), MF_STR(""), MF_STR("二") };
  const struct mf_sandbox_file files[] = {
    { MF_STR("a.csv"), MF_STR("x\n1\n") },
    { MF_STR("deep/er/empty"), { NULL, 0 } },
    { MF_STR("bytes"), MF_STR("\0\xff\0") },
  };
  const struct mf_sandbox_spec spec = {
    .source = MF_STR("print('你好')\n"),
    .source_name = MF_STR("analysis.py"),
    .argv = argv,
    .argv_n = 3,
    .files = files,
    .file_n = 3,
    .display_last_expression = true,
  };
  round_trip(&spec, "analysis.py");
}

/* More pieces than one writev of ours, and more bytes than one write moves at once on some kernels. */
static void reads_back_many_and_large(void **state)
{
  enum { FILE_N = MF_INPUT_COUNT_MAX, ARGV_N = MF_ARGV_COUNT_MAX };
  static struct mf_sandbox_file files[FILE_N];
  static struct mf_str argv[ARGV_N];
  char *big = mf_xmalloc(16u << 20);
  for (size_t i = 0; i < 16u << 20; i++)
    big[i] = (char)(i * 2654435761u >> 24);
  for (unsigned i = 0; i < FILE_N; i++)
    files[i] = (struct mf_sandbox_file){ MF_STR("f"), { big, i } };
  files[FILE_N - 1].data.len = 16u << 20;
  for (unsigned i = 0; i < ARGV_N; i++)
    argv[i] = (struct mf_str){ big, i % 7 };
  const struct mf_sandbox_spec spec = {
    .source = { big, MF_SOURCE_BYTES_MAX }, .argv = argv, .argv_n = ARGV_N, .files = files, .file_n = FILE_N
  };
  round_trip(&spec, "main.py");
  free(big);
}

/* The guest holds it too: it must not be able to change it or to make memory of it. */
static void is_sealed(void **state)
{
  struct mf_err err;
  mf_auto_close int fd = -1;
  assert_ok(mf_job_write(&(struct mf_sandbox_spec){ .source = MF_STR("1") }, &fd, &err), &err);
  assert_int_equal(pwrite(fd, "x", 1, 0), -1);
  assert_int_equal(errno, EPERM);
  assert_int_equal(ftruncate(fd, 1 << 20), -1);
  assert_int_equal(ftruncate(fd, 0), -1);
  assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

static enum mf_code map_bytes(const void *p, size_t n)
{
  struct mf_err err;
  mf_auto_close int fd = -1;
  assert_ok(mf_memfd("test", &fd, &err), &err);
  assert_ok(mf_write_all(fd, p, n, &err), &err);
  struct mf_job job = { 0 };
  enum mf_code code = mf_job_map(fd, &job, &err);
  mf_job_done(&job);
  return code;
}

static void refuses_what_is_no_job(void **state)
{
  struct {
    struct mf_job_header h;
    char rest[80];
  } bytes = { .h = { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, 0, 1, 0 } };
  const struct mf_job_record record = { .name_n = 1, .data_n = 40 };
  memcpy(bytes.rest + 8, &record, sizeof(record));
  size_t whole = sizeof(bytes.h) + 8 + sizeof(record) + 41;
  bytes.rest[0] = 'x';
  assert_int_equal(map_bytes(&bytes, whole), MF_OK);
  for (size_t n = 0; n < whole; n++)
    assert_int_equal(map_bytes(&bytes, n), MF_E_INPUT);

  const struct mf_job_header wrong[] = {
    { MF_JOB_MAGIC + 1, MF_FRAMES_VERSION, 1, 7, 0, 1, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION + 1, 1, 7, 0, 1, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, UINT32_MAX, 7, 0, 1, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, UINT32_MAX, 0, 1, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, UINT32_MAX, 1, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, 0, UINT32_MAX, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, 1, 0, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, 0, 0, 0 },
    { MF_JOB_MAGIC, MF_FRAMES_VERSION, 1, 7, 0, 1, MF_JOB_DISPLAY_LAST << 1 },
  };
  for (size_t i = 0; i < MF_ARRAY_N(wrong); i++) {
    bytes.h = wrong[i];
    assert_int_equal(map_bytes(&bytes, whole), MF_E_INPUT);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_back_the_smallest),   cmocka_unit_test(reads_back_everything),
    cmocka_unit_test(reads_back_many_and_large), cmocka_unit_test(is_sealed),
    cmocka_unit_test(refuses_what_is_no_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
