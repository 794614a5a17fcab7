/* t_tensorflow: checkpoints of TensorFlow: tables, entries, slices, names, folders, and faults. */
#include "imports.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../gen/tensorflow.h"

static const struct format_options usual;
static const float six[] = { 1, 2, 3, 4, 5, 6 }, twelve[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
static char folder[64];

#define VALUE "/.ATTRIBUTES/VARIABLE_VALUE"

/* ---- a folder of files ---- */

static void
path_in(char to[256], const char *name)
{
	snprintf(to, 256, "%s%s%s", folder, *name ? "/" : "", name);
}

static void
write_in(const char *name, const void *p, size_t n)
{
	char path[256];
	FILE *f;

	path_in(path, name);
	remove(path); /* a file system may write a file at once if it is cut and written again */
	f = fopen(path, "wb");
	if (!f || (n > 0 && fwrite(p, 1, n, f) != n) || fclose(f) != 0)
		gen_die("cannot be written", path);
}

static void
remove_in(const char *name)
{
	char path[256];

	path_in(path, name);
	remove(path);
}

/* Open a path in the folder as the tools do, and read it to its end. */
static int
bring_in(struct brought *b, const char *name, const struct format_options *o)
{
	const struct format *which = NULL;
	char path[256];
	int held;

	path_in(path, name);
	*b = (struct brought){ .err = ERR_INIT };
	noted[0] = 0;
	b->source = format_open_path(path, o, note, &which, &held, &b->err);
	if (held >= 0)
		close(held);
	return bring_all(b);
}

static void
is(const struct brought *b, const char *name, const char *type, const char *shape, const void *p,
   size_t n)
{
	struct gen want = { 0 };

	put(&want, p, n);
	test_ok(b->source && holds(b, name, type, shape, &want), "%s: %s", name, b->err.fact);
	gen_free(&want);
}

/* ---- the mother of all checkpoints ---- */

struct mother {
	struct gen index, data[2];
	struct table table;
};

static void
mother_free(struct mother *m)
{
	gen_free(&m->index);
	gen_free(&m->data[0]);
	gen_free(&m->data[1]);
}

/* An entry with values at the end of a file. */
static void
add(struct mother *m, const char *key, unsigned type, unsigned ndim, const uint64_t *dims,
    unsigned file, const void *p, size_t n, bool marks)
{
	struct gen value = { 0 };

	put_entry(&value, type, ndim, dims, file, m->data[file].n, p, n, marks);
	table_add(&m->table, key, strlen(key), &value);
	put(&m->data[file], p, n);
}

static const uint64_t extents[3][4] = { { 0, 2, 0, 0 }, { 2, 1, 0, 0 }, { 3, 1, 0, 0 } };

/* The slices of w: two rows, one, and one. */
static void
add_slices(struct mother *m)
{
	static const uint64_t dims[3][2] = { { 2, 3 }, { 1, 3 }, { 1, 3 } };
	static const size_t first[] = { 0, 6, 9 };
	struct gen key = { 0 }, value = { 0 };
	size_t i;

	for (i = 0; i < 3; i++) {
		put_slice_key(&key, "w", extents[i]);
		put_entry(&value, 1, 2, dims[i], i % 2, m->data[i % 2].n, (const uint8_t *)(twelve + first[i]),
		          dims[i][0] * 12, false);
		put(&m->data[i % 2], twelve + first[i], dims[i][0] * 12);
		table_add(&m->table, key.p, key.n, &value);
		gen_free(&key);
	}
}

static void
add_divided(struct mother *m)
{
	static const uint64_t dims[] = { 4, 3 };
	struct gen value = { 0 }, slice = { 0 };
	size_t i;

	put_int(&value, 1, 1);
	put_shape(&value, 2, 2, dims);
	for (i = 0; i < 3; i++) {
		put_extent(&slice, extents[i][0], extents[i][1]);
		put_extent(&slice, 0, 0);
		if (i == 1)
			slice.marks[slice.mark_count++] = (struct mark){ "slice", 3 }; /* its start */
		put_varint(&value, 7 << 3 | 2);
		put_varint(&value, slice.n);
		put_marked(&value, &slice);
	}
	table_add(&m->table, "w", 1, &value);
}

static void
add_text(struct mother *m, const char *key, const void *text, size_t n)
{
	struct gen value = { 0 };
	const size_t at = m->data[0].n;
	uint32_t crc, i;

	put_text_tensor(&m->data[0], text, n, &crc);
	put_entry(&value, 7, 0, NULL, 0, at, m->data[0].p + at, m->data[0].n - at, false);
	for (i = 0; i < 4; i++)
		value.p[value.n - 4 + i] = (uint8_t)(crc >> 8 * i);
	table_add(&m->table, key, strlen(key), &value);
}

static void
make_mother(struct mother *m, size_t most, bool snappy)
{
	static const uint64_t d23[] = { 2, 3 }, d3[] = { 3 }, d4[] = { 4 }, d03[] = { 0, 3 };
	static const uint16_t halves[] = { 0x3f80, 0x4000, 0x4040, 0x4080 };
	static const int64_t seven = 7;
	struct gen value = { 0 }, graph = { 0 };

	*m = (struct mother){ .index = { 0 } };
	table_begin(&m->table, &m->index, most, snappy);
	put_header(&value, 2);
	table_add(&m->table, "", 0, &value);
	add_slices(m);
	put_object(&graph, "bias", "dense/bias" VALUE);
	put_object(&graph, "dense_1/kernel", "dense/kernel" VALUE);
	put_object(&graph, "bias", "other/bias" VALUE);
	put_object(&graph, "nobody", "nothing" VALUE);
	add_text(m, "_CHECKPOINTABLE_OBJECT_GRAPH", graph.p, graph.n);
	gen_free(&graph);
	add(m, "bf" VALUE, 14, 1, d4, 1, halves, 8, false);
	add(m, "dense/bias" VALUE, 1, 1, d3, 0, six, 12, false);
	add(m, "dense/bias/.OPTIMIZER_SLOT/optimizer/m" VALUE, 1, 1, d3, 0, six, 12, false);
	add(m, "dense/kernel" VALUE, 1, 2, d23, 0, six, 24, true);
	add(m, "empty" VALUE, 1, 2, d03, 0, NULL, 0, false);
	add(m, "int4", 29, 1, d3, 1, "\x07\x08\x0f", 3, false);
	add(m, "optimizer/iter" VALUE, 9, 0, NULL, 1, &seven, 8, false);
	add(m, "other/bias" VALUE, 1, 1, d3, 1, six + 3, 12, false);
	add(m, "save_counter" VALUE, 9, 0, NULL, 1, &seven, 8, false);
	add_text(m, "vocab", "a word", 6);
	add_divided(m);
	table_end(&m->table);
}

static void
write_mother(const struct mother *m)
{
	write_in("m.index", m->index.p, m->index.n);
	write_in("m.data-00000-of-00002", m->data[0].p, m->data[0].n);
	write_in("m.data-00001-of-00002", m->data[1].p, m->data[1].n);
}

static void
is_mother(const struct brought *b)
{
	const struct meta *key;

	is(b, "bf", "BF16", "4", "\x80\x3f\0\x40\x40\x40\x80\x40", 8);
	is(b, "dense/bias", "F32", "3", six, 12);
	is(b, "other/bias", "F32", "3", six + 3, 12);
	is(b, "dense_1/kernel", "F32", "2x3", six, 24);
	is(b, "empty", "F32", "0x3", "", 0);
	is(b, "int4", "I8", "3", "\x07\xf8\xff", 3);
	is(b, "w", "F32", "4x3", twelve, 48);
	key = b->source ? model_find(b->source->plan, "tensorflow.tensors") : NULL;
	test_ok(key && key->wire && strstr((char *)key->wire, "\"dense_1/kernel\":{\"path\":"
	        "\"dense/kernel\",\"layout\":\"IO\"}") && strstr((char *)key->wire,
	        "\"int4\":{\"type\":\"INT4\"}"), "what names and types do not tell");
}

static void
checkpoints_are_read(void)
{
	static const size_t most[] = { 100, 1, 3 };
	struct format_options all = usual;
	struct format_choice own[16];
	struct brought b;
	struct mother m;
	size_t i;

	for (i = 0; i < 6; i++) {
		make_mother(&m, most[i / 2], i % 2 == 1);
		write_mother(&m);
		mother_free(&m);
		test_ok(bring_in(&b, "m.index", &usual) == 0, "%zu entries in a block%s: %s", most[i / 2],
		        i % 2 ? ", compressed" : "", b.err.fact);
		is_mother(&b);
		test_ok(b.source && b.source->plan->tensor_count == 7, "others are left out");
		test_ok(strstr(noted, "3 variables of training") && strstr(noted, "1 tensor of texts, the "
		        "first is vocab"), "notes");
		let_go(&b);
	}
	all.own = own;
	all.own_count = format_choices(own, 16, false);
	for (i = 0; i < all.own_count; i++)
		if (strcmp(own[i].option->name, "all") == 0)
			own[i].value = "";
	test_ok(bring_in(&b, "m.index", &all) == 0, "all: %s", b.err.fact);
	is(&b, "optimizer/iter", "I64", "scalar", "\7\0\0\0\0\0\0\0", 8);
	is(&b, "dense/bias/.OPTIMIZER_SLOT/optimizer/m", "F32", "3", six, 12);
	let_go(&b);
}

/* Version 1 has no graph of objects; its optimizers put their variables beside others. */
static void
version_1_is_read(void)
{
	static const uint64_t d3[] = { 3 };
	struct mother m = { .index = { 0 } };
	struct gen value = { 0 };
	struct brought b;

	table_begin(&m.table, &m.index, 100, false);
	put_header(&value, 1);
	table_add(&m.table, "", 0, &value);
	add(&m, "W", 1, 1, d3, 0, six, 12, false);
	add(&m, "W/Adam", 1, 1, d3, 0, six, 12, false);
	add(&m, "W/Adam_1", 1, 1, d3, 0, six, 12, false);
	add(&m, "X/Adam", 1, 1, d3, 0, six, 12, false);
	add(&m, "beta1_power", 1, 0, NULL, 0, six, 4, false);
	add(&m, "scope/beta2_power_1", 1, 0, NULL, 0, six, 4, false);
	add(&m, "scope/beta2_powers", 1, 0, NULL, 0, six, 4, false);
	table_end(&m.table);
	write_in("v1.index", m.index.p, m.index.n);
	write_in("v1.data-00000-of-00001", m.data[0].p, m.data[0].n);
	mother_free(&m);
	test_ok(bring_in(&b, "v1.index", &usual) == 0, "version 1: %s", b.err.fact);
	is(&b, "W", "F32", "3", six, 12);
	is(&b, "X/Adam", "F32", "3", six, 12);
	is(&b, "scope/beta2_powers", "F32", "scalar", six, 4);
	test_ok(b.source && b.source->plan->tensor_count == 3 && strstr(noted, "4 variables of training"),
	        "the optimizer's are left out");
	let_go(&b);
	remove_in("v1.index");
	remove_in("v1.data-00000-of-00001");
}

static void
refused(const char *about, const char *name, int status, const char *says)
{
	struct brought b;

	bring_in(&b, name, &usual);
	test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == status && strstr(b.err.fact, says),
	        "%s: %s: %s", about, b.err.object, b.err.fact);
	let_go(&b);
}

/* A variable of rows × 8 bytes, each of which is a slice. */
static void
write_grid(size_t rows)
{
	const uint64_t one[] = { 1, 1 }, dims[] = { rows, 8 };
	struct mother m = { .index = { 0 } };
	struct gen key = { 0 }, value = { 0 }, slice = { 0 };
	size_t i;

	table_begin(&m.table, &m.index, 100, false);
	put_header(&value, 1);
	table_add(&m.table, "", 0, &value);
	for (i = 0; i < rows * 8; i++) {
		const uint8_t byte = (uint8_t)i;

		put_slice_key(&key, "w", (const uint64_t[]){ i / 8, 1, i % 8, 1 });
		put_entry(&value, 4, 2, one, 0, m.data[0].n, &byte, 1, false);
		put(&m.data[0], &byte, 1);
		table_add(&m.table, key.p, key.n, &value);
		gen_free(&key);
	}
	put_int(&value, 1, 4);
	put_shape(&value, 2, 2, dims);
	for (i = 0; i < rows * 8; i++) {
		put_extent(&slice, i / 8, 1);
		put_extent(&slice, i % 8, 1);
		put_message(&value, 7, &slice);
	}
	table_add(&m.table, "w", 1, &value);
	table_end(&m.table);
	write_in("grid.index", m.index.p, m.index.n);
	write_in("grid.data-00000-of-00001", m.data[0].p, m.data[0].n);
	mother_free(&m);
}

static void
grids_are_small(void)
{
	struct brought b;
	uint8_t bytes[64], i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = i;
	write_grid(8);
	test_ok(bring_in(&b, "grid.index", &usual) == 0, "a grid: %s", b.err.fact);
	is(&b, "w", "U8", "8x8", bytes, sizeof bytes);
	let_go(&b);
	write_grid(9);
	refused("a large grid", "grid.index", 4, "into 72 slices; at most 64 are read");
	remove_in("grid.index");
	remove_in("grid.data-00000-of-00001");
}

/* ---- faults ---- */

/* Faults of the table and its entries, with right checksums. */
static const struct fault faults[] = {
	{ "another number of files", 3, "cannot be opened", SET8("files", 3), { 0 } },
	{ "big-endian", 4, "big-endian", SET8("endianness", 1), { 0 } },
	{ "a later version", 4, "version 2", SET8("min_consumer", 2), { 0 } },
	{ "an unknown type", 4, "type 99, which is not known", SET8("type", 99), { 0 } },
	{ "a type that is not read", 4, "COMPLEX128", SET8("type", 18), { 0 } },
	{ "a type of another size", 4, "has 24 bytes, but its shape is that of 6", SET8("type", 2), { 0 } },
	{ "another shape", 4, "has 24 bytes", { EDIT_TEXT, "type", 0, 0, "\1\x12\x08\x12\2\x08\1", 7 },
	  { 0 } },
	{ "another file", 4, "lies in file 2, but the files are 0 to 1", SET8("file", 2), { 0 } },
	{ "the bytes of another entry", 4, "lies in the same bytes", TEXT("offset", "\x80\0"), { 0 } },
	{ "beyond its file", 4, "at byte", TEXT("offset", "\xff\x7f"), { 0 } },
	{ "other bytes", 4, "has 23 bytes", SET8("bytes", 23), { 0 } },
	{ "a field of another form", 4, "not a BundleEntryProto", SET8("field", 0x1d), { 0 } },
	{ "a first key that shares", 4, "not a model file", SET8("entry 0", 1), { 0 } },
	{ "a restart that shares", 4, "shares more", SET8("entry 2", 1), { 0 } },
	{ "a key that shares too much", 4, "shares more", SET8("entry 3", 90), { 0 } },
	{ "keys out of order", 4, "not in order", TEXT("entry 10", "\0\4\x13" "a"), { 0 } },
	{ "an entry beyond the block", 4, "inside an entry", TEXT("entry 15", "\0\x7f"), { 0 } },
	{ "no restarts", 4, "more restarts", SET32("restart_count", 0), { 0 } },
	{ "too many restarts", 4, "more restarts", SET32("restart_count", 400), { 0 } },
	{ "a restart too many", 4, "restart", ADD32("restart_count", 1), { 0 } },
	{ "a restart elsewhere", 4, "restart", SET32("restarts", 1), { 0 } },
	{ "a method that is not known", 4, "method 2", SET8("method", 2), { 0 } },
	{ "not compressed", 4, "compressed content", SET8("method", 1), { 0 } },
	{ "a handle elsewhere", 4, "outside of its place", SET8("handle", 0xff), { 0 } },
	{ "a handle with a tail", 4, "outside of its place", TEXT("handle", "\0\1"), { 0 } },
	{ "a footer that leads to itself", 4, "footer", TEXT("footer", "\xff\x7f"), { 0 } },
	{ "another magic", 4, "", SET8("magic", 0), { 0 } },
	{ "a slice elsewhere", 4, "slice whose values are missing", SET8("slice", 1), { 0 } },
	{ "a slice beyond its shape", 4, "beyond its shape", SET8("slice", 4), { 0 } },
};

static void
faults_are_named(void)
{
	struct mother m;
	size_t i;

	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		make_mother(&m, 100, false);
		edit(&m.index, &faults[i].edit);
		edit(&m.index, &faults[i].second);
		table_seal(&m.table);
		write_mother(&m);
		refused(faults[i].name, "m.index", faults[i].exit, faults[i].says);
		mother_free(&m);
	}
}

/* A changed byte anywhere in the index, or of values, is found. */
static void
checksums_are_proved(void)
{
	struct mother m;
	struct brought b;
	size_t i, file, whole = 0, wrong = 0;

	make_mother(&m, 3, false);
	write_mother(&m);
	for (i = 0; i < m.index.n; i++) {
		m.index.p[i] ^= 0x10;
		write_in("m.index", m.index.p, m.index.n);
		whole += bring_in(&b, "m.index", &usual) == 0;
		wrong += b.err.code != ERR_NONE && err_exit(&b.err) != 4;
		let_go(&b);
		m.index.p[i] ^= 0x10;
	}
	/* The zeros of the footer are not read. */
	test_ok(whole < 40 && wrong == 0, "bytes of the index: %zu accepted, %zu wrong", whole, wrong);
	write_mother(&m);
	for (whole = wrong = file = 0; file < 2; file++)
		for (i = 0; i < m.data[file].n; i++) {
			m.data[file].p[i] ^= 1;
			write_in(file ? "m.data-00001-of-00002" : "m.data-00000-of-00002", m.data[file].p,
			         m.data[file].n);
			whole += bring_in(&b, "m.index", &usual) == 0;
			wrong += b.err.code != ERR_NONE && err_exit(&b.err) != 4;
			let_go(&b);
			m.data[file].p[i] ^= 1;
			if (i + 1 == m.data[file].n)
				write_mother(&m);
		}
	/* 12 + 8 + 8 bytes of training, and 11 of a text, are left out. */
	test_ok(whole == 39 && wrong == 0, "bytes of values: %zu accepted, %zu wrong", whole, wrong);
	mother_free(&m);
}

static void
cuts_are_found(void)
{
	struct mother m;
	struct brought b;
	size_t i, whole = 0, wrong = 0;

	make_mother(&m, 3, true);
	write_mother(&m);
	for (i = 64; i < m.index.n; i++) {
		write_in("m.index", m.index.p, i);
		whole += bring_in(&b, "m.index", &usual) == 0;
		wrong += err_exit(&b.err) != 4;
		let_go(&b);
	}
	test_ok(whole == 0 && wrong == 0, "cuts of the index: %zu accepted, %zu wrong", whole, wrong);
	write_in("m.index", m.index.p, m.index.n);
	write_in("m.data-00001-of-00002", m.data[1].p, m.data[1].n - 1);
	refused("a cut file of values", "m.index", 4, "which has only");
	write_in("m.data-00001-of-00002", "", 0);
	refused("an empty file of values", "m.index", 4, "is empty");
	remove_in("m.data-00001-of-00002");
	refused("a file of values is missing", "m.index", 3, "cannot be opened");
	mother_free(&m);
}

/* ---- folders ---- */

static void
put_simple_graph(struct gen *graph, const char *op)
{
	static const char *const none[] = { NULL };

	put_node(graph, 1, "x", "Placeholder", none);
	put_node(graph, 1, "v", op, none);
}

static void
write_saved(const char *asset, const char *op)
{
	struct gen graph = { 0 }, g = { 0 };

	put_simple_graph(&graph, op);
	put_saved(&g, &graph, asset);
	write_in("saved_model.pb", g.p, g.n);
	gen_free(&g);
}

static void
write_variables(const struct mother *m)
{
	write_in("variables/variables.index", m->index.p, m->index.n);
	write_in("variables/variables.data-00000-of-00002", m->data[0].p, m->data[0].n);
	write_in("variables/variables.data-00001-of-00002", m->data[1].p, m->data[1].n);
}

static bool
has_side(const struct brought *b, const char *name, uint64_t bytes)
{
	size_t i;

	for (i = 0; b->source && i < b->source->plan->blob_count; i++)
		if (strcmp(b->source->plan->blobs[i].name, name) == 0)
			return b->source->plan->blobs[i].bytes == bytes;
	return false;
}

static void
folders_are_models(void)
{
	static const char *const assets[] = { "../m.index", "/etc/passwd", ".hidden", "a//b", "" };
	struct brought b;
	struct mother m;
	char path[256];
	size_t i;

	path_in(path, "variables");
	mkdir(path, 0777);
	path_in(path, "assets");
	mkdir(path, 0777);
	make_mother(&m, 100, true);
	write_in("saved_model.pb", "", 0);
	refused("an empty model", "", 4, "is not a SavedModel");
	write_saved("words.txt", "VarHandleOp");
	refused("a model without its variables", "", 3, "cannot be opened");
	write_variables(&m);
	refused("a model without its asset", "", 3, "cannot be opened");
	write_in("assets/words.txt", "some words", 10);
	write_in("fingerprint.pb", "", 0);
	test_ok(bring_in(&b, "", &usual) == 0, "a SavedModel: %s", b.err.fact);
	is_mother(&b);
	test_ok(has_side(&b, "assets/words.txt", 10) && has_side(&b, "fingerprint.pb", 0) &&
	        b.source && b.source->plan->blob_count == 3, "files beside it");
	let_go(&b);
	test_ok(bring_in(&b, "saved_model.pb", &usual) == 0, "by its file: %s", b.err.fact);
	is_mother(&b);
	let_go(&b);
	test_ok(bring_in(&b, "variables", &usual) == 0, "by the folder of its variables: %s", b.err.fact);
	is_mother(&b);
	let_go(&b);
	for (i = 0; i < sizeof assets / sizeof *assets; i++) {
		write_saved(assets[i], "VarHandleOp");
		refused(assets[i], "", 4, "not a file of the model's folder");
	}
	write_saved(NULL, "VarHandleOp");
	path_in(path, "fingerprint.pb");
	remove(path);
	test_ok(symlink("m.index", path) == 0, "a link");
	refused("a link", "", 4, "is a link");
	remove(path);
	remove_in("saved_model.pb");
	write_mother(&m);
	write_in("checkpoint", "model_checkpoint_path: \"/elsewhere/m\"\n", 38);
	test_ok(bring_in(&b, "", &usual) == 0, "the latest checkpoint: %s", b.err.fact);
	is_mother(&b);
	test_ok(strstr(noted, "in its own folder") != NULL, "a note on its path");
	let_go(&b);
	write_in("checkpoint", "model_checkpoint_path: \"m\"\n", 27);
	test_ok(bring_in(&b, "checkpoint", &usual) == 0 && !strstr(noted, "own folder"), "by its file");
	let_go(&b);
	write_in("checkpoint", "model_checkpoint_path: \"n\"\n", 27);
	refused("a checkpoint that does not exist", "", 3, "cannot be opened");
	write_in("checkpoint", "model_checkpoint_path: \"..\"\n", 28);
	refused("a checkpoint above", "", 4, "of its folder");
	write_in("checkpoint", "model_checkpoint_path: \"n\n", 26);
	refused("a name without an end", "", 4, "does not name");
	remove_in("checkpoint");
	write_in("m.idx", m.index.p, m.index.n);
	refused("an index of another name", "m.idx", 4, "does not end in .index");
	remove_in("m.idx");
	bring(&b, &format_tensorflow, m.index.p, m.index.n, &usual, true);
	test_ok(b.err.code == ERR_FORMAT && strstr(b.err.fact, "from a pipe"), "an index in a pipe");
	let_go(&b);
	mother_free(&m);
}

static void
clean(void)
{
	static const char *const names[] = { "variables/variables.index",
		"variables/variables.data-00000-of-00002", "variables/variables.data-00001-of-00002",
		"assets/words.txt", "variables", "assets", "m.index", "m.data-00000-of-00002",
		"m.data-00001-of-00002", "" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		remove_in(names[i]);
}

int
main(void)
{
	snprintf(folder, sizeof folder, "/tmp/t_tensorflow.%ld", (long)getpid());
	mkdir(folder, 0777);
	checkpoints_are_read();
	version_1_is_read();
	faults_are_named();
	grids_are_small();
	checksums_are_proved();
	cuts_are_found();
	folders_are_models();
	clean();
	return test_done();
}
