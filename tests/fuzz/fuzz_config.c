/* fuzz_config: a model folder: config.json, the list of tensors, other side files (folders.h has
 * the form of the input); the bytes of tensors follow from their places. Whatever the files say,
 * the folder becomes GGUF, or a model of another form, or is refused with an error that a
 * terminal can show. What is made has a valid plan, the sizes that it announces, and can be
 * adapted once more. Weights that the folder packs have the same values in one piece and row by
 * row.
 *
 * Besides the fuzzer's own changes, the mutator writes whole folders of each method of packing
 * and changes single members and tensors of a folder.
 */
#include "mutate.h"

#include "adapt/adapt.h"
#include "adapt/packed/packed.h"
#include "core/mem.h"
#include "folders.h"
#include "kernels/kernel.h"

#define VALUES ((uint64_t)1 << 13) /* of a weight that is computed */
#define ROWS 12                    /* of it that are computed alone */
#define BYTES ((uint64_t)1 << 19)  /* of all tensors of a model that is read whole */

/* ---- a source ---- */

struct folder {
	struct source base;
	struct model plan;
	struct input in;
	size_t blob, tensor; /* that come next */
	uint64_t left;       /* of the body */
	bool file;           /* the body is a file's */
	uint8_t bytes[4096];
};

static int
folder_next(struct source *s, struct item *item, struct err *e)
{
	struct folder *f = (struct folder *)s;

	(void)e;
	f->file = f->blob < f->plan.blob_count;
	if (f->file) {
		*item = (struct item){ .kind = ITEM_BLOB, .index = f->blob,
			.bytes = f->plan.blobs[f->blob].bytes };
		f->blob++;
	} else if (f->tensor < f->plan.tensor_count) {
		*item = (struct item){ .kind = ITEM_TENSOR, .index = f->tensor,
			.bytes = tensor_bytes(f->plan.tensors[f->tensor]) };
		f->tensor++;
	} else {
		return 0;
	}
	f->left = item->bytes;
	return 1;
}

static int
folder_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct folder *f = (struct folder *)s;
	size_t i;

	(void)e;
	*p = f->file ? f->in.files[f->blob - 1].p : f->bytes;
	*n = (size_t)(f->file || f->left < sizeof f->bytes ? f->left : sizeof f->bytes);
	for (i = 0; !f->file && i < *n; i++)
		f->bytes[i] = (uint8_t)((f->left - i) * 37 + f->tensor) & 0x3f;
	f->left -= *n;
	return 0;
}

static void
folder_close(struct source *s)
{
	(void)s;
}

static const struct source_ops folder_ops = { .next = folder_next, .read = folder_read,
	.close = folder_close };

static int
folder_open(struct folder *f, const uint8_t *data, size_t size, struct err *e)
{
	size_t i;

	*f = (struct folder){ .base = { .ops = &folder_ops, .name = "in", .note = fuzz_note } };
	f->base.plan = &f->plan;
	must(model_init(&f->plan, e) == 0);
	model_set_folder(&f->plan, "folder");
	if (input_read(&f->in, data, size, &f->plan, e) < 0)
		return -1;
	for (i = 0; i < f->in.count; i++)
		if (model_add_blob(&f->plan, f->in.files[i].name, "text", f->in.files[i].n, e) < 0)
			return -1;
	return model_check(&f->plan, "in", e);
}

static void
folder_again(struct folder *f)
{
	f->blob = f->tensor = 0;
}

static void
folder_free(struct folder *f)
{
	model_free(&f->plan);
	input_free(&f->in);
}

/* ---- weights ---- */

/* Bytes that depend only on their place; groups of columns are small numbers, and shapes those
 * of their weight. */
struct bytes {
	const struct packed *p;
	uint64_t seed;
};

static int
bytes_read(void *ctx, size_t tensor, uint64_t offset, uint8_t *dst, size_t n, struct err *e)
{
	const struct bytes *b = ctx;
	const struct tensor *t = NULL;
	uint64_t dims[2] = { 0, 0 };
	size_t i, part;

	(void)e;
	for (part = 0; part < PACKED_PARTS && b->p->part[part] != tensor; part++)
		;
	must(part < PACKED_PARTS);
	t = b->p->from[part];
	must(offset <= tensor_bytes(t) && n <= tensor_bytes(t) - offset);
	memcpy(dims, tensor_dims(b->p->tensor), tensor_ndim(b->p->tensor) > 1 ? sizeof dims : 8);
	for (i = 0; i < n; i++) {
		uint64_t at = (offset + i) * 0x9e3779b97f4a7c15u + b->seed + tensor;

		dst[i] = (uint8_t)(at >> 40);
		if (part == PACKED_INDEX)
			dst[i] = (offset + i) % 4 ? 0 : dst[i] % 3;
		if (part == PACKED_SHAPE)
			dst[i] = (uint8_t)(dims[(offset + i) / 8 % 2] >> (offset + i) % 8 * 8);
	}
	return 0;
}

/* Rows in one piece, and row by row. */
static void
compute(const struct packed *p, uint64_t seed)
{
	uint64_t n = tensor_row(p->tensor), rows = n ? tensor_items(p->tensor) / n : 0, r, done = rows;
	struct bytes b = { p, seed };
	const struct packed_reader in = { bytes_read, &b };
	bool blocks = tensor_type(p->tensor)->items > 1;
	struct err e = ERR_INIT;
	float *all = mem_array(rows * n, sizeof *all), *one = mem_array(n, sizeof *one);
	uint8_t *packed = mem_array(rows * n, 1);

	must(all && one && packed);
	if (packed_rows(p, &in, 0, rows, all, &e) < 0) {
		fuzz_refused(&e, false);
		done = 0;
	}
	for (r = 0; r < done; r += done / ROWS + 1) {
		must_say(packed_rows(p, &in, r, 1, one, &e) == 0, &e);
		must(memcmp(all + r * n, one, n * sizeof *one) == 0);
	}
	if (blocks && done > 0) {
		must_say(packed_blocks(p, &in, 0, rows, packed, &e) == 0, &e);
		for (r = 0; r < rows; r++) {
			kernel_decode(tensor_type(p->tensor), NULL, packed + r * n / 32 * 17, one, n);
			must(memcmp(all + r * n, one, n * sizeof *one) == 0);
		}
	}
	must(packed_rows(p, &in, rows + 1, 1, one, &e) < 0 || n == 0);
	free(all);
	free(one);
	free(packed);
}

static void
weights(const struct subject *s, uint64_t seed)
{
	struct packed_list list;
	struct err e = ERR_INIT;
	size_t i, k;

	if (packed_find(s, &list, &e) < 0)
		fuzz_refused(&e, false);
	else
		must_say(e.code == ERR_NONE, &e);
	for (i = 0; i < list.count && e.code == ERR_NONE; i++) {
		const struct packed *p = &list.p[i];

		must(p->at < s->plan->tensor_count);
		for (k = 0; k < PACKED_PARTS; k++)
			must(p->part[k] == SIZE_MAX ? !p->from[k] : list.consumed[p->part[k]] &&
			     p->from[k] == s->plan->tensors[p->part[k]]);
		if (tensor_items(p->tensor) <= VALUES)
			compute(p, seed);
	}
	packed_free(&list);
}

/* ---- the whole model ---- */

/* Read to the end: each body has the size that its item and the plan announce. */
static void
read_whole(struct source *s)
{
	struct err e = ERR_INIT;
	struct item item;
	const uint8_t *p;
	uint64_t bytes, head, body;
	size_t n;
	int r;

	while ((r = source_next(s, &item, &e)) == 1) {
		bytes = 0;
		do {
			if (source_read(s, &p, &n, &e) < 0)
				break;
			bytes += n;
		} while (n > 0);
		if (e.code != ERR_NONE)
			break;
		item_sizes(s->plan, item.kind, item.index, &head, &body);
		must(bytes == item.bytes && (item.kind == ITEM_OTHER || bytes == body));
	}
	if (e.code != ERR_NONE)
		fuzz_refused(&e, true);
	else
		must(r == 0);
}

static struct source *
adapted(struct source *from, enum arch_form form, unsigned way, struct err *e)
{
	static const char *const names[] = { "F32", "F16", "BF16", "Q8_0" };
	const struct adapt_options o = { .form = form, .relaxed = way & 1, .no_record = way & 2,
		.type = way & 4 ? dtype_by_name(names[way >> 4 & 3]) : NULL, .jobs = 1 };
	struct source *s = adapt_source(from, &o, e);

	must_say((s != NULL) == (e->code == ERR_NONE), e);
	if (!s)
		fuzz_refused(e, true);
	else
		must_say(model_check(s->plan, "made", e) == 0, e);
	return s;
}

static void
adapt(struct folder *f, unsigned way)
{
	static const enum arch_form forms[] = { ARCH_GGUF, ARCH_FOLDER, ARCH_APR, ARCH_FOLDER };
	bool small = model_tensor_bytes(&f->plan) <= BYTES;
	struct err e = ERR_INIT;
	struct source *first, *second = NULL;

	first = adapted(&f->base, way & 0x3000 || !small ? ARCH_GGUF : ARCH_APR, way, &e);
	if (first && small && way & 256)
		second = adapted(first, forms[way >> 14 & 3], way, &e);
	if (first && small && e.code == ERR_NONE && (way & 0xc00) == 0 &&
	    model_tensor_bytes(first->plan) <= 8 * BYTES)
		read_whole(second ? second : first);
	source_close(second);
	source_close(first);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned way = crc32_add(0, data, size);
	struct folder f;
	struct subject s = { 0 };
	struct item next;
	struct err e = ERR_INIT;
	bool more;

	if (fuzz_way >= 0)
		way = (unsigned)fuzz_way * 0x9d;
	if (folder_open(&f, data, size, &e) == 0 &&
	    subject_read(&s, &f.base, NULL, &next, &more, &e) == 0) {
		weights(&s, way);
		folder_again(&f);
		adapt(&f, way);
	} else {
		fuzz_refused(&e, false);
	}
	subject_close(&s);
	folder_free(&f);
	return 0;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	unsigned way = roll(&d, 8);
	struct buf b = { 0 };

	if (way == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (way == 1 || input_change(&d, data, size, &b) < 0) {
		buf_clear(&b);
		put_folder(&d, &b);
	}
	return mutate_done(&b, data, size, max);
}
