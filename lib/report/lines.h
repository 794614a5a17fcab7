/* lines: what a report is made of. A report is bytes in a struct buf: who prints it, sends it
 * or shows it is not known here. Memory that runs out makes the buffer fail (core/buf.h).
 */
#ifndef REPORT_LINES_H
#define REPORT_LINES_H

#include "core/buf.h"
#include "core/json.h"

/* Append a note: a sentence on a line of its own, with control characters escaped. */
void lines_note(struct buf *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append o as a line of JSON. o: released here; NULL, where it could not be made, is a
 * failure of the buffer. */
void lines_json(struct buf *to, json_t *o);

/* The same, with the member "model" as the last, unless model is NULL. */
void lines_json_of(struct buf *to, json_t *o, const char *model);

/* The name of a file: escaped if it is not text. New reference. */
json_t *lines_file_name(const char *path);

#endif
