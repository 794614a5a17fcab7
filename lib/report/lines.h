/* lines: the lines of a report. A report is bytes in a struct buf; the caller prints,
 * sends or shows it. If memory runs out, the buffer fails (core/buf.h).
 */
#ifndef REPORT_LINES_H
#define REPORT_LINES_H

#include "core/buf.h"
#include "core/json.h"

/* Appends a note: a sentence on its own line, with control characters escaped. */
void lines_note(struct buf *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends o as a line of JSON and releases it. If o is NULL because it could not be made,
 * the buffer fails. */
void lines_json(struct buf *to, json_t *o);

/* As lines_json, with a last member "model", unless model is NULL. */
void lines_json_of(struct buf *to, json_t *o, const char *model);

/* Appends the member "model" with its comma, unless model is NULL. */
void lines_put_model(struct buf *to, const char *model);

/* Returns the name of a file as JSON, escaped if it is not text. A new reference. */
json_t *lines_file_name(const char *path);

#endif
