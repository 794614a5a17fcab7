#include "model/dtype.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Columns: name, values a block, bytes a block, GGML number, APR2 code, older
 * APR2 code, safetensors name. */
#define ROW(NAME, ITEMS, BYTES, GGML, APR2, OLD, SAFE) { \
	.name = NAME, \
	.items = ITEMS, \
	.bytes = BYTES, \
	.ggml = GGML, \
	.apr2 = APR2, \
	.apr2_old = OLD, \
	.safetensors = SAFE, \
	.quantized = (ITEMS) > 1, \
}
/* One of our own, whose blocks run over the whole tensor after HEAD bytes. */
#define WHOLE(NAME, HEAD, ITEMS, BYTES, APR2) { \
	.name = NAME, \
	.items = ITEMS, \
	.bytes = BYTES, \
	.head = HEAD, \
	.whole = true, \
	.ggml = NONE, \
	.apr2 = APR2, \
	.apr2_old = NONE, \
	.quantized = true, \
}
#define NONE DTYPE_NONE

static const struct dtype rows[] = {
	/* Plain types that both texts of APR2 number alike. */
	ROW("F32", 1, 4, 0, 0, NONE, "F32"),
	ROW("F16", 1, 2, 1, 1, NONE, "F16"),
	ROW("BF16", 1, 2, 30, 2, NONE, "BF16"),
	ROW("I8", 1, 1, 24, 3, NONE, "I8"),
	ROW("I16", 1, 2, 25, 4, NONE, "I16"),
	ROW("I32", 1, 4, 26, 5, NONE, "I32"),
	ROW("I64", 1, 8, 27, 6, NONE, "I64"),
	ROW("U8", 1, 1, NONE, 7, NONE, "U8"),

	/* Plain types that neither text numbers. */
	ROW("U16", 1, 2, NONE, 32, NONE, "U16"),
	ROW("U32", 1, 4, NONE, 33, NONE, "U32"),
	ROW("U64", 1, 8, NONE, 34, NONE, "U64"),
	ROW("BOOL", 1, 1, NONE, 35, NONE, "BOOL"),
	ROW("F8_E4M3", 1, 1, NONE, 36, NONE, "F8_E4M3"),
	ROW("F8_E5M2", 1, 1, NONE, 37, NONE, "F8_E5M2"),
	ROW("F8_E8M0", 1, 1, NONE, 38, NONE, "F8_E8M0"),
	ROW("C64", 1, 8, NONE, 39, NONE, "C64"),
	ROW("F64", 1, 8, 28, 40, NONE, "F64"),

	/* Blocks of 32, with one scale (and offset) a block. */
	ROW("Q4_0", 32, 18, 2, 17, 11, NULL),
	ROW("Q4_1", 32, 20, 3, 18, NONE, NULL),
	ROW("Q5_0", 32, 22, 6, 19, NONE, NULL),
	ROW("Q5_1", 32, 24, 7, 20, NONE, NULL),
	ROW("Q8_0", 32, 34, 8, 16, 10, NULL),
	ROW("Q8_1", 32, 36, 9, NONE, NONE, NULL),
	ROW("IQ4_NL", 32, 18, 20, NONE, NONE, NULL),
	ROW("MXFP4", 32, 17, 39, NONE, NONE, NULL),

	/* Blocks of 64 and 128. */
	ROW("NVFP4", 64, 36, 40, NONE, NONE, NULL),
	ROW("Q2_0", 64, 18, 42, NONE, NONE, NULL),
	ROW("Q1_0", 128, 18, 41, NONE, NONE, NULL),

	/* Blocks of 256. */
	ROW("Q2_K", 256, 84, 10, 13, NONE, NULL),
	ROW("Q3_K", 256, 110, 11, 14, NONE, NULL),
	ROW("Q4_K", 256, 144, 12, 8, NONE, NULL),
	ROW("Q5_K", 256, 176, 13, 12, NONE, NULL),
	ROW("Q6_K", 256, 210, 14, 9, NONE, NULL),
	ROW("Q8_K", 256, 292, 15, NONE, NONE, NULL),
	ROW("IQ2_XXS", 256, 66, 16, NONE, NONE, NULL),
	ROW("IQ2_XS", 256, 74, 17, NONE, NONE, NULL),
	ROW("IQ3_XXS", 256, 98, 18, NONE, NONE, NULL),
	ROW("IQ1_S", 256, 50, 19, NONE, NONE, NULL),
	ROW("IQ3_S", 256, 110, 21, NONE, NONE, NULL),
	ROW("IQ2_S", 256, 82, 22, NONE, NONE, NULL),
	ROW("IQ4_XS", 256, 136, 23, NONE, NONE, NULL),
	ROW("IQ1_M", 256, 56, 29, NONE, NONE, NULL),
	ROW("TQ1_0", 256, 54, 34, NONE, NONE, NULL),
	ROW("TQ2_0", 256, 66, 35, NONE, NONE, NULL),

	/* Of the whole tensor: apr-stream(5) has their layouts. */
	WHOLE("Q8_TENSOR", 8, 1, 1, 48),
	WHOLE("APR_Q4", 0, 32, 18, 49),
	WHOLE("APR_Q8", 4, 1, 1, 50),
};

#define COUNT ((unsigned)(sizeof rows / sizeof rows[0]))

/* One row for each GGML number, used where rows[] has none: comparison by
 * address must work for types of unknown size too, without allocation. */
#define UNKNOWN(N) ROW("GGML_" #N, 0, 0, N, NONE, NONE, NULL)
#define TEN(T) UNKNOWN(T##0), UNKNOWN(T##1), UNKNOWN(T##2), UNKNOWN(T##3), \
	UNKNOWN(T##4), UNKNOWN(T##5), UNKNOWN(T##6), UNKNOWN(T##7), \
	UNKNOWN(T##8), UNKNOWN(T##9)

static const struct dtype unknown[] = {
	TEN(), TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8),
	TEN(9), TEN(10), TEN(11), TEN(12), TEN(13), TEN(14), TEN(15), TEN(16),
	TEN(17), TEN(18), TEN(19), TEN(20), TEN(21), TEN(22), TEN(23), TEN(24),
	UNKNOWN(250), UNKNOWN(251), UNKNOWN(252), UNKNOWN(253), UNKNOWN(254),
	UNKNOWN(255),
};

#define NUMBERS ((unsigned)(sizeof unknown / sizeof unknown[0]))
_Static_assert(sizeof unknown / sizeof unknown[0] == 256, "GGML numbers");

/* Rows made for names of plugins. Two threads may look for types at once, so room is
 * taken by one at a time; a row is whole before the count tells of it. */
static struct named {
	struct dtype row;
	char name[DTYPE_NAMED_NAME + sizeof "[256,4096]"];
} named[DTYPE_NAMED];
static atomic_uint named_count;
static atomic_flag named_busy = ATOMIC_FLAG_INIT;

#define APR2_GGML 64      /* first APR2 code that is a GGML number */
#define APR2_GGML_END 128 /* codes from here are refused */

/* The number in the n of "GGML_n": decimal, no sign, no leading zero. */
static const struct dtype *
unknown_by_name(const char *name)
{
	uint32_t n = 0;
	const char *p = name + 5;

	if (strncasecmp(name, "GGML_", 5) || !*p || (*p == '0' && p[1]))
		return NULL;
	for (; *p; p++) {
		if (*p < '0' || *p > '9')
			return NULL;
		n = n * 10 + (uint32_t)(*p - '0');
		if (n >= NUMBERS)
			return NULL;
	}
	return dtype_by_ggml(n);
}

static const struct dtype *
known_by_name(const char *name)
{
	unsigned i;

	for (i = 0; i < COUNT; i++)
		if (!strcasecmp(rows[i].name, name))
			return &rows[i];
	return unknown_by_name(name);
}

/* ---- types of plugins ---- */

static bool
is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* n: its length. */
static bool
may_be_named(const char *name, size_t n, uint32_t items, uint32_t bytes)
{
	char alone[DTYPE_NAMED_NAME + 1];
	size_t i;

	if (n == 0 || n > DTYPE_NAMED_NAME || !is_capital(*name))
		return false;
	for (i = 0; i < n; i++)
		if (!is_capital(name[i]) && name[i] != '_' && (name[i] < '0' || name[i] > '9'))
			return false;
	memcpy(alone, name, n);
	alone[n] = '\0';
	return !known_by_name(alone) && items > 0 && items <= DTYPE_NAMED_ITEMS &&
	       !(items & (items - 1)) && bytes > 0 && bytes <= DTYPE_NAMED_BYTES;
}

static const struct dtype *
find_named(const char *full)
{
	unsigned i, n = atomic_load(&named_count);

	for (i = 0; i < n; i++)
		if (!strcasecmp(named[i].name, full))
			return &named[i].row;
	return NULL;
}

static const struct dtype *
add_named(const char *full, uint32_t items, uint32_t bytes)
{
	const struct dtype *found;
	struct named *made;
	unsigned n;

	while (atomic_flag_test_and_set(&named_busy))
		;
	found = find_named(full);
	n = atomic_load(&named_count);
	if (!found && n < DTYPE_NAMED) {
		made = &named[n];
		strcpy(made->name, full);
		made->row = (struct dtype){ .name = made->name, .items = (uint16_t)items,
			.bytes = (uint16_t)bytes, .ggml = NONE, .apr2 = DTYPE_APR2_NAMED,
			.apr2_old = NONE, .quantized = true };
		found = &made->row;
		atomic_store(&named_count, n + 1);
	}
	atomic_flag_clear(&named_busy);
	return found;
}

const struct dtype *
dtype_named(const char *name, uint32_t items, uint32_t bytes)
{
	char full[sizeof named->name];

	if (!may_be_named(name, strlen(name), items, bytes))
		return NULL;
	snprintf(full, sizeof full, "%s[%" PRIu32 ",%" PRIu32 "]", name, items, bytes);
	return add_named(full, items, bytes);
}

/* Up to four digits without a leading zero, and the mark after them. */
static int
block_number(const char **p, char mark, uint32_t *v)
{
	unsigned digits;

	*v = 0;
	for (digits = 0; **p >= '0' && **p <= '9' && digits < 4; digits++)
		*v = *v * 10 + (uint32_t)(*(*p)++ - '0');
	return *v > 0 && (*p)[-(int)digits] != '0' && *(*p)++ == mark ? 0 : -1;
}

/* NAME[VALUES,BYTES], in capitals: one spelling, as it is hashed. */
static const struct dtype *
named_by_name(const char *name)
{
	const char *p = strchr(name, '[');
	uint32_t items, bytes;
	size_t n;

	if (!p)
		return NULL;
	n = (size_t)(p++ - name);
	if (block_number(&p, ',', &items) < 0 || block_number(&p, ']', &bytes) < 0 || *p ||
	    !may_be_named(name, n, items, bytes))
		return NULL;
	return add_named(name, items, bytes);
}

const struct dtype *
dtype_by_name(const char *name)
{
	const struct dtype *t = known_by_name(name);

	return t ? t : named_by_name(name);
}

const struct dtype *
dtype_asked(const char *name)
{
	unsigned i, n = atomic_load(&named_count);
	size_t length = strlen(name);

	for (i = 0; i < n; i++)
		if (!strncasecmp(named[i].name, name, length) && named[i].name[length] == '[')
			return &named[i].row;
	if (!strcasecmp(name, "int8"))
		name = "Q8_TENSOR";
	else if (!strcasecmp(name, "int4"))
		name = "Q4_0";
	return dtype_by_name(name);
}

const struct dtype *
dtype_by_ggml(uint32_t number)
{
	unsigned i;

	if (number >= NUMBERS)
		return NULL;
	for (i = 0; i < COUNT; i++)
		if (rows[i].ggml == (int)number)
			return &rows[i];
	return &unknown[number];
}

const struct dtype *
dtype_by_apr2(uint8_t code)
{
	const struct dtype *t;
	unsigned i;

	for (i = 0; i < COUNT; i++)
		if (rows[i].apr2 == code || rows[i].apr2_old == code)
			return &rows[i];
	if (code < APR2_GGML || code >= APR2_GGML_END)
		return NULL;

	/* One code a type: 64 + 0 is not a second spelling of F32. */
	t = dtype_by_ggml(code - APR2_GGML);
	return t->apr2 == DTYPE_NONE ? t : NULL;
}

const struct dtype *
dtype_row(unsigned index)
{
	if (index < COUNT)
		return &rows[index];
	return index - COUNT < atomic_load(&named_count) ? &named[index - COUNT].row : NULL;
}

int
dtype_apr2_code(const struct dtype *t)
{
	if (t->apr2 != DTYPE_NONE)
		return t->apr2;
	if (t->ggml != DTYPE_NONE && t->ggml < APR2_GGML_END - APR2_GGML)
		return APR2_GGML + t->ggml;
	return DTYPE_NONE;
}
