/* sparse_experts: a model folder's file of experts that is a terabyte long and takes a few
 * MiB on the disk.
 *
 *     sparse_experts make FILE.safetensors    writes the file
 *     sparse_experts list FILE.safetensors    prints offset and text of its marks: all words of
 *                                             data that are not zeros
 *
 * The tensors are those of qwen3_moe in BF16, in the order of names, with the numbers below.
 * A mark is eight bytes at the beginning of each layer's first expert or at the end of its last
 * one, which name matrix and layer; all other tensors are zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 44, EXPERTS = 16, HIDDEN = 8192, INNER = 32768, HEADS = 4, HEAD = 32,
	KV_HEADS = 2, VOCABULARY = 395, PAGE = 4096 };

static char header[1 << 20];
static size_t header_bytes;
static uint64_t data_bytes;
static struct mark {
	uint64_t at;
	char text[9];
} marks[LAYERS * 3 * 2];
static size_t mark_count;

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "sparse_experts: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
tensor(const char *name, uint64_t rows, uint64_t columns)
{
	uint64_t end = data_bytes + rows * columns * 2;

	header_bytes += (size_t)snprintf(header + header_bytes, sizeof header - header_bytes,
	                                 "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%" PRIu64,
	                                 header_bytes ? "," : "{", name, rows);
	if (columns > 1)
		header_bytes += (size_t)snprintf(header + header_bytes, sizeof header - header_bytes,
		                                 ",%" PRIu64, columns);
	header_bytes += (size_t)snprintf(header + header_bytes, sizeof header - header_bytes,
	                                 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
	                                 data_bytes, end);
	data_bytes = end;
}

static void
mark(uint64_t at, int layer, char matrix, char end)
{
	marks[mark_count].at = at;
	snprintf(marks[mark_count++].text, 9, "%c%c %05d", matrix, end, layer);
}

static void
experts(int layer)
{
	static const char *const matrices[] = { "down", "gate", "up" };
	char name[80];
	int i, k;

	for (i = 0; i < EXPERTS; i++)
		for (k = 0; k < 3; k++) {
			/* In the order of names, 10 comes before 2. */
			int n = i < 2 ? i : i < 8 ? i + 8 : i - 6;

			snprintf(name, sizeof name, "model.layers.%d.mlp.experts.%d.%s_proj.weight", layer,
			         n, matrices[k]);
			if (n == 0)
				mark(data_bytes, layer, matrices[k][0], 'a');
			tensor(name, k ? INNER : HIDDEN, k ? HIDDEN : INNER);
			if (n == EXPERTS - 1)
				mark(data_bytes - 8, layer, matrices[k][0], 'z');
		}
}

static void
block(int layer)
{
	static const struct {
		const char *name;
		uint64_t rows, columns;
	} rest[] = {
		{ "mlp.gate", EXPERTS, HIDDEN }, { "post_attention_layernorm", HIDDEN, 1 },
		{ "self_attn.k_norm", HEAD, 1 }, { "self_attn.k_proj", KV_HEADS * HEAD, HIDDEN },
		{ "self_attn.o_proj", HIDDEN, HEADS * HEAD }, { "self_attn.q_norm", HEAD, 1 },
		{ "self_attn.q_proj", HEADS * HEAD, HIDDEN },
		{ "self_attn.v_proj", KV_HEADS * HEAD, HIDDEN },
	};
	char name[80];
	size_t i;

	snprintf(name, sizeof name, "model.layers.%d.input_layernorm.weight", layer);
	tensor(name, HIDDEN, 1);
	experts(layer);
	for (i = 0; i < sizeof rest / sizeof *rest; i++) {
		snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, rest[i].name);
		tensor(name, rest[i].rows, rest[i].columns);
	}
}

static int
by_name(const void *a, const void *b)
{
	char x[16], y[16];

	snprintf(x, sizeof x, "%d.", *(const int *)a);
	snprintf(y, sizeof y, "%d.", *(const int *)b);
	return strcmp(x, y);
}

static void
put(int fd, const void *p, size_t n, uint64_t at)
{
	if (pwrite(fd, p, n, (off_t)at) != (ssize_t)n)
		die("cannot be written");
}

static void
make(const char *path)
{
	int layers[LAYERS], i, fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
	uint64_t length;
	size_t k;

	tensor("lm_head.weight", VOCABULARY, HIDDEN);
	tensor("model.embed_tokens.weight", VOCABULARY, HIDDEN);
	for (i = 0; i < LAYERS; i++)
		layers[i] = i;
	qsort(layers, LAYERS, sizeof *layers, by_name);
	for (i = 0; i < LAYERS; i++)
		block(layers[i]);
	tensor("model.norm.weight", HIDDEN, 1);
	header[header_bytes++] = '}';
	while (header_bytes % 8)
		header[header_bytes++] = ' ';
	length = header_bytes; /* little-endian machines only */
	if (fd < 0)
		die(path);
	put(fd, &length, 8, 0);
	put(fd, header, header_bytes, 8);
	if (ftruncate(fd, (off_t)(8 + header_bytes + data_bytes)) < 0)
		die("a file of this size is not possible");
	for (k = 0; k < mark_count; k++)
		put(fd, marks[k].text, 8, 8 + header_bytes + marks[k].at);
	if (close(fd) < 0)
		die(path);
}

static void
list(const char *path)
{
	int fd = open(path, O_RDONLY);
	uint64_t length;
	off_t at;

	if (fd < 0 || pread(fd, &length, 8, 0) != 8)
		die(path);
	at = (off_t)length + 8;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		char page[PAGE];
		ssize_t n = pread(fd, page, sizeof page, at), i;

		if (n <= 0)
			die("cannot be read");
		for (i = 0; i + 8 <= n; i += 8)
			if (memcmp(page + i, "\0\0\0\0\0\0\0", 8) != 0)
				printf("%jd %.8s\n", (intmax_t)(at + i), page + i);
		at += n;
	}
	close(fd);
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		die("make|list FILE");
	if (strcmp(argv[1], "make") == 0)
		make(argv[2]);
	else
		list(argv[2]);
	return 0;
}
