#include "formats/safetensors/safetensors.h"

#include <string.h>

#include "core/le.h"
#include "formats/safetensors/safetensors_folder.h"

const char *const safetensors_members[SAFETENSORS_MEMBERS] = { "dtype", "shape",
	"data_offsets" };

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

bool
safetensors_is_base64(const char *key)
{
	return begins(key, SAFETENSORS_BLOB) || begins(key, SAFETENSORS_PROV) ||
	       begins(key, SAFETENSORS_SIGN) || strcmp(key, SAFETENSORS_LICENCE) == 0;
}

bool
safetensors_is_ours(const char *key)
{
	return safetensors_is_base64(key) || begins(key, SAFETENSORS_DTYPE) ||
	       begins(key, SAFETENSORS_SHAPE) || strcmp(key, SAFETENSORS_LIST) == 0 ||
	       strcmp(key, SAFETENSORS_BLOBS) == 0 || strcmp(key, SAFETENSORS_SOURCE) == 0;
}

/* The types of the format, under the same names as in lib/model/dtype.c. */
static const char *const types[] = { "F32", "F16", "BF16", "I8", "I16", "I32", "I64", "U8",
	"U16", "U32", "U64", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0", "C64", "F64" };
#define TYPES (sizeof types / sizeof *types)

const struct dtype *
safetensors_dtype(const char *name)
{
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (strcmp(types[i], name) == 0)
			return dtype_by_name(name);
	return NULL;
}

const char *
safetensors_type(const struct dtype *t)
{
	return safetensors_dtype(t->name) ? t->name : NULL;
}

bool
safetensors_is_foreign(const struct tensor *t)
{
	return !safetensors_type(tensor_type(t));
}

bool
safetensors_is_string(const struct meta *k)
{
	return k->type.depth == 0 && k->type.leaf == VALUE_STRING;
}

size_t
safetensors_whole(const uint8_t *p, size_t n)
{
	size_t back = 0;

	while (back < 3 && back < n && (p[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < n && p[n - 1 - back] >= 0xc0)
		return n - 1 - back;
	return n;
}

/* ---- style ---- */

static bool
is_usual(const uint8_t *members)
{
	return members[0] == 0 && members[1] == 1 && members[2] == 2;
}

/* Set members from list, if list is a permutation. */
static void
get_members(uint8_t *members, const json_t *list)
{
	uint8_t found[SAFETENSORS_MEMBERS];
	unsigned i, k, seen = 0;

	if (json_array_size(list) != SAFETENSORS_MEMBERS)
		return;
	for (i = 0; i < SAFETENSORS_MEMBERS; i++) {
		const char *name = json_string_value(json_array_get(list, i));

		for (k = 0; k < SAFETENSORS_MEMBERS; k++)
			if (name && strcmp(name, safetensors_members[k]) == 0) {
				found[i] = (uint8_t)k;
				seen |= 1u << k;
			}
	}
	if (seen == (1u << SAFETENSORS_MEMBERS) - 1)
		memcpy(members, found, sizeof found);
}

void
safetensors_style_get(struct safetensors_style *style, const struct model *m)
{
	*style = (struct safetensors_style){ .metadata_at = MODEL_NONE,
		.padding = MODEL_NONE, .members = { 0, 1, 2 } };
	if (!model_source_is(m, format_safetensors.name))
		return;
	style->spaced = json_is_true(json_object_get(m->source, "spaced"));
	style->ascii = json_is_true(json_object_get(m->source, "ascii"));
	model_source_u64(m, "metadata_at", &style->metadata_at);
	model_source_u64(m, "padding", &style->padding);
	get_members(style->members, json_object_get(m->source, "members"));
}

int
safetensors_style_set(const struct safetensors_style *style, bool has_keys, json_t *source)
{
	int r = 0;

	if (style->spaced)
		r |= json_object_set_new(source, "spaced", json_true());
	if (style->ascii)
		r |= json_object_set_new(source, "ascii", json_true());
	if (style->metadata_at != MODEL_NONE && (style->metadata_at || !has_keys))
		r |= json_object_set_new(source, "metadata_at",
		                         json_from_u64(style->metadata_at));
	if (style->padding != MODEL_NONE)
		r |= json_object_set_new(source, "padding", json_from_u64(style->padding));
	if (!is_usual(style->members))
		r |= json_object_set_new(source, "members",
		                         json_pack("[s,s,s]",
		                                   safetensors_members[style->members[0]],
		                                   safetensors_members[style->members[1]],
		                                   safetensors_members[style->members[2]]));
	return r < 0 ? -1 : 0;
}

/* ---- the format ---- */

/* Accepts a header that is too long, so that the message can say so; but not if its length
 * is the magic of another format that has JSON at the same place. */
static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 9 && head[8] == '{' && le64(head) >> 40 == 0 &&
	       memcmp(head, "APR1", 4) != 0;
}

static bool
spools(const uint8_t *head, size_t n)
{
	(void)n; /* probe has checked that there are enough bytes */
	return le64(head) > SPOOL_MEMORY;
}

static const struct format_reads reads = {
	.skips = true,
	.open = safetensors_open,
	.open_path = safetensors_folder_open,
	.folder_of = safetensors_folder_of,
	.describe = safetensors_describe,
	.tensor_offset = safetensors_tensor_offset,
	.outline = safetensors_outline,
	.spools = spools,
};

static const struct format_writes writes = {
	.create = safetensors_create,
	.create_folder = ONLY_TOOLS(folder_create),
	.create_shards = ONLY_TOOLS(safetensors_create_shards),
	.reserves = true,
};

const struct format format_safetensors = {
	.name = "safetensors",
	.title = "safetensors",
	.suffix = "safetensors",
	.by_suffix = true,
	.probe = probe,
	.reads = &reads,
	.writes = ONLY_WRITES(&writes),
	.amend = ONLY_TOOLS(safetensors_amend),
};
