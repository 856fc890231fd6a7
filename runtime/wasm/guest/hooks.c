/* What boot.py needs of C: our other Python code, functions that only raise, what WASI has no call for, and reference
 * counts that nobody changes. */
#include "python.h"

#include <errno.h>
#include <marshal.h>
#include <string.h>

#include "fd.h"

/* run(name, globals): the code of one of our own modules. */
static PyObject *hook_run(PyObject *self, PyObject *args)
{
  (void)self;
  const char *name;
  PyObject *globals;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PyDict_Type, &globals))
    return NULL;
  for (const struct _frozen *own = mfg_frozen_own; own->name; own++) {
    if (strcmp(own->name, name) == 0) {
      PyObject *code = PyMarshal_ReadObjectFromString((const char *)own->code, own->size);
      PyObject *r = code ? PyEval_EvalCode(code, globals, globals) : NULL;
      Py_XDECREF(code);
      return r;
    }
  }
  return PyErr_Format(PyExc_KeyError, "no own module %s", name);
}

static PyObject *raise_self(PyObject *self, PyObject *args, PyObject *kwargs)
{
  (void)args;
  (void)kwargs;
  PyErr_SetObject(PyTuple_GET_ITEM(self, 0), PyTuple_GET_ITEM(self, 1));
  return NULL;
}

/* raiser(name, type, *args): a function that raises type(*args), and adds no line to a traceback. */
static PyObject *hook_raiser(PyObject *self, PyObject *args)
{
  (void)self;
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(args, 0)))
    return PyErr_Format(PyExc_TypeError, "raiser(name, type, ...)");
  PyMethodDef *def = PyMem_Calloc(1, sizeof *def); /* lives as long as the interpreter, as its texts do */
  PyObject *rest = PyTuple_GetSlice(args, 2, n), *held = NULL, *fn = NULL;
  PyObject *doc = PyUnicode_FromFormat("%U($self, /, *args, **kwargs)\n--\n\nNot available in the WebAssembly sandbox.",
                                       PyTuple_GET_ITEM(args, 0));
  if (def && rest && doc)
    held = PyTuple_Pack(2, PyTuple_GET_ITEM(args, 1), rest);
  if (held) {
    *def =
        (PyMethodDef){ PyUnicode_AsUTF8(Py_NewRef(PyTuple_GET_ITEM(args, 0))), (PyCFunction)(void (*)(void))raise_self,
                       METH_VARARGS | METH_KEYWORDS, PyUnicode_AsUTF8(Py_NewRef(doc)) };
    fn = PyCFunction_New(def, held);
  }
  Py_XDECREF(doc);
  Py_XDECREF(rest);
  Py_XDECREF(held);
  return fn;
}

/* What a module lacks: __getattr__ of a module in C, which adds no line to a traceback. self: (module's name,
 * {attribute: words}). */
static PyObject *lacks_getattr(PyObject *self, PyObject *name)
{
  PyObject *module = PyTuple_GET_ITEM(self, 0);
  PyObject *words = PyDict_GetItemWithError(PyTuple_GET_ITEM(self, 1), name); /* borrowed */
  if (PyErr_Occurred())
    return NULL;
  PyObject *text = words ? PyUnicode_FromFormat("module %R has no attribute %R: %U", module, name, words)
                         : PyUnicode_FromFormat("module %R has no attribute %R", module, name);
  PyObject *error = text ? PyObject_CallOneArg(PyExc_AttributeError, text) : NULL;
  if (error && PyObject_SetAttrString(error, "name", name) == 0)
    PyErr_SetObject(PyExc_AttributeError, error);
  Py_XDECREF(text);
  Py_XDECREF(error);
  return NULL;
}

/* lacking(module's name, {attribute: words}): a __getattr__ for that module. */
static PyObject *hook_lacking(PyObject *self, PyObject *args)
{
  (void)self;
  static PyMethodDef def = { "__getattr__", lacks_getattr, METH_O, NULL };
  if (PyTuple_GET_SIZE(args) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(args, 0)) ||
      !PyDict_Check(PyTuple_GET_ITEM(args, 1)))
    return PyErr_Format(PyExc_TypeError, "lacking(name, dict)");
  return PyCFunction_New(&def, args);
}

static PyObject *os_error(mfs_errno error, PyObject *path)
{
  errno = error;
  return path ? PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path) : PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *set_mode(struct mfs_node *node, int mode, PyObject *path)
{
  if (node->is_fixed)
    return os_error(__WASI_ERRNO_PERM, path);
  node->mode = (uint16_t)(mode & 07777);
  node->ctime = mfg_clock_ns(MF_GUEST_CLOCK_REALTIME);
  Py_RETURN_NONE;
}

/* chmod(path: bytes, mode, follow, shown) and fchmod(fd, mode): chmod(2), which WASI has not. */
static PyObject *hook_chmod(PyObject *self, PyObject *args)
{
  (void)self;
  const char *path;
  Py_ssize_t n;
  int mode, follow;
  PyObject *shown;
  struct mfs_node *node;
  if (!PyArg_ParseTuple(args, "y#ipO", &path, &n, &mode, &follow, &shown))
    return NULL;
  mfs_errno error = mfs_lookup(mfs.cwd, path, (size_t)n, follow, &node);
  return error ? os_error(error, shown) : set_mode(node, mode, shown);
}

static PyObject *hook_fchmod(PyObject *self, PyObject *args)
{
  (void)self;
  int fd, mode;
  if (!PyArg_ParseTuple(args, "ii", &fd, &mode))
    return NULL;
  const struct mfg_open *o = mfg_fd_get(fd);
  return o ? set_mode(o->node, mode, NULL) : os_error(__WASI_ERRNO_BADF, NULL);
}

static PyObject *hook_umask(PyObject *self, PyObject *args)
{
  (void)self;
  int mask;
  if (!PyArg_ParseTuple(args, "i", &mask))
    return NULL;
  uint16_t before = mfs.umask;
  mfs.umask = (uint16_t)(mask & 0777);
  return PyLong_FromLong(before);
}

/* dup(fd, to): to -1: the lowest that is free. */
static PyObject *hook_dup(PyObject *self, PyObject *args)
{
  (void)self;
  int fd, to, got;
  if (!PyArg_ParseTuple(args, "ii", &fd, &to))
    return NULL;
  mfs_errno error = mfg_fd_dup(fd, to, &got);
  return error ? os_error(error, NULL) : PyLong_FromLong(got);
}

static PyObject *hook_memory(PyObject *self, PyObject *args)
{
  (void)self;
  (void)args;
  return PyLong_FromSize_t(__builtin_wasm_memory_size(0) * (size_t)65536);
}

/* immortal(objects): nobody counts these any more, nor what they lead to, so that a program that uses them does not
 * write to their pages. */
static int visit(PyObject *o, void *stack)
{
  if (_Py_IsImmortal(o))
    return 0;
  if (PyList_Append(stack, o) != 0)
    return -1;
  o->ob_refcnt = _Py_IMMORTAL_REFCNT;
  return 0;
}

static PyObject *hook_immortal(PyObject *self, PyObject *objects)
{
  (void)self;
  PyObject *stack = PyList_New(0);
  if (!stack || !PyList_Check(objects))
    return PyErr_Format(PyExc_TypeError, "immortal(list)");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++) {
    if (visit(PyList_GET_ITEM(objects, i), stack) != 0)
      return NULL;
  }
  for (Py_ssize_t n; (n = PyList_GET_SIZE(stack)) > 0;) {
    PyObject *o = PyList_GET_ITEM(stack, n - 1);
    if (PyList_SetSlice(stack, n - 1, n, NULL) != 0)
      return NULL;
    traverseproc traverse = Py_TYPE(o)->tp_traverse;
    if (traverse && PyObject_IS_GC(o) && traverse(o, visit, stack) != 0)
      return NULL;
  }
  Py_DECREF(stack);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
  { "run", hook_run, METH_VARARGS, NULL },      { "raiser", hook_raiser, METH_VARARGS, NULL },
  { "chmod", hook_chmod, METH_VARARGS, NULL },  { "fchmod", hook_fchmod, METH_VARARGS, NULL },
  { "umask", hook_umask, METH_VARARGS, NULL },  { "dup", hook_dup, METH_VARARGS, NULL },
  { "immortal", hook_immortal, METH_O, NULL },  { "lacking", hook_lacking, METH_VARARGS, NULL },
  { "memory", hook_memory, METH_NOARGS, NULL },
};

PyObject *mfg_hooks_new(void)
{
  PyObject *dict = PyDict_New();
  for (size_t i = 0; dict && i < sizeof functions / sizeof *functions; i++) {
    PyObject *fn = PyCFunction_New(&functions[i], NULL);
    if (!fn || PyDict_SetItemString(dict, functions[i].ml_name, fn) != 0)
      Py_CLEAR(dict);
    Py_XDECREF(fn);
  }
  return dict;
}
