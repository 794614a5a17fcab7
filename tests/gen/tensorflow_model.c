/* tensorflow_model: FOLDER [MIB]: writes a SavedModel (saved/), a frozen graph (frozen.pb), and a
 * checkpoint of one tensor of MIB MiB of zeros in a sparse file (large.index).
 */
#include "tensorflow.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static void
path_of(char to[4096], const char *name)
{
	snprintf(to, 4096, "%s/%s", folder, name);
}

static void
write_file(const char *name, struct gen *g)
{
	char path[4096];
	FILE *file;

	path_of(path, name);
	file = fopen(path, "wb");
	if (!file || fwrite(g->p, 1, g->n, file) != g->n || fclose(file) != 0)
		gen_die("cannot be written", path);
	gen_free(g);
}

/* Values that differ: i / 8 - 1. */
static void
put_values(struct gen *g, size_t n)
{
	float f;
	size_t i;

	for (i = 0; i < n; i++) {
		f = (float)i / 8 - 1;
		put(g, &f, sizeof f);
	}
}

static void
write_variables(void)
{
	static const uint64_t dims[] = { 3, 4 };
	struct gen index = { 0 }, data = { 0 }, value = { 0 }, graph = { 0 };
	struct table t;
	uint32_t crc;
	size_t at;

	table_begin(&t, &index, 2, true);
	put_header(&value, 1);
	table_add(&t, "", 0, &value);
	put_object(&graph, "dense/kernel", "layer-0/kernel/.ATTRIBUTES/VARIABLE_VALUE");
	put_object(&graph, "dense/bias", "layer-0/bias/.ATTRIBUTES/VARIABLE_VALUE");
	put_text_tensor(&data, graph.p, graph.n, &crc);
	put_entry(&value, 7, 0, NULL, 0, 0, data.p, data.n, false);
	for (at = 0; at < 4; at++)
		value.p[value.n - 4 + at] = (uint8_t)(crc >> 8 * at);
	table_add(&t, "_CHECKPOINTABLE_OBJECT_GRAPH", 28, &value);
	at = data.n;
	put_values(&data, 4);
	put_entry(&value, 1, 1, dims + 1, 0, at, data.p + at, 16, false);
	table_add(&t, "layer-0/bias/.ATTRIBUTES/VARIABLE_VALUE", 39, &value);
	at = data.n;
	put_values(&data, 12);
	put_entry(&value, 1, 2, dims, 0, at, data.p + at, 48, false);
	table_add(&t, "layer-0/kernel/.ATTRIBUTES/VARIABLE_VALUE", 41, &value);
	table_end(&t);
	write_file("saved/variables/variables.index", &index);
	write_file("saved/variables/variables.data-00000-of-00001", &data);
	gen_free(&graph);
}

static void
write_saved(void)
{
	static const char *const none[] = { NULL };
	static const char *const folders[] = { "saved", "saved/variables", "saved/assets" };
	struct gen graph = { 0 }, g = { 0 };
	char path[4096];
	size_t i;

	for (i = 0; i < 3; i++) {
		path_of(path, folders[i]);
		mkdir(path, 0777);
	}
	put_node(&graph, 1, "v", "VarHandleOp", none);
	put_saved(&g, &graph, "words.txt");
	write_file("saved/saved_model.pb", &g);
	put_text(&g, "one two\n");
	write_file("saved/assets/words.txt", &g);
	write_variables();
}

static void
write_frozen(void)
{
	static const char *const inputs[] = { "x", "dense/kernel", NULL }, *const none[] = { NULL };
	static const uint64_t dims[] = { 3, 4 };
	struct gen g = { 0 }, tensor = { 0 }, values = { 0 };

	put_node(&g, 1, "x", "Placeholder", none);
	put_int(&tensor, 1, 1);
	put_shape(&tensor, 2, 2, dims);
	put_values(&values, 12);
	put_bytes(&tensor, 4, values.p, values.n);
	put_constant(&g, 1, "dense/kernel", &tensor);
	put_node(&g, 1, "dense/MatMul", "MatMul", inputs);
	write_file("frozen.pb", &g);
	gen_free(&values);
}

/* The CRC-32C of zeros, a byte at a time. */
static uint32_t
crc_of_zeros(uint64_t n)
{
	uint32_t table[256], crc = ~0u;
	unsigned i;

	for (i = 0; i < 256; i++) {
		const uint8_t byte = (uint8_t)i;

		table[i] = ~castagnoli(~0u, &byte, 1);
	}
	for (; n > 0; n--)
		crc = crc >> 8 ^ table[crc & 0xff];
	return ~crc;
}

static void
write_large(uint64_t mib)
{
	const uint64_t dims[] = { mib << 10, 256 }, n = mib << 20;
	const uint32_t crc = masked(crc_of_zeros(n));
	struct gen index = { 0 }, value = { 0 };
	struct table t;
	char path[4096];
	FILE *file;
	unsigned i;

	table_begin(&t, &index, 16, false);
	put_header(&value, 1);
	table_add(&t, "", 0, &value);
	put_entry(&value, 1, 2, dims, 0, 0, NULL, 0, false);
	value.n -= 7;
	put_int(&value, 5, n);
	put_u8(&value, 0x35);
	for (i = 0; i < 4; i++)
		put_u8(&value, (uint8_t)(crc >> 8 * i));
	table_add(&t, "large", 5, &value);
	table_end(&t);
	write_file("large.index", &index);
	path_of(path, "large.data-00000-of-00001");
	file = fopen(path, "wb");
	if (!file || ftruncate(fileno(file), (off_t)n) != 0 || fclose(file) != 0)
		gen_die("cannot be written", path);
}

int
main(int argc, char **argv)
{
	if (argc < 2 || argc > 3)
		gen_die("operands: FOLDER [MIB]", argv[0]);
	folder = argv[1];
	if (argc == 3) {
		write_large(strtoull(argv[2], NULL, 10));
		return 0;
	}
	write_saved();
	write_frozen();
	return 0;
}
