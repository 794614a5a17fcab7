/* fuzz_tensorflow: the properties of tests/fuzz/fuzz.h, for graphs of TensorFlow. An input that
 * begins with "T" is a checkpoint: two numbers of 16 bits, then an index and two files of values
 * with that many bytes, and the rest. It is read twice, with the same result, and packed.
 *
 * The mutator writes whole graphs and checkpoints, whose shapes and sizes mostly fit together.
 */
#include "mutate.h"

#include <sys/stat.h>

#include "../gen/tensorflow.h"

static char folder[64];
static const char *const files[] = { "m.index", "m.data-00000-of-00001", "m.data-00000-of-00002",
	"m.data-00001-of-00002" };

static void
path_of(char to[128], size_t file)
{
	snprintf(to, 128, "%s/%s", folder, files[file]);
}

static void
clean(void)
{
	char path[128];
	size_t i;

	for (i = 0; i < 4; i++) {
		path_of(path, i);
		unlink(path);
	}
	rmdir(folder);
}

static void
write_file(size_t file, const uint8_t *p, size_t n)
{
	char path[128];
	int fd;

	path_of(path, file);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

static void
pass(struct fuzz_run *run)
{
	struct source *source = NULL;
	struct reader r;
	char path[128];

	run->err = (struct err)ERR_INIT;
	run->witness = (struct witness){ 0 };
	path_of(path, 0);
	must(reader_open(&r, path, &run->err) == 0);
	source = run->format->reads->open(&r, &run->options, fuzz_note, &run->err);
	run->opened = source != NULL;
	must((source != NULL) == (run->err.code == ERR_NONE));
	if (source) {
		fuzz_describe(run, source, 0);
		if (run->err.code == ERR_NONE)
			fuzz_flow(run, source);
		source_close(source);
	}
	if (run->err.code == ERR_IO)
		must_say(run->err.missing, &run->err);
	else if (run->err.code != ERR_NONE)
		fuzz_refused(&run->err, run->opened && run->to);
}

static void
checkpoint(const uint8_t *data, size_t size)
{
	static int fd = -1;
	size_t n[3];
	struct fuzz_run run = { .format = &format_tensorflow, .to = size & 1 ? &format_gguf : NULL };
	struct fuzz_run again = run;

	if (fd < 0) {
		fd = memfd_create("packed", MFD_CLOEXEC);
		snprintf(folder, sizeof folder, "/dev/shm/fuzz-tensorflow.%ld", (long)getpid());
		must(mkdir(folder, 0777) == 0);
		atexit(clean);
	}
	n[0] = le16(data + 1) % (size - 4);
	n[1] = le16(data + 3) % (size - 4 - n[0]);
	n[2] = size - 5 - n[0] - n[1];
	write_file(0, data + 5, n[0]);
	write_file(1, data + 5 + n[0], n[1]);
	write_file(2, data + 5 + n[0], n[1]);
	write_file(3, data + 5 + n[0] + n[1], n[2]);
	run.fd = again.fd = fd;
	pass(&run);
	again.to = NULL;
	pass(&again);
	if (run.err.code == ERR_NONE)
		must(again.err.code == ERR_NONE && fuzz_equal(&run.content, &again.content, true));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 5 && *data == 'T')
		checkpoint(data, size);
	else
		return fuzz_container(&format_tensorflow, data, size);
	return 0;
}

/* ---- graphs ---- */

static unsigned
take(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245u + 12345;
	return (*seed >> 16) % below;
}

static void
put_random_constant(struct gen *g, uint32_t field, unsigned *seed)
{
	static const uint8_t sizes[] = { 0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1, 1, 1, 4, 2, 2, 2, 2, 0, 2, 0, 0,
		4, 8, 1, 1, 0, 0, 0, 1, 1, 1, 1 };
	static const uint8_t fields[] = { 0, 5, 6, 7, 7, 7, 7, 8, 9, 10, 11, 7, 7, 7, 13, 7, 7, 7, 12, 13,
		14, 15, 16, 17, 18, 18, 18, 18, 18, 7, 7, 7, 7 };
	const unsigned type = take(seed, 33), ndim = take(seed, 4);
	struct gen tensor = { 0 };
	uint64_t dims[4], items = 1;
	uint8_t body[256] = { 0 };
	char name[8];
	unsigned i;

	for (i = 0; i < ndim; i++)
		items *= dims[i] = take(seed, 4);
	put_int(&tensor, 1, type);
	put_shape(&tensor, 2, ndim, dims);
	for (i = 0; i < sizeof body; i++)
		body[i] = (uint8_t)(take(seed, 4) ? i & 1 : i);
	if (take(seed, 2))
		put_bytes(&tensor, 4, body, items * sizes[type] % 200 + (take(seed, 16) == 0));
	else
		put_bytes(&tensor, take(seed, 16) ? fields[type] : take(seed, 20) + 1, body,
		          take(seed, 3) ? items * sizes[type] % 200 : take(seed, 8));
	snprintf(name, sizeof name, "n%u", take(seed, 6));
	put_constant(g, field, name, &tensor);
	g->mark_count = 0;
}

static void
put_random_node(struct gen *g, uint32_t field, unsigned *seed)
{
	static const char *const ops[] = { "Identity", "MatMul", "Conv2D", "Placeholder", "VarHandleOp",
		"DepthwiseConv2dNative" };
	static const char *const inputs[] = { "n0", "n1:0", "n2:output:0", "^n3", "i0", "i1" };
	const char *list[3] = { inputs[take(seed, 6)], inputs[take(seed, 6)], NULL };
	char name[8];

	snprintf(name, sizeof name, "i%u", take(seed, 3));
	put_node(g, field, name, ops[take(seed, 6)], list);
}

static void
put_random_graph(struct gen *g, unsigned *seed)
{
	struct gen library = { 0 }, function = { 0 }, signature = { 0 };
	unsigned i, n = 1 + take(seed, 5);

	for (i = 0; i < n; i++)
		if (take(seed, 2))
			put_random_constant(g, 1, seed);
		else
			put_random_node(g, 1, seed);
	if (take(seed, 2) == 0)
		return;
	put_bytes(&signature, 1, "f", 1);
	put_message(&function, 1, &signature);
	put_random_constant(&function, 3, seed);
	put_random_node(&function, 3, seed);
	put_message(&library, 1, &function);
	put_message(g, 2, &library);
}

/* ---- checkpoints ---- */

static void
add(struct table *t, const char *key, struct gen *data, unsigned type, unsigned ndim,
    const uint64_t *dims, size_t n, unsigned *seed)
{
	struct gen value = { 0 };
	const unsigned file = take(seed, 2);

	put_entry(&value, type, ndim, dims, file, data[file].n, data[file].p, 0, false);
	value.n -= 7; /* bytes, and the checksum */
	put_int(&value, 5, n);
	put_fill(&data[file], 7, n + (take(seed, 32) == 0));
	table_add(t, key, strlen(key), &value);
	t->g->mark_count = t->index.mark_count = 0;
}

static void
add_slices(struct table *t, struct gen *data, const uint64_t extents[][4], unsigned count)
{
	struct gen key = { 0 }, value = { 0 };
	uint64_t dims[2];
	unsigned i;

	for (i = 0; i < count; i++) {
		dims[0] = extents[i][1] ? extents[i][1] : 4;
		dims[1] = extents[i][3] ? extents[i][3] : 3;
		put_slice_key(&key, "w", extents[i]);
		put_entry(&value, 4, 2, dims, i % 2, data[i % 2].n, data[i % 2].p, 0, false);
		value.n -= 7;
		put_int(&value, 5, dims[0] * dims[1]);
		put_fill(&data[i % 2], (uint8_t)i, dims[0] * dims[1]);
		table_add(t, key.p, key.n, &value);
		t->g->mark_count = 0;
		gen_free(&key);
	}
}

static void
add_divided(struct table *t, const uint64_t extents[][4], unsigned count)
{
	static const uint64_t dims[] = { 4, 3 };
	struct gen value = { 0 }, slice = { 0 };
	unsigned i;

	put_int(&value, 1, 4);
	put_shape(&value, 2, 2, dims);
	for (i = 0; i < count; i++) {
		put_extent(&slice, extents[i][0], extents[i][1]);
		put_extent(&slice, extents[i][2], extents[i][3]);
		put_message(&value, 7, &slice);
	}
	table_add(t, "w", 1, &value);
	t->g->mark_count = 0;
}

static void
add_objects(struct table *t, struct gen *data, unsigned *seed)
{
	static const char *const names[] = { "a", "b", "c", "k" };
	struct gen graph = { 0 }, value = { 0 };
	const size_t at = data->n;
	uint32_t crc;

	put_object(&graph, names[take(seed, 4)], "k/.ATTRIBUTES/VARIABLE_VALUE");
	put_object(&graph, names[take(seed, 4)], "a");
	put_text_tensor(data, graph.p, graph.n, &crc);
	put_entry(&value, 7, 0, NULL, 0, at, data->p + at, data->n - at, false);
	table_add(t, "_CHECKPOINTABLE_OBJECT_GRAPH", 28, &value);
	t->g->mark_count = 0;
	gen_free(&graph);
}

static void
put_random_checkpoint(struct buf *b, unsigned *seed)
{
	static const uint64_t extents[2][3][4] = {
		{ { 0, 2, 0, 0 }, { 2, 1, 0, 0 }, { 3, 1, 0, 0 } },
		{ { 0, 0, 0, 1 }, { 0, 0, 1, 2 }, { 0, 3, 1, 2 } },
	};
	const unsigned kind = take(seed, 2), slices = kind ? 2 + (take(seed, 8) == 0) : 3;
	struct gen index = { 0 }, data[2] = { { 0 }, { 0 } }, value = { 0 };
	const uint64_t dims[] = { take(seed, 4), take(seed, 4) };
	struct table t;

	table_begin(&t, &index, 1 + take(seed, 9), take(seed, 2));
	put_header(&value, 2);
	table_add(&t, "", 0, &value);
	index.mark_count = 0;
	put_fill(&data[0], 1, 3);
	put_fill(&data[1], 1, 1);
	if (take(seed, 2))
		add_slices(&t, data, extents[kind], slices);
	if (take(seed, 2))
		add_objects(&t, &data[0], seed);
	add(&t, "a", data, 4, 2, dims, dims[0] * dims[1], seed);
	add(&t, "a/Adam", data, 1, 1, dims, dims[0] * 4, seed);
	add(&t, "k/.ATTRIBUTES/VARIABLE_VALUE", data, 29, 1, dims, dims[0], seed);
	add(&t, "save_counter", data, 9, 0, NULL, 8, seed);
	if (index.n > 0 && (t.total > 5 || take(seed, 4) == 0))
		add_divided(&t, extents[kind], slices);
	table_end(&t);
	buf_u8(b, 'T');
	buf_u16(b, (uint16_t)index.n);
	buf_u16(b, (uint16_t)data[0].n);
	buf_put(b, index.p, index.n);
	buf_put(b, data[0].p, data[0].n);
	buf_put(b, data[1].p, data[1].n);
	gen_free(&index);
	gen_free(&data[0]);
	gen_free(&data[1]);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct gen graph = { 0 }, g = { 0 };
	struct buf b = { 0 };
	size_t at, n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	if (seed / 2 % 2) {
		seed /= 8;
		put_random_checkpoint(&b, &seed);
	} else {
		seed /= 8;
		put_random_graph(&graph, &seed);
		if (take(&seed, 3) == 0)
			put_saved(&g, &graph, take(&seed, 2) ? "x" : NULL);
		buf_put(&b, g.n ? g.p : graph.p, g.n ? g.n : graph.n);
		gen_free(&graph);
		gen_free(&g);
	}
	if (take(&seed, 3) == 0 && b.n > 1) {
		at = 1 + take(&seed, (unsigned)b.n - 1);
		n = b.n - at < 4 ? b.n - at : 4;
		mutate_piece(&b, at, &n);
	}
	return mutate_done(&b, data, size, max);
}
