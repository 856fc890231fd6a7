/* A provider whose supervisor is the test itself: frames are taken and sent by hand, step by step. */
#ifndef MF_TESTS_LOCAL_FAKE_H
#define MF_TESTS_LOCAL_FAKE_H

#include "provider.h"

#define FAKE_RUNS_MAX 64

struct fake;

/* What came up about one run. */
struct fake_run {
  struct fake *fake;
  struct mf_run *run;
  unsigned started_n, finished_n, released_n, output_n;
  struct mf_buf out, err; /* as streamed */
  struct mf_sandbox_result *result;
  void (*on_started)(struct fake_run *r), (*on_output)(struct fake_run *r), (*on_finished)(struct fake_run *r);
};

struct fake {
  struct mf_loop *loop;
  struct mf_timer *slice;
  struct mf_provider *provider;
  struct mf_runtime_info runtime;
  struct mf_local_config config;
  const char *zygote_dir;
  struct mf_local_seam seam;

  int sock; /* the supervisor's end; -1 when it is "dead" */
  unsigned spawn_n, sweep_n, sweep_busy_n;
  bool refuses_spawn;
  int send_buffer; /* of the provider's end; 0: the system's */

  unsigned ready_n, closed_n, info_n;
  enum mf_code ready_code;
  struct mf_err ready_err;
  struct mf_local_info info;
  struct fake_run runs[FAKE_RUNS_MAX];
  unsigned run_n;
};

void fake_init(struct fake *f);
void fake_open(struct fake *f);    /* mf_local_new_with */
void fake_open_up(struct fake *f); /* and READY, and waits for `ready` */
void fake_close(struct fake *f);   /* close, wait for `closed` (if open), free everything */

/* Runs the loop for a moment. */
void fake_slice(struct fake *f);
/* Runs the loop until the expression holds; fails after half a minute. */
#define UNTIL(f, expression)                                                                                           \
  do {                                                                                                                 \
    for (unsigned slices_ = 0; !(expression); slices_++) {                                                             \
      if (slices_ > 30000)                                                                                             \
        fail_msg("never came: %s", #expression);                                                                       \
      fake_slice(f);                                                                                                   \
    }                                                                                                                  \
  } while (0)

struct mf_sandbox_spec fake_spec(const char *source);
enum mf_code fake_try(struct fake *f, const struct mf_sandbox_spec *spec, struct fake_run **ret, struct mf_err *err);
struct fake_run *fake_start(struct fake *f, const struct mf_sandbox_spec *spec);

/* The next frame that the provider sent, waited for; it must have this type and size. *ret_fd may be NULL. */
void fake_take(struct fake *f, uint32_t type, void *frame, size_t size, int *ret_fd);
bool fake_has_frame(struct fake *f);
/* Takes a START for the run; returns its id. */
uint64_t fake_take_start(struct fake *f);

void fake_send(struct fake *f, const void *frame, size_t size, int fd);
void fake_send_ready(struct fake *f);
void fake_send_started(struct fake *f, uint64_t id, bool from_pool);
void fake_send_output(struct fake *f, uint64_t id, bool is_stderr, const char *text, bool is_dropped);
/* By word, exit code 0, no files. */
struct mf_sup_finished fake_finished(uint64_t id);
void fake_send_finished(struct fake *f, const struct mf_sup_finished *frame, int dir_fd);
void fake_send_reaped(struct fake *f, uint64_t id);
/* The supervisor could not make a sandbox, and ends. */
void fake_send_fatal(struct fake *f, const char *step, int error);
void fake_die(struct fake *f); /* end of file */

unsigned fake_open_fds(void); /* descriptors of this process */

#endif
