#include "model/dtype.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Columns: name, values a block, bytes a block, GGML number. */
#define ROW(NAME, ITEMS, BYTES, GGML) { \
	.name = NAME, \
	.items = ITEMS, \
	.bytes = BYTES, \
	.ggml = GGML, \
	.quantized = (ITEMS) > 1, \
}
/* A type of the apr tools whose blocks run over the whole tensor, after HEAD bytes. */
#define WHOLE(NAME, HEAD, ITEMS, BYTES) { \
	.name = NAME, \
	.items = ITEMS, \
	.bytes = BYTES, \
	.head = HEAD, \
	.whole = true, \
	.ggml = NONE, \
	.quantized = true, \
}
#define NONE DTYPE_NONE

static const struct dtype rows[] = {
	/* Plain types. */
	ROW("F32", 1, 4, 0),
	ROW("F16", 1, 2, 1),
	ROW("BF16", 1, 2, 30),
	ROW("I8", 1, 1, 24),
	ROW("I16", 1, 2, 25),
	ROW("I32", 1, 4, 26),
	ROW("I64", 1, 8, 27),
	ROW("U8", 1, 1, NONE),
	ROW("U16", 1, 2, NONE),
	ROW("U32", 1, 4, NONE),
	ROW("U64", 1, 8, NONE),
	ROW("BOOL", 1, 1, NONE),
	ROW("F8_E4M3", 1, 1, NONE),
	ROW("F8_E5M2", 1, 1, NONE),
	ROW("F8_E8M0", 1, 1, NONE),
	ROW("C64", 1, 8, NONE),
	ROW("F64", 1, 8, 28),

	/* Blocks of 32, with one scale (and offset) a block. */
	ROW("Q4_0", 32, 18, 2),
	ROW("Q4_1", 32, 20, 3),
	ROW("Q5_0", 32, 22, 6),
	ROW("Q5_1", 32, 24, 7),
	ROW("Q8_0", 32, 34, 8),
	ROW("Q8_1", 32, 36, 9),
	ROW("IQ4_NL", 32, 18, 20),
	ROW("MXFP4", 32, 17, 39),

	/* Blocks of 64 and 128. */
	ROW("NVFP4", 64, 36, 40),
	ROW("Q2_0", 64, 18, 42),
	ROW("Q1_0", 128, 18, 41),

	/* Blocks of 256. */
	ROW("Q2_K", 256, 84, 10),
	ROW("Q3_K", 256, 110, 11),
	ROW("Q4_K", 256, 144, 12),
	ROW("Q5_K", 256, 176, 13),
	ROW("Q6_K", 256, 210, 14),
	ROW("Q8_K", 256, 292, 15),
	ROW("IQ2_XXS", 256, 66, 16),
	ROW("IQ2_XS", 256, 74, 17),
	ROW("IQ3_XXS", 256, 98, 18),
	ROW("IQ1_S", 256, 50, 19),
	ROW("IQ3_S", 256, 110, 21),
	ROW("IQ2_S", 256, 82, 22),
	ROW("IQ4_XS", 256, 136, 23),
	ROW("IQ1_M", 256, 56, 29),
	ROW("TQ1_0", 256, 54, 34),
	ROW("TQ2_0", 256, 66, 35),

	/* Blocks over the whole tensor: apr-stream(5) describes their layouts. */
	WHOLE("Q8_TENSOR", 8, 1, 1),
	WHOLE("APR_Q4", 0, 32, 18),
	WHOLE("APR_Q8", 4, 1, 1),
};

#define COUNT ((unsigned)(sizeof rows / sizeof rows[0]))

/* One row for each GGML number that rows[] lacks: types of unknown size, too, are
 * compared by address, and need no allocation. */
#define UNKNOWN(N) ROW("GGML_" #N, 0, 0, N)
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

/* Rows made for the types of plugins. Two threads may look up types at once: only one at a
 * time adds a row, and a row is complete before the count includes it. */
static struct named {
	struct dtype row;
	char name[DTYPE_NAMED_NAME + sizeof "[256,4096]"];
} named[DTYPE_NAMED];
static atomic_uint named_count;
static atomic_flag named_busy = ATOMIC_FLAG_INIT;

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

/* True if a plugin's type may have this name (of n bytes) and block. */
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
			.bytes = (uint16_t)bytes, .ggml = NONE, .named = true,
			.quantized = true };
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

/* Parse a number of up to four digits without a leading zero, and the mark after it. */
static int
block_number(const char **p, char mark, uint32_t *v)
{
	unsigned digits;

	*v = 0;
	for (digits = 0; **p >= '0' && **p <= '9' && digits < 4; digits++)
		*v = *v * 10 + (uint32_t)(*(*p)++ - '0');
	return *v > 0 && (*p)[-(int)digits] != '0' && *(*p)++ == mark ? 0 : -1;
}

/* NAME[VALUES,BYTES] in capitals. Only one spelling is allowed because it is hashed. */
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
dtype_row(unsigned index)
{
	if (index < COUNT)
		return &rows[index];
	return index - COUNT < atomic_load(&named_count) ? &named[index - COUNT].row : NULL;
}
