/* Python's start, once, while the snapshot is made. */
#include "python.h"

#include <marshal.h>
#include <string.h>

#define HASH_SEED 24301 /* the same in every call: the strings that are hashed here are part of the snapshot */

static void check(PyStatus status, const char *where)
{
  if (PyStatus_Exception(status))
    mfg_die(where, status.err_msg);
}

static void set(PyConfig *c, wchar_t **field, const wchar_t *value)
{
  check(PyConfig_SetString(c, field, value), "configure");
}

/* No place on a disk, no environment, no site: all modules are frozen in. */
static void initialize(void)
{
  PyPreConfig pre;
  PyPreConfig_InitIsolatedConfig(&pre);
  pre.utf8_mode = 1;
  pre.configure_locale = 1; /* LANG is one of ours (wasi-sys.c) */
  check(Py_PreInitialize(&pre), "pre-initialize");
  PyImport_FrozenModules = mfg_frozen_modules;
  PyConfig c;
  PyConfig_InitIsolatedConfig(&c);
  c.isolated = 0; /* only a word by now: the environment and the user's site stay off */
  c.use_environment = 0;
  c.user_site_directory = 0;
  c.use_hash_seed = 1;
  c.hash_seed = HASH_SEED;
  c.site_import = 0;
  c.module_search_paths_set = 1;
  c.install_signal_handlers = 1; /* KeyboardInterrupt */
  c.write_bytecode = 0;
  c.pathconfig_warnings = 0;
  c.safe_path = 0;
  set(&c, &c.program_name, L"python");
  set(&c, &c.executable, L"");
  set(&c, &c.base_executable, L"");
  set(&c, &c.home, L"/usr");
  set(&c, &c.prefix, L"/usr");
  set(&c, &c.exec_prefix, L"/usr");
  set(&c, &c.base_prefix, L"/usr");
  set(&c, &c.base_exec_prefix, L"/usr");
  set(&c, &c.platlibdir, L"lib");
  set(&c, &c.stdlib_dir, L"/usr/lib/python3.13");
  set(&c, &c.stdio_encoding, L"utf-8");
  set(&c, &c.stdio_errors, L"surrogateescape");
  check(Py_InitializeFromConfig(&c), "initialize");
  PyConfig_Clear(&c);
}

static PyObject *get(PyObject *from, const char *name)
{
  PyObject *value = from ? PyObject_GetAttrString(from, name) : NULL;
  if (!value) {
    PyErr_Print();
    mfg_die("boot", name);
  }
  return value;
}

/* As programs will be run; their output goes nowhere (host.c). */
static void rehearse(const struct mfg_python *python, PyObject *boot)
{
  PyObject *programs = get(boot, "REHEARSALS");
  long rounds = PyLong_AsLong(get(boot, "REHEARSAL_ROUNDS"));
  for (long i = 0; i < rounds; i++) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(programs); k++) {
      struct mfg_job job = { .path = MFG_USUAL_PATH };
      char *source;
      Py_ssize_t n;
      if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(programs, k), &source, &n) != 0)
        mfg_die("rehearse", "no bytes");
      job.source = source;
      job.source_n = (size_t)n;
      if (mfg_script_run(python, &job) != 0)
        mfg_die("rehearse", "a program failed");
    }
  }
}

const struct mfg_python *mfg_python_start(void)
{
  static struct mfg_python python;
  initialize();
  PyObject *importlib = PyImport_ImportModule("importlib.machinery");
  python.source_loader = get(importlib, "SourceFileLoader");
  python.builtins = PyImport_ImportModule("builtins");
  python.gc_collect = get(PyImport_ImportModule("gc"), "collect");
  PyObject *boot = PyModule_New("boot"), *hooks = mfg_hooks_new();
  const struct _frozen *own = mfg_frozen_own; /* boot.py is the first of ours */
  PyObject *code = PyMarshal_ReadObjectFromString((const char *)own->code, own->size);
  PyObject *dict = boot ? PyModule_GetDict(boot) : NULL;
  if (!hooks || !code || PyDict_SetItemString(dict, "guest", hooks) != 0 ||
      PyDict_SetItemString(dict, "__builtins__", python.builtins) != 0 || !PyEval_EvalCode(code, dict, dict)) {
    PyErr_Print();
    mfg_die("boot", "boot.py failed");
  }
  mfg_fresh_begin(&python.fresh, get(boot, "fresh_random"), get(boot, "fresh_logging"));
  python.finish = get(boot, "finish");
  python.split = get(boot, "split");
  if (!PyTuple_Check(python.finish))
    mfg_die("boot", "finish");
  rehearse(&python, boot);
  mfg_script_ready(&python); /* before settle, which leaves all that there is alone from then on */
  PyObject *settle = PyObject_CallMethod(boot, "settle", NULL);
  if (!settle) {
    PyErr_Print();
    mfg_die("boot", "settle");
  }
  mfg_tidy();
  return &python;
}
