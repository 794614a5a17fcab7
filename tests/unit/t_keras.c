/* Models of Keras, and files with one fault each. */
#include "imports.h"

#include "../gen/keras.h"
#include "imports/keras/keras.h"
#include "imports/torch/torch.h"

static const struct format_options usual;

static bool
has_bytes(const struct brought *b, const char *name, const char *type, const char *shape,
          const char *bytes, size_t n)
{
	struct gen want = { 0 };
	bool r;

	put(&want, bytes, n);
	r = holds(b, name, type, shape, &want);
	gen_free(&want);
	return r;
}

static bool
has_ramp(const struct brought *b, const char *name, const char *shape, size_t n)
{
	struct gen want = { 0 };
	bool r;

	put_ramp(&want, n);
	r = holds(b, name, "F32", shape, &want);
	gen_free(&want);
	return r;
}

/* True if a key has this text, behind `head` bytes of its value. */
static bool
has_text(const struct brought *b, const char *key, size_t head, const char *want)
{
	const struct model *m = b->source->plan;
	const struct meta *k = model_find(m, key);

	if (k && k->wire_bytes == head + strlen(want) &&
	    memcmp(k->wire + head, want, strlen(want)) == 0)
		return true;
	printf("# %s: %.*s\n", key, k ? (int)(k->wire_bytes - head) : 4,
	       k ? (const char *)k->wire + head : "none");
	return false;
}

static bool
opens(struct brought *b, const struct gen *g, const struct format_options *o, bool pipe,
      size_t tensors, const char *what)
{
	const int r = bring(b, &format_keras, g->p, g->n, o, pipe);

	return test_ok(r == 0 && b->source->plan->tensor_count == tensors, "%s%s: %zu tensors: %s %s", what,
	               pipe ? ", pipe" : "", b->source ? b->source->plan->tensor_count : 0,
	               b->err.object, b->err.fact);
}

static void
whole_model(bool pipe)
{
	struct gen g = { 0 };
	struct brought b;

	made_h5(&g);
	if (opens(&b, &g, &usual, pipe, 7, "a whole model")) {
		test_ok(has_ramp(&b, "dense/kernel:0", "2x3", 24), "values in one piece");
		test_ok(has_bytes(&b, "dense/bias:0", "F16", "3", "\0\x3c\1\x40\2\x42", 6),
		        "big-endian values in chunks, shuffled, deflated, with checksums");
		test_ok(has_bytes(&b, "flags:0", "BOOL", "2", "\1\0", 2), "truth values of h5py");
		test_ok(has_bytes(&b, "gamma:0", "F64", "scalar", "\0\0\0\0\0\0\xf0\x3f", 8),
		        "a value in its header");
		test_ok(has_bytes(&b, "half:0", "BF16", "2", "\x80\x3f\0\x40", 4),
		        "opaque values that are bfloat16 by their attribute");
		test_ok(has_bytes(&b, "unset:0", "U8", "2", "\7\7", 2), "a fill value");
		test_ok(has_bytes(&b, "bn/dense/kernel:0", "I64", "1", "\5\0\0\0\0\0\0\0", 8),
		        "a name that is used again gets that of its layer");
		test_ok(has_text(&b, "keras.model_config", 8, H5_CONFIG), "the configuration");
		test_ok(has_text(&b, "keras.version", 8, "2.15.0") &&
		        has_text(&b, "keras.backend", 8, "jax"), "version and backend");
		test_ok(has_text(&b, "keras.tensors", 0, "{\"dense/kernel:0\":{\"layout\":\"IO\"}}"),
		        "the layout of a layer whose class is known");
		test_ok(strcmp(noted, "1 Lambda layer, the first is lam: code of Python in the "
		               "configuration, which never runs here\n"
		               "1 object of classes outside Keras, the first is Mine>Norm: only weights "
		               "are read\n"
		               "left out: 1 tensor of the optimizer; --all reads it\n") == 0,
		        "notes");
	}
	let_go(&b);
	gen_free(&g);
}

static void
variables(bool pipe)
{
	const struct format_choice choice = { &torch_options[TORCH_ALL], "" };
	const struct format_options all = { .own = &choice, .own_count = 1 };
	struct gen g = { 0 };
	struct brought b;

	made_h5_new(&g);
	if (opens(&b, &g, &usual, pipe, 2, "variables of version 3")) {
		test_ok(has_ramp(&b, "layers/dense/vars/0", "2x2", 16),
		        "a header of version 2 in two parts");
		test_ok(has_bytes(&b, "layers/dense/vars/1", "U8", "2", "\7\7", 2), "a fill value");
		test_ok(has_text(&b, "keras.tensors", 0, "{\"layers/dense/vars/0\":{\"layout\":\"IO\"}}"),
		        "the layout, by the name of the layer");
	}
	let_go(&b);
	if (opens(&b, &g, &all, pipe, 3, "with those of the optimizer"))
		test_ok(has_bytes(&b, "optimizer/0", "I64", "scalar", "\1\0\0\0\0\0\0\0", 8),
		        "a variable of the optimizer");
	let_go(&b);
	gen_free(&g);
}

/* ---- archives ---- */

#define METADATA "{\"keras_version\": \"3.10.0\", \"date_saved\": \"2026-01-17@12:31:14\"}"

static void
made_archive(struct gen *g)
{
	struct gen h5 = { 0 };
	struct member list[] = { { "metadata.json", METADATA, sizeof METADATA - 1, 0 },
		{ "config.json", H5_CONFIG, sizeof H5_CONFIG - 1, 0 }, { "model.weights.h5", NULL, 0, 0 },
		{ "assets/words.txt", "a", 1, 0 } };

	made_h5_new(&h5);
	list[2].p = h5.p;
	list[2].n = h5.n;
	put_zip(g, list, 4);
	gen_free(&h5);
}

/* The same with weights that are deflated, in stored blocks. */
static void
made_deflated(struct gen *g)
{
	struct gen h5 = { 0 }, deflated = { 0 };
	struct member list[] = { { "metadata.json", METADATA, sizeof METADATA - 1, 0 },
		{ "model.weights.h5", NULL, 0, 0 } };
	unsigned i;

	made_h5_new(&h5);
	put_u8(&deflated, 1);
	put_u16(&deflated, (unsigned)h5.n);
	put_u16(&deflated, ~(unsigned)h5.n & 0xffff);
	put(&deflated, h5.p, h5.n);
	list[1].p = deflated.p;
	list[1].n = deflated.n;
	put_zip(g, list, 2);
	for (i = 0; i < 2; i++) {
		h5_set(g, mark_at(g, i ? "c1.method" : "l1.method"), 8, 2);
		h5_set(g, mark_at(g, i ? "c1.crc" : "l1.crc"), crc_of(h5.p, h5.n), 4);
		h5_set(g, mark_at(g, i ? "c1.bytes" : "l1.bytes"), h5.n, 4);
	}
	gen_free(&h5);
	gen_free(&deflated);
}

static void
archives(bool pipe)
{
	struct gen g = { 0 };
	struct brought b;

	made_archive(&g);
	if (opens(&b, &g, &usual, pipe, 2, "an archive")) {
		test_ok(has_ramp(&b, "layers/dense/vars/0", "2x2", 16), "its weights");
		test_ok(has_text(&b, "keras.version", 8, "3.10.0") &&
		        has_text(&b, "keras.date_saved", 8, "2026-01-17@12:31:14") &&
		        has_text(&b, "keras.model_config", 8, H5_CONFIG), "its keys");
		test_ok(strstr(noted, "left out: 1 other member of the archive\n") != NULL,
		        "other members are counted");
	}
	let_go(&b);
	gen_free(&g);
	made_deflated(&g);
	if (opens(&b, &g, &usual, pipe, 2, "a deflated archive"))
		test_ok(has_ramp(&b, "layers/dense/vars/0", "2x2", 16), "its weights");
	let_go(&b);
	gen_free(&g);
}

/* ---- faults ---- */

#define SET16(MARK, V) { EDIT_SET, MARK, V, 2, NULL, 0 }

static const struct fault faults[] = {
	{ "version 4 of the superblock", 4, "version 4 of the superblock", SET8("version", 4), { 0 } },
	{ "addresses of 4 bytes", 4, "addresses of 4 bytes", SET8("addresses", 4), { 0 } },
	{ "lengths of 2 bytes", 4, "lengths of 2", SET16("addresses", 0x0208), { 0 } },
	{ "a base address", 4, "base address", SET64("base", 512), { 0 } },
	{ "a file of several", 4, "one of several files", SET64("driver", 96), { 0 } },
	{ "more bytes than the file has", 4, "is not whole", SET64("eof", 1 << 30), { 0 } },
	{ "an end at 2^64 - 1", 4, "is not whole", SET64("eof", UINT64_MAX), { 0 } },
	{ "an end in front of the data", 4, "beyond its end", SET64("eof", 1024), { 0 } },
	{ "a root beyond the end", 4, "a header at offset", SET64("root", 1 << 30), { 0 } },
	{ "a root at 2^64 - 1", 4, "a header at offset", SET64("root", UINT64_MAX), { 0 } },
	{ "a root that is not a header", 4, "no header of version 1 or 2", SET64("root", 8), { 0 } },
	{ "a header of version 3", 4, "no header of version 1 or 2", SET8("group", 3), { 0 } },
	{ "a header of 2^32 - 1 bytes", 4, "a part of a header at offset", SET32("group_bytes", UINT32_MAX), { 0 } },
	{ "a tree that is not one", 4, "no B-tree of links", SET8("tree", 'x'), { 0 } },
	{ "a tree of chunks in place of one of links", 4, "no B-tree of links", TEXT("tree", "TREE\1"), { 0 } },
	{ "a tree of level 1 above a leaf", 4, "no B-tree of links", TEXT("tree", "TREE\0\1"), { 0 } },
	{ "a tree of level 200", 4, "no B-tree of links", TEXT("tree", "TREE\0\xc8"), { 0 } },
	{ "65,535 entries in a tree", 4, "", TEXT("tree", "TREE\0\0\xff\xff"), { 0 } },
	{ "an empty tree", 4, "no group of layer dense", TEXT("tree", "TREE\0\0\0\0"), { 0 } },
	{ "a leaf that is not one", 4, "no leaf of links", SET8("leaf", 'x'), { 0 } },
	{ "65,535 links in a leaf", 4, "", TEXT("leaf", "SNOD\1\0\xff\xff"), { 0 } },
	{ "a heap that is not one", 4, "no heap of names", SET8("heap", 'x'), { 0 } },
	{ "a heap beyond the end", 4, "heap of names that ends beyond", TEXT("heap", "HEAP\0\0\0\0\0\0\0\0\1"), { 0 } },
	{ "a heap of 2^64 - 1 bytes", 4, "heap of names that ends beyond", TEXT("heap", "HEAP\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), { 0 } },
	{ "a name without an end", 4, "a name outside its heap", TEXT("heap", "HEAP\0\0\0\0\x9\0\0\0\0\0\0\0"), { 0 } },
	{ "a name at 2^64 - 1", 4, "a name outside its heap", SET64("link_name", UINT64_MAX), { 0 } },
	{ "a soft link", 4, "a soft link, dense", TEXT("soft", "\2"), { 0 } },
	{ "a layer that does not exist", 4, "no group of layer xense", SET8("layer", 'x'), { 0 } },
	{ "a weight that does not exist", 4, "no dataset xense/kernel:0, which layer dense names", SET8("weight", 'x'), { 0 } },
	{ "an attribute of version 9", 4, "an attribute of version 9", SET8("attribute", 9), { 0 } },
	{ "an attribute without a name", 4, "", SET16("name_bytes", 0xffff), { 0 } },
	{ "an attribute of too many texts", 4, "too short for its shape", SET64("count", 1 << 20), { 0 } },
	{ "an attribute of 2^64 - 1 texts", 4, "too short for its shape", SET64("count", UINT64_MAX), { 0 } },
	{ "an attribute of numbers", 4, "attribute of opaque values in place of texts", SET8("text", 0x15), { 0 } },
	{ "a text in no heap", 4, "no heap of values", SET64("config_at", 104), { 0 } },
	{ "a text in a heap beyond the end", 4, "a heap of values at offset", SET64("config_at", 1 << 30), { 0 } },
	{ "a text at 2^64 - 1", 4, "a heap of values at offset", SET64("config_at", UINT64_MAX), { 0 } },
	{ "a text with a number that does not exist", 4, "no value 9 in its heap", SET32("config_index", 9), { 0 } },
	{ "a text that is longer than its value", 4, "longer than its value", SET32("config_bytes", 100000), { 0 } },
	{ "a heap of values of 2^64 - 1 bytes", 4, "no heap of values", SET64("values.bytes", UINT64_MAX), { 0 } },
	{ "a heap of values that ends in its first", 4, "no value 2 in its heap", SET64("values.bytes", 40), { 0 } },
	{ "a space of version 3", 4, "a space of version 3", SET8("space", 3), { 0 } },
	{ "9 dimensions", 4, "9 dimensions", SET16("space", 0x0901), { 0 } },
	{ "4 dimensions in the space of 2", 4, "too short", SET16("space", 0x0801), { 0 } },
	{ "a larger dimension", 4, "a dataset of 24 bytes whose shape needs 32", SET64("dim", 4), { 0 } },
	{ "a dimension of 2^63", 4, "a shape that is too large", SET64("dim", (uint64_t)1 << 63), { 0 } },
	{ "2^62 values", 4, "a shape that is too large", SET64("dim", (uint64_t)1 << 61), { 0 } },
	{ "a type of version 0", 4, "a type of version 0", SET8("type", 1), { 0 } },
	{ "compound values", 4, "dense/kernel:0 of compounds", SET8("type", 0x16), { 0 } },
	{ "references", 4, "of references", SET8("type", 0x17), { 0 } },
	{ "an unknown class", 4, "an unknown kind", SET8("type", 0x1f), { 0 } },
	{ "numbers of 3 bytes", 4, "an unusual form", { EDIT_ADD, "type", (uint64_t)0xffffffff << 32, 8, NULL, 0 }, { 0 } },
	{ "a type of 0 bytes", 4, "a type of 0 bytes", TEXT("type", "\x11\x20\x1f\0\0\0\0\0"), { 0 } },
	{ "a layout of version 2", 4, "a layout of version 2", SET8("layout_version", 2), { 0 } },
	{ "a layout of class 7", 4, "a layout of class 7", SET8("class", 7), { 0 } },
	{ "a virtual dataset", 4, "a virtual dataset", SET8("class", 3), { 0 } },
	{ "external files", 4, "values in external files", SET8("layout", 7), { 0 } },
	{ "a shared message", 4, "a message that is shared", SET8("shared", 2), { 0 } },
	{ "two layouts", 4, "two messages of kind 8", SET8("layout_before", 8), { 0 } },
	{ "values beyond the end", 4, "that ends beyond its end", SET64("values_at", 1 << 30), { 0 } },
	{ "values at 2^64 - 2", 4, "that ends beyond its end", SET64("values_at", UINT64_MAX - 1), { 0 } },
	{ "too few bytes of values", 4, "a dataset of 23 bytes", SET64("values_bytes", 23), { 0 } },
	{ "other chunk dimensions", 4, "another number of dimensions", SET8("chunk_dims", 3), { 0 } },
	{ "chunks of no dimension", 4, "another number of dimensions", SET8("chunk_dims", 0), { 0 } },
	{ "chunks of 0 values", 4, "chunks of 0 or more", SET32("chunk_size", 0), { 0 } },
	{ "chunks of 8 GB", 4, "chunks of 0 or more", SET32("chunk_size", 0xffffffff), { 0 } },
	{ "chunks of one value", 4, "a chunk of 4 bytes in place of 2", SET32("chunk_size", 1), { 0 } },
	{ "chunks of values of 4 bytes", 4, "values have another size", SET64("chunk_size", (uint64_t)4 << 32 | 2), { 0 } },
	{ "chunks in no tree", 4, "no B-tree of chunks", SET64("chunks_at", 96), { 0 } },
	{ "a tree of links in place of chunks", 4, "no B-tree of chunks", TEXT("chunks", "TREE\0"), { 0 } },
	{ "65,535 chunks", 4, "", TEXT("chunks", "TREE\1\0\xff\xff"), { 0 } },
	{ "a chunk outside the dataset", 4, "a chunk outside", SET64("offset2", 4), { 0 } },
	{ "a chunk between two places", 4, "a chunk outside", SET64("offset2", 1), { 0 } },
	{ "a chunk twice", 4, "a chunk twice", SET64("offset2", 0), { 0 } },
	{ "chunks out of order", 4, "out of order", SET64("offset", 2), SET64("offset2", 0) },
	{ "a chunk beyond the end", 4, "a chunk at offset", SET64("chunk_at", 1 << 30), { 0 } },
	{ "a chunk of 4 GB", 4, "that ends beyond", SET32("key", 0xffffffff), { 0 } },
	{ "a chunk of 3 bytes", 4, "shorter than its checksum", SET32("key", 3), { 0 } },
	{ "a wrong checksum of a chunk", 4, "a chunk with a wrong checksum", SET8("chunk", 0x79), { 0 } },
	{ "a chunk that is not deflated", 4, "not deflated data", SET8("deflated", 7), SET32("mask", 4) },
	{ "a chunk without its filters", 4, "a chunk of ", SET32("mask", 7), { 0 } },
	{ "filter szip", 4, "filter 4, szip", SET8("deflate", 4), { 0 } },
	{ "filter 32015", 4, "filter 32015, which is not read", SET16("deflate", 32015), { 0 } },
	{ "9 filters", 4, "too short or too long", SET16("filters", 0x0901), { 0 } },
	{ "filters of version 3", 4, "filters of version 3", SET8("filters", 3), { 0 } },
	{ "a filter of 65,535 numbers", 4, "too short", SET8("filter_numbers", 0xff), { 0 } },
	{ "a fill value of another size", 4, "a fill value of another size", SET8("fill_bytes", 2), { 0 } },
	{ "2^40 fill values", 4, "stores too few of its values", SET64("unset_dim", (uint64_t)1 << 40), { 0 } },
};

/* Names for places inside of what is marked. */
static void
made_marked(struct gen *g)
{
	static const struct { const char *name, *of; int by; } places[] = {
		{ "group_bytes", "group", 8 }, { "layer", "layer_names", 56 },
		{ "weight", "weights", 56 }, { "attribute", "layer_names", 8 },
		{ "name_bytes", "layer_names", 10 }, { "text", "layer_names", 32 },
		{ "count", "layer_names", 48 }, { "soft", "leaf", 8 + 40 + 16 },
		{ "link_name", "leaf", 8 },
		{ "config_bytes", "config", 64 }, { "config_at", "config", 68 },
		{ "config_index", "config", 76 }, { "layout_version", "layout", 8 },
		{ "class", "layout", 9 }, { "values_at", "layout", 10 }, { "values_bytes", "layout", 18 },
		{ "shared", "layout", 4 }, { "layout_before", "type", -8 },
		{ "chunk_dims", "chunks_at", -1 }, { "offset", "key", 8 }, { "offset2", "key2", 8 },
		{ "chunk_at", "key", 24 }, { "mask", "key", 4 }, { "deflated", "chunk", 2 },
		{ "filter_numbers", "deflate", 6 }, { "fill_bytes", "fill", 4 },
		{ "unset_dim", "unset", 16 + 8 + 8 },
	};
	size_t i;

	made_h5(g);
	for (i = 0; i < sizeof places / sizeof *places; i++)
		h5_mark(g, places[i].name, mark_at(g, places[i].of) + (size_t)places[i].by);
}

static const struct fault new_faults[] = {
	{ "a wrong checksum", 4, "a header at offset", SET8("sum", 0), { 0 } },
	{ "a wrong checksum of the superblock", 4, "a superblock", SET8("root_sum", 0), { 0 } },
	{ "a header of version 3", 4, "a header of version 3", SET8("header_version", 3), { 0 } },
	{ "a header beyond the end", 4, "a header at offset", SET16("header_bytes", 0xffff), { 0 } },
	{ "a second part that is not one", 4, "no part of a header", TEXT("rest", "OHDR"), { 0 } },
	{ "a second part beyond the end", 4, "a part of a header at offset", SET64("continued", 1 << 30), { 0 } },
	{ "a second part of 7 bytes", 4, "no part of a header", SET64("continued_bytes", 7), { 0 } },
	{ "a link of version 2", 4, "a link that is not of version 1", SET8("link_version", 2), { 0 } },
	{ "a link of an unknown kind", 4, "too short", SET8("link_bits", 8), { 0 } },
	{ "a link without a name", 4, "too short", SET8("link_bytes", 0xff), { 0 } },
	{ "links in a fractal heap", 4, "links in a fractal heap", SET64("heap_at", 96), { 0 } },
	{ "attributes in a fractal heap", 4, "attributes in a fractal heap", SET8("info_type", 21), SET64("heap_at", 96) },
	{ "a group that holds itself", 4, "more than 32 levels, or in a circle", { EDIT_SET, "link_at", 0, 8, NULL, 0 }, { 0 } },
};

/* Faults in headers whose checksums are right, except for those of the checksums. */
static void
new_headers(void)
{
	static const struct { const char *name, *of; int by; } places[] = {
		{ "header_version", "header", -4 }, { "header_bytes", "header", -2 },
		{ "continued_bytes", "continued", 8 }, { "link_version", "link", 4 },
		{ "link_bits", "link", 5 }, { "link_bytes", "link", 6 }, { "link_at", "link", 8 },
		{ "heap_at", "info", 6 }, { "info_type", "info", 0 }, { "root_sum", "root", 8 },
	};
	struct brought b;
	struct gen g;
	size_t i, k;

	for (i = 0; i < sizeof new_faults / sizeof *new_faults; i++) {
		g = (struct gen){ 0 };
		made_h5_new(&g);
		for (k = 0; k < sizeof places / sizeof *places; k++)
			h5_mark(&g, places[k].name, mark_at(&g, places[k].of) + (size_t)places[k].by);
		h5_mark(&g, "sum", g.n - 1);
		edit(&g, &new_faults[i].edit);
		edit(&g, &new_faults[i].second);
		if (strcmp(new_faults[i].edit.mark, "link_at") == 0)
			h5_set(&g, mark_at(&g, "link_at"), h5_last.sums[5].at, 8);
		h5_last.g = &g;
		if (!strstr(new_faults[i].name, "checksum"))
			h5_seal(&h5_last);
		else
			g.p[mark_at(&g, new_faults[i].edit.mark)] ^= 0x55;
		bring(&b, &format_keras, g.p, g.n, &usual, false);
		test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == new_faults[i].exit &&
		        strstr(b.err.fact, new_faults[i].says), "%s: %s", new_faults[i].name, b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
}

static const struct fault archive_faults[] = {
	{ "without weights", 4, "without a member model.weights.h5", TEXT("l2.name", "model.weights.xx"), TEXT("c2.name", "model.weights.xx") },
	{ "a wrong CRC-32", 4, "wrong CRC-32", SET32("l2.crc", 1), SET32("c2.crc", 1) },
	{ "weights that are not HDF5", 4, "does not begin as an HDF5 file", SET8("l2.data", 'x'), { 0 } },
	{ "metadata that is not JSON", 4, "", SET8("l0.data", 'x'), SET32("l0.data", 1) },
};

/* ---- bombs ---- */

/* Begin a file of version 2, whose root is set by bomb_refused. */
static void
bomb_begin(struct h5 *h, struct gen *g)
{
	*g = (struct gen){ 0 };
	*h = (struct h5){ .g = g, .new = 1 };
	put(g, "\x89HDF\r\n\x1a\n\2\x8\x8\0", 12);
	put_u64(g, 0);
	put_u64(g, H5_NONE);
	put_fill(g, 0, 16);
	h5_add_sum(h, 0, 44);
	put_u32(g, 0);
}

static void
bomb_refused(struct h5 *h, size_t root, const char *what, const char *says)
{
	struct gen *g = h->g;
	struct brought b;

	h5_set(g, 28, g->n, 8);
	h5_set(g, 36, root, 8);
	h5_seal(h);
	bring(&b, &format_keras, g->p, g->n, &usual, false);
	test_ok(b.err.code == ERR_CORRUPT && strstr(b.err.fact, says), "%s: %s", what, b.err.fact);
	let_go(&b);
	gen_free(g);
}

/* Files of a few KB that stand for much more. */
static void
bombs(void)
{
	static const uint64_t dims[] = { 1 << 12 };
	struct h5_link two[2] = { { "a", 0 }, { "b", 0 } };
	struct h5 h;
	struct gen g;
	size_t at;
	int i;

	bomb_begin(&h, &g);
	at = h5_group(&h, NULL, 0);
	h5_end(&h);
	for (i = 0; i < 25; i++) {
		two[0].at = two[1].at = at;
		at = h5_group(&h, two, 2);
		h5_end(&h);
	}
	bomb_refused(&h, at, "2^25 paths through 25 groups", "refers to the same bytes too often");

	bomb_begin(&h, &g);
	put_fill(&g, 1, 1 << 14);
	for (i = 0; i < 2; i++) {
		two[i].at = h5_begin(&h);
		h5_shape(&h, 1, dims, H5_F32);
		h5_contiguous(&h, 48, 1 << 14);
		h5_end(&h);
	}
	at = h5_group(&h, two, 2);
	h5_end(&h);
	bomb_refused(&h, at, "two datasets in the same bytes", "lie in the same bytes");
}

static void
real_files(void)
{
	static const struct real files[] = {
		{ "ad01.h5", 56, 0x05a912f8 },
		{ "mnist_ann_baseline.keras", 6, 0x86f91201 },
		{ "pretrainedResnet.h5", 48, 0xabb5dcd8 },
		{ "str_ww_ref_model.h5", 26, 0xfa51df8c },
	};

	try_real(&format_keras, "keras", files, sizeof files / sizeof *files);
}

/* The values of a matrix of F32, or of a convolution with the outputs last, turned so that the
 * outputs come first. */
static void
turn(const struct brought *b, size_t i, struct gen *to)
{
	const struct tensor *t = b->source->plan->tensors[i];
	const uint64_t outputs = tensor_dims(t)[tensor_ndim(t) - 1];
	const uint64_t inputs = tensor_items(t) / outputs;
	uint64_t o, k;

	for (o = 0; o < outputs; o++)
		for (k = 0; k < inputs; k++)
			put(to, b->bodies[i].p + (k * outputs + o) * 4, 4);
}

/* Models that exist twice: the converter to TensorFlow Lite folds batch normalization into the
 * weights before it; others are equal, with the outputs first. */
static void
twins(void)
{
	static const struct { const char *keras, *lite, *name, *twin; } rows[] = {
		{ "ad01.h5", "ad01_fp32", "dense_9/kernel:0", "functional_1/dense_9/MatMul" },
		{ "pretrainedResnet.h5", "pretrainedResnet", "dense/kernel:0", "model/dense/MatMul" },
		{ "pretrainedResnet.h5", "pretrainedResnet", "conv2d_5/kernel:0", "model/conv2d_5/Conv2D" },
		{ "pretrainedResnet.h5", "pretrainedResnet", "conv2d_8/kernel:0", "model/conv2d_8/Conv2D" },
	};
	struct brought a, b;
	char path[4096];
	struct gen want;
	size_t i, k, m;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!test_data()) {
			test_skip(rows[i].name, "without the reference data");
			continue;
		}
		snprintf(path, sizeof path, "%s/import/keras/%s", test_data(), rows[i].keras);
		bring_file(&a, &format_keras, path);
		snprintf(path, sizeof path, "%s/import/tflite/mlperf_tiny/%s.tflite", test_data(),
		         rows[i].lite);
		bring_file(&b, &format_tflite, path);
		want = (struct gen){ 0 };
		k = a.source ? number_of(&a, rows[i].name) : SIZE_MAX;
		m = b.source ? number_of(&b, rows[i].twin) : SIZE_MAX;
		if (k != SIZE_MAX)
			turn(&a, k, &want);
		test_ok(k != SIZE_MAX && m != SIZE_MAX && b.bodies[m].n == want.n &&
		        memcmp(b.bodies[m].p, want.p, want.n) == 0, "%s of %s equals its twin, turned",
		        rows[i].name, rows[i].keras);
		gen_free(&want);
		let_go(&a);
		let_go(&b);
	}
}

static void
faults_are_named(void)
{
	try_faults(&format_keras, &usual, made_marked, faults, sizeof faults / sizeof *faults);
	try_faults(&format_keras, &usual, made_archive, archive_faults,
	           sizeof archive_faults / sizeof *archive_faults);
}

int
main(void)
{
	int pipe;

	for (pipe = 0; pipe < 2; pipe++) {
		whole_model(pipe);
		variables(pipe);
		archives(pipe);
	}
	faults_are_named();
	new_headers();
	bombs();
	try_cuts("headers of version 1", &format_keras, &usual, made_h5, false);
	try_cuts("headers of version 2", &format_keras, &usual, made_h5_new, false);
	real_files();
	twins();
	return test_done();
}
