/* fuzz_pickle: what is asked of the machine that reads pickles.
 *
 *     1. A pickle is read to its end, or refused with a message that a terminal can show.
 *     2. Every number of a node is inside the graph: kinds, chains of the stated length, bytes.
 *     3. What is tolerant of calls refuses only damage; what is not tolerant accepts nothing
 *        that the other one recorded a call in.
 *     4. Nodes and calls can be shown.
 */
#include "mutate.h"

#include "mutate_pickle.h"

static const struct pickle_name names[] = {
	{ "os", NULL, PICKLE_EXECUTES },
	{ "collections", "OrderedDict", PICKLE_OPAQUE },
	{ "torch", NULL, PICKLE_MEANING },
};

static void
check_chain(const struct pickle *k, pickle_ref r)
{
	const struct pickle_node *x = pickle_node(k, r);
	const struct pickle_cell *c;
	size_t n = 0;

	for (c = pickle_first(k, r); c; c = pickle_next(k, c), n++)
		must(c->node < k->node_count);
	must(n == x->count);
	if (x->kind == PICKLE_DICT || (x->kind == PICKLE_CALL && x->pairs))
		must(n % 2 == 0);
}

static void
check_node(const struct pickle *k, pickle_ref r)
{
	const struct pickle_node *x = pickle_node(k, r);
	pickle_ref items[4];
	struct buf b = { 0 };
	size_t n;
	const uint8_t *p;

	switch ((enum pickle_kind)x->kind) {
	case PICKLE_NONE: case PICKLE_BOOL: case PICKLE_INT: case PICKLE_FLOAT:
		break;
	case PICKLE_LONG: case PICKLE_TEXT: case PICKLE_BYTES:
		p = pickle_bytes(k, r, &n);
		crc32_add(0, p, n);
		must(x->kind != PICKLE_TEXT || text_utf8(p, n, true));
		break;
	case PICKLE_TUPLE: case PICKLE_LIST: case PICKLE_SET: case PICKLE_DICT:
		check_chain(k, r);
		break;
	case PICKLE_GLOBAL:
		must(x->u.global.module < k->node_count && x->u.global.name < k->node_count);
		break;
	case PICKLE_CALL:
		check_chain(k, r);
		must(x->function < k->node_count && x->args < k->node_count);
		must(x->state == PICKLE_NOTHING || x->state < k->node_count);
		break;
	case PICKLE_PERSISTENT:
		must(x->args < k->node_count);
		break;
	default:
		must(false);
	}
	pickle_items(k, r, items, 4);
	pickle_what(k, r);
	pickle_show(k, r, &b);
	must(buf_string(&b) && b.n < 1200);
	fuzz_printable((char *)b.p);
	buf_free(&b);
}

static int
read_pickle(struct pickle *k, const uint8_t *data, size_t size, bool tolerant, struct err *e)
{
	*k = (struct pickle){ .names = names, .name_count = 3, .tolerant = tolerant,
		.persistent = true, .where = "in" };
	return pickle_read(k, data, size, e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT, e2 = ERR_INIT;
	struct pickle k, strict;
	size_t i;
	int r = read_pickle(&k, data, size, true, &e);

	must((r == 0) == (e.code == ERR_NONE));
	if (r < 0)
		fuzz_refused(&e, false);
	else
		must(k.root < k.node_count && k.end <= size);
	for (i = 0; i < k.node_count && i < 4096; i++)
		if (r == 0)
			check_node(&k, (pickle_ref)i);
	must(read_pickle(&strict, data, size, false, &e2) == (r == 0 && k.call_count == 0 ? 0 : -1));
	if (e2.code != ERR_NONE)
		fuzz_refused(&e2, false);
	pickle_free(&k);
	pickle_free(&strict);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };

	if (seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, size);
	mutate_pickle(&b, seed / 8);
	return mutate_done(&b, data, size, max);
}
