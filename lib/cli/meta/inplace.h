/* inplace: changes a file without writing it anew.
 *
 * Two processes share the work. A child in the sandbox reads the model, and writes the bytes
 * that its header will have to an unlinked file. This process does not parse anything: it puts
 * these bytes into the model file (core/rewrite.h).
 */
#ifndef CLI_META_INPLACE_H
#define CLI_META_INPLACE_H

#include "core/err.h"

/* The hint for a model that cannot be changed in place. */
#define INPLACE_ELSE "apr-unpack FILE | apr-meta ... | apr-pack writes a new file"

/* Runs make in a child, which writes the new header to the descriptor to, or nothing if it does
 * not change; file is the model file. Then changes the file at path. The child prints its own
 * message. 0, or -1 with e filled. */
int inplace_change(const char *path, int (*make)(void *ctx, int file, int to, struct err *e),
                   void *ctx, struct err *e);

#endif
