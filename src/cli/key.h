/* The keys in the database of `serve`, for other commands. */
#ifndef MF_CLI_KEY_H
#define MF_CLI_KEY_H

#include "config/config.h"

/* Whether there is one, revoked or not. False too when the database cannot be opened. Blocks; opens the database, and
 * makes none where the default one does not exist. */
bool mf_key_is_any_stored(const struct mf_config *c);

#endif
