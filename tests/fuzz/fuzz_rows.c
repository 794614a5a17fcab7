/* fuzz_rows: what is asked of rows of a table, for a model of three features.
 *
 *     1. Any text is read to its end, or refused with a message that a terminal can show.
 *     2. The predictions do not depend on the number of threads, on the pieces in which the text is
 *        read, nor on the level of the CPU.
 *
 * The mutator writes whole arrays of NumPy (versions, types, orders and shapes, also those whose product
 * overflows), and fields and lines of all forms of text.
 */
#include "mutate.h"

#include "dice.h"

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
	unsigned way = fuzz_way >= 0 ? (unsigned)fuzz_way : crc32_add(0, data, size);
	struct err e = ERR_INIT, e2 = ERR_INIT;
	struct buf a = { 0 }, b = { 0 };
	int r;

	if (!m.features)
		must(predict_read(&m, predict_probe((const uint8_t *)model, sizeof model - 1),
		                  (const uint8_t *)model, sizeof model - 1, "model", &e) == 0);
	r = answer(&m, data, size, 1, false, &a, &e);
	if (r < 0)
		fuzz_refused(&e, false);
	must(setenv("APR_CPU", "ref", 1) == 0);
	must(answer(&m, data, size, way % 8 ? 1 : 2, way % 4 < 2 && size < 60000, &b, &e2) == r);
	must(unsetenv("APR_CPU") == 0);
	must(a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0));
	must(e.code == e2.code && strcmp(e.fact, e2.fact) == 0);
	buf_free(&a);
	buf_free(&b);
	return 0;
}

/* ---- the mutator ---- */

static void
put_shape(struct buf *b, struct dice *d)
{
	static const char *const others[] = { "()", "(3)", "3,", "(0, 3)", "(2, 0)", "(3, 1, 1)", "(1, 1, 3)",
		"(18446744073709551615, 3)", "(6148914691236517206, 3)", "(3, 6148914691236517206)",
		"(4294967296, 4294967296)", "(99999999999999999999, 3)", "(-1, 3)", "(2, 3", "[2, 3]", "(2L, 3L)",
		"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,3)" };

	if (roll(d, 3))
		buf_printf(b, "(%u, 3)", roll(d, 9));
	else
		buf_text(b, ONE_OF(d, others));
}

static void
put_array(struct buf *b, struct dice *d)
{
	static const char *const types[] = { "<f4", "<f8", ">f4", ">f8", "<f2", ">f2", "|u1", "|i1", "|b1", "<i2",
		">i2", "<u4", ">i8", "<i8", "<u8", "=f4", "<c8", "|O", "|S3", "<U2", "<f16", "<M8[s]", "f4", "" };
	static const char *const orders[] = { "False", "True", "False", "True", "0", "None" };
	static const uint8_t versions[] = { 1, 1, 2, 2, 3, 3, 0, 4 };
	uint8_t version = ONE_OF(d, versions);
	struct buf head = { 0 };
	unsigned n;

	buf_printf(&head, "{'descr': '%s', 'fortran_order': %s, 'shape': ", ONE_OF(d, types), ONE_OF(d, orders));
	put_shape(&head, d);
	buf_text(&head, roll(d, 9) ? ", }" : "}");
	for (n = roll(d, 4) ? 64 - (head.n + (version < 2 ? 11 : 13)) % 64 : roll(d, 70); n > 0; n--)
		buf_text(&head, " ");
	buf_text(&head, roll(d, 9) ? "\n" : "");
	buf_put(b, "\x93NUMPY", 6);
	buf_u8(b, version);
	buf_u8(b, (uint8_t)(roll(d, 9) ? 0 : 7));
	buf_integer(b, version < 2 ? 2 : 4, head.n + (roll(d, 9) ? 0 : roll(d, 300)));
	buf_put(b, head.p, head.n);
	for (n = roll(d, 3) ? 24 * roll(d, 9) : roll(d, 220); n > 0; n--)
		buf_u8(b, (uint8_t)(roll(d, 3) ? 0x3f : roll(d, 256)));
	buf_free(&head);
}

static void
put_field(struct buf *b, struct dice *d)
{
	static const char *const fields[] = { "", " ", "0", "-0", "7", "0.5", "-1e5", "1e400", "nan", "NA", "inf", "x",
		"\"0.5\"", "\"a,b\"", "\"\"\"\"", "\"", "1 2", " 3 ", "0.1234567890123456", "12345678901234567", "1.2.3", ".",
		"1e", "null", "?", "-", "9007199254740993", "4.9e-324", "2:1.5", "0:0.25", "1:", ":1", "9:1", "qid:3",
		"# 1", "\xff", "true", "[1]", "{}", "\"\\u0000\"" };
	unsigned n;

	if (roll(d, 2)) {
		buf_text(b, ONE_OF(d, fields));
		return;
	}
	for (n = roll(d, 24); n > 0; n--)
		buf_u8(b, (uint8_t)"01234567890123456789.-+e"[roll(d, 24)]);
}

static void
put_line(struct buf *b, struct dice *d)
{
	static const char *const betweens[] = { ",", "\t", " ", ",", "\t", " ", ", ", "  ", ";" };
	static const char *const ends[] = { "\n", "\n", "\n", "\r\n", "\r", "", "\n\n" };
	const char *between = ONE_OF(d, betweens);
	unsigned i, n = roll(d, 4) ? 3 : roll(d, 30), json = roll(d, 6);

	buf_text(b, json == 0 ? "[" : json == 1 ? "{\"a\":" : "");
	for (i = 0; i < n; i++) {
		buf_text(b, i ? between : "");
		if (json == 1 && i)
			buf_printf(b, "\"%c\":", 'a' + (int)i % 26);
		else if (json == 2)
			buf_printf(b, "%u:", i);
		put_field(b, d);
	}
	buf_text(b, json == 0 ? "]" : json == 1 ? "}" : "");
	buf_text(b, ONE_OF(d, ends));
}

/* Where a line begins, or the end. */
static size_t
line_at(const uint8_t *data, size_t size, struct dice *d)
{
	size_t i = size ? roll(d, (unsigned)size) : 0;

	while (i > 0 && i < size && data[i - 1] != '\n')
		i++;
	return i;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	unsigned kind = roll(&d, 8), n;
	struct buf b = { 0 };
	size_t at;

	if (kind < 3)
		return LLVMFuzzerMutate(data, size, max);
	if (kind == 3) {
		put_array(&b, &d);
		return mutate_done(&b, data, size, max);
	}
	at = line_at(data, size, &d);
	buf_put(&b, data, at);
	for (n = 1 + roll(&d, 3); n > 0; n--)
		put_line(&b, &d);
	if (kind > 5)
		at = line_at(data, size, &d);
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
