#include "adapt/keys/shared_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/keys/keys.h"
#include "adapt/tokens/tokens.h"
#include "arch/apr_keys.h"
#include "core/le.h"
#include "core/num.h"
#include "core/text.h"

static const struct value_type own_type = { 0, VALUE_JSON };

struct shared {
	const struct subject *s;
	struct model *out;
	struct err *e;
	const char *arch;      /* the name before the keys of GGUF, or NULL */
	struct model made;     /* the keys of GGUF that a folder would get */
	json_t *images;        /* preprocessor_config.json, or NULL */
};

/* ---- single keys ---- */

static int
put_text(struct shared *h, const char *name, const char *text, size_t n)
{
	if (n > SHARED_LONG || model_find(h->out, name))
		return 0;
	return model_add_meta(h->out, name, strlen(name), own_type, (const uint8_t *)text, n,
	                      h->e);
}

/* Put a value; takes the reference. */
static int
put(struct shared *h, const char *name, json_t *v)
{
	struct buf b = { 0 };
	int r = v && json_write(v, &b) == 0 && buf_ok(&b) ? 0 : err_memory(h->e);

	json_decref(v);
	if (r == 0)
		r = put_text(h, name, (char *)b.p, b.n);
	buf_free(&b);
	return r;
}

/* The shortest decimal number that is read as v again, as a float or as a double. */
static void
real_text(char text[40], double v, bool single)
{
	int digits = single ? 6 : 15;

	do
		snprintf(text, 40, "%.*g", digits++, v);
	while (digits <= 17 && (single ? (double)strtof(text, NULL) : strtod(text, NULL)) != v);
	if (!strpbrk(text, ".en"))
		strcat(text, ".0");
}

static int
put_real(struct shared *h, const char *name, double v, bool single)
{
	char text[40];

	if (!isfinite(v))
		return 0;
	real_text(text, v, single);
	return put_text(h, name, text, strlen(text));
}

/* The value of a key of GGUF, which the model has or would get. */
static const uint8_t *
find_value(const struct shared *h, const char *key, struct value_type *t, size_t *n)
{
	const struct meta *k = model_find(h->s->plan, key) ? NULL : model_find(&h->made, key);

	if (!k)
		return weights_value(&h->s->w, key, t, n);
	*t = k->type;
	*n = k->wire_bytes;
	return k->wire;
}

/* Put the value of a key of GGUF: a number, text, or a list of numbers. */
static int
put_value(struct shared *h, const char *name, const char *key)
{
	struct value_type t;
	size_t n;
	const uint8_t *p = find_value(h, key, &t, &n);

	if (!p || !value_is_inline(t, p, n) || t.leaf == VALUE_JSON)
		return 0;
	if (t.depth == 0 && t.leaf == VALUE_F32)
		return put_real(h, name, (double)le_f32(p), true);
	if (t.depth == 0 && t.leaf == VALUE_F64)
		return put_real(h, name, le_f64(p), false);
	return t.leaf == VALUE_F32 || t.leaf == VALUE_F64
	       ? 0 : put(h, name, value_to_json(t, p, n));
}

static int
put_member(struct shared *h, const char *name, const char *member)
{
	const json_t *v = json_object_get(h->s->config, member);

	if (!v || json_is_null(v))
		return 0;
	return json_is_real(v) ? put_real(h, name, json_real_value(v), false)
	                       : put(h, name, json_deep_copy(v));
}

/* ---- names and hyper-parameters ---- */

static int
put_names(struct shared *h)
{
	if (put_value(h, "model_type", "general.architecture") < 0 ||
	    put_member(h, "model_type", "model_type") < 0 ||
	    put_value(h, "model_name", "general.name") < 0)
		return -1;
	return put_member(h, "model_name", "_name_or_path");
}

static int
put_parameters(struct shared *h)
{
	const struct apr_key *row;
	char key[256];
	size_t i;

	for (i = 0; (row = apr_key_row(i)); i++) {
		if (row->other && model_find(h->out, row->other))
			continue;
		snprintf(key, sizeof key, "%s.%s", h->arch ? h->arch : "",
		         row->gguf ? row->gguf : "");
		if (h->arch && row->gguf && put_value(h, row->apr, key) < 0)
			return -1;
		if (put_member(h, row->apr, row->config) < 0)
			return -1;
	}
	return 0;
}

/* ---- the tokenizer ---- */

/* Make the keys of GGUF that a model folder would get. What cannot be read that way stays in
 * its files, with a note. */
static void
make_keys(struct shared *h)
{
	struct tokens_options o = { 0 };
	struct err fault = ERR_INIT;
	char text[1100];

	if (!h->s->config)
		return;
	if (!h->arch && h->s->arch && !(h->s->arch->flags & ARCH_NO_GGUF) &&
	    keys_put(h->s, 0, &h->made, &fault) == 0)
		h->arch = h->s->arch->name;
	fault = (struct err)ERR_INIT;
	json_member_u64(h->s->config, "vocab_size", &o.rows);
	if (model_find(h->s->plan, "tokenizer.ggml.tokens") ||
	    tokens_put_keys(h->s, &o, &h->made, &fault) == 0)
		return;
	snprintf(text, sizeof text, "vocab is left out: %s: %s", fault.object, fault.fact);
	if (h->s->note)
		h->s->note(text);
}

/* The list of all tokens as JSON; NULL if there is none, or it is too long. *count: its
 * length. */
static json_t *
token_list(const struct shared *h, uint64_t *count)
{
	struct value_type t;
	size_t n, at = 12;
	const uint8_t *p = find_value(h, "tokenizer.ggml.tokens", &t, &n);
	json_t *list = NULL;
	uint64_t i, bytes;

	*count = 0;
	if (!p || t.depth != 1 || t.leaf != VALUE_STRING || n < 12)
		return NULL;
	*count = le64(p + 4);
	if (n <= 2 * SHARED_LONG)
		list = json_array();
	for (i = 0; list && i < *count && n - at >= 8; i++) {
		bytes = le64(p + at);
		at += 8;
		if (bytes > n - at || !text_utf8(p + at, (size_t)bytes, false) ||
		    json_array_append_new(list, json_stringn((const char *)p + at,
		                                             (size_t)bytes)) < 0)
			break;
		at += (size_t)bytes;
	}
	if (list && i == *count)
		return list;
	json_decref(list);
	return NULL;
}

/* Add the text of a special token. */
static int
add_special(const struct shared *h, json_t *o, const json_t *list, const char *name,
            const char *key)
{
	struct value_type t;
	uint64_t id;
	size_t n;
	const uint8_t *p = find_value(h, key, &t, &n);
	json_t *token = p && value_u64(t, p, n, &id) == 0
	                ? json_array_get(list, (size_t)id) : NULL;

	return token ? json_object_set(o, name, token) : 0;
}

static int
put_tokenizer(struct shared *h, const json_t *list)
{
	static const char *const types[][2] = { { "gpt2", "bpe" }, { "llama", "sentencepiece" },
		{ "bert", "wordpiece" }, { "t5", "unigram" } };
	static const char *const special[][2] = {
		{ "bos_token", "tokenizer.ggml.bos_token_id" },
		{ "eos_token", "tokenizer.ggml.eos_token_id" },
		{ "unk_token", "tokenizer.ggml.unknown_token_id" },
		{ "pad_token", "tokenizer.ggml.padding_token_id" } };
	struct value_type t;
	size_t n, bytes, i;
	const uint8_t *p = find_value(h, "tokenizer.ggml.model", &t, &n);
	const char *type = p ? value_string(t, p, n, &bytes) : NULL;
	json_t *o;
	int r;

	if (!type || !text_utf8(type, bytes, false))
		return 0;
	o = json_object();
	r = json_object_set_new(o, "type", json_stringn(type, bytes));
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i][0]) == bytes && memcmp(types[i][0], type, bytes) == 0)
			r |= json_object_set_new(o, "type", json_string(types[i][1]));
	for (i = 0; i < sizeof special / sizeof *special; i++)
		r |= add_special(h, o, list, special[i][0], special[i][1]);
	if (r < 0) {
		json_decref(o);
		return err_memory(h->e);
	}
	return put(h, "tokenizer_config", o);
}

static int
put_vocabulary(struct shared *h)
{
	uint64_t count;
	json_t *list;
	int r;

	list = token_list(h, &count);
	r = put_tokenizer(h, list);
	if (r == 0 && count && !model_find(h->out, "n_vocab"))
		r = put(h, "vocab_size", json_from_u64(count));
	if (r == 0 && list && !model_find(h->out, "vocabulary"))
		r = put(h, "vocab", json_incref(list));
	json_decref(list);
	return r;
}

/* ---- labels, images, sound ---- */

static int
bad(const struct subject *s, const char *where, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, s->w.name, "%s: %s", where, what);
}

/* Whether an object has text for each number from 0. */
static bool
is_numbered(const json_t *o)
{
	char number[24];
	size_t i;

	for (i = 0; i < json_object_size(o); i++) {
		snprintf(number, sizeof number, "%zu", i);
		if (!json_is_string(json_object_get(o, number)))
			return false;
	}
	return json_is_object(o);
}

static int
put_labels(struct shared *h)
{
	json_t *labels = json_object_get(h->s->config, "id2label");

	if (!labels || json_is_null(labels))
		return 0;
	if (!is_numbered(labels))
		return bad(h->s, "config.json", "id2label is not a text for each number from 0", h->e);
	if (put(h, "labels", json_incref(labels)) < 0)
		return -1;
	return put(h, "num_labels", json_from_u64(json_object_size(labels)));
}

/* The size of an image: a number, or the first known member of an object. */
static const json_t *
image_size(const json_t *size)
{
	static const char *const names[] = { "shortest_edge", "height", "width" };
	const json_t *v = size;
	size_t i;

	for (i = 0; i < 3 && json_is_object(size); i++)
		if ((v = json_object_get(size, names[i])))
			break;
	return json_is_integer(v) ? v : NULL;
}

static int
put_images(struct shared *h)
{
	json_t *mean = json_object_get(h->images, "image_mean"),
	       *std = json_object_get(h->images, "image_std"), *o;
	const json_t *size = image_size(json_object_get(h->images, "size"));

	if (!json_is_array(mean) && !json_is_array(std))
		return 0;
	if (json_array_size(mean) > 64 || json_array_size(std) > 64)
		return bad(h->s, "preprocessor_config.json", "an image has at most 64 channels", h->e);
	o = json_pack("{s:O*,s:O*,s:O*}", "image_size", size, "mean", mean, "std", std);
	return put(h, "image_config", o);
}

/* The values of mel_filters in one list; NULL if its rows differ in length. *columns: of a
 * row. */
static json_t *
flatten(const json_t *rows, size_t *columns)
{
	json_t *flat = json_array(), *row;
	size_t i, k;

	*columns = json_array_size(json_array_get(rows, 0));
	json_array_foreach(rows, i, row)
		for (k = 0; k < *columns; k++)
			if (json_array_size(row) != *columns ||
			    !json_is_number(json_array_get(row, k)) ||
			    json_array_append(flat, json_array_get(row, k)) < 0) {
				json_decref(flat);
				return NULL;
			}
	return flat;
}

static int
put_sound(struct shared *h)
{
	json_t *rows = json_object_get(h->images, "mel_filters"), *flat;
	size_t columns, n = json_array_size(rows);

	if (!rows || json_is_null(rows))
		return 0;
	flat = n ? flatten(rows, &columns) : NULL;
	if (!flat)
		return bad(h->s, "preprocessor_config.json",
		           "mel_filters is not a list of rows of the same length", h->e);
	if (put(h, "mel_filterbank", flat) < 0)
		return -1;
	return put(h, "mel_filterbank_shape",
	           json_pack("[I,I]", (json_int_t)n, (json_int_t)columns));
}

int
adapt_apr_keys(const struct subject *s, struct model *out, struct err *e)
{
	struct shared h = { .s = s, .out = out, .e = e,
		.arch = model_text(s->w.plan, "general.architecture") };
	int r;

	if (adapt_apr_check(s, e) < 0 || model_init(&h.made, e) < 0)
		return -1;
	h.images = subject_json(s, "preprocessor_config.json", e);
	if (e->code == ERR_NONE)
		make_keys(&h);
	r = e->code == ERR_NONE ? put_names(&h) : -1;
	if (r == 0)
		r = put_parameters(&h);
	if (r == 0)
		r = put_vocabulary(&h);
	if (r == 0)
		r = put_labels(&h);
	if (r == 0)
		r = put_images(&h);
	if (r == 0)
		r = put_sound(&h);
	json_decref(h.images);
	model_free(&h.made);
	return r;
}

/* ---- the way back ---- */

int
adapt_apr_drop(const struct subject *s, struct model *out, struct err *e)
{
	struct model made;
	size_t i;
	int r;

	if (model_init(&made, e) < 0)
		return -1;
	r = adapt_apr_keys(s, &made, e);
	for (i = 0; r == 0 && i < made.meta_count; i++) {
		const struct meta *k = &made.meta[i], *old = model_find(out, k->key);

		if (old && old->wire && old->type.leaf == VALUE_JSON &&
		    old->wire_bytes == k->wire_bytes &&
		    memcmp(old->wire, k->wire, k->wire_bytes) == 0)
			model_unset_meta(out, k->key);
	}
	model_free(&made);
	return r;
}

/* The rows of a filterbank whose shape adapt_apr_check has proved. */
static json_t *
mel_rows(const json_t *mel, const json_t *shape)
{
	size_t columns = (size_t)json_integer_value(json_array_get(shape, 1)), i;
	json_t *rows = json_array(), *row = NULL, *v;

	json_array_foreach(mel, i, v) {
		if (i % columns == 0)
			json_array_append_new(rows, row = json_array());
		json_array_append(row, v);
	}
	return rows;
}

int
adapt_apr_files(const struct subject *s, struct subject_files *out, struct err *e)
{
	json_t *images = apr_key_value(&s->w, "image_config"), *o = NULL;
	json_t *mel = apr_key_value(&s->w, "mel_filterbank");
	json_t *shape = apr_key_value(&s->w, "mel_filterbank_shape");
	size_t n;
	int r = adapt_apr_check(s, e);

	if (r == 0 && (json_is_object(images) || json_array_size(mel)) &&
	    !weights_file(&s->w, "preprocessor_config.json", &n)) {
		o = json_pack("{s:O*,s:O*,s:O*,s:o*}",
		              "image_mean", json_object_get(images, "mean"),
		              "image_std", json_object_get(images, "std"),
		              "size", json_object_get(images, "image_size"),
		              "mel_filters", json_array_size(mel) ? mel_rows(mel, shape) : NULL);
		r = o ? subject_add_json(out, "preprocessor_config.json", o, e) : err_memory(e);
	}
	json_decref(images);
	json_decref(mel);
	json_decref(shape);
	return r;
}

/* ---- lengths ---- */

static int
check_vocabulary(const struct subject *s, const json_t *vocab, const json_t *size,
                 struct err *e)
{
	uint64_t n;

	if (!vocab)
		return 0;
	if (!json_is_array(vocab))
		return bad(s, "vocab", "is not an array", e);
	if (json_value_u64(size, &n) == 0 && json_array_size(vocab) > n)
		return bad(s, "vocab", "has more tokens than vocab_size says", e);
	return 0;
}

/* labels are an object with a text for each number from 0, or an array. */
static int
check_labels(const struct subject *s, const json_t *labels, const json_t *count,
             struct err *e)
{
	uint64_t n, have = json_is_array(labels) ? json_array_size(labels)
	                                         : json_object_size(labels);

	if (!labels)
		return 0;
	if (!json_is_array(labels) && !is_numbered(labels))
		return bad(s, "labels", "is not a text for each number from 0", e);
	if (json_value_u64(count, &n) == 0 && n != have)
		return bad(s, "labels", "does not have as many as num_labels says", e);
	return 0;
}

static int
check_sound(const struct subject *s, const json_t *mel, const json_t *shape, struct err *e)
{
	uint64_t rows, columns, n;

	if (!mel)
		return 0;
	if (json_array_size(shape) != 2 ||
	    json_value_u64(json_array_get(shape, 0), &rows) < 0 ||
	    json_value_u64(json_array_get(shape, 1), &columns) < 0 ||
	    num_mul(rows, columns, &n) < 0)
		return bad(s, "mel_filterbank_shape", "is not two numbers", e);
	if (!json_is_array(mel) || json_array_size(mel) != n)
		return bad(s, "mel_filterbank", "does not have the values of its shape", e);
	return 0;
}

int
adapt_apr_check(const struct subject *s, struct err *e)
{
	static const struct {
		const char *list, *size;
		int (*check)(const struct subject *, const json_t *, const json_t *, struct err *);
	} pairs[] = { { "vocab", "vocab_size", check_vocabulary },
		{ "labels", "num_labels", check_labels },
		{ "mel_filterbank", "mel_filterbank_shape", check_sound } };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < sizeof pairs / sizeof *pairs; i++) {
		json_t *list = apr_key_value(&s->w, pairs[i].list);
		json_t *size = apr_key_value(&s->w, pairs[i].size);

		r = pairs[i].check(s, list, size, e);
		json_decref(list);
		json_decref(size);
	}
	return r;
}
