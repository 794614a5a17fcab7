/* fuzz_stream: the properties of tests/fuzz/fuzz.h, for streams. */
#include "mutate.h"

#include "wire/sparse.h"

#define LENT 4096 /* bytes of the file in which tensors may be placed */

/* Read the same stream as a tool does that has lent its input file to the sender. */
static void
lent(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct err e = ERR_INIT;
	struct source *source;
	struct reader r;

	if (fd < 0) {
		fd = memfd_create("lent", MFD_CLOEXEC);
		must(fd >= 0 && ftruncate(fd, LENT) == 0);
	}
	reader_memory(&r, data, size, "in", &e);
	source = stream_source(&r, &e);
	must((source != NULL) == (e.code == ERR_NONE));
	if (source) {
		struct flow f = { 0 };

		stream_lend(source, &fd, 1);
		source->sealed_too = true;
		must_say((flow_run(source, NULL, &f, &e) == 0) == (e.code == ERR_NONE), &e);
		source_close(source);
	}
	if (e.code != ERR_NONE)
		fuzz_refused(&e, false);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!fuzz_starved)
		lent(data, size);
	return fuzz_container(&format_stream, data, size);
}

/* Append n bytes for a body: the bytes of the old stream, repeated. */
static void
fill(struct buf *b, const uint8_t *data, size_t size, uint64_t n)
{
	while (n > 0) {
		size_t part = n < size ? (size_t)n : size;

		buf_put(b, data, part);
		n -= part;
	}
}

/* The wire form of some value of the type, if n bytes can be one. */
static void
put_value(struct buf *b, struct value_type t, const uint8_t *data, size_t size, uint64_t n)
{
	size_t one = value_leaf_bytes(t.leaf);
	unsigned i;

	for (i = 1; i < t.depth && n >= 12; i++, n -= 12) {
		buf_u32(b, VALUE_ARRAY);
		buf_u64(b, 1);
	}
	if (t.depth && n >= 12) {
		n -= 12;
		buf_u32(b, t.leaf);
		buf_u64(b, one ? n / one : t.leaf == VALUE_STRING && n >= 8);
	}
	if (t.leaf == VALUE_STRING && n >= 8) {
		n -= 8;
		buf_u64(b, n);
	}
	fill(b, data, size, n);
}

/* Append an item of a sealed model, with bytes that decrypt to nothing. False if the item
 * is not sealed. */
static bool
put_sealed(struct buf *b, const struct model *m, enum item_kind kind, size_t index,
           const uint8_t *data, size_t size)
{
	struct buf head = { 0 }, body = { 0 };
	uint64_t none, n;

	if (!item_is_sealed(m, kind, index))
		return false;
	item_sizes(m, kind, index, &none, &n);
	fill(&body, data, size, n);
	must(plan_seal_head(m, kind, index, &head) == 0);
	mutate_put_frame(b, "SEAL", head.p, head.n, body.p, body.n);
	buf_free(&head);
	buf_free(&body);
	return true;
}

static void
put_blobs(struct buf *b, const struct model *m, const uint8_t *data, size_t size)
{
	struct buf head = { 0 }, body = { 0 };
	size_t i, k = 0;

	for (i = 0; i < m->blob_count; i++) {
		if (put_sealed(b, m, ITEM_BLOB, i, data, size))
			continue;
		buf_clear(&head);
		buf_clear(&body);
		while (k < m->meta_count && m->meta[k].blob != i)
			k++;
		if (k < m->meta_count)
			put_value(&body, m->meta[k].type, data, size, m->blobs[i].bytes);
		else
			fill(&body, data, size, m->blobs[i].bytes);
		must(plan_blob_head(&m->blobs[i], &head) == 0);
		mutate_put_frame(b, "blob", head.p, head.n, body.p, body.n);
	}
	buf_free(&head);
	buf_free(&body);
}

/* A tensor in GAPS frames: zeros in place of some of its bytes. */
static void
put_gaps(struct buf *b, const struct buf *head, const struct buf *whole, const uint8_t *data,
         size_t size)
{
	struct buf body = { 0 };
	size_t at = 0, k = 0;

	while (at < whole->n) {
		size_t zeros = (size_t)num_min(data[k++ % size], whole->n - at);
		size_t n = (size_t)num_min(data[k++ % size] % 64u + 1, whole->n - at - zeros);

		buf_clear(&body);
		buf_u64(&body, zeros);
		buf_put(&body, whole->p + at + zeros, n);
		mutate_put_frame(b, "GAPS", head->p, head->n, body.p, body.n);
		at += zeros + n;
	}
	buf_free(&body);
}

/* A tensor in SPAR frames: its stored bytes, cut in two. */
static void
put_sparse(struct buf *b, const struct tensor *t, const struct buf *head, const struct buf *whole,
           const uint8_t *data, size_t size)
{
	const struct sparse_layout l = sparse_layout_of(t);
	struct err e = ERR_INIT;
	struct sparse_encoder *x = sparse_encoder_new(&e);
	struct buf body = { 0 };
	size_t cut;

	must(x);
	sparse_encoder_begin(x, &l, &body);
	must(sparse_encoder_put(x, whole->p, whole->n, &body, &e) == 0);
	cut = 1 + data[size / 2] % (body.n - 1);
	mutate_put_frame(b, STREAM_SPARSE, head->p, head->n, body.p, cut);
	if (data[0] % 8)
		mutate_put_frame(b, STREAM_SPARSE, head->p, head->n, body.p + cut, body.n - cut);
	sparse_encoder_free(x);
	buf_free(&body);
}

static void
put_tensors(struct buf *b, const struct model *m, const uint8_t *data, size_t size)
{
	struct buf head = { 0 }, body = { 0 };
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		if (put_sealed(b, m, ITEM_TENSOR, i, data, size))
			continue;
		buf_clear(&head);
		buf_clear(&body);
		fill(&body, data, size, tensor_bytes(m->tensors[i]));
		must(plan_tensor_head(m->tensors[i], &head) == 0);
		if (tensor_form(m->tensors[i]).kind != SPARSE_NONE && data[i % size] % 4)
			put_sparse(b, m->tensors[i], &head, &body, data, size);
		else if (body.n > 0 && data[i % size] % 4 == 0)
			put_gaps(b, &head, &body, data, size);
		else
			mutate_put_frame(b, "TENS", head.p, head.n, body.p, body.n);
	}
	buf_free(&head);
	buf_free(&body);
}

/* JSON text of n bytes. */
static void
put_headed(struct buf *b, const char *kind, size_t n, const uint8_t *body, size_t body_bytes)
{
	static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
	struct buf head = { 0 };

	if (kind[0] == 's')
		buf_printf(&head, "{\"root\":\"%s\",\"key\":\"%.16s\"", zeros, zeros);
	else
		buf_text(&head, "{");
	while (head.n + 1 < n)
		buf_text(&head, " ");
	buf_text(&head, "}");
	mutate_put_frame(b, kind, head.p, head.n, body, body_bytes);
	buf_free(&head);
}

/* The bytes that the plan announces; a number larger than any input if the sum would
 * take too long or overflow. */
static uint64_t
announced(const struct model *m)
{
	uint64_t n = model_tensor_bytes(m);
	size_t i;

	for (i = 0; i < m->blob_count && n < 1 << 20; i++)
		if (num_add(n, m->blobs[i].bytes, &n) < 0)
			n = UINT64_MAX;
	for (i = 0; i < m->prov_count && n < 1 << 20; i++)
		n += m->provs[i];
	if (n < 1 << 20 && m->licence != MODEL_NONE && num_add(n, m->licence, &n) < 0)
		n = UINT64_MAX;
	return n < 1 << 20 ? n + m->signatures * (MODEL_SIGN_HEAD + model_sign_body(m)) : n;
}

/* Append all frames that a plan announces. */
static void
put_frames(struct buf *b, const struct model *m, const uint8_t *data, size_t size)
{
	struct buf body = { 0 };
	char done[48];
	size_t i;

	if (m->sealed)
		put_headed(b, "SKEY", (size_t)m->sealed, NULL, 0);
	put_blobs(b, m, data, size);
	if (m->licence != MODEL_NONE) {
		fill(&body, data, size, m->licence);
		mutate_put_frame(b, "lice", "{}", 2, body.p, body.n);
	}
	put_tensors(b, m, data, size);
	for (i = 0; i < m->prov_count; i++)
		if (!put_sealed(b, m, ITEM_PROV, i, data, size))
			put_headed(b, "prov", (size_t)m->provs[i], NULL, 0);
	buf_clear(&body);
	fill(&body, data, size, model_sign_body(m));
	for (i = 0; i < m->signatures; i++)
		if (!put_sealed(b, m, ITEM_SIGN, i, data, size))
			put_headed(b, "sign", MODEL_SIGN_HEAD, body.p, body.n);
	buf_free(&body);
	snprintf(done, sizeof done, "{\"tensors\":%zu}", m->tensor_count);
	mutate_put_frame(b, "DONE", done, strlen(done), NULL, 0);
}

/* Mutate the plan; if the result is still a plan, append the stream that it announces. */
static void
change_plan(struct buf *b, const uint8_t *data, size_t size, const struct piece *plan)
{
	struct err e = ERR_INIT;
	struct buf head = { 0 };
	size_t after = plan->at + FRAME_OVERHEAD + plan->head + plan->body, n = plan->head;
	struct model m;
	json_t *j;

	buf_put(&head, data + plan->at + FRAME_PREFIX, plan->head);
	mutate_piece(&head, 0, &n);
	mutate_put_frame(b, "APRS", head.p, head.n, NULL, 0);
	j = json_parse(head.p, head.n, ERR_CORRUPT, "plan", &e);
	if (j && plan_from_json(&m, j, true, "plan", &e) == 0) {
		if (announced(&m) < 1 << 20)
			put_frames(b, &m, data, size);
		model_free(&m);
	} else {
		buf_put(b, data + after, size - after);
	}
	json_decref(j);
	buf_free(&head);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct piece list[64];
	size_t n = mutate_frames(data, size, list, sizeof list / sizeof *list);
	size_t i = seed / 8 % (n ? n : 1), after;
	struct buf b = { 0 };

	if (seed % 8 < 2 || n == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (seed % 8 < 6) {
		change_plan(&b, data, size, &list[0]);
		return mutate_done(&b, data, size, max);
	}
	after = list[i].at + FRAME_OVERHEAD + list[i].head + list[i].body;
	buf_put(&b, data, list[i].at);
	if (seed % 8 == 6) /* a frame that nobody knows, before it */
		mutate_put_frame(&b, seed & 64 ? "sums" : "xtra", "{}", 2, data, size % 16);
	mutate_frame(&b, data, &list[i], seed / 16);
	buf_put(&b, data + after, size - after);
	return mutate_done(&b, data, size, max);
}
