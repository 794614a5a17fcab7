/* plugin: types from shared libraries (see quant/apr_plugin.h). */
#ifndef QUANT_PLUGIN_H
#define QUANT_PLUGIN_H

#include "core/err.h"
#include "model/dtype.h"

/* Load the library at path; its type has a row and a kernel from now on, until the process
 * ends. ERR_IO if such a file does not exist, ERR_FORMAT if it is not a plugin, or if the type
 * exists already. Returns the type or NULL. */
const struct dtype *plugin_load(const char *path, struct err *e);

#endif
