/* main() of a fuzz target built without libFuzzer: feeds it every file of the folders named, and the empty input. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "fuzz.h"
#include "base/banned.h"

static unsigned feed_folder(const char *folder)
{
  DIR *d = opendir(folder);
  if (!d) {
    fprintf(stderr, "cannot open folder %s\n", folder);
    return 0;
  }
  unsigned file_n = 0;
  struct dirent *entry;
  while ((entry = readdir(d))) {
    if (entry->d_name[0] == '.')
      continue;
    char *text = NULL;
    size_t n = 0;
    struct mf_err err = { 0 };
    if (mf_read_file(dirfd(d), entry->d_name, 16 << 20, &text, &n, &err)) {
      fprintf(stderr, "%s\n", err.msg);
      abort();
    }
    /* Named before it runs, so that a crash says which file it was. */
    fprintf(stderr, "%s/%s\n", folder, entry->d_name);
    /* A copy of the exact size lets the sanitizer see a read of the byte behind it. */
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact)
      abort();
    memcpy(exact, text, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(text);
    file_n++;
  }
  closedir(d);
  return file_n;
}

int main(int argc, char **argv)
{
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  for (int i = 1; i < argc; i++) {
    /* An empty or lost corpus must not pass as a success. */
    if (feed_folder(argv[i]) == 0)
      return 1;
  }
  return argc > 1 ? 0 : 1;
}
