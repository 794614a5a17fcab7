#include "check/points.h"

#include <string.h>

#include "core/only.h"

/* ---- to which models a point applies ---- */

static const char *
values(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->tensors[i].read)
			return NULL;
	return s->count ? "no tensor has values that can be decoded" : "the model has no tensors";
}

static bool
has_role(const struct survey *s, enum role role)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->tensors[i].known && s->tensors[i].match.rule->role == role)
			return true;
	return false;
}

static const char *
arch(const struct survey *s)
{
	return s->subject.arch ? NULL : "the architecture is not known";
}

static bool
is_norm(const struct survey_tensor *t, bool bias)
{
	const char *name = t->known && t->match.rule->role < ROLES
	                       ? role_name(t->match.rule->role, ARCH_GGUF) : NULL;

	return name && t->read && t->match.bias == bias && strstr(name, "norm");
}

static const char *
norms(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (is_norm(&s->tensors[i], false))
			return arch(s);
	return arch(s) ? arch(s) : "the model has no norms";
}

static const char *
norm_biases(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (is_norm(&s->tensors[i], true))
			return arch(s);
	return arch(s) ? arch(s) : "its norms have no biases";
}

static const char *
embeddings(const struct survey *s)
{
	return has_role(s, ROLE_EMBED) ? NULL : arch(s) ? arch(s) : "the model has no embeddings";
}

static const char *
q8(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strncmp(tensor_type(s->tensors[i].t)->name, "Q8_", 3) == 0)
			return NULL;
	return "no tensor has 8-bit codes";
}

static const char *
halves(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strcmp(tensor_type(s->tensors[i].t)->name, "F16") == 0)
			return NULL;
	return "no tensor is F16";
}

static const char *
mels(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strstr(tensor_name(s->tensors[i].t), "mel_filters"))
			return NULL;
	return "the model has no mel filters";
}

static const char *
positions(const struct survey *s)
{
	return has_role(s, ROLE_POSITIONS) ? NULL : arch(s) ? arch(s)
	                                          : "the model has no learned positions";
}

static const char *
tokenizer(const struct survey *s)
{
	size_t n;

	return model_find(s->source->plan, "tokenizer.ggml.tokens") ||
	               weights_file(&s->subject.w, "tokenizer.json", &n) ||
	               weights_file(&s->subject.w, "tokenizer.model", &n) ||
	               weights_file(&s->subject.w, "vocab.json", &n)
	           ? NULL : "the model has no tokenizer";
}

static const char *
whole_tokenizer(const struct survey *s)
{
	const char *none = tokenizer(s);

	return none || !ONLY_READS ? none : "this module has no tokenizer to open it with";
}

static const char *
vocabulary(const struct survey *s)
{
	uint64_t n;

	if (survey_key(s, "vocab_size", &n) < 0 && tokenizer(s))
		return "nothing states the size of the vocabulary";
	return embeddings(s);
}

static const char *
empty(const struct survey *s)
{
	return s->count == 0 ? NULL : "the model has tensors";
}

static const char *
scalar(const struct survey *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (tensor_ndim(s->tensors[i].t) == 0)
			return NULL;
	return "no tensor is a scalar";
}

static const char *
tensors(const struct survey *s)
{
	return s->count ? NULL : "the model has no tensors";
}

static const char *
signature(const struct survey *s)
{
	return s->signature == SURVEY_VERIFIED ? NULL
	       : s->signature == SURVEY_SIGNED ? "signed, not verified without --trusted-key"
	                                       : "the model is not signed";
}

static const char *
checksum(const struct survey *s)
{
	return json_is_true(json_object_get(s->facts, "checksum")) ||
	               json_is_string(json_object_get(s->facts, "checksum"))
	           ? NULL : "the container has no checksum";
}

static const char *
compressed(const struct survey *s)
{
	return json_object_get(s->facts, "compression") || json_object_get(s->facts, "flags")
	           ? NULL : "the container does not compress";
}

static const char *
mapped(const struct survey *s)
{
	return s->file_bytes == UINT64_MAX ? "it was not read from one file" : NULL;
}

static const char *
shards(const struct survey *s)
{
	return s->file_bytes == UINT64_MAX && strcmp(s->format, "stream") != 0 && s->facts
	           ? NULL : "the model is not in several files";
}

/* ---- the table ---- */

/* What only reports say, which the small module of WebAssembly does not write. */
#define TOLD(text) ONLY_WRITES(text)

#define ID(n) "CHECK-" #n
#define RULE(n, lev, nam, vw, fmts, lck, clm, wy) \
	{ { ID(n), FINDING_##lev, TOLD(clm), TOLD(wy) }, nam, POINT_RULE, VIEW_##vw, \
	  TOLD("tools/check-points.bats"), fmts, lck },
#define TEST(n, nam, file, clm) \
	{ { ID(n), FINDING_ERROR, TOLD(clm), TOLD("this is a point about tools: its test holds it") }, \
	  nam, POINT_TEST, VIEW_STRUCTURE, TOLD(file), NULL, NULL },
#define LATER(n, nam, tool, clm) \
	{ { ID(n), FINDING_ERROR, TOLD(clm), TOLD("a file alone cannot tell: " tool) }, nam, \
	  POINT_LATER, VIEW_STRUCTURE, TOLD(tool), NULL, NULL },
#define APRS "apr1 apr2 apr64"

static const struct point table[POINTS] = {
	/* A: format and structure */
	RULE(001, ERROR, "magic", STRUCTURE, NULL, NULL,
	     "the first bytes are those of a format",
	     "no reader accepts the file; it was cut at the front, or has another format")
	RULE(002, ERROR, "header-size", STRUCTURE, NULL, NULL,
	     "the parts of the file lie where its header says",
	     "bytes were inserted or lost in front of the data; copy the file again")
	RULE(003, ERROR, "version", STRUCTURE, NULL, NULL, "the version is supported",
	     "another version has another layout; a newer tool may read it")
	RULE(004, ERROR, "checksum", STRUCTURE, NULL, checksum, "checksums hold",
	     "bytes have changed since the file was written; copy the file again")
	RULE(005, ERROR, "metadata", METADATA, NULL, NULL, "metadata can be parsed",
	     "keys and values are lost; an editor may have broken them")
	RULE(006, WARN, "alignment", STRUCTURE, "apr1 apr2 gguf safetensors", mapped,
	     "tensors begin at multiples of the format's alignment",
	     "mapped tensors are slow or cannot be used in place; apr-unpack | apr-pack aligns them")
	RULE(007, ERROR, "index-order", STRUCTURE, "apr2 apr64", NULL,
	     "the index is sorted by name",
	     "a program that searches by halving does not find tensors; apr-unpack | apr-pack sorts")
	RULE(008, ERROR, "compression", STRUCTURE, APRS, compressed,
	     "what is compressed can be decompressed",
	     "the method is unknown, or its data are damaged")
	RULE(009, ERROR, "shards", STRUCTURE, NULL, shards, "every shard exists and belongs here",
	     "a part of the model is missing; fetch the shard that the message names")
	TEST(010, "endianness", "formats/faults-gguf.bats",
	     "numbers are read byte by byte as little-endian")
	RULE(011, WARN, "flags", STRUCTURE, APRS, NULL, "flag bits have a meaning",
	     "a newer or broken program wrote the file")
	RULE(012, ERROR, "footer", STRUCTURE, APRS, NULL, "the file ends with its footer",
	     "the file was cut short; copy it again")
	RULE(013, WARN, "file-size", STRUCTURE, NULL, NULL, "the file ends where the model ends",
	     "bytes after the end may hide data; apr-unpack | apr-pack leaves them out")
	RULE(014, ERROR, "offsets", STRUCTURE, NULL, NULL,
	     "tensors lie in the file, without overlaps and holes",
	     "a tensor would have the bytes of another one, or none")
	RULE(015, ERROR, "empty-model", STRUCTURE, NULL, empty,
	     "a model without tensors can be read", "a reader that fails here divides by their number")
	RULE(016, ERROR, "huge-header", METADATA, NULL, NULL, "the header is within limits",
	     "a header of this size is an attack or a mistake")
	RULE(017, ERROR, "utf-8", STRUCTURE, NULL, tensors, "names of tensors are UTF-8",
	     "the name cannot be shown or written; the file is damaged or hostile")
	RULE(018, ERROR, "duplicate-names", STRUCTURE, NULL, tensors,
	     "names of tensors are unique", "programs differ in which of the two they use")
	RULE(019, ERROR, "dimensions", STRUCTURE, NULL, tensors, "tensors have at most 8 dimensions",
	     "the shape is damaged or cannot be stored")
	RULE(020, ERROR, "scalars", STRUCTURE, NULL, scalar, "a scalar has no dimensions",
	     "a reader that fails here multiplies no dimensions to 0")
	RULE(021, ERROR, "types", STRUCTURE, NULL, tensors, "types of tensors are defined",
	     "the type is of a newer program, or the index is damaged")
	RULE(022, WARN, "padding", STRUCTURE, NULL, mapped, "padding is zero",
	     "padding may hide data; apr-unpack | apr-pack writes zeros")
	RULE(023, ERROR, "signature", SECURITY, NULL, signature, "the signature holds",
	     "the model is not the one that was signed; fetch it again, ask the signer")
	TEST(024, "encryption", "tools/apr-encrypt.bats", "a wrong key does not decrypt (E005)")
	LATER(025, "wasm", "the build for WebAssembly", "the model loads in WebAssembly")
	/* B: values of tensors */
	RULE(026, ERROR, "nan", WEIGHTS, NULL, values, "no value is NaN",
	     "one NaN makes every output NaN; convert the source again")
	RULE(027, ERROR, "inf", WEIGHTS, NULL, values, "no value is infinite",
	     "an infinity makes outputs NaN; a conversion to halves overflowed")
	RULE(028, ERROR, "norm-mean", WEIGHTS, NULL, norms, "weights of norms have a usual mean",
	     "outputs repeat; the tensor was scaled, or has the name of another one")
	RULE(029, ERROR, "norm-bias", WEIGHTS, NULL, norm_biases, "biases of norms have a mean near 0",
	     "outputs drift; the tensor has the name of another one")
	RULE(030, WARN, "embedding-std", WEIGHTS, NULL, embeddings,
	     "embeddings have a usual deviation",
	     "embeddings were scaled twice or not at all")
	RULE(031, WARN, "zero", WEIGHTS, NULL, values, "no tensor is zero in all values",
	     "the tensor was not loaded; convert the source again")
	RULE(032, ERROR, "shapes", WEIGHTS, NULL, arch,
	     "shapes follow from the hyper-parameters",
	     "no program can run the model; a tensor is cut, turned, or from another model")
	RULE(033, ERROR, "vocabulary", METADATA, NULL, vocabulary,
	     "the size of the vocabulary is that of the embeddings",
	     "token ids read outside the table; config and weights are of two models")
	RULE(034, WARN, "q8-range", WEIGHTS, NULL, q8, "8-bit codes are in [-127, 127]",
	     "an encoder that is symmetric never writes -128; the bytes have changed")
	RULE(035, WARN, "linear-mean", WEIGHTS, NULL, arch, "matrices have a mean near 0",
	     "the matrix was shifted, or read in a wrong type")
	LATER(036, "softmax", "apr-trace", "sums of softmax are 1")
	RULE(037, WARN, "mel-filters", WEIGHTS, NULL, mels, "mel filters are not negative",
	     "the filter bank is damaged; compute it again")
	RULE(038, ERROR, "positions", METADATA, NULL, positions,
	     "learned positions cover the context",
	     "positions beyond the table are read; the tensor is cut")
	LATER(039, "token-ids", "apr-trace", "tokens that come out are in the vocabulary")
	LATER(040, "audio-range", "apr-trace", "audio that goes in is in [-1, 1]")
	RULE(041, ERROR, "halves", WEIGHTS, NULL, halves, "halves are in their range",
	     "values above 65504 became infinite; convert to BF16")
	LATER(042, "sparsity", "apr-prune, which marks models as sparse",
	      "a model that is called sparse is sparse")
	LATER(043, "dead-neurons", "apr-trace", "no neuron is silent over 100 inputs")
	LATER(044, "spikes", "apr-trace", "activations stay below 1e6")
	LATER(045, "repetition", "apr-trace", "outputs do not repeat")
	LATER(046, "silence", "apr-trace", "silence gives no text")
	LATER(047, "noise", "apr-trace", "noise gives no confident text")
	RULE(048, ERROR, "mel-shape", METADATA, NULL, mels,
	     "mel filters have as many bands as the model expects",
	     "audio features have the wrong size; the bank is of another model")
	TEST(049, "text-context", "run/run-text.bats",
	     "a text longer than the context is refused or cut")
	TEST(050, "distance", "tools/apr-diff.bats", "the distance to a reference is below 1")
	/* C: tools */
	TEST(051, "header-speed", "tools/apr-header.bats",
	     "apr-header answers for 100 GB in 100 ms")
	TEST(052, "lint-defaults", "tools/apr-lint.bats", "a missing licence is a warning by default")
	LATER(053, "drama", "apr-debug", "apr-debug --drama needs no terminal")
	LATER(054, "graph", "apr-tui", "a graph with a cycle is shown or refused")
	LATER(055, "tui-numbers", "apr-tui", "numbers of the screen are those of the command line")
	TEST(056, "diff-same", "tools/apr-diff.bats", "a model equals itself")
	TEST(057, "diff-other", "tools/apr-diff.bats", "a changed model differs")
	TEST(058, "merge-average", "tools/apr-merge.bats", "an average of weights is computed")
	TEST(059, "merge-ties", "tools/apr-merge.bats", "TIES masks as published")
	LATER(060, "onnx-export", "apr-pack -t onnx", "an exported model passes the ONNX checker")
	TEST(061, "gguf-export", "whole/convert.bats",
	     "an exported GGUF file is that of the reference converter")
	TEST(062, "int8-size", "tools/check-points.bats", "int8 has a quarter of the bytes")
	TEST(063, "prune-half", "tools/apr-prune.bats", "pruning by half leaves half of the values")
	LATER(064, "trace-json", "apr-trace", "a trace is JSON, and bad audio an error")
	TEST(065, "explain-error", "tools/apr-explain.bats", "an unknown code is named as unknown")
	TEST(066, "explain-near", "tools/apr-explain.bats", "an unknown tensor gives near names")
	TEST(067, "analyze-source", "tools/check-points.bats",
	     "apr-check --stats-only refuses a corrupt source")
	TEST(068, "inline", "tools/check-points.bats",
	     "apr-check --pass stops a pipe at a bad mean")
	TEST(069, "relaxed", "tools/check-points.bats",
	     "apr-check --pass --relaxed passes the same model")
	TEST(070, "cache", "net/apr-pull.bats", "APR_CACHE names the cache")
	TEST(071, "config", "tools/apr-config.bats", "output_format of the configuration is used")
	TEST(072, "canary", "tools/apr-canary.bats", "a regression of weights is found")
	TEST(073, "json", "tools/apr-header.bats", "apr-header --json is JSON")
	LATER(074, "trace-payload", "apr-trace", "a corrupt tensor shows in a trace")
	LATER(075, "trace-diff", "apr-trace", "equal models have equal traces")
	/* D: conversion */
	TEST(076, "renamed", "tools/check-points.bats", "a text with the suffix of a model is refused")
	TEST(077, "pickle", "formats/faults-pytorch.bats", "a hostile pickle is refused")
	TEST(078, "unknown-arch", "tools/apr-adapt.bats", "an unknown architecture is refused by name")
	LATER(079, "onnx-round-trip", "apr-pack -t onnx", "values survive the way through ONNX")
	TEST(080, "folder-names", "tools/apr-adapt.bats", "a renamed layer is named, not guessed")
	TEST(081, "keeps-types", "formats/roundtrip.bats", "quantized tensors stay quantized")
	TEST(082, "to-bf16", "tools/apr-quant.bats", "F32 becomes BF16")
	TEST(083, "to-f32", "tools/apr-quant.bats", "BF16 becomes F32")
	RULE(084, ERROR, "tokens", METADATA, NULL, whole_tokenizer,
	     "the vocabulary is whole", "tokens are missing: scores, types and ids do not fit them")
	RULE(085, ERROR, "special-tokens", METADATA, NULL, tokenizer,
	     "ids of special tokens are in the vocabulary",
	     "generation does not stop, or begins with a wrong token")
	TEST(086, "licence-copied", "formats/safetensors-folders.bats", "model card and licence are copied")
	TEST(087, "name-prefix", "tools/apr-rename.bats", "names of .apr files lose the part model.")
	TEST(088, "permutation", "whole/convert.bats", "rows are permuted and matrices turned where needed")
	TEST(089, "rescaling", "whole/convert.bats", "weights are changed where the form needs it")
	TEST(090, "sharded-source", "formats/safetensors-folders.bats", "a missing shard is named")
	TEST(091, "remote", "net/apr-pull.bats", "without a network, an import fails well")
	TEST(092, "cached", "net/apr-pull.bats", "a second import is fast")
	TEST(093, "source-digest", "net/apr-pull.bats", "the digest of a source is verified")
	TEST(094, "licence-kind", "tools/apr-lint.bats", "a licence that is not commercial is a warning")
	TEST(095, "detects-arch", "tools/apr-rename.bats", "the architecture is detected")
	TEST(096, "output", "tools/check-points.bats", "-o names the output")
	TEST(097, "overwrite", "tools/check-points.bats", "an existing file is replaced only with -f")
	TEST(098, "disk-full", "tools/apr-pack.bats", "a full disk leaves no file")
	TEST(099, "memory-limit", "whole/limit.bats", "APR_RAM_LIMIT holds")
	LATER(100, "golden-trace", "apr-trace", "a golden trace is reproduced")
};

const struct point *
point_row(unsigned n)
{
	return n >= 1 && n <= POINTS ? &table[n - 1] : NULL;
}

const struct rule *
point_rule(unsigned n)
{
	return &table[n - 1].rule;
}

unsigned
point_number(const struct rule *r)
{
	unsigned n;

	for (n = 1; n <= POINTS; n++)
		if (&table[n - 1].rule == r)
			return n;
	return 0;
}

char
point_category(unsigned n)
{
	return (char)('A' + (n - 1) / 25);
}

const char *
point_category_name(char category)
{
	static const char *const names[] = { "structure", "physics", "tooling", "conversion" };

	return category >= 'A' && category <= 'D' ? names[category - 'A'] : NULL;
}

const char *
point_view_name(enum point_view view)
{
	static const char *const names[POINT_VIEWS] = { "Structure", "Security", "Weights",
		"Metadata" };

	return names[view];
}

static bool
lists(const char *words, const char *word)
{
	const size_t n = strlen(word);
	const char *p;

	for (p = words; (p = strstr(p, word)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

const char *
point_lacks(unsigned n, const struct survey *s)
{
	const struct point *p = point_row(n);

	if (p->held != POINT_RULE)
		return "tools are tested for it, not models";
	if (p->formats && s->format && !lists(p->formats, s->format))
		return "models of this format cannot fail it";
	return p->lacks ? p->lacks(s) : NULL;
}
