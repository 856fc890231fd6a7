/* What must not be the same in two calls: the state of `random`, and the time at which `logging` began. In C, since
 * each call pays for it. Everything else that is random asks for bytes when it is used. */
#include "python.h"

#include <string.h>

/* As Modules/_randommodule.c of the CPython that the guest is built from has it. */
#define STATE_N 624
struct random_object {
  PyObject_HEAD int index;
  uint32_t state[STATE_N];
};

void mfg_fresh_begin(struct mfg_fresh *fresh, PyObject *random, PyObject *logging)
{
  /* random.Random adds a dict and weak references behind the state of its base */
  if (Py_TYPE(random)->tp_base->tp_basicsize != (Py_ssize_t)sizeof(struct random_object) || !PyDict_Check(logging))
    mfg_die("fresh", "random.Random is not what it was");
  *fresh = (struct mfg_fresh){ random, logging, PyUnicode_InternFromString("_startTime") };
}

void mfg_fresh_call(const struct mfg_fresh *fresh)
{
  struct random_object *random = (struct random_object *)fresh->random;
  /* All of it random bits: as good a state as any seed gives. Used up: the first number makes the next ones. */
  if (mfg_random(random->state, sizeof random->state) != 0)
    mfg_die("fresh", "no random bytes");
  random->state[0] |= 0x80000000u; /* not all zero */
  random->index = STATE_N;
  PyObject *now = PyLong_FromLongLong((long long)mfg_clock_ns(MF_GUEST_CLOCK_REALTIME));
  if (!now || PyDict_SetItem(fresh->logging, fresh->name_start_time, now) != 0)
    PyErr_Clear();
  Py_XDECREF(now);
}
