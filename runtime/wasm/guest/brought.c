/* The files that the module brings: time zones, as runtime/wasm/python/freeze.py packed them. They are read where they
 * lie. */
#include "guest.h"
#include "memfs.h"

#include <string.h>

static const unsigned char blob[] __attribute__((aligned(16))) = {
#embed "files.bin"
};
static const struct {
  const char *path; /* absolute */
  uint32_t at, n;   /* in blob; equal files share their bytes */
} table[] = {
#include "files_table.h"
  { NULL, 0, 0 },
};

int mfg_files_of_module(void)
{
  for (size_t i = 0; table[i].path; i++) {
    struct mfs_node *node;
    mfs_errno error = mfs_put(table[i].path, strlen(table[i].path), blob + table[i].at, table[i].n, &node);
    if (error)
      return error;
    node->is_fixed = true;
    node->mode = 0444;
  }
  return 0;
}
