#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/buf.h"
#include "crypto/body.h"
#include "crypto/content.h"
#include "crypto/keys.h"
#include "crypto/signature.h"
#include "test.h"

/* The key of RFC 8032's test 2, id 1 2 3 4 5 6 7 8. */
static const char key_file[] = "untrusted comment: test\n"
	"RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQIDBAUGBwhM"
	"zQibKP+W2p22w0bsEU4PW4oxnzWrpiTajPbtT7im+z1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM"
	"M6mxIE8iHuwNOyY96EEHHjKQwoI3Z79how/7wsBstcs=\n";

/* What it makes of an empty content, without a word and with all of them, computed by
 * other programs from the descriptions in crypto/content.h and crypto/signature.h. */
#define EMPTY "{\"version\":2,\"key\":\"0807060504030201\"," \
	"\"root\":\"a850a1b6b27a6ba004fadb18fcb565527993ee24fd002e6281701b51ae533579\"," \
	"\"metadata\":\"3adc2f587aab915a33f810dd3b256d212fe0b1db5165732dfbf2ea8d2fb4c46c\"," \
	"\"blobs\":\"1555f46b00e0870773f52fe645b6552324b93b020e77b99c4495ec632b67a0ff\"," \
	"\"licence\":\"37229c60860d5ad39dd42ea4a4c9c3fd59ffd111148428fd7be98337ca98d7f6\"," \
	"\"tensors\":\"20fabb91d2291d38bb00b18b6aeafa0b868e73813e5582220ad3cd716195438a\"," \
	"\"signature\":\""
#define SILENT EMPTY \
	"22988f042a739cd756d4df3622db4ee90fbb7bca571f868ab9567ca132a76c1e" \
	"0cde20c001d3b3fdc626d0f86bcb65599e4455e77395378d94931fad7151fb08\",\"statement\":" \
	"{\"name\":\"\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}"
#define TALKS EMPTY \
	"5160a7a7e973916dcc4be33902aa7f4d8aef07314db99651e6067d1ca02a8f04" \
	"f9bb853fd47ed6d9573509d55c7b237777e32a12d1d4845acf9f8fa7f3af1900\",\"statement\":" \
	"{\"name\":\"Größe \\\"7B\\\"\",\"version\":\"1.2\",\"date\":\"2026-11-22T10:00:00Z\"," \
	"\"comment\":\"a\\\\b\"}"

static const struct statement silent;
static const struct statement talks = { "Größe \"7B\"", "1.2", "2026-11-22T10:00:00Z",
	"a\\b" };
static char empty_head[SIGNATURE_HEAD_BYTES + 1];

/* A head, padded with spaces. */
static void
fill(char head[SIGNATURE_HEAD_BYTES + 1], const char *text)
{
	snprintf(head, SIGNATURE_HEAD_BYTES + 1, "%-*s}", SIGNATURE_HEAD_BYTES - 1, text);
}

static struct key_secret *key;

/* A content, with one thing about it changed. */
enum change {
	NOTHING, KEY_NAME, KEY_TYPE, KEY_VALUE, KEY_LENGTH, KEY_MORE, KEY_LESS,
	BLOB_BYTES, BLOB_NAME, BLOB_TYPE, BLOB_MORE, BLOB_LESS, PROV_HEAD, PROV_AS_BLOB,
	LICENCE_BYTES, LICENCE_LESS, LICENCE_EMPTY,
	TENSOR_BYTES, TENSOR_TWO, TENSOR_NAME, TENSOR_TYPE, TENSOR_DIMS, TENSOR_NDIM,
	TENSOR_SWAP, TENSOR_NAMES, TENSOR_MORE, TENSOR_LESS, TENSOR_AND_KEY, EVERYTHING,
	CHANGES
};

static void
add_value(struct content *c, const char *name, const char *type, const char *value, size_t n,
          struct err *e)
{
	struct digest d;

	sha256_of(value, n, &d);
	content_add_value(c, name, type, n, &d, e);
}

static void
add_blob(struct content *c, const char *name, const char *type, const char *bytes,
         struct err *e)
{
	struct digest d;

	body_digest_of(bytes, strlen(bytes), &d, e);
	content_add_blob(c, name, type, &d, e);
}

static void
add_tensor(struct content *c, const char *name, const char *type, unsigned ndim,
           const uint64_t *dims, const char *bytes, struct err *e)
{
	struct digest d;

	body_digest_of(bytes, strlen(bytes), &d, e);
	content_add_tensor(c, name, type, ndim, dims, &d, e);
}

static void
add_values(struct content *c, enum change m, struct err *e)
{
	bool other = m == KEY_VALUE || m == EVERYTHING || m == TENSOR_AND_KEY;

	add_value(c, m == KEY_NAME ? "beta" : "alpha", m == KEY_TYPE ? "i32" : "u32",
	          other ? "\2\0\0\0" : "\1\0\0\0", m == KEY_LENGTH ? 3 : 4, e);
	if (m != KEY_LESS)
		add_value(c, "gamma", "bool", "\1", 1, e);
	if (m == KEY_MORE)
		add_value(c, "delta", "bool", "\1", 1, e);
}

static void
add_blobs(struct content *c, enum change m, struct err *e)
{
	const char *head = m == PROV_HEAD ? "{\"operation\":\"y\"}" : "{\"operation\":\"x\"}";

	add_blob(c, m == BLOB_NAME ? "tokens" : "tokenizer", m == BLOB_TYPE ? "text" : "json",
	         m == BLOB_BYTES || m == EVERYTHING ? "longer words" : "words", e);
	if (m != BLOB_LESS)
		add_blob(c, "template", "text", "", e);
	if (m == BLOB_MORE)
		add_blob(c, "more", "text", "", e);
	if (m == PROV_AS_BLOB)
		add_blob(c, "prov.0", "prov", head, e);
	else
		content_add_prov(c, head, strlen(head), e);
}

static void
add_tensors(struct content *c, enum change m, struct err *e)
{
	static const uint64_t dims[] = { 2, 4 }, turned[] = { 4, 2 }, same[] = { 1, 2, 4 };
	bool other = m == TENSOR_BYTES || m == TENSOR_TWO || m == EVERYTHING ||
	             m == TENSOR_AND_KEY;
	const char *a = other ? "aaab" : "aaaa", *b = m == TENSOR_TWO ? "bbba" : "bbbb";
	bool swap = m == TENSOR_SWAP, names = m == TENSOR_NAMES;

	add_tensor(c, m == TENSOR_NAME ? "z" : names ? "w.1" : "w.0",
	           m == TENSOR_TYPE ? "F16" : "BF16", m == TENSOR_NDIM ? 3 : 2,
	           m == TENSOR_NDIM ? same : m == TENSOR_DIMS ? turned : dims,
	           swap ? b : a, e);
	add_tensor(c, names ? "w.0" : "w.1", "BF16", 2, dims, swap ? a : b, e);
	if (m != TENSOR_LESS)
		add_tensor(c, "w.2", "F32", 0, NULL, "cccc", e);
	if (m == TENSOR_MORE)
		add_tensor(c, "w.3", "F32", 0, NULL, "cccc", e);
}

static void
build(struct content *c, enum change m)
{
	struct err e = ERR_INIT;
	struct digest d;
	const char *licence = m == LICENCE_EMPTY ? "" : m == LICENCE_BYTES || m == EVERYTHING ?
	                      "GPL" : "MIT";

	*c = (struct content){ 0 };
	add_values(c, m, &e);
	add_blobs(c, m, &e);
	sha256_of(licence, strlen(licence), &d);
	if (m != LICENCE_LESS)
		content_set_licence(c, strlen(licence), &d);
	add_tensors(c, m, &e);
	if (content_finish(c, &e) < 0)
		test_ok(0, "content %d: %s", (int)m, e.fact);
}

static struct signature genuine;
static struct buf body;

static int
check(const struct signature *s, const struct buf *b, enum change m,
      enum signature_scope scope, struct err *e)
{
	struct content c;
	int r;

	*e = (struct err)ERR_INIT;
	build(&c, m);
	r = signature_check(s, b->p, b->n, &c, key_secret_public(key), scope, e);
	content_free(&c);
	return r;
}

static void
form(void)
{
	struct content c = { 0 };
	struct err e = ERR_INIT;
	struct signature s, back;
	struct buf b = { 0 };
	char head[SIGNATURE_HEAD_BYTES + 1], want[SIGNATURE_HEAD_BYTES + 1];

	content_finish(&c, &e);
	fill(want, TALKS);
	test_ok(signature_make(&s, &c, &talks, key, &e) == 0, "an empty content can be signed");
	signature_head(&s, head);
	test_ok(strlen(head) == SIGNATURE_HEAD_BYTES && strcmp(head, want) == 0,
	        "its head with a statement is the one other programs make");
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &back, &e) == 0 &&
	        memcmp(&s, &back, sizeof s) == 0, "and is read back");
	test_ok(signature_make(&s, &c, &silent, key, &e) == 0, "without a statement too");
	signature_head(&s, head);
	test_ok(strcmp(head, empty_head) == 0, "its head is the one other programs make");
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &back, &e) == 0 &&
	        memcmp(&s, &back, sizeof s) == 0, "and is read back");
	test_ok(signature_body(&c, &b, &e) == 0 && b.n == 0, "there are no digests");
	test_ok(signature_check(&back, NULL, 0, &c, key_secret_public(key), SIGNATURE_ALL,
	                        &e) == 0, "it verifies");
	test_ok(signature_check(&back, (const uint8_t *)head, 32, &c, key_secret_public(key),
	                        SIGNATURE_ALL, &e) < 0, "a digest too many does not");
	buf_free(&b);
	content_free(&c);
}

static void
form_faults(void)
{
	static const char blanks[] = "{\"version\": 2,";
	struct err e = ERR_INIT;
	struct signature s;
	char head[SIGNATURE_HEAD_BYTES + 1];
	size_t i, wrong = 0;

	for (i = 0; i < SIGNATURE_HEAD_BYTES; i++) {
		e = (struct err)ERR_INIT;
		wrong += signature_parse(empty_head, i, &s, &e) == 0 || e.code != ERR_CORRUPT;
	}
	test_ok(wrong == 0, "head cut at every byte");
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(empty_head, sizeof empty_head, &s, &e) < 0 &&
	        e.code == ERR_CORRUPT, "head with a byte too many");
	memcpy(head, empty_head, sizeof head);
	head[11] = '1';
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) < 0 &&
	        e.code == ERR_VERSION && strstr(e.fact, "version 1, not 2"), "version 1");
	head[12] = '0';
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) < 0 &&
	        e.code == ERR_CORRUPT, "version 10\"");
	head[13] = ',';
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) < 0 &&
	        e.code == ERR_VERSION, "version 10");
	memcpy(head, empty_head, sizeof head);
	*strstr(head, "22988f") = 'A';
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) < 0 &&
	        e.code == ERR_CORRUPT, "an upper-case digit");
	memcpy(head, empty_head, sizeof head);
	memcpy(head, blanks, sizeof blanks - 1);
	e = (struct err)ERR_INIT;
	test_ok(signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) < 0, "a blank");
}

/* The valid statements; each has only one spelling. */
static void
statements(void)
{
	static const char *const spellings[] = {
		"{\"name\":\"a\\u0041\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"a\\/\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"a\n\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"a\xc2\x9b\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"a\xff\",\"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"\",\"version\":\"\",\"date\":\"2026-02-29T00:00:00Z\",\"comment\":\"\"}",
		"{\"name\":\"\",\"version\":\"\",\"date\":\"2026-11-22\",\"comment\":\"\"}",
		"{\"name\":\"\", \"version\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"version\":\"\",\"name\":\"\",\"date\":\"\",\"comment\":\"\"}",
		"{\"name\":\"\",\"version\":\"\",\"date\":\"\"}",
		"{\"name\":\"\",\"version\":\"\",\"date\":\"\",\"comment\":\"\",\"x\":1}",
	};
	struct statement s = { .name = "" }, back;
	char text[STATEMENT_TEXT + 1], date[STATEMENT_DATE + 1];
	struct err e = ERR_INIT;
	size_t i, n;

	for (i = 0; i < sizeof spellings / sizeof *spellings; i++)
		test_ok(statement_parse(spellings[i], strlen(spellings[i]), &back) == 0,
		        "no statement: spelling %zu", i);
	memset(s.name, '"', STATEMENT_NAME);
	memset(s.version, '\\', STATEMENT_VERSION);
	memset(s.comment, '"', STATEMENT_COMMENT);
	strcpy(s.date, "2024-02-29T23:59:59Z");
	n = statement_text(&s, text);
	test_ok(n == STATEMENT_TEXT && statement_parse(text, n, &back) == n &&
	        memcmp(&s, &back, sizeof s) == 0, "the longest");
	for (i = 0; i < n; i++)
		if (statement_parse(text, i, &back) != 0)
			break;
	test_ok(i == n, "cut at every byte");
	test_ok(statement_set(s.name, sizeof s.name, "--name", text, ERR_USAGE, &e) < 0 &&
	        e.code == ERR_USAGE, "too long: %s", e.fact);
	test_ok(statement_date("1795341600", date) == 0 &&
	        strcmp(date, "2026-11-22T10:00:00Z") == 0, "seconds: %s", date);
	test_ok(statement_date("0", date) == 0 && strcmp(date, "1970-01-01T00:00:00Z") == 0 &&
	        statement_date("951868799", date) == 0 && strcmp(date, "2000-02-29T23:59:59Z") == 0 &&
	        statement_date("253402300799", date) == 0 && strcmp(date, "9999-12-31T23:59:59Z") == 0 &&
	        statement_date("253402300800", date) < 0, "the first and last seconds");
	test_ok(statement_date("2026-11-22", date) == 0 &&
	        strcmp(date, "2026-11-22T00:00:00Z") == 0, "a day: %s", date);
	test_ok(statement_date("2026-13-22", date) < 0 && statement_date("", date) < 0 &&
	        statement_date("tomorrow", date) < 0, "no date");
}

static void
changes(void)
{
	/* The object that the message must name, and a part of its fact. */
	static const struct {
		enum change m;
		const char *what, *object, *fact;
	} t[] = {
		{ KEY_NAME, "a key's name", "metadata", "differs from what was signed" },
		{ KEY_TYPE, "a key's type", "metadata", "" },
		{ KEY_VALUE, "a value", "metadata", "" },
		{ KEY_LENGTH, "a value's length", "metadata", "" },
		{ KEY_MORE, "a key more", "metadata", "" },
		{ KEY_LESS, "a key less", "metadata", "" },
		{ BLOB_BYTES, "a side file's bytes", "tokenizer", "its bytes" },
		{ BLOB_NAME, "a side file's name", "side files", "a name" },
		{ BLOB_TYPE, "a side file's type", "side files", "a name" },
		{ BLOB_MORE, "a side file more", "side files", "number" },
		{ BLOB_LESS, "a side file less", "side files", "number" },
		{ PROV_HEAD, "what a filter did", "prov.0", "its bytes" },
		{ PROV_AS_BLOB, "a prov frame as a side file", "side files", "" },
		{ LICENCE_BYTES, "licence", "licence", "" },
		{ LICENCE_LESS, "no licence", "licence", "" },
		{ LICENCE_EMPTY, "an empty licence", "licence", "" },
		{ TENSOR_BYTES, "a tensor's bytes", "w.0", "its bytes differ from what was signed" },
		{ TENSOR_TWO, "two tensors' bytes", "w.0", ", as do those of 1 more" },
		{ TENSOR_NAME, "a tensor's name", "tensors", "a name" },
		{ TENSOR_TYPE, "a tensor's type", "tensors", "type" },
		{ TENSOR_DIMS, "a tensor's shape", "tensors", "shape" },
		{ TENSOR_NDIM, "an axis more", "tensors", "shape" },
		{ TENSOR_SWAP, "bodies swapped", "w.0", ", as do those of 1 more" },
		{ TENSOR_NAMES, "names swapped", "w.0", ", as do those of 1 more" },
		{ TENSOR_MORE, "a tensor more", "tensors", "number" },
		{ TENSOR_LESS, "a tensor less", "tensors", "number" },
		{ TENSOR_AND_KEY, "a tensor and a key", "w.0", "(metadata too)" },
		{ EVERYTHING, "all parts", "w.0", "(metadata, side files, licence too)" }
	};
	struct err e;
	size_t i;

	test_ok(check(&genuine, &body, NOTHING, SIGNATURE_ALL, &e) == 0, "the same verifies");
	test_ok(sizeof t / sizeof *t == CHANGES - 1, "the table has every change");
	for (i = 0; i < sizeof t / sizeof *t; i++)
		test_ok(check(&genuine, &body, t[i].m, SIGNATURE_ALL, &e) < 0 &&
		        e.code == ERR_SIGNATURE && strcmp(e.object, t[i].object) == 0 &&
		        strstr(e.fact, t[i].fact), "%s: %s: %s", t[i].what, e.object, e.fact);
}

static void
weights(void)
{
	struct err e;
	struct signature s = genuine;

	test_ok(check(&genuine, &body, NOTHING, SIGNATURE_WEIGHTS, &e) == 0,
	        "weights: the same verifies");
	test_ok(check(&genuine, &body, KEY_VALUE, SIGNATURE_WEIGHTS, &e) == 0,
	        "weights: edited metadata is accepted");
	test_ok(check(&genuine, &body, TENSOR_AND_KEY, SIGNATURE_WEIGHTS, &e) < 0 &&
	        strcmp(e.object, "w.0") == 0 && !strstr(e.fact, "metadata"),
	        "weights: a changed tensor is not: %s", e.fact);
	test_ok(check(&genuine, &body, BLOB_BYTES, SIGNATURE_WEIGHTS, &e) < 0 &&
	        strcmp(e.object, "tokenizer") == 0, "weights: nor a changed side file");
	test_ok(check(&genuine, &body, LICENCE_LESS, SIGNATURE_WEIGHTS, &e) < 0 &&
	        strcmp(e.object, "licence") == 0, "weights: nor a missing licence");
	s.claimed.metadata.b[0] ^= 1;
	test_ok(check(&s, &body, KEY_VALUE, SIGNATURE_WEIGHTS, &e) < 0,
	        "weights: the claimed metadata must be the signed one");
}

static void
frame(void)
{
	static const char other_key[] = "untrusted comment: another key, same id\n"
		"RWQBAgMEBQYHCNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3BRoX\n";
	struct signature s = genuine;
	struct key_public p = *key_secret_public(key);
	struct content c;
	struct err e;
	size_t i, wrong = 0;

	build(&c, NOTHING);
	s.claimed.licence.b[31] ^= 1;
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 && strstr(e.fact, "licence"),
	        "claimed licence changed: %s", e.fact);
	s = genuine;
	s.root.b[0] ^= 1;
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 && strstr(e.fact, "root"),
	        "quoted root changed: %s", e.fact);
	s = genuine;
	s.key_id[0] ^= 1;
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 && strstr(e.fact, "key id"),
	        "key id changed: %s", e.fact);
	s = genuine;
	strcpy(s.says.version, "1.3");
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 &&
	        check(&s, &body, KEY_VALUE, SIGNATURE_WEIGHTS, &e) < 0, "statement changed: %s",
	        e.fact);
	s = genuine;
	s.key_id[0] ^= 1;
	s.sig[0] ^= 1;
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 &&
	        strcmp(e.fact, "is by key 0807060504030200, not by 0807060504030201") == 0,
	        "another key: %s", e.fact);
	s.key_id[0] ^= 1;
	test_ok(check(&s, &body, NOTHING, SIGNATURE_ALL, &e) < 0 &&
	        strstr(e.fact, "itself changed"), "signature changed: %s", e.fact);
	e = (struct err)ERR_INIT;
	key_public_parse((const uint8_t *)other_key, strlen(other_key), &p, &e);
	test_ok(signature_check(&genuine, body.p, body.n, &c, &p, SIGNATURE_ALL, &e) < 0 &&
	        e.code == ERR_SIGNATURE, "a key of the same id: %s", e.fact);
	body.p[32] ^= 1;
	test_ok(check(&genuine, &body, NOTHING, SIGNATURE_ALL, &e) < 0 &&
	        strcmp(e.object, c.blobs.item[1].name) == 0, "a digest changed: %s: %s",
	        e.object, e.fact);
	body.p[32] ^= 1;
	body.n -= 32;
	test_ok(check(&genuine, &body, NOTHING, SIGNATURE_ALL, &e) < 0, "a digest less: %s",
	        e.fact);
	body.n += 31;
	test_ok(check(&genuine, &body, NOTHING, SIGNATURE_ALL, &e) < 0, "a byte less");
	body.n += 1;
	for (i = 0; i < body.n * 8; i++) {
		body.p[i / 8] ^= (uint8_t)(1 << i % 8);
		wrong += check(&genuine, &body, NOTHING, SIGNATURE_ALL, &e) == 0;
		wrong += check(&genuine, &body, KEY_VALUE, SIGNATURE_WEIGHTS, &e) == 0;
		body.p[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	test_ok(wrong == 0, "every bit of the body");
	content_free(&c);
}

/* However the head is damaged: never a silent pass. */
static void
head_bits(void)
{
	char head[SIGNATURE_HEAD_BYTES + 1];
	struct signature s;
	struct err e;
	size_t i, wrong = 0, parsed = 0;

	signature_head(&genuine, head);
	for (i = 0; i < SIGNATURE_HEAD_BYTES * 8; i++) {
		e = (struct err)ERR_INIT;
		head[i / 8] = (char)(head[i / 8] ^ 1 << i % 8);
		if (signature_parse(head, SIGNATURE_HEAD_BYTES, &s, &e) == 0) {
			parsed++;
			wrong += check(&s, &body, NOTHING, SIGNATURE_ALL, &e) == 0 ||
			         e.code != ERR_SIGNATURE;
		}
		head[i / 8] = (char)(head[i / 8] ^ 1 << i % 8);
	}
	test_ok(wrong == 0 && parsed > 0, "every bit of the head (%zu still parse)", parsed);
}

/* A signature of the plain kind, over the very bytes that are signed, is none: whoever
 * signs a file (minisign -Sl) signs no model. */
static void
plain_signature(void)
{
	struct signature s = genuine;
	struct content c;
	struct buf m = { 0 };
	struct err e = ERR_INIT;
	char text[STATEMENT_TEXT + 1];
	size_t n = statement_text(&talks, text);

	build(&c, NOTHING);
	buf_put(&m, "apr signature 2", 16);
	buf_put(&m, key_secret_public(key)->key, KEY_PUBLIC_BYTES);
	buf_put(&m, c.root.b, DIGEST_BYTES);
	buf_u64(&m, n);
	buf_put(&m, text, n);
	test_ok(key_verify_hashed(key_secret_public(key), m.p, m.n, genuine.sig),
	        "these are the bytes that are signed");
	key_sign(key, m.p, m.n, s.sig);
	test_ok(key_verify(key_secret_public(key), m.p, m.n, s.sig) &&
	        signature_check(&s, body.p, body.n, &c, key_secret_public(key), SIGNATURE_ALL,
	                        &e) < 0 && e.code == ERR_SIGNATURE,
	        "signed as a file, they are no signature: %s", e.fact);
	buf_free(&m);
	content_free(&c);
}

int
main(void)
{
	struct err e = ERR_INIT;
	struct content c;

	key = key_secret_parse((const uint8_t *)key_file, strlen(key_file), &e);
	if (!test_ok(key != NULL, "test key"))
		return test_done();
	fill(empty_head, SILENT);
	form();
	form_faults();
	statements();
	build(&c, NOTHING);
	test_ok(signature_make(&genuine, &c, &talks, key, &e) == 0 &&
	        signature_body(&c, &body, &e) == 0 &&
	        body.n == 32 * (c.blobs.n + c.tensors.n), "a content signed");
	content_free(&c);
	changes();
	weights();
	frame();
	head_bits();
	plain_signature();
	buf_free(&body);
	key_secret_free(key);
	return test_done();
}
