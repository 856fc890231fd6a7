/* The guest's files: a tree of nodes in the guest's own memory, counted by its memory limit like everything else.
 *
 * One thread. Functions return a WASI errno (0: fine); whatever has no room in the memory is ENOSPC. Paths and names
 * come as pointer and length, with no NUL inside. Nodes are counted: names that lead to them (`links`) and holders
 * (`refs`: open descriptors, the work directory); one that has neither is freed with its data.
 *
 * Content may be borrowed: an input's bytes stay where the job was written, the time zone data where the module has
 * it. The first change copies. */
#ifndef MFG_MEMFS_H
#define MFG_MEMFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wasi/api.h>

#define MFS_NAME_MAX 255u
#define MFS_PATH_MAX 4096u
#define MFS_LINKS_FOLLOWED_MAX 40u
#define MFS_FILE_MAX (2047ull << 20) /* bytes; more is EFBIG */

typedef __wasi_errno_t mfs_errno;

enum mfs_type { MFS_FOLDER = 1, MFS_FILE, MFS_LINK, MFS_NULL, MFS_ZERO, MFS_RANDOM, MFS_STDIN, MFS_STDOUT, MFS_STDERR };

struct mfs_entry {
  char *name; /* owned */
  struct mfs_node *node;
  uint32_t name_n, hash;
  uint32_t seq; /* grows with each new entry: where a listing goes on */
};

struct mfs_node {
  uint8_t type;  /* enum mfs_type */
  bool owned;    /* `data` was malloc'ed */
  bool is_fixed; /* a folder of ours: nothing in it can be made, renamed or removed; a file: not written */
  uint16_t mode; /* permission bits */
  uint32_t ino, links, refs;
  uint64_t atime, mtime, ctime; /* ns */
  union {
    struct { /* MFS_FILE; MFS_LINK has its target in data, n */
      uint8_t *data;
      uint32_t n, cap;
    };
    struct {                     /* MFS_FOLDER */
      struct mfs_node *parent;   /* itself for the root; NULL once removed */
      struct mfs_entry *entries; /* by seq; a removed one has no node */
      uint32_t *index; /* open addressing over entries, of index_n (a power of two); 0: free, else place + 1 */
      uint32_t entry_n, entry_cap, live_n, index_n, next_seq;
      uint32_t own_seq; /* of the entry in `parent` that leads here */
    };
  };
};

struct mfs {
  struct mfs_node *root, *cwd; /* a reference each */
  uint32_t next_ino;
  uint16_t umask;
  bool has_mode; /* what is made now gets `mode` in place of the usual permissions (libc-modes.c) */
  uint16_t mode;
};
/* The only file system: the C library's calls carry no pointer of ours. */
extern struct mfs mfs;

/* ---- nodes (memfs.c) ---- */
mfs_errno mfs_init(void);
void mfs_fix(void); /* from here on, folders that are not a program's to change cannot be changed */
struct mfs_node *mfs_new(enum mfs_type type, uint16_t mode); /* links 0, refs 1; NULL: no memory */
void mfs_unref(struct mfs_node *node);
bool mfs_may(const struct mfs_node *node,
             unsigned bits); /* permission bits as of the owner: 4 read, 2 write, 1 search */

/* ---- folders (memfs-folder.c) ---- */
struct mfs_node *mfs_find(const struct mfs_node *folder, const char *name, size_t n); /* borrowed; NULL: not there */
mfs_errno mfs_add(struct mfs_node *folder, const char *name, size_t n, struct mfs_node *node); /* counts a link */
void mfs_remove(struct mfs_node *folder, const char *name, size_t n);                          /* if there */
void mfs_replace(struct mfs_node *folder, const char *name, size_t n, struct mfs_node *node);  /* must be there */
/* The first entry whose seq is at least `seq`; NULL at the end. */
const struct mfs_entry *mfs_next(const struct mfs_node *folder, uint64_t seq);
void mfs_folder_done(struct mfs_node *folder);

/* ---- content (memfs-file.c) ---- */
bool mfs_has_room(size_t n); /* for n bytes, and something for the rest of the program */
void mfs_borrow(struct mfs_node *file, const void *data, uint32_t n); /* as its whole content */
uint32_t mfs_read(struct mfs_node *file, uint64_t at, void *to, uint32_t n);
mfs_errno mfs_write(struct mfs_node *file, uint64_t at, const void *from, uint32_t n);
mfs_errno mfs_resize(struct mfs_node *file, uint64_t n);
void mfs_touch(struct mfs_node *node); /* content changed: mtime, ctime */

/* ---- names (memfs-path.c) ---- */
struct mfs_place {
  struct mfs_node *folder; /* borrowed; holds the last name */
  const char *name;        /* into `buffer`; n 0: the path named `folder` itself ("/", "..", "a/.") */
  size_t name_n;
  struct mfs_node *node; /* borrowed; NULL: no such name yet */
  bool must_be_folder;   /* it ended in "/" */
  char buffer[MFS_PATH_MAX * 2];
};
/* Walks `path` from `base` (the root for an absolute one). The last name's symbolic link is followed only on `follow`.
 */
mfs_errno mfs_walk(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_place *ret);
mfs_errno mfs_lookup(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_node **ret);
mfs_errno mfs_mkdir(struct mfs_node *base, const char *path, size_t n);
mfs_errno mfs_rmdir(struct mfs_node *base, const char *path, size_t n);
mfs_errno mfs_unlink(struct mfs_node *base, const char *path, size_t n);
mfs_errno mfs_rename(struct mfs_node *base, const char *path, size_t n, struct mfs_node *to_base, const char *to,
                     size_t to_n);
mfs_errno mfs_link(struct mfs_node *base, const char *path, size_t n, bool follow, struct mfs_node *to_base,
                   const char *to, size_t to_n);
mfs_errno mfs_symlink(const char *target, size_t target_n, struct mfs_node *base, const char *path, size_t n);
/* Makes a name in an existing folder; checks what may be made there. */
mfs_errno mfs_make(const struct mfs_place *place, enum mfs_type type, uint16_t mode, struct mfs_node **ret);
/* For inputs and what the module brings: a file with the folders on the way; its content is borrowed. */
mfs_errno mfs_put(const char *path, size_t n, const void *data, uint32_t data_n, struct mfs_node **ret);
/* The path of a folder into buf with a NUL: NULL when it is gone or the path does not fit. */
char *mfs_path_of(const struct mfs_node *folder, char *buf, size_t size);

#endif
