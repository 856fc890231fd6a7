/* A worker's end of its socket. Thread: the one that runs the guest. */
#ifndef MF_WASM_WORKER_SOCKET_H
#define MF_WASM_WORKER_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "host.h"

/* Sends head and tail (may be empty) as one message with fd (-1: none), and waits for room until deadline_ns
 * (UINT64_MAX: for as long as it takes). MF_SENT_NEVER: the provider is gone. The socket is non-blocking. */
enum mf_host_sent mf_worker_send(int sock, const void *head, size_t head_n, const void *tail, size_t tail_n, int fd,
                                 uint64_t deadline_ns);

/* Waits for a message of exactly n bytes with at most one descriptor (*ret_fd, -1: none). MF_E_GONE: the provider has
 * ended it; MF_E_INPUT: something else came. */
MF_MUST_USE enum mf_code mf_worker_recv(int sock, void *p, size_t n, int *ret_fd, struct mf_err *err);

#endif
