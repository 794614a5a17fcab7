/* tamper: change a signed stream as an attacker would who can compute checksums but does
 * not have the key.
 *
 *     tamper mother > STREAM          a model that has one of everything, unsigned
 *     tamper list                     the changes: NAME, exit status of apr-verify,
 *                                     what its message says; tabs between
 *     tamper NAME < STREAM > STREAM
 *     tamper sign_is FILE < STREAM > STREAM      the signature is FILE's 64 bytes
 *     tamper sign_message KEY.pub < STREAM       the bytes that its signature is over
 *
 * Where a change is bound to change a length that the plan or a frame states, it
 * is stated anew, so that the stream is sound in itself; rows with status 4 are
 * changes that cannot be hidden in this way. Status 0: what a signature leaves
 * open.
 */
#include <stdbool.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "stream.h"

struct tamper {
	struct frames s;
	json_t *plan;
	bool as_is; /* what is stated is not to be stated anew */
};

/* ---- the mother ---- */

static const char *const meta_rows[] = {
	"[\"general.architecture\",\"string\",\"llama\"]",
	"[\"general.name\",\"string\",\"mother\"]",
	"[\"t.u8\",\"u8\",200]",
	"[\"t.i8\",\"i8\",-5]",
	"[\"t.u16\",\"u16\",40000]",
	"[\"t.i16\",\"i16\",-300]",
	"[\"t.u32\",\"u32\",7]",
	"[\"t.twin\",\"u32\",8]",
	"[\"t.i32\",\"i32\",-7]",
	"[\"t.f32\",\"f32\",\"0.125\"]",
	"[\"t.zero\",\"f32\",\"0\"]",
	"[\"t.nan\",\"f32\",\"nan\"]",
	"[\"t.bool\",\"bool\",true]",
	"[\"t.empty\",\"string\",\"\"]",
	"[\"t.u64\",\"u64\",\"18446744073709551614\"]",
	"[\"t.i64\",\"i64\",\"-9223372036854775807\"]",
	"[\"t.f64\",\"f64\",\"0.10000000000000001\"]",
	"[\"t.json\",\"json\",\"{\\\"a\\\": [1, 2]}\"]",
	"[\"a.u8\",\"array:u8\",[1,2,3]]",
	"[\"a.i8\",\"array:i8\",[1,-2,3]]",
	"[\"a.u16\",\"array:u16\",[1,2,3]]",
	"[\"a.i16\",\"array:i16\",[1,-2,3]]",
	"[\"a.u32\",\"array:u32\",[1,2,3]]",
	"[\"a.i32\",\"array:i32\",[1,-2,3]]",
	"[\"a.f32\",\"array:f32\",[\"1\",\"inf\",\"2.5\"]]",
	"[\"a.bool\",\"array:bool\",[true,false,true]]",
	"[\"a.string\",\"array:string\",[\"one\",\"\",\"three\"]]",
	"[\"a.u64\",\"array:u64\",[1,2,3]]",
	"[\"a.i64\",\"array:i64\",[1,-2,3]]",
	"[\"a.f64\",\"array:f64\",[\"1\",\"-inf\",\"2.5\"]]",
	"[\"a.none\",\"array:u32\",[]]",
	"[\"a.nested\",\"array:array:u8\",{\"blob\":\"value:a.nested\"}]",
	"[\"a.long\",\"array:u32\",{\"blob\":\"value:a.long\"}]",
	"[\"t.nul\",\"string\",{\"blob\":\"value:t.nul\"}]",
};
#define KEYS (sizeof meta_rows / sizeof *meta_rows)

/* Twins differ in their bytes alone. */
static const char *const tensor_rows[] = {
	"[\"a.weight\",\"F16\",[4,32]]", "[\"b.weight\",\"F16\",[4,32]]",
	"[\"q.weight\",\"Q8_0\",[2,32]]", "[\"f.weight\",\"F32\",[3,4]]",
	"[\"f.bias\",\"F32\",[8]]",       "[\"none.weight\",\"F32\",[0,4]]",
	"[\"scalar\",\"F32\",[]]",        "[\"strange\",\"GGML_50\",[7],{\"bytes\":64}]",
};
static const size_t tensor_bytes[] = { 256, 256, 68, 48, 32, 0, 4, 64 };
#define TENSORS (sizeof tensor_rows / sizeof *tensor_rows)

static void
add_row(json_t *list, const char *text)
{
	json_t *row = json_loads(text, 0, NULL);

	if (!row || json_array_append_new(list, row) < 0)
		gen_die("is not JSON", text);
}

static json_t *
member(const struct tamper *t, const char *name)
{
	return json_object_get(t->plan, name);
}

static void
add_blob(struct tamper *t, const char *name, const char *type, const void *p, size_t n)
{
	json_array_append_new(member(t, "blobs"), json_pack("[s,s,i]", name, type, 0));
	put(put_frame(&t->s, "", "blob", ""), p, n);
}

static void
make_mother(struct tamper *t)
{
	struct gen nested = { 0 }, many = { 0 }, nul = { 0 };
	size_t i, k;

	t->plan = json_pack("{s:i,s:{s:s},s:[],s:[],s:i,s:[],s:[i,i],s:i}", "version", 1,
	                    "source", "format", "other", "metadata", "blobs", "licence", 0,
	                    "tensors", "provenance", 0, 0, "signatures", 0);
	for (i = 0; i < KEYS; i++)
		add_row(member(t, "metadata"), meta_rows[i]);
	for (i = 0; i < TENSORS; i++)
		add_row(member(t, "tensors"), tensor_rows[i]);
	put_frame(&t->s, "", "APRS", "");
	put_u32(&nested, 9); /* array */
	put_u64(&nested, 2);
	for (i = 0; i < 2; i++) {
		put_u32(&nested, 0); /* of u8 */
		put_u64(&nested, 3);
		put_ramp(&nested, 3);
	}
	put_u32(&many, 4);
	put_u64(&many, 1100);
	put_ramp(&many, 4400);
	put_u64(&nul, 3);
	put(&nul, "a\0b", 3);
	add_blob(t, "value:a.nested", "value", nested.p, nested.n);
	add_blob(t, "value:a.long", "value", many.p, many.n);
	add_blob(t, "value:t.nul", "value", nul.p, nul.n);
	add_blob(t, "README.md", "text/markdown", "read me\n", 8);
	add_blob(t, "TWIN.md", "text/markdown", "me read\n", 8);
	add_blob(t, "tokenizer.json", "application/json", "{}", 2);
	put_text(put_frame(&t->s, "", "lice", "{}"), "you may use this");
	for (i = 0; i < TENSORS; i++) {
		struct gen *body = put_frame(&t->s, "", "TENS", "");

		for (k = 0; k < tensor_bytes[i]; k++)
			put_u8(body, (uint8_t)(k * 7 + i * 31 + 1));
	}
	put_frame(&t->s, "", "prov", "{\"operation\":\"one\"}");
	put_frame(&t->s, "", "prov", "{\"operation\":\"two\"}");
	put_frame(&t->s, "", "DONE", "{\"tensors\":8}");
	gen_free(&nested);
	gen_free(&many);
	gen_free(&nul);
}

/* ---- a stream in, a stream out ---- */

static void
take(struct gen *g, size_t n)
{
	if (n > 0 && fread(gen_open(g, g->n, n), 1, n, stdin) != n)
		gen_die("is cut short", "the stream");
}

static uint64_t
number(const uint8_t *p, unsigned width)
{
	return width ? number(p + 1, width - 1) << 8 | *p : 0;
}

/* One frame; false after DONE. */
static bool
read_frame(struct tamper *t)
{
	struct gen g = { 0 };
	struct frame *f;
	char kind[5] = "", *head;
	size_t head_n;

	take(&g, 16);
	memcpy(kind, g.p, 4);
	head_n = (size_t)number(g.p + 4, 4);
	take(&g, head_n + 4);
	head = calloc(1, head_n + 1);
	memcpy(head, g.p + 16, head_n);
	put_frame(&t->s, "", kind, head);
	f = &t->s.list[t->s.n - 1];
	take(&f->body, (size_t)number(g.p + 8, 8));
	take(&g, 4);
	free(head);
	gen_free(&g);
	return strcmp(kind, "DONE") != 0;
}

static void
read_stream(struct tamper *t)
{
	while (read_frame(t))
		;
	t->plan = json_loads(t->s.list[0].head, 0, NULL);
	if (!t->plan)
		gen_die("has no plan", "the stream");
}

/* The n-th frame of a kind, or NULL. */
static struct frame *
frame_at(struct tamper *t, const char *kind, size_t n)
{
	size_t i;

	for (i = 0; i < t->s.n; i++)
		if (strcmp(t->s.list[i].kind, kind) == 0 && n-- == 0)
			return &t->s.list[i];
	return NULL;
}

static size_t
count(struct tamper *t, const char *kind)
{
	size_t n = 0;

	while (frame_at(t, kind, n))
		n++;
	return n;
}

static void
set_head(struct frame *f, char *text)
{
	free(f->head);
	f->head = text;
	f->head_n = strlen(text);
}

static void
set_head_json(struct frame *f, json_t *o)
{
	set_head(f, json_dumps(o, JSON_COMPACT));
	json_decref(o);
}

/* State everything anew: heads and lengths follow from lists and bodies. */
static void
restate(struct tamper *t)
{
	json_t *row, *list;
	struct frame *f;
	size_t i;

	json_array_foreach(member(t, "blobs"), i, row) {
		f = frame_at(t, "blob", i);
		json_array_set_new(row, 2, json_integer((json_int_t)f->body.n));
		set_head_json(f, json_pack("{s:O,s:O}", "name", json_array_get(row, 0), "type",
		                           json_array_get(row, 1)));
	}
	json_array_foreach(member(t, "tensors"), i, row)
		set_head_json(frame_at(t, "TENS", i),
		              json_pack("{s:O,s:O,s:O}", "name", json_array_get(row, 0),
		                        "dtype", json_array_get(row, 1), "shape",
		                        json_array_get(row, 2)));
	f = frame_at(t, "lice", 0);
	if (f)
		json_object_set_new(t->plan, "licence", json_integer((json_int_t)f->body.n));
	else
		json_object_del(t->plan, "licence");
	list = json_array();
	for (i = 0; (f = frame_at(t, "prov", i)); i++)
		json_array_append_new(list, json_integer((json_int_t)f->head_n));
	json_object_set_new(t->plan, "provenance", list);
	json_object_set_new(t->plan, "signatures",
	                    json_integer((json_int_t)count(t, "sign")));
	set_head_json(frame_at(t, "DONE", 0),
	              json_pack("{s:i}", "tensors", (int)count(t, "TENS")));
}

static void
write_stream(struct tamper *t)
{
	struct gen g = { 0 };

	if (!t->as_is)
		restate(t);
	set_head(&t->s.list[0], json_dumps(t->plan, JSON_COMPACT));
	write_frames(&g, &t->s);
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fflush(stdout) != 0)
		gen_die("cannot be written", "the stream");
	gen_free(&g);
	frames_free(&t->s);
	json_decref(t->plan);
}

/* ---- finding things ---- */

static size_t
row_at(const struct tamper *t, const char *list, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(member(t, list), i, row)
		if (strcmp(json_string_value(json_array_get(row, 0)), name) == 0)
			return i;
	gen_die("is in no such list", name);
}

static json_t *
row_by(const struct tamper *t, const char *list, const char *name)
{
	return json_array_get(member(t, list), row_at(t, list, name));
}

static struct gen *
tensor_body(struct tamper *t, const char *name)
{
	return &frame_at(t, "TENS", row_at(t, "tensors", name))->body;
}

static struct gen *
blob_body(struct tamper *t, const char *name)
{
	return &frame_at(t, "blob", row_at(t, "blobs", name))->body;
}

static bool
is_value(json_t *blob_row)
{
	return strcmp(json_string_value(json_array_get(blob_row, 1)), "value") == 0;
}

static void
drop_frame(struct tamper *t, struct frame *f)
{
	free(f->head);
	gen_free(&f->body);
	memmove(f, f + 1, (size_t)(&t->s.list[t->s.n] - (f + 1)) * sizeof *f);
	t->s.n--;
}

static struct frame *
insert_frame(struct tamper *t, struct frame *before, const char *kind, const char *head)
{
	struct frame made;

	put_frame(&t->s, "", kind, head);
	made = t->s.list[t->s.n - 1];
	memmove(before + 1, before,
	        (size_t)(&t->s.list[t->s.n - 1] - before) * sizeof *before);
	*before = made;
	return before;
}

static void
swap_frames(struct frame *a, struct frame *b)
{
	struct frame f = *a;

	*a = *b;
	*b = f;
}

static void
swap_bodies(struct gen *a, struct gen *b)
{
	struct gen g = *a;

	*a = *b;
	*b = g;
}

static void
swap_rows(json_t *list, size_t a, size_t b)
{
	json_t *first = json_deep_copy(json_array_get(list, a));

	json_array_set(list, a, json_array_get(list, b));
	json_array_set_new(list, b, first);
}

/* ---- the signature ---- */

/* How many digests stand before the one of a side file, prov or tensor: those
 * of the former come first, each group in the order of names. */
static size_t
digest_at(struct tamper *t, const char *name, bool tensor)
{
	size_t before = 0, i;
	char prov[32];
	json_t *row;

	json_array_foreach(member(t, "blobs"), i, row)
		before += !is_value(row) &&
		          (tensor || strcmp(json_string_value(json_array_get(row, 0)), name) < 0);
	for (i = 0; i < count(t, "prov"); i++) {
		snprintf(prov, sizeof prov, "prov.%zu", i);
		before += tensor || strcmp(prov, name) < 0;
	}
	json_array_foreach(member(t, "tensors"), i, row)
		before += tensor && strcmp(json_string_value(json_array_get(row, 0)), name) < 0;
	return before;
}

static void
cut_digest(struct tamper *t, size_t i)
{
	struct gen *g = &frame_at(t, "sign", 0)->body;

	memmove(g->p + 32 * i, g->p + 32 * (i + 1), g->n - 32 * (i + 1));
	g->n -= 32;
}

/* The digest of a body of at most one chunk. */
static void
body_digest(const struct gen *body, uint8_t to[32])
{
	static const char domain[] = "apr content 1 body";
	struct gen g = { 0 };
	uint8_t chunk[32];

	put(&g, domain, sizeof domain);
	put_u64(&g, body->n);
	SHA256(body->p, body->n, chunk);
	if (body->n)
		put(&g, chunk, 32);
	SHA256(g.p, g.n, to);
	gen_free(&g);
}

static void
add_digest(struct tamper *t, size_t i, const struct gen *body)
{
	body_digest(body, gen_open(&frame_at(t, "sign", 0)->body, 32 * i, 32));
}

/* The hexadecimal digits of a field of the signature's head. */
static char *
sign_field(struct tamper *t, const char *name)
{
	char key[64], *at;

	snprintf(key, sizeof key, "\"%s\":\"", name);
	at = strstr(frame_at(t, "sign", 0)->head, key);
	if (!at)
		gen_die("is not a field of a signature", name);
	return at + strlen(key);
}

static void
change_digit(char *digit)
{
	*digit = *digit == '0' ? '1' : '0';
}

/* Let the head's root be that of its parts. */
static void
restate_root(struct tamper *t)
{
	static const char domain[] = "apr content 1 root";
	static const char *const parts[] = { "metadata", "blobs", "licence", "tensors" };
	struct gen g = { 0 };
	uint8_t root[32];
	char *to = sign_field(t, "root");
	unsigned i, k, byte;

	put(&g, domain, sizeof domain);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 32; k++) {
			sscanf(sign_field(t, parts[i]) + 2 * k, "%2x", &byte);
			put_u8(&g, (uint8_t)byte);
		}
	SHA256(g.p, g.n, root);
	for (k = 0; k < 64; k++)
		to[k] = "0123456789abcdef"[root[k / 2] >> (k % 2 ? 0 : 4) & 15];
	gen_free(&g);
}

/* ---- changes of metadata ---- */

static json_t *
changed_item(json_t *v, const char *leaf)
{
	char text[64];
	size_t n;

	if (json_is_boolean(v))
		return json_boolean(!json_is_true(v));
	if (json_is_integer(v))
		return json_integer(json_integer_value(v) + 1);
	snprintf(text, sizeof text - 1, "%s", json_string_value(v));
	n = strlen(text);
	if (strcmp(leaf, "string") == 0) {
		text[n ? n - 1 : 0] ^= n ? 1 : 'x';
	} else if (strcmp(leaf, "json") == 0) {
		text[n] = ' '; /* even a space is content */
		text[n + 1] = '\0';
	} else if (strcmp(text, "nan") == 0) {
		strcpy(text, "inf");
	} else {
		text[n - 1] = text[n - 1] == '9' ? '8' : (char)(text[n - 1] + 1);
	}
	return json_string(text);
}

static void
value(struct tamper *t, const char *key)
{
	json_t *row = row_by(t, "metadata", key), *v = json_array_get(row, 2);
	const char *type = json_string_value(json_array_get(row, 1));
	const char *leaf = strrchr(type, ':') ? strrchr(type, ':') + 1 : type;
	size_t n = json_array_size(v);

	if (json_is_object(v)) {
		struct gen *g = blob_body(t, json_string_value(json_object_get(v, "blob")));

		g->p[g->n - 1] ^= 1;
	} else if (!json_is_array(v)) {
		json_array_set_new(row, 2, changed_item(v, leaf));
	} else if (n == 0) {
		json_array_append_new(v, json_integer(0));
	} else {
		json_array_set_new(v, n - 1, changed_item(json_array_get(v, n - 1), leaf));
	}
}

/* KEY TYPE VALUE, the last as JSON: another type, the same bytes. */
static void
type(struct tamper *t, const char *what)
{
	char key[32], name[32], text[64];
	json_t *row;

	sscanf(what, "%31s %31s %63s", key, name, text);
	row = row_by(t, "metadata", key);
	json_array_set_new(row, 1, json_string(name));
	json_array_set_new(row, 2, json_loads(text, JSON_DECODE_ANY, NULL));
}

static void
key_renamed(struct tamper *t, const char *key)
{
	json_array_set_new(row_by(t, "metadata", key), 0, json_string("renamed"));
}

static void
key_removed(struct tamper *t, const char *key)
{
	json_array_remove(member(t, "metadata"), row_at(t, "metadata", key));
}

static void
key_added(struct tamper *t, const char *row)
{
	add_row(member(t, "metadata"), row);
}

/* A long value lies in a blob that is named after its key. */
static void
value_key_renamed(struct tamper *t, const char *key)
{
	json_t *row = row_by(t, "metadata", key);
	const char *name = json_string_value(json_object_get(json_array_get(row, 2), "blob"));

	json_array_set_new(row_by(t, "blobs", name), 0, json_string("value:renamed"));
	json_array_set_new(row, 2, json_pack("{s:s}", "blob", "value:renamed"));
	key_renamed(t, key);
}

static void
value_key_removed(struct tamper *t, const char *key)
{
	json_t *row = row_by(t, "metadata", key);
	const char *name = json_string_value(json_object_get(json_array_get(row, 2), "blob"));
	size_t at = row_at(t, "blobs", name);

	drop_frame(t, frame_at(t, "blob", at));
	json_array_remove(member(t, "blobs"), at);
	key_removed(t, key);
}

/* Members 0 (names) or 2 (values) of two rows. */
static void
swap_members(struct tamper *t, const char *list, const char *a, const char *b, size_t i)
{
	json_t *x = row_by(t, list, a), *y = row_by(t, list, b);
	json_t *first = json_deep_copy(json_array_get(x, i));

	json_array_set(x, i, json_array_get(y, i));
	json_array_set_new(y, i, first);
}

static void
values_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_members(t, "metadata", "t.u32", "t.twin", 2);
}

static void
value_orphaned(struct tamper *t, const char *arg)
{
	(void)arg;
	key_removed(t, "t.nul");
}

/* A value that calls itself a side file would be in neither list. */
static void
value_as_side_file(struct tamper *t, const char *arg)
{
	(void)arg;
	json_array_set_new(row_by(t, "blobs", "value:t.nul"), 1, json_string("file"));
}

static void
side_file_as_value(struct tamper *t, const char *arg)
{
	(void)arg;
	json_array_set_new(row_by(t, "blobs", "TWIN.md"), 1, json_string("value"));
}

/* ---- changes of side files and licence ---- */

static void
blob_byte(struct tamper *t, const char *name)
{
	blob_body(t, name)->p[0] ^= 1;
}

static void
blob_longer(struct tamper *t, const char *name)
{
	put_u8(blob_body(t, name), 0);
}

static void
blob_renamed(struct tamper *t, const char *name)
{
	json_array_set_new(row_by(t, "blobs", name), 0, json_string("RENAMED.md"));
}

static void
blob_retyped(struct tamper *t, const char *name)
{
	json_array_set_new(row_by(t, "blobs", name), 1, json_string("text/plain"));
}

static void
blob_bodies_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_bodies(blob_body(t, "README.md"), blob_body(t, "TWIN.md"));
}

static void
blob_removed(struct tamper *t, const char *name)
{
	size_t at = row_at(t, "blobs", name);

	cut_digest(t, digest_at(t, name, false));
	drop_frame(t, frame_at(t, "blob", at));
	json_array_remove(member(t, "blobs"), at);
}

static void
blob_added(struct tamper *t, const char *name)
{
	struct frame *f = insert_frame(t, frame_at(t, "lice", 0), "blob", "");

	put_text(&f->body, "new");
	add_digest(t, digest_at(t, name, false), &f->body);
	json_array_append_new(member(t, "blobs"), json_pack("[s,s,i]", name, "text", 3));
}

static void
licence_byte(struct tamper *t, const char *arg)
{
	(void)arg;
	frame_at(t, "lice", 0)->body.p[0] ^= 1;
}

static void
licence_shorter(struct tamper *t, const char *arg)
{
	(void)arg;
	frame_at(t, "lice", 0)->body.n--;
}

static void
licence_emptied(struct tamper *t, const char *arg)
{
	(void)arg;
	frame_at(t, "lice", 0)->body.n = 0;
}

static void
licence_removed(struct tamper *t, const char *arg)
{
	(void)arg;
	drop_frame(t, frame_at(t, "lice", 0));
}

/* ---- changes of tensors ---- */

static void
tensor_bit(struct tamper *t, const char *name)
{
	struct gen *g = tensor_body(t, name);

	g->p[g->n - 1] ^= 0x10;
}

static void
tensor_bit_and_digest(struct tamper *t, const char *name)
{
	tensor_bit(t, name);
	body_digest(tensor_body(t, name), frame_at(t, "sign", 0)->body.p +
	            32 * digest_at(t, name, true));
}

static void
tensor_bodies_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_bodies(tensor_body(t, "a.weight"), tensor_body(t, "b.weight"));
}

/* The digests in the signature change places as well. */
static void
tensor_bodies_and_digests_swapped(struct tamper *t, const char *arg)
{
	uint8_t *list = frame_at(t, "sign", 0)->body.p, first[32];
	size_t a = 32 * digest_at(t, "a.weight", true);
	size_t b = 32 * digest_at(t, "b.weight", true);

	tensor_bodies_swapped(t, arg);
	memcpy(first, list + a, 32);
	memcpy(list + a, list + b, 32);
	memcpy(list + b, first, 32);
}

static void
tensor_names_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_members(t, "tensors", "q.weight", "f.bias", 0);
}

static void
tensor_renamed(struct tamper *t, const char *name)
{
	json_array_set_new(row_by(t, "tensors", name), 0, json_string("renamed.weight"));
}

/* NAME DTYPE SHAPE */
static void
tensor_row(struct tamper *t, const char *what)
{
	char name[32], dtype[32], shape[32];
	json_t *row;

	sscanf(what, "%31s %31s %31s", name, dtype, shape);
	row = row_by(t, "tensors", name);
	json_array_set_new(row, 1, json_string(dtype));
	json_array_set_new(row, 2, json_loads(shape, 0, NULL));
}

static void
tensor_removed(struct tamper *t, const char *name)
{
	size_t at = row_at(t, "tensors", name);

	cut_digest(t, digest_at(t, name, true));
	drop_frame(t, frame_at(t, "TENS", at));
	json_array_remove(member(t, "tensors"), at);
}

static void
tensor_added(struct tamper *t, const char *name)
{
	struct frame *f = insert_frame(t, frame_at(t, "prov", 0), "TENS", "");

	put_ramp(&f->body, 32);
	add_digest(t, digest_at(t, name, true), &f->body);
	json_array_append_new(member(t, "tensors"), json_pack("[s,s,[i]]", name, "F32", 8));
}

/* Tensors that the plan lists, or does not, against what comes. */
static void
tensor_frame_dropped(struct tamper *t, const char *name)
{
	drop_frame(t, frame_at(t, "TENS", row_at(t, "tensors", name)));
	t->as_is = true;
}

static void
tensor_row_dropped(struct tamper *t, const char *name)
{
	json_array_remove(member(t, "tensors"), row_at(t, "tensors", name));
	t->as_is = true;
}

static void
tensor_dropped_but_not_its_digest(struct tamper *t, const char *name)
{
	size_t at = row_at(t, "tensors", name);

	drop_frame(t, frame_at(t, "TENS", at));
	json_array_remove(member(t, "tensors"), at);
}

static void
tensor_frames_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_frames(frame_at(t, "TENS", 0), frame_at(t, "TENS", 1));
	t->as_is = true;
}

/* ---- changes of provenance ---- */

static void
prov_text(struct tamper *t, const char *text)
{
	set_head(frame_at(t, "prov", 0), strdup(text));
}

static void
prov_swapped(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_frames(frame_at(t, "prov", 0), frame_at(t, "prov", 1));
}

static void
prov_removed(struct tamper *t, const char *name)
{
	cut_digest(t, digest_at(t, name, false));
	drop_frame(t, frame_at(t, "prov", (size_t)(name[5] - '0')));
}

static void
prov_added(struct tamper *t, const char *text)
{
	struct gen body = { 0 };

	put_text(&body, text);
	add_digest(t, digest_at(t, "prov.2", false), &body);
	insert_frame(t, frame_at(t, "sign", 0), "prov", text);
	gen_free(&body);
}

/* ---- changes of the signature ---- */

static void
sign_digit(struct tamper *t, const char *field)
{
	change_digit(sign_field(t, field));
}

static void
sign_digit_and_root(struct tamper *t, const char *field)
{
	sign_digit(t, field);
	restate_root(t);
}

static void
sign_key_is(struct tamper *t, const char *id)
{
	memcpy(sign_field(t, "key"), id, 16);
}

static void
sign_digest_of_tensor(struct tamper *t, const char *name)
{
	frame_at(t, "sign", 0)->body.p[32 * digest_at(t, name, true)] ^= 1;
}

static void
sign_digest_of_blob(struct tamper *t, const char *name)
{
	frame_at(t, "sign", 0)->body.p[32 * digest_at(t, name, false)] ^= 1;
}

static void
sign_shorter(struct tamper *t, const char *arg)
{
	(void)arg;
	cut_digest(t, 0);
}

static void
sign_version(struct tamper *t, const char *arg)
{
	char *at = strstr(frame_at(t, "sign", 0)->head, "2,");

	(void)arg;
	*at = '3';
}

/* Replaces a space in an empty text of the statement. */
static void
statement_says(struct tamper *t, const char *what, const char *text)
{
	char *at = sign_field(t, what), *end;
	size_t n = strlen(text), had = strcspn(at, "\"");

	end = strchr(at, '\0') - 2;
	if (had > n || (size_t)(end - at) < n)
		gen_die("has no room", what);
	memmove(at + n, at + had, (size_t)(end + 1 - at) - n);
	memcpy(at, text, n);
}

static void
sign_name(struct tamper *t, const char *arg)
{
	(void)arg;
	statement_says(t, "statement\":{\"name", "another");
}

static void
sign_date(struct tamper *t, const char *arg)
{
	(void)arg;
	statement_says(t, "date", "2030-01-01T00:00:00Z");
}

/* minisign's public key: the 42 bytes of its second line's base64. */
static void
read_key(const char *path, uint8_t key[42])
{
	char line[2][256] = { "", "" };
	uint8_t bytes[48];
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line[0], 256, f) || !fgets(line[1], 256, f) ||
	    EVP_DecodeBlock(bytes, (uint8_t *)line[1], 56) != 42)
		gen_die("is not a public key", path);
	memcpy(key, bytes, 42);
	fclose(f);
}

/* The bytes that the signature is over, by the description. */
static void
print_message(struct tamper *t, const char *public_key)
{
	static const char domain[] = "apr signature 2";
	const char *text = strstr(frame_at(t, "sign", 0)->head, "\"statement\":") + 12;
	struct gen g = { 0 };
	uint8_t key[42];
	unsigned byte;
	size_t n, i;

	read_key(public_key, key);
	for (n = strlen(text); text[n - 1] != '}' || text[n - 2] == ' '; n--)
		;
	put(&g, domain, sizeof domain);
	put(&g, key + 10, 32);
	for (i = 0; i < 32; i++) {
		sscanf(sign_field(t, "root") + 2 * i, "%2x", &byte);
		put_u8(&g, (uint8_t)byte);
	}
	put_u64(&g, n);
	put(&g, text, n);
	fwrite(g.p, 1, g.n, stdout);
	gen_free(&g);
}

/* The signature itself, from a file of 64 bytes. */
static void
sign_is(struct tamper *t, const char *path)
{
	char *to = sign_field(t, "signature");
	FILE *f = fopen(path, "rb");
	int i, c;

	for (i = 0; i < 64; i++) {
		if (!f || (c = getc(f)) == EOF)
			gen_die("has no 64 bytes", path);
		to[2 * i] = "0123456789abcdef"[c >> 4];
		to[2 * i + 1] = "0123456789abcdef"[c & 15];
	}
	fclose(f);
}

/* What the first container was, as no container was. */
static void
source_lies(struct tamper *t, const char *arg)
{
	json_t *lies = json_loads("{\"format\":\"safetensors\",\"evil\":1,\"file\":\"../evil\","
	                          "\"shards\":[{\"file\":\"config.json\",\"keys\":[\"evil\"]}],"
	                          "\"index\":{\"metadata\":{\"evil\":\"evil\"}},"
	                          "\"apr64_blocks\":{\"U8.name\":[12,[256]]},\"flags\":960,"
	                          "\"members\":[\"Q4_K\"],\"padding\":-5,"
	                          "\"apr1\":{\"score\":100,\"model_type\":1}}", 0, NULL);

	(void)arg;
	json_object_set_new(t->plan, "source", lies);
}

static void
sign_upper_case(struct tamper *t, const char *arg)
{
	char *at = sign_field(t, "signature");

	(void)arg;
	for (; *at != '"'; at++)
		if (*at >= 'a')
			*at = (char)(*at - 'a' + 'A');
}

static void
sign_removed(struct tamper *t, const char *arg)
{
	(void)arg;
	drop_frame(t, frame_at(t, "sign", 0));
}

/* ---- what a signature leaves open ---- */

static void
nothing(struct tamper *t, const char *arg)
{
	(void)t;
	(void)arg;
}

/* Values that lie in blobs come in the order of their keys, so both turn. */
static void
keys_reversed(struct tamper *t, const char *arg)
{
	size_t i, values = 3;

	(void)arg;
	for (i = 0; i < KEYS / 2; i++)
		swap_rows(member(t, "metadata"), i, KEYS - 1 - i);
	for (i = 0; i < values / 2; i++) {
		swap_rows(member(t, "blobs"), i, values - 1 - i);
		swap_frames(frame_at(t, "blob", i), frame_at(t, "blob", values - 1 - i));
	}
}

static void
side_files_reordered(struct tamper *t, const char *arg)
{
	(void)arg;
	swap_rows(member(t, "blobs"), 3, 5);
	swap_frames(frame_at(t, "blob", 3), frame_at(t, "blob", 5));
}

static void
tensors_reversed(struct tamper *t, const char *arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < TENSORS / 2; i++) {
		swap_rows(member(t, "tensors"), i, TENSORS - 1 - i);
		swap_frames(frame_at(t, "TENS", i), frame_at(t, "TENS", TENSORS - 1 - i));
	}
}

/* The same value, elsewhere. */
static void
value_moved_to_a_blob(struct tamper *t, const char *arg)
{
	struct frame *f = insert_frame(t, frame_at(t, "blob", 0), "blob", "");

	(void)arg;
	put_u32(&f->body, 7);
	json_array_insert_new(member(t, "blobs"), 0,
	                      json_pack("[s,s,i]", "value:t.u32", "value", 4));
	json_array_set_new(row_by(t, "metadata", "t.u32"), 2,
	                   json_pack("{s:s}", "blob", "value:t.u32"));
}

static void
float_spelled_otherwise(struct tamper *t, const char *arg)
{
	(void)arg;
	json_array_set_new(row_by(t, "metadata", "t.f32"), 2, json_string("1.25e-1"));
}

static void
source_changed(struct tamper *t, const char *arg)
{
	(void)arg;
	json_object_set_new(member(t, "source"), "format", json_string("elsewhere"));
}

static void
plan_member_added(struct tamper *t, const char *name)
{
	json_object_set_new(t->plan, name, json_string("not signed"));
}

static void
frame_added(struct tamper *t, const char *kind)
{
	put_text(&insert_frame(t, frame_at(t, "prov", 0), kind, "{\"not\":\"signed\"}")->body,
	         "not signed");
}

/* ---- the table ---- */

#define META "metadata: differs from what was signed"
#define FILES "side files: "
#define LICENCE "licence: differs from what was signed"
#define TENS "tensors: "
#define ITS_BYTES ": its bytes differ from what was signed"
#define SIGNED "signature: "

struct row {
	const char *name;
	void (*change)(struct tamper *t, const char *arg);
	const char *arg;
	int status;
	const char *says;
};

/* "value:KEY" for each key comes on top. */
static const struct row rows[] = {
	{ "type_u8_to_i8", type, "t.u8 i8 -56", 1, META },
	{ "type_i8_to_u8", type, "t.i8 u8 251", 1, META },
	{ "type_u16_to_i16", type, "t.u16 i16 -25536", 1, META },
	{ "type_i16_to_u16", type, "t.i16 u16 65236", 1, META },
	{ "type_u32_to_i32", type, "t.u32 i32 7", 1, META },
	{ "type_i32_to_u32", type, "t.i32 u32 4294967289", 1, META },
	{ "type_f32_to_u32", type, "t.f32 u32 1040187392", 1, META },
	{ "type_zero_f32_to_u32", type, "t.zero u32 0", 1, META },
	{ "type_bool_to_u8", type, "t.bool u8 1", 1, META },
	{ "type_u64_to_i64", type, "t.u64 i64 -2", 1, META },
	{ "type_i64_to_u64", type, "t.i64 u64 \"9223372036854775809\"", 1, META },
	{ "type_f64_to_u64", type, "t.f64 u64 4591870180066957722", 1, META },
	{ "type_empty_string_to_u64", type, "t.empty u64 0", 1, META },
	{ "zero_negated", type, "t.zero f32 \"-0\"", 1, META },
	{ "type_empty_array", type, "a.none array:i32 []", 1, META },
	{ "key_renamed", key_renamed, "t.u32", 1, META },
	{ "key_of_long_value_renamed", value_key_renamed, "a.long", 1, META },
	{ "key_of_long_value_renamed_but_not_its_blob", key_renamed, "a.long", 4, "" },
	{ "key_removed", key_removed, "t.u32", 1, META },
	{ "key_of_empty_array_removed", key_removed, "a.none", 1, META },
	{ "key_of_long_value_removed", value_key_removed, "a.nested", 1, META },
	{ "key_added", key_added, "[\"new\",\"u32\",1]", 1, META },
	{ "key_of_empty_string_added", key_added, "[\"new\",\"string\",\"\"]", 1, META },
	{ "values_swapped", values_swapped, NULL, 1, META },
	{ "value_orphaned", value_orphaned, NULL, 4, "" },
	{ "value_as_side_file", value_as_side_file, NULL, 4, "" },
	{ "side_file_as_value", side_file_as_value, NULL, 4, "" },

	{ "blob_byte", blob_byte, "README.md", 1, "README.md" ITS_BYTES },
	{ "blob_longer", blob_longer, "tokenizer.json", 1, "tokenizer.json" ITS_BYTES },
	{ "blob_renamed", blob_renamed, "README.md", 1, FILES "a name or type" },
	{ "blob_retyped", blob_retyped, "README.md", 1, FILES "a name or type" },
	{ "blob_bodies_swapped", blob_bodies_swapped, NULL, 1,
	  "README.md" ITS_BYTES ", as do those of 1 more" },
	{ "blob_removed", blob_removed, "TWIN.md", 1, FILES "a name or type" },
	{ "blob_added", blob_added, "NEW.md", 1, FILES "a name or type" },

	{ "licence_byte", licence_byte, NULL, 1, LICENCE },
	{ "licence_shorter", licence_shorter, NULL, 1, LICENCE },
	{ "licence_emptied", licence_emptied, NULL, 1, LICENCE },
	{ "licence_removed", licence_removed, NULL, 1, LICENCE },

	{ "tensor_bit_f16", tensor_bit, "a.weight", 1, "a.weight" ITS_BYTES },
	{ "tensor_bit_q8_0", tensor_bit, "q.weight", 1, "q.weight" ITS_BYTES },
	{ "tensor_bit_f32", tensor_bit, "f.bias", 1, "f.bias" ITS_BYTES },
	{ "tensor_bit_scalar", tensor_bit, "scalar", 1, "scalar" ITS_BYTES },
	{ "tensor_bit_unknown", tensor_bit, "strange", 1, "strange" ITS_BYTES },
	{ "tensor_bit_and_digest", tensor_bit_and_digest, "a.weight", 1, TENS },
	{ "tensor_bodies_swapped", tensor_bodies_swapped, NULL, 1,
	  "a.weight" ITS_BYTES ", as do those of 1 more" },
	{ "tensor_bodies_and_digests_swapped", tensor_bodies_and_digests_swapped, NULL, 1, TENS },
	{ "tensor_names_swapped", tensor_names_swapped, NULL, 1,
	  TENS "a name, type or shape" },
	{ "tensor_renamed", tensor_renamed, "a.weight", 1, TENS "a name, type or shape" },
	{ "tensor_renamed_empty", tensor_renamed, "none.weight", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dims", tensor_row, "a.weight F16 [8,16]", 1, TENS "a name, type or shape" },
	{ "tensor_dims_transposed", tensor_row, "f.weight F32 [4,3]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dims_fewer", tensor_row, "a.weight F16 [128]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dims_outer_1", tensor_row, "f.bias F32 [1,8]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dims_of_scalar", tensor_row, "scalar F32 [1]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dims_of_empty", tensor_row, "none.weight F32 [4,0]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dtype_f16_to_bf16", tensor_row, "a.weight BF16 [4,32]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dtype_f32_to_i32", tensor_row, "f.bias I32 [8]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_dtype_unknown", tensor_row, "strange GGML_51 [7]", 1,
	  TENS "a name, type or shape" },
	{ "tensor_removed", tensor_removed, "b.weight", 1, TENS "a name, type or shape" },
	{ "tensor_removed_empty", tensor_removed, "none.weight", 1,
	  TENS "a name, type or shape" },
	{ "tensor_added", tensor_added, "new.weight", 1, TENS "a name, type or shape" },
	{ "tensor_frame_dropped", tensor_frame_dropped, "b.weight", 4, "" },
	{ "tensor_row_dropped", tensor_row_dropped, "b.weight", 4, "" },
	{ "tensor_dropped_but_not_its_digest", tensor_dropped_but_not_its_digest, "b.weight",
	  4, "sign: a body of" },
	{ "tensor_frames_swapped", tensor_frames_swapped, NULL, 4,
	  "the frame contradicts the plan" },

	{ "prov_text", prov_text, "{\"operation\":\"own\"}", 1, "prov.0" ITS_BYTES },
	{ "prov_spelled_otherwise", prov_text, "{\"operation\": \"one\"}", 1,
	  "prov.0" ITS_BYTES },
	{ "prov_swapped", prov_swapped, NULL, 1,
	  "prov.0" ITS_BYTES ", as do those of 1 more" },
	{ "prov_removed", prov_removed, "prov.1", 1, FILES "a name or type" },
	{ "prov_added", prov_added, "{\"operation\":\"new\"}", 1, FILES "a name or type" },

	{ "sign_key", sign_digit, "key", 1, "no signature is by a trusted key" },
	{ "sign_root", sign_digit, "root", 1, SIGNED "its root was changed" },
	{ "sign_metadata", sign_digit, "metadata", 1, SIGNED "its digest of the metadata" },
	{ "sign_blobs", sign_digit, "blobs", 1, SIGNED "its digest of the side files" },
	{ "sign_licence", sign_digit, "licence", 1, SIGNED "its digest of the licence" },
	{ "sign_tensors", sign_digit, "tensors", 1, SIGNED "its digest of the tensors" },
	{ "sign_metadata_and_root", sign_digit_and_root, "metadata", 1,
	  SIGNED "its digest of the metadata" },
	{ "sign_blobs_and_root", sign_digit_and_root, "blobs", 1,
	  SIGNED "its digest of the side files" },
	{ "sign_licence_and_root", sign_digit_and_root, "licence", 1,
	  SIGNED "its digest of the licence" },
	{ "sign_tensors_and_root", sign_digit_and_root, "tensors", 1,
	  SIGNED "its digest of the tensors" },
	{ "sign_signature", sign_digit, "signature", 1, "or was itself changed" },
	{ "sign_digest_of_tensor", sign_digest_of_tensor, "q.weight", 1,
	  "q.weight: its digest in the signature was changed" },
	{ "sign_digest_of_blob", sign_digest_of_blob, "TWIN.md", 1,
	  "TWIN.md: its digest in the signature was changed" },
	{ "sign_digest_of_prov", sign_digest_of_blob, "prov.1", 1,
	  "prov.1: its digest in the signature was changed" },
	{ "sign_shorter", sign_shorter, NULL, 4, "sign: a body of" },
	{ "sign_version", sign_version, NULL, 4, SIGNED "is of version 3, not 2" },
	{ "sign_name", sign_name, NULL, 1, "or was itself changed" },
	{ "sign_date", sign_date, NULL, 1, "or was itself changed" },
	{ "sign_upper_case", sign_upper_case, NULL, 4, SIGNED "its head has another form" },
	{ "sign_removed", sign_removed, NULL, 1, "the model is not signed" },

	{ "nothing", nothing, NULL, 0, "" },
	{ "keys_reversed", keys_reversed, NULL, 0, "" },
	{ "side_files_reordered", side_files_reordered, NULL, 0, "" },
	{ "tensors_reversed", tensors_reversed, NULL, 0, "" },
	{ "value_moved_to_a_blob", value_moved_to_a_blob, NULL, 0, "" },
	{ "float_spelled_otherwise", float_spelled_otherwise, NULL, 0, "" },
	{ "source_lies", source_lies, NULL, 0, "" },
	{ "source_changed", source_changed, NULL, 0, "" },
	{ "plan_member_added", plan_member_added, "added", 0, "" },
	{ "frame_added", frame_added, "note", 0, "" },
};

static void
print_list(void)
{
	struct tamper t = { 0 };
	json_t *row;
	size_t i;

	make_mother(&t);
	json_array_foreach(member(&t, "metadata"), i, row)
		printf("value:%s\t1\t%s\n", json_string_value(json_array_get(row, 0)), META);
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		printf("%s\t%d\t%s\n", rows[i].name, rows[i].status, rows[i].says);
	frames_free(&t.s);
	json_decref(t.plan);
}

static void
change(struct tamper *t, const char *name)
{
	const char *colon = strchr(name, ':');
	size_t i;

	if (strncmp(name, "value:", 6) == 0) {
		value(t, colon + 1);
		return;
	}
	if (strncmp(name, "sign_key_is:", 12) == 0) { /* another key's id */
		sign_key_is(t, colon + 1);
		return;
	}
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0) {
			rows[i].change(t, rows[i].arg);
			return;
		}
	gen_die("no such change", name);
}

int
main(int argc, char **argv)
{
	struct tamper t = { 0 };

	if (argc == 3 && strcmp(argv[1], "sign_message") == 0) {
		read_stream(&t);
		print_message(&t, argv[2]);
		return 0;
	}
	if (argc != 2 && !(argc == 3 && strcmp(argv[1], "sign_is") == 0))
		gen_die("needs a change, or: mother, list", argv[0]);
	if (strcmp(argv[1], "list") == 0) {
		print_list();
		return 0;
	}
	if (strcmp(argv[1], "mother") == 0) {
		make_mother(&t);
	} else {
		read_stream(&t);
		if (argc == 3)
			sign_is(&t, argv[2]);
		else
			change(&t, argv[1]);
	}
	write_stream(&t);
	return 0;
}
