/* What the program left below MFG_DATA. Uses no malloc: it may be called after a run that was stopped anywhere, also
 * within malloc. Texts have some room of their own, then memory that is asked for anew. */
#include "guest.h"
#include "memfs.h"

#include <string.h>

#define WASM_PAGE 65536u
#define TEXTS_BYTES (256u << 10) /* there also when a program has used up its memory */

struct texts {
  uint8_t *at, *end;
};

static uint8_t *text_room(struct texts *t, size_t n)
{
  if ((size_t)(t->end - t->at) < n) {
    size_t pages = n / WASM_PAGE + 1, before = __builtin_wasm_memory_grow(0, pages);
    if (before == SIZE_MAX)
      return NULL;
    t->at = (uint8_t *)(before * WASM_PAGE);
    t->end = t->at + pages * WASM_PAGE - 1; /* so that the end of all memory is a number, too */
  }
  uint8_t *p = t->at;
  t->at += n;
  return p;
}

static bool list_one(struct texts *t, const struct mfs_node *folder, const struct mfs_entry *e,
                     struct mf_guest_file *ret)
{
  char path[MFS_PATH_MAX];
  if (!mfs_path_of(folder, path, sizeof path))
    return false;
  const char *below = path + sizeof MFG_DATA - 1; /* "" or "/a/b" */
  size_t below_n = strlen(below), n = below_n + e->name_n;
  uint8_t *name = text_room(t, n);
  if (!name)
    return false;
  if (below_n > 0) {
    memcpy(name, below + 1, below_n - 1);
    name[below_n - 1] = '/';
  }
  memcpy(name + below_n, e->name, e->name_n);
  ret->name = (uint32_t)(uintptr_t)name;
  ret->name_n = (uint32_t)n;
  ret->data = (uint32_t)(uintptr_t)e->node->data;
  ret->data_n = e->node->n;
  return true;
}

static void see(struct mf_guest_files *l, struct mf_guest_file *files, struct texts *t, const struct mfs_node *folder,
                const struct mfs_entry *e)
{
  struct mf_guest_file f;
  if (e->node->type != MFS_FILE) {
    l->other_n++;
  } else if (!list_one(t, folder, e, &f)) {
    l->left_n++;
  } else if (mfg_job_is_input((const char *)(uintptr_t)f.name, f.name_n, e->node->data, f.data_n)) {
    t->at -= f.name_n;
  } else if (l->n == MF_GUEST_FILES_MAX) {
    t->at -= f.name_n;
    l->left_n++;
  } else {
    files[l->n++] = f;
  }
}

/* Down into each folder and back up, with nothing but the place in the parent to remember. */
const struct mf_guest_files *mfg_files_list(void)
{
  static struct mf_guest_file files[MF_GUEST_FILES_MAX];
  static struct mf_guest_files list;
  static uint8_t room[TEXTS_BYTES];
  struct texts texts = { room, room + sizeof room };
  struct mfs_node *top, *folder;
  list = (struct mf_guest_files){ .files = (uint32_t)(uintptr_t)files };
  if (!mfs.root || mfs_lookup(mfs.root, MFG_DATA, sizeof MFG_DATA - 1, false, &top) != 0 || top->type != MFS_FOLDER)
    return &list;
  uint64_t seq = 0;
  for (folder = top; folder;) {
    const struct mfs_entry *e = mfs_next(folder, seq);
    if (e && e->node->type == MFS_FOLDER) {
      folder = e->node;
      seq = 0;
    } else if (e) {
      see(&list, files, &texts, folder, e);
      seq = (uint64_t)e->seq + 1;
    } else {
      seq = (uint64_t)folder->own_seq + 1;
      folder = folder == top ? NULL : folder->parent;
    }
  }
  return &list;
}
