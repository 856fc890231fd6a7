/* The life cycle of a receipt inside a result. */
#ifndef MF_SANDBOX_RECEIPT_H
#define MF_SANDBOX_RECEIPT_H

#include "sandbox/sandbox.h"

void receipt_done(struct mf_receipt *r);

#endif
