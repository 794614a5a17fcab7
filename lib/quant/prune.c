#include "quant/prune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"

#define NO_BLOCK UINT64_MAX

static int
number(const char **p, uint64_t *v)
{
	return text_digits(p, v) < 0 || *v == NO_BLOCK ? -1 : 0;
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int
prune_parse(struct prune *p, const char *list, struct err *e)
{
	const char *at = list;
	size_t i, n = 0;

	do {
		if (mem_grow(&p->blocks, &p->cap, p->n + 1, sizeof *p->blocks) < 0)
			return err_memory(e);
		if (number(&at, &p->blocks[p->n]) < 0 || (*at && *at != ','))
			return err_set(e, ERR_USAGE, list, "is not a list of blocks like 3,4,7");
		p->n++;
	} while (*at++);
	qsort(p->blocks, p->n, sizeof *p->blocks, by_number);
	for (i = 0; i < p->n; i++)
		if (n == 0 || p->blocks[i] != p->blocks[n - 1])
			p->blocks[n++] = p->blocks[i];
	p->n = n;
	return 0;
}

/* The block number in a name, and where its digits begin and end; NO_BLOCK if it has none. */
static uint64_t
block_of(const char *name, const char **from, const char **to)
{
	const char *at = name;
	uint64_t block;

	while ((at = strstr(at, "blk."))) {
		at += 4;
		*from = *to = at;
		if (number(to, &block) == 0 && **to == '.')
			return block;
	}
	return NO_BLOCK;
}

static bool
goes(const struct prune *p, uint64_t block)
{
	return p->n && bsearch(&block, p->blocks, p->n, sizeof block, by_number);
}

bool
prune_keeps(const struct prune *p, const char *name)
{
	const char *from, *to;
	uint64_t block = block_of(name, &from, &to);

	return block == NO_BLOCK || !goes(p, block);
}

/* A name in a new array; NULL if memory ran out. */
static char *
new_name(const struct prune *p, const char *name)
{
	const char *from, *to;
	uint64_t block = block_of(name, &from, &to);
	struct buf b = { 0 };
	char *result;
	size_t below = 0;

	if (block == NO_BLOCK)
		return mem_text(name, strlen(name));
	while (below < p->n && p->blocks[below] < block)
		below++;
	buf_put(&b, name, (size_t)(from - name));
	buf_printf(&b, "%" PRIu64 "%s", block - below, to);
	result = buf_ok(&b) ? mem_text((char *)b.p, b.n) : NULL;
	buf_free(&b);
	return result;
}

/* Mark the blocks that stay, and prove that every listed block exists and some stay. */
static int
mark(const struct prune *p, const struct model *m, bool *keep, struct err *e)
{
	bool *seen = mem_array(p->n, sizeof *seen), left = false;
	const char *from, *to;
	size_t i;
	int r = 0;

	if (!seen)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++) {
		uint64_t block = block_of(tensor_name(m->tensors[i]), &from, &to), *found;

		keep[i] = block == NO_BLOCK || !goes(p, block);
		left |= block != NO_BLOCK && keep[i];
		if (!keep[i]) {
			found = bsearch(&block, p->blocks, p->n, sizeof block, by_number);
			seen[found - p->blocks] = true;
		}
	}
	for (i = 0; r == 0 && i < p->n; i++)
		if (!seen[i])
			r = err_set(e, ERR_USAGE, NULL, "there is no block %" PRIu64
			            " to be left out", p->blocks[i]);
	if (r == 0 && !left)
		r = err_set(e, ERR_USAGE, NULL, "no block would be left");
	free(seen);
	return r;
}

/* The key that holds the number of blocks; its name goes to key. */
static const struct meta *
count_key(const struct model *m, char *key, size_t size)
{
	const struct meta *k = model_find(m, "general.architecture");
	const char *text = NULL;
	size_t n = 0;

	if (k && k->wire)
		text = value_string(k->type, k->wire, k->wire_bytes, &n);
	if (!text || n > 100)
		return NULL;
	snprintf(key, size, "%.*s.block_count", (int)n, text);
	return model_find(m, key);
}

/* ---- lists in the metadata ---- */

#define LIST_HEAD 12 /* bytes before the items of an array: u32 type, u64 count */

/* True if the key belongs to that architecture ("llama.") and is a list with an item for
 * each block. The keys named here never are, however many items they have. */
static bool
lists_blocks(const struct meta *k, const char *architecture, uint64_t blocks)
{
	static const char *const others[] = { "rope.dimension_sections",
		"classifier.output_labels" };
	size_t i, n = strlen(architecture);

	if (k->type.depth == 0 || strncmp(k->key, architecture, n) != 0)
		return false;
	for (i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(k->key + n, others[i]) == 0)
			return false;
	return !k->wire || (k->wire_bytes >= LIST_HEAD && le64(k->wire + 4) == blocks);
}

/* The bytes of the item at p, of n bytes left. The wire form was proved when it was read. */
static size_t
item_bytes(unsigned leaf, const uint8_t *p, size_t n)
{
	size_t size = value_leaf_bytes(leaf);

	if (size == 0)
		size = n >= 8 ? 8 + (size_t)le64(p) : n;
	return size < n ? size : n;
}

/* Write the list k without the items of removed blocks to b. */
static void
shorten(const struct prune *p, const struct meta *k, struct buf *b)
{
	uint64_t blocks = le64(k->wire + 4), i, left = 0;
	size_t at = LIST_HEAD, n;

	buf_u32(b, le32(k->wire));
	buf_u64(b, 0);
	for (i = 0; i < blocks; i++, at += n) {
		n = item_bytes(k->type.leaf, k->wire + at, k->wire_bytes - at);
		if (!goes(p, i)) {
			buf_put(b, k->wire + at, n);
			left++;
		}
	}
	if (buf_ok(b))
		le64_put(b->p + 4, left);
}

static int
shorten_all(const struct prune *p, struct model *m, const char *architecture,
            uint64_t blocks, struct err *e)
{
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (!k->wire || k->type.depth != 1 || !lists_blocks(k, architecture, blocks))
			continue;
		buf_clear(&b);
		shorten(p, k, &b);
		r = buf_ok(&b) ? model_set_meta(m, k->key, k->type, b.p, b.n, e) : err_memory(e);
	}
	buf_free(&b);
	return r;
}

int
prune_keys(const struct prune *p, struct model *m, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	const struct meta *k;
	uint8_t wire[4];
	char key[128], architecture[128];
	uint64_t n;

	k = p->n ? count_key(m, key, sizeof key) : NULL;
	if (!k)
		return 0;
	if (!k->wire || value_u64(k->type, k->wire, k->wire_bytes, &n) < 0 || n < p->n ||
	    n - p->n > UINT32_MAX)
		return err_set(e, ERR_INVALID, key, "is not a number of blocks");
	memcpy(architecture, key, sizeof key);
	architecture[strlen(key) - strlen("block_count")] = '\0';
	if (shorten_all(p, m, architecture, n, e) < 0)
		return -1;
	le32_put(wire, (uint32_t)(n - p->n));
	return model_put_meta(m, key, u32, wire, sizeof wire, e);
}

const char *
prune_list(const struct prune *p, const struct model *m)
{
	const struct meta *k;
	char key[128];
	uint64_t blocks;
	size_t i;

	k = p->n ? count_key(m, key, sizeof key) : NULL;
	if (!k || !k->wire || value_u64(k->type, k->wire, k->wire_bytes, &blocks) < 0)
		return NULL;
	key[strlen(key) - strlen("block_count")] = '\0';
	for (i = 0; i < m->meta_count; i++) {
		k = &m->meta[i];
		if ((!k->wire || k->type.depth > 1) && lists_blocks(k, key, blocks))
			return k->key;
	}
	return NULL;
}

/* ---- tensors ---- */

static int
rename_all(const struct prune *p, struct model *m, struct err *e)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];
		char *name = new_name(p, tensor_name(t));
		struct tensor *renamed;

		if (!name)
			return err_memory(e);
		renamed = tensor_new(name, strlen(name), tensor_type(t), tensor_ndim(t),
		                     tensor_dims(t), tensor_bytes(t), "--prune-layers", e);
		free(name);
		if (!renamed)
			return -1;
		tensor_free(m->tensors[i]);
		m->tensors[i] = renamed;
	}
	return 0;
}

int
prune_apply(const struct prune *p, struct model *m, struct err *e)
{
	bool *keep;
	int r;

	if (p->n == 0)
		return 0;
	keep = mem_array(m->tensor_count, sizeof *keep);
	if (!keep)
		return err_memory(e);
	r = mark(p, m, keep, e);
	if (r == 0)
		r = model_keep(m, keep, e);
	free(keep);
	return r == 0 ? rename_all(p, m, e) : r;
}

int
prune_imatrix(const struct prune *p, struct imatrix *x, struct err *e)
{
	size_t i;

	for (i = 0; p->n && i < x->n; i++) {
		char *old = x->entries[i].name;
		char *name = prune_keeps(p, old) ? new_name(p, old) : mem_text("", 0);

		if (!name)
			return err_memory(e);
		x->entries[i].name = name;
		free(old);
	}
	imatrix_sort(x);
	return 0;
}

void
prune_free(struct prune *p)
{
	free(p->blocks);
	*p = (struct prune){ 0 };
}
