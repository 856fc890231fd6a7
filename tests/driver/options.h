/* What mf-driver was told on its command line. */
#ifndef MF_TESTS_DRIVER_OPTIONS_H
#define MF_TESTS_DRIVER_OPTIONS_H

#include "providers/providers.h"

/* False: a wrong one. Texts are borrowed from argv. */
bool mf_driver_options(int argc, char **argv, struct mf_provider_config *ret);

#endif
