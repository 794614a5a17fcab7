/* create: a model in a format: one file, several files, or a folder.
 *
 * The checks refuse with ERR_USAGE what the format cannot write, before any file is opened.
 * format->writes is not NULL.
 */
#ifndef FORMATS_CREATE_H
#define FORMATS_CREATE_H

#include "formats/format.h"

/* Check the format's own options and the alignment. 0 or -1. */
int create_check_options(const struct format *format, const struct format_options *o,
                         struct err *e);

/* Check the kind of output at path (NULL or "-": standard output), and the room to reserve.
 * 0 or -1. */
int create_check_output(const struct format *format, const struct format_options *o,
                        const char *path, struct err *e);

/* Make a sink that creates the model: a folder if where->path ends in "/", several files if
 * o->shard_size is not 0, else one file. On failure, returns NULL with e filled. */
struct sink *create_sink(const struct format *format, const struct out_options *where,
                         const struct format_options *o, struct err *e);

#endif
