/* recipe_text: a quantization recipe, told to a person or a program. */
#ifndef REPORT_RECIPE_TEXT_H
#define REPORT_RECIPE_TEXT_H

#include <stdbool.h>

#include "model/model.h"
#include "quant/convert.h"
#include "quant/recipe.h"
#include "report/table.h"

/* The whole plan on standard output, a tensor a line: name, shape, type before
 * and after, bytes, rule, and the type that the rule wanted if that is another;
 * as JSON objects or as a table with a sum. m is the model that r was made for. */
void recipe_print(const struct recipe *r, const struct model *m, bool json);

/* What stays as it is, what falls back, what was quantized already, and how far names and
 * an importance matrix (of o, which r was made with) reach, on standard error: none of it
 * happens in silence. Like cases share a line. */
void recipe_report(const struct recipe *r, const struct model *m,
                   const struct recipe_options *o);

/* Of these what a plan alone does not show: the rules of the mixture know none of the
 * names. */
void recipe_report_names(const struct recipe *r, const struct recipe_options *o);

/* The widths of a plan's columns; those of the types before and after are one. */
struct table recipe_table(const struct recipe *r, const struct model *m);

/* The error of a conversion on standard error, a line a tensor: root of the mean
 * square, that relative to the values, the largest, and the cosine. table: the
 * widths, or NULL for a JSON object. */
void recipe_print_error(const char *name, const char *from, const char *to,
                        const struct convert_stats *s, const struct table *table);

/* What a conversion to a type did to the tensor of that name: values that are not finite,
 * as they came or now, are told if they are allowed, else ERR_INVALID; as is an error over
 * max_rmse. 0 or -1. */
int recipe_judge(const char *name, const struct dtype *to, const struct convert_stats *s,
                 bool allow_nonfinite, double max_rmse, struct err *e);

/* The line of one tensor. ERR_USAGE if there is none of that name. */
int recipe_explain(const struct recipe *r, const struct model *m, const char *name,
                   struct err *e);

/* The table of mixtures, and that of types. */
void recipe_list(void);

#endif
