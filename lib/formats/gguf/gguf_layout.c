#include <inttypes.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/late.h"

static size_t
side_files(const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->blob_count; i++)
		n += strcmp(m->blobs[i].type, MODEL_VALUE) != 0;
	return n;
}

uint64_t
gguf_count_keys(const struct gguf_sink *s)
{
	const struct model *m = s->plan;
	uint64_t n = m->meta_count + (s->alignment_at != MODEL_NONE);
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		n += gguf_is_foreign(m->tensors[i]) ? 2 : 0;
	if (!s->options.plain)
		n += m->prov_count + m->signatures + 2 * side_files(m) +
		     (m->licence != MODEL_NONE);
	n += s->options.reserve > 0;
	return n + (s->split.count ? 3 : 0) + (s->order ? 1 : 0);
}

static int
check_tensor(const struct gguf_sink *s, size_t i, struct err *e)
{
	const struct tensor *t = s->plan->tensors[i];
	const char *name = tensor_name(t);
	bool ends_file = i + 1 == s->plan->tensor_count && !s->end_padded;

	if (strlen(name) > GGUF_NAME) {
		err_set(e, ERR_INVALID, name, "a name of %zu bytes, GGUF has at most %d",
		        strlen(name), GGUF_NAME);
		return err_hint(e, "-t apr2 and -t safetensors hold longer names");
	}
	if (gguf_is_foreign(t)) {
		if (s->options.plain)
			return err_set(e, ERR_INVALID, name,
			               "GGUF has no type %s, and --plain forbids a carrier: ExportFailed",
			               tensor_type(t)->name);
		return 0;
	}
	if (tensor_ndim(t) > GGUF_AXES) {
		err_set(e, ERR_INVALID, name, "%u dimensions, GGUF has at most %d",
		        tensor_ndim(t), GGUF_AXES);
		return err_hint(e, "-t apr2 and -t safetensors hold more");
	}
	if (!dtype_sized(tensor_type(t)) && tensor_bytes(t) & (s->alignment - 1) && !ends_file)
		return err_set(e, ERR_INVALID, name, "%" PRIu64 " bytes of the unknown type %s "
		               "can only lie on the alignment of their source",
		               tensor_bytes(t), tensor_type(t)->name);
	return 0;
}

static int
check_length(const char *prefix, const char *key, struct err *e)
{
	size_t n = strlen(prefix) + strlen(key);

	if (n <= GGUF_KEY)
		return 0;
	return err_set(e, ERR_INVALID, key, "a key of %zu bytes, GGUF has at most %d", n,
	               GGUF_KEY);
}

/* True if readers would take the file for a shard because of this key. */
static bool
is_shard_number(const struct meta *k)
{
	uint64_t n;

	return strcmp(k->key, GGUF_SPLIT_COUNT) == 0 && k->wire && k->type.depth == 0 &&
	       value_u64(k->type, k->wire, k->wire_bytes, &n) == 0 && n > 1;
}

int
gguf_check_key(const struct meta *k, struct err *e)
{
	static const char *const ours[] = { GGUF_BLOB, GGUF_TYPE, GGUF_LICENCE, GGUF_PROV,
		GGUF_SIGN, GGUF_DTYPE, GGUF_SHAPE, GGUF_SCALE, GGUF_ZERO, GGUF_JSON,
		GGUF_RESERVE, GGUF_KEPT, GGUF_ORDER, GGUF_ALIGN_KEY };
	size_t i;

	for (i = 0; i < sizeof ours / sizeof *ours; i++)
		if (strncmp(k->key, ours[i], strlen(ours[i])) == 0)
			return err_set(e, ERR_INVALID, k->key,
			               "is a key that GGUF files of ours use for themselves");
	if (gguf_is_split_key(k->key) && is_shard_number(k))
		return err_set(e, ERR_INVALID, k->key, "says that this is one of several files: "
		               "readers would look for the others");
	return check_length(gguf_is_json(k) ? GGUF_JSON : "", k->key, e);
}

/* Check that a side file's name fits into a key, and its type into a short value. */
static int
check_side_file(const struct blob *b, struct err *e)
{
	if (strlen(b->type) > GGUF_TYPE_BYTES)
		return err_set(e, ERR_INVALID, b->name, "a type of %zu bytes, GGUF files of ours "
		               "have at most %d", strlen(b->type), GGUF_TYPE_BYTES);
	return check_length(GGUF_BLOB, b->name, e);
}

static int
check_keys(const struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		if (gguf_check_key(&m->meta[i], e) < 0)
			return -1;
	for (i = 0; i < m->blob_count && !s->options.plain; i++)
		if (strcmp(m->blobs[i].type, MODEL_VALUE) != 0 &&
		    check_side_file(&m->blobs[i], e) < 0)
			return -1;
	return 0;
}

static int
place_tensors(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t at = 0;
	size_t i;

	s->offsets = mem_array(m->tensor_count, sizeof *s->offsets);
	if (!s->offsets)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++) {
		if (check_tensor(s, i, e) < 0)
			return -1;
		s->offsets[i] = at;
		if (num_add(at, gguf_stored_bytes(m->tensors[i]), &s->data_bytes) < 0 ||
		    num_align(s->data_bytes, s->alignment, &at) < 0)
			return err_set(e, ERR_INVALID, tensor_name(m->tensors[i]),
			               "its end does not fit in 64 bits");
	}
	return 0;
}

/* Choose the alignment: the requested one, or that of a GGUF source. general.alignment keeps
 * its place among the keys. */
static void
choose_alignment(struct gguf_sink *s)
{
	const struct model *m = s->plan;
	uint64_t v;

	s->alignment = GGUF_ALIGN;
	s->alignment_at = MODEL_NONE;
	s->end_padded = true;
	if (model_source_is(m, format_gguf.name)) {
		if (model_source_u64(m, "alignment", &v) == 0 && num_power_of_two(v) &&
		    v <= GGUF_ALIGN_MAX)
			s->alignment = v;
		if (model_source_u64(m, "alignment_at", &v) == 0)
			s->alignment_at = v;
		s->end_padded = !json_is_false(json_object_get(m->source, "end_padded"));
	}
	if (s->options.align)
		s->alignment = s->options.align;
	if (s->alignment != GGUF_ALIGN && s->alignment_at == MODEL_NONE)
		s->alignment_at = m->meta_count;
	if (s->alignment_at != MODEL_NONE)
		s->alignment_at = num_min(s->alignment_at, m->meta_count);
}

static int
refuse_late(struct gguf_sink *s, struct err *e)
{
	if (s->options.plain && s->options.reserve)
		return err_set(e, ERR_USAGE, s->out.name, "room in a GGUF file is a key of "
		               "ours, which --plain forbids");
	return s->options.plain ? 0 : late_refuse(&s->out, s->plan, "a GGUF file", e);
}

int
gguf_lay_out(struct gguf_sink *s, struct err *e)
{
	choose_alignment(s);
	return refuse_late(s, e) < 0 || place_tensors(s, e) < 0 || check_keys(s, e) < 0
	           ? -1 : 0;
}
