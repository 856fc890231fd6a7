/* The other processes that this program can be. In a file of its own, because a library of ours is never one of them
 * and must not hold what only they need. */
#include "providers/providers.h"

#include "base/banned.h"

bool mf_provider_was_helper(int argc, char **argv, int *ret_exit)
{
  if (mf_local_is_supervisor(argc, argv))
    *ret_exit = mf_local_supervisor_main();
  else if (mf_wasm_is_worker(argc, argv))
    *ret_exit = mf_wasm_worker_main();
  else
    return false;
  return true;
}
