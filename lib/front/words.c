#include "front/words.h"

#include <string.h>

static const struct front_rename canary_renames[] = {
	{ "--input", "--file" }, { NULL, NULL }
};
static const struct front_rename diff_renames[] = {
	{ "--mapping", "--tensor-mapping" }, { NULL, NULL }
};
static const struct front_rename merge_renames[] = {
	{ "--strategy", "--method" }, { NULL, NULL }
};
static const struct front_rename tensors_renames[] = {
	{ "--stats", "" }, { NULL, NULL }
};
static const struct front_rename trace_renames[] = {
	{ "--payload", "--trace-payload" }, { NULL, NULL }
};
static const struct front_turn download_turns[] = {
	{ "-o", "apr-pull" }, { "--output", "apr-pull" }, { "--path", "apr-pull" },
	{ "--json", "apr-pull" }, { "-n", "apr-pull" }, { "--dry-run", "apr-pull" }, { NULL, NULL }
};
static const struct front_turn tensors_turns[] = {
	{ "--hist", "apr-stats" }, { "--stats", "apr-stats" }, { NULL, NULL }
};

#define TOOL(n, a, g, t, p) .name = n, .also = a, .group = FRONT_##g, .tool = t, .purpose = p
#define PLAN(n, a, g, bit, u, p) \
	.name = n, .also = a, .group = FRONT_##g, .plan = bit, .usage = u, .purpose = p

static const struct front_word words[] = {
	{ PLAN("convert", "", CONVERT, FRONT_IS_CONVERT, "FILE", "to another format, type or size") },
	{ PLAN("import", "", CONVERT, FRONT_IS_IMPORT, "SOURCE",
	  "fetch, adapt and check a model of another program") },
	{ PLAN("export", "", CONVERT, FRONT_IS_EXPORT, "FILE",
	  "to the form and format of another program") },
	{ PLAN("quantize", "quantise", CONVERT, FRONT_IS_QUANTIZE, "FILE", "to a type with fewer bits") },
	{ TOOL("merge", "", CONVERT, "apr-merge", "several models into one"),
	  .renames = merge_renames, .packs = true },
	{ TOOL("unpack", "", CONVERT, "apr-unpack", "a file into a stream") },
	{ TOOL("pack", "", CONVERT, "apr-pack", "a stream into a file") },

	{ TOOL("inspect", "info", LOOK, "apr-header", "what a file contains, from its header") },
	{ TOOL("header", "", LOOK, "apr-header", "the same") },
	{ TOOL("tensors", "", LOOK, "apr-header", "names, types and shapes; --hist NAME: values"),
	  .adds = "--list", .renames = tensors_renames, .turns = tensors_turns },
	{ TOOL("explain", "", LOOK, "apr-explain", "a model, a tensor or an error in words") },
	{ TOOL("debug", "", LOOK, "apr-debug", "the bytes of a file, sound or broken") },
	{ TOOL("stats", "", LOOK, "apr-stats", "statistics of the values") },
	{ TOOL("sum", "digest", LOOK, "apr-sum", "digests of the content") },
	{ TOOL("get", "", LOOK, "apr-get", "one tensor as bytes or numbers") },
	{ TOOL("trace", "", LOOK, "apr-trace", "what happens in each layer"),
	  .renames = trace_renames },
	{ TOOL("tui", "", LOOK, "apr-tui", "a model on the whole screen") },

	{ PLAN("validate", "", JUDGE, FRONT_IS_VALIDATE, "FILE [OPTIMIZED]",
	  "100 points; two models: what was lost") },
	{ PLAN("qa", "", JUDGE, FRONT_IS_QA, "verify FILE",
	  "the same for CI: qa verify FILE --min-score N") },
	{ TOOL("check", "", JUDGE, "apr-check", "the 100 points themselves") },
	{ TOOL("lint", "", JUDGE, "apr-lint", "practices and signs of danger") },
	{ TOOL("diff", "compare", JUDGE, "apr-diff", "two models of any formats"),
	  .renames = diff_renames },
	{ TOOL("canary", "", JUDGE, "apr-canary", "record what a model says, and check it"),
	  .renames = canary_renames },
	{ TOOL("gate", "", JUDGE, "apr-gate", "pass a model on only if it is good"),
	  .packs = true },

	{ TOOL("meta", "metadata", CHANGE, "apr-meta", "show and change the metadata") },
	{ TOOL("adapt", "", CHANGE, "apr-adapt", "to the names and keys of another program"),
	  .packs = true },
	{ TOOL("rename", "", CHANGE, "apr-rename", "tensors"), .packs = true },
	{ TOOL("quant", "", CHANGE, "apr-quant", "types of tensors, with all options"),
	  .packs = true },
	{ TOOL("fit", "", CHANGE, "apr-fit", "choose types by what they cost") },
	{ TOOL("imatrix", "", CHANGE, "apr-imatrix", "measure which columns matter") },
	{ TOOL("prune", "", CHANGE, "apr-prune", "drop weights, heads or layers"), .packs = true },
	{ TOOL("lowrank", "", CHANGE, "apr-lowrank", "factors of matrices"), .packs = true },
	{ TOOL("sparse", "", CHANGE, "apr-sparse", "a form without zeros"), .packs = true },
	{ TOOL("distill", "", CHANGE, "apr-distill", "train a smaller model") },
	{ TOOL("lora", "", CHANGE, "apr-lora", "adapters: apply, extract, convert"),
	  .packs = true },

	{ TOOL("sign", "", TRUST, "apr-sign", "the content of a model"), .packs = true },
	{ TOOL("verify", "", TRUST, "apr-verify", "a signature"), .packs = true },
	{ TOOL("keygen", "", TRUST, "apr-keygen", "a pair of signing keys") },
	{ TOOL("encrypt", "", TRUST, "apr-encrypt", "the tensors of a model"), .packs = true },
	{ TOOL("decrypt", "", TRUST, "apr-decrypt", "them again"), .packs = true },
	{ TOOL("seal", "", TRUST, "apr-seal", "a message for the owner of a model") },
	{ TOOL("open", "", TRUST, "apr-open", "such a message") },

	{ TOOL("run", "", RUN, "apr-run", "what a model says next") },
	{ TOOL("predict", "", RUN, "apr-predict", "what a classical model says of rows") },
	{ TOOL("embed", "", RUN, "apr-embed", "one program with a model inside") },
	{ TOOL("tok", "tokenize", RUN, "apr-tok", "text to tokens, and back") },

	{ TOOL("download", "", FETCH, "apr-pull", "a model of a hub or the web, into the cache"),
	  .adds = "--path", .turns = download_turns },
	{ TOOL("pull", "", FETCH, "apr-pull", "the same, into a file or a pipe") },
	{ TOOL("push", "publish upload", FETCH, "apr-push", "a model to a hub or registry") },
	{ TOOL("cache", "", FETCH, "apr-cache", "list and clear what was fetched") },

	{ TOOL("batch", "", SETTINGS, "apr-batch", "run a word over many models") },
	{ TOOL("config", "", SETTINGS, "apr-config", "show and change the configuration") },
	{ TOOL("completions", "completion", SETTINGS, "apr-completions",
	  "for bash, zsh or fish") },
	{ PLAN("help", "", SETTINGS, 0, "[WORD]", "the manual page of a word") },
	{ .name = NULL }
};

const struct front_word *
front_words(void)
{
	return words;
}

bool
front_spelled(const char *names, const char *name, size_t n)
{
	size_t step;

	for (; *names; names += step + (names[step] == ' ')) {
		step = strcspn(names, " ");
		if (step == n && strncmp(names, name, n) == 0)
			return true;
	}
	return false;
}

const struct front_word *
front_word_find(const char *name)
{
	const struct front_word *w;

	if (!*name || strchr(name, ' '))
		return NULL;
	for (w = words; w->name; w++)
		if (strcmp(w->name, name) == 0 || front_spelled(w->also, name, strlen(name)))
			return w;
	return NULL;
}

const char *
front_word_spelling(unsigned index)
{
	return words[index].name;
}

const char *
front_group_title(enum front_group g)
{
	static const char *const titles[FRONT_GROUPS] = {
		"Convert", "Look", "Judge", "Change", "Trust", "Run", "Fetch and publish", "Settings"
	};

	return titles[g];
}
