#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "formats/apr64/apr64_writer.h"

/* The members from which upstream's programs learn the kind of model. They are those that
 * upstream's import makes of the same keys, each in one spelling. */
static const char *const derived[] = { "model_type", "name", "description", "author",
	"license", "data_source", "data_license", "version", "original_format",
	"total_size", "param_count", "chat_template", "architecture", "hidden_size",
	"num_layers", "num_heads", "num_kv_heads", "vocab_size", "intermediate_size",
	"max_position_embeddings", "rope_theta", "rope_type", "rms_norm_eps", "head_dim",
	"num_experts", "num_experts_per_tok", "moe_intermediate_size",
	"tokenizer.vocabulary", "tokenizer.vocab_size", "tokenizer.merges",
	"tokenizer.model_type", "tokenizer.pre_type", "tokenizer.bos_token_id",
	"tokenizer.eos_token_id", "tokenizer.padding_token_id", "tokenizer.add_bos_token" };

bool
apr64_is_derived(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof derived / sizeof *derived; i++)
		if (strcmp(name, derived[i]) == 0)
			return true;
	return false;
}

/* ---- values in wire form, in memory or in the spool ---- */

struct wire {
	struct apr64_sink *s;
	const uint8_t *p;    /* NULL: in the spool */
	uint64_t at, left;
	struct err *e;
};

static void
open_wire(struct wire *w, struct apr64_sink *s, const struct meta *k, struct err *e)
{
	*w = (struct wire){ .s = s, .p = k->wire, .left = k->wire_bytes, .e = e };
	if (!k->wire) {
		w->at = s->blobs[k->blob].at;
		w->left = s->blobs[k->blob].bytes;
	}
}

/* Read n bytes, which are known to be there. */
static int
get(struct wire *w, void *to, size_t n)
{
	if (n > w->left)
		return err_set(w->e, ERR_CORRUPT, w->s->out.name, "a value ends too early");
	w->left -= n;
	if (!w->p)
		w->at += n;
	if (!w->p)
		return spool_get(&w->s->kept, w->at - n, to, n, w->e);
	if (n)
		memcpy(to, w->p, n);
	w->p += n;
	return 0;
}

/* Read a string of at most VALUE_INLINE_BYTES into b. 1 if it is longer. */
static int
get_string(struct wire *w, struct buf *b)
{
	uint8_t head[8];
	uint64_t n;

	buf_clear(b);
	if (get(w, head, sizeof head) < 0)
		return -1;
	n = le64(head);
	if (n > VALUE_INLINE_BYTES)
		return 1;
	if (!buf_room(b, (size_t)n))
		return err_memory(w->e);
	b->n = (size_t)n;
	return get(w, b->p, (size_t)n);
}

/* ---- values to JSON ---- */

/* Put a string. U+FFFD replaces bytes that are not UTF-8, as upstream does. */
static void
put_text(struct buf *to, const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	size_t i = 0, length;

	if (text_utf8(p, n, true)) {
		json_quote(to, n ? (const char *)p : "", n);
		return;
	}
	for (; i < n; i += length) {
		for (length = 1; length <= 4 && i + length <= n; length++)
			if (text_utf8(p + i, length, true))
				break;
		if (length <= 4 && i + length <= n) {
			buf_put(&b, p + i, length);
		} else {
			buf_text(&b, "\xef\xbf\xbd");
			length = 1;
		}
	}
	to->failed |= b.failed;
	if (!b.failed)
		json_quote(to, (const char *)b.p, b.n);
	buf_free(&b);
}

static bool
is_strings(const struct meta *k)
{
	return k && k->type.leaf == VALUE_STRING && k->type.depth == 1;
}

/* The number of items of an array; MODEL_NONE if the value is not an array. */
static uint64_t
count_items(struct apr64_sink *s, const struct meta *k, struct err *e)
{
	uint8_t head[12];
	struct wire w;

	if (!k || k->type.depth == 0)
		return MODEL_NONE;
	open_wire(&w, s, k, e);
	return get(&w, head, sizeof head) < 0 ? MODEL_NONE : le64(head + 4);
}

/* Read the items after the array's head. put: write them as a list. Returns 1 if an item is
 * longer than VALUE_INLINE_BYTES. */
static int
walk_strings(struct apr64_sink *s, struct wire *w, uint64_t count, bool put)
{
	struct buf text = { 0 };
	uint64_t i;
	int r = 0;

	for (i = 0; r == 0 && i < count; i++) {
		r = get_string(w, &text);
		if (r != 0 || !put)
			continue;
		buf_text(&s->b, i ? "," : "");
		put_text(&s->b, text.p, text.n);
		if (s->b.n >= VALUE_INLINE_BYTES)
			r = apr64_flush(s, w->e);
	}
	buf_free(&text);
	return r;
}

/* Put an array of strings, unless one of them is longer than VALUE_INLINE_BYTES. */
static int
put_strings(struct apr64_sink *s, const char *name, const char *key, bool *there,
            struct err *e)
{
	const struct meta *k = model_find(s->plan, key);
	uint8_t head[12];
	struct wire w;
	bool put;
	int r = 0;

	if (!is_strings(k) || apr64_has_member(s, name))
		return 0;
	for (put = false; r == 0; put = true) {
		open_wire(&w, s, k, e);
		if (get(&w, head, sizeof head) < 0)
			return -1;
		if (put) {
			apr64_put_name(s, "", name);
			buf_text(&s->b, "[");
		}
		r = walk_strings(s, &w, le64(head + 4), put);
		if (put)
			break;
	}
	if (r != 0)
		return r < 0 ? -1 : 0;
	buf_text(&s->b, "]");
	*there = true;
	return apr64_flush(s, e);
}

/* Put a single string. 1 if it was put. */
static int
put_string(struct apr64_sink *s, const char *name, const char *key, struct err *e)
{
	const struct meta *k = model_find(s->plan, key);
	struct buf text = { 0 };
	struct wire w;
	int r;

	if (!k || k->type.depth || k->type.leaf != VALUE_STRING || apr64_has_member(s, name))
		return 0;
	open_wire(&w, s, k, e);
	r = get_string(&w, &text);
	if (r == 0) {
		apr64_put_name(s, "", name);
		put_text(&s->b, text.p, text.n);
	}
	buf_free(&text);
	return r < 0 ? -1 : r == 0;
}

static void
put_word(struct apr64_sink *s, const char *name, const char *text)
{
	if (apr64_has_member(s, name))
		return;
	apr64_put_name(s, "", name);
	json_quote(&s->b, text, strlen(text));
}

static void
put_null(struct apr64_sink *s, const char *name)
{
	if (apr64_has_member(s, name))
		return;
	apr64_put_name(s, "", name);
	buf_text(&s->b, "null");
}

static void
put_u64(struct apr64_sink *s, const char *name, uint64_t v)
{
	if (v == MODEL_NONE || apr64_has_member(s, name))
		return;
	apr64_put_name(s, "", name);
	buf_printf(&s->b, "%" PRIu64, v);
}

/* Put a float in the fewest digits that are read back as the same number. */
static void
put_f32(struct apr64_sink *s, const char *name, float v)
{
	char text[32];
	int precision;

	if (!(v - v == 0) || apr64_has_member(s, name)) /* NaN, infinite */
		return;
	for (precision = 6; precision <= 9; precision++) {
		snprintf(text, sizeof text, "%.*g", precision, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	apr64_put_name(s, "", name);
	buf_text(&s->b, text);
}

/* ---- which keys ---- */

/* The value of the key that consists of the architecture's name and a suffix. */
static const struct meta *
parameter(const struct apr64_sink *s, const char *suffix)
{
	const struct meta *a = model_find(s->plan, "general.architecture");
	const char *text = NULL;
	size_t i, n;

	if (a && a->wire)
		text = value_string(a->type, a->wire, a->wire_bytes, &n);
	/* This does not allocate: running out of memory must not look like a missing key. */
	for (i = 0; text && i < s->plan->meta_count; i++) {
		const struct meta *k = &s->plan->meta[i];

		if (strncmp(k->key, text, n) == 0 && strlen(k->key) > n &&
		    strcmp(k->key + n, suffix) == 0)
			return k;
	}
	return NULL;
}

/* The value of an integer that is not negative; does not allocate either. */
static uint64_t
whole(const struct meta *k)
{
	uint64_t v = 0;
	bool sign = false;
	size_t i, n;

	if (!k || !k->wire || k->type.depth)
		return MODEL_NONE;
	switch (k->type.leaf) {
	case VALUE_I8:
	case VALUE_I16:
	case VALUE_I32:
	case VALUE_I64:
		sign = true;
		break;
	case VALUE_U8:
	case VALUE_U16:
	case VALUE_U32:
	case VALUE_U64:
		break;
	default:
		return MODEL_NONE;
	}
	n = value_leaf_bytes(k->type.leaf);
	for (i = 0; i < n; i++)
		v |= (uint64_t)k->wire[i] << 8 * i;
	return sign && k->wire[n - 1] & 0x80 ? MODEL_NONE : v;
}

static void
put_real(struct apr64_sink *s, const char *name, const char *suffix)
{
	const struct meta *k = parameter(s, suffix);

	if (!k || k->type.depth || k->type.leaf != VALUE_F32 || !k->wire)
		return;
	put_f32(s, name, le_f32(k->wire));
}

/* Put the type of RoPE: 2 rotates halves, 0 pairs. Decides by the architecture, as upstream
 * does. */
static void
put_rope_type(struct apr64_sink *s)
{
	const struct meta *k = model_find(s->plan, "general.architecture");
	const char *text = NULL;
	size_t n;

	if (!parameter(s, ".rope.freq_base"))
		return;
	text = value_string(k->type, k->wire, k->wire_bytes, &n);
	put_u64(s, "rope_type", n >= 4 && memcmp(text, "qwen", 4) == 0 ? 2 : 0);
}

static void
put_architecture(struct apr64_sink *s)
{
	static const struct {
		const char *name, *suffix;
	} wholes[] = {
		{ "hidden_size", ".embedding_length" },
		{ "num_layers", ".block_count" },
		{ "num_heads", ".attention.head_count" },
		{ "num_kv_heads", ".attention.head_count_kv" },
		{ "intermediate_size", ".feed_forward_length" },
		{ "max_position_embeddings", ".context_length" },
		{ "head_dim", ".attention.key_length" },
		{ "num_experts", ".expert_count" },
		{ "num_experts_per_tok", ".expert_used_count" },
		{ "moe_intermediate_size", ".expert_feed_forward_length" },
	};
	size_t i;

	for (i = 0; i < sizeof wholes / sizeof *wholes; i++)
		put_u64(s, wholes[i].name, whole(parameter(s, wholes[i].suffix)));
	put_real(s, "rope_theta", ".rope.freq_base");
	put_rope_type(s);
	put_real(s, "rms_norm_eps", ".attention.layer_norm_rms_epsilon");
}

static int
put_tokenizer(struct apr64_sink *s, struct err *e)
{
	static const struct {
		const char *name, *key;
	} ids[] = {
		{ "tokenizer.bos_token_id", "tokenizer.ggml.bos_token_id" },
		{ "tokenizer.eos_token_id", "tokenizer.ggml.eos_token_id" },
		{ "tokenizer.padding_token_id", "tokenizer.ggml.padding_token_id" },
	};
	const struct meta *k = model_find(s->plan, "tokenizer.ggml.add_bos_token");
	bool merges;
	size_t i;

	if (put_strings(s, "tokenizer.vocabulary", "tokenizer.ggml.tokens", &s->vocabulary, e) < 0 ||
	    put_strings(s, "tokenizer.merges", "tokenizer.ggml.merges", &merges, e) < 0 ||
	    put_string(s, "tokenizer.model_type", "tokenizer.ggml.model", e) < 0 ||
	    put_string(s, "tokenizer.pre_type", "tokenizer.ggml.pre", e) < 0)
		return -1;
	for (i = 0; i < sizeof ids / sizeof *ids; i++)
		put_u64(s, ids[i].name, whole(model_find(s->plan, ids[i].key)));
	if (k && k->wire && k->type.depth == 0 && k->type.leaf == VALUE_BOOL &&
	    !apr64_has_member(s, "tokenizer.add_bos_token")) {
		apr64_put_name(s, "", "tokenizer.add_bos_token");
		buf_text(&s->b, k->wire[0] ? "true" : "false");
	}
	return 0;
}

/* Put the members that every file has. Upstream's reader requires the first one and the
 * numbers; its writer sets an unknown licence and the members about training data to null. */
static int
put_common(struct apr64_sink *s, struct err *e)
{
	const char *format = model_source_text(s->plan, "format");
	static const char *const texts[][2] = { { "name", "general.name" },
		{ "description", "general.description" }, { "author", "general.author" },
		{ "license", "general.license" }, { "version", "general.version" },
		{ "architecture", "general.architecture" },
		{ "chat_template", "tokenizer.chat_template" } };
	int put = put_string(s, "model_type", "general.architecture", e);
	const char *config;
	size_t i;

	if (put == 0 && json_member_text(model_config(s->plan), "model_type", &config) == 0) {
		put_word(s, "model_type", config);
		put_word(s, "architecture", config);
	} else if (put == 0) {
		put_word(s, "model_type", "unknown");
	}
	for (i = 0; put >= 0 && i < sizeof texts / sizeof *texts; i++) {
		put = put_string(s, texts[i][0], texts[i][1], e);
		if (put == 0 && strcmp(texts[i][0], "license") == 0)
			put_null(s, "license");
	}
	if (put < 0)
		return -1;
	put_null(s, "data_source");
	put_null(s, "data_license");
	if (format)
		put_word(s, "original_format", format);
	put_u64(s, "total_size", model_tensor_bytes(s->plan));
	put_u64(s, "param_count", model_parameters(s->plan));
	return 0;
}

int
apr64_put_derived(struct apr64_sink *s, struct err *e)
{
	const struct meta *tokens = model_find(s->plan, "tokenizer.ggml.tokens");
	uint64_t count = whole(parameter(s, ".vocab_size"));

	if (put_common(s, e) < 0)
		return -1;
	put_architecture(s);
	if (tokens)
		count = count_items(s, tokens, e);
	put_u64(s, "vocab_size", count);
	put_u64(s, "tokenizer.vocab_size", tokens ? count : MODEL_NONE);
	return e->code != ERR_NONE || put_tokenizer(s, e) < 0 ? -1 : apr64_flush(s, e);
}
