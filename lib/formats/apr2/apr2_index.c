#include "formats/apr2/apr2_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/ties.h"
#include "model/layout.h"

/* ---- entries ---- */

static const uint8_t *
take(struct apr2_source *s, size_t n)
{
	if (n > s->index_left) {
		reader_fail(&s->reader, ERR_CORRUPT, "the index ends inside an entry");
		return NULL;
	}
	s->index_left -= n;
	return reader_take(&s->reader, n);
}

/* Check that names ascend strictly, which proves that they are sorted and unique. */
static int
check_order(struct apr2_source *s)
{
	const char *before, *name;
	int order;

	if (s->entry_count < 2)
		return 0;
	before = tensor_name(s->entries[s->entry_count - 2].tensor);
	name = tensor_name(s->entries[s->entry_count - 1].tensor);
	order = strcmp(before, name);
	if (order < 0)
		return 0;
	return err_set(s->reader.err, ERR_CORRUPT, name, order == 0
	               ? "occurs twice in the index"
	               : "the index is not sorted: it stands after a later name");
}

/* Check the form of a sparse entry. */
static int
check_sparse(struct apr2_entry *t, uint32_t flags, const char *name, struct err *e)
{
	t->form = apr2_sparse(flags);
	if (flags & (APR2_CODECS | APR2_SEALED))
		return err_set(e, ERR_FORMAT, name,
		               "is stored sparse and in yet another way, which is not read here");
	if (!t->form.kind || !sparse_form_valid(t->form) || flags != apr2_sparse_flags(t->form))
		return err_set(e, ERR_FORMAT, name, "is stored sparse in the unknown form 0x%" PRIx32,
		               flags);
	return 0;
}

/* Check the fields that state how the entry is stored. The sizes are proved later, against
 * type and shape. */
static int
check_stored(struct apr2_source *s, struct apr2_entry *t, uint64_t raw, uint32_t flags)
{
	const char *name = (char *)s->name.p;
	struct err *e = s->reader.err;

	t->sealed = flags & APR2_SEALED;
	if (t->sealed && flags != APR2_SEALED)
		return err_set(e, ERR_FORMAT, name,
		               "is stored sealed and in yet another way, which is not read here");
	if (t->sealed != (s->plan.sealed != 0))
		return err_set(e, ERR_CORRUPT, name, t->sealed
		               ? "is sealed, but the metadata says that nothing is"
		               : "is not sealed, but the metadata says that all is");
	if (t->sealed)
		return 0;
	if (flags & APR2_SPARSE && check_sparse(t, flags, name, e) < 0)
		return -1;
	if (!t->form.kind && flags & ~(uint32_t)APR2_CODECS)
		return err_set(e, ERR_FORMAT, name, "is stored with the unknown flags 0x%" PRIx32,
		               flags);
	t->codec = t->form.kind ? codec_sparse(t->form.kind) : apr2_codec(flags);
	if (flags && !t->codec)
		return err_set(e, ERR_CORRUPT, name, "is stored both with lz4 and with zstd");
	if (!t->codec && raw)
		return err_set(e, ERR_FORMAT, name, "is stored compressed, from %" PRIu64
		               " bytes, and no flag tells how", raw);
	if (t->codec && !codec_plausible(t->codec, t->stored, raw))
		return err_set(e, ERR_CORRUPT, name, "%" PRIu64 " bytes of %s cannot stand for %"
		               PRIu64, t->stored, t->codec->name, raw);
	if (t->codec && raw == 0)
		return err_set(e, ERR_CORRUPT, name, "is stored with %s, but from no bytes",
		               t->codec->name);
	return 0;
}

/* Keep the entry at p, whose dtype and number of axes have been checked. */
static int
keep_entry(struct apr2_source *s, const struct dtype *type, unsigned ndim,
           const uint8_t *p)
{
	uint64_t dims[TENSOR_DIMS], size, raw, sealed;
	struct err *e = s->reader.err;
	struct apr2_entry *t;
	unsigned i;

	for (i = 0; i < ndim; i++, p += 8)
		dims[i] = le64(p);
	if (mem_grow(&s->entries, &s->entry_cap, s->entry_count + 1,
	             sizeof *s->entries) < 0)
		return err_memory(e);
	t = &s->entries[s->entry_count];
	t->offset = le64(p);
	t->stored = le64(p + 8);
	t->form = (struct sparse_form){ SPARSE_NONE, 0 };
	raw = le64(p + 16);
	if (check_stored(s, t, raw, le32(p + 24)) < 0)
		return -1;
	size = t->codec || t->sealed ? raw : t->stored;
	t->tensor = tensor_new((char *)s->name.p, s->name.n, type, ndim, dims, size,
	                       s->reader.name, e);
	if (!t->tensor)
		return -1;
	tensor_set_form(t->tensor, t->form);
	s->entry_count++;
	if (t->form.kind && !tensor_form(t->tensor).kind)
		return err_set(e, ERR_CORRUPT, tensor_name(t->tensor), "is stored sparse, which a "
		               "tensor of %s cannot be", type->name);
	if (tensor_bytes(t->tensor) != size)
		return err_set(e, ERR_CORRUPT, tensor_name(t->tensor), "%s of this shape takes %"
		               PRIu64 " bytes, not %" PRIu64, type->name,
		               tensor_bytes(t->tensor), size);
	if (t->sealed && (model_sealed_bytes(size, &sealed) < 0 || t->stored != sealed))
		return err_set(e, ERR_CORRUPT, tensor_name(t->tensor), "%" PRIu64
		               " bytes cannot be %" PRIu64 " that are sealed", t->stored, size);
	return check_order(s);
}

static int
read_entry(struct apr2_source *s)
{
	const uint8_t *p = take(s, 2);
	const struct dtype *type;
	struct err *e = s->reader.err;
	uint16_t length = p ? le16(p) : 0;
	uint8_t code;
	unsigned ndim;

	if (!p)
		return -1;
	if (length == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "a tensor without a name");
	if (!(p = take(s, length)))
		return -1;
	buf_clear(&s->name);
	buf_put(&s->name, p, length);
	if (!buf_string(&s->name))
		return err_memory(e);
	if (!(p = take(s, 2)))
		return -1;
	code = p[0];
	ndim = p[1];
	type = apr2_type(code);
	if (code == APR2_TYPE_NAMED && !(type = apr2_types_next(&s->meta)))
		return err_set(e, ERR_CORRUPT, (char *)s->name.p,
		               "has a dtype by name, and no such name is listed");
	if (!type)
		return err_set(e, ERR_FORMAT, (char *)s->name.p,
		               "has the dtype code %u, which is not assigned: UnsupportedQuantization", code);
	if (ndim > TENSOR_DIMS)
		return err_set(e, ERR_FORMAT, (char *)s->name.p,
		               "%u dimensions, at most 8 are possible", ndim);
	p = take(s, APR2_ENTRY - 4 + 8 * (size_t)ndim);
	return p ? keep_entry(s, type, ndim, p) : -1;
}

static int
read_entries(struct apr2_source *s)
{
	struct reader *r = &s->reader;
	const uint8_t *p;
	uint32_t count, i;

	if (reader_skip(r, s->header.index_at - reader_tell(r)) < 0)
		return -1;
	s->index_left = s->header.index_bytes;
	p = take(s, APR2_INDEX_HEAD);
	if (!p)
		return -1;
	count = le32(p);
	if (count > s->index_left / (APR2_ENTRY + 1))
		return reader_fail(r, ERR_CORRUPT, "an index of %" PRIu32 " tensors does not fit "
		                   "into its %" PRIu64 " bytes", count, s->index_left);
	for (i = 0; i < count; i++)
		if (read_entry(s) < 0)
			return -1;
	if (s->meta.type != json_array_size(s->meta.types))
		return reader_fail(r, ERR_CORRUPT, "more names of types are listed than entries "
		                   "have one");
	if (s->index_left)
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64 " bytes are left in the index "
		                   "after its last entry", s->index_left);
	return 0;
}

/* ---- stream order ---- */

/* Prove the places of the tensors at the alignment of the flags or, without a flag, at the
 * largest alignment that holds. */
static int
prove_places(struct apr2_source *s, struct extent *places)
{
	const struct apr2_header *h = &s->header;
	uint64_t length = s->reader.end;
	struct err trial = ERR_INIT;
	unsigned least = 1;

	if (length != READER_UNKNOWN)
		length -= (uint64_t)h->data_at + APR2_FOOTER;
	s->alignment = 64;
	if (h->flags & APR2_ALIGNED_64)
		least = 64;
	else if (h->flags & APR2_ALIGNED_32)
		s->alignment = least = 32;
	for (; s->alignment > least; s->alignment /= 2, trial = (struct err)ERR_INIT)
		if (h->data_at % s->alignment == 0 &&
		    layout_prove(places, s->entry_count, s->alignment, length,
		                 &s->data_bytes, &trial) == 0)
			return 0;
	if (h->data_at % s->alignment != 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "the data begins at byte %" PRIu32
		                   ", which is not a multiple of %u", h->data_at, s->alignment);
	return layout_prove(places, s->entry_count, s->alignment, length, &s->data_bytes,
	                    s->reader.err);
}

/* Move the tensors into the plan, in the order of their data. */
static int
fill_plan(struct apr2_source *s, const size_t *order, const struct extent *places)
{
	size_t i;

	for (i = 0; i < s->entry_count; i++) {
		struct apr2_entry *t = &s->entries[order[places[i].index]];
		struct tensor *tensor = t->tensor;

		s->entry_of[i] = order[places[i].index];
		t->tensor = NULL;
		if (t->stored > 0)
			oddities_place(&s->odd, tensor_name(tensor), s->header.data_at + t->offset, 32);
		if (model_add_tensor(&s->plan, tensor, s->reader.err) < 0)
			return -1;
	}
	return 0;
}

static int
order_tensors(struct apr2_source *s)
{
	size_t i, n = s->entry_count, *order = mem_array(n, sizeof *order);
	struct extent *places = mem_array(n, sizeof *places);
	bool *empty = mem_array(n, sizeof *empty);
	uint64_t end;
	int r = 0;

	s->entry_of = mem_array(n, sizeof *s->entry_of);
	if (!order || !places || !empty || !s->entry_of)
		r = err_memory(s->reader.err);
	for (i = 0; r == 0 && i < n; i++)
		empty[i] = s->entries[i].stored == 0;
	if (r == 0)
		r = ties_order(s->meta.empty, empty, n, order, s->reader.name, s->reader.err);
	for (i = 0; r == 0 && i < n; i++) {
		const struct apr2_entry *t = &s->entries[order[i]];

		places[i] = (struct extent){ t->offset, t->stored, i, tensor_name(t->tensor) };
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

/* Check that the header's flags agree with the entries. */
static int
check_flag(struct apr2_source *s)
{
	bool any = false;
	size_t i;

	for (i = 0; i < s->entry_count; i++)
		any |= s->entries[i].codec && !s->entries[i].form.kind;
	if (any == ((s->header.flags & APR2_COMPRESSED) != 0))
		return 0;
	return apr2_warn(s, any ? "is not marked as compressed, but a tensor is"
	                        : "is marked as compressed, but no tensor is");
}

int
apr2_read_index(struct apr2_source *s)
{
	if (read_entries(s) < 0 || order_tensors(s) < 0)
		return -1;
	return check_flag(s);
}
