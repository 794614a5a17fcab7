/* fuzz_imatrix: an importance matrix in the older format. What is read is weights
 * that encoders can take: finite, not negative, each name once and in order.
 */
#include "fuzz.h"

#include <math.h>

#include "quant/imatrix.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct imatrix m = { 0 }, sum = { 0 };
	struct err e = ERR_INIT;
	struct reader r;
	size_t i, k, bytes = 0;

	imatrix_is_dat(data, size);
	reader_memory(&r, data, size, "input", &e);
	if (imatrix_read_dat(&m, &r, &e) < 0) {
		fuzz_refused(&e, false);
	} else {
		must(m.n > 0);
		for (i = 0; i < m.n; i++) {
			const struct imatrix_entry *x = &m.entries[i];

			must(x->n > 0 && imatrix_find(&m, x->name) == x);
			must(i == 0 || strcmp(x[-1].name, x->name) < 0);
			for (k = 0; k < x->n; k++)
				must(isfinite(x->values[k]) && x->values[k] >= 0);
			bytes += 12 + strlen(x->name) + 4 * x->n;
		}
		must(bytes <= size);
		if (imatrix_merge(&sum, &m, 512, "input", &e) == 0 &&
		    imatrix_merge(&sum, &m, 512, "input", &e) == 0) {
			must(sum.n == m.n);
			for (i = 0; i < sum.n; i++)
				must(sum.entries[i].n == m.entries[i].n);
		}
		e = (struct err)ERR_INIT;
		if (imatrix_means(&m, &e) == 0)
			for (i = 0; i < m.n; i++)
				for (k = 0; k < m.entries[i].n; k++)
					must(isfinite(m.entries[i].values[k]));
		imatrix_exclude(&m, "a");
	}
	reader_close(&r);
	imatrix_free(&m);
	imatrix_free(&sum);
	return 0;
}
