/* Between the files of this room. */
#ifndef MF_CONFIG_INTERNAL_H
#define MF_CONFIG_INTERNAL_H

#include "config/config.h"

#define CONFIG_FILE_BYTES_MAX (1u << 20)
#define CONFIG_TEXT_BYTES_MAX 65536u /* of one value */

/* table.c */
/* The key whose path this is, or MF_CONFIG_N. */
enum mf_config_id config_find(const char *path);
/* True: a table of this name holds keys. */
bool config_is_table(const char *path);
const char *config_nearest(const char *path);
const char *config_nearest_env(const char *name);
static inline bool config_is_secret(enum mf_config_id id)
{
  return (mf_config_keys[id].traits & MF_KEY_SECRET) != 0;
}

/* value.c: takes one value. `where` starts the error: the name that the person knows, and where it stands. */
MF_MUST_USE enum mf_code config_set_text(struct mf_config *c, enum mf_config_id id, const char *text, const char *where,
                                         struct mf_err *err);
void config_set_list(struct mf_config *c, enum mf_config_id id, const char *const *items, size_t n);
void config_list_add(struct mf_config_list *l, struct mf_str item);
void config_value_free(struct mf_config *c, enum mf_config_id id);

/* home.c */
MF_MUST_USE enum mf_code config_find_home(struct mf_config *c, char *const *env, struct mf_err *err);
const char *config_env(char *const *env, const char *name);

/* file.c: the keys of config.toml, secret ones or the others, that nothing has set before. */
MF_MUST_USE enum mf_code config_read_file(struct mf_config *c, bool secrets, struct mf_err *err);
/* Adds the keys of server.api_keys_file. */
MF_MUST_USE enum mf_code config_read_api_keys(struct mf_config *c, struct mf_err *err);

/* check.c: what only makes sense together. */
MF_MUST_USE enum mf_code config_check(struct mf_config *c, struct mf_err *err);
MF_MUST_USE enum mf_code config_check_secrets(const struct mf_config *c, struct mf_err *err);

/* load.c */
void config_warn(struct mf_config *c, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
