/* Waiting for a lock or an item of a queue that somebody holds. There is nobody else who could ever let go of it, and
 * Python's stand-ins for threads would look again and again until the fuel is gone; so the time is slept, as it would
 * be elsewhere, and without one the program waits until its limit ends it. Python's own functions of these names are
 * put aside by the linker (--wrap, scripts/wasmruntime/guest.py). */
#define Py_BUILD_CORE
#include "python.h"

#include <string.h>

#include "pycore_parking_lot.h"
#include "pycore_pythread.h"

PyLockStatus __wrap_PyThread_acquire_lock_timed_with_retries(PyThread_type_lock lock, PY_TIMEOUT_T timeout_ns);
int __wrap__PyParkingLot_Park(const void *at, const void *expected, size_t n, PyTime_t timeout_ns, void *arg,
                              int detach);

static void pass_time(PyTime_t timeout_ns)
{
  do {
    mfg_sleep(timeout_ns < 0 ? UINT64_MAX : (uint64_t)timeout_ns);
  } while (timeout_ns < 0);
}

PyLockStatus __wrap_PyThread_acquire_lock_timed_with_retries(PyThread_type_lock lock, PY_TIMEOUT_T timeout_ns)
{
  PyLockStatus status = PyThread_acquire_lock_timed(lock, 0, 0);
  if (status == PY_LOCK_FAILURE && timeout_ns != 0)
    pass_time(timeout_ns);
  return status;
}

int __wrap__PyParkingLot_Park(const void *at, const void *expected, size_t n, PyTime_t timeout_ns, void *arg,
                              int detach)
{
  (void)arg;
  (void)detach;
  if (memcmp(at, expected, n) != 0)
    return Py_PARK_AGAIN;
  pass_time(timeout_ns);
  return Py_PARK_TIMEOUT;
}
