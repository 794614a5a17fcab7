#include "test.h"

#include "apr2_parts.h"

/* ---- faults ---- */

enum spot { HEADER, ENTRY0, ENTRY1, ENTRY2, ENTRY3, INDEX, FOOT };

static const struct fault {
	const char *name;
	enum spot base;
	int offset;          /* from there */
	unsigned width;      /* 1, 2, 4, 8 */
	uint64_t value;
	enum err_code code;
	const char *fact;    /* is in the message */
} faults[] = {
	{ "FALSIFY 1: magic APRX", HEADER, 3, 1, 'X', ERR_FORMAT, "not an APR2 file" },
	{ "FALSIFY 3: version 3.0", HEADER, 4, 2, 3, ERR_VERSION, "version 3.0" },
	{ "version 1.0", HEADER, 4, 2, 1, ERR_VERSION, "version 1.0" },
	{ "sharded", HEADER, 8, 4, 0x4a, ERR_FORMAT, "the others cannot be found" },
	{ "encrypted", HEADER, 8, 4, 0x52, ERR_FORMAT, "an encrypted APR2" },
	{ "metadata inside the header", HEADER, 12, 4, 31, ERR_CORRUPT, "metadata begins" },
	{ "metadata after a hole", HEADER, 12, 4, 65, ERR_CORRUPT, "a hole of 33" },
	{ "metadata far away", HEADER, 12, 4, UINT32_MAX, ERR_CORRUPT, "a hole" },
	{ "metadata of 4 GiB", HEADER, 16, 4, UINT32_MAX, ERR_CORRUPT, "exceeds 256 MiB" },
	{ "metadata one byte short", HEADER, 16, 4, sizeof spec_json - 2, ERR_CORRUPT,
	  "neither a comma nor the end" },
	{ "no metadata", HEADER, 16, 4, 0, ERR_CORRUPT, "a hole" },
	{ "index inside the metadata", HEADER, 20, 4, 33, ERR_CORRUPT, "index begins" },
	{ "index of 7 bytes", HEADER, 24, 4, 7, ERR_CORRUPT, "no room for its header" },
	{ "index of 60 bytes", HEADER, 24, 4, 60, ERR_CORRUPT, "does not fit" },
	{ "index of 4 GiB", HEADER, 24, 4, UINT32_MAX, ERR_CORRUPT, "the index ends" },
	{ "data inside the index", HEADER, 28, 4, 64, ERR_CORRUPT, "the data begins" },
	{ "data after the end", HEADER, 28, 4, 1 << 20, ERR_CORRUPT, "cut short" },
	{ "2^32-1 tensors", INDEX, 0, 4, UINT32_MAX, ERR_CORRUPT, "does not fit" },
	{ "five tensors", INDEX, 0, 4, 5, ERR_CORRUPT, "does not fit" },
	{ "three tensors", INDEX, 0, 4, 3, ERR_CORRUPT, "left in the index" },
	{ "no name", ENTRY0, 0, 2, 0, ERR_CORRUPT, "without a name" },
	{ "name past the index", ENTRY3, 0, 2, 65535, ERR_CORRUPT, "inside an entry" },
	{ "FALSIFY 17: name not UTF-8", ENTRY0, 2, 1, 0xff, ERR_CORRUPT, "not UTF-8" },
	{ "NUL in a name", ENTRY0, 2, 1, 0, ERR_CORRUPT, "not UTF-8" },
	{ "FALSIFY 18: name twice", ENTRY1, 2, 1, 'a', ERR_CORRUPT, "occurs twice" },
	{ "FALSIFY 7: not sorted", ENTRY0, 2, 1, 'x', ERR_CORRUPT, "not sorted" },
	{ "FALSIFY 21: dtype 255", ENTRY0, 3, 1, 255, ERR_FORMAT, "dtype code 255" },
	{ "dtype 15", ENTRY0, 3, 1, 15, ERR_FORMAT, "dtype code 15" },
	{ "a second code for F32", ENTRY0, 3, 1, 64, ERR_FORMAT, "dtype code 64" },
	{ "FALSIFY 19: 9 dimensions", ENTRY0, 4, 1, 9, ERR_FORMAT, "9 dimensions" },
	{ "255 dimensions", ENTRY0, 4, 1, 255, ERR_FORMAT, "255 dimensions" },
	{ "a dimension of 2^63", ENTRY0, 5, 8, UINT64_C(1) << 63, ERR_CORRUPT, "overflows" },
	{ "a dimension too many", ENTRY0, 5, 8, 3, ERR_CORRUPT, "takes 36 bytes" },
	{ "half a block", ENTRY1, 5, 8, 16, ERR_CORRUPT, "rows of 32" },
	{ "offset not 0", ENTRY0, 21, 8, 64, ERR_CORRUPT, "a hole of 64" },
	{ "offset not aligned", ENTRY1, 13, 8, 65, ERR_CORRUPT, "not a multiple of 64" },
	{ "overlap", ENTRY1, 13, 8, 0, ERR_CORRUPT, "overlaps" },
	{ "hole", ENTRY3, 5, 8, 192, ERR_CORRUPT, "a hole" },
	{ "FALSIFY 14: offset after the end", ENTRY3, 5, 8, 1 << 20, ERR_CORRUPT, "a hole" },
	{ "offset 2^64-64", ENTRY3, 5, 8, UINT64_MAX - 63, ERR_CORRUPT, "leave room for it at 128" },
	{ "size too small", ENTRY0, 29, 8, 23, ERR_CORRUPT, "takes 24 bytes" },
	{ "size 2^64-1", ENTRY0, 29, 8, UINT64_MAX, ERR_CORRUPT, "takes 24 bytes" },
	{ "raw size", ENTRY0, 37, 8, 24, ERR_FORMAT, "stored compressed" },
	{ "lz4", ENTRY0, 45, 4, 1, ERR_CORRUPT, "with lz4, but from no bytes" },
	{ "zstd", ENTRY0, 45, 4, 2, ERR_CORRUPT, "with zstd, but from no bytes" },
	{ "lz4 and zstd", ENTRY0, 45, 4, 3, ERR_CORRUPT, "both with lz4 and with zstd" },
	{ "lz4, sealed", ENTRY0, 45, 4, 5, ERR_FORMAT, "stored sealed" },
	{ "sealed", ENTRY0, 45, 4, 4, ERR_CORRUPT, "is sealed, but" },
	{ "sparse", ENTRY0, 45, 4, 8, ERR_FORMAT, "stored sparse" },
	{ "unknown entry flag", ENTRY0, 45, 4, 16, ERR_FORMAT, "unknown flags 0x10" },
	{ "FALSIFY 12: footer magic", FOOT, 4, 1, 'X', ERR_CORRUPT, "neither a frame" },
	{ "file size in the footer", FOOT, 8, 8, 1, ERR_CORRUPT, "footer says 1" },
};

static size_t
place_of(enum spot p)
{
	switch (p) {
	case HEADER:
		return 0;
	case INDEX:
		return at.index;
	case FOOT:
		return at.foot;
	default:
		return at.entry[p - ENTRY0];
	}
}

static void
test_faults(void)
{
	struct buf file = { 0 };
	struct err e;
	size_t i;
	unsigned j;

	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		const struct fault *f = &faults[i];
		uint8_t *p;
		bool before_data = f->base != FOOT && strcmp(f->fact, "cut short") != 0;

		make_file(&file, spec_json, 64);
		p = file.p + place_of(f->base) + f->offset;
		for (j = 0; j < f->width; j++)
			p[j] = (uint8_t)(f->value >> 8 * j);
		repair(&file);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == f->code && strstr(e.fact, f->fact), "%s: E00%d %s: %s",
		        f->name, e.code, e.object, e.fact);
		outcome(&file, true, &no_options, &e);
		test_ok(e.code == f->code && (!before_data || strstr(e.fact, f->fact)),
		        "%s, from a pipe: E00%d %s: %s", f->name, e.code, e.object, e.fact);
	}
	buf_free(&file);
}

/* Harmless oddities are noted, and refused with strict. */
static void
test_oddities(void)
{
	static const struct format_options strict = { .strict = true };
	struct buf file = { 0 };
	struct source *s;
	struct err e;
	json_t *o;
	unsigned i;

	for (i = 0; i < 5; i++) {
		const char *fact = "";

		make_file(&file, i == 2 ? "{\"apr_version\":\"2.0.0\",\"architecture\":{}}"
		                        : spec_json, 64);
		if (i == 0) {
			le32_put(file.p + 8, 0x80000042);
			fact = "flags 0x80000000";
		} else if (i == 2) {
			fact = "lacks the required member model_type";
		} else if (i == 3) {
			le32_put(file.p + 8, 0x62);
			fact = "marked as signed";
		} else if (i == 1) {
			le32_put(file.p + 8, 0x43);
			fact = "marked as compressed, but no tensor is";
		} else {
			fact = "3 bytes after its footer";
		}
		repair(&file);
		if (i == 4)
			buf_text(&file, "xyz");
		test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE && strstr(noted, fact),
		        "note: %s (%s)", noted, e.fact);
		test_ok(outcome(&file, true, &no_options, &e) == ERR_NONE && strstr(noted, fact),
		        "note from a pipe");
		test_ok(outcome(&file, false, &strict, &e) == ERR_CORRUPT && strstr(e.fact, fact),
		        "strict: %s", e.fact);
	}
	make_file(&file, spec_json, 64);
	le16_put(file.p + 6, 7);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE, "version 2.7 is read");
	le32_put(file.p + at.index + 4, 1);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE && !*noted,
	        "the reserved field of the index may be any number");
	le32_put(file.p + at.index + 4, 0);
	memset(file.p + at.end, 0xff, at.foot - at.end);
	memset(file.p + at.data + 24, 0xff, 40);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE,
	        "padding may hold anything");
	le32_put(file.p + 8, 0x3000 | APR2_ALIGNED_64 | APR2_ALIGNED_32 | APR2_SIGNED |
	         APR2_QUANTIZED | APR2_STREAMING | APR2_SAFETENSORS_SRC | APR2_GGUF_SRC);
	buf_text(&file, "x");
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.reads->describe(s, &e) : NULL;
	test_ok(json_array_size(json_object_get(o, "flags")) == 8 &&
	        strcmp(json_string_value(json_array_get(json_object_get(o, "flags"), 7)),
	               "0x3000") == 0 && json_is_null(json_object_get(o, "checksum")),
	        "describe: unknown flags, and no footer at the end");
	json_decref(o);
	source_close(s);
	file.n--;
	le32_put(file.p + 8, 0);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE,
	        "without a flag the alignment is found");
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.reads->describe(s, &e) : NULL;
	test_ok(json_integer_value(json_object_get(o, "alignment")) == 64,
	        "the largest that holds: 64");
	json_decref(o);
	source_close(s);
	buf_free(&file);
}

/* No flag says it: a second tensor at byte 32 is on no multiple of 64. */
static void
test_alignment_found(void)
{
	static const struct format_options align = { .align = 32 };
	static const uint64_t three[] = { 3 };
	struct buf stream = { 0 }, file = { 0 };
	struct err e = ERR_INIT;
	struct source *s;
	struct model m;
	json_t *o;

	begin_model(&m, NULL);
	add_tensor(&m, "x", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "y", "U8", 1, three, TENSOR_OWN_SIZE);
	make_stream(&m, NULL, &stream);
	convert(open_memory(&stream, false, &no_options, &e), true, &align, &file, &e);
	le32_put(file.p + 8, le32(file.p + 8) & ~(uint32_t)APR2_ALIGNED_32);
	le32_put(file.p + file.n - 16, crc32_add(0, file.p, file.n - 16));
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.reads->describe(s, &e) : NULL;
	test_ok(json_integer_value(json_object_get(o, "alignment")) == 32 &&
	        json_array_size(json_object_get(o, "flags")) == 1,
	        "the largest that holds: 32 (%s)", e.fact);
	json_decref(o);
	source_close(s);
	model_free(&m);
	buf_free(&stream);
	buf_free(&file);
}

/* Truncation at every byte, and one flipped bit in every byte. */
static void
test_damage(void)
{
	struct buf file = { 0 }, cut;
	struct err e;
	size_t i, passed = 0, wrong = 0;

	make_file(&file, spec_json, 64);
	for (i = 0; i < file.n; i++) {
		cut = (struct buf){ .p = file.p, .n = i };
		if (outcome(&cut, false, &no_options, &e) == ERR_NONE ||
		    outcome(&cut, true, &no_options, &e) == ERR_NONE)
			passed++;
		else if (e.code != ERR_CORRUPT && i >= 4)
			wrong++;
	}
	test_ok(passed == 0 && wrong == 0, "cut at every byte: %zu passed, %zu other codes",
	        passed, wrong);
	for (i = 0; i < 8 * file.n; i++) {
		file.p[i / 8] ^= (uint8_t)(1u << i % 8);
		passed += outcome(&file, i % 2, &no_options, &e) == ERR_NONE;
		file.p[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	test_ok(passed == 0, "FALSIFY 4: every bit flipped, %zu passed", passed);
	file.p[at.data + 70] ^= 1;
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM, "E004: %s", e.fact);
	buf_free(&file);
}

/* The example of the manual page is a file. */
static void
test_manual(void)
{
	FILE *page = fopen("man/apr2.5", "r");
	struct buf file = { 0 };
	struct err e = ERR_INIT;
	char line[256];

	if (!page)
		die("man/apr2.5 cannot be read: run this in the top folder");
	while (fgets(line, sizeof line, page)) {
		unsigned at_byte, byte, i;
		int used, more;

		if (sscanf(line, "%2x  %n", &at_byte, &used) < 1 || at_byte != file.n ||
		    line[2] != ' ')
			continue;
		for (i = 0; i < 16 && sscanf(line + used, "%2x%n", &byte, &more) == 1; i++) {
			buf_u8(&file, (uint8_t)byte);
			used += more;
		}
	}
	fclose(page);
	test_ok(file.n == 144 && outcome(&file, false, &no_options, &e) == ERR_NONE &&
	        !noted[0], "the example of apr2(5), %zu bytes (%s)", file.n, e.fact);
	buf_free(&file);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_faults();
	test_oddities();
	test_alignment_found();
	test_damage();
	test_manual();
	return test_done();
}
