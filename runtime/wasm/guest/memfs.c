/* Nodes and the tree as a program finds it. */
#include "memfs.h"
#include "guest.h"

#include <stdlib.h>
#include <string.h>

struct mfs mfs;

struct mfs_node *mfs_new(enum mfs_type type, uint16_t mode)
{
  struct mfs_node *node = mfs_has_room(sizeof *node) ? calloc(1, sizeof *node) : NULL;
  if (!node)
    return NULL;
  node->type = (uint8_t)type;
  node->mode = mode;
  node->ino = ++mfs.next_ino;
  node->refs = 1;
  node->atime = node->mtime = node->ctime = mfg_clock_ns(MF_GUEST_CLOCK_REALTIME);
  return node;
}

void mfs_unref(struct mfs_node *node)
{
  if (!node || --node->refs > 0 || node->links > 0)
    return;
  if (node->type == MFS_FOLDER)
    mfs_folder_done(node);
  else if (node->owned)
    free(node->data);
  free(node);
}

bool mfs_may(const struct mfs_node *node, unsigned bits)
{
  return (node->mode >> 6 & bits) == bits;
}

static mfs_errno add_device(const char *path, enum mfs_type type)
{
  struct mfs_place place;
  struct mfs_node *node = NULL;
  mfs_errno error = mfs_walk(mfs.root, path, strlen(path), false, &place);
  if (error == 0)
    error = mfs_make(&place, type, 0666, &node);
  if (node)
    node->is_fixed = true;
  return error;
}

mfs_errno mfs_init(void)
{
  static const char *const folders[] = { "dev",    "etc", "home",    "mnt",       "mnt/data",           "mnt/task",
                                         "tmp",    "usr", "usr/lib", "usr/share", "usr/share/zoneinfo", "var",
                                         "var/tmp" };
  static const struct {
    const char *path;
    enum mfs_type type;
  } devices[] = { { "dev/null", MFS_NULL },     { "dev/zero", MFS_ZERO },   { "dev/urandom", MFS_RANDOM },
                  { "dev/random", MFS_RANDOM }, { "dev/stdin", MFS_STDIN }, { "dev/stdout", MFS_STDOUT },
                  { "dev/stderr", MFS_STDERR } };
  mfs.umask = 022;
  mfs.root = mfs_new(MFS_FOLDER, 0755);
  if (!mfs.root)
    return __WASI_ERRNO_NOSPC;
  mfs.root->parent = mfs.root;
  mfs.root->links = 1;
  mfs.cwd = mfs.root;
  mfs.root->refs++;
  mfs_errno error = 0;
  for (size_t i = 0; error == 0 && i < sizeof folders / sizeof *folders; i++)
    error = mfs_mkdir(mfs.root, folders[i], strlen(folders[i]));
  for (size_t i = 0; error == 0 && i < sizeof devices / sizeof *devices; i++)
    error = add_device(devices[i].path, devices[i].type);
  return error;
}

void mfs_fix(void)
{
  static const char *const fixed[] = { "/", "/dev", "/etc", "/home", "/mnt", "/usr", "/usr/lib", "/usr/share", "/var" };
  struct mfs_node *node;
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    if (mfs_lookup(mfs.root, fixed[i], strlen(fixed[i]), false, &node) == 0)
      node->is_fixed = true;
  }
}
