#include "report/recipe_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool.h"
#include "core/json.h"
#include "core/text.h"
#include "kernels/kernel.h"

/* The columns of a plan; those of the types before and after have one width. */
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
print_row(const struct tensor *t, const struct recipe_row *row, const struct table *table,
          bool json)
{
	struct buf b = { 0 };
	char shape[TENSOR_SHAPE_TEXT];

	if (json) {
		json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:o,s:s,s:b}", "name", tensor_name(t),
		                      "from", row->from->name, "to", row->to->name, "wanted",
		                      row->wanted->name, "bytes", json_from_u64(row->bytes),
		                      "rule", row->rule, "encoder", (int)row->encoder);

		if (o && json_show(o, &b) == 0)
			printf("%.*s\n", (int)b.n, (char *)b.p);
		json_decref(o);
		buf_free(&b);
		return;
	}
	printf("%s %-*s %*s -> %-*s %12" PRIu64 "  %s",
	       table_name(&b, table->name, tensor_name(t)), table->shape,
	       tensor_shape_text(t, shape), table->type, row->from->name, table->type,
	       row->to->name, row->bytes, row->rule);
	buf_free(&b);
	if (row->to != row->wanted)
		printf(", but rows of %" PRIu64 " do not fill %s", tensor_row(t),
		       row->wanted->name);
	if (!row->encoder)
		fputs(", no encoder", stdout);
	putchar('\n');
}

void
recipe_print(const struct recipe *r, const struct model *m, bool json)
{
	const struct table table = recipe_table(r, m);
	char in[32], out[32];
	size_t i;

	for (i = 0; i < r->count; i++)
		print_row(m->tensors[i], &r->rows[i], &table, json);
	if (!json)
		printf("%zu tensor%s, %s -> %s\n", r->count, r->count == 1 ? "" : "s",
		       text_size(in, sizeof in, r->bytes_in),
		       text_size(out, sizeof out, r->bytes_out));
}

/* How many rows stay as they are for the reason of row i; 0 if an earlier row
 * has that reason too, and has been told. */
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

/* The same of rows that fall back from one type to another. */
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
report_fallbacks(const struct recipe *r, const struct model *m)
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
			tool_notef("%zu tensors, the first is %s: rows of %" PRIu64
			           " do not fill %s, %s is used", n, name, tensor_row(t),
			           row->wanted->name, row->to->name);
		else
			tool_notef("%s: rows of %" PRIu64 " do not fill %s, %s is used", name,
			           tensor_row(t), row->wanted->name, row->to->name);
	}
}

static void
report_kept(const struct recipe *r)
{
	size_t i, n;

	for (i = 0; i < r->count; i++) {
		const struct recipe_row *row = &r->rows[i];

		if (row->to == row->from && (n = alike(r, i)) > 0)
			tool_notef("%zu tensor%s stay%s %s: %s", n, n == 1 ? "" : "s",
			           n == 1 ? "s" : "", row->from->name, row->rule);
	}
}

static void
report_importance(const struct recipe *r)
{
	if (r->weighable)
		tool_notef("%zu of %zu tensors that can be are weighted by importance",
		           r->weighed, r->weighable);
	else
		tool_note("the importance matrix changes nothing: no tensor gets a type whose "
		          "encoder uses weights");
}

void
recipe_report_names(const struct recipe *r, const struct recipe_options *o)
{
	if (r->open && !r->named && !o->how.pure && mixture_goes_by_names(o->mixture))
		tool_notef("%s chooses types by GGUF's tensor names, and no tensor here has one: "
		           "without a --tensor-type rule all get %s", o->mixture->name,
		           o->mixture->type);
}

void
recipe_report(const struct recipe *r, const struct model *m, const struct recipe_options *o)
{
	char in[32], out[32];

	report_fallbacks(r, m);
	report_kept(r);
	recipe_report_names(r, o);
	if (r->again)
		tool_notef("%zu tensor%s already quantized: the loss adds up", r->again,
		           r->again == 1 ? " was" : "s were");
	if (o->imatrix)
		report_importance(r);
	if (r->open && !r->changed)
		tool_notef("nothing to do: each tensor already has the type that %s gives it",
		           o->mixture->name);
	tool_notef("%zu of %zu tensors change, %s -> %s", r->changed, r->count,
	           text_size(in, sizeof in, r->bytes_in),
	           text_size(out, sizeof out, r->bytes_out));
}

void
recipe_print_error(const char *name, const char *from, const char *to,
                   const struct convert_stats *s, const struct table *table)
{
	struct buf b = { 0 };

	if (!table) {
		json_show_text(&b, name, strlen(name));
		if (buf_string(&b))
			fprintf(stderr, "{\"name\":%s,\"from\":\"%s\",\"to\":\"%s\",\"rmse\":%.9g,"
			        "\"relative\":%.9g,\"max\":%.9g,\"cosine\":%.9g}\n",
			        (char *)b.p, from, to, convert_rmse(s), convert_relative(s),
			        s->error_max, convert_cosine(s));
		buf_free(&b);
		return;
	}
	fprintf(stderr,
	        "%s %*s -> %-*s rmse %.3e  relative %.3e  max %.3e  cosine %.6f\n",
	        table_name(&b, table->name, name), table->type, from, table->type, to,
	        convert_rmse(s), convert_relative(s), s->error_max, convert_cosine(s));
	buf_free(&b);
}

/* NaN and infinities as they came, and what became infinite on the way. */
static int
not_finite(const char *name, const struct dtype *to, const struct convert_stats *s,
           bool allowed, struct err *e)
{
	char text[200];

	if (!s->nonfinite && !s->overflow)
		return 0;
	snprintf(text, sizeof text, "values not finite: %" PRIu64 ", too large for %s: %" PRIu64
	         "; the first has index %" PRIu64, s->nonfinite, to->name,
	         s->overflow, s->first);
	if (allowed) {
		tool_notef("%.200s: %s", name, text);
		return 0;
	}
	err_set(e, ERR_INVALID, name, "%s", text);
	return err_hint(e, "--allow-nonfinite accepts them");
}

int
recipe_judge(const char *name, const struct dtype *to, const struct convert_stats *s,
             bool allow_nonfinite, double max_rmse, struct err *e)
{
	if (not_finite(name, to, s, allow_nonfinite, e) < 0)
		return -1;
	if (convert_rmse(s) > max_rmse)
		return err_set(e, ERR_INVALID, name, "as %s, its rmse of %.9g exceeds %.9g", to->name,
		               convert_rmse(s), max_rmse);
	return 0;
}

int
recipe_explain(const struct recipe *r, const struct model *m, const char *name,
               struct err *e)
{
	const struct table table = recipe_table(r, m);
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0) {
			print_row(m->tensors[i], &r->rows[i], &table, false);
			return 0;
		}
	return err_set(e, ERR_USAGE, name, "no tensor has this name");
}

static void
list_types(void)
{
	const struct dtype *t;
	unsigned i;

	printf("\n%-10s %-8s %-8s %-8s %-8s %s\n", "type", "values", "bytes", "bits",
	       "read", "written");
	for (i = 0; (t = dtype_row(i)); i++)
		printf("%-10s %-8u %-8u %-8.4g %-8s %s\n", t->name, t->items, t->bytes,
		       8.0 * t->bytes / t->items, kernel_decodes(t) ? "yes" : "no",
		       kernel_encodes(t) ? "yes" : "no");
}

void
recipe_list(void)
{
	const struct mixture *m;
	unsigned i;

	printf("%-10s %-8s %-8s %s\n", "mixture", "type", "output", "written here");
	for (i = 0; (m = mixture_row(i)); i++)
		printf("%-10s %-8s %-8s %s\n", m->name, m->type, m->output,
		       kernel_encodes(dtype_by_name(m->type)) ? "yes" : "no");
	list_types();
}
