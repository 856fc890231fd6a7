/* A folder: its entries in the order they were made, and a hash index once there are many. */
#include "memfs.h"

#include <stdlib.h>
#include <string.h>

#define LINEAR_MAX 8u /* so many entries are searched one by one */

static uint32_t hash_of(const char *name, size_t n)
{
  uint32_t h = 2166136261u; /* FNV-1a */
  for (size_t i = 0; i < n; i++)
    h = (h ^ (uint8_t)name[i]) * 16777619u;
  return h;
}

static bool is_named(const struct mfs_entry *e, const char *name, size_t n, uint32_t hash)
{
  return e->node && e->hash == hash && e->name_n == n && memcmp(e->name, name, n) == 0;
}

static struct mfs_entry *find(const struct mfs_node *f, const char *name, size_t n)
{
  uint32_t hash = hash_of(name, n);
  if (!f->index) {
    for (uint32_t i = 0; i < f->entry_n; i++) {
      if (is_named(&f->entries[i], name, n, hash))
        return &f->entries[i];
    }
    return NULL;
  }
  for (uint32_t i = hash & (f->index_n - 1); f->index[i]; i = (i + 1) & (f->index_n - 1)) {
    if (is_named(&f->entries[f->index[i] - 1], name, n, hash))
      return &f->entries[f->index[i] - 1];
  }
  return NULL;
}

struct mfs_node *mfs_find(const struct mfs_node *folder, const char *name, size_t n)
{
  const struct mfs_entry *e = find(folder, name, n);
  return e ? e->node : NULL;
}

static void index_put(struct mfs_node *f, uint32_t place)
{
  uint32_t i = f->entries[place].hash & (f->index_n - 1);
  while (f->index[i])
    i = (i + 1) & (f->index_n - 1);
  f->index[i] = place + 1;
}

/* Removed entries go when half of all are such, and room is made for one more, in the index too: a quarter of it is
 * used at most, removed ones included, so that every search in it ends. */
static bool make_room(struct mfs_node *f)
{
  if (f->entry_n < f->entry_cap)
    return true;
  if (f->entry_n > 0 && f->live_n <= f->entry_n / 2) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->entry_n; i++) {
      if (f->entries[i].node)
        f->entries[n++] = f->entries[i];
    }
    f->entry_n = n;
  } else {
    uint32_t cap = f->entry_cap ? f->entry_cap * 2 : LINEAR_MAX;
    uint32_t *index = cap > LINEAR_MAX ? malloc((size_t)cap * 4 * sizeof *index) : NULL;
    struct mfs_entry *entries = index || cap <= LINEAR_MAX ? realloc(f->entries, cap * sizeof *entries) : NULL;
    if (!entries) {
      free(index);
      return false;
    }
    f->entries = entries;
    f->entry_cap = cap;
    free(f->index);
    f->index = index;
    f->index_n = index ? cap * 4 : 0;
  }
  if (f->index) {
    memset(f->index, 0, f->index_n * sizeof *f->index);
    for (uint32_t i = 0; i < f->entry_n; i++)
      index_put(f, i);
  }
  return true;
}

mfs_errno mfs_add(struct mfs_node *folder, const char *name, size_t n, struct mfs_node *node)
{
  if (n == 0 || n > MFS_NAME_MAX)
    return __WASI_ERRNO_NAMETOOLONG;
  if (folder->next_seq == UINT32_MAX)
    return __WASI_ERRNO_NOSPC;
  char *copy = malloc(n);
  if (!copy || !make_room(folder)) {
    free(copy);
    return __WASI_ERRNO_NOSPC;
  }
  memcpy(copy, name, n);
  folder->entries[folder->entry_n++] =
      (struct mfs_entry){ copy, node, (uint32_t)n, hash_of(name, n), ++folder->next_seq };
  if (folder->index)
    index_put(folder, folder->entry_n - 1);
  folder->live_n++;
  node->links++;
  if (node->type == MFS_FOLDER) {
    node->parent = folder;
    node->own_seq = folder->next_seq;
  }
  mfs_touch(folder);
  return 0;
}

/* One name less leads to it. */
static void unlink_node(struct mfs_node *node)
{
  if (node->type == MFS_FOLDER)
    node->parent = NULL;
  node->links--;
  node->refs++; /* so that the last name frees it as a last holder does */
  mfs_unref(node);
}

void mfs_replace(struct mfs_node *folder, const char *name, size_t n, struct mfs_node *node)
{
  struct mfs_entry *e = find(folder, name, n);
  struct mfs_node *before = e->node;
  e->node = node;
  node->links++;
  if (node->type == MFS_FOLDER) {
    node->parent = folder;
    node->own_seq = e->seq;
  }
  unlink_node(before);
  mfs_touch(folder);
}

void mfs_remove(struct mfs_node *folder, const char *name, size_t n)
{
  struct mfs_entry *e = find(folder, name, n);
  if (!e)
    return;
  struct mfs_node *node = e->node;
  free(e->name);
  e->name = NULL;
  e->node = NULL;
  folder->live_n--;
  mfs_touch(folder);
  unlink_node(node);
}

const struct mfs_entry *mfs_next(const struct mfs_node *folder, uint64_t seq)
{
  uint32_t low = 0, high = folder->entry_n;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (folder->entries[mid].seq < seq)
      low = mid + 1;
    else
      high = mid;
  }
  while (low < folder->entry_n && !folder->entries[low].node)
    low++;
  return low < folder->entry_n ? &folder->entries[low] : NULL;
}

void mfs_folder_done(struct mfs_node *folder)
{
  free(folder->entries); /* only an empty one is ever removed: no names are left */
  free(folder->index);
}
