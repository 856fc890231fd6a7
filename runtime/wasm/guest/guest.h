/* The parts of the guest and how they hang together. All of it is one thread and one program that is run once.
 *
 *   main.c     the exports of ../abi.h
 *   start.c    Python's start: configuration, the boot module; frozen.c has the modules
 *   hooks.c    what boot.py needs of C; tidy.c: the heap for the snapshot
 *   script.c   the user's program; fresh.c: what must not be the same in two calls
 *   job.c      the bytes of a job
 *   brought.c  files that the module brings; files.c: those that the program left
 *   memfs*.c   files in memory
 *   fd.c, wasi-*.c, libc*.c  what the C library calls
 *   host.c     the five host functions, and what stands in for them while the snapshot is made */
#ifndef MFG_GUEST_H
#define MFG_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../abi.h"

/* Beginning of the file names of programs, and where they work. */
#define MFG_TASK "/mnt/task"
#define MFG_DATA "/mnt/data"

/* ---- host.c: until mfg_host_begin the clock stands still and random bytes are always the same, so that a snapshot is
 * the same whenever and wherever it is made ---- */
void mfg_host_begin(void);
uint64_t mfg_clock_ns(int id);
int mfg_random(void *to, size_t n); /* 0 or -1 */
int32_t mfg_write(int fd, const void *data, uint32_t n);
void mfg_sleep(uint64_t ns);
__attribute__((noreturn)) void mfg_exit(int code);
/* At build time only: says why on fd 2 and ends in a trap. */
__attribute__((noreturn)) void mfg_die(const char *where, const char *why);

/* ---- job.c ---- */
struct mfg_job {
  const char *source;
  size_t source_n;
  char path[300]; /* MFG_TASK/name, with a NUL */
  const char *argv, *end;
  uint32_t argv_n;
  bool display_last;
};
/* Understands the bytes (kept for as long as the guest lives: files lie in them) and makes the files. NULL, or what is
 * wrong with them. */
const char *mfg_job_read(const void *bytes, size_t n, struct mfg_job *ret);
/* Whether the job brought this very file: by this name below MFG_DATA, with these bytes. */
bool mfg_job_is_input(const char *name, size_t name_n, const void *data, size_t data_n);
/* The next argument; *at begins as job->argv, and there are job->argv_n. */
void mfg_job_arg(const char **at, const char **ret, size_t *ret_n);

/* ---- start.c ---- */
struct mfg_python;
const struct mfg_python *mfg_python_start(void);

/* ---- script.c ---- */
/* The program from its first line to the end of its exit handlers. Returns MF_GUEST_WORD. */
int32_t mfg_script_run(const struct mfg_python *python, const struct mfg_job *job);

/* ---- brought.c ---- */
int mfg_files_of_module(void); /* WASI errno */

/* ---- files.c ---- */
const struct mf_guest_files *mfg_files_list(void);

#endif
