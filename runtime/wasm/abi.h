/* What the guest module and whoever runs it agree on: the snapshot tool, the worker, the tests.
 *
 * The guest is CPython as a WebAssembly reactor. It has no WASI import: its C library's calls end in an implementation
 * of our own inside the guest (files in memory, descriptors, no sockets), so that all of it is under the guest's own
 * memory limit and fuel, and the host offers these five functions (module "mayfly") and nothing else:
 *
 *   clock(id: i32) -> i64          nanoseconds; id: MF_GUEST_CLOCK_*; any other id: -1
 *   random(ptr: i32, n: i32) -> i32   fills n bytes; 0, or MF_GUEST_EFAULT when they are not all in the memory
 *   write(fd: i32, ptr: i32, n: i32) -> i32  bytes for fd 1 or 2: n, or -MF_GUEST_EFAULT, -MF_GUEST_EBADF
 *   sleep(ns: i64)                 at most until the deadline; negative: not at all
 *   exit(code: i32)                does not return
 *
 * It exports: memory, __stack_pointer (for the snapshot tool), and
 *
 *   mayfly_prepare()               at build time only: starts Python, imports, tidies; then the memory is the snapshot
 *   mayfly_reserve(n: i32) -> i32  where n bytes of a job may be written; 0: no memory
 *   mayfly_run(n: i32) -> i32      runs the job in those bytes to its end: MF_GUEST_WORD(exit code, enum mf_uncaught)
 *   mayfly_files() -> i32          after the run: address of struct mf_guest_files; 0: no memory
 *
 * A job is what the local provider's job descriptor holds (sandbox/frames.h: struct mf_job_header and what follows).
 * Nothing that the guest returns or writes is trusted: each address and length is checked against the memory.
 *
 * This header is also compiled into the guest (wasm32), so it includes nothing of ours. */
#ifndef MF_RUNTIME_WASM_ABI_H
#define MF_RUNTIME_WASM_ABI_H

#include <stdint.h>

#define MF_GUEST_ABI 1u /* changes with anything here */
#define MF_GUEST_MODULE "mayfly"

#define MF_GUEST_CLOCK_REALTIME 0
#define MF_GUEST_CLOCK_MONOTONIC 1
#define MF_GUEST_CLOCK_CPUTIME 2 /* of this call */

/* WASI's numbers, since the guest's C library has them as errno. */
#define MF_GUEST_EBADF 8
#define MF_GUEST_EFAULT 21

#define MF_GUEST_WORD(exit_code, uncaught) ((int32_t)((exit_code)&0xff) | (int32_t)(uncaught) << 8)

/* Regular files below /mnt/data that are not inputs left as they were. Addresses are of the guest's memory. */
struct mf_guest_file {
  uint32_t name, name_n; /* relative to /mnt/data, no NUL at the end */
  uint32_t data, data_n;
};
struct mf_guest_files {
  uint32_t n;       /* entries in `files` */
  uint32_t files;   /* address of struct mf_guest_file[n] */
  uint32_t left_n;  /* seen but not listed: there were too many (MF_GUEST_FILES_MAX) */
  uint32_t other_n; /* neither files nor folders (symbolic links): refused */
};
#define MF_GUEST_FILES_MAX 4096u

#define MF_GUEST_STACK_BYTES (8u << 20) /* of the module's own stack in memory, and of the WebAssembly stack */

/* The folder that scripts/setup-wasm-runtime makes:
 *   manifest.json   {"format":1,"abi":1,"id":"python-wasm-3.13.5","python":"3.13.5","wasmtime":"48.0.8",
 *                    "guest":{"file":"guest.cwasm","sha256":"…","bytes":N},"snapshot_sha256":"…","inputs_sha256":"…"}
 *   guest.cwasm     the snapshot, compiled for this machine's kind of processor
 *   include/        Wasmtime's C headers
 *   lib/libmf_wasmtime.a   Wasmtime without its compiler, to link into the worker */
#define MF_GUEST_FORMAT 1u

#endif
