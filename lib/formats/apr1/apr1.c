#include "formats/apr1/apr1.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/le.h"

/* ---- names of numbers ---- */

/* The model types. Existing software has one that the specification lacks, 0x40. */
static const struct {
	uint16_t number;
	const char *name;
} types[] = {
	{ 0x01, "LINEAR_REGRESSION" }, { 0x02, "LOGISTIC_REGRESSION" },
	{ 0x03, "DECISION_TREE" },     { 0x04, "RANDOM_FOREST" },
	{ 0x05, "GRADIENT_BOOSTING" }, { 0x06, "KMEANS" },
	{ 0x07, "PCA" },               { 0x08, "NAIVE_BAYES" },
	{ 0x09, "KNN" },               { 0x0a, "SVM" },
	{ 0x10, "NGRAM_LM" },          { 0x11, "TFIDF" },
	{ 0x12, "COUNT_VECTORIZER" },  { 0x20, "NEURAL_SEQUENTIAL" },
	{ 0x21, "NEURAL_CUSTOM" },     { 0x30, "CONTENT_RECOMMENDER" },
	{ 0x40, "MIXTURE_OF_EXPERTS" }, { 0xff, "CUSTOM" },
};
#define TYPES (sizeof types / sizeof *types)

const char *
apr1_type_name(uint16_t type)
{
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (types[i].number == type)
			return types[i].name;
	return NULL;
}

/* True if two names have the same letters, in any case: KMeans, k-means, KMEANS. */
static bool
same_name(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == '_' || *a == '-')
			a++;
		while (*b == '_' || *b == '-')
			b++;
		if (toupper((uint8_t)*a) != toupper((uint8_t)*b))
			return false;
		if (!*a)
			return true;
	}
}

int
apr1_type_number(const char *name)
{
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (same_name(types[i].name, name))
			return types[i].number;
	return -1;
}

int
apr1_type_unknown(const char *name, struct err *e)
{
	char text[400] = "";
	size_t i, n = 0;

	for (i = 0; i < TYPES && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " %s", types[i].name);
	err_set(e, ERR_USAGE, NULL, "no model type is called %.60s", name);
	err_hint(e, "there are%s", text);
	return -1;
}

const char *
apr1_flag(uint32_t bit)
{
	static const char *const names[] = { "ENCRYPTED", "SIGNED", "STREAMING", "LICENSED",
		"TRUENO_NATIVE", "QUANTIZED", "MODEL_CARD" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (bit == 1u << i)
			return names[i];
	return NULL;
}

const char *
apr1_compression(uint8_t id)
{
	static const char *const names[] = { "none", "zstd", "zstd:19", "lz4" };

	return id < sizeof names / sizeof *names ? names[id] : NULL;
}

static const char *const backends[] = { "auto", "scalar", "sse2", "avx", "avx2", "avx-512",
	"neon", "wasm-simd", "gpu" };
#define BACKENDS (sizeof backends / sizeof *backends)

const char *
apr1_backend(uint8_t hint)
{
	return hint < BACKENDS ? backends[hint] : NULL;
}

int
apr1_backend_number(const char *name)
{
	size_t i;

	for (i = 0; i < BACKENDS; i++)
		if (same_name(backends[i], name))
			return (int)i;
	return -1;
}

static bool
begins(const char *name, size_t n, const char *with)
{
	return n >= strlen(with) && memcmp(name, with, strlen(with)) == 0;
}

bool
apr1_is_ours(const char *name, size_t n)
{
	static const char *const whole[] = { APR1_STREAM, APR1_PAYLOAD, APR1_TENSORS,
		APR1_DIGEST, APR1_LICENCE };
	size_t i;

	for (i = 0; i < sizeof whole / sizeof *whole; i++)
		if (n == strlen(whole[i]) && begins(name, n, whole[i]))
			return true;
	return begins(name, n, APR1_BLOB) || begins(name, n, APR1_PROV) ||
	       begins(name, n, APR1_SIGN);
}

/* A licence block is: UUID (16), SHA-256 of the licensee (32), two times (8 each), flags (1),
 * seats (2), inferences (4), u32 bytes of terms, the terms. */
bool
apr1_is_licence(const uint8_t *p, uint64_t n)
{
	return n >= APR1_LICENCE_LEAST &&
	       le32(p + APR1_LICENCE_LEAST - 4) == n - APR1_LICENCE_LEAST;
}

const struct format_option apr1_options[APR1_OPTIONS + 1] = {
	[APR1_EXPECT] = { "expect-type", "NAME",
	                  "APR version 1: require this model type", false,
	                  "ModelTypeMismatch: " },
	[APR1_LAYOUT] = { "payload", "NAME", "APR version 1: read the payload as this kind",
	                  false, "ModelTypeMismatch: " },
	[APR1_TYPE] = { "model-type", "NAME",
	                "apr1: set the model type, such as NEURAL_CUSTOM", true, NULL },
	[APR1_NATIVE] = { "trueno-native", NULL,
	                  "apr1: align tensors to 64 bytes, with an index", true, NULL },
	[APR1_HINT] = { "backend-hint", "NAME",
	                "apr1: with --trueno-native, the backend for all tensors", true, NULL },
	[APR1_CHUNKED] = { "streaming", NULL,
	                   "apr1: compress chunks separately, with an index", true, NULL },
};

static bool
probe(const uint8_t *head, size_t n)
{
	return n >= 4 && memcmp(head, "APRN", 4) == 0;
}

/* Every file is read whole, into a spool. */
static bool
spools(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

/* Refuse an unknown backend hint, and a hint without aligned tensors. */
static int
check(const struct format_options *o, struct err *e)
{
	const char *hint = format_chosen(o, &apr1_options[APR1_HINT]);

	if (hint && apr1_backend_number(hint) < 0)
		return err_set(e, ERR_USAGE, NULL, "unknown backend: %.40s", hint);
	if (hint && !format_chosen(o, &apr1_options[APR1_NATIVE]))
		return err_set(e, ERR_USAGE, NULL, "--backend-hint needs --trueno-native");
	return 0;
}

static const struct format_reads reads = {
	.open = apr1_open,
	.describe = apr1_describe,
	.tensor_offset = apr1_tensor_offset,
	.outline = apr1_outline,
	.tensor_stored = apr1_tensor_stored,
	.spools = spools,
};

static const struct format_writes writes = {
	.create = apr1_create,
	.compresses = true,
	.raw = true,
	.check = check,
};

const struct format format_apr1 = {
	.name = "apr1",
	.title = "APR version 1",
	.suffix = "apr",
	.probe = probe,
	.reads = &reads,
	.writes = ONLY_WRITES(&writes),
	.options = apr1_options,
	.keys = true,
};
