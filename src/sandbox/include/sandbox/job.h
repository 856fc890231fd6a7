/* The job memfd: what one child is to run, written once by the provider and sealed (frames.h has the layout).
 *
 * Sealed, because the child holds it open: without seals a guest could grow it past its memory limit, and the
 * provider reads its inputs back from it to tell artifacts from unchanged inputs. */
#ifndef MF_SANDBOX_JOB_H
#define MF_SANDBOX_JOB_H

#include "sandbox/sandbox.h"

/* Writes the spec into a new memfd, offset 0. The spec has passed mf_sandbox_spec_check.
 * Errors: MF_E_SYS (no memory, no descriptor). Thread: any. */
MF_MUST_USE enum mf_code mf_job_write(const struct mf_sandbox_spec *spec, int *ret_fd, struct mf_err *err);

/* A job memfd mapped and understood; every mf_str points into the mapping. */
struct mf_job {
  void *map;
  size_t map_n;
  struct mf_str source, name;
  struct mf_str *argv; /* owned array */
  struct mf_sandbox_file *files;
  unsigned argv_n, file_n;
  bool display_last;
};
/* Maps fd (borrowed). Every length is checked: MF_E_INPUT when the bytes are not a job. */
MF_MUST_USE enum mf_code mf_job_map(int fd, struct mf_job *ret, struct mf_err *err);
void mf_job_done(struct mf_job *job); /* fine on a zeroed struct */

#endif
