/* The route: which zygote a program is better forked from. A wrong guess is only slower. */
#ifndef MF_LOCAL_ROUTE_H
#define MF_LOCAL_ROUTE_H

#include "sandbox/sandbox.h"

enum mf_route { MF_ROUTE_STDLIB = 1, MF_ROUTE_DATA = 2 }; /* as mf_sup_start.runtime */

/* True when the source imports a package that the data zygote has loaded. Comments and strings do not count, but for
 * the argument of __import__ and import_module. Linear in the source, no allocation. Thread: any. */
bool mf_route_is_data(struct mf_str source);

/* The spec's wish, else by its source and its input files that end in ".py". */
enum mf_route mf_route_of(const struct mf_sandbox_spec *spec);

#endif
