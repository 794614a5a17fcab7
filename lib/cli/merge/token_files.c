#include "cli/merge/token_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dir_name.h"
#include "core/mem.h"
#include "core/reader.h"

#define FILE_BYTES ((size_t)256 << 20)

static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
	"special_tokens_map.json", "added_tokens.json", "config.json", "chat_template.jinja" };
#define NAMES (sizeof names / sizeof *names)

struct token_files {
	struct source source;     /* first; its plan is */
	struct model plan;
	struct buf bytes[NAMES];  /* by the numbers of the blobs */
	size_t next;              /* blob */
	bool sent;                /* the bytes of the one before it */
};

bool
token_files_is(const char *path)
{
	char *last = dir_last(path);
	bool r = last && strcmp(last, names[0]) == 0;

	free(last);
	return r;
}

static int
next(struct source *s, struct item *item, struct err *e)
{
	struct token_files *t = (struct token_files *)s;

	(void)e;
	if (t->next == t->plan.blob_count)
		return 0;
	*item = (struct item){ .kind = ITEM_BLOB, .index = t->next,
		.bytes = t->plan.blobs[t->next].bytes };
	t->next++;
	t->sent = false;
	return 1;
}

static int
read_bytes(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct token_files *t = (struct token_files *)s;
	const struct buf *b = &t->bytes[t->next - 1];

	(void)e;
	*p = b->p;
	*n = t->sent ? 0 : b->n;
	t->sent = true;
	return 0;
}

static void
close_files(struct source *s)
{
	struct token_files *t = (struct token_files *)s;
	size_t i;

	for (i = 0; i < NAMES; i++)
		buf_free(&t->bytes[i]);
	model_free(&t->plan);
	free(t);
}

/* Read a file beside the one at path, which need not exist unless it is that one. */
static int
add_file(struct token_files *t, const char *path, const char *name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct buf file = { 0 };
	int r = 0;

	if (slash)
		buf_put(&file, path, (size_t)(slash - path) + 1);
	buf_text(&file, name);
	if (!buf_string(&file))
		r = err_memory(e);
	else if (name == names[0] || access((char *)file.p, F_OK) == 0) {
		struct buf *to = &t->bytes[t->plan.blob_count];

		r = reader_file((char *)file.p, FILE_BYTES, to, e);
		if (r == 0)
			r = model_add_blob(&t->plan, name, "file", to->n, e);
	}
	buf_free(&file);
	return r;
}

struct source *
token_files_open(const char *path, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_bytes, .close = close_files };
	struct token_files *t = mem_array(1, sizeof *t);
	size_t i;

	if (!t) {
		err_memory(e);
		return NULL;
	}
	t->source = (struct source){ .plan = &t->plan, .ops = &ops, .name = path };
	if (model_init(&t->plan, e) == 0)
		for (i = 0; i < NAMES && add_file(t, path, names[i], e) == 0; i++)
			;
	if (e->code == ERR_NONE)
		return &t->source;
	close_files(&t->source);
	return NULL;
}
