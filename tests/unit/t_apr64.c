/* Types by code and size, the scanner, and what no file can show: refusals of the
 * writer and forged members of source. Files are in tests/gen/apr64_*.c.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/apr64/apr64.h"
#include "test.h"

/* ---- types ---- */

static void
test_types(void)
{
	static const struct {
		uint8_t code;
		unsigned ndim;
		uint64_t dims[3], bytes;
		bool old;
		int how;
		const char *name;
	} rows[] = {
		{ 0, 2, { 2, 3 }, 24, false, 0, "F32" },
		{ 0, 0, { 0 }, 4, false, 0, "F32" },
		{ 0, 2, { 2, 3 }, 23, false, -1, NULL },
		{ 2, 1, { 32 }, 64, false, 0, "BF16" },
		{ 2, 1, { 32 }, 18, false, 0, "Q4_0" },
		{ 2, 1, { 9 }, 18, false, 0, "BF16" },   /* both: whole rows decide */
		{ 2, 1, { 10 }, 18, false, 1, "Q4_0" },
		{ 3, 1, { 64 }, 512, false, 0, "F64" },
		{ 3, 1, { 64 }, 40, false, 0, "Q4_1" },
		{ 6, 1, { 22 }, 22, false, 0, "I8" },    /* both */
		{ 6, 1, { 32 }, 22, false, 0, "Q5_0" },
		{ 7, 1, { 48 }, 48, false, 0, "U8" },    /* both */
		{ 7, 2, { 2, 32 }, 48, false, 0, "Q5_1" },
		{ 8, 1, { 64 }, 68, false, 0, "Q8_0" },
		{ 8, 1, { 256 }, 144, false, 0, "APR_Q4" }, /* both */
		{ 8, 1, { 256 }, 144, true, 0, "Q4_K" },
		{ 8, 1, { 33 }, 36, false, 0, "APR_Q4" },
		{ 9, 1, { 206 }, 210, false, 0, "APR_Q8" }, /* both */
		{ 9, 1, { 256 }, 210, false, 0, "Q6_K" },
		{ 9, 1, { 256 }, 260, true, 0, "APR_Q8" },
		{ 10, 1, { 256 }, 84, false, 0, "Q2_K" },
		{ 10, 1, { 256 }, 272, true, 0, "Q8_0" },
		{ 12, 2, { 3, 256 }, 432, false, 0, "Q4_K" },
		{ 12, 2, { 3, 256 }, 528, false, 0, "Q5_K" },
		{ 12, 2, { 3, 100 }, 432, false, 1, "Q4_K" }, /* padded */
		{ 12, 2, { 3, 100 }, 288, false, 1, "Q4_K" }, /* flat */
		{ 12, 2, { 3, 100 }, 144, false, -1, NULL },
		{ 14, 2, { 1, 256 }, 210, false, 0, "Q6_K" },
		{ 30, 1, { 3 }, 6, false, 0, "BF16" },
		{ 128, 1, { 1 }, 18, false, 0, "APR_Q4" },
		{ 129, 2, { 2, 2 }, 8, false, 0, "APR_Q8" },
		{ 12, 2, { 0, 256 }, 0, false, 0, "Q4_K" },
		{ 15, 1, { 1 }, 1, false, -2, NULL },
		{ 31, 1, { 1 }, 1, false, -2, NULL },
		{ 255, 1, { 1 }, 1, false, -2, NULL },
		{ 0, 3, { UINT64_C(1) << 33, UINT64_C(1) << 33, 1 }, 0, false, -1, NULL },
		{ 0, 2, { UINT64_C(1) << 62, 4 }, 0, false, -1, NULL },
		{ 0, 1, { UINT64_C(1) << 62 }, 0, false, -1, NULL },
		{ 12, 1, { UINT64_MAX }, 144, false, -1, NULL },
	};
	const struct dtype *t;
	unsigned i, k;
	int how;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		how = apr64_type(rows[i].code, rows[i].ndim, rows[i].dims, rows[i].bytes,
		                 rows[i].old, &t);
		test_ok(how == rows[i].how && (how < 0 || strcmp(t->name, rows[i].name) == 0),
		        "code %u in %llu bytes: %d %s", rows[i].code,
		        (unsigned long long)rows[i].bytes, how, how < 0 ? "" : t->name);
	}
	/* The written file is read back as the same model. */
	for (i = k = 0; (t = dtype_row(i)); i++) {
		uint64_t dims[] = { 512 }, bytes = t->head + 512u / t->items * t->bytes;
		const struct dtype *again;

		if (apr64_code(t) == DTYPE_NONE)
			continue;
		k++;
		how = apr64_type((uint8_t)apr64_code(t), 1, dims, bytes, false, &again);
		if (how != 0 || again != t)
			test_ok(0, "%s is read as %s", t->name, how < 0 ? "nothing" : again->name);
	}
	test_ok(k == 12, "%u types have codes, and keep them", k);
}

static void
test_names(void)
{
	const char *c;

	test_ok(apr64_alias("n_embd", &c) == 0 && strcmp(c, "hidden_size") == 0 &&
	        apr64_alias("hidden_size", &c) == 0, "hidden_size has other names");
	test_ok(apr64_alias("norm_eps", &c) == 7 && strcmp(c, "rms_norm_eps") == 0 &&
	        apr64_alias("x", &c) == -1 && strcmp(c, "x") == 0, "x has none");
	test_ok(apr64_is_ours("apr_stream") && apr64_is_ours("apr.blob.") &&
	        !apr64_is_ours("apr.blobs") && !apr64_is_ours("apr.licence.x"),
	        "names of our own");
	test_ok(strcmp(apr64_flag(0x400), "ROW_MAJOR") == 0 && !apr64_flag(0x1000) &&
	        !apr64_flag(3), "flags have names");
}

/* ---- JSON ---- */

static enum err_code
scan(const void *text, size_t n, struct members *m, struct err *e)
{
	struct spool s = { 0 };

	*m = (struct members){ 0 };
	*e = (struct err)ERR_INIT;
	spool_put(&s, "before", 6, e);
	spool_put(&s, text, n, e);
	members_scan(m, &s, 6, n, &apr64_rules, "in", 64, e);
	spool_free(&s);
	return e->code;
}

static void
test_json(void)
{
	static const struct {
		const char *text;
		size_t members; /* SIZE_MAX: it is none */
	} rows[] = {
		{ "{}", 0 }, { " {\t} \r\n", 0 }, { "{\"a\":1}", 1 },
		{ "{\"a\":[1,[2,{\"b\":[]}],\"]\"],\"\\u0062\":{\"a\":null}}", 2 },
		{ "{\"a\":-1.5e-7,\"b\":0E0,\"c\":true,\"d\":false,\"e\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", 5 },
		{ "{\"a\":\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\xc2\x80\xf0\x90\x80\x80\"}", 1 },
		{ "", SIZE_MAX }, { "[]", SIZE_MAX }, { "{", SIZE_MAX }, { "{\"a\":1", SIZE_MAX },
		{ "{\"a\":}", SIZE_MAX }, { "{\"a\" 1}", SIZE_MAX }, { "{\"a\":1,}", SIZE_MAX },
		{ "{,}", SIZE_MAX }, { "{\"a\":01}", SIZE_MAX }, { "{\"a\":.5}", SIZE_MAX },
		{ "{\"a\":[1,]}", SIZE_MAX }, { "{\"a\":[1}", SIZE_MAX }, { "{\"a\":tru}", SIZE_MAX },
		{ "{\"a\":\"\\", SIZE_MAX }, { "{\"a\":\"\\u12", SIZE_MAX }, { "{}x", SIZE_MAX },
		{ "{\"a\":\"\xc1\x81\"}", SIZE_MAX }, { "{\"a\":\"\xe0\x9f\xbf\"}", SIZE_MAX },
		{ "{\"a\":\"\xf0\x8f\xbf\xbf\"}", SIZE_MAX }, { "{\"a\":\"\xf5\x80\x80\x80\"}", SIZE_MAX },
		{ "{\"a\":\"\x80\"}", SIZE_MAX }, { "{\"a\":1,\"a\":2}", SIZE_MAX },
		{ "{\"a\":\"\\ud800\\u0041\"}", SIZE_MAX }, { "{\"\\udc00\":1}", SIZE_MAX },
	};
	struct members m;
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum err_code code = scan(rows[i].text, strlen(rows[i].text), &m, &e);

		test_ok(rows[i].members == SIZE_MAX ? code == ERR_CORRUPT
		                                    : !code && m.count == rows[i].members,
		        "JSON %zu: %s", i, e.fact);
		members_free(&m);
	}
}

/* Wherever the scanner's window ends. */
static void
test_long_json(void)
{
	static const char piece[] = "\xf0\x9f\x98\x80\\ud83d\\ude00\xe2\x82\xac\\n";
	struct buf b = { 0 };
	struct members m;
	struct err e;
	size_t i, shift;
	bool good = true;

	for (shift = 0; shift < sizeof piece; shift++) {
		buf_clear(&b);
		buf_text(&b, "{\"first\":[null");
		for (i = 0; i < shift; i++)
			buf_text(&b, " ");
		buf_text(&b, "],\"long\":\"");
		while (b.n < 200000)
			buf_text(&b, piece);
		buf_text(&b, "\",\"last\":12}");
		good &= scan(b.p, b.n, &m, &e) == ERR_NONE && m.count == 3;
		good &= good && members_find(&m, "la", "st")->n == 2 &&
		        members_find(&m, "", "long")->at == 6 + 23 + shift &&
		        !members_find(&m, "lon", "") && !members_find(&m, "", "longe");
		members_free(&m);
		/* Cut off inside, and with one byte changed. */
		good &= scan(b.p, 150000 + shift, &m, &e) == ERR_CORRUPT;
		members_free(&m);
		b.p[100000 + shift] = 0xff;
		good &= scan(b.p, b.n, &m, &e) == ERR_CORRUPT;
		members_free(&m);
	}
	test_ok(good, "long values, wherever a window ends (%s)", e.fact);

	for (i = 127; i <= 129; i++) {
		buf_clear(&b);
		buf_text(&b, "{\"a\":");
		for (shift = 1; shift < i; shift++)
			buf_text(&b, "[");
		for (shift = 1; shift < i; shift++)
			buf_text(&b, "]");
		buf_text(&b, "}");
		test_ok(scan(b.p, b.n, &m, &e) == (i <= 128 ? ERR_NONE : ERR_CORRUPT),
		        "%zu deep: %s", i, e.fact);
		members_free(&m);
	}
	buf_clear(&b);
	buf_text(&b, "{\"");
	buf_zeros(&b, 400000);
	memset(b.p + 2, 'x', 400000);
	buf_text(&b, "\":1}");
	test_ok(scan(b.p, b.n, &m, &e) == ERR_CORRUPT && strstr(e.fact, "65535"),
	        "a name of 400000 bytes: %s", e.fact);
	members_free(&m);
	buf_free(&b);
}

/* ---- the writer ---- */

static struct sink *
open_sink(const struct format_options *options, int *fd, struct err *e)
{
	struct out to;

	*fd = memfd_create("out", MFD_CLOEXEC);
	if (*fd < 0 || out_fd(&to, dup(*fd), "out", e) < 0)
		exit(1);
	return format_apr64.writes->create(&to, options, e);
}

static void
add_tensor(struct model *m, const char *name, const char *type, uint64_t n)
{
	struct err e = ERR_INIT;

	model_add_tensor(m, tensor_new(name, strlen(name), dtype_by_name(type), 1, &n,
	                               TENSOR_OWN_SIZE, "test", &e), &e);
	if (e.code)
		exit(1);
}

/* Refused before a byte is written. */
static void
test_refusals(void)
{
	static const char *const fact[] = { "metadata would have 268435457 bytes",
		"does not fit in 64 bits", "does not fit in 64 bits", "64 bytes, not 32" };
	unsigned i;

	for (i = 0; i < sizeof fact / sizeof *fact; i++) {
		struct format_options o = { .align = i == 3 ? 32 : 0 };
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		int fd;

		model_init(&m, &e);
		if (i == 0)
			model_add_blob(&m, "b", "file", (256u << 20) + 1, &e);
		if (i == 1) {
			add_tensor(&m, "a", "U8", INT64_MAX);
			add_tensor(&m, "b", "U8", INT64_MAX);
			add_tensor(&m, "c", "U8", INT64_MAX);
		}
		if (i == 2) {
			model_add_blob(&m, "b", "file", UINT64_MAX - 1, &e);
			model_add_blob(&m, "c", "file", 2, &e);
		}
		sink = open_sink(&o, &fd, &e);
		test_ok(sink_begin(sink, &m, &e) < 0 && strstr(e.fact, fact[i]), "%s", e.fact);
		sink_close(sink);
		test_ok(lseek(fd, 0, SEEK_END) == 0, "and nothing was written");
		close(fd);
		model_free(&m);
	}
}

/* source comes from elsewhere: what it says of tensors is believed only where it
 * can be so. Code and axes that are written for a tensor of 144 bytes. */
static void
test_blocks(void)
{
	static const struct {
		const char *json;
		uint8_t code, axes;
	} rows[] = {
		{ "{\"t\":[12,[2,100]]}", 12, 2 },         /* flat */
		{ "{\"t\":[12,[3,100]]}", 7, 1 },          /* 288 and 432 */
		{ "{\"t\":[12,[1,100]]}", 12, 2 },
		{ "{\"t\":[12,[1,256]]}", 7, 1 },          /* no need of it */
		{ "{\"t\":[12,[1,1000]]}", 7, 1 },
		{ "{\"t\":[300,[1,100]]}", 7, 1 },
		{ "{\"t\":[12,7]}", 7, 1 },
		{ "{\"t\":[12,[\"x\"]]}", 7, 1 },
		{ "{\"t\":[12,[1,1,1,1,1,1,1,1,100]]}", 7, 1 },
		{ "{\"t\":12}", 7, 1 },
		{ "[]", 7, 1 },
		{ "{\"u\":[12,[1,100]]}", 7, 1 },
	};
	static const uint8_t zeros[144];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct item item = { .kind = ITEM_TENSOR, .bytes = sizeof zeros };
		struct format_options o = { .codec = NULL };
		uint8_t file[512] = { 0 };
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		ssize_t n;
		int fd;

		model_init(&m, &e);
		model_source_set(&m, "format", json_string("apr2-64"), &e);
		model_source_set(&m, "version", json_string("2.0"), &e);
		model_source_set(&m, APR64_BLOCKS_MEMBER,
		                 json_parse_any(rows[i].json, strlen(rows[i].json), ERR_CORRUPT, "",
		                                &e), &e);
		add_tensor(&m, "t", "U8", sizeof zeros);
		sink = open_sink(&o, &fd, &e);
		sink_begin(sink, &m, &e);
		sink_put(sink, &item, &e);
		sink_write(sink, zeros, sizeof zeros, &e);
		sink_put_end(sink, &e);
		sink_end(sink, &e);
		sink_close(sink);
		/* Header, "{}", index. */
		n = pread(fd, file, sizeof file, 0);
		test_ok(n == 64 + 64 + 64 + 192 + 4 && file[131] == rows[i].code &&
		        file[132] == rows[i].axes, "%s: %u, %u axes %s", rows[i].json,
		        file[131], file[132], e.fact);
		close(fd);
		model_free(&m);
	}
}

int
main(void)
{
	test_types();
	test_names();
	test_json();
	test_long_json();
	test_refusals();
	test_blocks();
	return test_done();
}
