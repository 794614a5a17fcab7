/* change: apr-config edits the file of settings. Comments and order stay; the file is replaced
 * at once, or not at all. A link is kept, and its file replaced. A missing file and its folders
 * are made for the user alone.
 */
#ifndef CLI_CONFIG_CHANGE_H
#define CLI_CONFIG_CHANGE_H

#include "cli/config.h"

/* change_set gives a key (config_find) a value. change_unset removes the key with this name, and
 * fails with ERR_NO if the file does not have it. Both open c, which the caller closes. 0 or -1;
 * an error leaves the file unchanged. */
int change_set(struct config *c, size_t key, const char *text, struct err *e);
int change_unset(struct config *c, const char *name, struct err *e);

#endif
