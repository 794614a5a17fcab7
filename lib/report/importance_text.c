#include "report/importance_text.h"

#include <inttypes.h>
#include <math.h>

#include "report/lines.h"
#include "report/table.h"

struct summary {
	size_t columns;
	double count, mean, max; /* count: the largest of its matrices */
	double zeros, entropy;   /* shares */
};

/* Columns of a matrix that was never used do not count. */
static struct summary
summarize(const struct imatrix_entry *x)
{
	struct summary s = { .columns = x->n / x->count_n };
	double sum = 0, bits = 0;
	size_t k, used = 0, zeros = 0;

	for (k = 0; k < x->n; k++) {
		const double count = x->counts[k / s.columns];
		const double v = count > 0 ? x->values[k] / count : 0;

		s.count = count > s.count ? count : s.count;
		used += count > 0;
		zeros += count > 0 && v == 0;
		sum += v;
		s.max = v > s.max ? v : s.max;
	}
	for (k = 0; sum > 0 && k < x->n; k++) {
		const double count = x->counts[k / s.columns];
		const double p = count > 0 ? x->values[k] / count / sum : 0;

		bits -= p > 0 ? p * log2(p) : 0;
	}
	s.mean = used ? sum / (double)used : 0;
	s.zeros = used ? (double)zeros / (double)used : 0;
	s.entropy = used > 1 ? bits / log2((double)used) : 0;
	return s;
}

void
importance_put(struct buf *b, const struct imatrix *m)
{
	struct buf name = { 0 };
	int width = TABLE_NAME;
	size_t i;

	for (i = 0; i < m->n; i++)
		width = table_widen(width, TABLE_NAME_MOST, m->entries[i].name);
	buf_printf(b, "%-*s %8s %8s %10s %12s %12s %7s %8s\n", width, "name", "matrices", "columns",
	           m->by_chunk ? "chunks" : "tokens", "mean", "max", "zeros", "entropy");
	for (i = 0; i < m->n; i++) {
		const struct imatrix_entry *x = &m->entries[i];
		const struct summary s = summarize(x);

		buf_printf(b, "%s %8zu %8zu %10.0f %12.6g %12.6g %6.2f%% %7.2f%%\n",
		           table_name(&name, width, x->name), x->count_n, s.columns, s.count, s.mean,
		           s.max, 100 * s.zeros, 100 * s.entropy);
	}
	b->failed |= !buf_ok(&name);
	buf_free(&name);
}

void
importance_put_json(struct buf *b, const struct imatrix *m)
{
	size_t i;

	for (i = 0; i < m->n; i++) {
		const struct imatrix_entry *x = &m->entries[i];
		const struct summary s = summarize(x);

		lines_json(b, json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:f}", "name", x->name, "matrices",
		                        (json_int_t)x->count_n, "columns", (json_int_t)s.columns,
		                        m->by_chunk ? "chunks" : "tokens", s.count, "mean", s.mean, "max",
		                        s.max, "zeros", s.zeros, "entropy", s.entropy));
	}
}
