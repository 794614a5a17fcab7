/* dtype: the table against sizes counted from the block layouts. */
#include "model/dtype.h"

#include <string.h>
#include <strings.h>

#include "formats/apr2/apr2.h"
#include "formats/safetensors/safetensors.h"
#include "model/tensor.h"
#include "test.h"

/* A block as the sum of its parts: halves (2 bytes) and bits of codes, scales
 * and signs, so that a slip in the table is not repeated here. */
static const struct want {
	const char *name;
	unsigned items, halves, bytes, code_bits; /* bits a value */
	int ggml, apr2;
} wants[] = {
	{ "F32", 1, 0, 0, 32, 0, 0 },
	{ "F16", 1, 0, 0, 16, 1, 1 },
	{ "BF16", 1, 0, 0, 16, 30, 2 },
	{ "I8", 1, 0, 0, 8, 24, 3 },
	{ "I16", 1, 0, 0, 16, 25, 4 },
	{ "I32", 1, 0, 0, 32, 26, 5 },
	{ "I64", 1, 0, 0, 64, 27, 6 },
	{ "U8", 1, 0, 0, 8, -1, 7 },
	{ "U16", 1, 0, 0, 16, -1, 32 },
	{ "U32", 1, 0, 0, 32, -1, 33 },
	{ "U64", 1, 0, 0, 64, -1, 34 },
	{ "BOOL", 1, 0, 0, 8, -1, 35 },
	{ "F8_E4M3", 1, 0, 0, 8, -1, 36 },
	{ "F8_E5M2", 1, 0, 0, 8, -1, 37 },
	{ "F8_E8M0", 1, 0, 0, 8, -1, 38 },
	{ "C64", 1, 0, 0, 64, -1, 39 },
	{ "F64", 1, 0, 0, 64, 28, 40 },
	{ "Q4_0", 32, 1, 0, 4, 2, 17 },        /* scale */
	{ "Q4_1", 32, 2, 0, 4, 3, 18 },        /* scale, least */
	{ "Q5_0", 32, 1, 0, 5, 6, 19 },        /* scale */
	{ "Q5_1", 32, 2, 0, 5, 7, 20 },        /* scale, least */
	{ "Q8_0", 32, 1, 0, 8, 8, 16 },        /* scale */
	{ "Q8_1", 32, 2, 0, 8, 9, 64 + 9 },    /* scale, sum */
	{ "IQ4_NL", 32, 1, 0, 4, 20, 64 + 20 },
	{ "MXFP4", 32, 0, 1, 4, 39, 64 + 39 }, /* exponent */
	{ "NVFP4", 64, 0, 4, 4, 40, 64 + 40 }, /* 4 scales */
	{ "Q2_0", 64, 1, 0, 2, 42, 64 + 42 },
	{ "Q1_0", 128, 1, 0, 1, 41, 64 + 41 },
	{ "Q2_K", 256, 2, 16, 2, 10, 13 },     /* 16 scales and minima of 4 bits */
	{ "Q3_K", 256, 1, 12, 3, 11, 14 },     /* 16 scales of 6 bits */
	{ "Q4_K", 256, 2, 12, 4, 12, 8 },      /* 8 scales and minima of 6 bits */
	{ "Q5_K", 256, 2, 12, 5, 13, 12 },
	{ "Q6_K", 256, 1, 16, 6, 14, 9 },      /* 16 scales of 8 bits */
	{ "Q8_K", 256, 2, 32, 8, 15, 64 + 15 }, /* float scale, 16 sums of 16 bits */
	{ "IQ2_XXS", 256, 1, 0, 2, 16, 64 + 16 },
	{ "IQ2_XS", 256, 1, 8, 2, 17, 64 + 17 },
	{ "IQ3_XXS", 256, 1, 0, 3, 18, 64 + 18 },
	{ "IQ1_S", 256, 1, 16, 1, 19, 64 + 19 },
	{ "IQ3_S", 256, 1, 12, 3, 21, 64 + 21 },
	{ "IQ2_S", 256, 1, 16, 2, 22, 64 + 22 },
	{ "IQ4_XS", 256, 1, 6, 4, 23, 64 + 23 },
	{ "IQ1_M", 256, 0, 24, 1, 29, 64 + 29 },
	{ "TQ1_0", 256, 1, 52, 0, 34, 64 + 34 }, /* 48 × 5 trits, 4 × 4 trits */
	{ "TQ2_0", 256, 1, 0, 2, 35, 64 + 35 },
	{ "Q8_TENSOR", 1, 0, 0, 8, -1, 48 },
	{ "APR_Q4", 32, 1, 0, 4, -1, 49 },     /* scale */
	{ "APR_Q8", 1, 0, 0, 8, -1, 50 },
};

#define WANTS (sizeof wants / sizeof wants[0])

static void
rows_are_right(void)
{
	const struct dtype *t;
	size_t i;
	int ok = 1;

	for (i = 0; i < WANTS; i++) {
		const struct want *w = &wants[i];
		unsigned bytes = 2 * w->halves + w->bytes + w->items * w->code_bits / 8;

		t = dtype_by_name(w->name);
		if (t && !strcmp(t->name, w->name) && t->items == w->items &&
		    t->bytes == bytes && t->ggml == w->ggml && apr2_type_code(t) == w->apr2 &&
		    t->quantized == (w->items > 1 || t->head) && dtype_sized(t))
			continue;
		printf("# %s: %u values in %u bytes, ggml %d, apr2 %d\n", w->name,
		       w->items, bytes, w->ggml, w->apr2);
		ok = 0;
	}
	test_ok(ok, "each row has the size and numbers of its layout");
	for (i = 0; dtype_row((unsigned)i); i++)
		;
	test_ok(i == WANTS, "there is no row beyond those");
}

/* Blocks of the whole tensor: the size of a shape whose rows fill none. */
static uint64_t
size_of(const char *type, uint64_t rows, uint64_t columns)
{
	const uint64_t dims[2] = { rows, columns };
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new("x", 1, dtype_by_name(type), 2, dims,
	                              TENSOR_OWN_SIZE, "test", &e);
	uint64_t bytes = t ? tensor_bytes(t) : UINT64_MAX;

	tensor_free(t);
	return bytes;
}

static void
whole_tensors(void)
{
	test_ok(size_of("Q8_TENSOR", 3, 5) == 8 + 15 && size_of("APR_Q8", 3, 5) == 4 + 15 &&
	        size_of("APR_Q4", 1, 32) == 18 && size_of("APR_Q4", 3, 11) == 36 &&
	        size_of("APR_Q4", 1, 1) == 18,
	        "types of the whole tensor: a head, blocks over rows, the last of them begun");
	test_ok(size_of("Q8_TENSOR", 0, 5) == 0 && size_of("APR_Q8", 3, 0) == 0 &&
	        size_of("APR_Q4", 0, 0) == 0, "without values there is no head");
	test_ok(size_of("Q8_TENSOR", 1, INT64_MAX - 8) == INT64_MAX &&
	        size_of("Q8_TENSOR", 1, INT64_MAX - 7) == UINT64_MAX &&
	        size_of("APR_Q4", 1, UINT64_MAX) == UINT64_MAX,
	        "the head counts where a size overflows");
}

static int
is_refused(int code)
{
	return code == 10 || code == 11 ? 0 : code == 15 || (code >= 21 && code <= 31) ||
	       (code >= 41 && code <= 47) || (code >= 51 && code <= 63) || code >= 128;
}

static void
apr2_codes(void)
{
	const struct dtype *t;
	int code, back = 1, refused = 1, twice = 1;
	unsigned i, j;

	for (code = 0; code < 256; code++) {
		t = apr2_type((uint8_t)code);
		if (t && code != 10 && code != 11 && apr2_type_code(t) != code)
			back = 0;
		if (is_refused(code) && t)
			refused = 0;
	}
	test_ok(back, "each APR2 code that is read is the one written");
	test_ok(refused, "APR2 codes 15, 21-31, 41-47, 51-63 and 128-255 are refused");
	test_ok(apr2_type(10) == dtype_by_name("Q8_0") &&
	        apr2_type(11) == dtype_by_name("Q4_0"),
	        "APR2 codes 10 and 11 are read as Q8_0 and Q4_0");
	test_ok(!apr2_type(64 + 0) && !apr2_type(64 + 12) && !apr2_type(64 + 28),
	        "64 + GGML number is not a second code of a type that has its own");
	test_ok(apr2_type(64 + 57) == dtype_by_ggml(57) && dtype_by_ggml(57),
	        "a GGML type without a row has an APR2 code");
	test_ok(apr2_type_code(dtype_by_ggml(63)) == 127 &&
	        apr2_type_code(dtype_by_ggml(64)) == DTYPE_NONE,
	        "GGML numbers from 64 have no APR2 code");
	for (i = 0; dtype_row(i); i++)
		for (j = 0; j < i; j++)
			if (apr2_type_code(dtype_row(i)) == apr2_type_code(dtype_row(j)) ||
			    !strcmp(dtype_row(i)->name, dtype_row(j)->name) ||
			    (dtype_row(i)->ggml != DTYPE_NONE &&
			     dtype_row(i)->ggml == dtype_row(j)->ggml))
				twice = 0;
	test_ok(twice, "no two rows share a name, an APR2 code or a GGML number");
}

static void
ggml_numbers(void)
{
	const struct dtype *t;
	char name[16];
	int ok = 1, named = 1;
	uint32_t n;

	for (n = 0; n < 256; n++) {
		t = dtype_by_ggml(n);
		snprintf(name, sizeof name, "ggml_%u", (unsigned)n);
		if (!t || t->ggml != (int)n || t != dtype_by_ggml(n))
			ok = 0;
		if (dtype_by_name(name) != t)
			named = 0;
		if (t && !dtype_sized(t) && (strcasecmp(t->name, name) || t->bytes ||
		                             dtype_by_name(t->name) != t))
			named = 0;
	}
	test_ok(ok, "GGML numbers 0 to 255 each have one row");
	test_ok(named, "rows of unknown size are named GGML_n, and found by it");
	test_ok(!dtype_by_ggml(256) && !dtype_by_ggml(UINT32_MAX),
	        "GGML numbers from 256 have none");
	test_ok(!dtype_sized(dtype_by_ggml(4)) && !dtype_sized(dtype_by_ggml(31)),
	        "types that GGML removed have no size");
}

static void
names(void)
{
	static const char *const none[] = {
		"", "q4", "GGML_", "GGML_256", "GGML_01", "GGML_-1", "GGML_1x", "GGML_ 1",
		"GGML_4294967296", "F32 ",
	};
	size_t i;
	int ok = 1;

	test_ok(dtype_by_name("q4_k") == dtype_by_name("Q4_K") && dtype_by_name("q4_k"),
	        "names are found in any case");
	for (i = 0; i < sizeof none / sizeof none[0]; i++)
		if (dtype_by_name(none[i]))
			ok = 0;
	test_ok(ok, "other names are not found");
}

/* safetensors calls its types as we do; blocks have no name there. */
static void
safetensors_names(void)
{
	const struct dtype *t;
	unsigned i, n = 0;
	int ok = 1;

	for (i = 0; (t = dtype_row(i)); i++) {
		const char *name = safetensors_type(t);

		n += name != NULL;
		if (name && (t->quantized || safetensors_dtype(name) != t))
			ok = 0;
	}
	test_ok(ok && n == 17, "17 types have a name in safetensors, and are found by it");
	test_ok(!safetensors_dtype("Q4_0") && !safetensors_dtype("f32") &&
	        !safetensors_dtype("GGML_0"), "a header has no other names");
}

/* Types that only a plugin knows: their block is in their name. */
static void
named(void)
{
	static const char *const none[] = { "F32[1,4]", "GGML_7[32,18]", "my4[32,18]", "MY4[0,18]",
		"MY4[33,18]", "MY4[512,18]", "MY4[32,0]", "MY4[32,4097]", "MY4[032,18]",
		"MY4[32,018]", "MY4[32,18", "MY4[32,18]x", "MY4[32]", "MY4[,]", "[32,18]",
		"4MY[32,18]", "MY-4[32,18]", "MY4[32,99999]", "MY4[+32,18]",
		"A123456789012345678901234[32,18]" };
	const struct dtype *t = dtype_named("MY4", 32, 18);
	unsigned i, n = 0;
	char name[32];
	int ok = 1;

	test_ok(t && !strcmp(t->name, "MY4[32,18]") && t->items == 32 && t->bytes == 18 &&
	        apr2_type_code(t) == 51 && t->ggml == DTYPE_NONE && t->quantized && !t->head &&
	        !safetensors_type(t), "a named type has its block, and code 51");
	test_ok(dtype_by_name("MY4[32,18]") == t && dtype_named("MY4", 32, 18) == t &&
	        dtype_asked("my4") == t && dtype_named("MY4", 32, 20) != t,
	        "it is one row, however it is met; another block is another");
	for (i = 0; i < sizeof none / sizeof none[0]; i++)
		if (dtype_by_name(none[i])) {
			printf("# %s\n", none[i]);
			ok = 0;
		}
	test_ok(ok && !dtype_named("q8_x", 32, 18) && !dtype_named("Q8_0", 32, 18) &&
	        !dtype_named("MY", 3, 1), "another name makes no row");
	for (i = 0; i < 2 * DTYPE_NAMED; i++) {
		snprintf(name, sizeof name, "T%u[1,1]", i);
		n += dtype_by_name(name) != NULL;
	}
	test_ok(n == DTYPE_NAMED - 2 && dtype_by_name("MY4[32,18]") == t &&
	        dtype_by_name("T0[1,1]") && !dtype_by_name("T300[1,1]"),
	        "there is room for so many rows, and those stay");
}

int
main(void)
{
	rows_are_right();
	whole_tensors();
	apr2_codes();
	safetensors_names();
	ggml_numbers();
	names();
	named();
	return test_done();
}
