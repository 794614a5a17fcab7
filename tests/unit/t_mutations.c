/* A signed model as a stream and as a file of each container, changed in its structure by
 * somebody who computes checksums and lengths anew: whatever verifies means the same, to a
 * reader that shares nothing with ours. That reader reads streams, APR2 and apr2-64; of GGUF
 * and safetensors, it reads the stream that verification passes on. APR_MUTATIONS: how many
 * of each form (2000).
 */
#include "crypto/origin.h"
#include "crypto/verdict.h"
#include "crypto/witness.h"
#include "formats/format.h"
#include "stream/stream.h"
#include "test.h"

#include "mutations.h"

/* ---- the model ---- */

static const char plan_text[] =
	"{\"version\":1,\"source\":{\"format\":\"gguf\",\"version\":3},\"metadata\":["
	"[\"general.architecture\",\"string\",\"llama\"],[\"general.name\",\"string\",\"m\"],"
	"[\"llama.context_length\",\"u32\",4096],[\"llama.rope.freq_base\",\"f32\",\"10000\"],"
	"[\"llama.block_count\",\"u32\",2],[\"i\",\"i64\",-7],[\"yes\",\"bool\",true],"
	"[\"tokenizer.ggml.tokens\",\"array:string\",[\"a\",\"b\",\"c\"]],"
	"[\"config\",\"json\",\"{\\\"a\\\":[1,2]}\"],[\"f\",\"array:f32\",[\"1\",\"0.5\"]]],"
	"\"blobs\":[[\"README\",\"text\",5],[\"other\",\"text\",5]],\"licence\":4,"
	"\"tensors\":[[\"a\",\"F32\",[2,3]],[\"b\",\"Q8_0\",[1,32]],[\"c\",\"F32\",[6]],"
	"[\"d\",\"Q8_TENSOR\",[1,5]]],"
	"\"provenance\":[17],\"signatures\":%d}";

static void
make_frames(struct frames *s, int signatures)
{
	char plan[2000];

	snprintf(plan, sizeof plan, plan_text, signatures);
	put_frame(s, "plan", "APRS", plan);
	put_text(put_frame(s, "", "blob", "{\"name\":\"README\",\"type\":\"text\"}"), "hello");
	put_text(put_frame(s, "", "blob", "{\"name\":\"other\",\"type\":\"text\"}"), "world");
	put_text(put_frame(s, "", "lice", "{}"), "free");
	put_ramp(put_frame(s, "", "TENS", "{\"name\":\"a\",\"dtype\":\"F32\",\"shape\":[2,3]}"), 24);
	put_ramp(put_frame(s, "", "TENS", "{\"name\":\"b\",\"dtype\":\"Q8_0\",\"shape\":[1,32]}"), 34);
	put_ramp(put_frame(s, "", "TENS", "{\"name\":\"c\",\"dtype\":\"F32\",\"shape\":[6]}"), 24);
	put_ramp(put_frame(s, "", "TENS", "{\"name\":\"d\",\"dtype\":\"Q8_TENSOR\",\"shape\":[1,5]}"), 13);
	put_frame(s, "", "prov", "{\"operation\":\"x\"}");
}

/* ---- what apr-verify does, in this process ---- */

static struct trusted trusted;
static struct key_secret *secret;
static const struct verdict_wants wants = { SIGNATURE_ALL, NULL, NULL };

struct pass {
	struct witness witness;
	struct model plan;
	struct verdict verdict;
	struct buf dropped;
	bool signing;
};

static int
plan_hook(void *ctx, struct model *out, struct err *e)
{
	struct pass *p = ctx;

	if (!p->signing && !out->signatures)
		return err_set(e, ERR_SIGNATURE, NULL, "not signed");
	json_object_clear(out->extra);
	if (origin_prune(out, &p->dropped, e) < 0)
		return -1;
	out->signatures = !p->signing;
	return model_copy(&p->plan, out, e) < 0 ? -1
	                                        : witness_begin(&p->witness, &p->plan, 1, e);
}

static int
item_hook(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct pass *p = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		return 1;
	if (in->kind == ITEM_SIGN)
		return verdict_sign(&p->verdict, in, e) < 0 ? -1 : 1;
	return witness_item(&p->witness, in, e);
}

static int
data_hook(void *ctx, const struct item *in, const uint8_t *at, size_t n, struct sink *sink,
          struct err *e)
{
	struct pass *p = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN)
		return verdict_add(&p->verdict, at, n, e);
	return in->kind == ITEM_OTHER ? 0 : witness_data(&p->witness, in, at, n, e);
}

static int
end_hook(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct pass *p = ctx;

	(void)sink;
	return in->kind == ITEM_SIGN || in->kind == ITEM_OTHER
	           ? 0 : witness_item_end(&p->witness, in, e);
}

static int
finish_hook(void *ctx, struct sink *sink, struct err *e)
{
	struct pass *p = ctx;

	if (witness_finish(&p->witness, e) < 0)
		return -1;
	if (p->signing)
		return 0;
	if (verdict_give(&p->verdict, &p->witness.content, &trusted, &wants, e) < 0)
		return -1;
	return sink ? verdict_send(&p->verdict, sink, e) : 0;
}

static void
forget(struct pass *p)
{
	verdict_free(&p->verdict);
	witness_free(&p->witness);
	model_free(&p->plan);
	buf_free(&p->dropped);
}

static const struct format *const forms[] = { NULL, &format_apr2, &format_apr64, &format_gguf,
	&format_safetensors };
static const char *const form_names[] = { "stream", "apr2", "apr2-64", "gguf", "safetensors" };
#define FORMS 5
#define READABLE 3 /* the forms that read_stream and read_file know */

static struct source *
open_bytes(const struct gen *g, size_t form, struct err *e)
{
	static const struct format_options options;
	struct reader r;

	reader_memory(&r, g->p, g->n, "in", e);
	return form ? forms[form]->reads->open(&r, &options, NULL, e) : stream_source(&r, e);
}

static struct sink *
open_sink(size_t form, int *fd, struct err *e)
{
	static const struct format_options options;
	struct out out;

	open_memory(&out, fd, e);
	return form ? forms[form]->writes->create(&out, &options, e) : stream_sink(&out, e);
}

/* 0 if it verifies; what is passed on then into out, if that is not NULL. */
static int
verify(const struct gen *g, size_t form, struct gen *out)
{
	struct pass p = { .signing = false };
	struct flow f = { .plan = plan_hook, .item = item_hook, .data = data_hook,
		.looks = true, .item_end = end_hook, .finish = finish_hook, .ctx = &p };
	struct err e = ERR_INIT;
	struct source *source = open_bytes(g, form, &e);
	struct sink *sink = NULL;
	int fd = -1;

	if (source && out)
		sink = open_sink(0, &fd, &e);
	if (source)
		flow_run(source, sink, &f, &e);
	sink_close(sink);
	if (out && source)
		slurp(fd, out);
	source_close(source);
	forget(&p);
	return e.code == ERR_NONE ? 0 : -1;
}

/* Sign the frames, and end them. */
static int
sign(struct frames *s, struct err *e)
{
	static const struct statement says = { "m", "1", "2026-11-22T10:00:00Z", "" };
	struct pass p = { .signing = true };
	struct flow f = { .plan = plan_hook, .item = item_hook, .data = data_hook,
		.looks = true, .item_end = end_hook, .finish = finish_hook, .ctx = &p };
	char head[SIGNATURE_HEAD_BYTES + 1];
	struct frames unsigned_ = { .n = 0 };
	struct gen g = { 0 };
	struct buf body = { 0 };
	struct signature made;
	struct source *source;
	int r = -1;

	make_frames(&unsigned_, 0);
	put_frame(&unsigned_, "", "DONE", "{\"tensors\":4}");
	write_frames(&g, &unsigned_);
	source = open_bytes(&g, 0, e);
	if (source && flow_run(source, NULL, &f, e) == 0 &&
	    signature_make(&made, &p.witness.content, &says, secret, e) == 0 &&
	    signature_body(&p.witness.content, &body, e) == 0) {
		make_frames(s, 1);
		signature_head(&made, head);
		put(put_frame(s, "sign", "sign", head), body.p, body.n);
		put_frame(s, "", "DONE", "{\"tensors\":4}");
		r = 0;
	}
	source_close(source);
	forget(&p);
	buf_free(&body);
	gen_free(&g);
	frames_free(&unsigned_);
	return r;
}

/* Where the parts of a file are: metadata, index, data. */
struct parts {
	size_t meta, meta_n, index, index_n, data;
};

static struct parts
parts_of(const struct gen *g, size_t form)
{
	const uint8_t *p = g->p;
	struct parts x;

	if (form == 1)
		x = (struct parts){ frame_number(p + 12, 4), frame_number(p + 16, 4),
			frame_number(p + 20, 4), frame_number(p + 24, 4), frame_number(p + 28, 4) };
	else
		x = (struct parts){ frame_number(p + 12, 8), frame_number(p + 20, 4),
			frame_number(p + 24, 8), 0, frame_number(p + 32, 8) };
	if (form == 2)
		x.index_n = x.data - x.index;
	return x;
}

/* Entries: name, code, shape, and the bytes in the data. */
static void
read_index(struct lines *l, const struct gen *g, size_t form, struct parts x)
{
	const uint8_t *p = g->p + x.index + (form == 1 ? 8 : 0);
	size_t count = form == 1 ? frame_number(g->p + x.index, 4) : frame_number(g->p + 8, 4);
	char name[300], what[200], text[2000];
	size_t i, d, n, axes, code, at, bytes;

	for (i = 0; i < count && i < 10; i++) {
		n = frame_number(p, 2);
		snprintf(name, sizeof name, "%.*s", (int)(n < 200 ? n : 200), (const char *)p + 2);
		code = p[2 + n];
		axes = p[3 + n];
		if (form == 1 && (code == 10 || code == 11))
			code += 6;
		snprintf(what, sizeof what, "%zu", code);
		p += 4 + n;
		for (d = 0; d < axes && d < 8; d++, p += 8)
			snprintf(what + strlen(what), sizeof what - strlen(what), ",%zu",
			         (size_t)frame_number(p, 8));
		at = frame_number(p, 8);
		bytes = frame_number(p + 8, 8);
		p += form == 1 ? 28 : 16;
		if (bytes > 500 || at > 1000) {
			l->broken = true;
			return;
		}
		hex(text, g->p + x.data + at, bytes);
		line(l, "stored", name, what, text);
	}
}

static void
read_file(struct lines *l, const struct gen *g, size_t form)
{
	struct parts x = parts_of(g, form);
	json_t *root = json_loadb((char *)g->p + x.meta, x.meta_n, JSON_REJECT_DUPLICATES, NULL);
	json_t *own = json_object_get(root, "apr_stream"), *v;
	char text[20000];
	const char *name;

	rows(l, json_object_get(own, "metadata"), "key", root);
	rows(l, json_object_get(own, "blobs"), "file", NULL);
	json_object_foreach(root, name, v) {
		if (strcmp(name, "apr_stream") == 0 || strncmp(name, "apr.sign", 8) == 0)
			continue;
		value_text(v, "", text, sizeof text);
		line(l, "member", name, text, "");
	}
	l->broken |= !own;
	read_index(l, g, form, x);
	json_decref(root);
}

static void
meaning(struct lines *l, const struct gen *g, size_t form)
{
	*l = (struct lines){ .n = 0 };
	if (form)
		read_file(l, g, form);
	else
		read_stream(l, g);
	qsort(l->list, l->n, sizeof *l->list, by_text);
}

static void
set(struct gen *g, size_t at, uint64_t v, unsigned width)
{
	for (; width > 0; width--, v >>= 8)
		g->p[at++] = (uint8_t)v;
}

/* Put a file together anew: other metadata and index, the same data behind. */
static void
assemble(struct gen *out, const struct gen *file, size_t form, const struct gen *meta,
         const struct gen *index, size_t frames)
{
	struct parts x = parts_of(file, form);
	size_t header = form == 1 ? 32 : 64, tail = form == 1 ? 16 : 4, at;

	out->n = 0;
	put(out, file->p, header);
	put(out, meta->p, meta->n);
	if (form == 2)
		put_align(out, 64);
	at = out->n;
	put(out, index->p, index->n);
	if (form == 1)
		put(out, file->p + x.index + x.index_n, frames);
	put_align(out, 64);
	set(out, form == 1 ? 16 : 20, meta->n, 4);
	set(out, form == 1 ? 20 : 24, at, form == 1 ? 4 : 8);
	set(out, form == 1 ? 28 : 32, out->n, form == 1 ? 4 : 8);
	put(out, file->p + x.data, file->n - x.data - tail);
	if (form == 1) {
		set(out, 24, index->n, 4);
	} else {
		struct gen h = { 0 };

		put(&h, out->p, 40);
		put(&h, out->p + 44, 20);
		set(out, 40, crc32_of(h.p, h.n), 4);
		gen_free(&h);
	}
	put_u32(out, crc32_of(out->p, out->n));
	if (form == 1) {
		put_text(out, "2RPA");
		put_u64(out, out->n + 8);
	}
}

/* Bytes of the frames between index and data of an APR2 file. */
static size_t
frames_between(const struct gen *g)
{
	struct parts x = parts_of(g, 1);
	size_t at = x.index + x.index_n;

	while (at + 20 < x.data && isalpha(g->p[at]))
		at += 24 + frame_number(g->p + at + 4, 4) + frame_number(g->p + at + 8, 8);
	return at - x.index - x.index_n;
}

static void
change_file(struct gen *out, const struct gen *file, size_t form)
{
	struct parts x = parts_of(file, form);
	struct gen meta = { 0 }, index = { 0 };
	size_t n = 1 + chance(3);

	put(&meta, file->p + x.meta, x.meta_n);
	put(&index, file->p + x.index, x.index_n);
	while (n-- > 0)
		if (chance(6))
			change_json(&meta);
		else
			index.p[chance(index.n)] ^= (uint8_t)(1 << chance(8));
	assemble(out, file, form, &meta, &index, form == 1 ? frames_between(file) : 0);
	gen_free(&meta);
	gen_free(&index);
}

/* Overwrite, remove or repeat a piece of the file, or flip a bit. */
static void
change_piece(struct gen *g)
{
	size_t n = 1 + chance(24), at = chance(g->n - n), from = chance(g->n - n);
	uint8_t copy[24];

	memcpy(copy, g->p + from, n);
	switch (chance(5)) {
	case 0:
		memcpy(g->p + at, copy, n);
		break;
	case 1:
		splice(g, at, n, "", 0);
		break;
	case 2:
		splice(g, from, 0, copy, n);
		break;
	default:
		g->p[at] ^= (uint8_t)(1 << chance(8));
	}
}

/* Change a GGUF or safetensors file; the JSON of a safetensors header keeps its length right. */
static void
change_bytes(struct gen *out, const struct gen *file, size_t form)
{
	bool safetensors = forms[form] == &format_safetensors;
	size_t n = 1 + chance(3), header = safetensors ? frame_number(file->p, 8) : 0;
	struct gen json = { 0 };

	out->n = 0;
	if (safetensors && chance(4)) {
		put(&json, file->p + 8, header);
		while (n-- > 0)
			change_json(&json);
		put_u64(out, json.n);
		put(out, json.p, json.n);
		put(out, file->p + 8 + header, file->n - 8 - header);
		gen_free(&json);
		return;
	}
	put(out, file->p, file->n);
	while (n-- > 0)
		change_piece(out);
}

/* ---- the tests ---- */

static void
mutate(const struct gen *base, const struct frames *frames, size_t form, size_t count)
{
	struct gen changed = { 0 }, passed = { 0 };
	struct lines want, have, whole, sent;
	size_t i, verified = 0, wrong = 0, other = 0;
	struct gen stream = { 0 };

	write_frames(&stream, frames);
	meaning(&want, form < READABLE ? base : &stream, form < READABLE ? form : 0);
	meaning(&whole, &stream, 0);
	test_ok(!want.broken && want.n > 10 && same_meaning(&want, &want) &&
	        verify(base, form, &passed) == 0, "%s: it verifies, and can be read",
	        form_names[form]);
	for (i = 0; i < count; i++) {
		if (form >= READABLE)
			change_bytes(&changed, base, form);
		else if (form)
			change_file(&changed, base, form);
		else
			change_stream(&changed, frames);
		if (verify(&changed, form, NULL) < 0)
			continue;
		verified++;
		other += changed.n != base->n || memcmp(changed.p, base->p, base->n) != 0;
		if (form && form < READABLE) {
			meaning(&have, &changed, form);
			wrong += !same_meaning(&want, &have);
			lines_free(&have);
		}
		/* The output has the same meaning as the signed content. */
		if (verify(&changed, form, &passed) < 0)
			abort();
		meaning(&sent, &passed, 0);
		wrong += !same_meaning(&whole, &sent);
		lines_free(&sent);
	}
	test_ok(wrong == 0, "%s: %zu of %zu changed models verify, %zu of them with other "
	        "bytes, and %zu with another meaning", form_names[form], verified, count, other,
	        wrong);
	test_ok(other > 0, "%s: what a signature leaves open was changed too", form_names[form]);
	lines_free(&want);
	lines_free(&whole);
	gen_free(&changed);
	gen_free(&passed);
	gen_free(&stream);
}

static void
pack(const struct gen *stream, size_t form, struct gen *out)
{
	static const struct flow straight;
	struct err e = ERR_INIT;
	struct source *source = open_bytes(stream, 0, &e);
	struct sink *sink;
	int fd;

	sink = open_sink(form, &fd, &e);
	if (!source || flow_run(source, sink, &straight, &e) < 0)
		test_ok(0, "packed: %s %s", e.object, e.fact);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
}

int
main(void)
{
	const char *text = getenv("APR_MUTATIONS");
	size_t form, count = text ? strtoul(text, NULL, 10) : 2000;
	struct trusted_key item = { .path = strdup("key.pub") };
	struct frames frames = { .n = 0 };
	struct gen stream = { 0 }, file = { 0 };
	struct err e = ERR_INIT;

	setenv("APR_LOG_LEVEL", "error", 1);
	secret = key_secret_new(&e);
	item.key = *key_secret_public(secret);
	trusted = (struct trusted){ .item = &item, .n = 1 };
	if (!test_ok(sign(&frames, &e) == 0, "a signed model: %s", e.fact))
		return test_done();
	write_frames(&stream, &frames);
	mutate(&stream, &frames, 0, count);
	for (form = 1; form < FORMS; form++) {
		pack(&stream, form, &file);
		mutate(&file, &frames, form, count);
	}
	gen_free(&stream);
	gen_free(&file);
	frames_free(&frames);
	free(item.path);
	key_secret_free(secret);
	return test_done();
}
