/* torch_from: the tensors of a safetensors file as files of PyTorch.
 *
 *     torch_from IN.safetensors FOLDER SHARDS [turned]
 *
 * writes FOLDER/pytorch_model.bin if SHARDS is 0, else as many shards and their index. The order
 * is that of the header. "turned": a matrix is a view of a storage whose rows are its columns.
 */
#include <jansson.h>

#include "torch.h"

#define MEMBERS 512

static const struct {
	const char *name, *storage;
	unsigned bytes;
} types[] = {
	{ "F32", "FloatStorage", 4 }, { "F16", "HalfStorage", 2 }, { "BF16", "BFloat16Storage", 2 },
	{ "I64", "LongStorage", 8 }, { "I32", "IntStorage", 4 }, { "I8", "CharStorage", 1 },
	{ "U8", "ByteStorage", 1 }, { "BOOL", "BoolStorage", 1 },
};

static uint8_t *data;
static int turned;

/* ---- a pickle ---- */

static void
put_string(struct gen *g, const char *s)
{
	put_u8(g, 'X');
	put_u32(g, (uint32_t)strlen(s));
	put_text(g, s);
}

static void
put_int(struct gen *g, uint64_t v)
{
	put_u8(g, 'J');
	put_u32(g, (uint32_t)v);
}

static void
put_tuple(struct gen *g, const uint64_t *v, size_t n)
{
	size_t i;

	put_u8(g, '(');
	for (i = 0; i < n; i++)
		put_int(g, v[i]);
	put_u8(g, 't');
}

/* The storage of a matrix by columns. */
static void *
turn(const uint8_t *from, const uint64_t *shape, unsigned bytes)
{
	uint8_t *to = malloc(shape[0] * shape[1] * bytes + 1);
	uint64_t row, column;

	if (!to)
		gen_die("out of memory", "turned");
	for (row = 0; row < shape[0]; row++)
		for (column = 0; column < shape[1]; column++)
			memcpy(to + (column * shape[0] + row) * bytes,
			       from + (row * shape[1] + column) * bytes, bytes);
	return to;
}

/* Put a tensor whose storage becomes the member m. */
static void
put_tensor(struct gen *g, const char *name, json_t *t, struct member *m, size_t key)
{
	const char *type = json_string_value(json_object_get(t, "dtype"));
	json_t *at = json_object_get(t, "data_offsets"), *dims = json_object_get(t, "shape");
	uint64_t shape[8], strides[8], items = 1;
	size_t n = json_array_size(dims), i, k;
	char *member = malloc(48);

	for (k = 0; k < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0; k++)
		;
	if (k == sizeof types / sizeof *types || n > 8 || !member)
		gen_die("has a type that is not written", name);
	for (i = n; i-- > 0; items *= shape[i]) {
		shape[i] = (uint64_t)json_integer_value(json_array_get(dims, i));
		strides[i] = items;
	}
	m->p = data + json_integer_value(json_array_get(at, 0));
	m->n = items * types[k].bytes;
	if (turned && n == 2) {
		m->p = turn(m->p, shape, types[k].bytes);
		strides[0] = 1;
		strides[1] = shape[0];
	}
	snprintf(member, 48, "pytorch_model/data/%zu", key);
	m->name = member;
	put_string(g, name);
	put_text(g, "ctorch._utils\n_rebuild_tensor_v2\n((");
	put_string(g, "storage");
	put_text(g, "ctorch\n");
	put_text(g, types[k].storage);
	put_text(g, "\n");
	put_string(g, strrchr(member, '/') + 1);
	put_string(g, "cpu");
	put_int(g, items);
	put_text(g, "tQ");
	put_int(g, 0);
	put_tuple(g, shape, n);
	put_tuple(g, strides, n);
	put_text(g, "\211" DICT "tR");
}

/* ---- files ---- */

static void
write_file(const char *folder, const char *name, const void *p, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
		gen_die("cannot be written", path);
}

/* Write one file with the next n tensors, from the member of the header on. */
static void *
write_tensors(json_t *header, void *from, size_t n, const char *folder, const char *file,
              json_t *map)
{
	static struct member list[MEMBERS];
	struct gen pickle = { 0 }, g = { 0 };
	size_t k = 1;

	put_text(&pickle, PROTO DICT "(");
	for (; from && k <= n; from = json_object_iter_next(header, from)) {
		const char *name = json_object_iter_key(from);

		if (strcmp(name, "__metadata__") == 0)
			continue;
		if (k == MEMBERS)
			gen_die("has too many tensors", file);
		put_tensor(&pickle, name, json_object_iter_value(from), &list[k], k - 1);
		json_object_set_new(map, name, json_string(file));
		k++;
	}
	put_text(&pickle, "u.");
	list[0] = (struct member){ "pytorch_model/data.pkl", pickle.p, pickle.n, 0 };
	put_zip(&g, list, k);
	write_file(folder, file, g.p, g.n);
	gen_free(&pickle);
	gen_free(&g);
	return from;
}

static uint8_t *
read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p;
	long end;

	if (!f || fseek(f, 0, SEEK_END) < 0 || (end = ftell(f)) < 8 || fseek(f, 0, SEEK_SET) < 0)
		gen_die("cannot be read", path);
	p = malloc((size_t)end);
	if (!p || fread(p, 1, (size_t)end, f) != (size_t)end)
		gen_die("cannot be read", path);
	fclose(f);
	*n = (size_t)end;
	return p;
}

int
main(int argc, char **argv)
{
	json_t *map = json_object(), *header;
	size_t n, bytes, tensors, shards, i;
	uint64_t length = 0;
	char name[64], *text;
	uint8_t *p;
	void *at;

	if (argc < 4)
		gen_die("wants IN.safetensors FOLDER SHARDS [turned]", argv[0]);
	p = read_all(argv[1], &n);
	shards = strtoul(argv[3], NULL, 10);
	turned = argc > 4;
	for (i = 8; i-- > 0;)
		length = length << 8 | p[i];
	header = length <= n - 8 ? json_loadb((char *)p + 8, (size_t)length, 0, NULL) : NULL;
	if (!header)
		gen_die("is not a safetensors file", argv[1]);
	data = p + 8 + length;
	bytes = n - 8 - (size_t)length;
	tensors = json_object_size(header) - !!json_object_get(header, "__metadata__");
	at = json_object_iter(header);
	if (shards == 0)
		write_tensors(header, at, tensors, argv[2], "pytorch_model.bin", map);
	for (i = 0; i < shards; i++) {
		snprintf(name, sizeof name, "pytorch_model-%05zu-of-%05zu.bin", i + 1, shards);
		at = write_tensors(header, at, tensors * (i + 1) / shards - tensors * i / shards, argv[2],
		                   name, map);
	}
	if (shards > 0) {
		json_t *index = json_pack("{s:{s:I},s:o}", "metadata", "total_size",
		                          (json_int_t)bytes, "weight_map", map);

		text = json_dumps(index, JSON_INDENT(2));
		write_file(argv[2], "pytorch_model.bin.index.json", text, strlen(text));
		free(text);
		json_decref(index);
	}
	return 0;
}
