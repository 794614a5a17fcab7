/* front: command lines of apr, and the pipes that they stand for. */
#include "front/plan.h"

#include <string.h>

#include "test.h"

/* A command line, words separated by spaces, and its pipe in one line, or the error. */
static const struct {
	const char *line, *pipe;
} rows[] = {
	/* one tool */
	{ "inspect m.apr --vocab", "apr-header m.apr --vocab" },
	{ "info m.apr", "apr-header m.apr" },
	{ "tensors m.apr", "apr-header --list m.apr" },
	{ "tensors m.apr --hist a.b", "apr-stats m.apr --hist a.b" },
	{ "tensors --hist=a.b m.apr", "apr-stats --hist=a.b m.apr" },
	{ "tensors --stats m.apr", "apr-stats m.apr" },
	{ "canary create m --input=t --output c", "apr-canary create m --file t --output c" },
	{ "diff a b --mapping m.json", "apr-diff a b --tensor-mapping m.json" },
	{ "merge a b --strategy ties -f --output m.apr",
	  "apr-merge a b --method ties | apr-pack -f -o m.apr" },
	{ "merge -w 0.5 a -w 0.5 b --method linear", "apr-merge -w 0.5 a -w 0.5 b --method linear" },
	{ "sign key m.apr -o s.apr", "apr-sign key m.apr | apr-pack -o s.apr" },
	{ "sign key m.apr -o s.aprs", "apr-sign key m.apr -o s.aprs" },
	{ "adapt gguf m --output=s.gguf", "apr-adapt gguf m | apr-pack -o s.gguf" },
	{ "rename a=b m -os/ -f", "apr-rename a=b m | apr-pack -f -o s/" },
	{ "sign -o", "apr-sign -o" },
	{ "download hf://a/b", "apr-pull --path hf://a/b" },
	{ "download hf://a/b --output m", "apr-pull hf://a/b --output m" },
	{ "pull hf://a/b", "apr-pull hf://a/b" },
	/* convert */
	{ "convert m.apr -o o.apr", "apr-check --pass m.apr | apr-pack -o o.apr" },
	{ "convert m.apr -o o.apr --no-check", "apr-pack -o o.apr m.apr" },
	{ "convert -- -m -o o.apr", "!one file too many" },
	{ "convert -o o.apr -- -m", "apr-check --pass ./-m | apr-pack -o o.apr" },
	{ "convert -o -o.apr m", "apr-check --pass m | apr-pack -o ./-o.apr" },
	{ "convert m.apr --quantize int8 --compress lz4 -o o.apr",
	  "apr-quant int8 m.apr | apr-check --pass | apr-pack -z lz4 -o o.apr" },
	{ "convert m.apr --precision fp32", "apr-quant f32 m.apr | apr-check --pass | apr-pack" },
	{ "convert m.apr --precision bf16 --quantize q8_0",
	  "!only one of --quantize, --precision and --bf16-to-f32 can name the type" },
	{ "convert m.gguf --dequantize -o o.apr",
	  "apr-quant f32 m.gguf | apr-check --pass | apr-pack -o o.apr" },
	{ "convert m.gguf --dequantize fp16 -q q8_0 -o o.apr",
	  "apr-quant f16 m.gguf | apr-quant q8_0 | apr-check --pass | apr-pack -o o.apr" },
	{ "convert --dequantize m.gguf -o o.apr",
	  "apr-quant f32 m.gguf | apr-check --pass | apr-pack -o o.apr" },
	{ "convert m.pt --arch llama --prefix model. -o o.apr",
	  "apr-unpack --prefix model. m.pt | apr-adapt --arch llama apr | "
	  "apr-rename --strict --arch llama --schema apr | apr-check --pass | apr-pack -o o.apr" },
	{ "convert m.bin --format ggml --arch llama -o o.apr",
	  "apr-unpack --from ggml --arch llama m.bin | apr-check --pass | apr-pack -o o.apr" },
	{ "convert m/ --format savedmodel -o o.apr",
	  "apr-unpack --from tensorflow m/ | apr-check --pass | apr-pack -o o.apr" },
	{ "convert m.apr -o o.gguf --align 32",
	  "apr-adapt gguf m.apr | apr-check --pass | apr-pack --align 32 -o o.gguf" },
	{ "convert m.gguf -o o/", "apr-adapt hf m.gguf | apr-check --pass | apr-pack -o o/" },
	{ "convert m.gguf -o o/ --form none", "apr-check --pass m.gguf | apr-pack -o o/" },
	{ "convert m.pt -o o.safetensors", "apr-check --pass m.pt | apr-pack -o o.safetensors" },
	{ "convert m.apr --trueno-native",
	  "apr-check --pass m.apr | apr-pack -t apr1 --trueno-native" },
	{ "convert m.apr --trueno-native -t gguf",
	  "!--trueno-native is a form of apr1, and excludes another format" },
	{ "convert m.apr --force -f -o o.apr",
	  "apr-check --pass --relaxed m.apr | apr-pack -f -o o.apr" },
	{ "convert m.apr --analyze-source --arch llama", "apr-check --stats-only --arch llama m.apr" },
	/* the order of stages does not depend on the order of options */
	{ "convert m.gguf -z zstd:19 --sign k --sparse csr --threshold 0.1 --canary c.json --max-drift "
	  "0.2 -q q4_0 --lowrank svd --rank 8 --prune 0.3 --form apr --trusted-key k.pub -j 2 -o o.apr",
	  "apr-verify k.pub m.gguf | apr-adapt -j 2 apr | apr-rename --strict --schema apr | "
	  "apr-prune --sparsity 0.3 | apr-lowrank svd --rank 8 | apr-quant -j 2 q4_0 | "
	  "apr-gate --canary c.json --max-drift 0.2 -j 2 --against m.gguf | apr-check -j 2 --pass | "
	  "apr-sparse csr --threshold 0.1 | apr-sign k | apr-pack -z zstd:19 -o o.apr" },
	{ "convert m.apr --canary c.json --force",
	  "apr-gate --canary c.json --no-gate m.apr | apr-check --pass --relaxed | apr-pack" },
	{ "convert m.apr --rank 8", "!--rank needs --lowrank" },
	{ "convert m.apr --target *.fc1", "!--target needs --lowrank" },
	{ "convert m.apr --lowrank svd --rank 8 --target *.fc?[0].weight",
	  "apr-lowrank svd --rank 8 --target '^.*\\.fc.\\[0\\]\\.weight$' m.apr | "
	  "apr-check --pass | apr-pack" },
	{ "convert m.apr --embedding-type q8_0", "!--embedding-type needs a type: --quantize" },
	{ "convert - --quality-check", "!--quality-check needs a file, which it reads once more" },
	{ "convert m.apr --opset 17 --cache --preserve-layout --keep-quantization",
	  "apr-check --pass m.apr | apr-pack" },
	{ "convert m.apr --tensor-type a=q8_0 --tensor-type b=f16 -q q4_0 --no-check",
	  "apr-quant --tensor-type a=q8_0 --tensor-type b=f16 q4_0 m.apr | apr-pack" },
	/* import, export, quantize */
	{ "import m.safetensors -o o.apr",
	  "apr-adapt apr m.safetensors | apr-rename --strict --schema apr | apr-check --pass | "
	  "apr-pack -o o.apr" },
	{ "import m.gguf -o o.apr", "apr-adapt gguf m.gguf | apr-check --pass | apr-pack -o o.apr" },
	{ "import hf://a/b --quantize int8 --no-cache -o o.apr",
	  "apr-pull --no-cache hf://a/b | apr-adapt apr | apr-rename --strict --schema apr | "
	  "apr-quant int8 | apr-check --pass | apr-pack -o o.apr" },
	{ "import hf://a/b --only x --include a --include b -o o.gguf",
	  "apr-pull --include a --include b hf://a/b | apr-unpack --only x | apr-adapt gguf | "
	  "apr-check --pass | apr-pack -o o.gguf" },
	{ "convert hf://a/b --analyze-source", "apr-pull hf://a/b | apr-check --stats-only" },
	{ "convert m --no-cache", "!--no-cache needs an address, such as hf://ORG/NAME" },
	{ "convert hf://a/b -o o.apr",
	  "apr-pull hf://a/b | apr-adapt apr | apr-rename --strict --schema apr | apr-check --pass | "
	  "apr-pack -o o.apr" },
	{ "import m.pt --force --arch bert -o o.apr",
	  "apr-adapt --arch bert --relaxed apr m.pt | apr-rename --arch bert --schema apr | "
	  "apr-check --pass --relaxed | apr-pack -o o.apr" },
	{ "export m.apr --format gguf --quantize q4_k_m -o o.gguf",
	  "apr-adapt gguf m.apr | apr-quant q4_k_m | apr-pack -t gguf -o o.gguf" },
	{ "export m.apr --format safetensors -o o/",
	  "apr-adapt hf m.apr | apr-pack -t safetensors -o o/" },
	{ "export m.apr --format hf --keep-quantization -o o/", "apr-pack -t safetensors -o o/ m.apr" },
	{ "export m.apr --format onnx -o o", "!UnsupportedFormat: is not a format that is written" },
	{ "export m.apr", "!--format is missing" },
	{ "quantize m.apr --type q4_0 --embedding-type q8_0 --output o.apr",
	  "apr-quant --token-embedding-type q8_0 q4_0 m.apr | apr-pack -o o.apr" },
	{ "quantize m.apr", "!--type is missing" },
	/* validate and qa */
	{ "validate m.apr --quality --min-score 95", "apr-check --min-score 95 m.apr" },
	{ "validate --checksum m.apr", "apr-header --checksum m.apr" },
	{ "validate a b --quality", "apr-diff --max-drift 0.1 --min-cosine 0.99 --tensors a b" },
	{ "validate a b --max-drift 0.3 --json",
	  "apr-diff --max-drift 0.3 --json --min-cosine 0.99 --tensors a b" },
	{ "validate a b --min-score 95", "!two models are compared: points are for one" },
	{ "qa verify m.apr --score --category physics", "apr-check --category physics m.apr" },
	{ "qa m.apr", "!qa needs a verb: verify" },
	{ "qa verify", "!a model is missing: give a file" },
	/* wrong usage */
	{ "convert", "!a model is missing: give a file" },
	{ "convert a b", "!one file too many" },
	{ "convert m --output", "!--output needs a value" },
	{ "convert m --output=", "!--output needs a value" },
	{ "convert m -o a -o b", "!--output is given twice" },
	{ "convert m --no-check=1", "!--no-check takes no value" },
	{ "convert m --dequantize=q4_0", "!--dequantize decodes to f32, f16 or bf16" },
	{ "convert m -Z", "!unknown option -Z" },
	{ "convert m --quantise-types q4", "!apr convert has no option --quantise-types" },
};

#define WORDS 64

/* Divides a line into words, ended by NULL. */
static void
divide(char *line, char *words[WORDS])
{
	size_t n = 0;
	char *at;

	for (at = strtok(line, " "); at && n + 1 < WORDS; at = strtok(NULL, " "))
		words[n++] = at;
	words[n] = NULL;
}

/* Replaces the line ends between stages by spaces. */
static void
join(char *text)
{
	char *to = text, *at;

	for (at = text; *at; at++)
		if (*at == '\n') {
			at += strspn(at, "\n ") - 1;
			if (at[1])
				*to++ = ' ';
		} else {
			*to++ = *at;
		}
	*to = '\0';
}

static void
test_row(size_t i)
{
	char line[512], *words[WORDS];
	struct err e = ERR_INIT;
	struct front_plan p;
	struct buf b = { 0 };
	const char *got;

	snprintf(line, sizeof line, "%s", rows[i].line);
	divide(line, words);
	if (front_plan_make(&p, front_word_find(words[0]), words + 1, &e) == 0)
		front_plan_show(&b, &p);
	else
		buf_printf(&b, "!%s", e.fact);
	buf_string(&b);
	join((char *)b.p);
	got = (char *)b.p;
	if (!test_ok(strcmp(got, rows[i].pipe) == 0, "apr %s", rows[i].line))
		printf("# %s\n", got);
	front_plan_free(&p);
	buf_free(&b);
}

/* Text that sh would take apart is quoted. */
static void
test_quoting(void)
{
	char word[] = "a b'c$(d)\n*", *args[] = { word, (char *)"", NULL };
	struct err e = ERR_INIT;
	struct front_plan p;
	struct buf b = { 0 };

	front_plan_make(&p, front_word_find("sum"), args, &e);
	front_plan_show(&b, &p);
	test_ok(strcmp(buf_string(&b), "apr-sum 'a b'\\''c$(d)\n*' ''\n") == 0, "quoted for sh");
	front_plan_free(&p);
	buf_free(&b);
}

/* Each row of the table is reached by its first spelling, and its help fits a line. */
static void
test_options(void)
{
	const struct front_option *o;
	size_t bad = 0;

	for (o = front_options(); o->words; o++) {
		bad += o->help && strlen(o->help) > 64;
		bad += o->as && *o->as != '-';
		bad += !o->names || !*o->names;
	}
	test_ok(bad == 0, "rows of options are sound");
}

/* Spellings are not given twice. */
static void
test_words(void)
{
	const struct front_word *w, *v;
	size_t bad = 0;

	for (w = front_words(); w->name; w++) {
		bad += front_word_find(w->name) != w;
		for (v = front_words(); v->name; v++)
			bad += v != w && front_word_find(v->name) == w;
		bad += !w->tool && !w->plan && strcmp(w->name, "help") != 0;
	}
	test_ok(bad == 0 && !front_word_find("") && !front_word_find("publish upload") &&
	        front_word_find("info") == front_word_find("inspect"), "words are found");
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		test_row(i);
	test_quoting();
	test_options();
	test_words();
	return test_done();
}
