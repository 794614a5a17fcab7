/* apr2_types: the dtype codes of APR2, as apr2(5) lists them. A type without a code of
 * its own, which only a plugin knows, has APR2_TYPE_NAMED in its index entry; apr_stream
 * lists the names of these types in the order of the index. */
#include <string.h>

#include "formats/apr2/apr2.h"

#define GGML_BEGIN 64 /* the first code that stands for a GGML number */
#define GGML_END 128  /* codes from here on are refused */

static const struct {
	uint8_t code;
	const char *name;
} types[] = {
	{ 0, "F32" },      { 1, "F16" },      { 2, "BF16" },     { 3, "I8" },
	{ 4, "I16" },      { 5, "I32" },      { 6, "I64" },      { 7, "U8" },
	{ 8, "Q4_K" },     { 9, "Q6_K" },     { 12, "Q5_K" },    { 13, "Q2_K" },
	{ 14, "Q3_K" },    { 16, "Q8_0" },    { 17, "Q4_0" },    { 18, "Q4_1" },
	{ 19, "Q5_0" },    { 20, "Q5_1" },
	/* Codes of the apr tools: neither text of APR2 has codes for these types. */
	{ 32, "U16" },     { 33, "U32" },     { 34, "U64" },     { 35, "BOOL" },
	{ 36, "F8_E4M3" }, { 37, "F8_E5M2" }, { 38, "F8_E8M0" }, { 39, "C64" },
	{ 40, "F64" },     { 48, "Q8_TENSOR" }, { 49, "APR_Q4" }, { 50, "APR_Q8" },
	/* Codes of the older text, which are read but not written. */
	{ 10, "Q8_0" },    { 11, "Q4_0" },
};
#define TYPES (sizeof types / sizeof *types)

int
apr2_type_code(const struct dtype *t)
{
	size_t i;

	if (t->named)
		return APR2_TYPE_NAMED;
	for (i = 0; i < TYPES; i++)
		if (strcmp(types[i].name, t->name) == 0)
			return types[i].code;
	if (t->ggml != DTYPE_NONE && t->ggml < GGML_END - GGML_BEGIN)
		return GGML_BEGIN + t->ggml;
	return DTYPE_NONE;
}

const struct dtype *
apr2_type(uint8_t code)
{
	const struct dtype *t;
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (types[i].code == code)
			return dtype_by_name(types[i].name);
	if (code < GGML_BEGIN || code >= GGML_END)
		return NULL;

	/* Each type has one code: 64 + 0 is not a second code of F32. */
	t = dtype_by_ggml(code - GGML_BEGIN);
	return apr2_type_code(t) == code ? t : NULL;
}

bool
apr2_types_needed(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (tensor_type(m->tensors[i])->named)
			return true;
	return false;
}

json_t *
apr2_types_list(const struct model *m, const size_t *by_name)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *t = tensor_type(m->tensors[by_name[i]]);

		if (t->named && json_array_append_new(list, json_string(t->name)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

const struct dtype *
apr2_types_next(struct apr2_meta *meta)
{
	const char *name = json_string_value(json_array_get(meta->types, meta->type++));
	const struct dtype *t = name ? dtype_by_name(name) : NULL;

	return t && t->named ? t : NULL;
}
