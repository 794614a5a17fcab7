/* plugin: types from shared libraries (quant/apr_plugin.h is what they are told). */
#ifndef QUANT_PLUGIN_H
#define QUANT_PLUGIN_H

#include "core/err.h"
#include "model/dtype.h"

/* Load the library at path, and let its type have a row and a kernel, until the process
 * ends. ERR_IO if it is not there, ERR_FORMAT if it is no plugin, or its type one that
 * there is already. Returns the type or NULL. */
const struct dtype *plugin_load(const char *path, struct err *e);

#endif
