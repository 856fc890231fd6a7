/* A throwaway folder for tests, on tmpfs where there is one: only there a file can claim to have a pebibyte. */
#ifndef MF_TEST_TREE_H
#define MF_TEST_TREE_H

#include <stddef.h>

struct tree {
  char path[64];
  int fd; /* the open folder */
};

void tree_make(struct tree *t);
void tree_remove(struct tree *t); /* with everything in it */
void tree_write(const struct tree *t, const char *name, const void *p, size_t n);
void tree_text(const struct tree *t, const char *name, const char *text);
void tree_folder(const struct tree *t, const char *name);

#endif
