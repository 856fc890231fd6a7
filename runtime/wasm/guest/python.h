/* What the parts that speak to Python share. */
#ifndef MFG_PYTHON_H
#define MFG_PYTHON_H

#include <Python.h>

#include "guest.h"

extern const struct _frozen mfg_frozen_modules[]; /* importable */
extern const struct _frozen mfg_frozen_own[];     /* ours: run once, never importable */

/* ---- fresh.c ---- */
struct mfg_fresh {
  PyObject *random, *logging, *name_start_time;
};
void mfg_fresh_begin(struct mfg_fresh *fresh, PyObject *random, PyObject *logging); /* borrows both for good */
void mfg_fresh_call(const struct mfg_fresh *fresh);

/* ---- tidy.c: last of all before the snapshot ---- */
void mfg_tidy(void);

struct mfg_python {
  struct mfg_fresh fresh;
  PyObject *builtins, *source_loader;
  PyObject *finish; /* tuple: called one after the other when it has ended */
  PyObject *split;  /* display.split */
  PyObject *gc_collect;
  PyObject *main; /* ready for a program that is called as most are, whose argument list is set, too; NULL: none */
};

#define MFG_USUAL_PATH MFG_TASK "/main.py"
/* ---- script.c ---- */
void mfg_script_ready(struct mfg_python *python); /* makes `main` */

/* Functions for boot.py (hooks.c): a new dict. */
PyObject *mfg_hooks_new(void);

#endif
