/* Names: walking a path, and what changes the tree. */
#include "memfs.h"

#include <stdlib.h>
#include <string.h>

static mfs_errno ends_at_folder(struct mfs_place *p, struct mfs_node *folder)
{
  p->folder = p->node = folder;
  p->name = "";
  p->name_n = 0;
  p->must_be_folder = true;
  return folder->type == MFS_FOLDER ? 0 : __WASI_ERRNO_NOTDIR;
}

/* What is still to be walked lies at the end of the buffer, so that a link's target can be put before it. */
mfs_errno mfs_walk(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_place *ret)
{
  if (n == 0 || n >= MFS_PATH_MAX)
    return n == 0 ? __WASI_ERRNO_NOENT : __WASI_ERRNO_NAMETOOLONG;
  char *end = ret->buffer + sizeof ret->buffer, *at = end - n;
  memcpy(at, path, n);
  struct mfs_node *node = *at == '/' ? mfs.root : base;
  for (unsigned followed_n = 0;;) {
    while (at < end && *at == '/')
      at++;
    if (at == end)
      return ends_at_folder(ret, node);
    char *name = at;
    while (at < end && *at != '/')
      at++;
    size_t name_n = (size_t)(at - name);
    const char *rest = at;
    while (rest < end && *rest == '/')
      rest++;
    bool is_last = rest == end;
    if (node->type != MFS_FOLDER)
      return __WASI_ERRNO_NOTDIR;
    if (!mfs_may(node, 1))
      return __WASI_ERRNO_ACCES;
    if (name_n == 1 && name[0] == '.')
      continue;
    if (name_n == 2 && name[0] == '.' && name[1] == '.') {
      node = node->parent;
      if (!node)
        return __WASI_ERRNO_NOENT; /* the work directory was removed */
      continue;
    }
    if (name_n > MFS_NAME_MAX)
      return __WASI_ERRNO_NAMETOOLONG;
    struct mfs_node *child = mfs_find(node, name, name_n);
    if (!child && !is_last)
      return __WASI_ERRNO_NOENT;
    if (child && child->type == MFS_LINK && (!is_last || follow || at < end)) {
      if (++followed_n > MFS_LINKS_FOLLOWED_MAX)
        return __WASI_ERRNO_LOOP;
      if (child->n > (size_t)(at - ret->buffer))
        return __WASI_ERRNO_NAMETOOLONG;
      at -= child->n;
      memcpy(at, child->data, child->n);
      if (*at == '/')
        node = mfs.root;
      continue;
    }
    if (is_last) {
      ret->folder = node;
      ret->node = child;
      ret->name = name;
      ret->name_n = name_n;
      ret->must_be_folder = at < end;
      return child && ret->must_be_folder && child->type != MFS_FOLDER ? __WASI_ERRNO_NOTDIR : 0;
    }
    node = child;
  }
}

mfs_errno mfs_lookup(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_node **ret)
{
  struct mfs_place place;
  mfs_errno error = mfs_walk(base, path, n, follow, &place);
  if (error == 0 && !place.node)
    error = __WASI_ERRNO_NOENT;
  if (error == 0)
    *ret = place.node;
  return error;
}

/* Whether names in this folder may change. */
static mfs_errno may_change(const struct mfs_node *folder)
{
  if (folder->is_fixed)
    return __WASI_ERRNO_ROFS;
  if (folder->links == 0)
    return __WASI_ERRNO_NOENT;
  return mfs_may(folder, 3) ? 0 : __WASI_ERRNO_ACCES;
}

mfs_errno mfs_make(const struct mfs_place *place, enum mfs_type type, uint16_t mode, struct mfs_node **ret)
{
  if (place->node)
    return __WASI_ERRNO_EXIST;
  mfs_errno error = may_change(place->folder);
  if (error)
    return error;
  struct mfs_node *node = mfs_new(type, (uint16_t)((mfs.has_mode ? mfs.mode : mode) & ~mfs.umask));
  if (!node)
    return __WASI_ERRNO_NOSPC;
  error = mfs_add(place->folder, place->name, place->name_n, node);
  if (error == 0)
    *ret = node; /* it lives by its name */
  mfs_unref(node);
  return error;
}

mfs_errno mfs_mkdir(struct mfs_node *base, const char *path, size_t n)
{
  struct mfs_place place;
  struct mfs_node *node;
  mfs_errno error = mfs_walk(base, path, n, false, &place);
  return error ? error : mfs_make(&place, MFS_FOLDER, 0777, &node);
}

/* Where a name is to be removed or moved from. */
static mfs_errno walk_to_remove(struct mfs_node *base, const char *path, size_t n, struct mfs_place *place)
{
  mfs_errno error = mfs_walk(base, path, n, false, place);
  if (error)
    return error;
  if (!place->node)
    return __WASI_ERRNO_NOENT;
  if (place->name_n == 0) /* "/", ".", "..", of which nobody has the name */
    return place->node == mfs.root ? __WASI_ERRNO_BUSY : __WASI_ERRNO_INVAL;
  return may_change(place->folder);
}

mfs_errno mfs_rmdir(struct mfs_node *base, const char *path, size_t n)
{
  struct mfs_place place;
  mfs_errno error = walk_to_remove(base, path, n, &place);
  if (error)
    return error;
  if (place.node->type != MFS_FOLDER)
    return __WASI_ERRNO_NOTDIR;
  if (place.node->live_n > 0)
    return __WASI_ERRNO_NOTEMPTY;
  mfs_remove(place.folder, place.name, place.name_n);
  return 0;
}

mfs_errno mfs_unlink(struct mfs_node *base, const char *path, size_t n)
{
  struct mfs_place place;
  mfs_errno error = walk_to_remove(base, path, n, &place);
  if (error)
    return error;
  if (place.node->type == MFS_FOLDER)
    return __WASI_ERRNO_ISDIR;
  mfs_remove(place.folder, place.name, place.name_n);
  return 0;
}

/* What a name that is already there means for a rename to it. */
static mfs_errno check_replace(const struct mfs_node *from, const struct mfs_place *to)
{
  if (from->type != MFS_FOLDER && to->must_be_folder)
    return __WASI_ERRNO_NOTDIR;
  for (const struct mfs_node *up = to->folder; from->type == MFS_FOLDER && up;
       up = up == mfs.root ? NULL : up->parent) {
    if (up == from)
      return __WASI_ERRNO_INVAL;
  }
  if (!to->node)
    return 0;
  if (to->name_n == 0)
    return __WASI_ERRNO_BUSY;
  if (from->type != MFS_FOLDER)
    return to->node->type == MFS_FOLDER ? __WASI_ERRNO_ISDIR : 0;
  if (to->node->type != MFS_FOLDER)
    return __WASI_ERRNO_NOTDIR;
  return to->node->live_n > 0 ? __WASI_ERRNO_NOTEMPTY : 0;
}

mfs_errno mfs_rename(struct mfs_node *base, const char *path, size_t n, struct mfs_node *to_base, const char *to_path,
                     size_t to_n)
{
  struct mfs_place from, to;
  mfs_errno error = walk_to_remove(base, path, n, &from);
  if (error == 0)
    error = mfs_walk(to_base, to_path, to_n, false, &to);
  if (error == 0)
    error = may_change(to.folder);
  if (error == 0)
    error = check_replace(from.node, &to);
  if (error || from.node == to.node)
    return error;
  struct mfs_node *node = from.node;
  node->refs++;
  if (to.node) /* which asks for no memory, so that nothing is lost */
    mfs_replace(to.folder, to.name, to.name_n, node);
  else
    error = mfs_add(to.folder, to.name, to.name_n, node);
  if (error == 0) {
    mfs_remove(from.folder, from.name, from.name_n);
    if (node->type == MFS_FOLDER)
      node->parent = to.folder; /* which removing the old name took away */
  }
  mfs_unref(node);
  return error;
}

mfs_errno mfs_link(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_node *to_base,
                   const char *to_path, size_t to_n)
{
  struct mfs_node *node;
  struct mfs_place to;
  mfs_errno error = mfs_lookup(base, path, n, follow, &node);
  if (error == 0)
    error = mfs_walk(to_base, to_path, to_n, false, &to);
  if (error)
    return error;
  if (to.node)
    return __WASI_ERRNO_EXIST;
  if (node->type == MFS_FOLDER)
    return __WASI_ERRNO_PERM;
  if (to.must_be_folder)
    return __WASI_ERRNO_NOENT;
  error = may_change(to.folder);
  return error ? error : mfs_add(to.folder, to.name, to.name_n, node);
}

mfs_errno mfs_symlink(const char *target, size_t target_n, struct mfs_node *base, const char *path, size_t n)
{
  struct mfs_place place;
  struct mfs_node *node = NULL;
  if (target_n == 0 || target_n >= MFS_PATH_MAX)
    return target_n == 0 ? __WASI_ERRNO_NOENT : __WASI_ERRNO_NAMETOOLONG;
  mfs_errno error = mfs_walk(base, path, n, false, &place);
  if (error == 0 && !place.node && place.must_be_folder)
    error = __WASI_ERRNO_NOENT;
  if (error == 0)
    error = mfs_make(&place, MFS_LINK, 0777, &node);
  if (error)
    return error;
  node->mode = 0777;
  error = mfs_write(node, 0, target, (uint32_t)target_n);
  if (error)
    mfs_remove(place.folder, place.name, place.name_n);
  return error;
}

mfs_errno mfs_put(const char *path, size_t n, const void *data, uint32_t data_n, struct mfs_node **ret)
{
  mfs_errno error = 0;
  for (size_t i = 1; error == 0 && i < n; i++) {
    if (path[i] == '/' && path[i - 1] != '/')
      error = mfs_mkdir(mfs.root, path, i);
    if (error == __WASI_ERRNO_EXIST)
      error = 0;
  }
  struct mfs_place place;
  if (error == 0)
    error = mfs_walk(mfs.root, path, n, false, &place);
  if (error == 0)
    error = mfs_make(&place, MFS_FILE, 0666, ret);
  if (error == 0)
    mfs_borrow(*ret, data, data_n);
  return error;
}

char *mfs_path_of(const struct mfs_node *folder, char *buf, size_t size)
{
  char *at = buf + size;
  if (size < 2)
    return NULL;
  *--at = 0;
  if (folder == mfs.root)
    *--at = '/';
  while (folder != mfs.root) {
    const struct mfs_entry *e = folder->parent ? mfs_next(folder->parent, folder->own_seq) : NULL;
    if (!e || e->node != folder || (size_t)(at - buf) < (size_t)e->name_n + 1)
      return NULL;
    at -= e->name_n;
    memcpy(at, e->name, e->name_n);
    *--at = '/';
    folder = folder->parent;
  }
  return memmove(buf, at, (size_t)(buf + size - at));
}
