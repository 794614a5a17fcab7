/* t_batch: rows of several chunks. With any number of threads, from memory and from a pipe, predictions are
 * in order and end in front of a wrong row; a row is answered before the next one is waited for. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predict/rows/batch.h"
#include "test.h"

#define ROWS 120000

static const char model[] = "{\"features_info\":{\"float_features\":[{},{},{}]},\"oblivious_trees\":[{\"splits\":["
	"{\"float_feature_index\":1,\"border\":0.5},{\"float_feature_index\":2,\"border\":7}],"
	"\"leaf_values\":[1,2,3,4.5]}]}";

/* Takes what is put, up to a limit. */
struct sink {
	struct buf got;
	size_t most;
	int answers;   /* a pipe to write the next row to */
	unsigned rows; /* that are still to be written to it */
};

static int
put(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	struct sink *s = ctx;

	buf_put(&s->got, p, n);
	if (s->got.n > s->most)
		return err_set(e, ERR_IO, "sink", "is full");
	if (s->rows > 0 && write(s->answers, "1,2,9\n", 6) != 6)
		return err_set(e, ERR_IO, "sink", "cannot answer");
	if (s->rows > 0 && --s->rows == 0)
		close(s->answers);
	return buf_ok(&s->got) ? 0 : err_memory(e);
}

static int
predict(struct reader *r, unsigned jobs, struct sink *s, struct err *e)
{
	struct predictor m = { 0 };
	struct batch b = { .m = &m, .header = -1, .jobs = jobs, .put = put, .ctx = s,
		.rows = { .m = &m, .where = "rows" } };
	int status = predict_read(&m, predict_probe((const uint8_t *)model, sizeof model - 1),
	                          (const uint8_t *)model, sizeof model - 1, "model", e);

	if (status == 0)
		status = batch_run(&b, r, e);
	rows_free(&b.rows);
	predictor_free(&m);
	return status;
}

/* The rows, and what is expected of the first `count` of them. */
static void
make(struct buf *text, struct buf *want, size_t wrong)
{
	static const char *const scores[] = { "1\n", "2\n", "3\n", "4.5\n" };
	size_t i;

	for (i = 0; i < ROWS; i++) {
		unsigned high = i % 5 > 2, more = i % 7 > 3;

		if (i < wrong)
			buf_text(want, scores[high + 2 * more]);
		buf_printf(text, i == wrong ? "%zu,%u.25,x\n" : "%zu,%u.25,%u\n", i, high, more ? 8 : 6);
	}
}

static int
run_memory(const struct buf *text, unsigned jobs, struct sink *s, struct err *e)
{
	struct reader r;
	int status;

	reader_memory(&r, text->p, text->n, "rows", e);
	status = predict(&r, jobs, s, e);
	reader_close(&r);
	return status;
}

/* From a pipe that another process fills in pieces. */
static int
run_pipe(const struct buf *text, unsigned jobs, struct sink *s, struct err *e)
{
	struct reader r;
	size_t at, n, piece = 1;
	int ends[2], status = -1;
	pid_t child;

	if (pipe(ends) < 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		close(ends[0]);
		for (at = 0; at < text->n; at += n, piece = piece * 7 % 300007) {
			n = text->n - at < piece ? text->n - at : piece;
			if (write(ends[1], text->p + at, n) != (ssize_t)n)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	if (reader_fd(&r, ends[0], "rows", e) == 0)
		status = predict(&r, jobs, s, e);
	reader_close(&r);
	close(ends[0]);
	waitpid(child, NULL, 0);
	return status;
}

static void
test_rows(unsigned jobs, bool piped, size_t wrong)
{
	struct buf text = { 0 }, want = { 0 };
	struct sink s = { .most = SIZE_MAX };
	struct err e = ERR_INIT;
	char fact[80];
	int status;

	make(&text, &want, wrong);
	status = (piped ? run_pipe : run_memory)(&text, jobs, &s, &e);
	test_ok(s.got.n == want.n && memcmp(s.got.p, want.p, want.n) == 0, "%u jobs, %s, %s: predictions", jobs,
	        piped ? "a pipe" : "memory", wrong < ROWS ? "a wrong row" : "all rows");
	snprintf(fact, sizeof fact, "row %zu, column 3: \"x\" is not a number", wrong + 1);
	test_ok(wrong < ROWS ? status < 0 && strcmp(e.fact, fact) == 0 : status == 0, "and the end: %s", e.fact);
	buf_free(&s.got);
	buf_free(&text);
	buf_free(&want);
}

/* Every put fails from a limit on: nothing is put afterwards. */
static void
test_full(unsigned jobs)
{
	struct buf text = { 0 }, want = { 0 };
	struct sink s = { .most = 100000 };
	struct err e = ERR_INIT;
	int status;

	make(&text, &want, ROWS / 2);
	status = run_memory(&text, jobs, &s, &e);
	test_ok(status < 0 && strcmp(e.fact, "is full") == 0 && s.got.n > s.most && s.got.n < s.most + (1u << 20),
	        "%u jobs: an output that is full: %s", jobs, e.fact);
	buf_free(&s.got);
	buf_free(&text);
	buf_free(&want);
}

/* Each answer makes the next row: waiting for more rows first would never end. */
static void
test_answers(unsigned jobs)
{
	struct sink s = { .most = SIZE_MAX, .rows = 20 };
	struct err e = ERR_INIT;
	struct reader r;
	int ends[2], status = -1;

	if (pipe(ends) < 0 || write(ends[1], "1,2,9\n", 6) != 6)
		exit(1);
	s.answers = ends[1];
	alarm(60);
	if (reader_fd(&r, ends[0], "rows", &e) == 0)
		status = predict(&r, jobs, &s, &e);
	alarm(0);
	reader_close(&r);
	close(ends[0]);
	test_ok(status == 0 && s.got.n == 21 * 4, "%u jobs: each row is answered before the next: %s", jobs, e.fact);
	buf_free(&s.got);
}

int
main(void)
{
	static const unsigned jobs[] = { 1, 2, 5 };
	size_t i;

	for (i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		test_rows(jobs[i], i > 0, ROWS);
		test_rows(jobs[i], i < 2, ROWS / 4 * 3);
		test_full(jobs[i]);
		test_answers(jobs[i]);
	}
	return test_done();
}
