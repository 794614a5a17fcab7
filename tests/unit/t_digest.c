#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "crypto/body.h"
#include "crypto/content.h"
#include "crypto/digest.h"
#include "crypto/lanes.h"
#include "test.h"
#include "wire/sha1.h"

/* Bytes that differ from chunk to chunk. */
static uint8_t *
pattern(size_t n)
{
	uint8_t *p = malloc(n ? n : 1);
	uint32_t s = 1;
	size_t i;

	for (i = 0; i < n; i++) {
		s = s * 1103515245u + 12345u;
		p[i] = (uint8_t)(s >> 16);
	}
	return p;
}

static int
is(const struct digest *d, const char *hex)
{
	char text[DIGEST_TEXT];

	return strcmp(digest_text(text, d), hex) == 0;
}

/* FIPS 180-4's examples. */
static void
sha256_vectors(void)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	struct err e = ERR_INIT;
	struct sha256 h;
	struct digest d;
	char *a = malloc(1000000);
	size_t i;

	sha256_of("", 0, &d);
	test_ok(is(&d, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
	        "SHA-256 of nothing");
	sha256_of("abc", 3, &d);
	test_ok(is(&d, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
	        "SHA-256 of abc");
	sha256_of(two, strlen(two), &d);
	test_ok(is(&d, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
	        "SHA-256 of two blocks");
	memset(a, 'a', 1000000);
	sha256_start(&h);
	for (i = 0; i < 1000000; i += 8)
		sha256_add(&h, a + i, 8);
	test_ok(sha256_finish(&h, &d, &e) == 0 &&
	        is(&d, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
	        "SHA-256 of a million a, in pieces");
	free(a);
}

static void
sha256_fields(void)
{
	static const uint8_t flat[] = "D\0\3\0\0\0\0\0\0\0key\x08\7\6\5\4\3\2\1";
	struct err e = ERR_INIT;
	struct sha256 h;
	struct digest a, b;

	sha256_start(&h);
	sha256_add_domain(&h, "D");
	sha256_add_text(&h, "key");
	sha256_add_u64(&h, 0x0102030405060708u);
	sha256_finish(&h, &a, &e);
	sha256_of(flat, sizeof flat - 1, &b);
	test_ok(digest_equal(&a, &b), "fields are hashed as the header says");
	sha256_start(&h);
	sha256_abandon(&h);
	sha256_add(&h, "x", 1);
	test_ok(sha256_finish(&h, &a, &e) < 0 && e.code == ERR_MEMORY,
	        "a failure in between is not lost");
}

/* The definition of a body digest, word for word. */
static struct digest
plain(const uint8_t *p, size_t n)
{
	struct err e = ERR_INIT;
	struct sha256 h;
	struct digest d;
	size_t i;

	sha256_start(&h);
	sha256_add_domain(&h, "apr content 1 body");
	sha256_add_u64(&h, n);
	for (i = 0; i < n; i += 1 << 20) {
		size_t left = n - i;

		sha256_of(p + i, left < 1 << 20 ? left : 1 << 20, &d);
		sha256_add(&h, d.b, sizeof d.b);
	}
	sha256_finish(&h, &d, &e);
	return d;
}

/* step 0: pieces of ever other sizes. */
static int
fed(struct body_digest *d, const uint8_t *p, size_t n, size_t step, struct digest *out)
{
	struct err e = ERR_INIT;
	size_t at = 0, part = step ? step : 1;

	if (body_digest_start(d, n, out, &e) < 0)
		return -1;
	while (at < n) {
		size_t piece = part < n - at ? part : n - at;

		if (body_digest_add(d, p + at, piece, &e) < 0)
			return -1;
		at += piece;
		if (!step)
			part = part * 5 % 4194301;
	}
	return body_digest_finish(d, &e) < 0 ? -1 : body_digest_settle(d, &e);
}

static void
body_feeding(void)
{
	static const size_t size[] = { 0, 1, 34, 1048575, 1048576, 1048577, 3145728,
		3145735, 18874368 + 77 };
	static const size_t step[] = { 0, 65536, 1000003, 1048576, 3000000, 16777216,
		SIZE_MAX };
	static const unsigned jobs[] = { 0, 1, 2, 8, 64 };
	uint8_t *p = pattern(size[8]);
	size_t i, k, j;

	for (j = 0; j < sizeof jobs / sizeof *jobs; j++) {
		struct body_digest d;
		int good = 1;

		body_digest_init(&d, jobs[j]);
		for (i = 0; i < sizeof size / sizeof *size; i++) {
			struct digest want = plain(p, size[i]), got;

			for (k = 0; k < sizeof step / sizeof *step; k++)
				if (fed(&d, p, size[i], step[k], &got) < 0 ||
				    !digest_equal(&got, &want)) {
					printf("# size %zu step %zu\n", size[i], step[k]);
					good = 0;
				}
		}
		test_ok(d.buffers * d.chunks * BODY_CHUNK <= BODY_HELD, "%u jobs: bounded memory",
		        jobs[j]);
		body_digest_free(&d);
		test_ok(good, "body digest, %u jobs: any size in any pieces", jobs[j]);
	}
	free(p);
}

/* Values computed by another program from the description in crypto/body.h. */
static void
body_vectors(void)
{
	struct err e = ERR_INIT;
	struct digest d;
	uint8_t *p = pattern(2097157);

	body_digest_of("", 0, &d, &e);
	test_ok(is(&d, "51b574fdd3f3bbb50d7c76984bf888c1ba515017211096bcb421d20dd6855966"),
	        "body digest of nothing");
	body_digest_of("abc", 3, &d, &e);
	test_ok(is(&d, "db7121101faa687922a6ad32e4433f03fc94a7ac92dee940eb93c8c06310ccf4"),
	        "body digest of abc");
	body_digest_of(p, 2097157, &d, &e);
	test_ok(is(&d, "ace58a578f0b7f604b532dcc749cdbca506066ed74d1dc04aa26e5d79fda24de"),
	        "body digest of three chunks");
	free(p);
}

static void
body_bounds(void)
{
	struct body_digest d;
	struct err e = ERR_INIT, f = ERR_INIT;
	struct digest out, want;

	body_digest_init(&d, 1);
	body_digest_start(&d, 4, &out, &e);
	test_ok(body_digest_add(&d, "12345", 5, &e) < 0 && e.code == ERR_CORRUPT,
	        "more bytes than announced");
	body_digest_start(&d, 4, &out, &f);
	body_digest_add(&d, "123", 3, &f);
	test_ok(f.code == ERR_NONE && body_digest_finish(&d, &f) < 0 && f.code == ERR_CORRUPT,
	        "fewer bytes than announced");
	f = (struct err)ERR_INIT;
	body_digest_start(&d, 4, &out, &f);
	body_digest_add(&d, "ab", 2, &f);
	body_digest_add(&d, "cd", 2, &f);
	body_digest_of("abcd", 4, &want, &f);
	test_ok(body_digest_finish(&d, &f) == 0 && body_digest_settle(&d, &f) == 0 &&
	        digest_equal(&out, &want), "a body after one that was given up");
	body_digest_start(&d, 4, &out, &f);
	body_digest_free(&d);
}

static const uint64_t dims[] = { 1, 32 };

/* The same content whatever the order of the calls. */
static void
fill(struct content *c, int backwards)
{
	static const uint8_t name[] = "\3\0\0\0\0\0\0\0abc", zoom[] = "\7\0\0\0", zero[4];
	struct err e = ERR_INIT;
	struct digest d;
	uint8_t *q = pattern(34);
	int i;

	for (i = 0; i < 7; i++)
		switch (backwards ? 6 - i : i) {
		case 0:
			sha256_of(zoom, 4, &d);
			content_add_value(c, "zoom", "u32", 4, &d, &e);
			break;
		case 1:
			sha256_of(name, 11, &d);
			content_add_value(c, "general.name", "string", 11, &d, &e);
			break;
		case 2:
			body_digest_of("", 0, &d, &e);
			content_add_blob(c, "tok.json", "tokenizer", &d, &e);
			break;
		case 3:
			content_add_prov(c, "{}", 2, &e);
			break;
		case 4:
			body_digest_of("side", 4, &d, &e);
			content_add_blob(c, "prov.0", "text", &d, &e);
			break;
		case 5:
			body_digest_of(q, 34, &d, &e);
			content_add_tensor(c, "b", "Q8_0", 2, dims, &d, &e);
			break;
		default:
			body_digest_of(zero, 4, &d, &e);
			content_add_tensor(c, "a", "F32", 0, NULL, &d, &e);
		}
	free(q);
}

/* Values computed by another program from the description in crypto/content.h. */
static void
content_vectors(void)
{
	struct content c = { 0 };
	struct err e = ERR_INIT;
	struct digest d;
	int backwards;

	for (backwards = 0; backwards < 2; backwards++) {
		fill(&c, backwards);
		test_ok(content_finish(&c, &e) == 0 && is(&c.components.licence,
		        "37229c60860d5ad39dd42ea4a4c9c3fd59ffd111148428fd7be98337ca98d7f6"),
		        "no licence: digest of nothing");
		sha256_of("MIT", 3, &d);
		content_set_licence(&c, 3, &d);
		test_ok(content_finish(&c, &e) == 0, "content finished, order %d", backwards);
		test_ok(is(&c.components.metadata,
		        "3d9d60cde41c006a71c83a44e4c2cd3ae07b3888c41ab9c7bd64c892e72a2278"),
		        "component metadata");
		test_ok(is(&c.components.blobs,
		        "52e7336565cf42afbfa29c7520a39e27e436ec9571e9cc04ba6466b0a6792da9"),
		        "component blobs, a side file named as a prov frame among them");
		test_ok(is(&c.components.licence,
		        "828c0405c376327904bad1521ddc69caca9e67bf19d02ea2d45c026772c7fa38"),
		        "component licence");
		test_ok(is(&c.components.tensors,
		        "da41f40164632c9188da816f92388b43dd10cfe66ddb6a7eb1be518970f52e46"),
		        "component tensors");
		test_ok(is(&c.root,
		        "64684b796b9d48a70ceb0b067f6dbb94ee9859aa277ea56df6034b8dbf40a0ae"),
		        "root");
		content_free(&c);
	}
}

static void
content_twice(void)
{
	struct content c = { 0 };
	struct err e = ERR_INIT;
	struct digest d = { { 0 } };

	content_add_tensor(&c, "x", "F32", 0, NULL, &d, &e);
	content_add_tensor(&c, "y", "F32", 0, NULL, &d, &e);
	content_add_tensor(&c, "x", "F16", 0, NULL, &d, &e);
	test_ok(content_finish(&c, &e) < 0 && e.code == ERR_CORRUPT &&
	        strcmp(e.object, "x") == 0, "a name twice is refused by name");
	content_free(&c);
	e = (struct err)ERR_INIT;
	content_add_blob(&c, "x", "a", &d, &e);
	content_add_blob(&c, "x", "b", &d, &e);
	test_ok(content_finish(&c, &e) < 0 && e.code == ERR_CORRUPT, "side files likewise");
	content_free(&c);
	e = (struct err)ERR_INIT;
	content_add_value(&c, "x", "u8", 1, &d, &e);
	content_add_value(&c, "x", "u8", 1, &d, &e);
	test_ok(content_finish(&c, &e) < 0 && e.code == ERR_CORRUPT, "keys likewise");
	content_free(&c);
}

/* n messages of many lengths, every other one in a file, with this number of lanes. */
static bool
lanes_agree(unsigned lanes, size_t n, size_t step, const uint8_t *p, int fd)
{
	struct lanes_message m[40];
	struct digest want;
	size_t i, at = 0;
	bool good = true;

	for (i = 0; i < n; i++) {
		m[i] = (struct lanes_message){ .bytes = i * step * (n - i) % 300007 };
		if (i % 2)
			m[i].range = (struct range){ fd, at };
		else
			m[i].p = p + at;
		at += m[i].bytes / 3;
	}
	lanes_hash_by(lanes, m, n);
	for (i = at = 0; i < n; i++) {
		sha256_of(p + at, (size_t)m[i].bytes, &want);
		good = good && m[i].fault == 0 && digest_equal(&want, &m[i].digest);
		at += m[i].bytes / 3;
	}
	return good;
}

/* A message that a file does not hold, among others. */
static void
lanes_cut(unsigned lanes, const uint8_t *p, int fd, size_t size)
{
	struct lanes_message m[3] = {
		{ .p = p, .bytes = 1000 },
		{ .range = { fd, size - 100000 }, .bytes = 100001 },
		{ .range = { fd, 0 }, .bytes = 70000 },
	};
	struct digest want;

	lanes_hash_by(lanes, m, 3);
	sha256_of(p, 70000, &want);
	test_ok(m[1].fault == 1 && m[0].fault == 0 && m[2].fault == 0 &&
	        digest_equal(&m[2].digest, &want),
	        "%u lanes: a file that ends is a fault of its message alone", lanes);
}

/* Several messages at once get the digests that each gets alone. */
static void
lanes(void)
{
	static const unsigned count[] = { 1, 2, 8 };
	static const size_t step[] = { 1, 63, 64, 65, 1000, 4099 };
	enum { SIZE = 4000000 };
	uint8_t *p = pattern(SIZE);
	FILE *file = tmpfile();
	size_t i, k, n;

	fwrite(p, 1, SIZE, file);
	fflush(file);
	lanes_count();
	for (i = 0; i < sizeof count / sizeof *count; i++) {
		bool good = true;

		if (!lanes_run(count[i])) {
			test_skip("several messages at once", "this CPU has no instructions for it");
			continue;
		}
		for (k = 0; k < sizeof step / sizeof *step; k++)
			for (n = 0; n <= 40; n += n < 20 ? 1 : 5)
				good &= lanes_agree(count[i], n, step[k], p, fileno(file));
		test_ok(good, "%u lanes: up to 40 messages of any lengths, in memory and in a file",
		        count[i]);
		lanes_cut(count[i], p, fileno(file), SIZE);
	}
	fclose(file);
	free(p);
}

static void
give(struct body_digest *d, const uint8_t *p, size_t from, size_t n, size_t step, int *good)
{
	struct err e = ERR_INIT;
	size_t at, part;

	for (at = from; at < from + n; at += part) {
		part = step < from + n - at ? step : from + n - at;
		*good &= body_digest_add(d, p + at, part, &e) == 0;
	}
}

/* Bodies in a row, fed and in a file, share batches; all digests come at the end. */
static void
body_rows(void)
{
	static const size_t size[] = { 3000001, 0, 17, 1048576, 200000, 5242880, 1048577, 2097152 };
	enum { ROWS = 40, SIZE = 12000000 };
	static const unsigned jobs[] = { 1, 2, 3, 9 };
	uint8_t *p = pattern(SIZE);
	FILE *file = tmpfile();
	size_t i, k;

	fwrite(p, 1, SIZE, file);
	fflush(file);
	for (k = 0; k < sizeof jobs / sizeof *jobs; k++) {
		struct err e = ERR_INIT;
		struct digest got[ROWS];
		struct body_digest d;
		int good = 1;

		body_digest_init(&d, jobs[k]);
		for (i = 0; i < ROWS; i++) {
			size_t n = size[i * 5 % 8], from = i * 99991;
			struct range r = { fileno(file), from };

			good &= body_digest_start(&d, n, &got[i], &e) == 0;
			if (i % 3 == 1)
				good &= body_digest_range(&d, &r, "f", &e) == 0;
			else
				give(&d, p, from, n, 131072, &good);
			good &= body_digest_finish(&d, &e) == 0;
		}
		good &= body_digest_settle(&d, &e) == 0;
		for (i = 0; i < ROWS; i++) {
			struct digest want = plain(p + i * 99991, size[i * 5 % 8]);

			good &= digest_equal(&want, &got[i]);
		}
		test_ok(good, "%u jobs: bodies in a row, fed and read from a file", jobs[k]);
		body_digest_free(&d);
	}
	fclose(file);
	free(p);
}

/* A file that is shorter than announced, found by another thread. */
static void
body_cut_file(void)
{
	struct err e = ERR_INIT;
	struct body_digest d;
	struct digest out;
	uint8_t *p = pattern(3000000);
	FILE *file = tmpfile();
	struct range r = { fileno(file), 0 };

	fwrite(p, 1, 3000000, file);
	fflush(file);
	body_digest_init(&d, 2);
	test_ok(body_digest_start(&d, 40000000, &out, &e) == 0 &&
	        (body_digest_range(&d, &r, "cut.gguf", &e) < 0 ||
	         body_digest_finish(&d, &e) < 0 || body_digest_settle(&d, &e) < 0) &&
	        e.code == ERR_CORRUPT && strcmp(e.object, "cut.gguf") == 0,
	        "a file that is cut is a fault with its name");
	body_digest_free(&d);
	fclose(file);
	free(p);
}

/* SHA-1 as a checksum, without libcrypto, in pieces of several lengths. */
static void
sums_equal_digests(void)
{
	uint8_t bytes[300], want[SHA1_BYTES];
	struct sha1 reference;
	struct sha1_sum s;
	struct err e = ERR_INIT;
	char text[41], hex[41];
	size_t n, i, piece, wrong = 0;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	for (n = 0; n < sizeof bytes; n++) {
		sha1_start(&reference);
		sha1_add(&reference, bytes, n);
		sha1_finish(&reference, want, &e);
		for (i = 0; i < SHA1_BYTES; i++)
			snprintf(hex + 2 * i, 3, "%02x", want[i]);
		sha1_sum_begin(&s);
		for (i = 0; i < n; i += piece) {
			piece = n - i < 1 + n % 67 ? n - i : 1 + n % 67;
			sha1_sum_add(&s, bytes + i, piece);
		}
		sha1_sum_end(&s, text);
		wrong += strcmp(text, hex) != 0;
	}
	test_ok(wrong == 0, "SHA-1 as a checksum equals that of libcrypto: %zu differ", wrong);
}

int
main(void)
{
	lanes();
	sha256_vectors();
	sha256_fields();
	body_vectors();
	body_feeding();
	body_rows();
	body_cut_file();
	body_bounds();
	content_vectors();
	content_twice();
	sums_equal_digests();
	return test_done();
}
