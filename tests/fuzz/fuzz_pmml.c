/* fuzz_pmml: what predictor.h asks of the reader of PMML, and of lib/wire/xml.h: elements, attributes and texts of
 * the tree can all be reached, and there are not more of them than the document has bytes for.
 *
 * The mutator leaves out, doubles, moves and exchanges whole elements, and gives attributes other values: those of
 * other attributes, and words that the reader asks for.
 */
#include "predictor.h"

#include <ctype.h>

#include "mutate_text.h"
#include "wire/xml.h"

/* ---- the target ---- */

static void
walk(const struct xml *x, uint32_t node, size_t *seen, size_t *bytes)
{
	const struct xml_node *o = &x->nodes[node];
	uint32_t c, i;

	must(node < x->count && ++*seen < x->count);
	*bytes += strlen(xml_name(x, node)) + strlen(xml_text(x, node));
	for (i = 0; i < o->attrs; i++)
		must(o->attr + i < x->attr_count);
	for (c = xml_child(x, node, NULL); c; c = xml_next(x, c, NULL)) {
		must(c > node);
		walk(x, c, seen, bytes);
	}
}

static void
check_tree(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct xml x = { 0 };
	size_t seen = 0, bytes = 0;

	if (xml_read(&x, data, size, "in", &e) < 0) {
		must(e.code != ERR_NONE);
		fuzz_refused(&e, false);
	} else {
		walk(&x, 1, &seen, &bytes);
		must(seen + 1 == x.count && seen <= size / 4 && x.text.n <= 4 * size + 16);
	}
	xml_free(&x);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct predict_reader *reader = predict_probe(data, size);

	check_tree(data, size);
	if (reader && strcmp(reader->library, "PMML") == 0)
		check_model(reader, data, size);
	return 0;
}

/* ---- the mutator ---- */

/* The element that begins at i, with all that is in it. */
static struct text_span
element(const struct buf *b, size_t i)
{
	struct text_span s = { i, b->n };
	size_t depth = 0, k;

	for (; i < b->n; i++) {
		const uint8_t *end = b->p[i] == '<' ? memchr(b->p + i, '>', b->n - i) : NULL;

		if (!end)
			continue;
		k = (size_t)(end - b->p);
		if (b->p[i + 1] == '/')
			depth -= depth > 0;
		else if (end[-1] != '/' && b->p[i + 1] != '?' && b->p[i + 1] != '!')
			depth++;
		i = k;
		if (depth == 0) {
			s.to = k + 1;
			break;
		}
	}
	return s;
}

static struct text_span
pick_element(const struct buf *b, struct dice *d)
{
	size_t i = roll(d, (unsigned)b->n), tries;

	for (tries = 0; tries < b->n; tries++, i = (i + 1) % b->n)
		if (b->p[i] == '<' && i + 1 < b->n && isalpha(b->p[i + 1]))
			return element(b, i);
	return (struct text_span){ 0, 0 };
}

/* The value of an attribute, between its quotes. */
static struct text_span
pick_value(const struct buf *b, struct dice *d)
{
	size_t i = roll(d, (unsigned)b->n), k;

	for (; i + 1 < b->n; i++)
		if (b->p[i] == '=' && b->p[i + 1] == '"') {
			for (k = i + 2; k < b->n && b->p[k] != '"'; k++)
				;
			return (struct text_span){ i + 2, k };
		}
	return (struct text_span){ 0, 0 };
}

static void
change_elements(struct buf *b, struct dice *d)
{
	struct text_span from = pick_element(b, d), to = pick_element(b, d);
	struct buf copy = { 0 };

	buf_put(&copy, b->p + from.from, from.to - from.from);
	switch (roll(d, 4)) {
	case 0:
		text_replace(b, from, "", 0);
		break;
	case 1: /* behind the other one */
		text_replace(b, (struct text_span){ to.to, to.to }, copy.p, copy.n);
		break;
	case 2: /* in front of it */
		text_replace(b, (struct text_span){ to.from, to.from }, copy.p, copy.n);
		break;
	default:
		text_replace(b, to, copy.p, copy.n);
	}
	buf_free(&copy);
}

static void
change_value(struct buf *b, struct dice *d)
{
	static const char *const words[] = { "0", "1", "-1", "0.5", "1e308", "-1e-320", "4294967296", "3", "NaN", "a", "b", "c",
		"d", "f0", "y", "yes", "no", "red", "lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual", "equal",
		"notEqual", "isMissing", "isNotMissing", "isIn", "isNotIn", "and", "or", "xor", "surrogate", "none",
		"lastPrediction", "nullPrediction", "defaultChild", "weightedConfidence", "returnLastPrediction",
		"returnNullPrediction", "sum", "average", "weightedAverage", "majorityVote", "weightedMajorityVote",
		"selectFirst", "modelChain", "classification", "regression", "logit", "softmax", "simplemax", "probit",
		"exp", "string", "double", "float", "integer", "boolean", "asIs", "asMissing", "asValue",
		"returnInvalid", "asExtremeValues", "asMissingValues", "closedOpen", "if", "+", "/", "ln", "min",
		"true", "target", "supplementary" };
	struct text_span to = pick_value(b, d), from = pick_value(b, d);
	struct buf copy = { 0 };

	if (roll(d, 3) == 0)
		buf_put(&copy, b->p + from.from, from.to - from.from);
	else
		buf_text(&copy, ONE_OF(d, words));
	text_replace(b, to, copy.p, copy.n);
	buf_free(&copy);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct buf b = { 0 };

	if (size < 8 || roll(&d, 8) == 0)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, size);
	do
		if (roll(&d, 2))
			change_elements(&b, &d);
		else
			change_value(&b, &d);
	while (b.n > 8 && roll(&d, 2));
	return mutate_done(&b, data, size, max);
}
