/* Explanations of codes, exit statuses, identifiers of messages, and known failures, as rows of
 * data; and of architectures and types, from their own tables. */
#include "report/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arch/words.h"
#include "model/block.h"
#include "report/explain_rules.h"

#define LINES 5

struct topic {
	const char *word, *kind, *title;
	const char *means;           /* or the symptom */
	const char *causes[LINES];   /* up to NULL */
	const char *steps[LINES];    /* what the user can do, in this order */
};

#define CODE "error code"
#define STATUS "exit status"
#define FAILURE "known failure"
#define MESSAGE "identifier in messages"

/* Sources: version 2 of the specification, sections 4.12, 7 and 10.11. */
static const struct topic topics[] = {
	{ "E001", CODE, "the format is not supported",
	  "The file is not a model of a format that is read here, or has a feature that is not "
	  "supported.",
	  { "the file is another kind of file, such as a web page that was saved as a model",
	    "the download stored a Git LFS pointer of 130 bytes, not the file",
	    "a format, type or architecture without support here" },
	  { "apr-debug FILE shows what the file is",
	    "man apr-formats lists what is read and written",
	    "if the format is known but not recognized: apr-unpack --from FORMAT FILE" } },
	{ "E002", CODE, "the file is damaged",
	  "The structure of the file contradicts itself or ends too early. A checksum that differs is "
	  "E004.",
	  { "the download or copy was interrupted, so the file is too short",
	    "an error of a disk or of memory", "the program that wrote the file is faulty" },
	  { "apr-debug FILE shows the place where the structure breaks",
	    "compare the size and the SHA-256 of the file with those of its publisher",
	    "download the file again" } },
	{ "E003", CODE, "the version is not supported",
	  "The file has the right format, in a version that is not known here.",
	  { "the file is from a newer program", "the bytes of the version are damaged" },
	  { "apr-debug FILE shows the version", "update the tools, or write the file with an older "
	    "version of its program" } },
	{ "E004", CODE, "a checksum differs",
	  "The structure holds, but the bytes are not those that were written.",
	  { "bits changed on a disk, in memory or on the way", "the file was edited by a program that "
	    "does not update checksums" },
	  { "compare the SHA-256 of the file with that of its publisher", "download or copy the file "
	    "again", "apr-unpack FILE names the part whose checksum differs" } },
	{ "E005", CODE, "decryption failed",
	  "The key or passphrase does not open the model, or the encrypted bytes were changed.",
	  { "another key than that of a recipient", "a wrong passphrase", "the file was changed after "
	    "it was encrypted" },
	  { "apr-header FILE shows how the model is sealed", "apr-decrypt with the key of a recipient",
	    "ask the sender which keys the model was sealed for" } },
	{ "E006", CODE, "the signature does not hold",
	  "A signature is missing, was made by another key, or is not for this content.",
	  { "the model was changed after it was signed", "the public key is not that of the signer",
	    "the model was never signed" },
	  { "apr-verify KEY FILE names what differs", "get the public key from its owner again, on "
	    "another path than the model" } },
	{ "E007", CODE, "the system refused a file",
	  "A file cannot be opened, read or written. If it does not exist, the exit status is 3, else "
	  "1.",
	  { "the path is wrong, or a shard of the model is missing", "the user may not read or write "
	    "it", "the disk is full" },
	  { "check the path that the message names", "for a model in several files, check that all of "
	    "them are in one folder", "df . shows the room on the disk" } },
	{ "E008", CODE, "out of memory",
	  "Memory ran out, or a limit of the tools was reached.",
	  { "APR_RAM_LIMIT or the limit of the shell is too small", "the file claims sizes that no real "
	    "model has" },
	  { "raise APR_RAM_LIMIT or ulimit -v", "apr-debug FILE shows the sizes that the file "
	    "claims" } },

	{ "exit-0", STATUS, "success, or yes", "The tool has done its work.", { NULL }, { NULL } },
	{ "exit-1", STATUS, "a general error, or no as an answer",
	  "The message says which: E005, E006, E007 or E008, or that the answer is \"no\".",
	  { NULL }, { "apr-explain with the code of the message" } },
	{ "exit-2", STATUS, "wrong usage", "An option or operand is wrong; nothing was read.",
	  { NULL }, { "run the tool with --help" } },
	{ "exit-3", STATUS, "a file does not exist", "The message names it (E007).",
	  { NULL }, { "apr-explain E007" } },
	{ "exit-4", STATUS, "a file or stream is malformed",
	  "The message has the code: E001, E002, E003 or E004.", { NULL },
	  { "apr-explain with the code of the message", "apr-debug FILE" } },
	{ "exit-5", STATUS, "a check failed, or the model cannot have what was asked for",
	  "The file is readable. Its content does not pass what was asked for.", { NULL },
	  { "apr-check FILE lists what is wrong with a model" } },

	{ "ln-mean", FAILURE, "the weights of a layer norm have a mean of 11",
	  "The model repeats one token, often punctuation. All structural tests pass. The mean of "
	  "the weights of a layer norm is usually between 0.5 and 3.",
	  { "a tensor was scaled while it was converted", "a tensor got the name of another",
	    "values were decoded as another type" },
	  { "apr-stats FILE | grep norm shows the mean of each norm",
	    "apr-stats --hist NAME FILE shows the distribution of one",
	    "apr-explain FILE --tensor NAME compares it with what is normal",
	    "compare with the original: apr-stats ORIGINAL; then convert again" } },
	{ "missing-conv-bias", FAILURE, "the bias of a convolution is missing",
	  "The output of the encoder is zero or constant, and speech gives no text or the same text.",
	  { "a converter mapped the weight and not the bias", "the bias has a name that the program "
	    "does not know" },
	  { "apr-header -l FILE | grep conv lists the tensors of convolutions",
	    "apr-header -l ORIGINAL shows whether the source has the bias",
	    "apr-check FILE names tensors that the architecture needs and the model lacks" } },
	{ "transposed", FAILURE, "a matrix is transposed",
	  "The output is noise from the first token on. If the matrix is square, all shapes are "
	  "right.",
	  { "rows and columns were confused: model folders of GPT-2 store inputs x outputs (Conv1D)",
	    "dimensions of GGUF were reversed together with the data" },
	  { "apr-explain FILE --tensor NAME shows which dimension counts inputs",
	    "apr-check FILE compares shapes with the hyper-parameters",
	    "compare with the original: apr-sum prints a digest for each tensor",
	    "apr-adapt converts between the forms with the right order" } },
	{ "truncated", FAILURE, "a tensor or the file is truncated",
	  "Loading fails, or a part of the output is missing or random.",
	  { "a download or copy ended too early", "a size overflowed in the program that wrote the "
	    "file", "a shard of the model is missing" },
	  { "apr-debug FILE compares the ends of all tensors with the size of the file",
	    "compare the size of the file with that of its publisher", "download it again" } },
	{ "nan", FAILURE, "values are NaN or infinite",
	  "Logits are NaN, or the same token is repeated.",
	  { "training diverged", "a value above 65504 was stored in half precision",
	    "bytes were decoded as another type" },
	  { "apr-stats --fail-nonfinite FILE names the first such value",
	    "apr-quant reports values that overflow when it writes them" } },

	{ "NanDetected", MESSAGE, "a tensor has values that are NaN",
	  "The message has the name of the tensor and the number of values.",
	  { NULL }, { "apr-explain nan", "apr-stats --fail-nonfinite FILE" } },
	{ "LayerNormMean", MESSAGE, "the mean of a layer norm is out of its range",
	  "The message has the name of the tensor, its mean and the mean that is expected.",
	  { NULL }, { "apr-explain ln-mean" } },
	{ "ArchitectureMismatch", MESSAGE, "the model states another architecture",
	  "The architecture that was asked for is not the one that the model states.",
	  { "--arch names another architecture", "the key general.architecture was changed" },
	  { "apr-header FILE shows what the model states", "apr-explain --list has the names" } },
	{ "ModelTypeMismatch", MESSAGE, "an APR version 1 file has another type of model",
	  "The type in the header is not the one that was asked for, or not that of the payload.",
	  { NULL }, { "apr-header FILE shows the type", "man apr1 lists the types" } },
	{ "DecryptionFailed", MESSAGE, "decryption failed",
	  "The key or passphrase is wrong, or the bytes were changed (E005).", { NULL },
	  { "apr-explain E005" } },
	{ "InvalidFormat", MESSAGE, "a part of the file is not what its format demands",
	  "The message names the part.", { NULL }, { "apr-debug FILE", "man apr1" } },
	{ "MissingTensor", MESSAGE, "a tensor is missing",
	  "The model lacks a tensor that its architecture needs.",
	  { "the model is incomplete, or tensors have other names" },
	  { "apr-header -l FILE lists the names", "apr-rename gives tensors other names" } },
	{ "UnknownTensor", MESSAGE, "a tensor is not known",
	  "The architecture has no tensor of this name.", { NULL },
	  { "apr-explain FILE shows the architecture", "apr-rename gives tensors other names" } },
	{ "DownloadFailed", MESSAGE, "a model could not be fetched",
	  "apr import could not get the model from its address; the message has the reason.",
	  { "the name or the network is wrong", "the model is gated or private, and HF_TOKEN is not set" },
	  { "apr download fetches it alone" } },
	{ "UnsupportedFormat", MESSAGE, "the format is not supported",
	  "The source of apr import, or the format that apr export should write, is not known (E001).",
	  { NULL }, { "apr-explain E001", "man apr-formats lists what the formats can hold" } },
	{ "ValidationFailed", MESSAGE, "a model did not pass the check of its values",
	  "apr import and apr convert make no file of a model with such findings.",
	  { "the source is damaged", "the architecture is not the one that was given" },
	  { "apr convert FILE --analyze-source judges the source alone",
	    "--force writes the file, and only reports" } },
	{ "SignatureInvalid", MESSAGE, "the signature does not hold", "As E006.", { NULL },
	  { "apr-explain E006" } },
	{ "UnsupportedVersion", MESSAGE, "the version is not supported", "As E003.", { NULL },
	  { "apr-explain E003" } },
	{ "QuantizationCorrupt", MESSAGE, "the description of quantized tensors is damaged",
	  "An APR version 1 file describes its quantized tensors in another way than their bytes "
	  "show.", { NULL }, { "apr-explain E002", "man apr1" } },
	{ "UnsupportedQuantization", MESSAGE, "a way of quantizing is not supported",
	  "An APR version 1 file names a quantization that is not known here.", { NULL },
	  { "man apr1 lists those that are" } },
	{ "UnknownFormat", MESSAGE, "the file is not a model of a known format",
	  "No format recognizes the first bytes of the file (E001).", { NULL },
	  { "apr-explain E001", "apr-debug FILE" } },
	{ "ChecksumMismatch", MESSAGE, "a checksum differs", "As E004.", { NULL },
	  { "apr-explain E004" } },
};

#define TOPICS (sizeof topics / sizeof *topics)

/* ---- architectures ---- */

static const struct arch *
arch_at(size_t index, struct explain_entry *to)
{
	const struct arch *a = arch_row(index);

	if (a)
		*to = (struct explain_entry){ a->folder ? a->folder : a->name, "architecture",
			arch_words(a)->family ? arch_words(a)->family : a->name };
	return a;
}

static json_t *
explain_arch(const struct arch *a)
{
	const struct arch_words *w = arch_words(a);
	json_t *o = json_object();
	struct buf b = { 0 };

	buf_printf(&b, "%s: an architecture", w->family ? w->family : a->name);
	explain_set(o, "title", &b);
	json_object_set_new(o, "purpose", json_string(w->purpose));
	json_object_set_new(o, "architecture", json_string(w->kind));
	json_object_set_new(o, "about", json_string(w->trait));
	json_object_set_new(o, "input", json_string(w->input));
	json_object_set_new(o, "output", json_string(w->output));
	buf_printf(&b, "%s in GGUF, %s in config.json", a->flags & ARCH_NO_GGUF ? "none" : a->name,
	           a->folder ? a->folder : "none");
	explain_set(o, "names", &b);
	if (a->missing)
		buf_printf(&b, "apr-run does not run it: it needs %s", a->missing);
	else
		buf_text(&b, "apr-run runs it");
	explain_set(o, "runs", &b);
	return o;
}

/* ---- types ---- */

static json_t *
explain_type(const struct dtype *t)
{
	const struct block_part *p = block_parts(t);
	json_t *o = json_object(), *parts = json_array();
	struct buf b = { 0 };

	buf_printf(&b, "%s: a type of tensors, %.4g bits per weight", t->name,
	           8.0 * t->bytes / t->items);
	explain_set(o, "title", &b);
	if (t->items > 1)
		buf_printf(&b, "blocks of %u values in %u bytes", t->items, t->bytes);
	else
		buf_printf(&b, "%u byte%s for each value", t->bytes, t->bytes == 1 ? "" : "s");
	if (t->head)
		buf_printf(&b, ", after %u bytes at the beginning of the tensor", t->head);
	explain_set(o, "layout", &b);
	for (; p && p->name; p++) {
		char text[96];

		snprintf(text, sizeof text, "%s: byte %u, %u byte%s", p->name, p->offset, p->bytes,
		         p->bytes == 1 ? "" : "s");
		json_array_append_new(parts, json_string(text));
	}
	if (json_array_size(parts))
		json_object_set(o, "parts", parts);
	json_decref(parts);
	return o;
}

/* ---- all words ---- */

bool
explain_entry(size_t index, struct explain_entry *to)
{
	const struct dtype *t;
	const struct rule *r;
	const char *tool;
	size_t archs = 0, types = 0;

	if (index < TOPICS) {
		*to = (struct explain_entry){ topics[index].word, topics[index].kind,
			topics[index].title };
		return true;
	}
	index -= TOPICS;
	if (arch_at(index, to))
		return true;
	while (arch_row(archs))
		archs++;
	t = dtype_row((unsigned)(index - archs));
	if (t) {
		*to = (struct explain_entry){ t->name, "tensor type", t->quantized ?
			"a quantized type" : "a plain type" };
		return true;
	}
	while (dtype_row((unsigned)types))
		types++;
	r = explain_rule(index - archs - types, &tool);
	if (r)
		*to = (struct explain_entry){ r->id, tool, r->claim };
	return r != NULL;
}

static json_t *
list_of(const char *const lines[LINES])
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < LINES && lines[i]; i++)
		json_array_append_new(list, json_string(lines[i]));
	return list;
}

static json_t *
explain_topic(const struct topic *t)
{
	json_t *o = json_object();
	struct buf b = { 0 };

	buf_printf(&b, "%s: %s", t->word, t->title);
	explain_set(o, "title", &b);
	json_object_set_new(o, "kind", json_string(t->kind));
	json_object_set_new(o, strcmp(t->kind, FAILURE) == 0 ? "symptom" : "meaning",
	                    json_string(t->means));
	if (t->causes[0])
		json_object_set_new(o, "causes", list_of(t->causes));
	if (t->steps[0])
		json_object_set_new(o, "steps", list_of(t->steps));
	return o;
}

json_t *
explain_word(const char *word, struct err *e)
{
	const struct arch *a;
	const struct dtype *t;
	json_t *o = NULL;
	size_t i;

	for (i = 0; i < TOPICS && strcasecmp(topics[i].word, word) != 0; i++)
		;
	if (i < TOPICS)
		o = explain_topic(&topics[i]);
	else if ((a = arch_by_folder(word)) || (a = arch_by_name(word)))
		o = explain_arch(a);
	else if ((t = dtype_by_name(word)) && dtype_sized(t) && !t->named)
		o = explain_type(t);
	else if (!(o = explain_rule_word(word)))
		return NULL;
	if (!json_object_get(o, "title"))
		err_memory(e);
	return o;
}

bool
explain_is_code(const char *word)
{
	size_t letters = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
	const char *rest = word + letters;

	if (letters == 1 && tolower((unsigned char)word[0]) == 'e')
		return *rest && strspn(rest, "0123456789") == strlen(rest);
	return letters > 1 && *rest == '-' && rest[1] && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
	       letters && strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == strlen(rest);
}
