#include "report/stats_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "report/lines.h"
#include "stats/values.h"

#define BAR 50 /* columns */
#define SHORT 16

/* Formats a number with six digits, which are enough to read; "-" if it does not
 * exist. */
static const char *
number(double v, bool exists, char dst[SHORT])
{
	snprintf(dst, SHORT, exists ? "%.6g" : "-", v);
	return dst;
}

static void
put_name(struct buf *b, const struct tensor *t, const struct table *table)
{
	struct buf name = { 0 };

	buf_printf(b, "%s %-*s", table_name(&name, table->name, tensor_name(t)), table->type,
	           tensor_type(t)->name);
	b->failed |= !buf_ok(&name);
	buf_free(&name);
}

void
stats_put_head(struct buf *b, const struct table *table)
{
	buf_printf(b, "%-*s %-*s %12s %12s %12s %12s %12s %12s %10s %8s %8s\n", table->name, "name",
	       table->type, "dtype", "count", "min", "max", "mean", "std", "l2", "zeros", "nan", "inf");
}

void
stats_put(struct buf *b, const struct tensor *t, const struct stats *s,
          const struct table *table)
{
	char min[SHORT], max[SHORT], mean[SHORT], std[SHORT], l2[SHORT];
	bool any;

	put_name(b, t, table);
	if (!s) {
		buf_printf(b, " %12" PRIu64 " %12s %12s %12s %12s %12s %10s %8s %8s\n",
		           tensor_items(t), "-", "-", "-", "-", "-", "-", "-", "-");
		return;
	}
	any = stats_finite(s) > 0;
	buf_printf(b, " %12" PRIu64 " %12s %12s %12s %12s %12s %10" PRIu64 " %8" PRIu64
	           " %8" PRIu64 "\n", s->count, number(s->min, any, min),
	           number(s->max, any, max), number(any ? stats_mean(s) : 0, any, mean),
	           number(any ? stats_std(s) : 0, any, std), number(stats_l2(s), any, l2),
	           s->zeros, s->nan, s->inf);
}

/* ---- JSON ---- */

/* A number as JSON: null if it does not exist or is not finite, which json_real
 * refuses. */
static json_t *
real(double v, bool exists)
{
	return exists && isfinite(v) ? json_real(v) : json_null();
}

static json_t *
integer(uint64_t v, bool exists)
{
	return exists ? json_from_u64(v) : json_null();
}

static json_t *
bins(const struct histogram *h)
{
	json_t *counts = json_array();
	double width = ldexp(1, h->exponent);
	unsigned i;

	for (i = 0; i < h->bins; i++)
		json_array_append_new(counts, json_from_u64(h->count[i]));
	return json_pack("{s:o,s:o,s:o}", "low", real(histogram_edge(h, 0), h->bins > 0),
	                 "width", real(width, h->bins > 0), "counts", counts);
}

void
stats_put_json(struct buf *b, const struct tensor *t, const struct stats *s,
               const struct histogram *h, const char *model)
{
	static const struct stats none = STATS_INIT;
	bool known = s != NULL, any = known && stats_finite(s) > 0;
	json_t *shape = json_array(), *o;
	unsigned i;

	if (!known)
		s = &none;
	for (i = 0; i < tensor_ndim(t); i++)
		json_array_append_new(shape, json_from_u64(tensor_dims(t)[i]));
	o = json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name",
	              tensor_name(t), "dtype", tensor_type(t)->name, "shape", shape, "count",
	              json_from_u64(tensor_items(t)), "min", real(s->min, any), "max",
	              real(s->max, any), "mean", real(any ? stats_mean(s) : 0, any), "std",
	              real(any ? stats_std(s) : 0, any), "l2", real(stats_l2(s), any),
	              "zeros", integer(s->zeros, known), "nan", integer(s->nan, known),
	              "inf", integer(s->inf, known));
	if (o && s->below && json_object_set_new(o, "minus_128", json_from_u64(s->below)) < 0)
		b->failed = true;
	if (o && h && json_object_set_new(o, "histogram", bins(h)) < 0)
		b->failed = true;
	lines_json_of(b, o, model);
}

int
stats_below_text(const struct tensor *t, const struct stats *s, struct buf *b,
                 struct err *e)
{
	char place[STATS_PLACE_TEXT];

	buf_clear(b);
	if (s->below == 0)
		return 0;
	table_name(b, 0, tensor_name(t));
	buf_printf(b, ": %" PRIu64 " of %" PRIu64 " codes %s -128, the first at %s: %s is "
	           "symmetric, and its encoders write -127 to 127", s->below, s->count,
	           s->below == 1 ? "is" : "are", stats_place_text(t, s->first_below, place),
	           tensor_type(t)->name);
	return buf_string(b) ? 0 : err_memory(e);
}

/* ---- distribution ---- */

/* Appends a bin. The longest bar is BAR wide; a bin that is not empty has a bar of at
 * least 1. */
static void
put_bin(struct buf *b, const struct histogram *h, unsigned i, uint64_t most, int width)
{
	static const char bar[] = "##################################################";
	char from[VALUES_TEXT], to[VALUES_TEXT];
	int n = (int)ceil((double)h->count[i] / (double)most * BAR);

	_Static_assert(sizeof bar == BAR + 1, "a bar");
	buf_printf(b, "%*s  %*s  %12" PRIu64 "%s%.*s\n", width,
	       values_number(histogram_edge(h, i), false, from), width,
	       values_number(histogram_edge(h, i + 1), false, to), h->count[i],
	       n ? "  " : "", n, bar);
}

static int
edges_width(const struct histogram *h)
{
	char edge[VALUES_TEXT];
	int width = 4;
	unsigned i;

	for (i = 0; i <= h->bins; i++) {
		int n = (int)strlen(values_number(histogram_edge(h, i), false, edge));

		width = n > width ? n : width;
	}
	return width;
}

void
stats_put_histogram(struct buf *b, const struct tensor *t, const struct stats *s,
                    const struct histogram *h)
{
	char name[1024], shape[TENSOR_SHAPE_TEXT], min[SHORT], max[SHORT], mean[SHORT],
		std[SHORT];
	bool any = stats_finite(s) > 0;
	uint64_t most = 1;
	unsigned i;
	int width = edges_width(h);

	buf_printf(b, "Distribution: %s (%s, %s)\n",
	       text_quote(name, sizeof name, tensor_name(t), strlen(tensor_name(t))),
	       tensor_type(t)->name, tensor_shape_text(t, shape));
	buf_printf(b, "Min: %s  Max: %s  Mean: %s  Std: %s\n", number(s->min, any, min),
	       number(s->max, any, max), number(any ? stats_mean(s) : 0, any, mean),
	       number(any ? stats_std(s) : 0, any, std));
	if (s->nan || s->inf)
		buf_printf(b, "NaN: %" PRIu64 "  Inf: %" PRIu64 "\n", s->nan, s->inf);
	if (any)
		buf_printf(b, "\n%*s  %*s  %12s\n", width, "from", width, "to", "count");
	for (i = 0; i < h->bins; i++)
		most = h->count[i] > most ? h->count[i] : most;
	for (i = 0; i < h->bins; i++)
		put_bin(b, h, i, most, width);
}

char *
stats_place_text(const struct tensor *t, uint64_t index, char dst[STATS_PLACE_TEXT])
{
	uint64_t at[TENSOR_DIMS];
	unsigned i, ndim = tensor_ndim(t);
	size_t n;

	for (i = ndim; i-- > 0; index /= tensor_dims(t)[i])
		at[i] = index % tensor_dims(t)[i];
	n = (size_t)snprintf(dst, STATS_PLACE_TEXT, "[");
	for (i = 0; i < ndim; i++)
		n += (size_t)snprintf(dst + n, STATS_PLACE_TEXT - n, "%s%" PRIu64,
		                      i ? "," : "", at[i]);
	snprintf(dst + n, STATS_PLACE_TEXT - n, "]");
	return dst;
}
