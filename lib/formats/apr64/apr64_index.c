#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/apr64/apr64_reader.h"
#include "model/layout.h"

static const uint8_t *
take(struct apr64_source *s, size_t n)
{
	if (n > s->index_left) {
		reader_fail(&s->reader, ERR_CORRUPT, "the index ends inside an entry");
		return NULL;
	}
	s->index_left -= n;
	return reader_take(&s->reader, n);
}

/* ---- type and shape of a tensor ---- */

/* The fields of an entry, and the type that they are taken for. */
struct described {
	const char *name;
	uint8_t code;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS], offset, bytes;
	const struct dtype *type;
};

/* True for a name that only GGUF files have for tensors. */
static bool
is_gguf_name(const char *name)
{
	static const char *const names[] = { "token_embd.weight", "output.weight",
		"output_norm.weight" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "blk.", 4) == 0;
}

/* Make a tensor of bytes if rows do not fill whole blocks, because no other container has such
 * tensors. Source keeps its code and shape. */
static struct tensor *
as_bytes(struct apr64_source *s, const struct described *d)
{
	struct err *e = s->reader.err;
	json_t *dims = json_array(), *row = json_pack("[i,o]", d->code, dims);
	unsigned i;
	int r = row ? 0 : -1;

	for (i = 0; r == 0 && i < d->ndim; i++)
		r = json_array_append_new(dims, json_from_u64(d->dims[i]));
	if (!s->blocks)
		s->blocks = json_object();
	if (r < 0 || json_object_set(s->blocks, d->name, row) < 0)
		err_memory(e);
	json_decref(row);
	if (e->code != ERR_NONE)
		return NULL;
	return tensor_new(d->name, strlen(d->name), dtype_by_name("U8"), 1, &d->bytes, d->bytes,
	                  s->reader.name, e);
}

/* Give a tensor that the apr tools stored as bytes its original type and shape. */
static struct tensor *
restore(struct apr64_source *s, const struct described *d, const json_t *row)
{
	const char *name = json_string_value(json_array_get(row, 0));
	const json_t *list = json_array_get(row, 1);
	const struct dtype *type = name ? dtype_by_name(name) : NULL;
	size_t i, n = json_array_size(list);
	bool good = type && json_is_array(list) && n <= TENSOR_DIMS && d->ndim == 1 &&
	            strcmp(d->type->name, "U8") == 0;
	uint64_t dims[TENSOR_DIMS];

	for (i = 0; good && i < n; i++)
		good = json_value_u64(json_array_get(list, i), &dims[i]) == 0;
	if (!good) {
		err_set(s->reader.err, ERR_CORRUPT, d->name, "contradicts " APR64_TENSORS);
		return NULL;
	}
	s->typed++;
	return tensor_new(d->name, strlen(d->name), type, (unsigned)n, dims, d->bytes,
	                  s->reader.name, s->reader.err);
}

static struct tensor *
make_tensor(struct apr64_source *s, struct described *d)
{
	bool gguf = !(s->header.flags & APR64_ROW_MAJOR) && is_gguf_name(d->name);
	const json_t *row = json_object_get(s->types, d->name);
	struct err *e = s->reader.err;
	unsigned i;
	int how;

	/* realizar's converter leaves shapes in GGUF's order, innermost first. */
	if (gguf && d->ndim > 1 && (s->header.flags & APR64_FLAGS) == APR64_QUANTIZED) {
		for (i = 0; i < d->ndim / 2; i++) {
			uint64_t dim = d->dims[i];

			d->dims[i] = d->dims[d->ndim - 1 - i];
			d->dims[d->ndim - 1 - i] = dim;
		}
		s->turned++;
	}
	how = apr64_type(d->code, d->ndim, d->dims, d->bytes, gguf, &d->type);
	if (how == -2) {
		err_set(e, ERR_FORMAT, d->name, "has the dtype code %u, which is not known",
		        d->code);
	} else if (how < 0) {
		err_set(e, ERR_CORRUPT, d->name, "%" PRIu64 " bytes are not a tensor of dtype code %u "
		        "and this shape", d->bytes, d->code);
	} else if (how == 1) {
		return as_bytes(s, d);
	} else if (row) {
		return restore(s, d, row);
	} else {
		return tensor_new(d->name, strlen(d->name), d->type, d->ndim, d->dims, d->bytes,
		                  s->reader.name, e);
	}
	return NULL;
}

/* ---- entries ---- */

/* Refuse two layouts that were never published, after a valid header. */
static int
refuse_private(struct apr64_source *s)
{
	size_t n;
	const uint8_t *p = reader_peek(&s->reader, 4, &n);
	const char *what = NULL;

	if (!p)
		return -1;
	if (n == 4 && s->index_left >= 4 && p[0] == '[' && p[1] == '{')
		what = "a JSON list as its index";
	else if (n == 4 && s->index_left >= 4 && le16(p) != 0 && p[2] == 0 && p[3] == 0)
		what = "an index with names of 32-bit length";
	if (!what)
		return 0;
	err_set(s->reader.err, ERR_FORMAT, s->reader.name, "is an APR file with %s, as parts "
	        "of realizar made them for themselves, which is not read here", what);
	return err_hint(s->reader.err, "import the model again from where it came");
}

static int
read_name(struct apr64_source *s)
{
	const uint8_t *p = take(s, 2);
	uint16_t length = p ? le16(p) : 0;

	if (!p)
		return -1;
	if (length == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "a tensor without a name");
	if (!(p = take(s, length)))
		return -1;
	buf_clear(&s->name);
	buf_put(&s->name, p, length);
	if (!buf_string(&s->name))
		return err_memory(s->reader.err);
	if (!text_utf8(s->name.p, length, false))
		return reader_fail(&s->reader, ERR_CORRUPT, "a tensor name is not UTF-8 text");
	return 0;
}

static int
read_entry(struct apr64_source *s)
{
	struct apr64_entry *x;
	struct described d = { 0 };
	const uint8_t *p;
	unsigned i;

	if (read_name(s) < 0 || !(p = take(s, 2)))
		return -1;
	d.name = (char *)s->name.p;
	d.code = p[0];
	d.ndim = p[1];
	if (d.ndim > TENSOR_DIMS)
		return err_set(s->reader.err, ERR_FORMAT, d.name,
		               "%u dimensions, at most 8 are possible", d.ndim);
	if (!(p = take(s, 8 * (size_t)d.ndim + 16)))
		return -1;
	for (i = 0; i < d.ndim; i++, p += 8)
		d.dims[i] = le64(p);
	d.offset = le64(p);
	d.bytes = le64(p + 8);
	if (mem_grow(&s->entries, &s->entry_cap, s->entry_count + 1, sizeof *s->entries) < 0)
		return err_memory(s->reader.err);
	x = &s->entries[s->entry_count];
	x->offset = d.offset;
	if (!(x->tensor = make_tensor(s, &d)))
		return -1;
	s->entry_count++;
	return 0;
}

/* Check that entries are sorted by name, which one of upstream's readers requires. model_check
 * proves that names are unique. */
static int
check_order(struct apr64_source *s)
{
	size_t i;

	for (i = 1; i < s->entry_count; i++)
		if (strcmp(tensor_name(s->entries[i - 1].tensor),
		           tensor_name(s->entries[i].tensor)) > 0)
			break;
	if (i >= s->entry_count)
		return 0;
	oddities_add(&s->odd, ODD_ORDER, tensor_name(s->entries[i].tensor), s->header.index_at, i);
	return apr64_warn(s, "its index is not sorted by name");
}

static int
read_entries(struct apr64_source *s)
{
	struct reader *r = &s->reader;
	uint32_t i;

	if (reader_skip(r, s->header.index_at - reader_tell(r)) < 0)
		return -1;
	s->index_left = s->header.data_at - s->header.index_at;
	if (s->header.count > 0 && refuse_private(s) < 0)
		return -1;
	for (i = 0; i < s->header.count; i++)
		if (read_entry(s) < 0)
			return -1;
	if (s->index_left >= APR64_ALIGN)
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64 " bytes are left in the index "
		                   "after its last entry", s->index_left);
	return reader_skip(r, s->index_left) < 0 ? -1 : check_order(s);
}

/* ---- places ---- */

/* Prove the places of the tensors at the alignment that writers use, or else at the largest
 * one that holds. */
static int
prove_places(struct apr64_source *s, struct extent *places)
{
	uint64_t length = s->reader.end;
	struct err trial = ERR_INIT;

	if (length != READER_UNKNOWN)
		length -= s->header.data_at;
	for (s->alignment = APR64_ALIGN; s->alignment > 1;
	     s->alignment /= 2, trial = (struct err)ERR_INIT)
		if (layout_prove(places, s->entry_count, s->alignment, length, &s->data_bytes,
		                 &trial) == 0)
			return 0;
	return layout_prove(places, s->entry_count, 1, length, &s->data_bytes, s->reader.err);
}

static int
fill_plan(struct apr64_source *s, const size_t *order, const struct extent *places)
{
	size_t i;

	for (i = 0; i < s->entry_count; i++) {
		struct apr64_entry *x = &s->entries[order[places[i].index]];
		struct tensor *t = x->tensor;

		s->offsets[i] = x->offset;
		x->tensor = NULL;
		if (model_add_tensor(&s->plan, t, s->reader.err) < 0)
			return -1;
	}
	return model_check(&s->plan, s->reader.name, s->reader.err);
}

static int
order_tensors(struct apr64_source *s)
{
	size_t i, n = s->entry_count, *order = mem_array(n, sizeof *order);
	struct extent *places = mem_array(n, sizeof *places);
	bool *empty = mem_array(n, sizeof *empty);
	struct err *e = s->reader.err;
	uint64_t end;
	int r = 0;

	s->offsets = mem_array(n, sizeof *s->offsets);
	if (!order || !places || !empty || !s->offsets)
		r = err_memory(e);
	for (i = 0; r == 0 && i < n; i++)
		empty[i] = tensor_bytes(s->entries[i].tensor) == 0;
	if (r == 0)
		r = ties_order(s->empty, empty, n, order, s->reader.name, e);
	for (i = 0; r == 0 && i < n; i++) {
		const struct apr64_entry *x = &s->entries[order[i]];

		places[i] = (struct extent){ x->offset, tensor_bytes(x->tensor), i,
			tensor_name(x->tensor) };
	}
	if (r == 0)
		r = prove_places(s, places);
	if (r == 0 && num_add(s->header.data_at, s->data_bytes, &end) < 0)
		r = reader_fail(&s->reader, ERR_CORRUPT, "the end of the data overflows");
	if (r == 0)
		r = fill_plan(s, order, places);
	free(order);
	free(places);
	free(empty);
	return r;
}

int
apr64_read_index(struct apr64_source *s)
{
	if (read_entries(s) < 0 || order_tensors(s) < 0)
		return -1;
	if (s->turned &&
	    apr64_warn(s, "has %zu shapes in GGUF's order, which are turned around", s->turned) < 0)
		return -1;
	if (!s->blocks)
		return 0;
	if (apr64_warn(s, "has %zu tensors whose rows do not fill blocks: they travel as bytes",
	               json_object_size(s->blocks)) < 0)
		return -1;
	return model_source_set(&s->plan, APR64_BLOCKS_MEMBER, json_incref(s->blocks),
	                        s->reader.err);
}
