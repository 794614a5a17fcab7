#include <stddef.h>

#include "front/line.h"

#define CONVERT FRONT_IS_CONVERT
#define IMPORT FRONT_IS_IMPORT
#define EXPORT FRONT_IS_EXPORT
#define QUANTIZE FRONT_IS_QUANTIZE
#define VALIDATE FRONT_IS_VALIDATE
#define QA FRONT_IS_QA
#define IMPORTS (CONVERT | IMPORT)
#define WRITES (CONVERT | IMPORT | EXPORT | QUANTIZE)
#define JUDGES (VALIDATE | QA)

#define S(step) (1u << STEP_##step)
#define ALL_JOBS (S(DECODE) | S(ADAPT) | S(QUANT) | S(GATE) | S(CHECK))

/* The option goes to steps under a name; wants: and makes them run. */
#define PASS(words, letter, names, arg, steps, as, help) \
	{ words, letter, names, arg, steps, 0, as, SLOT_NONE, NULL, help }
#define WANT(words, letter, names, arg, steps, as, help) \
	{ words, letter, names, arg, steps, steps, as, SLOT_NONE, NULL, help }
#define SLOT(words, letter, names, arg, slot, help) \
	{ words, letter, names, arg, 0, 0, NULL, SLOT_##slot, NULL, help }
#define EMPTY(words, names, arg, why) \
	{ words, 0, names, arg, 0, 0, NULL, SLOT_NONE, why, NULL }

static const struct front_option options[] = {
	/* source */
	SLOT(IMPORTS, 0, "from source-format format", "FORMAT", FROM, "read SOURCE as this format"),
	SLOT(EXPORT | QUANTIZE, 0, "from source-format", "FORMAT", FROM, "read FILE as this format"),
	PASS(WRITES, 0, "prefix", "TEXT", S(SOURCE), "--prefix",
	     "remove TEXT from the beginning of tensors' names"),
	PASS(WRITES, 0, "only", "REGEX", S(SOURCE), "--only", "keep only tensors whose name matches"),
	PASS(WRITES, 0, "except", "REGEX", S(SOURCE), "--except", "drop tensors whose name matches"),
	PASS(IMPORTS, 0, "key", "PATH", S(SOURCE), "--key", "the part of a checkpoint to read"),
	PASS(IMPORTS, 0, "dense", NULL, S(SOURCE), "--dense", "make sparse tensors dense"),
	PASS(IMPORTS, 0, "tokenizer", "FILE", S(SOURCE), "--tokenizer",
	     "the tokenizer of a llama2.c file"),
	PASS(IMPORTS, 0, "no-cache", NULL, S(FETCH), "--no-cache", "do not keep what is fetched"),
	PASS(IMPORTS, 0, "offline", NULL, S(FETCH), "--offline", "make no request"),
	PASS(IMPORTS, 0, "sha256", "HEX", S(FETCH), "--sha256", "require this digest of the file"),
	PASS(IMPORTS, 0, "include", "GLOB", S(FETCH), "--include",
	     "fetch only files whose paths match"),
	PASS(IMPORTS, 0, "exclude", "GLOB", S(FETCH), "--exclude",
	     "do not fetch files whose paths match"),
	PASS(IMPORTS, 0, "token-file", "FILE", S(FETCH), "--token-file",
	     "read the hub's token from FILE"),
	PASS(IMPORTS, 0, "resolve-map", "OLD=NEW", S(FETCH), "--resolve-map",
	     "send requests for host OLD to NEW"),
	PASS(IMPORTS, 0, "accept-license accept-licence", NULL, S(FETCH), "--accept-license",
	     "fetch what a policy refuses for its licence"),
	EMPTY(IMPORTS, "opset", "N", "a graph is read at any version"),
	EMPTY(IMPORTS, "preserve-layout", NULL, "data is never transposed"),
	EMPTY(IMPORTS, "cache", NULL, NULL),

	/* form */
	SLOT(CONVERT | IMPORT | EXPORT, 0, "arch architecture", "NAME", ARCH,
	     "the architecture, if the model does not say it"),
	SLOT(CONVERT | IMPORT | EXPORT, 0, "form", "NAME", FORM,
	     "names and keys of: apr, gguf, hf or none"),
	PASS(CONVERT | IMPORT | EXPORT, 0, "chat-template", "FILE", S(ADAPT), "--chat-template",
	     "the file whose chat template is used"),
	SLOT(WRITES, 0, "dequantize", "[TYPE]", DECODE,
	     "decode to floats first: f32 (default), f16 or bf16"),
	SLOT(CONVERT | IMPORT | EXPORT, 0, "keep-quantization preserve-quantization", NULL, KEEP,
	     "keep the types (the default)"),
	SLOT(IMPORTS, 0, "bf16-to-f32", NULL, FLOATS, "convert floats to F32"),

	/* size */
	WANT(WRITES, 0, "prune", "SHARE", S(PRUNE), "--sparsity", "drop this share of the weights"),
	WANT(WRITES, 0, "prune-threshold", "X", S(PRUNE), "--threshold",
	     "drop weights below this magnitude"),
	WANT(WRITES, 0, "prune-heads", "N", S(PRUNE), "--heads", "drop N heads of attention"),
	WANT(WRITES, 0, "prune-layers", "N", S(PRUNE), "--drop", "drop N layers"),
	{ WRITES, 0, "lowrank", "KIND", 0, S(LOWRANK), NULL, SLOT_LOWRANK, NULL,
	  "store matrices as factors: svd or lora" },
	PASS(WRITES, 0, "rank", "N", S(LOWRANK), "--rank", "with --lowrank: the rank"),
	{ WRITES, 0, "target", "GLOB", S(LOWRANK), 0, "--target", SLOT_TARGET, NULL,
	  "with --lowrank: only matrices whose names match" },
	{ WRITES, 0, "sparse", "KIND", 0, S(SPARSE), NULL, SLOT_SPARSE, NULL,
	  "store without zeros: csr, bitmap or block:N" },
	PASS(WRITES, 0, "threshold", "X", S(SPARSE), "--threshold",
	     "with --sparse: what counts as zero"),
	WANT(CONVERT, 0, "distill", "SIZE", S(DISTILL), "--size", "train a smaller model"),
	WANT(CONVERT, 0, "distill-layers", "N", S(DISTILL), "--layers", "one with N layers"),
	PASS(CONVERT, 0, "data", "FILE", S(DISTILL), "--data", "with --distill: the text"),
	PASS(CONVERT, 0, "temperature", "T", S(DISTILL), "--temperature", "with --distill"),
	PASS(CONVERT, 0, "epochs", "N", S(DISTILL), "--epochs", "with --distill"),
	PASS(CONVERT, 0, "lr", "X", S(DISTILL), "--lr", "with --distill: the learning rate"),

	/* types */
	SLOT(WRITES & ~QUANTIZE, 'q', "quantize quantise", "TYPE", TYPE,
	     "convert to TYPE: int8, int4, q4_k_m, ... (apr-quant --list)"),
	SLOT(QUANTIZE, 0, "type quantize", "TYPE", TYPE,
	     "the type: int8, int4, q4_k_m, ... (apr-quant --list)"),
	SLOT(WRITES & ~QUANTIZE, 0, "precision dtype", "TYPE", PRECISION,
	     "convert floats to fp16, bf16 or fp32"),
	PASS(WRITES, 0, "embedding-type token-embedding-type", "TYPE", S(QUANT),
	     "--token-embedding-type", "the type of the embeddings"),
	PASS(WRITES, 0, "output-type output-tensor-type", "TYPE", S(QUANT), "--output-tensor-type",
	     "the type of the output matrix"),
	PASS(WRITES, 0, "tensor-type", "REGEX=TYPE", S(QUANT), "--tensor-type",
	     "the type of tensors whose name matches"),
	PASS(WRITES, 0, "imatrix", "FILE", S(QUANT), "--imatrix",
	     "weight columns by an importance matrix"),
	PASS(WRITES, 0, "calibration", "FILE", S(QUANT), "--calibration",
	     "weight columns by their activations with the text of FILE"),
	PASS(WRITES, 0, "calibration-method", "METHOD", S(QUANT), "--calibration-method",
	     "mse (the default), minmax or percentile"),
	PASS(WRITES, 0, "calibration-percentile", "P", S(QUANT), "--calibration-percentile",
	     "of that method, in percent (default: 99.9)"),
	PASS(WRITES, 0, "calibration-samples", "N", S(QUANT), "--calibration-samples",
	     "use only the first N parts of the text"),
	PASS(WRITES, 0, "pure", NULL, S(QUANT), "--pure", "one type for all, not a mixture"),
	PASS(WRITES, 0, "allow-requantize", NULL, S(QUANT), "--allow-requantize",
	     "accept tensors that are already quantized"),
	PASS(WRITES, 0, "allow-nonfinite", NULL, S(QUANT) | S(DECODE), "--allow-nonfinite",
	     "accept NaN and infinite values"),

	/* judgement */
	SLOT(IMPORTS, 0, "analyze-source analyse-source", NULL, ANALYZE,
	     "judge the tensors of the source, and convert nothing"),
	SLOT(WRITES, 0, "quality-check", NULL, GATE, "compare the result with FILE"),
	{ WRITES, 0, "max-drift", "X", S(GATE), 0, "--max-drift", SLOT_GATE, NULL,
	  "the greatest drift of a tensor (default: 0.1)" },
	{ WRITES, 0, "canary", "CANARY", S(GATE), 0, "--canary", SLOT_CANARY, NULL,
	  "require that this canary passes" },
	PASS(WRITES, 0, "max-kl", "X", S(GATE), "--max-kl", "with --canary: the greatest divergence"),
	PASS(WRITES, 0, "min-top1", "X", S(GATE), "--min-top1",
	     "with --canary: the share of equal tokens"),
	SLOT(WRITES, 0, "force relaxed", NULL, FORCE, "only report what checks and gates find"),
	SLOT(IMPORTS, 0, "no-check no-validate", NULL, NO_CHECK, "do not judge the values"),

	/* trust */
	SLOT(WRITES, 0, "sign", "KEY", SIGN, "sign with the secret key in the file KEY"),
	SLOT(WRITES, 0, "trusted-key", "KEY", TRUST,
	     "require a signature by the public key in KEY"),

	/* output */
	SLOT(EXPORT, 't', "format to", "FORMAT", TO,
	     "gguf, safetensors, apr, apr1 or apr2-64 (default: by the suffix)"),
	SLOT(CONVERT | QUANTIZE | IMPORT, 't', "to", "FORMAT", TO,
	     "gguf, safetensors, apr, apr1 or apr2-64 (default: by the suffix)"),
	PASS(WRITES, 'z', "compress", "METHOD", S(PACK), "-z", "lz4, zstd or zstd:LEVEL"),
	PASS(WRITES, 0, "align", "BYTES", S(PACK), "--align", "align tensors to BYTES"),
	PASS(WRITES, 0, "shard-size", "BYTES", S(PACK), "--shard-size", "write several files"),
	PASS(WRITES, 0, "plain", NULL, S(PACK), "--plain", "drop what the format has no place for"),
	SLOT(CONVERT | EXPORT, 0, "trueno-native", NULL, NATIVE,
	     "version 1, uncompressed and aligned, to be mapped"),
	SLOT(WRITES, 'o', "output", "FILE", OUTPUT, "write to FILE (a folder: NAME/)"),
	SLOT(WRITES, 'f', "overwrite", NULL, FORCE_OUTPUT, "replace an existing FILE"),

	/* validate, qa */
	SLOT(JUDGES, 0, "quality score", NULL, QUALITY, "print the points with their score"),
	PASS(JUDGES, 0, "min-score", "N", S(CHECK), "--min-score",
	     "exit with status 5 if the score is below N"),
	PASS(JUDGES, 0, "category", "NAME", S(CHECK), "--category",
	     "A|B|C|D, or structure, physics, tooling, conversion"),
	PASS(JUDGES, 0, "only", "LIST", S(CHECK), "--only", "judge only these points"),
	PASS(JUDGES, 0, "except", "LIST", S(CHECK), "--except", "do not judge these points"),
	SLOT(JUDGES, 0, "nan-check", NULL, NAN, "judge only whether values are NaN or infinite"),
	SLOT(JUDGES, 0, "zero-check", NULL, ZERO, "judge only whether tensors are zero"),
	SLOT(JUDGES, 0, "shapes", NULL, SHAPES, "judge only the shapes"),
	PASS(JUDGES, 0, "policy", "FILE", S(CHECK), "--policy", "judge by the rules of a team as well"),
	PASS(JUDGES, 0, "arch", "NAME", S(CHECK), "--arch", "the architecture"),
	PASS(JUDGES, 0, "stats-from", "MODEL", S(CHECK), "--stats-from",
	     "take what is normal from MODEL"),
	PASS(JUDGES, 0, "trusted-key", "KEY", S(CHECK), "--trusted-key",
	     "require a signature by the public key in KEY"),
	PASS(JUDGES, 0, "all", NULL, S(CHECK), "--all", "show the points that do not apply too"),
	PASS(JUDGES, 0, "json", NULL, S(CHECK) | S(GATE), "--json", "print one object per line"),
	PASS(JUDGES, 0, "sarif", NULL, S(CHECK), "--sarif", "print a document of SARIF 2.1.0"),
	PASS(JUDGES, 0, "junit", NULL, S(CHECK), "--junit", "print a JUnit report"),
	SLOT(VALIDATE, 0, "checksum", NULL, CHECKSUM, "verify the checksums of the file"),
	PASS(VALIDATE, 0, "max-drift", "X", S(GATE), "--max-drift",
	     "two models: the greatest drift of a tensor (default: 0.1)"),
	PASS(VALIDATE, 0, "min-cosine", "X", S(GATE), "--min-cosine",
	     "two models: the least cosine (default: 0.99)"),
	PASS(VALIDATE, 0, "max-l2", "X", S(GATE), "--max-l2", "two models: the greatest L2 distance"),

	/* all */
	PASS(WRITES | JUDGES, 'j', "jobs", "N", ALL_JOBS, "-j", "threads of a tool"),
	SLOT(WRITES | JUDGES, 0, "show", NULL, SHOW, "print the pipe, and run nothing"),
	SLOT(WRITES, 0, "progress", NULL, PROGRESS,
	     "show progress, even if standard error is not a terminal"),
	SLOT(WRITES | JUDGES, 'h', "help", NULL, HELP, "show this help and exit"),
	{ 0, 0, NULL, NULL, 0, 0, NULL, SLOT_NONE, NULL, NULL }
};

const struct front_option *
front_options(void)
{
	return options;
}
