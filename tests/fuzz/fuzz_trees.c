/* fuzz_trees: what is asked of the judge of decision trees whose columns are tensors (check/trees.h).
 *
 *     1. Any columns give figures and faults, in bounded time and memory.
 *     2. The depth is below the number of nodes, and there are at most as many trees as columns or items came.
 *     3. The pieces in which a column comes do not matter.
 *
 * The input: for each column a byte with its kind (low 3 bits; bit 3: of forest.…), a model that states
 * features and probabilities (bit 6) and a new tree (bit 7), a byte with its items, and the items.
 */
#include "fuzz.h"

#include "check/trees.h"

static const struct {
	const char *name, *type;
	size_t bytes;
} kinds[16] = {
	{ "node_features", "I64", 8 }, { "node_thresholds", "F32", 4 }, { "node_classes", "U64", 8 },
	{ "node_values", "F32", 4 }, { "node_left_child", "I64", 8 }, { "node_right_child", "I64", 8 },
	{ "n_features", "U64", 8 }, { "node_samples", "U64", 8 },
	{ "forest.counts", "I32", 4 }, { "forest.features", "I32", 4 }, { "forest.thresholds", "F64", 8 },
	{ "forest.left", "I32", 4 }, { "forest.values", "F64", 8 }, { "forest.groups", "I32", 4 },
	{ "forest.ids", "I32", 4 }, { "forest.covers", "F64", 8 },
};

/* Feeds all columns in pieces of this size; the number of trees that came. */
static unsigned
feed(struct trees *t, const uint8_t *p, size_t n, size_t piece)
{
	unsigned tree = 0;
	struct err e = ERR_INIT;
	size_t bytes, k, some;

	for (; n >= 2; p += bytes, n -= bytes) {
		unsigned kind = *p & 15;
		uint64_t items = p[1];
		char name[64];
		struct tensor *tensor;
		bool wanted = false;

		tree += *p >> 7;
		if (*p & 0x40)
			t->said = (struct classic_form){ .known = true, .features = 4, .width = 2, .classes = 2,
				.shares = true, .average = true };
		p += 2;
		n -= 2;
		bytes = (size_t)items * kinds[kind].bytes;
		if (bytes > n)
			break;
		snprintf(name, sizeof name, "tree_%u_%s", tree, kinds[kind].name);
		if (kind > 7)
			snprintf(name, sizeof name, "%s", kinds[kind].name);
		tensor = tensor_new(name, strlen(name), dtype_by_name(kinds[kind].type), 1, &items,
		                    TENSOR_OWN_SIZE, "in", &e);
		must(tensor && trees_begin(t, tensor, &wanted, &e) == 0 && wanted == (kind != 7 && kind < 13));
		for (k = 0; wanted && k < bytes; k += some) {
			some = bytes - k < piece ? bytes - k : piece;
			must(trees_add(t, p + k, some, &e) == 0);
		}
		tensor_free(tensor);
	}
	must(trees_end(t, &e) == 0);
	return tree + 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trees a = { 0 }, b = { 0 };
	unsigned n = feed(&a, data, size, SIZE_MAX);
	size_t i;

	must(feed(&b, data, size, 3) == n);
	must(a.count <= n + UINT8_MAX && (a.depth < a.nodes || a.depth == 0) && a.found_count <= TREES_FAULTS);
	must(a.count == b.count && a.nodes == b.nodes && a.depth == b.depth &&
	     a.features == b.features && a.classes == b.classes && a.found_count == b.found_count);
	for (i = 0; i < a.found_count; i++)
		must(a.found[i].kind == b.found[i].kind && a.found[i].kind < TREES_KINDS);
	trees_free(&a);
	trees_free(&b);
	return 0;
}
