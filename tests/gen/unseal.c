/* unseal: opens what is sealed, by the description in apr-stream(5) and apr-seal(1) and
 * with no code of lib/.
 *
 *     unseal list < STREAM            what a plain stream holds, a line an item:
 *                                     KIND NAME BYTES SHA256
 *     unseal key HEX < STREAM         the same of a sealed stream, opened with the secret
 *     unseal word TEXT < STREAM       half HEX, or the passphrase TEXT
 *     unseal message HEX [HEX] < MESSAGE
 *                                     its words; the second: the answer secret
 *     unseal signed HEX < STREAM      is the outer signature of a sealed stream by the
 *                                     public key HEX
 *     unseal vectors                  the vectors of the pages
 *
 * prov and sign are listed as head and body together. Exit status 1 and a reason if
 * anything does not hold: commitment, mac, tag, size.
 */
#include <jansson.h>
#include <math.h>

#include "sealing.h"
#include "stream.h"

static const char domain[] = "apr2 seal 2";

static void
put_hash_text(struct gen *g, const char *s)
{
	put_u64(g, strlen(s));
	put(g, s, strlen(s));
}

/* ---- metadata: JSON text to wire bytes ---- */

static const char *const kinds[] = { "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool",
	"string", "array", "u64", "i64", "f64" };
static const unsigned widths[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

static unsigned
kind_of(const char *type, size_t n)
{
	unsigned i;

	for (i = 0; i < 13; i++)
		if (strlen(kinds[i]) == n && memcmp(kinds[i], type, n) == 0)
			return i;
	stop("a type of metadata is not known");
}

static void
put_scalar(struct gen *g, const json_t *v, unsigned kind)
{
	const char *text = json_string_value(v);
	uint64_t bits = json_is_boolean(v) ? json_is_true(v)
	              : json_is_integer(v) ? (uint64_t)json_integer_value(v)
	              : text && text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10)
	              : text ? strtoull(text, NULL, 10) : 0;
	double d = text ? strtod(text, NULL) : 0;
	float f = text ? strtof(text, NULL) : 0;
	uint32_t half;

	if (kind == 6) {
		memcpy(&half, &f, sizeof half);
		bits = isnan(f) ? 0x7fc00000 : half;
	} else if (kind == 12) {
		memcpy(&bits, &d, sizeof bits);
		bits = isnan(d) ? 0x7ff8000000000000 : bits;
	}
	for (half = 0; half < widths[kind]; half++)
		put_u8(g, (uint8_t)(bits >> 8 * half));
}

static void
put_value(struct gen *g, const json_t *v, const char *type)
{
	const char *rest = strchr(type, ':');
	size_t i, n = rest ? (size_t)(rest - type) : strlen(type);
	const json_t *x;

	if (strcmp(type, "json") == 0) {
		put(g, json_string_value(v), json_string_length(v));
	} else if (rest) {
		n = strcspn(rest + 1, ":");
		put_u32(g, kind_of(rest + 1, n));
		put_u64(g, json_array_size(v));
		json_array_foreach(v, i, x)
			put_value(g, x, rest + 1);
	} else if (kind_of(type, n) == 8) {
		put_u64(g, json_string_length(v));
		put(g, json_string_value(v), json_string_length(v));
	} else {
		put_scalar(g, v, kind_of(type, n));
	}
}

static struct frame *
value_frame(struct frames *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		json_t *head = json_loads(s->list[i].head, 0, NULL);
		const char *is = json_string_value(json_object_get(head, "name"));
		int same = strcmp(s->list[i].kind, "blob") == 0 && is && strcmp(is, name) == 0;

		json_decref(head);
		if (same)
			return &s->list[i];
	}
	stop("a value of the metadata is not there");
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(json_string_value(json_array_get(*(json_t *const *)a, 0)),
	              json_string_value(json_array_get(*(json_t *const *)b, 0)));
}

/* The digest of the metadata, as signatures have it. */
static void
hash_metadata(struct frames *s, const json_t *plan, uint8_t out[KEY])
{
	static const char name[] = "apr content 1 metadata";
	json_t *list = json_object_get(plan, "metadata"), *row;
	size_t i, n = json_array_size(list);
	json_t **rows = calloc(n + 1, sizeof *rows);
	struct gen g = { 0 }, wire = { 0 };
	uint8_t hash[KEY];

	json_array_foreach(list, i, row)
		rows[i] = row;
	qsort(rows, n, sizeof *rows, by_key);
	put(&g, name, sizeof name);
	put_u64(&g, n);
	for (i = 0; i < n; i++) {
		const char *type = json_string_value(json_array_get(rows[i], 1));
		json_t *v = json_array_get(rows[i], 2);
		const char *blob = json_string_value(json_object_get(v, "blob"));

		wire.n = 0;
		if (blob)
			put(&wire, value_frame(s, blob)->body.p, value_frame(s, blob)->body.n);
		else
			put_value(&wire, v, type);
		put_hash_text(&g, json_string_value(json_array_get(rows[i], 0)));
		put_hash_text(&g, type);
		put_u64(&g, wire.n);
		sha256(wire.p, wire.n, hash);
		put(&g, hash, KEY);
	}
	sha256(g.p, g.n, out);
	gen_free(&g);
	gen_free(&wire);
	free(rows);
}

static void
hash_licence(struct frames *s, uint8_t out[KEY])
{
	static const char name[] = "apr content 1 licence";
	struct gen g = { 0 };
	uint8_t hash[KEY];
	size_t i;

	put(&g, name, sizeof name);
	for (i = 0; i < s->n; i++)
		if (strcmp(s->list[i].kind, "lice") == 0) {
			put_u64(&g, s->list[i].body.n);
			sha256(s->list[i].body.p, s->list[i].body.n, hash);
			put(&g, hash, KEY);
		}
	sha256(g.p, g.n, out);
	gen_free(&g);
}

/* ---- the plan: what an item is, and how large ---- */

static const struct { const char *name; unsigned items, bytes; } blocks[] = {
	{ "F32", 1, 4 }, { "F16", 1, 2 }, { "BF16", 1, 2 }, { "I8", 1, 1 }, { "Q8_0", 32, 34 },
	{ "Q4_0", 32, 18 }, { "Q6_K", 256, 210 }
};

static uint64_t
tensor_size(const json_t *row)
{
	const char *dtype = json_string_value(json_array_get(row, 1));
	json_t *v, *said = json_object_get(json_array_get(row, 3), "bytes");
	uint64_t n = 1;
	size_t i;

	if (said)
		return (uint64_t)json_integer_value(said);
	json_array_foreach(json_array_get(row, 2), i, v)
		n *= (uint64_t)json_integer_value(v);
	for (i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (strcmp(blocks[i].name, dtype) == 0)
			return n / blocks[i].items * blocks[i].bytes;
	stop("a dtype is not known here");
}

static void
put_tensor_facts(struct gen *g, const json_t *row)
{
	json_t *v;
	size_t i;

	put_u64(g, json_array_size(json_array_get(row, 2)));
	json_array_foreach(json_array_get(row, 2), i, v)
		put_u64(g, (uint64_t)json_integer_value(v));
	put_u64(g, tensor_size(row));
}

/* What the mac covers of a plan. */
static void
put_plan(struct gen *g, const json_t *plan)
{
	json_t *row, *blobs = json_object_get(plan, "blobs");
	json_t *tensors = json_object_get(plan, "tensors");
	json_t *provs = json_object_get(plan, "provenance");
	size_t i, side = 0;

	json_array_foreach(blobs, i, row)
		side += strcmp(json_string_value(json_array_get(row, 1)), "value") != 0;
	put_u64(g, side);
	json_array_foreach(blobs, i, row) {
		if (strcmp(json_string_value(json_array_get(row, 1)), "value") == 0)
			continue;
		put_hash_text(g, json_string_value(json_array_get(row, 0)));
		put_hash_text(g, json_string_value(json_array_get(row, 1)));
		put_u64(g, (uint64_t)json_integer_value(json_array_get(row, 2)));
	}
	put_u64(g, json_array_size(tensors));
	json_array_foreach(tensors, i, row) {
		put_hash_text(g, json_string_value(json_array_get(row, 0)));
		put_hash_text(g, json_string_value(json_array_get(row, 1)));
		put_tensor_facts(g, row);
	}
	put_u64(g, json_array_size(provs));
	json_array_foreach(provs, i, row)
		put_u64(g, (uint64_t)json_integer_value(row));
	put_u64(g, (uint64_t)json_integer_value(json_object_get(plan, "signatures")));
}

/* ---- SKEY ---- */

struct sealed {
	struct frames s;
	json_t *plan, *skey;
	uint8_t salt[KEY], data[KEY];
};

static const char *
member(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static int
open_stanza(struct sealed *x, const json_t *t, const uint8_t *secret, const char *word)
{
	static const uint8_t nonce[12];
	uint8_t keys[2 * KEY], commitment[KEY], wrapped[KEY + TAG], other[KEY], room[KEY + TAG];

	if (secret && strcmp(member(t, "type"), "x25519") == 0) {
		from_hex(member(t, "key"), other, KEY);
		identity_keys(x->salt, other, secret, keys);
	} else if (word && strcmp(member(t, "type"), "argon2id") == 0) {
		from_hex(member(t, "salt"), other, 16);
		word_keys(x->salt, other, (uint64_t)json_integer_value(json_object_get(t, "memory")),
		          (uint64_t)json_integer_value(json_object_get(t, "passes")), word, keys);
	} else {
		return 0;
	}
	from_hex(member(t, "commitment"), commitment, KEY);
	from_hex(member(t, "wrapped"), wrapped, sizeof wrapped);
	if (memcmp(commitment, keys + KEY, KEY) != 0)
		return 0;
	if (!gcm(0, keys, nonce, NULL, 0, wrapped, KEY, room, wrapped + KEY))
		stop("the commitment holds, but the key does not unwrap");
	memcpy(x->data, room, KEY);
	return 1;
}

/* What the mac and the outer signature are made over. */
static void
hash_seal(struct sealed *x, uint8_t out[KEY])
{
	static const char mac[] = "\"mac\":\"";
	const struct frame *f = &x->s.list[1];
	const char *at = strstr(f->head, mac);
	uint8_t hash[KEY];
	struct gen g = { 0 };

	if (!at || strstr(at + 1, mac))
		stop("its head has no mac");
	put(&g, domain, sizeof domain);
	sha256(f->head, (size_t)(at - f->head) + strlen(mac), hash);
	put(&g, hash, KEY);
	hash_metadata(&x->s, x->plan, hash);
	put(&g, hash, KEY);
	hash_licence(&x->s, hash);
	put(&g, hash, KEY);
	put_plan(&g, x->plan);
	sha256(g.p, g.n, out);
	gen_free(&g);
}

static void
check_mac(struct sealed *x)
{
	uint8_t key[KEY], hash[KEY], mac[KEY], said[KEY];
	struct gen g = { 0 }, empty = { 0 };

	hash_seal(x, hash);
	derive(x->salt, KEY, x->data, KEY, "apr2 seal 2 mac", &empty, key, KEY);
	put(&g, hash, KEY);
	hmac(key, KEY, &g, mac);
	from_hex(member(x->skey, "mac"), said, KEY);
	if (memcmp(mac, said, KEY) != 0)
		stop("the mac does not hold");
	gen_free(&g);
}

/* The outer signature, by the public key. */
static void
check_outer(const uint8_t public[KEY])
{
	static const char name[] = "apr2 seal 2 signature";
	struct sealed x = { .plan = NULL };
	crypto_sign_state state;
	uint8_t hash[KEY], mac[KEY], signature[2 * KEY];

	frames_read(stdin, &x.s);
	x.plan = json_loads(x.s.list[0].head, 0, NULL);
	x.skey = json_loads(x.s.list[1].head, 0, NULL);
	from_hex(member(x.skey, "mac"), mac, KEY);
	from_hex(member(x.skey, "signature"), signature, sizeof signature);
	hash_seal(&x, hash);
	crypto_sign_init(&state);
	crypto_sign_update(&state, (const uint8_t *)name, sizeof name);
	crypto_sign_update(&state, public, KEY);
	crypto_sign_update(&state, hash, KEY);
	crypto_sign_update(&state, mac, KEY);
	if (crypto_sign_final_verify(&state, signature, public) != 0)
		stop("the outer signature does not hold");
}

static void
open_skey(struct sealed *x, const uint8_t *secret, const char *word)
{
	json_t *t;
	size_t i;
	int found = 0;

	if (x->s.n < 2 || strcmp(x->s.list[1].kind, "SKEY") != 0)
		stop("not sealed");
	x->skey = json_loads(x->s.list[1].head, 0, NULL);
	from_hex(member(x->skey, "salt"), x->salt, KEY);
	json_array_foreach(json_object_get(x->skey, "stanzas"), i, t)
		if (!found)
			found = open_stanza(x, t, secret, word);
	if (!found)
		stop("no stanza opens");
	check_mac(x);
}

/* ---- items ---- */

static void
print_item(const char *kind, const char *name, const uint8_t *p, size_t n)
{
	char text[2 * KEY + 1];
	uint8_t hash[KEY];

	sha256(p, n, hash);
	printf("%s %s %zu %s\n", kind, name, n, sodium_bin2hex(text, sizeof text, hash, KEY));
}

static json_t *
row_named(const json_t *list, const char *name, size_t *at)
{
	json_t *row;

	for (*at = 0; (row = json_array_get(list, *at)); ++*at)
		if (strcmp(json_string_value(json_array_get(row, 0)), name) == 0)
			return row;
	stop("an item is not in the plan");
}

/* What its key is bound to, and its plain size. */
static uint64_t
put_item_context(struct sealed *x, const json_t *head, struct gen *g)
{
	const char *holds = member(head, "holds"), *name = member(head, "name");
	json_t *tensors = json_object_get(x->plan, "tensors"), *row;
	json_t *blobs = json_object_get(x->plan, "blobs");
	size_t at, i, values = 0;
	uint64_t n;

	put_hash_text(g, holds);
	if (strcmp(holds, "tensor") == 0) {
		row = row_named(tensors, name, &at);
		put_u64(g, at);
		put_hash_text(g, name);
		put_hash_text(g, json_string_value(json_array_get(row, 1)));
		put_tensor_facts(g, row);
		return tensor_size(row);
	}
	if (strcmp(holds, "blob") == 0) {
		json_array_foreach(blobs, i, row)
			values += strcmp(json_string_value(json_array_get(row, 1)), "value") == 0;
		row = row_named(blobs, name, &at);
		put_u64(g, at - values);
		put_hash_text(g, name);
		put_hash_text(g, json_string_value(json_array_get(row, 1)));
		n = (uint64_t)json_integer_value(json_array_get(row, 2));
	} else {
		at = (size_t)json_integer_value(json_object_get(head, "number"));
		put_u64(g, at);
		put_hash_text(g, "");
		put_hash_text(g, "");
		n = UINT64_MAX; /* the caller has it from the frame */
	}
	put_u64(g, 0);
	if (n != UINT64_MAX)
		put_u64(g, n);
	return n;
}

static void
print_sealed(struct sealed *x, const struct frame *f)
{
	json_t *head = json_loads(f->head, 0, NULL);
	const char *name = member(head, "name");
	struct gen g = { 0 };
	uint64_t plain = put_item_context(x, head, &g), chunks, i;
	uint8_t key[KEY], nonce[12] = { 0 }, *out = calloc(1, f->body.n + 1);
	size_t at = 0, made = 0, n;

	chunks = (f->body.n + CHUNK + TAG - 1) / (CHUNK + TAG);
	if (plain == UINT64_MAX) {
		plain = f->body.n - chunks * TAG;
		put_u64(&g, plain);
	}
	derive(x->salt, KEY, x->data, KEY, "apr2 seal 2 item", &g, key, KEY);
	for (i = 0; i < chunks; i++, at += n + TAG, made += n) {
		uint8_t tag[TAG];
		unsigned k;

		n = f->body.n - at - TAG < CHUNK ? f->body.n - at - TAG : CHUNK;
		for (k = 0; k < 8; k++)
			nonce[10 - k] = (uint8_t)(i >> 8 * k);
		nonce[11] = i + 1 == chunks;
		memcpy(tag, f->body.p + at + n, TAG);
		if (!gcm(0, key, nonce, NULL, 0, f->body.p + at, n, out + made, tag))
			stop("a tag does not hold");
	}
	if (made != plain)
		stop("an item does not have its size");
	print_item(member(head, "holds"), name ? name : "-", out, made);
	json_decref(head);
	gen_free(&g);
	free(out);
}

static void
print_plain(const struct frame *f)
{
	static const struct { const char *kind, *name; } names[] = {
		{ "TENS", "tensor" }, { "blob", "blob" }, { "prov", "prov" }, { "sign", "sign" },
		{ "lice", "licence" }
	};
	json_t *head = json_loads(f->head, 0, NULL);
	const char *name = member(head, "name");
	struct gen g = { 0 };
	size_t i;

	if (strcmp(f->kind, "prov") == 0 || strcmp(f->kind, "sign") == 0)
		put(&g, f->head, f->head_n);
	put(&g, f->body.p, f->body.n);
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i].kind, f->kind) == 0)
			print_item(names[i].name, name ? name : "-", g.p, g.n);
	json_decref(head);
	gen_free(&g);
}

static void
list(const uint8_t *secret, const char *word)
{
	struct sealed x = { .plan = NULL };
	size_t i;

	frames_read(stdin, &x.s);
	x.plan = json_loads(x.s.list[0].head, 0, NULL);
	if (!x.plan)
		stop("not a stream");
	if (secret || word)
		open_skey(&x, secret, word);
	for (i = 0; i < x.s.n; i++)
		if (strcmp(x.s.list[i].kind, "SEAL") == 0)
			print_sealed(&x, &x.s.list[i]);
		else
			print_plain(&x.s.list[i]);
}

/* ---- messages ---- */

static void
message(const uint8_t *secret, const uint8_t *answer)
{
	static uint8_t m[1 << 20], out[1 << 20];
	static const uint8_t nonce[12];
	size_t n = fread(m, 1, sizeof m, stdin), inner;
	uint8_t keys[2 * KEY], public[KEY];

	if (n < MESSAGE_HEAD + TAG || memcmp(m, "APRM\2", 5) != 0)
		stop("not a message");
	crypto_scalarmult_base(public, secret);
	message_keys(secret, m + 8, m, public, answer, keys);
	if (memcmp(keys + KEY, m + 40, KEY) != 0)
		stop("the commitment does not hold");
	inner = n - MESSAGE_HEAD - TAG;
	if (!gcm(0, keys, nonce, m, MESSAGE_HEAD, m + MESSAGE_HEAD, inner, out, m + n - TAG))
		stop("the tag does not hold");
	n = m[5] & 1 ? 2 * KEY : 0;
	fwrite(out + n, 1, inner - n, stdout);
}

/* ---- vectors ---- */

static void
print_hex(const char *name, const uint8_t *p, size_t n)
{
	size_t i;

	printf("%s ", name);
	for (i = 0; i < n; i++)
		printf("%02x", p[i]);
	putchar('\n');
}

static void
print_stanza(const uint8_t keys[2 * KEY], const uint8_t data[KEY])
{
	static const uint8_t nonce[12];
	uint8_t wrapped[KEY + 2 * TAG];

	gcm(1, keys, nonce, NULL, 0, data, KEY, wrapped, wrapped + KEY);
	print_hex("commitment", keys + KEY, KEY);
	print_hex("wrapped", wrapped, KEY + TAG);
}

static void
vectors(void)
{
	struct sealed x = { .plan = NULL };
	uint8_t secret[KEY], pair[KEY], public[KEY], own[KEY], keys[2 * KEY], answer[KEY];
	uint8_t m[MESSAGE_HEAD] = { 'A', 'P', 'R', 'M', 2, 2 }, salt[16], out[64];
	static const uint8_t nonce[12];
	struct gen context = { 0 };
	size_t i;

	for (i = 0; i < KEY; i++)
		x.data[i] = (uint8_t)i;
	memset(x.salt, 0x45, KEY);
	memset(secret, 0x42, KEY);
	memset(pair, 0x43, KEY);
	memset(salt, 0x44, sizeof salt);
	memset(answer, 0x46, KEY);
	crypto_scalarmult_base(public, secret);
	crypto_scalarmult_base(own, pair);
	print_hex("key", own, KEY);
	identity_keys(x.salt, own, secret, keys);
	print_stanza(keys, x.data);
	word_keys(x.salt, salt, 262144, 3, "open, sesame", keys);
	print_stanza(keys, x.data);
	/* The key of the tensor "a", I8 4x8, the first of its model. */
	put_hash_text(&context, "tensor");
	put_u64(&context, 0);
	put_hash_text(&context, "a");
	put_hash_text(&context, "I8");
	put_u64(&context, 2);
	put_u64(&context, 4);
	put_u64(&context, 8);
	put_u64(&context, 32);
	derive(x.salt, KEY, x.data, KEY, "apr2 seal 2 item", &context, keys, KEY);
	print_hex("tensor", keys, KEY);
	/* An answer of the two words "Yes." */
	memcpy(m + 8, own, KEY);
	message_keys(pair, public, m, public, answer, keys);
	memcpy(m + 40, keys + KEY, KEY);
	gcm(1, keys, nonce, m, sizeof m, (const uint8_t *)"Yes.", 4, out, out + 4);
	print_hex("answer", m, sizeof m);
	print_hex("sealed", out, 4 + TAG);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint8_t secret[KEY], answer[KEY];

	if (sodium_init() < 0)
		stop("libsodium");
	if (strcmp(what, "vectors") == 0) {
		vectors();
	} else if (strcmp(what, "list") == 0) {
		list(NULL, NULL);
	} else if (strcmp(what, "word") == 0 && argc == 3) {
		list(NULL, argv[2]);
	} else if (argc > 2) {
		from_hex(argv[2], secret, KEY);
		if (argc > 3)
			from_hex(argv[3], answer, KEY);
		if (strcmp(what, "key") == 0)
			list(secret, NULL);
		else if (strcmp(what, "signed") == 0)
			check_outer(secret);
		else
			message(secret, argc > 3 ? answer : NULL);
	} else {
		stop("usage: unseal list | key HEX | word TEXT | message HEX [HEX] | signed HEX |"
		     " vectors");
	}
	return 0;
}
