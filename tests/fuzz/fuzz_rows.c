/* fuzz_rows: what is asked of rows of a table, for a model of three features.
 *
 *     1. Any text is read to its end, or refused with a message that a terminal can show.
 *     2. The predictions do not depend on the number of threads, nor on the pieces in which the
 *        text is read.
 */
#include "fuzz.h"

#include "predict/rows/batch.h"

static const char model[] = "{\"features_info\":{\"float_features\":[{\"feature_id\":\"a\"},"
	"{\"feature_id\":\"b\"},{\"feature_id\":\"c\"}]},\"oblivious_trees\":[{\"splits\":["
	"{\"float_feature_index\":1,\"border\":0.5},{\"float_feature_index\":2,\"border\":7}],"
	"\"leaf_values\":[1,2,3,4.5]}]}";

static int
put(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	buf_put(ctx, p, n);
	return buf_ok(ctx) ? 0 : err_memory(e);
}

static int
answer(struct predictor *m, const uint8_t *data, size_t size, unsigned jobs, bool piped,
       struct buf *to, struct err *e)
{
	struct batch b = { .m = m, .header = -1, .jobs = jobs, .put = put, .ctx = to,
		.rows = { .m = m, .where = "rows" } };
	struct reader r;
	int pipes[2], status = -1;

	if (!piped) {
		reader_memory(&r, data, size, "rows", e);
	} else {
		must(pipe(pipes) == 0 && write(pipes[1], data, size) == (ssize_t)size);
		close(pipes[1]);
		if (reader_fd(&r, pipes[0], "rows", e) < 0)
			return -1;
	}
	status = batch_run(&b, &r, e);
	reader_close(&r);
	if (piped)
		close(pipes[0]);
	rows_free(&b.rows);
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct predictor m;
	struct err e = ERR_INIT, e2 = ERR_INIT;
	struct buf a = { 0 }, b = { 0 };
	int r;

	if (!m.features)
		must(predict_read(&m, predict_probe((const uint8_t *)model, sizeof model - 1),
		                  (const uint8_t *)model, sizeof model - 1, "model", &e) == 0);
	r = answer(&m, data, size, 1, false, &a, &e);
	if (r < 0)
		fuzz_refused(&e, false);
	must(answer(&m, data, size, 2, size < 60000, &b, &e2) == r);
	must(a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0));
	must(e.code == e2.code && strcmp(e.fact, e2.fact) == 0);
	buf_free(&a);
	buf_free(&b);
	return 0;
}
