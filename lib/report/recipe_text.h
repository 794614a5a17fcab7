/* recipe_text: a quantization recipe as text and JSON. All functions append. */
#ifndef REPORT_RECIPE_TEXT_H
#define REPORT_RECIPE_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "model/model.h"
#include "quant/convert.h"
#include "quant/recipe.h"
#include "report/table.h"

/* The whole plan, one tensor per line: name, shape, type before and after, bytes, rule,
 * and the type that the rule asked for if it differs; as JSON objects, or as a table with
 * a sum. m: the model that r was made for. */
void recipe_put(struct buf *b, const struct recipe *r, const struct model *m, bool json);

/* Notes (report/lines.h) on tensors that keep their type, fall back, or were quantized
 * already, and on names and entries of the importance matrix (of o, which r was made
 * with) that match no tensor. Similar cases share a line. */
void recipe_notes(struct buf *to, const struct recipe *r, const struct model *m,
                  const struct recipe_options *o);

/* The one of these notes that a plan does not show: the rules of the mixture match none
 * of the names. */
void recipe_note_names(struct buf *to, const struct recipe *r,
                       const struct recipe_options *o);

/* The widths of a plan's columns; those of the types before and after are equal. */
struct table recipe_table(const struct recipe *r, const struct model *m);

/* The error of a conversion, one line per tensor: root mean square, the same relative to
 * the values, maximum, and cosine. table: the widths, or NULL for a JSON object. */
void recipe_put_error(struct buf *b, const char *name, const char *from, const char *to,
                      const struct convert_stats *s, const struct table *table);

/* Judges the conversion of the tensor with that name. Values that are not finite, before
 * or after, become a note if they are allowed, else ERR_INVALID; so does an error above
 * max_rmse. Returns 0 or -1. */
int recipe_judge(const char *name, const struct dtype *to, const struct convert_stats *s,
                 bool allow_nonfinite, double max_rmse, struct buf *notes, struct err *e);

/* The line of the tensor with that name. ERR_USAGE if there is none. */
int recipe_put_tensor(struct buf *b, const struct recipe *r, const struct model *m,
                      const char *name, struct err *e);

/* The table of mixtures, and the table of types. */
void recipe_put_types(struct buf *b);

#endif
