/* graft: a GGUF file with the keys of another one, as programs write it that keep more keys
 * than a model needs.
 *
 *     graft MODEL KEYS > FILE
 *
 * Both are GGUF 3. Keys that MODEL has already take the value that they have in KEYS, at
 * their place; the others follow behind. Tensors are those of MODEL. An alignment other
 * than 32 is not known here.
 */
#include <inttypes.h>

#include "gguf.h"

struct file {
	uint8_t *p;
	size_t n, at;
	uint64_t tensors, keys;
};

/* A key as it stands in its file. */
struct span {
	const uint8_t *p;
	size_t name, all; /* bytes of its name with its length; with the value */
};

static uint64_t
take(struct file *f, unsigned width)
{
	uint64_t v = 0;
	unsigned i;

	if (f->n - f->at < width)
		gen_die("ends early", "file");
	for (i = 0; i < width; i++)
		v |= (uint64_t)f->p[f->at++] << 8 * i;
	return v;
}

static void
skip(struct file *f, uint64_t n)
{
	if (n > f->n - f->at)
		gen_die("ends early", "file");
	f->at += (size_t)n;
}

static void
skip_value(struct file *f, uint64_t type)
{
	static const uint8_t size[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
	uint64_t item, n;

	if (type == STRING) {
		skip(f, take(f, 8));
	} else if (type == ARRAY) {
		item = take(f, 4);
		for (n = take(f, 8); n > 0; n--)
			skip_value(f, item);
	} else if (type < sizeof size) {
		skip(f, size[type]);
	} else {
		gen_die("no such type of a key", "file");
	}
}

static void
open_file(struct file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	size_t got;

	if (!in)
		gen_die("cannot be opened", path);
	do {
		f->p = realloc(f->p, f->n + (1 << 20));
		if (!f->p)
			gen_die("out of memory", path);
		got = fread(f->p + f->n, 1, 1 << 20, in);
		f->n += got;
	} while (got > 0);
	fclose(in);
	if (take(f, 4) != 0x46554747 || take(f, 4) != 3)
		gen_die("is not GGUF 3", path);
	f->tensors = take(f, 8);
	f->keys = take(f, 8);
}

static struct span *
read_keys(struct file *f)
{
	struct span *list = calloc(f->keys + 1, sizeof *list);
	uint64_t i;

	for (i = 0; list && i < f->keys; i++) {
		size_t from = f->at;

		list[i].p = f->p + from;
		skip(f, take(f, 8));
		list[i].name = f->at - from;
		skip_value(f, take(f, 4));
		list[i].all = f->at - from;
	}
	if (!list)
		gen_die("out of memory", "keys");
	return list;
}

static const struct span *
same(const struct span *list, uint64_t n, const struct span *key)
{
	for (; n > 0; n--, list++)
		if (list->name == key->name && memcmp(list->p, key->p, key->name) == 0)
			return list;
	return NULL;
}

static void
copy_tensors(struct gen *g, struct file *f)
{
	size_t from = f->at;
	uint64_t i, axes;

	for (i = 0; i < f->tensors; i++) {
		skip(f, take(f, 8));
		axes = take(f, 4);
		skip(f, axes * 8 + 12);
	}
	put(g, f->p + from, f->at - from);
	while (g->n % 32)
		put_u8(g, 0);
	skip(f, (32 - f->at % 32) % 32);
}

int
main(int argc, char **argv)
{
	struct file model = { 0 }, extra = { 0 };
	struct span *old, *new;
	struct gen g = { 0 };
	uint64_t i, count = 0;

	if (argc != 3)
		gen_die("usage: graft MODEL KEYS", "graft");
	open_file(&model, argv[1]);
	open_file(&extra, argv[2]);
	old = read_keys(&model);
	new = read_keys(&extra);
	for (i = 0; i < extra.keys; i++)
		count += !same(old, model.keys, &new[i]);
	put_header(&g, model.tensors, model.keys + count);
	for (i = 0; i < model.keys; i++) {
		const struct span *s = same(new, extra.keys, &old[i]);

		s = s ? s : &old[i];
		put(&g, s->p, s->all);
	}
	for (i = 0; i < extra.keys; i++)
		if (!same(old, model.keys, &new[i]))
			put(&g, new[i].p, new[i].all);
	copy_tensors(&g, &model);
	if (fwrite(g.p, 1, g.n, stdout) != g.n ||
	    fwrite(model.p + model.at, 1, model.n - model.at, stdout) != model.n - model.at)
		gen_die("cannot be written", "standard output");
	return 0;
}
