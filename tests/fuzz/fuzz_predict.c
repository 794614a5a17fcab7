/* fuzz_predict: what predictor.h asks of the readers of classical models.
 *
 * The mutator leaves out, doubles and exchanges values of JSON, lines, opcodes of pickles and integers
 * of binary files, and changes numbers in text; in archives, those of a member; in models of ONNX, fields of
 * messages at any depth and whole operators.
 */
#include "predictor.h"

#include <ctype.h>

#include "mutate_onnx.h"
#include "mutate_pickle.h"
#include "mutate_text.h"
#include "mutate_zip.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct predict_reader *reader = predict_probe(data, size);

	if (reader)
		check_model(reader, data, size);
	return 0;
}

/* Writes another number over one in a text. */
static void
change_number(struct buf *b, struct dice *d)
{
	static const char *const numbers[] = { "0", "1", "-1", "2", "3", "1e9", "NaN", "0.5", "1e400",
		"4294967296", "-2", "\"1\"", "[]", "null" };
	size_t from = b->n ? roll(d, (unsigned)b->n) : 0, to;
	const char *text = ONE_OF(d, numbers);
	struct buf tail = { 0 };

	while (from < b->n && !isdigit(b->p[from]))
		from++;
	for (to = from; to < b->n && (isdigit(b->p[to]) || b->p[to] == '.'); to++)
		;
	buf_put(&tail, b->p + to, b->n - to);
	b->n = from;
	buf_text(b, text);
	buf_put(b, tail.p, tail.n);
	buf_free(&tail);
}

/* A change that the format of the file can bear. */
static void
change(struct buf *b, struct dice *d)
{
	bool json = b->n > 1 && *b->p == '{' && !strchr("LiU", b->p[1] ? b->p[1] : 'L');
	bool text = b->n > 4 && (json || memchr(b->p, '\n', b->n < 64 ? b->n : 64));

	if (b->n > 0 && *b->p == 0x80 && roll(d, 2))
		mutate_pickle(b, roll(d, 1u << 30));
	else if (b->n > 4 && *b->p == 8 && b->p[1] < 32 && roll(d, 8))
		mutate_onnx(b, d);
	else if (!text && roll(d, 4))
		word_mutate(b, d);
	else if (text && roll(d, 2))
		change_number(b, d);
	else
		text_mutate(b, d, json ? "," : "", json ? json_pick : line_pick);
}

static void
change_member(struct buf *content, const struct zip_entry *x, unsigned seed)
{
	struct dice d = { .state = seed };
	size_t n = content->n;

	if (x->name_bytes > 5 && memcmp(x->name + x->name_bytes - 5, ".json", 5) == 0 && roll(&d, 8))
		change(content, &d);
	else
		mutate_piece(content, 0, &n);
}

/* True if it was an archive. */
static bool
change_archive(struct buf *b, const uint8_t *data, size_t size, struct dice *d)
{
	struct err e = ERR_INIT;
	struct zip z = { 0 };
	bool whole = zip_open(&z, data, size, NULL, "in", &e) == 0 && z.count > 0;

	if (whole)
		mutate_zip(b, &z, roll(d, 1u << 30), change_member);
	zip_free(&z);
	return whole;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct buf b = { 0 };

	if (roll(&d, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (!change_archive(&b, data, size, &d)) {
		buf_put(&b, data, size);
		change(&b, &d);
	}
	return mutate_done(&b, data, size, max);
}
