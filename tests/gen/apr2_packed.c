/* apr2_packed: APR2 files of compressed tensors with a single fault each. Checksums
 * are right unless they are the fault. Status 0 in the manifest: not a fault, but unusual.
 */
#include "stream.h"

/* A block of three stored bytes; a block of a zero that is repeated four times. */
#define LZ4 "\x04\x22\x4d\x18\x60\x40\x82\x03\0\0\x80" "abc\0\0\0\0"
#define ZSTD "\x28\xb5\x2f\xfd\0\0\x23\0\0\0"

/* Marked as compressed, aligned to 64. */
#define FLAGS (0x001 | 0x002)

static void
put_entry(struct gen *g, const char *name, const char *const *marks, uint64_t bytes,
          uint64_t offset, uint64_t stored, uint32_t flags)
{
	put_number(g, 1, 2);
	put_text(g, name);
	put_u8(g, 7); /* U8 */
	put_u8(g, 1);
	mark(g, marks[0]);
	put_u64(g, bytes);
	mark(g, marks[1]);
	put_u64(g, offset);
	mark(g, marks[2]);
	put_u64(g, stored);
	mark(g, marks[3]);
	put_u64(g, flags ? bytes : 0);
	mark(g, marks[4]);
	put_u32(g, flags);
}

/* The mother: a plain tensor, one by each codec, and their sums. */
static void
packed_mother(struct gen *g)
{
	static const char json[] = "{\"apr_version\":\"2.0.0\",\"model_type\":\"x\","
		"\"architecture\":{}}";
	static const char *const marks[][5] = {
		{ "a.0", "a.offset", "a.size", "a.raw", "a.flags" },
		{ "l.0", "l.offset", "l.size", "l.raw", "l.flags" },
		{ "z.0", "z.offset", "z.size", "z.raw", "z.flags" },
	};
	struct frames frames = { 0 };
	struct gen *sums;

	put_text(g, "APR2");
	put_u32(g, 2);
	mark(g, "flags");
	put_u32(g, FLAGS);
	put_u32(g, 32);
	put_u32(g, sizeof json - 1);
	put_u32(g, 32 + sizeof json - 1);
	put_u32(g, 8 + 3 * 41);
	put_u32(g, 256);
	put_text(g, json);
	put_u64(g, 3);
	put_entry(g, "a", marks[0], 5, 0, 5, 0);
	put_entry(g, "l", marks[1], 3, 64, sizeof LZ4 - 1, 1);
	put_entry(g, "z", marks[2], 4, 128, sizeof ZSTD - 1, 2);
	put_align(g, 64);
	if (g->n != 256)
		gen_die("the data begins elsewhere", "packed_mother");
	put_text(g, "plain");
	put_align(g, 64);
	mark(g, "l");
	put(g, LZ4, sizeof LZ4 - 1);
	put_align(g, 64);
	mark(g, "z");
	put(g, ZSTD, sizeof ZSTD - 1);
	put_align(g, 64);
	sums = put_frame(&frames, "sums", "sums", "{\"checksum\":\"crc32\"}");
	put_u32(sums, crc32_of((const uint8_t *)"plain", 5));
	put_u32(sums, crc32_of((const uint8_t *)"abc", 3));
	put_u32(sums, crc32_of((const uint8_t *)"\0\0\0", 4));
	write_frames(g, &frames);
	frames_free(&frames);
	mark(g, "footer");
}

static void
put_footer(struct gen *g)
{
	put_u32(g, crc32_of(g->p, g->n));
	put_text(g, "2RPA");
	put_u64(g, g->n + 8);
}

static const struct fault {
	const char *name;
	int status;
	const char *says, *pipe; /* pipe: the message for a pipe, if it differs */
	struct edit edits[2];
} faults[] = {
	{ "packed_lz4_and_zstd", 4, "both with lz4 and with zstd", NULL,
	  { SET32("l.flags", 3) } },
	{ "packed_lz4_sealed", 4, "is stored sealed", NULL, { SET32("l.flags", 5) } },
	{ "packed_raw_without_flag", 4, "and no flag tells how", NULL,
	  { SET32("l.flags", 0) } },
	{ "packed_flag_without_raw", 4, "but from no bytes", NULL, { SET64("l.raw", 0) } },
	{ "packed_raw_not_of_the_shape", 4, "takes 3 bytes, not 4", NULL,
	  { SET64("l.raw", 4) } },
	{ "packed_raw_max", 4, "cannot stand for 1844", NULL,
	  { SET64("l.raw", UINT64_MAX) } },
	{ "packed_lz4_bomb_by_size", 4, "18 bytes of lz4 cannot stand for 4591", NULL,
	  { SET64("l.0", 18 * 255 + 1), SET64("l.raw", 18 * 255 + 1) } },
	{ "packed_zstd_bomb_by_size", 4, "10 bytes of zstd cannot stand for 327681", NULL,
	  { SET64("z.0", 10 * 32768 + 1), SET64("z.raw", 10 * 32768 + 1) } },
	{ "packed_zstd_bomb_of_a_tib", 4, "cannot stand for 1099511627776", NULL,
	  { SET64("z.0", (uint64_t)1 << 40), SET64("z.raw", (uint64_t)1 << 40) } },
	{ "packed_stored_0", 4, "0 bytes of zstd cannot stand for 4", NULL,
	  { SET64("z.size", 0) } },
	{ "packed_stored_max", 4, "bytes of zstd cannot stand for 4", NULL,
	  { SET64("z.size", UINT64_MAX) } },
	{ "packed_stored_past_eof", 4, "exceed", "bytes are stored after its",
	  { SET64("z.size", 1 << 20) } },
	{ "packed_stored_overlaps", 4, "overlaps the tensor before it", NULL,
	  { SET64("l.size", 65) } },
	{ "packed_lz4_bomb", 4, "its lz4 frame holds more than 2 bytes", NULL,
	  { SET64("l.0", 2), SET64("l.raw", 2) } },
	{ "packed_zstd_bomb", 4, "its zstd frame holds more than 3 bytes", NULL,
	  { SET64("z.0", 3), SET64("z.raw", 3) } },
	{ "packed_lz4_too_few", 4, "its lz4 frame holds 3 bytes, not 5", NULL,
	  { SET64("l.0", 5), SET64("l.raw", 5) } },
	{ "packed_zstd_too_few", 4, "its zstd frame holds 4 bytes, not 5", NULL,
	  { SET64("z.0", 5), SET64("z.raw", 5) } },
	{ "packed_lz4_cut_short", 4, "its lz4 frame is cut short", NULL,
	  { SET64("l.size", 17) } },
	{ "packed_zstd_cut_short", 4, "its zstd frame is cut short", NULL,
	  { SET64("z.size", 9) } },
	{ "packed_lz4_with_more", 4, "1 bytes are stored after its lz4 frame", NULL,
	  { SET64("l.size", 19) } },
	{ "packed_zstd_with_more", 4, "5 bytes are stored after its zstd frame", NULL,
	  { SET64("z.size", 15) } },
	{ "packed_lz4_as_zstd", 4, "the stored bytes are not a zstd frame", NULL,
	  { SET32("l.flags", 2) } },
	{ "packed_zstd_as_lz4", 4, "the stored bytes are not a lz4 frame", NULL,
	  { SET32("z.flags", 1) } },
	{ "packed_lz4_to_be_skipped", 4, "the stored bytes are not a lz4 frame", NULL,
	  { TEXT("l", "\x50\x2a") } },
	{ "packed_lz4_dictionary", 4, "needs a dictionary", NULL,
	  { TEXT("l", "\x04\x22\x4d\x18\x61") } },
	{ "packed_zstd_dictionary", 4, "needs a dictionary", NULL,
	  { TEXT("z", "\x28\xb5\x2f\xfd\1") } },
	{ "packed_zstd_other_size", 4, "says that it stands for 255 bytes, not 4", NULL,
	  { TEXT("z", "\x28\xb5\x2f\xfd\x20\xff") } },
	{ "packed_zstd_wide_window", 1,
	  "needs a window of 36.0 MiB, over the limit of 32.0 MiB", NULL,
	  { TEXT("z", "\x28\xb5\x2f\xfd\0\x79") } },
	{ "packed_zstd_reserved_block", 4, "its zstd frame is damaged", NULL,
	  { TEXT("z", "\x28\xb5\x2f\xfd\0\0\x27") } },
	{ "packed_lz4_header_checksum", 4, "its lz4 frame is damaged", NULL,
	  { TEXT("l", "\x04\x22\x4d\x18\x60\x40\x83") } },
	{ "packed_lz4_block_too_large", 4, "its lz4 frame is damaged", NULL,
	  { TEXT("l", "\x04\x22\x4d\x18\x60\x40\x82\xff\xff\xff\xff") } },

	/* The sums are those of plain bytes, and so vouch for the codec. */
	{ "packed_sum_of_lz4", 4, "l: its data is damaged: CRC 0x", NULL,
	  { TEXT("l", "\x04\x22\x4d\x18\x60\x40\x82\x03\0\0\x80" "abd") } },
	{ "packed_sum_of_zstd", 4, "z: its data is damaged: CRC 0x", NULL,
	  { TEXT("z", "\x28\xb5\x2f\xfd\0\0\x23\0\0\1") } },

	{ "packed_odd_not_marked", 0, "is not marked as compressed, but a tensor is", NULL,
	  { SET32("flags", 0x002) } },
};

static void
write_fault(struct folder *folder, const struct fault *f)
{
	struct gen g = { 0 };
	size_t i;

	packed_mother(&g);
	for (i = 0; i < sizeof f->edits / sizeof *f->edits; i++)
		edit(&g, &f->edits[i]);
	put_footer(&g);
	folder_file(folder, f->name, &g);
	folder_fault(folder, f->name, f->status, f->says, f->pipe);
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	struct folder folder;
	struct gen g = { 0 };
	size_t i;

	folder_open(&folder, argc, argv);
	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		write_fault(&folder, &faults[i]);
	/* The mother itself must pass; it has no line in the manifest. */
	packed_mother(&g);
	put_footer(&g);
	folder_file(&folder, "good", &g);
	gen_free(&g);
	return folder_close(&folder);
}
