/* t_sparse_form: tensors without their zeros come back bit for bit, their bytes do not depend on
 * pieces, and damaged ones are refused by what is wrong. */
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/le.h"
#include "stream/frame.h"
#include "stream/plan.h"
#include "stream/stream.h"
#include "wire/sparse.h"

/* Pseudo-random numbers, the same each time. */
static uint64_t
dice(void)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005u + 1442695040888963407u;
	return x >> 33;
}

static void
encode(const struct sparse_layout *l, const uint8_t *p, size_t piece, struct buf *out)
{
	struct err e = ERR_INIT;
	struct sparse_encoder *x = sparse_encoder_new(&e);
	size_t at, n;

	sparse_encoder_begin(x, l, out);
	for (at = 0; at < l->bytes; at += n) {
		n = l->bytes - at < piece ? l->bytes - at : piece;
		if (sparse_encoder_put(x, p + at, n, out, &e) < 0)
			break;
	}
	if (e.code == ERR_NONE && sparse_encoder_put(x, p, 1, out, &e) == 0)
		test_ok(0, "a byte more than the tensor has is taken");
	sparse_encoder_free(x);
}

/* Decodes what is in b; what comes out goes to `to`. 1 at the end, 0 if it is cut short, -1. */
static int
decode(const struct sparse_layout *l, const struct buf *b, size_t piece, struct buf *to, size_t *rest,
       struct err *e)
{
	struct sparse_decoder *x = sparse_decoder_new(e);
	const uint8_t *p = b->p, *out;
	size_t at, n, left, out_n;
	int r = 0;

	sparse_decoder_begin(x, l);
	for (at = 0; r == 0; at += n - left) {
		n = left = b->n - at < piece ? b->n - at : piece;
		p = b->p + at;
		r = sparse_decoder_step(x, &p, &left, &out, &out_n, "t", e);
		if (r >= 0)
			buf_put(to, out, out_n);
		if (r == 0 && n == 0 && out_n == 0)
			break;
	}
	*rest = b->n - at;
	sparse_decoder_free(x);
	return r;
}

static const struct sparse_form forms[] = { { SPARSE_CSR, 0 }, { SPARSE_BITMAP, 0 },
	{ SPARSE_BLOCK, 2 }, { SPARSE_BLOCK, 4 }, { SPARSE_BLOCK, 1024 } };
static const uint8_t elements[] = { 1, 2, 4, 8 };
static const struct { uint64_t row, rows; } shapes[] = { { 1, 1 }, { 1, 70 }, { 3, 5 }, { 256, 7 },
	{ 65535, 1 }, { 65536, 2 }, { 65537, 2 }, { 70000, 2 } };

/* Values of which about `zeros` of 8 are zero; -0 and zeros with a byte among them. */
static void
fill(uint8_t *p, const struct sparse_layout *l, unsigned zeros)
{
	uint64_t i;
	unsigned k;

	memset(p, 0, (size_t)l->bytes);
	for (i = 0; i < l->bytes / l->element; i++)
		if (dice() % 8 >= zeros)
			for (k = 0; k < l->element; k++)
				p[i * l->element + k] = dice() % 4 ? (uint8_t)dice() : 0;
		else if (dice() % 64 == 0)
			p[(i + 1) * l->element - 1] = 0x80;
}

static int
comes_back(const struct sparse_layout *l, unsigned zeros)
{
	uint8_t *p = malloc((size_t)l->bytes);
	struct buf whole = { 0 }, pieces = { 0 }, back = { 0 };
	size_t piece = (size_t)(1 + dice() % 100000), rest = 1;
	struct err e = ERR_INIT;
	int ok;

	fill(p, l, zeros);
	encode(l, p, SIZE_MAX, &whole);
	encode(l, p, piece, &pieces);
	ok = whole.n == pieces.n && memcmp(whole.p, pieces.p, whole.n) == 0 &&
	     decode(l, &whole, 1 + piece / 3, &back, &rest, &e) == 1 && rest == 0 &&
	     back.n == l->bytes && memcmp(back.p, p, back.n) == 0 &&
	     whole.n <= SPARSE_HEAD + l->bytes + 4 * (l->bytes / l->element / l->row + 2) *
	                (l->row / SPARSE_GROUP + 1) &&
	     l->bytes <= whole.n * (uint64_t)SPARSE_RATIO;
	buf_free(&whole);
	buf_free(&pieces);
	buf_free(&back);
	free(p);
	return ok;
}

static void
all_come_back(void)
{
	size_t f, k, s;
	unsigned zeros;

	for (f = 0; f < sizeof forms / sizeof *forms; f++)
		for (s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			char text[SPARSE_FORM_TEXT];
			int ok = 1;

			for (k = 0; k < sizeof elements; k++)
				for (zeros = 0; zeros <= 8; zeros += 4) {
					const struct sparse_layout l = { forms[f], elements[k], shapes[s].row,
						shapes[s].row * shapes[s].rows * elements[k] };

					ok &= comes_back(&l, zeros);
				}
			test_ok(ok, "%s of %d rows of %d values comes back, and does not depend on pieces",
			        sparse_form_text(forms[f], text), (int)shapes[s].rows, (int)shapes[s].row);
		}
}

/* ---- sizes that can be computed by hand ---- */

/* 65536 values of 2 bytes in rows of 256, every second one zero. */
static void
sizes_are_those_of_the_page(void)
{
	static uint8_t p[131072];
	static const struct { struct sparse_form form; size_t bytes; } rows[] = {
		{ { SPARSE_CSR, 0 }, 24 + 256 * (4 + 512) },         /* raw: indices save nothing */
		{ { SPARSE_BITMAP, 0 }, 24 + 4 + 8192 + 65536 },
		{ { SPARSE_BLOCK, 2 }, 24 + 4 + 131072 },            /* raw: each block has a value */
	};
	size_t i;

	for (i = 0; i < 65536; i += 2)
		p[2 * i] = 1;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sparse_layout l = { rows[i].form, 2, 256, sizeof p };
		struct buf b = { 0 };

		encode(&l, p, SIZE_MAX, &b);
		test_ok(b.n == rows[i].bytes, "form %d has %d bytes: %d", rows[i].form.kind, (int)b.n,
		        (int)rows[i].bytes);
		buf_free(&b);
	}
}

/* ---- damage ---- */

#define HEAD(kind, element, block, row, bytes) \
	kind element block "\0\0\0\0" row "\0\0\0\0\0\0\0" bytes "\0\0\0\0\0\0\0"
#define CSR HEAD("\1", "\2", "\0\0", "\4", "\x10")   /* 2 rows of 4 values of 2 bytes */
#define MAP HEAD("\2", "\2", "\0\0", "\4", "\x0c" ) /* not whole rows: for a wrong head */
#define BITS HEAD("\2", "\2", "\0\0", "\5", "\x0a") /* a row of 5 values */
#define BLOCKS HEAD("\3", "\2", "\2\0", "\5", "\x0a")
#define RAW "\xff\xff\xff\xff"

static const struct {
	const char *about, *p;
	size_t n;
	const char *wrong; /* NULL: cut short; "": sound */
} damaged[] = {
#define ROW(ABOUT, P, WRONG) { ABOUT, P, sizeof P - 1, WRONG }
	ROW("csr", CSR "\2\0\0\0" "\0\0\3\0" "abcd" "\0\0\0\0", ""),
	ROW("csr, raw", CSR "\0\0\0\0" RAW "abcdefgh", ""),
	ROW("a bitmap", BITS "\2\0\0\0" "\x11" "abcd", ""),
	ROW("blocks, the last one shorter", BLOCKS "\2\0\0\0" "\5" "abcdef", ""),
	ROW("csr: more values than a row has", CSR "\5\0\0\0", "more values are stored"),
	ROW("csr: 2^32-2 values", CSR "\xfe\xff\xff\xff", "more values are stored"),
	ROW("csr: an index equal to the row", CSR "\1\0\0\0" "\4\0", "an index is too large"),
	ROW("csr: the index 65535", CSR "\1\0\0\0" "\xff\xff", "an index is too large"),
	ROW("csr: an index twice", CSR "\2\0\0\0" "\1\0\1\0", "do not ascend"),
	ROW("csr: indices that descend", CSR "\2\0\0\0" "\2\0\1\0", "do not ascend"),
	ROW("csr: a row is missing", CSR "\0\0\0\0", NULL),
	ROW("csr: values are missing", CSR "\2\0\0\0" "\0\0\3\0" "abc", NULL),
	ROW("a bitmap with more bits than its count", BITS "\1\0\0\0" "\x11", "not as many"),
	ROW("a bitmap with fewer bits than its count", BITS "\3\0\0\0" "\x11", "not as many"),
	ROW("a bit behind the end", BITS "\2\0\0\0" "\x21", "behind its end"),
	ROW("more bits than values", BITS "\6\0\0\0" "\xff", "more values are stored"),
	ROW("a bitmap without values", BITS "\2\0\0\0" "\x11" "ab", NULL),
	ROW("more blocks than there are", BLOCKS "\4\0\0\0" "\7", "more values are stored"),
	ROW("raw, cut short", BITS RAW "abcdefghi", NULL),
	ROW("nothing", "", NULL),
	ROW("half a head", "\2\2\0\0\0\0\0\0\5", NULL),
	ROW("rows that are not whole", MAP, "does not begin with a head"),
	ROW("a kind of 0", HEAD("\0", "\2", "\0\0", "\5", "\x0a"), "does not begin with a head"),
	ROW("a kind of 4", HEAD("\4", "\2", "\0\0", "\5", "\x0a"), "does not begin with a head"),
	ROW("values of 3 bytes", HEAD("\2", "\3", "\0\0", "\5", "\x0f"), "does not begin with a head"),
	ROW("values of 16 bytes", HEAD("\2", "\x10", "\0\0", "\1", "\x10"),
	    "does not begin with a head"),
	ROW("blocks of 3", HEAD("\3", "\2", "\3\0", "\5", "\x0a"), "does not begin with a head"),
	ROW("blocks of 2048", HEAD("\3", "\2", "\0\x8", "\5", "\x0a"), "does not begin with a head"),
	ROW("a bitmap with blocks", HEAD("\2", "\2", "\4\0", "\5", "\x0a"),
	    "does not begin with a head"),
	ROW("rows of no values", HEAD("\2", "\2", "\0\0", "\0", "\x0a"), "does not begin with a head"),
	ROW("no bytes", HEAD("\2", "\2", "\0\0", "\5", "\0"), "does not begin with a head"),
	ROW("rows of 2^63 values of 2 bytes", "\2\2\0\0\0\0\0\0" "\0\0\0\0\0\0\0\x80"
	    "\0\0\0\0\0\0\0\0", "does not begin with a head"),
#undef ROW
};

static void
damage_is_found(void)
{
	size_t i, rest;

	for (i = 0; i < sizeof damaged / sizeof *damaged; i++) {
		struct buf in = { 0 }, out = { 0 };
		struct err e = ERR_INIT;
		const char *wrong = damaged[i].wrong;
		int r;

		buf_put(&in, damaged[i].p, damaged[i].n);
		r = decode(NULL, &in, 3, &out, &rest, &e);
		if (!wrong)
			test_ok(r == 0, "%s: more is needed", damaged[i].about);
		else if (*wrong)
			test_ok(r < 0 && e.code == ERR_CORRUPT && strstr(e.fact, wrong), "%s: %s",
			        damaged[i].about, e.fact);
		else
			test_ok(r == 1 && rest == 0, "%s: sound", damaged[i].about);
		buf_free(&in);
		buf_free(&out);
	}
}

static void
another_tensor_is_refused(void)
{
	const struct sparse_layout l = { { SPARSE_BITMAP, 0 }, 2, 5, 10 };
	struct sparse_layout other[] = { l, l, l, l };
	struct buf in = { 0 }, out = { 0 };
	struct err e;
	size_t i, rest;

	other[0].form = (struct sparse_form){ SPARSE_CSR, 0 };
	other[1].element = 1;
	other[2].row = 1;
	other[3].bytes = 20;
	buf_put(&in, BITS "\0\0\0\0\0", SPARSE_HEAD + 5);
	e = (struct err)ERR_INIT;
	test_ok(decode(&l, &in, 7, &out, &rest, &e) == 1 && out.n == 10, "the tensor of the plan");
	for (i = 0; i < 4; i++) {
		e = (struct err)ERR_INIT;
		test_ok(decode(&other[i], &in, 7, &out, &rest, &e) < 0 && strstr(e.fact, "another"),
		        "another tensor %d: %s", (int)i, e.fact);
	}
	buf_free(&in);
	buf_free(&out);
}

static void
names_are_forms(void)
{
	static const struct { const char *text; int kind, block; } rows[] = { { "dense", 0, 0 },
		{ "csr", 1, 0 }, { "bitmap", 2, 0 }, { "block:2", 3, 2 }, { "block:1024", 3, 1024 },
		{ "block", -1, 0 }, { "block:", -1, 0 }, { "block:1", -1, 0 }, { "block:3", -1, 0 },
		{ "block:2048", -1, 0 }, { "block:-4", -1, 0 }, { "block:4x", -1, 0 }, { "csr:4", -1, 0 },
		{ "bitmap:", -1, 0 }, { "", -1, 0 }, { "CSR", -1, 0 }, { "coo", -1, 0 } };
	char text[SPARSE_FORM_TEXT];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		struct sparse_form f;
		int r = sparse_form_parse(rows[i].text, &f, &e);

		if (rows[i].kind < 0)
			test_ok(r < 0 && e.code == ERR_USAGE, "%s is not a form", rows[i].text);
		else
			test_ok(r == 0 && f.kind == rows[i].kind && f.block == rows[i].block &&
			        strcmp(sparse_form_text(f, text), rows[i].text) == 0, "%s is a form",
			        rows[i].text);
	}
}

/* ---- the stream ---- */

#define SIDE 1024u
#define FRAME_LIMIT ((size_t)3 << 18) /* bytes: two pieces and a group that does not get shorter */

static uint8_t *stream;
static size_t stream_bytes;

/* Write a matrix of F16, half of it zeros, as a stream, in writes of `piece` bytes. */
static void
put_stream(const uint8_t *p, size_t n, size_t piece)
{
	const uint64_t dims[] = { SIDE, SIDE };
	const struct item item = { .kind = ITEM_TENSOR, .bytes = n };
	struct err e = ERR_INIT;
	struct model m;
	struct tensor *t = tensor_new("t", 1, dtype_by_name("F16"), 2, dims, TENSOR_OWN_SIZE, "t", &e);
	int fd = memfd_create("stream", MFD_CLOEXEC);
	struct sink *s;
	struct out o;
	size_t at;

	if (!t || model_init(&m, &e) < 0 || model_add_tensor(&m, t, &e) < 0 || fd < 0 ||
	    out_fd(&o, dup(fd), "out", &e) < 0 || !(s = stream_sink(&o, &e)))
		exit(1);
	tensor_set_form(m.tensors[0], (struct sparse_form){ SPARSE_BITMAP, 0 });
	if (sink_begin(s, &m, &e) < 0 || sink_put(s, &item, &e) < 0)
		exit(1);
	for (at = 0; at < n; at += piece)
		if (sink_write(s, p + at, n - at < piece ? n - at : piece, &e) < 0)
			exit(1);
	if (sink_put_end(s, &e) < 0 || sink_end(s, &e) < 0)
		exit(1);
	sink_close(s);
	model_free(&m);
	stream_bytes = (size_t)lseek(fd, 0, SEEK_END);
	stream = malloc(stream_bytes + 1);
	if (!stream || pread(fd, stream, stream_bytes, 0) != (ssize_t)stream_bytes)
		exit(1);
	close(fd);
}

/* The largest body of a frame; frames begin with a name, u32 and u64 sizes, and end in a CRC. */
static size_t
largest_frame(void)
{
	size_t at = 0, most = 0, body;

	while (at + 16 <= stream_bytes) {
		body = (size_t)le64(stream + at + 8);
		most = body > most ? body : most;
		at += FRAME_OVERHEAD + le32(stream + at + 4) + body;
	}
	return at == stream_bytes ? most : SIZE_MAX;
}

static void
frames_do_not_depend_on_writes(void)
{
	size_t n = SIDE * SIDE * 2, i, whole_bytes;
	uint8_t *p = calloc(n, 1), *whole;

	if (!p)
		exit(1);
	for (i = 0; i < n; i += 4)
		le16_put(p + i, (uint16_t)(1 + dice() % 60000));
	put_stream(p, n, n);
	whole = stream;
	whole_bytes = stream_bytes;
	test_ok(largest_frame() <= FRAME_LIMIT, "a frame has %zu bytes, whatever the size of a write",
	        largest_frame());
	put_stream(p, n, 70001);
	test_ok(stream_bytes == whole_bytes && memcmp(stream, whole, whole_bytes) == 0,
	        "frames do not depend on writes");
	free(whole);
	free(stream);
	free(p);
}

static void
plans_name_a_form(void)
{
	static const struct { const char *form; bool taken; } rows[] = { { "bitmap", true },
		{ "dense", false }, { "coo", false } };
	char text[240];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		struct model m = { 0 };
		json_t *o;
		int r;

		snprintf(text, sizeof text, "{\"version\":1,\"source\":{},\"metadata\":[],\"blobs\":[],\"tensors\":[[\"a\",\"F16\",[2,4],"
		         "{\"kind\":\"SPAR\",\"form\":\"%s\"}]],\"signatures\":0}", rows[i].form);
		o = json_parse(text, strlen(text), ERR_CORRUPT, "plan", &e);
		r = plan_from_json(&m, o, true, "plan", &e);
		test_ok((r == 0) == rows[i].taken && (r == 0 || strstr(e.fact, "sparse form")),
		        "a plan with the form %s: %s", rows[i].form, e.fact);
		json_decref(o);
		model_free(&m);
	}
}

int
main(void)
{
	frames_do_not_depend_on_writes();
	plans_name_a_form();
	all_come_back();
	sizes_are_those_of_the_page();
	damage_is_found();
	another_tensor_is_refused();
	names_are_forms();
	return test_done();
}
