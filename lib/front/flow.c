/* The plans of convert, import, export and quantize: one pipe from a source to a file. The
 * order of its stages is fixed (front/line.h). */
#include "front/plan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */

/* A value as users write it, and as the tool does. */
struct spelling {
	const char *was, *now;
};

static const struct spelling formats_read[] = {
	{ "pt", "pytorch" }, { "pth", "pytorch" }, { "torch", "pytorch" }, { "bin", "pytorch" },
	{ "torchscript", "pytorch" }, { "savedmodel", "tensorflow" }, { "saved_model", "tensorflow" },
	{ "frozen", "tensorflow" }, { "pb", "tensorflow" }, { "tf", "tensorflow" },
	{ "h5", "keras" }, { "hdf5", "keras" }, { "lite", "tflite" }, { "apr", "apr2" },
	{ "huggingface", "safetensors" }, { "hf", "safetensors" }, { "msgpack", "flax" },
	{ "npz", "numpy" }, { "npy", "numpy" }, { "mlmodel", "coreml" }, { NULL, NULL }
};
static const struct spelling formats_written[] = {
	{ "apr", "apr2" }, { "apr2-64", "apr2-64" }, { "apr2", "apr2" }, { "apr1", "apr1" },
	{ "gguf", "gguf" }, { "safetensors", "safetensors" }, { "huggingface", "safetensors" },
	{ "hf", "safetensors" }, { NULL, NULL }
};
static const struct spelling types[] = {
	{ "fp32", "f32" }, { "fp16", "f16" }, { "float32", "f32" }, { "float16", "f16" },
	{ "half", "f16" }, { "bfloat16", "bf16" }, { NULL, NULL }
};

/* Returns the tool's spelling; a value that is not in the table, if `other`, else NULL. */
static const char *
respell(const struct spelling *table, const char *value, bool other)
{
	for (; table->was; table++)
		if (strcasecmp(table->was, value) == 0)
			return table->now;
	return other ? value : NULL;
}

static bool
ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

static bool
is_remote(const char *source)
{
	return strstr(source, "://") != NULL;
}

/* ---- what a command line asks for ---- */

struct flow {
	struct front_plan *p;
	const struct front_line *l;
	const char *source;     /* a file, "-", or an address */
	const char *format;     /* to write: a name of apr-pack, or NULL: by the suffix, apr2 */
	const char *form;       /* of apr-adapt, or NULL: it does not run */
	const char *type;       /* of apr-quant, or NULL */
	unsigned steps;
	bool fed;               /* a stage runs already: the next reads its output */
};

static const char *
slot(const struct flow *f, enum front_slot s)
{
	return f->l->slot[s];
}

static bool
is_word(const struct flow *f, unsigned words)
{
	return f->l->word->plan & words;
}

/* Whether the result is a file of this format, by -t or else by its suffix. */
static bool
writes(const struct flow *f, const char *format, const char *suffix)
{
	const char *output = slot(f, SLOT_OUTPUT);

	if (f->format)
		return strcmp(f->format, format) == 0;
	return output && ends_in(output, suffix);
}

static bool
writes_folder(const struct flow *f)
{
	const char *output = slot(f, SLOT_OUTPUT);

	return writes(f, "safetensors", ".safetensors") ||
	       (!f->format && output && ends_in(output, "/"));
}

static bool
reads_gguf(const struct flow *f)
{
	const char *from = slot(f, SLOT_FROM);

	return from ? strcasecmp(from, "gguf") == 0 : ends_in(f->source, ".gguf");
}

static bool
reads_ggml(const struct flow *f)
{
	const char *from = slot(f, SLOT_FROM);

	return from && strcasecmp(from, "ggml") == 0;
}

/* Whether the source has the names and side files of a folder already. */
static bool
reads_folder(const struct flow *f)
{
	return !reads_gguf(f) && !ends_in(f->source, ".apr");
}

/* Chooses the form of the model: names and keys of the program that reads the result. A GGUF
 * file that becomes an .apr file keeps its form, since its tensors may be quantized, which
 * folders do not have; so does a file that is only converted, without --arch. */
static const char *
choose_form(const struct flow *f)
{
	const char *form = slot(f, SLOT_FORM);

	if (form)
		return strcmp(form, "none") == 0 ? NULL : form;
	if (writes(f, "gguf", ".gguf"))
		return is_word(f, FRONT_IS_QUANTIZE) ? NULL : "gguf";
	if (writes_folder(f))
		return reads_folder(f) || slot(f, SLOT_KEEP) || is_word(f, FRONT_IS_QUANTIZE) ? NULL : "hf";
	if (is_word(f, FRONT_IS_IMPORT) || is_remote(f->source))
		return reads_gguf(f) ? "gguf" : "apr";
	return slot(f, SLOT_ARCH) && !reads_ggml(f) ? reads_gguf(f) ? "gguf" : "apr" : NULL;
}

/* ---- refusals ---- */

static int
misused(const struct flow *f, struct err *e, const char *fact)
{
	err_set(e, ERR_USAGE, NULL, "%s", fact);
	return err_hint(e, "apr %s --help", f->l->word->name);
}

static int
choose_type(struct flow *f, struct err *e)
{
	static const enum front_slot slots[] = { SLOT_TYPE, SLOT_PRECISION, SLOT_FLOATS };
	size_t i, n = 0;

	for (i = 0; i < 3; i++)
		if (slot(f, slots[i])) {
			f->type = slots[i] == SLOT_FLOATS ? "f32" : respell(types, slot(f, slots[i]), true);
			n++;
		}
	if (n > 1)
		return misused(f, e, "only one of --quantize, --precision and --bf16-to-f32 can name the type");
	if (n == 0 && is_word(f, FRONT_IS_QUANTIZE))
		return misused(f, e, "--type is missing");
	return 0;
}

static int
choose_format(struct flow *f, struct err *e)
{
	const char *to = slot(f, SLOT_TO);

	f->format = slot(f, SLOT_NATIVE) ? "apr1" : NULL;
	if (!to)
		return is_word(f, FRONT_IS_EXPORT) && !slot(f, SLOT_OUTPUT) && !f->format
		           ? misused(f, e, "--format is missing") : 0;
	if (f->format)
		return misused(f, e, "--trueno-native is a form of apr1, and excludes another format");
	f->format = respell(formats_written, to, false);
	if (f->format)
		return 0;
	err_set(e, ERR_FORMAT, to, "UnsupportedFormat: is not a format that is written");
	return err_hint(e, "formats: apr, apr1, apr2-64, gguf, safetensors");
}

/* Options that only mean something together with another one. */
static int
refuse_alone(const struct flow *f, struct err *e)
{
	static const struct {
		enum front_step step;
		const char *needs;
	} rows[] = {
		{ STEP_FETCH, "needs an address, such as hf://ORG/NAME" },
		{ STEP_LOWRANK, "needs --lowrank" }, { STEP_SPARSE, "needs --sparse" },
		{ STEP_DISTILL, "needs --distill" }, { STEP_GATE, "needs --quality-check or --canary" },
		{ STEP_QUANT, "needs a type: --quantize" }
	};
	size_t i, k;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		for (k = 0; k < f->l->given_count; k++) {
			const struct front_option *o = f->l->given[k].option;

			if (o->passes == 1u << rows[i].step && !(f->steps & 1u << rows[i].step)) {
				err_set(e, ERR_USAGE, NULL, "--%.*s %s", (int)strcspn(o->names, " "), o->names,
				        rows[i].needs);
				return err_hint(e, "apr %s --help", f->l->word->name);
			}
		}
	return 0;
}

/* ---- stages ---- */

static void
begin(struct flow *f, enum front_step step, const char *tool)
{
	front_plan_stage(f->p, step, tool);
	front_plan_pass(f->p, f->l, step);
}

/* Ends the arguments of a stage: the first one reads the source itself. */
static void
end(struct flow *f)
{
	if (!f->fed)
		front_plan_operand(f->p, f->source);
	f->fed = true;
}

static void
add_option(struct flow *f, const char *name, const char *value)
{
	if (value) {
		front_plan_add(f->p, name);
		front_plan_add(f->p, *value ? value : NULL);
	}
}

/* Whether apr-unpack has options; otherwise, the first filter reads the file. */
static bool
source_has_options(const struct flow *f)
{
	size_t i;

	for (i = 0; i < f->l->given_count; i++)
		if (f->l->given[i].option->passes & 1u << STEP_SOURCE)
			return true;
	return slot(f, SLOT_FROM) || (reads_ggml(f) && slot(f, SLOT_ARCH));
}

static void
put_fetch(struct flow *f)
{
	begin(f, STEP_FETCH, "apr-pull");
	end(f);
}

static void
put_source(struct flow *f)
{
	const char *from = slot(f, SLOT_FROM);

	if (!source_has_options(f))
		return;
	begin(f, STEP_SOURCE, "apr-unpack");
	add_option(f, "--from", from ? respell(formats_read, from, true) : NULL);
	add_option(f, "--arch", reads_ggml(f) ? slot(f, SLOT_ARCH) : NULL);
	end(f);
}

static void
put_quant(struct flow *f, enum front_step step, const char *type)
{
	begin(f, step, "apr-quant");
	front_plan_operand(f->p, type);
	end(f);
}

static void
put_adapt(struct flow *f)
{
	begin(f, STEP_ADAPT, "apr-adapt");
	add_option(f, "--arch", reads_ggml(f) ? NULL : slot(f, SLOT_ARCH));
	front_plan_add(f->p, slot(f, SLOT_FORCE) ? "--relaxed" : NULL);
	front_plan_operand(f->p, f->form);
	end(f);
}

/* Names that the architecture does not have are refused. */
static void
put_rename(struct flow *f)
{
	begin(f, STEP_RENAME, "apr-rename");
	front_plan_add(f->p, slot(f, SLOT_FORCE) ? NULL : "--strict");
	add_option(f, "--arch", slot(f, SLOT_ARCH));
	front_plan_add(f->p, "--schema");
	front_plan_add(f->p, "apr");
	end(f);
}

/* A stage with a word in front, such as the kind of factors. */
static void
put_kind(struct flow *f, enum front_step step, const char *tool, const char *kind)
{
	front_plan_stage(f->p, step, tool);
	if (kind)
		front_plan_operand(f->p, kind);
	front_plan_pass(f->p, f->l, step);
	end(f);
}

static void
put_check(struct flow *f)
{
	begin(f, STEP_CHECK, "apr-check");
	front_plan_add(f->p, "--pass");
	front_plan_add(f->p, slot(f, SLOT_FORCE) ? "--relaxed" : NULL);
	end(f);
}

static void
put_gate(struct flow *f)
{
	begin(f, STEP_GATE, "apr-gate");
	if (slot(f, SLOT_GATE)) {
		front_plan_add(f->p, "--against");
		front_plan_operand(f->p, f->source);
	}
	front_plan_add(f->p, slot(f, SLOT_FORCE) ? "--no-gate" : NULL);
	end(f);
}

static void
put_pack(struct flow *f)
{
	begin(f, STEP_PACK, "apr-pack");
	add_option(f, "-t", f->format);
	front_plan_add(f->p, slot(f, SLOT_NATIVE) ? "--trueno-native" : NULL);
	front_plan_add(f->p, slot(f, SLOT_FORCE_OUTPUT) ? "-f" : NULL);
	if (slot(f, SLOT_OUTPUT)) {
		front_plan_add(f->p, "-o");
		front_plan_operand(f->p, slot(f, SLOT_OUTPUT));
	}
	end(f);
}

static void
put_all(struct flow *f)
{
	enum front_step step;

	for (step = STEP_FETCH; step < FRONT_STEPS; step++) {
		if (!(f->steps & 1u << step))
			continue;
		switch (step) {
		case STEP_FETCH: put_fetch(f); break;
		case STEP_SOURCE: put_source(f); break;
		case STEP_TRUST: put_kind(f, step, "apr-verify", slot(f, SLOT_TRUST)); break;
		case STEP_DECODE:
			put_quant(f, step, *slot(f, SLOT_DECODE)
			                       ? respell(types, slot(f, SLOT_DECODE), true) : "f32");
			break;
		case STEP_ADAPT: put_adapt(f); break;
		case STEP_RENAME: put_rename(f); break;
		case STEP_PRUNE: put_kind(f, step, "apr-prune", NULL); break;
		case STEP_LOWRANK: put_kind(f, step, "apr-lowrank", slot(f, SLOT_LOWRANK)); break;
		case STEP_DISTILL: put_kind(f, step, "apr-distill", NULL); break;
		case STEP_QUANT: put_quant(f, step, f->type); break;
		case STEP_GATE: put_gate(f); break;
		case STEP_CHECK: put_check(f); break;
		case STEP_SPARSE: put_kind(f, step, "apr-sparse", slot(f, SLOT_SPARSE)); break;
		case STEP_SIGN: put_kind(f, step, "apr-sign", slot(f, SLOT_SIGN)); break;
		case STEP_PACK: put_pack(f); break;
		case FRONT_STEPS: break;
		}
	}
}

/* ---- the words ---- */

static unsigned
bit(enum front_step step, bool on)
{
	return on ? 1u << step : 0;
}

static unsigned
choose_steps(const struct flow *f)
{
	return f->l->wanted | bit(STEP_FETCH, is_remote(f->source)) | bit(STEP_SOURCE, true) |
	       bit(STEP_TRUST, slot(f, SLOT_TRUST)) | bit(STEP_DECODE, slot(f, SLOT_DECODE)) |
	       bit(STEP_ADAPT, f->form) |
	       bit(STEP_RENAME, f->form && strcmp(f->form, "apr") == 0) | bit(STEP_QUANT, f->type) |
	       bit(STEP_GATE, slot(f, SLOT_GATE) || slot(f, SLOT_CANARY)) |
	       bit(STEP_CHECK, is_word(f, FRONT_IS_CONVERT | FRONT_IS_IMPORT) &&
	                           !slot(f, SLOT_NO_CHECK)) |
	       bit(STEP_SIGN, slot(f, SLOT_SIGN)) | bit(STEP_PACK, true);
}

/* apr convert SOURCE --analyze-source: the tensors are judged, and nothing is written. */
static void
analyze(struct flow *f)
{
	if (is_remote(f->source))
		put_fetch(f);
	put_source(f);
	begin(f, STEP_CHECK, "apr-check");
	front_plan_add(f->p, "--stats-only");
	add_option(f, "--arch", slot(f, SLOT_ARCH));
	end(f);
}

static const char *
note_for(const struct flow *f)
{
	size_t i;

	for (i = 0; i < f->l->given_count; i++) {
		if (f->l->given[i].option->why)
			return f->l->given[i].option->why;
		if (strcmp(f->l->given[i].option->names, "pure") == 0)
			return NULL;
	}
	return is_word(f, FRONT_IS_QUANTIZE)
	           ? "the mixture of that name, as llama-quantize makes it; --pure: one type" : NULL;
}

int
front_flow(struct front_plan *p, const struct front_line *l, struct err *e)
{
	struct flow f = { .p = p, .l = l };

	if (l->operand_count == 0)
		return misused(&f, e, "a model is missing: give a file");
	if (l->operand_count > 1)
		return misused(&f, e, "one file too many");
	f.source = l->operands[0];
	p->import = is_word(&f, FRONT_IS_IMPORT) || is_remote(f.source);
	p->note = note_for(&f);
	if (slot(&f, SLOT_ANALYZE)) {
		analyze(&f);
		return front_plan_end(p, e);
	}
	if (choose_type(&f, e) < 0 || choose_format(&f, e) < 0)
		return -1;
	f.form = choose_form(&f);
	f.steps = choose_steps(&f);
	if (refuse_alone(&f, e) < 0)
		return -1;
	if (slot(&f, SLOT_GATE) && (is_remote(f.source) || strcmp(f.source, "-") == 0))
		return misused(&f, e, "--quality-check needs a file, which it reads once more");
	put_all(&f);
	p->source = p->import && !is_remote(f.source) && strcmp(f.source, "-") != 0 ? f.source : NULL;
	return front_plan_end(p, e);
}
