/* torch_huge: a zip file of PyTorch with holes in place of values.
 *
 *     torch_huge FILE TENSORS BYTES
 *
 * writes TENSORS members of BYTES zeros each, which are tensors of F32 with rows of 1024 values.
 * As PyTorch does, it aligns values to 64 bytes, and uses zip64 where a number needs it: in the
 * local header, in the directory, and at the end.
 */
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "torch.h"

#define SMALL UINT32_MAX
#define ROW 1024

static int fd;
static uint64_t place; /* in the file */

static void
write_all(struct gen *g)
{
	size_t done = 0;
	ssize_t n;

	for (; done < g->n; done += (size_t)n) {
		n = pwrite(fd, g->p + done, g->n - done, (off_t)(place + done));
		if (n <= 0)
			gen_die("cannot be written", "the file");
	}
	place += g->n;
	gen_free(g);
	*g = (struct gen){ 0 };
}

/* ---- the pickle ---- */

static void
put_string(struct gen *g, const char *s)
{
	put_u8(g, 'X');
	put_u32(g, (uint32_t)strlen(s));
	put_text(g, s);
}

static void
put_long(struct gen *g, uint64_t v)
{
	put_u8(g, 0x8a);
	put_u8(g, 8);
	put_u64(g, v);
}

static void
put_tensor(struct gen *g, unsigned i, uint64_t bytes)
{
	char name[16];

	snprintf(name, sizeof name, "w%u", i);
	put_string(g, name);
	put_text(g, "ctorch._utils\n_rebuild_tensor_v2\n((");
	put_string(g, "storage");
	put_text(g, "ctorch\nFloatStorage\n");
	put_string(g, name + 1);
	put_string(g, "cpu");
	put_long(g, bytes / 4);
	put_text(g, "tQ");
	put_long(g, 0);
	put_long(g, bytes / 4 / ROW);
	put_long(g, ROW);
	put_text(g, "\206");
	put_long(g, ROW);
	put_long(g, 1);
	put_text(g, "\206\211" DICT "tR");
}

/* ---- the archive ---- */

struct part {
	char name[48];
	uint64_t at, bytes;
	uint32_t crc;
};

static uint32_t
crc_of_zeros(uint64_t n)
{
	static const uint8_t zero[1];
	uLong one = crc32(0, zero, 1), all = 0;
	uint64_t bytes = 1;

	for (; n > 0; n >>= 1, one = crc32_combine(one, one, (z_off_t)bytes), bytes *= 2)
		if (n & 1)
			all = crc32_combine(all, one, (z_off_t)bytes);
	return (uint32_t)all;
}

static uint32_t
small(uint64_t v)
{
	return v < SMALL ? (uint32_t)v : SMALL;
}

/* What both headers have in common, from the flags on. */
static void
put_numbers(struct gen *g, const struct part *x)
{
	put_u32(g, 0);
	put_u32(g, 0);
	put_u32(g, x->crc);
	put_u32(g, small(x->bytes));
	put_u32(g, small(x->bytes));
	put_u16(g, (unsigned)strlen(x->name));
}

/* Both sizes, and the offset, as far as they do not fit. */
static void
put_extra_64(struct gen *g, const struct part *x, int with_offset)
{
	const int sizes = x->bytes >= SMALL, offset = with_offset && x->at >= SMALL;

	if (!sizes && !offset)
		return;
	put_u16(g, 1);
	put_u16(g, (unsigned)(16 * sizes + 8 * offset));
	if (sizes) {
		put_u64(g, x->bytes);
		put_u64(g, x->bytes);
	}
	if (offset)
		put_u64(g, x->at);
}

static void
write_local(struct part *x)
{
	const size_t extra = x->bytes >= SMALL ? 20 : 0;
	struct gen g = { 0 };
	size_t head = 30 + strlen(x->name) + extra + 4, pad;

	x->at = place;
	pad = (64 - (place + head) % 64) % 64;
	put_u32(&g, 0x04034b50);
	put_u16(&g, 45);
	put_numbers(&g, x);
	put_u16(&g, (unsigned)(extra + 4 + pad));
	put_text(&g, x->name);
	put_extra_64(&g, x, 0);
	put_text(&g, "FB");
	put_u16(&g, (unsigned)pad);
	put_fill(&g, 'Z', pad);
	write_all(&g);
}

static void
put_central(struct gen *g, const struct part *x)
{
	struct gen extra = { 0 };

	put_extra_64(&extra, x, 1);
	put_u32(g, 0x02014b50);
	put_u32(g, 45 << 16 | 45);
	put_numbers(g, x);
	put_u16(g, (unsigned)extra.n);
	put_fill(g, 0, 10); /* comment, disk, attributes */
	put_u32(g, small(x->at));
	put_text(g, x->name);
	put(g, extra.p, extra.n);
	gen_free(&extra);
}

static void
write_directory(const struct part *list, unsigned n)
{
	const uint64_t from = place;
	struct gen g = { 0 };
	uint64_t bytes;
	unsigned i;

	for (i = 0; i < n; i++)
		put_central(&g, &list[i]);
	bytes = g.n;
	put_u32(&g, 0x06064b50);
	put_u64(&g, 44);
	put_u32(&g, 45 << 16 | 45);
	put_u64(&g, 0);
	put_u64(&g, n);
	put_u64(&g, n);
	put_u64(&g, bytes);
	put_u64(&g, from);
	put_u32(&g, 0x07064b50);
	put_u32(&g, 0);
	put_u64(&g, from + bytes);
	put_u32(&g, 1);
	put_u32(&g, 0x06054b50);
	put_u32(&g, 0);
	put_u16(&g, n < UINT16_MAX ? n : UINT16_MAX);
	put_u16(&g, n < UINT16_MAX ? n : UINT16_MAX);
	put_u32(&g, small(bytes));
	put_u32(&g, small(from));
	put_u16(&g, 0);
	write_all(&g);
}

static void
write_pickle(struct part *x, unsigned tensors, uint64_t bytes)
{
	struct gen g = { 0 };
	unsigned i;

	put_text(&g, PROTO DICT "(");
	for (i = 0; i < tensors; i++)
		put_tensor(&g, i, bytes);
	put_text(&g, "u.");
	*x = (struct part){ .name = "huge/data.pkl", .bytes = g.n,
		.crc = (uint32_t)crc32(0, g.p, (uInt)g.n) };
	write_local(x);
	write_all(&g);
}

int
main(int argc, char **argv)
{
	const unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	const uint64_t bytes = n ? strtoull(argv[3], NULL, 10) / (4 * ROW) * (4 * ROW) : 0;
	struct part *list = calloc((size_t)n + 2, sizeof *list);
	struct gen g = { 0 };
	unsigned i;

	if (n == 0 || !list)
		return 2;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		gen_die("cannot be written", argv[1]);
	write_pickle(&list[0], n, bytes);
	for (i = 1; i <= n; i++) {
		snprintf(list[i].name, sizeof list[i].name, "huge/data/%u", i - 1);
		list[i].bytes = bytes;
		list[i].crc = crc_of_zeros(bytes);
		write_local(&list[i]);
		place += bytes;
	}
	list[i] = (struct part){ .name = "huge/version", .bytes = 2,
		.crc = (uint32_t)crc32(0, (const uint8_t *)"3\n", 2) };
	write_local(&list[i]);
	put_text(&g, "3\n");
	write_all(&g);
	write_directory(list, n + 2);
	free(list);
	return close(fd) == 0 ? 0 : 1;
}
