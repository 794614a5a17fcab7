#include "report/recipe_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "kernels/kernel.h"
#include "report/lines.h"

/* Columns of a type in a plan; types before and after have the same width. */
#define TYPE 6
struct table
recipe_table(const struct recipe *r, const struct model *m)
{
	struct table t = table_of(m);
	size_t i;

	t.type = TYPE;
	for (i = 0; i < r->count; i++) {
		t.type = table_widen(t.type, TABLE_NAME, r->rows[i].from->name);
		t.type = table_widen(t.type, TABLE_NAME, r->rows[i].to->name);
	}
	return t;
}

static void
put_row_json(struct buf *b, const struct tensor *t, const struct recipe_row *row)
{
	lines_json(b, json_pack("{s:s,s:s,s:s,s:s,s:o,s:s,s:b}", "name", tensor_name(t), "from",
	                        row->from->name, "to", row->to->name, "wanted",
	                        row->wanted->name, "bytes", json_from_u64(row->bytes), "rule",
	                        row->rule, "encoder", (int)row->encoder));
}

static void
put_row(struct buf *b, const struct tensor *t, const struct recipe_row *row,
        const struct table *table)
{
	char shape[TENSOR_SHAPE_TEXT];
	struct buf name = { 0 };

	buf_printf(b, "%s %-*s %*s -> %-*s %12" PRIu64 "  %s",
	           table_name(&name, table->name, tensor_name(t)), table->shape,
	           tensor_shape_text(t, shape), table->type, row->from->name, table->type,
	           row->to->name, row->bytes, row->rule);
	buf_free(&name);
	if (row->to != row->wanted)
		buf_printf(b, ", but rows of %" PRIu64 " do not fill %s", tensor_row(t),
		           row->wanted->name);
	if (!row->encoder)
		buf_text(b, ", no encoder");
	buf_text(b, "\n");
}

void
recipe_put(struct buf *b, const struct recipe *r, const struct model *m, bool json)
{
	const struct table table = recipe_table(r, m);
	char in[32], out[32];
	size_t i;

	for (i = 0; i < r->count; i++)
		if (json)
			put_row_json(b, m->tensors[i], &r->rows[i]);
		else
			put_row(b, m->tensors[i], &r->rows[i], &table);
	if (!json)
		buf_printf(b, "%zu tensor%s, %s -> %s\n", r->count, r->count == 1 ? "" : "s",
		           text_size(in, sizeof in, r->bytes_in),
		           text_size(out, sizeof out, r->bytes_out));
}

/* Returns the number of rows that keep their type for the same reason as row i; 0 if an
 * earlier row has that reason, since its note covers this row. */
static size_t
alike(const struct recipe *r, size_t i)
{
	const struct recipe_row *row = &r->rows[i];
	size_t k, n = 0;

	for (k = 0; k < r->count; k++) {
		const struct recipe_row *other = &r->rows[k];

		if (other->to != other->from || other->from != row->from ||
		    strcmp(other->rule, row->rule) != 0)
			continue;
		if (k < i)
			return 0;
		n++;
	}
	return n;
}

/* As alike, for rows that fall back from one type to another. */
static size_t
alike_fallback(const struct recipe *r, const struct model *m, size_t i)
{
	const struct recipe_row *row = &r->rows[i];
	size_t k, n = 0;

	for (k = 0; k < r->count; k++) {
		const struct recipe_row *other = &r->rows[k];

		if (other->to != row->to || other->wanted != row->wanted ||
		    tensor_row(m->tensors[k]) != tensor_row(m->tensors[i]))
			continue;
		if (k < i)
			return 0;
		n++;
	}
	return n;
}

static void
note_fallbacks(struct buf *to, const struct recipe *r, const struct model *m)
{
	char name[256];
	size_t i, n;

	for (i = 0; i < r->count; i++) {
		const struct recipe_row *row = &r->rows[i];
		const struct tensor *t = m->tensors[i];

		if (row->to == row->wanted || (n = alike_fallback(r, m, i)) == 0)
			continue;
		text_quote(name, sizeof name, tensor_name(t), strlen(tensor_name(t)));
		if (n > 1)
			lines_note(to, "%zu tensors, the first is %s: rows of %" PRIu64
			           " do not fill %s, %s is used", n, name, tensor_row(t),
			           row->wanted->name, row->to->name);
		else
			lines_note(to, "%s: rows of %" PRIu64 " do not fill %s, %s is used", name,
			           tensor_row(t), row->wanted->name, row->to->name);
	}
}

static void
note_kept(struct buf *to, const struct recipe *r)
{
	size_t i, n;

	for (i = 0; i < r->count; i++) {
		const struct recipe_row *row = &r->rows[i];

		if (row->to == row->from && (n = alike(r, i)) > 0)
			lines_note(to, "%zu tensor%s stay%s %s: %s", n, n == 1 ? "" : "s",
			           n == 1 ? "s" : "", row->from->name, row->rule);
	}
}

static void
note_importance(struct buf *to, const struct recipe *r)
{
	if (r->weighable)
		lines_note(to, "%zu of %zu tensors that can be are weighted by importance",
		           r->weighed, r->weighable);
	else
		lines_note(to, "the importance matrix changes nothing: no tensor gets a type whose "
		          "encoder uses weights");
}

void
recipe_note_names(struct buf *to, const struct recipe *r, const struct recipe_options *o)
{
	if (r->open && !r->named && !o->how.pure && mixture_goes_by_names(o->mixture))
		lines_note(to, "%s chooses types by GGUF's tensor names, and no tensor here has one: "
		           "without a --tensor-type rule all get %s", o->mixture->name,
		           o->mixture->type);
}

void
recipe_notes(struct buf *to, const struct recipe *r, const struct model *m,
             const struct recipe_options *o)
{
	char in[32], out[32];

	note_fallbacks(to, r, m);
	note_kept(to, r);
	recipe_note_names(to, r, o);
	if (r->again)
		lines_note(to, "%zu tensor%s already quantized: %s loss remains", r->again,
		           r->again == 1 ? " was" : "s were", r->again == 1 ? "its" : "their");
	if (o->imatrix)
		note_importance(to, r);
	if (r->open && !r->changed)
		lines_note(to, "nothing to do: each tensor already has the type that %s gives it",
		           o->mixture->name);
	lines_note(to, "%zu of %zu tensors change, %s -> %s", r->changed, r->count,
	           text_size(in, sizeof in, r->bytes_in),
	           text_size(out, sizeof out, r->bytes_out));
}

void
recipe_put_error(struct buf *b, const char *name, const char *from, const char *to,
                 const struct convert_stats *s, const struct table *table)
{
	struct buf shown = { 0 };

	if (table) {
		buf_printf(b, "%s %*s -> %-*s rmse %.3e  relative %.3e  max %.3e  cosine %.6f\n",
		           table_name(&shown, table->name, name), table->type, from, table->type,
		           to, convert_rmse(s), convert_relative(s), s->error_max,
		           convert_cosine(s));
	} else {
		buf_text(b, "{\"name\":");
		json_show_text(b, name, strlen(name));
		buf_printf(b, ",\"from\":\"%s\",\"to\":\"%s\",\"rmse\":%.9g,"
		           "\"relative\":%.9g,\"max\":%.9g,\"cosine\":%.9g}\n", from, to,
		           convert_rmse(s), convert_relative(s), s->error_max,
		           convert_cosine(s));
	}
	buf_free(&shown);
}

/* Judges values that were NaN or infinite, and values that the conversion made
 * infinite. */
static int
not_finite(const char *name, const struct dtype *to, const struct convert_stats *s,
           bool allowed, struct buf *notes, struct err *e)
{
	char text[200];

	if (!s->nonfinite && !s->overflow)
		return 0;
	snprintf(text, sizeof text, "values not finite: %" PRIu64 ", too large for %s: %" PRIu64
	         "; the first has index %" PRIu64, s->nonfinite, to->name,
	         s->overflow, s->first);
	if (allowed) {
		lines_note(notes, "%.200s: %s", name, text);
		return 0;
	}
	err_set(e, ERR_INVALID, name, "%s", text);
	return err_hint(e, "--allow-nonfinite accepts them");
}

int
recipe_judge(const char *name, const struct dtype *to, const struct convert_stats *s,
             bool allow_nonfinite, double max_rmse, struct buf *notes, struct err *e)
{
	if (not_finite(name, to, s, allow_nonfinite, notes, e) < 0)
		return -1;
	if (convert_rmse(s) > max_rmse)
		return err_set(e, ERR_INVALID, name, "as %s, its rmse of %.9g exceeds %.9g", to->name,
		               convert_rmse(s), max_rmse);
	return 0;
}

int
recipe_put_tensor(struct buf *b, const struct recipe *r, const struct model *m,
                  const char *name, struct err *e)
{
	const struct table table = recipe_table(r, m);
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0) {
			put_row(b, m->tensors[i], &r->rows[i], &table);
			return 0;
		}
	return err_set(e, ERR_USAGE, name, "no tensor has this name");
}

static void
put_types(struct buf *b)
{
	const struct dtype *t;
	unsigned i;

	buf_printf(b, "\n%-10s %-8s %-8s %-8s %-8s %s\n", "type", "values", "bytes", "bits",
	       "read", "written");
	for (i = 0; (t = dtype_row(i)); i++)
		buf_printf(b, "%-10s %-8u %-8u %-8.4g %-8s %s\n", t->name, t->items, t->bytes,
		       8.0 * t->bytes / t->items, kernel_decodes(t) ? "yes" : "no",
		       kernel_encodes(t) ? "yes" : "no");
}

void
recipe_put_types(struct buf *b)
{
	const struct mixture *m;
	unsigned i;

	buf_printf(b, "%-10s %-8s %-8s %s\n", "mixture", "type", "output", "written here");
	for (i = 0; (m = mixture_row(i)); i++)
		buf_printf(b, "%-10s %-8s %-8s %s\n", m->name, m->type, m->output,
		       kernel_encodes(dtype_by_name(m->type)) ? "yes" : "no");
	put_types(b);
}
