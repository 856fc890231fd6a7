/* What the parts that speak to Python share. */
#ifndef MFG_PYTHON_H
#define MFG_PYTHON_H

#include <Python.h>

#include "guest.h"

extern const struct _frozen mfg_frozen_modules[]; /* importable */
extern const struct _frozen mfg_frozen_own[];     /* ours: run once, never importable */

struct mfg_python {
  PyObject *builtins, *source_loader;
  PyObject *prepare; /* called before each program */
  PyObject *finish;  /* tuple: called one after the other when it has ended */
  PyObject *split;   /* display.split */
  PyObject *gc_collect;
};

/* Functions for boot.py (hooks.c): a new dict. */
PyObject *mfg_hooks_new(void);

#endif
