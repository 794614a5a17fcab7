#include "test.h"

#include "apr2_parts.h"

/* Read as from a pipe, of any size. */
static struct source *
open_forward(const struct buf *b, const struct format_options *o, struct err *e)
{
	struct reader r;

	noted[0] = '\0';
	reader_memory(&r, b->p, b->n, "in", e);
	r.seekable = false;
	r.end = READER_UNKNOWN;
	return format_apr2.reads->open(&r, o, note, e);
}

/* Pack into an output that cannot seek. */
static void
pack_forward(const struct buf *stream, const struct format_options *o, struct buf *out,
             struct err *e)
{
	static const struct flow straight;
	struct source *source = open_memory(stream, false, o, e);
	int fd = memfd_create("out", 0);
	struct out to;
	struct sink *sink;

	if (fd < 0 || out_fd(&to, dup(fd), "out", e) < 0)
		die("no memory file");
	to.seekable = false;
	sink = format_apr2.writes->create(&to, o, e);
	flow_run(source, sink, &straight, e);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
	close(fd);
}

/* The body of the sums frame. */
static const uint8_t *
sums_of(const struct buf *apr2)
{
	size_t i;

	for (i = apr2->n - 16; i > 0 && memcmp(apr2->p + i, "sums", 4) != 0; i--)
		;
	return apr2->p + i + 16 + strlen(APR2_SUMS_HEAD) + 4;
}

/* Which tensors are compressed by what, as a letter each. */
static void
how_stored(const struct buf *apr2, char *letters)
{
	struct err e = ERR_INIT;
	struct source *s = open_memory(apr2, true, &no_options, &e);
	size_t i;

	if (!s)
		die(e.fact);
	for (i = 0; i < s->plan->tensor_count; i++) {
		uint64_t stored, bytes = tensor_bytes(s->plan->tensors[i]);
		const struct codec *c = format_apr2.reads->tensor_stored(s, i, &stored);

		letters[i] = c ? c->name[0] : '-';
		if (c ? stored >= bytes : stored != bytes)
			letters[i] = '?';
	}
	letters[i] = '\0';
	source_close(s);
}

static void
test_compressed(void)
{
	static const struct format_options how[] = { { .codec = &codec_lz4 },
		{ .codec = &codec_zstd, .level = 3 },
		{ .codec = &codec_zstd, .level = 13, .align = 32 } };
	static const uint64_t none[] = { 0 }, small[] = { 300 }, mib[] = { 1 << 20 },
		less[] = { (1 << 20) - 1 }, more[] = { (1 << 20) + 1 }, large[] = { 3000000 };
	struct buf stream = { 0 }, plain = { 0 }, apr2 = { 0 }, again = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	size_t i;

	begin_model(&m, "safetensors");
	model_add_blob(&m, "b", "file", 1000, &e);
	m.licence = 5;
	m.signatures = 1;
	for (i = 0; i < 24; i++) {
		const uint64_t *dims = i < 4 ? small : i < 8 ? less : i < 12 ? mib : i < 16 ? more
		                       : i < 20 ? large : none;
		char name[8];

		snprintf(name, sizeof name, "%c%zu", (int)('z' - i), i);
		add_tensor(&m, name, "U8", 1, dims, TENSOR_OWN_SIZE);
	}
	for_codecs = true;
	make_stream(&m, NULL, &stream);
	for_codecs = false;
	for (i = 0; i < 3; i++) {
		const struct format_options as_it_is = { .align = how[i].align };
		const char *name = how[i].codec->name;
		char letters[32], want[25];
		size_t j;

		/* Noise is not, nor what begins with a MiB of it, nor what is empty. */
		for (j = 0; j < 24; j++)
			want[j] = j < 20 && j % 2 ? name[0] : '-';
		want[24] = '\0';
		convert(open_memory(&stream, false, &no_options, &e), true, &as_it_is, &plain, &e);
		convert(open_memory(&stream, false, &no_options, &e), true, &how[i], &apr2, &e);
		test_ok(!e.code && !noted[0], "%s: packed (%s %s)", name, e.fact, noted);
		how_stored(&apr2, letters);
		test_ok(strcmp(letters, want) == 0, "%s: %s", name, letters);
		test_ok((le32(apr2.p + 8) & APR2_COMPRESSED) && apr2.n < plain.n / 3 * 2,
		        "%s: %zu bytes of %zu", name, apr2.n, plain.n);
		test_ok(memcmp(sums_of(&apr2), sums_of(&plain), 24 * 4) == 0,
		        "%s: the sums are those of plain bytes", name);
		pack_forward(&stream, &how[i], &again, &e);
		test_ok(!e.code && same(&apr2, &again), "%s: the same bytes into a pipe (%s)",
		        name, e.fact);
		convert(open_memory(&apr2, true, &no_options, &e), true, &how[i], &again, &e);
		test_ok(!e.code && same(&apr2, &again), "%s: and packed again (%s)", name, e.fact);
		convert(open_memory(&apr2, true, &no_options, &e), true, &no_options, &again, &e);
		test_ok(!e.code && same(&plain, &again),
		        "%s: and the plain file when unpacked (%s)", name, e.fact);
		convert(open_memory(&plain, true, &no_options, &e), false, &no_options, &back, &e);
		convert(open_memory(&apr2, true, &no_options, &e), false, &no_options, &again, &e);
		test_ok(!e.code && same(&back, &again) && !noted[0], "%s: the same stream (%s)",
		        name, e.fact);
		test_ok(how[i].align || same(&stream, &back), "%s: and the one it came from", name);
		buf_clear(&again);
		convert(open_forward(&apr2, &no_options, &e), false, &no_options, &again, &e);
		test_ok(!e.code && same(&back, &again), "%s: from a pipe (%s)", name, e.fact);
	}
	model_free(&m);

	/* Nothing to gain. */
	begin_model(&m, NULL);
	add_tensor(&m, "t", "U8", 1, large, TENSOR_OWN_SIZE);
	for_codecs = true;
	make_stream(&m, NULL, &stream);
	for_codecs = false;
	convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &plain, &e);
	convert(open_memory(&stream, false, &no_options, &e), true, &how[1], &apr2, &e);
	test_ok(!e.code && same(&plain, &apr2) && strstr(noted, "no tensor gets shorter by zstd"),
	        "noise: the plain file, and a note: %s", noted);
	model_free(&m);
	buf_free(&stream);
	buf_free(&plain);
	buf_free(&apr2);
	buf_free(&again);
	buf_free(&back);
}

/* One tensor t, U8 [size], that is stored as the bytes given. */
static void
make_packed(struct buf *b, const void *stored, size_t n, uint64_t size, uint64_t raw,
            uint32_t flags)
{
	size_t entry;

	buf_clear(b);
	buf_put(b, "APR2\2\0\0\0\x03\0\0\0\x20\0\0\0", 16);
	buf_u32(b, sizeof spec_json - 1);
	buf_u32(b, 32 + sizeof spec_json - 1);
	buf_u32(b, 8 + 41);
	buf_u32(b, 0);
	buf_text(b, spec_json);
	buf_u32(b, 1);
	buf_u32(b, 0);
	entry = b->n;
	put_entry(b, "t", 7, 1, &size, 0, n);
	le64_put(b->p + entry + 29, raw);
	le32_put(b->p + entry + 37, flags);
	pad_to(b, 64);
	le32_put(b->p + 28, (uint32_t)b->n);
	buf_put(b, stored, n);
	pad_to(b, 64);
	close_file(b);
}

/* zstd: one block of zeros; a window of 1 KiB, or of 64 MiB. lz4: a block of three
 * bytes as they are. */
#define ZEROS "\x28\xb5\x2f\xfd\0\0\x23\0\0\0" /* 4 */
#define WIDE "\x28\xb5\x2f\xfd\0\x80\x23\0\0\0"
#define THREE "\x04\x22\x4d\x18\x60\x40\x82\3\0\0\x80" "abc\0\0\0\0"
#define OF(s) s, sizeof(s) - 1

static void
test_stored(void)
{
	static const struct format_options wide = { .memory = 64 << 20 },
		strict = { .strict = true };
	static const struct {
		const char *name;
		const char *stored;
		size_t n;
		uint64_t size, raw;
		uint32_t flags;
		enum err_code code;
		const char *fact;
	} rows[] = {
		{ "zstd", OF(ZEROS), 4, 4, 2, ERR_NONE, "" },
		{ "lz4", OF(THREE), 3, 3, 1, ERR_NONE, "" },
		{ "raw size is not the tensor's", OF(ZEROS), 4, 5, 2, ERR_CORRUPT, "takes 4 bytes" },
		{ "a zstd bomb", OF(ZEROS), 3, 3, 2, ERR_CORRUPT, "holds more than 3 bytes" },
		{ "an lz4 bomb", OF(THREE), 2, 2, 1, ERR_CORRUPT, "holds more than 2 bytes" },
		{ "zstd, too few", OF(ZEROS), 5, 5, 2, ERR_CORRUPT, "holds 4 bytes, not 5" },
		{ "lz4, too few", OF(THREE), 4, 4, 1, ERR_CORRUPT, "holds 3 bytes, not 4" },
		{ "zstd, cut short", OF(ZEROS) - 1, 4, 4, 2, ERR_CORRUPT, "cut short" },
		{ "lz4, cut short", OF(THREE) - 1, 3, 3, 1, ERR_CORRUPT, "cut short" },
		{ "zstd, bytes after it", OF(ZEROS "x"), 4, 4, 2, ERR_CORRUPT,
		  "1 bytes are stored after" },
		{ "lz4, bytes after it", OF(THREE "xy"), 3, 3, 1, ERR_CORRUPT,
		  "2 bytes are stored after" },
		{ "two zstd frames", OF(ZEROS ZEROS), 8, 8, 2, ERR_CORRUPT, "holds 4 bytes, not 8" },
		{ "two lz4 frames", OF(THREE THREE), 6, 6, 1, ERR_CORRUPT, "holds 3 bytes, not 6" },
		{ "zstd as lz4", OF(ZEROS), 4, 4, 1, ERR_CORRUPT, "are not a lz4 frame" },
		{ "lz4 as zstd", OF(THREE), 3, 3, 2, ERR_CORRUPT, "are not a zstd frame" },
		{ "a byte", OF("x"), 3, 3, 2, ERR_CORRUPT, "are not a zstd frame" },
		{ "nothing", OF(""), 3, 3, 2, ERR_CORRUPT, "0 bytes of zstd cannot stand for 3" },
		{ "2^40 from 10", OF(ZEROS), UINT64_C(1) << 40, UINT64_C(1) << 40, 2, ERR_CORRUPT,
		  "10 bytes of zstd cannot stand for 1099511627776" },
		{ "2^64-1 from 18", OF(THREE), UINT64_MAX, UINT64_MAX, 1, ERR_CORRUPT,
		  "18 bytes of lz4 cannot" },
		{ "a reserved block", OF("\x28\xb5\x2f\xfd\0\0\x27\0\0\0"), 4, 4, 2, ERR_CORRUPT,
		  "zstd frame is damaged" },
		{ "a wrong header checksum", OF("\x04\x22\x4d\x18\x60\x40\x83\0\0\0\0"), 1, 1, 1,
		  ERR_CHECKSUM, "lz4 frame is damaged" },
		{ "a wide window", OF(WIDE), 4, 4, 2, ERR_MEMORY, "needs a window of 64.0 MiB" },
	};
	struct buf file = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_packed(&file, rows[i].stored, rows[i].n, rows[i].size, rows[i].raw,
		            rows[i].flags);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s: E00%d %s: %s",
		        rows[i].name, e.code, e.object, e.fact);
		outcome(&file, true, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s, from a pipe: %s",
		        rows[i].name, e.fact);
	}
	test_ok(outcome(&file, false, &wide, &e) == ERR_NONE, "a wide window, allowed (%s)",
	        e.fact);
	make_packed(&file, OF(ZEROS), 4, 4, 2);
	le32_put(file.p + 8, APR2_ALIGNED_64);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE &&
	        strstr(noted, "not marked as compressed"), "note: %s (%s)", noted, e.fact);
	test_ok(outcome(&file, false, &strict, &e) == ERR_CORRUPT, "strict: %s", e.fact);
	for (i = 0; i < file.n; i++) {
		struct buf cut = { .p = file.p, .n = i };

		if (outcome(&cut, false, &no_options, &e) == ERR_NONE ||
		    outcome(&cut, true, &no_options, &e) == ERR_NONE)
			break;
	}
	test_ok(i == file.n, "cut at every byte: none passes");
	buf_free(&file);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_compressed();
	test_stored();
	return test_done();
}
