/* A model of the program: keys, side files and tensors, then bytes. */
#include <stdlib.h>
#include <string.h>

#include "api/make.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"

#define NAME "<model>" /* in messages */
#define PIECE (1u << 20) /* bytes that are written at once */

void
api_build_free(struct api_build *b)
{
	size_t i;

	for (i = 0; i < b->key_count; i++) {
		free(b->keys[i].key);
		buf_free(&b->keys[i].wire);
	}
	for (i = 0; i < b->file_count; i++) {
		free(b->files[i].name);
		free(b->files[i].type);
	}
	free(b->keys);
	free(b->files);
	model_free(&b->plan);
	*b = (struct api_build){ 0 };
}

/* 0 if the list can still grow. */
static int
may_grow(struct aprml_maker *k, struct aprml_error *e)
{
	if (api_maker_begin(k, e) < 0)
		return -1;
	if (k->build.begun)
		err_set(&k->err, ERR_NO, NULL, "keys, files and tensors come before the first bytes");
	return k->err.code == ERR_NONE ? 0 : api_maker_fail(k, e);
}

/* ---- keys ---- */

/* Append n bytes as a number of the type, in the order of the file. */
static void
put_number(struct buf *b, const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;
	uint32_t half;
	uint16_t quarter;

	switch (bytes) {
	case 1:
		buf_put(b, p, 1);
		return;
	case 2:
		memcpy(&quarter, p, 2);
		v = quarter;
		break;
	case 4:
		memcpy(&half, p, 4);
		v = half;
		break;
	default:
		memcpy(&v, p, 8);
	}
	for (; bytes > 0; bytes--, v >>= 8)
		buf_put(b, &(uint8_t){ (uint8_t)v }, 1);
}

static void
put_text(struct buf *b, const char *text, size_t n)
{
	buf_u64(b, n);
	buf_put(b, text, n);
}

static void
put_items(struct buf *b, unsigned leaf, const void *value, size_t n)
{
	const size_t bytes = value_leaf_bytes(leaf);
	const char *const *texts = value;
	const uint8_t *p = value;
	size_t i;

	for (i = 0; i < n; i++)
		if (bytes > 0)
			put_number(b, p + i * bytes, bytes);
		else
			put_text(b, texts[i], strlen(texts[i]));
}

/* 0 or -1: the type is unknown, or n does not fit it. */
static int
put_value(struct buf *b, struct value_type t, const void *value, size_t n)
{
	if (t.depth > 1 || t.leaf == VALUE_ARRAY || (t.depth > 0 && t.leaf == VALUE_JSON))
		return -1;
	if (t.depth > 0) {
		buf_u32(b, t.leaf);
		buf_u64(b, n);
		put_items(b, t.leaf, value, n);
	} else if (t.leaf == VALUE_STRING) {
		put_text(b, value, n);
	} else if (t.leaf == VALUE_JSON) {
		buf_put(b, value, n);
	} else {
		if (n != 1)
			return -1;
		put_items(b, t.leaf, value, 1);
	}
	return 0;
}

int
aprml_maker_key(struct aprml_maker *k, const char *key, const char *type, const void *value,
                size_t n, struct aprml_error *e)
{
	struct api_build *b;
	struct api_key *to;

	if (may_grow(k, e) < 0)
		return -1;
	b = &k->build;
	if (mem_grow(&b->keys, &b->key_cap, b->key_count + 1, sizeof *b->keys) < 0) {
		err_memory(&k->err);
		return api_maker_fail(k, e);
	}
	to = &b->keys[b->key_count++];
	*to = (struct api_key){ .key = mem_text(key, strlen(key)) };
	if (value_type_parse(type, &to->type) < 0 || put_value(&to->wire, to->type, value, n) < 0)
		err_set(&k->err, ERR_USAGE, key, "no value of type %.60s has %zu items", type, n);
	if (!to->key || !buf_ok(&to->wire))
		err_memory(&k->err);
	return k->err.code == ERR_NONE ? 0 : api_maker_fail(k, e);
}

/* ---- files and tensors ---- */

int
aprml_maker_file(struct aprml_maker *k, const char *name, const char *type, const void *p,
                 size_t n, struct aprml_error *e)
{
	struct api_build *b;
	struct api_file *to;

	if (may_grow(k, e) < 0)
		return -1;
	b = &k->build;
	if (mem_grow(&b->files, &b->file_cap, b->file_count + 1, sizeof *b->files) < 0) {
		err_memory(&k->err);
		return api_maker_fail(k, e);
	}
	to = &b->files[b->file_count++];
	*to = (struct api_file){ mem_text(name, strlen(name)), mem_text(type, strlen(type)), p, n };
	if (!to->name || !to->type)
		err_memory(&k->err);
	return k->err.code == ERR_NONE ? 0 : api_maker_fail(k, e);
}

int
aprml_maker_tensor(struct aprml_maker *k, const char *name, const char *type, unsigned ndim,
                   const uint64_t *dims, struct aprml_error *e)
{
	struct api_build *b;
	const struct dtype *t;
	struct tensor *tensor;

	if (may_grow(k, e) < 0)
		return -1;
	b = &k->build;
	t = dtype_by_name(type);
	if (!t || !dtype_sized(t)) {
		err_set(&k->err, ERR_USAGE, name, "has the unknown type %.40s", type);
		return api_maker_fail(k, e);
	}
	tensor = tensor_new(name, strlen(name), t, ndim, dims, TENSOR_OWN_SIZE, NAME, &k->err);
	if (!tensor || model_add_tensor(&b->plan, tensor, &k->err) < 0)
		return api_maker_fail(k, e);
	return 0;
}

/* ---- bytes ---- */

static bool
is_short(const struct api_key *key)
{
	return value_is_inline(key->type, key->wire.p, key->wire.n);
}

/* Complete the plan: keys, then side files, before the tensors that it has. */
static int
make_plan(struct api_build *b, struct err *e)
{
	struct model plan;
	size_t i;

	if (model_init(&plan, e) < 0)
		return -1;
	plan.tensors = b->plan.tensors;
	plan.tensor_count = b->plan.tensor_count;
	plan.tensor_cap = b->plan.tensor_cap;
	b->plan = plan;
	for (i = 0; i < b->key_count; i++) {
		const struct api_key *key = &b->keys[i];
		const size_t n = strlen(key->key);
		const int r = is_short(key)
		    ? model_add_meta(&b->plan, key->key, n, key->type, key->wire.p, key->wire.n, e)
		    : model_add_meta_blob(&b->plan, key->key, n, key->type, key->wire.n, e);

		if (r < 0)
			return -1;
	}
	for (i = 0; i < b->file_count; i++)
		if (model_add_blob(&b->plan, b->files[i].name, b->files[i].type, b->files[i].n, e) < 0)
			return -1;
	return model_check(&b->plan, NAME, e);
}

static int
put_blob(struct sink *s, size_t index, const void *p, size_t n, struct err *e)
{
	const struct item item = { .kind = ITEM_BLOB, .index = index, .bytes = n };

	if (sink_put(s, &item, e) < 0 || (n > 0 && sink_write(s, p, n, e) < 0))
		return -1;
	return sink_put_end(s, e);
}

static int
put_blobs(struct api_build *b, struct sink *s, struct err *e)
{
	size_t i, index = 0;

	for (i = 0; i < b->key_count; i++)
		if (!is_short(&b->keys[i]) &&
		    put_blob(s, index++, b->keys[i].wire.p, b->keys[i].wire.n, e) < 0)
			return -1;
	for (i = 0; i < b->file_count; i++)
		if (put_blob(s, index++, b->files[i].p, b->files[i].n, e) < 0)
			return -1;
	return 0;
}

static struct sink *
top(const struct aprml_maker *k)
{
	return k->sinks[k->sink_count - 1];
}

static int
put_tensor(struct aprml_maker *k)
{
	struct api_build *b = &k->build;
	const struct item item = { .kind = ITEM_TENSOR, .index = b->at,
		.bytes = tensor_bytes(b->plan.tensors[b->at]) };

	b->left = item.bytes;
	return sink_put(top(k), &item, &k->err);
}

/* End the tensors that have all their bytes, and begin the next. */
static int
advance(struct aprml_maker *k)
{
	struct api_build *b = &k->build;

	while (b->at < b->plan.tensor_count && b->left == 0) {
		if (sink_put_end(top(k), &k->err) < 0)
			return -1;
		if (++b->at < b->plan.tensor_count && put_tensor(k) < 0)
			return -1;
	}
	return 0;
}

static int
begin(struct aprml_maker *k)
{
	struct api_build *b = &k->build;

	if (b->begun)
		return 0;
	b->begun = true;
	if (api_maker_prove(k) < 0 || make_plan(b, &k->err) < 0 ||
	    !api_maker_sinks(k, NAME, -1, NULL, NULL) ||
	    sink_begin(top(k), &b->plan, &k->err) < 0 || put_blobs(b, top(k), &k->err) < 0)
		return -1;
	if (b->plan.tensor_count > 0 && put_tensor(k) < 0)
		return -1;
	return advance(k);
}

static int
give(struct aprml_maker *k, const uint8_t *p, size_t n)
{
	struct api_build *b = &k->build;
	size_t part;

	for (; n > 0; n -= part, p += part) {
		part = (size_t)num_min(num_min(n, PIECE), b->left);
		if (part == 0)
			return err_set(&k->err, ERR_NO, NAME, "gets more bytes than its tensors have");
		if (sink_write(top(k), p, part, &k->err) < 0)
			return -1;
		b->left -= part;
		b->moved += part;
		if (advance(k) < 0 || api_job_watch(&k->job, b->moved, &k->err) < 0)
			return -1;
	}
	return 0;
}

static void
job_begin(struct aprml_maker *k)
{
	if (k->quant.asked)
		api_level();
	api_job_begin(&k->job, &k->work, &k->cancelled);
	k->job.all = model_tensor_bytes(&k->build.plan);
}

/* After a call that wrote: 0, or the end of the maker. */
static int
done(struct aprml_maker *k, int r, struct aprml_error *e)
{
	if (r < 0)
		api_maker_end(k);
	api_job_end(&k->job, &k->err);
	return r < 0 ? api_maker_fail(k, e) : 0;
}

int
aprml_maker_data(struct aprml_maker *k, const void *p, size_t n, struct aprml_error *e)
{
	if (api_maker_begin(k, e) < 0)
		return -1;
	job_begin(k);
	return done(k, begin(k) < 0 || give(k, p, n) < 0 ? -1 : 0, e);
}

int
aprml_maker_end(struct aprml_maker *k, struct aprml_error *e)
{
	int r;

	if (api_maker_begin(k, e) < 0)
		return -1;
	job_begin(k);
	r = begin(k);
	if (r == 0 && k->build.at < k->build.plan.tensor_count)
		r = err_set(&k->err, ERR_NO, NAME, "has tensors whose bytes are missing");
	if (r == 0)
		r = sink_end(top(k), &k->err);
	r = done(k, r, e);
	if (r == 0)
		api_maker_end(k);
	return r;
}
