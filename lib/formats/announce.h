/* announce: the bytes of a remote model that its reader will need, for the helper that fetches
 * them ahead (core/remote.h).
 */
#ifndef FORMATS_ANNOUNCE_H
#define FORMATS_ANNOUNCE_H

#include "formats/format.h"

/* Announces the tensors of a source that was opened from this path; wanted: those that will be
 * read, or NULL for all. If the format reads the others too, all are announced. Tensors that do
 * not lie in one piece in a file are fetched when they are read. Does nothing for a local path.
 * 0 or -1. */
int format_announce(const struct format *f, const struct source *s, const char *path,
                    const bool *wanted, struct err *e);

#endif
