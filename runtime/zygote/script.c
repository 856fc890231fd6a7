/* The user's program, as `python main.py` would run it: a fresh __main__, sys.argv, tracebacks that show the user's
 * frames only, SystemExit in all its forms, non-daemon threads joined, atexit run, open files flushed by clearing
 * __main__. */
#include "zygote-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define KEYBOARD_INTERRUPT_CODE 130
#define FLUSH_FAILED_CODE 120 /* as CPython's own exit */

/* The zygote's frames lie below ours on the old thread state: with a new one the user's module is the first frame, and
 * sys._getframe() finds nothing of the zygote. A fork drops all states but the present one. */
static void new_thread_state(void)
{
  PyInterpreterState *interp = PyInterpreterState_Get();
  if (Py_Version >= 0x030d0000) {
    PyThreadState_Swap(PyThreadState_New(interp));
    return;
  }
  /* The old state would still show in sys._current_frames(), with the zygote's globals. And up to 3.11
   * PyGILState_Ensure goes by the first thread state of a thread, and a swap does not change that: a C callback would
   * wait for ever. So the old one has to go before the new one is made. A third keeps the interpreter's list filled
   * meanwhile: a new first one would be built in the place of the very first, which 3.11 refuses to use twice. */
  PyThreadState *old = PyThreadState_Get(), *keeper = PyThreadState_New(interp);
  PyThreadState_Clear(old);
  PyEval_ReleaseThread(old);
  PyThreadState_Delete(old);
  PyEval_AcquireThread(PyThreadState_New(interp));
  PyThreadState_Clear(keeper);
  PyThreadState_Delete(keeper);
  /* threading waits at the end for a lock that went with the old state. */
  PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading"); /* borrowed */
  PyObject *thread = threading ? PyObject_GetAttrString(threading, "_main_thread") : NULL;
  PyObject *done = thread ? PyObject_CallMethod(thread, "_set_tstate_lock", NULL) : NULL;
  Py_XDECREF(done);
  Py_XDECREF(thread);
  PyErr_Clear();
}

static void set_argv(const struct zyg_job *job)
{
  PyObject *argv = PyList_New(0), *item = PyUnicode_DecodeFSDefault(job->path);
  const char *at = job->argv;
  for (uint32_t i = 0; argv && item; i++) {
    if (PyList_Append(argv, item) != 0 || i >= job->argv_n)
      break;
    const char *text;
    size_t n;
    zyg_job_arg(&at, &text, &n);
    Py_DECREF(item);
    item = PyUnicode_DecodeFSDefaultAndSize(text, (Py_ssize_t)n);
  }
  Py_XDECREF(item);
  if (argv)
    PySys_SetObject("argv", argv);
  Py_XDECREF(argv);
  PyObject *path = PySys_GetObject("path"); /* borrowed */
  PyObject *work = PyUnicode_FromString("/mnt/data");
  if (path && work && PyList_Check(path))
    PyList_Insert(path, 0, work);
  Py_XDECREF(work);
  PyErr_Clear();
}

static PyObject *new_main(const struct zygote *z, const struct zyg_job *job)
{
  PyObject *main = PyModule_New("__main__");
  if (!main)
    return NULL;
  PyObject *d = PyModule_GetDict(main);
  PyObject *file = PyUnicode_DecodeFSDefault(job->path);
  PyObject *loader = file ? PyObject_CallFunction(z->source_loader, "sO", "__main__", file) : NULL;
  PyObject *annotations = PyDict_New();
  if (!file || !loader || !annotations || PyDict_SetItemString(d, "__builtins__", z->builtins) != 0 ||
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

/* The program's text, compiled: by its file name in every traceback. */
static PyObject *compile_source(const struct zyg_job *job)
{
  PyObject *bytes = PyBytes_FromStringAndSize(job->source, (Py_ssize_t)job->source_n); /* adds the NUL */
  PyObject *code = bytes ? Py_CompileString(PyBytes_AsString(bytes), job->path, Py_file_input) : NULL;
  Py_XDECREF(bytes);
  return code;
}

/* Where the value of a last expression is to be shown: the program without it, and it. An error in the text looks as if
 * the interpreter had read the file. Of all else that can go wrong in taking a program apart (nesting that is too deep
 * for a tree), compiling it whole shall say whether it is wrong. */
static PyObject *compile_split(const struct zygote *z, const struct zyg_job *job, PyObject **ret_last)
{
  PyObject *pair = PyObject_CallFunction(z->split, "y#s", job->source, (Py_ssize_t)job->source_n, job->path);
  PyObject *code = NULL;
  if (pair && PyArg_ParseTuple(pair, "OO", &code, ret_last)) {
    Py_INCREF(code);
    Py_INCREF(*ret_last);
  } else if (PyErr_ExceptionMatches(PyExc_SyntaxError)) {
    PyObject *type, *error, *tb;
    PyErr_Fetch(&type, &error, &tb);
    PyErr_NormalizeException(&type, &error, &tb);
    PyException_SetTraceback(error, Py_None);
    Py_XDECREF(tb);
    PyErr_Restore(type, error, NULL);
  } else {
    PyErr_Clear();
    code = compile_source(job);
  }
  Py_XDECREF(pair);
  return code;
}

/* Runs the program in `main`. A new reference, or NULL with an exception set. */
static PyObject *run_program(const struct zygote *z, const struct zyg_job *job, PyObject *main)
{
  PyObject *d = PyModule_GetDict(main), *last = NULL;
  PyObject *code = job->display_last ? compile_split(z, job, &last) : compile_source(job);
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
  if (PyErr_Occurred())
    PyErr_Clear();
  return n;
}

/* Which limit an uncaught exception speaks of. */
static uint32_t classify(PyObject *type, PyObject *error)
{
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError))
    return MF_UNCAUGHT_MEMORY;
  if (error && PyErr_GivenExceptionMatches(type, PyExc_OSError)) {
    long n = errno_of(error);
    if (n == ENOSPC || n == EDQUOT || n == EFBIG)
      return MF_UNCAUGHT_DISK;
    if (n == EAGAIN && PyErr_GivenExceptionMatches(type, PyExc_BlockingIOError))
      return MF_UNCAUGHT_PIDS; /* fork(2): a limit on processes */
    if (n == ENOMEM)
      return MF_UNCAUGHT_MEMORY;
  }
  if (error && PyErr_GivenExceptionMatches(type, PyExc_RuntimeError)) {
    PyObject *text = PyObject_Str(error);
    const char *p = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool thread = p && strcmp(p, "can't start new thread") == 0;
    Py_XDECREF(text);
    if (PyErr_Occurred())
      PyErr_Clear();
    if (thread)
      return MF_UNCAUGHT_PIDS;
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
  if (!code) {
    PyErr_Clear();
    return 1;
  }
  int r = 1;
  if (code == Py_None) {
    r = 0;
  } else if (PyLong_Check(code)) {
    r = (int)(PyLong_AsLong(code) & 0xff);
    PyErr_Clear();
  } else {
    write_line(code);
  }
  Py_DECREF(code);
  return r;
}

/* With an exception set: prints it as the interpreter would, clears it, and says what it means. */
static void settle_exception(struct mf_child_word *word)
{
  PyObject *type, *error, *tb;
  PyErr_Fetch(&type, &error, &tb);
  PyErr_NormalizeException(&type, &error, &tb);
  if (error && PyErr_GivenExceptionMatches(type, PyExc_SystemExit)) {
    word->exit_code = exit_code_of(error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(tb);
    return;
  }
  word->uncaught = classify(type, error);
  word->exit_code = PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) ? KEYBOARD_INTERRUPT_CODE : 1;
  PyErr_Restore(type, error, tb);
  PyErr_PrintEx(1);
}

void zyg_call_quietly(PyObject *fn)
{
  PyObject *r = fn ? PyObject_CallNoArgs(fn) : NULL;
  if (!r && PyErr_Occurred())
    PyErr_WriteUnraisable(fn);
  Py_XDECREF(r);
}

/* With names that were made before the fork: a new string is unknown to the interpreter's cache of attributes, which
 * then is written to. */
static bool flush_one(const struct zygote *z, const char *name)
{
  PyObject *file = PySys_GetObject(name); /* borrowed */
  if (!file || file == Py_None)
    return true;
  Py_INCREF(file);
  PyObject *closed = PyObject_GetAttr(file, z->name_closed);
  bool ok = true;
  if (!closed || PyObject_IsTrue(closed) != 1) {
    PyErr_Clear();
    PyObject *r = PyObject_CallMethodObjArgs(file, z->name_flush, NULL);
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
static void clear_main(const struct zygote *z, PyObject *main)
{
  PyObject *d = PyModule_GetDict(main);
  for (int pass = 0; pass < 2; pass++) {
    PyObject *keys = PyDict_Keys(d);
    for (Py_ssize_t i = 0; keys && i < PyList_Size(keys); i++) {
      PyObject *key = PyList_GetItem(keys, i); /* borrowed */
      const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
      if (!name)
        PyErr_Clear();
      bool under = name && name[0] == '_' && name[1] != '_';
      bool keep = name && strcmp(name, "__builtins__") == 0;
      if (!keep && under == (pass == 0) && PyDict_SetItem(d, key, Py_None) != 0)
        PyErr_Clear();
    }
    Py_XDECREF(keys);
  }
  /* what sys.displayhook showed last */
  PyObject *builtins = PyModule_GetDict(z->builtins);
  if (PyDict_GetItemString(builtins, "_") && PyDict_SetItemString(builtins, "_", Py_None) != 0)
    PyErr_Clear();
  /* the last traceback holds every local of the frames it went through */
  static const char *const last[] = { "last_type", "last_value", "last_traceback", "last_exc" };
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    PySys_SetObject(last[i], NULL);
  PyErr_Clear();
}

int zyg_script_detach(void)
{
  new_thread_state();
  return zyg_hint_install_audit();
}

void zyg_script_run(struct zygote *z, const struct zyg_job *job, struct mf_child_word *word)
{
  set_argv(job);
  PyObject *main = new_main(z, job);
  if (!main) {
    PyErr_PrintEx(0);
    word->exit_code = 1;
    word->uncaught = MF_UNCAUGHT_EXCEPTION;
    return;
  }
  uint32_t begin = MF_CHILD_BEGIN;
  (void)send(ZYG_CONTROL_FD, &begin, sizeof begin, MSG_NOSIGNAL);

  PyObject *r = run_program(z, job, main);
  if (!r)
    settle_exception(word);
  Py_XDECREF(r);

  for (Py_ssize_t i = 0; i < PyTuple_Size(z->finish); i++)
    zyg_call_quietly(PyTuple_GetItem(z->finish, i));
  bool flushed = flush_one(z, "stdout");
  flush_one(z, "stderr");
  clear_main(z, main);
  zyg_call_quietly(z->gc_collect);
  flushed &= flush_one(z, "stdout");
  flush_one(z, "stderr");
  if (!flushed && word->exit_code == 0)
    word->exit_code = FLUSH_FAILED_CODE;
}

/* As a guest will do it, so that what all this writes but once (caches of the interpreter, specialised code, symbols
 * bound lazily) is written before the fork. Its output goes where the zygote's goes: nowhere. */
PyObject *zyg_script_rehearse(struct zygote *z, const char *source, int rounds)
{
  PyObject *path = PySys_GetObject("path"), *argv = PySys_GetObject("argv"); /* borrowed */
  PyObject *main = PyDict_GetItemString(PyImport_GetModuleDict(), "__main__");
  if (!path || !argv || !main || !PyList_Check(path))
    return PyErr_Format(PyExc_RuntimeError, "rehearse: no sys.path, sys.argv or __main__");
  Py_INCREF(argv);
  Py_INCREF(main);
  struct zyg_job job;
  zyg_job_of(&job, source);
  struct mf_child_word word = { 0 };
  for (int i = 0; i < rounds && word.exit_code == 0; i++) {
    PyObject *r = PyObject_CallNoArgs(z->prepare);
    Py_XDECREF(r);
    if (!r)
      break;
    zyg_script_run(z, &job, &word);
    PySequence_DelItem(path, 0);
  }
  PySys_SetObject("argv", argv);
  PyDict_SetItemString(PyImport_GetModuleDict(), "__main__", main);
  Py_DECREF(argv);
  Py_DECREF(main);
  if (PyErr_Occurred())
    return NULL;
  if (word.exit_code != 0)
    return PyErr_Format(PyExc_RuntimeError, "rehearse: the program ended with %d", (int)word.exit_code);
  Py_RETURN_NONE;
}
