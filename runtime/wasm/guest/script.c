/* The user's program, as `python main.py` would run it and as the local provider's guests do (runtime/zygote/script.c):
 * a fresh __main__, tracebacks of the user's frames only, SystemExit in all its forms, exit handlers, open files
 * flushed by clearing __main__. */
#include "python.h"

#include <errno.h>
#include <string.h>

#include "sandbox/frames.h"

#define KEYBOARD_INTERRUPT_CODE 130
#define FLUSH_FAILED_CODE 120 /* as CPython's own exit */

struct word {
  int exit_code;
  enum mf_uncaught uncaught;
};

static void set_argv(const struct mfg_job *job)
{
  PyObject *argv = PyList_New(0), *item = PyUnicode_DecodeFSDefault(job->path);
  const char *at = job->argv;
  for (uint32_t i = 0; argv && item; i++) {
    if (PyList_Append(argv, item) != 0 || i >= job->argv_n)
      break;
    const char *text;
    size_t n;
    mfg_job_arg(&at, &text, &n);
    Py_DECREF(item);
    item = PyUnicode_DecodeFSDefaultAndSize(text, (Py_ssize_t)n);
  }
  Py_XDECREF(item);
  if (argv)
    PySys_SetObject("argv", argv);
  Py_XDECREF(argv);
  PyErr_Clear();
}

static PyObject *new_main(const struct mfg_python *python, const struct mfg_job *job)
{
  PyObject *main = PyModule_New("__main__");
  if (!main)
    return NULL;
  PyObject *d = PyModule_GetDict(main);
  PyObject *file = PyUnicode_DecodeFSDefault(job->path);
  PyObject *loader = file ? PyObject_CallFunction(python->source_loader, "sO", "__main__", file) : NULL;
  PyObject *annotations = PyDict_New();
  if (!file || !loader || !annotations || PyDict_SetItemString(d, "__builtins__", python->builtins) != 0 ||
      PyDict_SetItemString(d, "__file__", file) != 0 || PyDict_SetItemString(d, "__cached__", Py_None) != 0 ||
      PyDict_SetItemString(d, "__loader__", loader) != 0 ||
      PyDict_SetItemString(d, "__annotations__", annotations) != 0 ||
      PyDict_SetItemString(PyImport_GetModuleDict(), "__main__", main) != 0)
    Py_CLEAR(main);
  Py_XDECREF(file);
  Py_XDECREF(loader);
  Py_XDECREF(annotations);
  return main;
}

static PyObject *compile_source(const struct mfg_job *job)
{
  PyObject *bytes = PyBytes_FromStringAndSize(job->source, (Py_ssize_t)job->source_n); /* adds the NUL */
  PyObject *code = bytes ? Py_CompileString(PyBytes_AsString(bytes), job->path, Py_file_input) : NULL;
  Py_XDECREF(bytes);
  return code;
}

/* The program without its last expression, and it (runtime/python/display.py). An error in the text looks as if the
 * interpreter had read the file. Of all else that can go wrong in taking a program apart, compiling it whole shall say
 * whether it is wrong. */
static PyObject *compile_split(const struct mfg_python *python, const struct mfg_job *job, PyObject **ret_last)
{
  PyObject *pair = PyObject_CallFunction(python->split, "y#s", job->source, (Py_ssize_t)job->source_n, job->path);
  PyObject *code = NULL;
  if (pair && PyArg_ParseTuple(pair, "OO", &code, ret_last)) {
    Py_INCREF(code);
    Py_INCREF(*ret_last);
  } else if (PyErr_ExceptionMatches(PyExc_SyntaxError)) {
    PyObject *error = PyErr_GetRaisedException();
    PyException_SetTraceback(error, Py_None);
    PyErr_SetRaisedException(error);
  } else {
    PyErr_Clear();
    code = compile_source(job);
  }
  Py_XDECREF(pair);
  return code;
}

static PyObject *run_program(const struct mfg_python *python, const struct mfg_job *job, PyObject *main)
{
  PyObject *d = PyModule_GetDict(main), *last = NULL;
  PyObject *code = job->display_last ? compile_split(python, job, &last) : compile_source(job);
  PyObject *r = code ? PyEval_EvalCode(code, d, d) : NULL;
  if (r && last && last != Py_None) {
    Py_DECREF(r);
    r = PyEval_EvalCode(last, d, d);
  }
  Py_XDECREF(code);
  Py_XDECREF(last);
  return r;
}

static long errno_of(PyObject *error)
{
  PyObject *v = PyObject_GetAttrString(error, "errno");
  long n = v && PyLong_Check(v) ? PyLong_AsLong(v) : 0;
  Py_XDECREF(v);
  PyErr_Clear();
  return n;
}

/* A source that is nested too deeply is a MemoryError, too, but no lack of memory. */
static bool is_parsers(PyObject *error)
{
  PyObject *text = PyObject_Str(error);
  const char *p = text ? PyUnicode_AsUTF8(text) : NULL;
  bool is = p && strncmp(p, "Parser stack overflowed", 23) == 0;
  Py_XDECREF(text);
  PyErr_Clear();
  return is;
}

/* Which limit an uncaught exception speaks of. */
static enum mf_uncaught classify(PyObject *error)
{
  if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError))
    return is_parsers(error) ? MF_UNCAUGHT_EXCEPTION : MF_UNCAUGHT_MEMORY;
  if (PyErr_GivenExceptionMatches(error, PyExc_OSError)) {
    long n = errno_of(error);
    if (n == ENOSPC || n == EDQUOT || n == EFBIG)
      return MF_UNCAUGHT_DISK;
    if (n == ENOMEM)
      return MF_UNCAUGHT_MEMORY;
  }
  return MF_UNCAUGHT_EXCEPTION;
}

static void write_line(PyObject *value)
{
  PyObject *err = PySys_GetObject("stderr"); /* borrowed */
  if (!err || err == Py_None)
    return;
  if (PyFile_WriteObject(value, err, Py_PRINT_RAW) == 0)
    (void)PyFile_WriteString("\n", err);
  PyErr_Clear();
}

/* sys.exit(None | int | anything): as handle_system_exit in CPython. */
static int exit_code_of(PyObject *error)
{
  PyObject *code = PyObject_GetAttrString(error, "code");
  int r = 1;
  if (code == Py_None)
    r = 0;
  else if (code && PyLong_Check(code))
    r = (int)(PyLong_AsUnsignedLongMask(code) & 0xff);
  else if (code)
    write_line(code);
  Py_XDECREF(code);
  PyErr_Clear();
  return r;
}

/* With an exception set: prints it as the interpreter would, clears it, and says what it means. */
static void settle_exception(struct word *word)
{
  PyObject *error = PyErr_GetRaisedException();
  if (PyErr_GivenExceptionMatches(error, PyExc_SystemExit)) {
    word->exit_code = exit_code_of(error);
    Py_DECREF(error);
    return;
  }
  word->uncaught = classify(error);
  word->exit_code = PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt) ? KEYBOARD_INTERRUPT_CODE : 1;
  PyErr_SetRaisedException(error);
  PyErr_PrintEx(1);
}

static void call_quietly(PyObject *fn)
{
  PyObject *r = PyObject_CallNoArgs(fn);
  if (!r && PyErr_Occurred())
    PyErr_WriteUnraisable(fn);
  Py_XDECREF(r);
}

static bool flush_one(const char *name)
{
  PyObject *file = PySys_GetObject(name); /* borrowed */
  if (!file || file == Py_None)
    return true;
  Py_INCREF(file);
  PyObject *closed = PyObject_GetAttrString(file, "closed");
  bool ok = true;
  if (!closed || PyObject_IsTrue(closed) != 1) {
    PyErr_Clear();
    PyObject *r = PyObject_CallMethod(file, "flush", NULL);
    ok = r != NULL;
    Py_XDECREF(r);
  }
  Py_XDECREF(closed);
  Py_DECREF(file);
  PyErr_Clear();
  return ok;
}

/* As the interpreter does at its end: names that begin with one underscore first, then the rest, in order; whatever
 * they held last is finalised, and an open file flushes itself. */
static void clear_main(const struct mfg_python *python, PyObject *main)
{
  PyObject *d = PyModule_GetDict(main);
  for (int pass = 0; pass < 2; pass++) {
    PyObject *keys = PyDict_Keys(d);
    for (Py_ssize_t i = 0; keys && i < PyList_Size(keys); i++) {
      PyObject *key = PyList_GetItem(keys, i); /* borrowed */
      const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
      bool under = name && name[0] == '_' && name[1] != '_';
      bool keep = name && strcmp(name, "__builtins__") == 0;
      if (!keep && under == (pass == 0))
        (void)PyDict_SetItem(d, key, Py_None);
      PyErr_Clear();
    }
    Py_XDECREF(keys);
    PyErr_Clear();
  }
  /* what sys.displayhook showed last */
  PyObject *builtins = PyModule_GetDict(python->builtins);
  if (PyDict_GetItemString(builtins, "_"))
    (void)PyDict_SetItemString(builtins, "_", Py_None);
  /* the last traceback holds every local of the frames it went through */
  static const char *const last[] = { "last_type", "last_value", "last_traceback", "last_exc" };
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    PySys_SetObject(last[i], NULL);
  PyErr_Clear();
}

void mfg_script_ready(struct mfg_python *python)
{
  struct mfg_job usual = { .path = MFG_USUAL_PATH };
  set_argv(&usual);
  python->main = new_main(python, &usual);
  if (!python->main)
    mfg_die("ready", "no main module");
}

static PyObject *main_for(const struct mfg_python *python, const struct mfg_job *job)
{
  bool is_usual = python->main && strcmp(job->path, MFG_USUAL_PATH) == 0;
  if (!is_usual || job->argv_n > 0)
    set_argv(job);
  return is_usual ? Py_NewRef(python->main) : new_main(python, job);
}

int32_t mfg_script_run(const struct mfg_python *python, const struct mfg_job *job)
{
  struct word word = { 0 };
  mfg_fresh_call(&python->fresh);
  PyObject *main = main_for(python, job);
  if (!main) {
    PyErr_PrintEx(0);
    return MF_GUEST_WORD(1, MF_UNCAUGHT_EXCEPTION);
  }
  PyObject *r = run_program(python, job, main);
  if (!r)
    settle_exception(&word);
  Py_XDECREF(r);

  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(python->finish); i++)
    call_quietly(PyTuple_GET_ITEM(python->finish, i));
  bool flushed = flush_one("stdout");
  flush_one("stderr");
  clear_main(python, main);
  call_quietly(python->gc_collect);
  flushed &= flush_one("stdout");
  flush_one("stderr");
  if (!flushed && word.exit_code == 0)
    word.exit_code = FLUSH_FAILED_CODE;
  return MF_GUEST_WORD(word.exit_code, word.uncaught);
}
