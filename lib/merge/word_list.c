#include "merge/word_list.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens.h"
#include "core/le.h"
#include "core/mem.h"
#include "tokenizer/vocab.h"

#define KEY "tokenizer.ggml."
#define HEAD 12 /* bytes of an array before its items */

void
word_list_free(struct word_list *w)
{
	free(w->word);
	model_free(&w->keys);
	json_decref(w->origin);
	tokenizer_free(w->list);
	*w = (struct word_list){ 0 };
}

const uint8_t *
word_list_next(const uint8_t *wire, size_t bytes, size_t *at, size_t *n)
{
	const uint8_t *p = wire + *at;
	uint64_t length;

	if (bytes < *at || bytes - *at < 8)
		return NULL;
	length = le64(p);
	if (length > bytes - *at - 8)
		return NULL;
	*n = (size_t)length;
	*at += 8 + *n;
	return p + 8;
}

/* ---- keys ---- */

/* Keys of GGUF, with the values that blobs hold. */
static int
copy_keys(struct word_list *w, const struct merge_input *in, struct err *e)
{
	const struct model *m = in->subject.w.plan;
	struct value_check check;
	struct value_type type;
	const uint8_t *p;
	size_t i, n;

	for (i = 0; i < m->meta_count; i++) {
		const char *key = m->meta[i].key;

		if (strncmp(key, "tokenizer.", 10) != 0)
			continue;
		if (!(p = weights_meta(&in->subject.w, &m->meta[i], &type, &n)))
			return err_set(e, ERR_INVALID, in->name, "its key %.80s cannot be read", key);
		/* Nobody has looked into the blobs of a stream. */
		value_check_begin(&check, type);
		value_check_add(&check, p, n);
		if (!value_check_end(&check))
			return err_set(e, ERR_CORRUPT, in->name, "its key %.80s is not the value that it "
			               "announces", key);
		if (model_add_meta(&w->keys, key, strlen(key), type, p, n, e) < 0)
			return -1;
	}
	return 0;
}

/* Of the table of tokens; 0: not known. */
static uint64_t
rows_of(const struct merge_input *in)
{
	const struct model *m = merge_input_plan(in);
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (merge_input_role(in, i) == ROLE_EMBED && tensor_ndim(m->tensors[i]) == 2)
			return tensor_dims(m->tensors[i])[0];
	return 0;
}

static int
make_keys(struct word_list *w, const struct merge_input *in, struct err *e)
{
	const struct tokens_options how = { .rows = rows_of(in), .origin = &w->origin };
	struct subject s = in->subject;

	s.note = NULL;
	return tokens_put_keys(&s, &how, &w->keys, e);
}

/* The bytes of an array of numbers with an item for each token; NULL: there is none, or e is filled. */
static const uint8_t *
numbers(const struct word_list *w, const char *key, enum value_kind leaf, struct err *e)
{
	const struct meta *k = model_find(&w->keys, key);

	if (!k || e->code != ERR_NONE)
		return NULL;
	if (k->type.depth == 1 && k->type.leaf == leaf && k->wire_bytes == HEAD + 4 * w->count)
		return k->wire + HEAD;
	err_set(e, ERR_CORRUPT, w->file, "%s is not a list of one number for each of %zu tokens", key,
	        w->count);
	return NULL;
}

static int
index_words(struct word_list *w, struct err *e)
{
	const struct meta *k = model_find(&w->keys, KEY "tokens");
	size_t at = HEAD, i;

	if (!k)
		return err_set(e, ERR_INVALID, w->file, "has no tokenizer");
	if (k->type.depth != 1 || k->type.leaf != VALUE_STRING || k->wire_bytes < HEAD ||
	    le64(k->wire + 4) > k->wire_bytes / 8 || le64(k->wire + 4) >= UINT32_MAX)
		return err_set(e, ERR_CORRUPT, w->file, KEY "tokens is not a list of texts");
	w->count = (size_t)le64(k->wire + 4);
	if (!(w->word = mem_array(w->count, sizeof *w->word)))
		return err_memory(e);
	for (i = 0; i < w->count; i++)
		if (!(w->word[i].text = (const char *)word_list_next(k->wire, k->wire_bytes, &at,
		                                                 &w->word[i].n)))
			return err_set(e, ERR_CORRUPT, w->file, KEY "tokens is cut off");
	w->types = numbers(w, KEY "token_type", VALUE_I32, e);
	w->scores = numbers(w, KEY "scores", VALUE_F32, e);
	return e->code == ERR_NONE ? 0 : -1;
}

int
word_list_read(struct word_list *w, const struct merge_input *in, struct err *e)
{
	bool keys = model_find(in->subject.w.plan, KEY "tokens") != NULL;

	*w = (struct word_list){ .file = in->name };
	if (model_init(&w->keys, e) < 0 || (keys ? copy_keys : make_keys)(w, in, e) < 0 ||
	    index_words(w, e) < 0)
		return -1;
	w->kind = model_text(&w->keys, KEY "model");
	return w->kind ? 0 : err_set(e, ERR_INVALID, w->file, "does not state the kind of its tokenizer");
}

/* ---- texts alone ---- */

int
word_list_texts(struct word_list *w, const struct merge_input *in, struct err *e)
{
	const struct tokenizer_options how = { .list = true, .any = true };
	struct err unreadable = ERR_INIT;
	struct token_row row;
	size_t i;

	*w = (struct word_list){ .file = in->name };
	w->list = tokenizer_of(&in->subject.w, &how, &unreadable);
	if (!w->list)
		return err_set(e, ERR_INVALID, in->name, "its tokens cannot be read: %s",
		               unreadable.fact);
	/* A list of tokens alone does not state its kind. */
	w->kind = model_text(in->subject.w.plan, KEY "model");
	if (!w->kind)
		w->kind = tokenizer_kind(w->list);
	w->count = tokenizer_count(w->list);
	if (!(w->word = mem_array(w->count, sizeof *w->word)))
		return err_memory(e);
	for (i = 0; i < w->count; i++) {
		tokenizer_row(w->list, (uint32_t)i, &row);
		w->word[i] = (struct word){ row.text, row.n };
	}
	return 0;
}

bool
word_list_is_padding(const struct word_list *w, size_t i)
{
	const char *p = w->word[i].text;
	size_t n = w->word[i].n;

	if (!w->types || le32(w->types + 4 * i) != TOKEN_UNUSED)
		return false;
	if (n > 3 && memcmp(p, "\xe2\x96\x81", 3) == 0) { /* WordPiece */
		p += 3;
		n -= 3;
	}
	return n > 5 && memcmp(p, "[PAD", 4) == 0 && p[n - 1] == ']';
}

size_t
word_list_lowest(const struct word_list *w)
{
	float lowest = FLT_MAX, score;
	size_t at = w->count, i;

	for (i = 0; w->scores && i < w->count; i++) {
		score = le_f32(w->scores + 4 * i);
		if ((!w->types || le32(w->types + 4 * i) == TOKEN_NORMAL) && score < lowest) {
			lowest = score;
			at = i;
		}
	}
	return at;
}
