/* SavedModel: the graphs, and the files beside them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/text.h"
#include "imports/tensorflow/tensorflow.h"

#define SCHEMA 1   /* version of SavedModel */
#define TEXT 1024  /* maximum bytes of a text in a list */
#define TEXTS 1024 /* maximum number of texts in a list */

/* ---- lists of texts ---- */

static void
put_text(struct buf *list, uint64_t *count, struct tf_text t)
{
	if (*count == TEXTS || t.n > TEXT || !text_utf8(t.p, t.n, false))
		return;
	import_string(list, t.p, t.n);
	++*count;
}

static int
add_list(struct tensorflow *x, const char *key, const struct buf *list, uint64_t count)
{
	struct buf wire = { 0 };
	int r = 0;

	import_array(&wire, VALUE_STRING, count);
	buf_put(&wire, list->p, list->n);
	wire.failed |= list->failed;
	if (count > 0)
		r = import_value(&x->import, key, (struct value_type){ 1, VALUE_STRING }, &wire);
	buf_free(&wire);
	return r;
}

int
tf_saved_keys(struct tensorflow *x)
{
	if (x->version.p && x->version.n <= TEXT && text_utf8(x->version.p, x->version.n, false) &&
	    import_text(&x->import, "tensorflow.version", x->version.p, x->version.n) < 0)
		return -1;
	if (add_list(x, "tensorflow.tags", &x->tags, x->tag_count) < 0)
		return -1;
	return add_list(x, "tensorflow.signatures", &x->signatures, x->signature_count);
}

/* ---- messages ---- */

/* MetaInfoDef: tags of the graph, joined by commas. */
static int
read_info(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct protobuf_field g;
	struct buf tags = { 0 };
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.form != PROTOBUF_BYTES)
			continue;
		if (g.number == 4 && tags.n + g.value < TEXT) {
			buf_text(&tags, tags.n ? "," : "");
			buf_put(&tags, g.p, (size_t)g.value);
		}
		if (g.number == 5)
			x->version = tf_text_of(&g);
	}
	if (tags.n > 0)
		put_text(&x->tags, &x->tag_count, (struct tf_text){ (char *)tags.p, tags.n });
	x->tags.failed |= tags.failed;
	buf_free(&tags);
	return r;
}

/* Remembers an asset, once. */
static void
put_asset(struct tensorflow *x, struct tf_text t)
{
	size_t i;

	for (i = 0; i < x->asset_count; i++)
		if (x->assets[i].n == t.n && memcmp(x->assets[i].p, t.p, t.n) == 0)
			return;
	if (x->asset_count == TF_ASSETS)
		x->assets_left++;
	else
		x->assets[x->asset_count++] = t;
}

/* MetaGraphDef: what the model is for one use of it. */
static int
read_meta(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
          bool constants)
{
	struct protobuf_field g;
	struct protobuf m;
	struct tf_text t;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.form != PROTOBUF_BYTES)
			continue;
		if (g.number == 1)
			r = read_info(x, &m, &g);
		if (g.number == 2)
			r = tf_graph(x, g.p, g.value, protobuf_at(&m, &g), constants);
		if (g.number == 5 && (r = tf_text_in(&m, &g, 1, &t)) == 0 && t.p)
			put_text(&x->signatures, &x->signature_count, t);
		if (g.number == 6 && (r = tf_text_in(&m, &g, 2, &t)) == 0 && t.p)
			put_asset(x, t);
		if (r < 0)
			return -1;
	}
	return r;
}

int
tf_saved(struct tensorflow *x, bool constants)
{
	struct protobuf_field f;
	struct protobuf m;
	bool first = true;
	int r;

	tf_message(x, &m, x->import.p, x->import.n, 0);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 1 && f.form == PROTOBUF_VARINT && f.value != SCHEMA)
			return import_fail(&x->import, ERR_VERSION, "has version %" PRIu64 " of SavedModel; %d "
			                   "is read", f.value, SCHEMA);
		if (f.number != 2 || f.form != PROTOBUF_BYTES)
			continue;
		if (read_meta(x, &m, &f, constants && first) < 0)
			return -1;
		first = false;
	}
	return r;
}

/* ---- files ---- */

/* Adds a file of the folder as a side file of the same name, if it exists. */
static int
add_file(struct tensorflow *x, const char *name, bool may_miss)
{
	struct import_part part = { .p = NULL };
	const struct map *map;
	struct stat st;
	int fd = dir_open_fd(x->folder, name);
	bool empty = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 0;

	if (fd >= 0)
		close(fd);
	if (empty) /* cannot be mapped */
		return import_side(&x->import, name, "tensorflow-file", NULL, 0);
	if (tf_map(x, name, may_miss, &map) < 0)
		return -1;
	if (!map)
		return 0;
	part = (struct import_part){ map->p, map->n, map };
	return import_side(&x->import, name, "tensorflow-file", &part, 1);
}

static int
add_asset(struct tensorflow *x, struct tf_text t)
{
	struct buf name = { 0 };
	char shown[208];
	int r;

	buf_text(&name, "assets/");
	buf_put(&name, t.p, t.n);
	if (!buf_string(&name))
		r = err_memory(x->import.err);
	else if (memchr(t.p, 0, t.n) || !dir_name_in_saved_model((char *)name.p))
		r = import_fail(&x->import, ERR_CORRUPT, "names an asset \"%s\", which is not a file of the "
		                "model's folder", tf_show(t, shown));
	else
		r = add_file(x, (char *)name.p, false);
	buf_free(&name);
	return r;
}

int
tf_saved_files(struct tensorflow *x)
{
	static const char *const others[] = { "fingerprint.pb", "keras_metadata.pb" };
	const struct import *im = &x->import;
	const struct import_part part = { im->p, im->n, &im->whole.map };
	size_t i;

	if (x->constant_count == 0 &&
	    import_side(&x->import, "saved_model.pb", "tensorflow-file", &part, 1) < 0)
		return -1;
	if (x->constant_count > 0 && tf_cut(x) < 0)
		return -1;
	if (x->folder < 0) {
		x->assets_left += x->asset_count;
		return 0;
	}
	for (i = 0; i < sizeof others / sizeof *others; i++)
		if (add_file(x, others[i], true) < 0)
			return -1;
	for (i = 0; i < x->asset_count; i++)
		if (add_asset(x, x->assets[i]) < 0)
			return -1;
	return 0;
}
