/* fuzz_signature: a sign frame, head and body, against a content and a key. Only
 * what was signed is accepted, to the last bit.
 *
 * An input that begins with a brace is the frame's text. Any other is a mask of
 * bits to flip in a genuine frame after parsing: random bytes would never get past
 * the hash.
 */
#include "fuzz.h"

#include "crypto/signature.h"

/* RFC 8032's test 2 as a key file; id 1 2 3 4 5 6 7 8. */
static const char key_text[] = "untrusted comment: test\n"
	"RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQIDBAUGBwhM"
	"zQibKP+W2p22w0bsEU4PW4oxnzWrpiTajPbtT7im+z1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM"
	"M6mxIE8iHuwNOyY96EEHHjKQwoI3Z79how/7wsBstcs=\n";

#define ITEMS 4 /* of the content that have a digest in the body */
#define BODY (ITEMS * DIGEST_BYTES)

static struct content content;
static struct key_public key;
static struct signature genuine;
static char genuine_head[SIGNATURE_HEAD_BYTES + 1];
static struct buf genuine_body;

static void
make(void)
{
	static const uint64_t dims[] = { 2, 4 };
	struct err e = ERR_INIT;
	static const struct statement says = { "name", "1", "2026-11-22T10:00:00Z", "\"" };
	struct key_secret *secret;
	struct digest d;

	secret = key_secret_parse((const uint8_t *)key_text, sizeof key_text - 1, &e);
	must_say(secret, &e);
	key = *key_secret_public(secret);
	must(sha256_of("\1\0\0\0", 4, &d) == 0);
	must(content_add_value(&content, "alpha", "u32", 4, &d, &e) == 0);
	must(body_digest_of("words", 5, &d, &e) == 0);
	must(content_add_blob(&content, "tokenizer", "json", &d, &e) == 0);
	must(content_add_prov(&content, "{}", 2, &e) == 0);
	must(content_add_tensor(&content, "w.0", "I8", 2, dims, &d, &e) == 0);
	must(body_digest_of("bytes", 5, &d, &e) == 0);
	must(content_add_tensor(&content, "w.1", "I8", 2, dims, &d, &e) == 0);
	must(content_finish(&content, &e) == 0);
	must(signature_make(&genuine, &content, &says, secret, &e) == 0);
	signature_head(&genuine, genuine_head);
	must(signature_body(&content, &genuine_body, &e) == 0);
	must(genuine_body.n == BODY);
	key_secret_free(secret);
}

/* Refused for what it is, by a message that a terminal can show. */
static void
check(const struct signature *s, const uint8_t *body, size_t n, bool is_genuine)
{
	struct err all = ERR_INIT, weights = ERR_INIT;
	int r = signature_check(s, body, n, &content, &key, SIGNATURE_ALL, &all);
	int w = signature_check(s, body, n, &content, &key, SIGNATURE_WEIGHTS, &weights);

	must_say((r == 0) == is_genuine, &all);
	must_say((w == 0) == is_genuine, &weights);
	if (is_genuine)
		return;
	must(all.code == ERR_SIGNATURE && weights.code == ERR_SIGNATURE);
	fuzz_printable(all.object);
	fuzz_printable(all.fact);
}

static void
text(const uint8_t *data, size_t size)
{
	char again[SIGNATURE_HEAD_BYTES + 1];
	size_t head = size < SIGNATURE_HEAD_BYTES ? size : SIGNATURE_HEAD_BYTES;
	struct err e = ERR_INIT;
	struct signature s;

	if (signature_parse(data, head, &s, &e) < 0) {
		if (e.code != ERR_SIGNATURE)
			fuzz_refused(&e, false);
		return;
	}
	signature_head(&s, again);
	must(memcmp(again, data, head) == 0);
	check(&s, data + head, size - head,
	      memcmp(data, genuine_head, head) == 0 && size - head == BODY &&
	      memcmp(data + head, genuine_body.p, BODY) == 0);
}

/* Turn bits of n bytes; true if that changed anything. */
static bool
turn(void *to, size_t n, const uint8_t **data, size_t *size)
{
	uint8_t *p = to, any = 0;

	for (; n > 0 && *size > 0; n--, --*size) {
		any |= **data;
		*p++ ^= *(*data)++;
	}
	return any != 0;
}

static void
mask(const uint8_t *data, size_t size)
{
	struct signature s = genuine;
	uint8_t body[256] = { 0 }, n = BODY;
	bool turned;

	memcpy(body, genuine_body.p, BODY);
	turned = turn(&n, 1, &data, &size);
	turned |= turn(s.key_id, sizeof s.key_id, &data, &size);
	turned |= turn(&s.claimed, sizeof s.claimed, &data, &size);
	turned |= turn(s.sig, sizeof s.sig, &data, &size);
	turned |= turn(s.says.version, 1, &data, &size);
	turned |= turn(body, BODY, &data, &size);
	check(&s, body, n, !turned);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!content.tensors.n)
		make();
	if (size > 0 && data[0] == '{')
		text(data, size);
	else
		mask(data, size);
	return 0;
}
