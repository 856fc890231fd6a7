/* The two ways to run a program: in a sandbox of our own, and by a server that runs already. */
#ifndef MF_CLI_RUN_H
#define MF_CLI_RUN_H

#include "run-args.h"

/* Returns the exit status; what goes wrong is said. */
int mf_run_local(const struct mf_run_args *a, const struct mf_sandbox_spec *spec);
/* False: no server has done it, and nothing was printed: a sandbox of our own has to. True: *ret_exit is the exit
 * status. */
bool mf_run_remote(const struct mf_run_args *a, const struct mf_sandbox_spec *spec, int *ret_exit);

#endif
