/* The zygote module `_mayfly`: what happens between a warm Python and one guest. Limited API (3.11), no other library.
 *
 *   zygote.c   the module: reads its configuration, serves forks, reaps
 *   nsinit.c   the tiny PID 1 of each guest's namespace
 *   child.c    the guest's own sandbox, layer by layer, then waits for a job
 *   message.c  messages with descriptors
 *   job.c      the job: files into the work directory, limits
 *   script.c   the user's program as `python main.py` would run it
 *   hint.c     words about refused operations (audit hook, SIGSYS)
 *   hot.c      which pages a small program copies, for children that wait
 *   warm.c     makes forks cheap: malloc tidied, objects immortal
 *   ckpt.c     the checkpoint: memory moved into a file mapping, so that fork copies no page tables
 *
 * A zygote is single-threaded and trusts nothing that it forked. */
#ifndef MF_ZYGOTE_INTERNAL_H
#define MF_ZYGOTE_INTERNAL_H

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Always the functions: the inline forms in the headers of an older Python know nothing of immortal objects, and would
 * make them mortal again, each at the price of a copied page in every guest. */
#undef Py_INCREF
#undef Py_DECREF
#undef Py_XINCREF
#undef Py_XDECREF
#define Py_INCREF(o) Py_IncRef((PyObject *)(o))
#define Py_DECREF(o) Py_DecRef((PyObject *)(o))
#define Py_XINCREF(o) Py_IncRef((PyObject *)(o))
#define Py_XDECREF(o) Py_DecRef((PyObject *)(o))

#include <linux/filter.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/frames.h"

#define ZYG_SOCKET_FD 3
#define ZYG_CONFIG_FD 4
#define ZYG_PROC_FD 5      /* the host's /proc: only for writing a child's id maps; never in a guest */
#define ZYG_CONTROL_FD 500 /* in a guest: its control socket, out of the way of programs that count from 3 */
#define ZYG_PYTHON_VERSION_MIN 0x030b0000

#define ZYG_HOT_MAX 1024u
struct zyg_hot_range {
  uint64_t start, bytes;
  int advice, pad;
};

/* The one object of the module: made by configure(), then read-only but for `python`. */
struct zygote {
  struct mf_zygote_config config;
  struct sock_fprog base, last; /* the two parts of the filter; they point into this process's memory */
  int pidns_fd;                 /* our own pid namespace, to come back to before each child */
  sigset_t mask;                /* the signal mask to restore in a guest */
  int landlock_abi;             /* 0: none */
  int last_cap;
  PyObject *prepare; /* called in each child before it is ready: reseeds what fork does not */
  PyObject *finish;  /* a tuple, called at the end of a program: threads joined, exit handlers run */
  PyObject *gc_collect;
  PyObject *split;       /* takes the last expression off a program (runtime/python/display.py) */
  bool is_own_fork;      /* the fork hooks of libraries have nothing to do (runtime/python/hooks.py) */
  char mpl_names[8][64]; /* files of /opt/mpl, linked into each guest's MPLCONFIGDIR */
  unsigned mpl_n;
  PyObject *builtins, *source_loader; /* for __main__, looked up once */
  PyObject *name_closed, *name_flush;
  unsigned hot_n;
  struct zyg_hot_range *hot; /* a mapping of its own, ZYG_HOT_MAX of them */
};

/* Ends the process after telling why: in a zygote on its socket, in a child on its control socket. */
__attribute__((noreturn)) void zyg_fatal(int sock, uint32_t type, const char *step, int error);

/* message.c. Sends one message with fd_n descriptors, which stay the caller's: 0 or -errno. */
#define ZYG_FDS_MAX 5u
int zyg_send_fds(int sock, const void *p, size_t n, const int *fds, unsigned fd_n);
/* Receives one with at most fd_max descriptors, close-on-exec; as recvmsg(2). */
ssize_t zyg_receive_fds(int sock, void *p, size_t n, int *fds, unsigned fd_max, unsigned *ret_fd_n);
void zyg_close_all(int *fds, unsigned n);     /* -1 is none */
uint64_t zyg_cpu_us(const struct rusage *ru); /* user + system */

/* nsinit.c. Starts PID 1 of the pid namespace that the caller has just unshared. `slot` picks its stack. Returns the
 * pid, or -1 with errno. */
#define ZYG_SLOTS 1024u
pid_t zyg_nsinit_start(void *stacks, unsigned slot);

/* child.c. In the guest, right after fork: applies every layer, reports READY, waits for the job and runs it. */
struct zyg_child_fds {
  int control, out, err;
  int cgroup[2]; /* cgroup.procs to join, or -1 */
  bool prefault; /* it will wait in the pool: copy the hot pages now */
};
__attribute__((noreturn)) void zyg_child_main(struct zygote *z, const struct zyg_child_fds *fds);

/* job.c. Receives the job and writes its files. Afterwards the mapping `job` is all that is needed. */
struct zyg_job {
  struct mf_child_job limits;
  const char *source; /* not NUL-terminated */
  size_t source_n;
  const char *name;
  size_t name_n;
  const char *argv; /* argv_n records */
  uint32_t argv_n;
  bool display_last; /* the value of a last expression is shown */
  const char *end;
  char path[300]; /* of the script: /mnt/task/<name>, NUL-terminated */
};
/* A program of ours, for rehearsals: no arguments, no files. Borrows `source`. */
void zyg_job_of(struct zyg_job *job, const char *source);
/* 0, or a step's name in *ret_step and -errno. */
int zyg_job_receive(struct zyg_job *job, const char **ret_step);
int zyg_job_limits(const struct zyg_job *job);
/* The next argv record from `*at`. */
void zyg_job_arg(const char **at, const char **ret, size_t *ret_n);

/* script.c */
/* In the zygote, last of all: a thread state without frames, which every guest starts with, and the audit hook.
 * Non-zero with a Python error. */
int zyg_script_detach(void);
PyObject *zyg_script_rehearse(struct zygote *z, const char *source, int rounds);
/* What the call raises is shown as "Exception ignored in", as the interpreter does for hooks. */
void zyg_call_quietly(PyObject *fn);
/* Runs the program and returns what the child shall say of it. */
void zyg_script_run(struct zygote *z, const struct zyg_job *job, struct mf_child_word *word);

/* hint.c */
int zyg_hint_install(void);       /* the SIGSYS handler, before seccomp */
int zyg_hint_install_audit(void); /* the audit hook; non-zero with a Python error */

/* hot.c */
void zyg_hot_learn(struct zygote *z, const char *source, bool checkpointed);
void zyg_hot_fetch(const struct zygote *z); /* in a child that will wait */

/* child.c. The half of fork(2) that Python wants done in a child of the zygote's own. */
void zyg_after_fork(struct zygote *z);

/* warm.c */
void zyg_warm_malloc_begin(void);
void zyg_warm_malloc_tidy(void);
void zyg_warm_pools_tidy(void);
PyObject *zyg_warm_immortal(PyObject *self, PyObject *list);
PyObject *zyg_warm_fake_fork(PyObject *self, PyObject *unused);

/* ckpt.c. 0 or -errno with the reason in note. file_fd: an empty unlinked file on a tmpfs (consumed). */
int zyg_checkpoint(int proc_fd, int file_fd, char *note, size_t note_n);

#endif
