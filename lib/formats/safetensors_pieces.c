#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/safetensors_folder.h"

/* One file with tensors. */
struct piece {
	char *name, *label;
	struct model plan;     /* of it */
	size_t first, count;   /* of its tensors, in the whole plan */
	struct sink *sink;     /* once the first of them has come */
	bool begun, settled;
};

/* A side file, or the index. */
struct beside {
	char *name, *label;
	struct out out;
};

struct pieces {
	struct sink sink;
	struct format_options options;
	const struct model *plan;
	char *path, *parent, *temporary; /* of the folder; made before it has its name */
	uint64_t bytes;         /* that all of it will need, headers not counted */

	struct piece *pieces;
	size_t piece_count;
	char *index_name;       /* NULL: one file, no index */
	struct beside *besides;
	size_t beside_count, beside_cap;
	size_t *blobs;          /* of the plan: its number in the first piece, or FILE */

	enum { DROPPED, TO_PIECE, TO_FILE } now;
	struct piece *piece;
	struct beside *beside;
};
#define SIDE_FILE SIZE_MAX

/* ---- names ---- */

static bool
is_file(const struct blob *b)
{
	return strcmp(b->type, FOLDER_BLOB) == 0;
}

/* A file of that name has no place beside the others. */
static bool
is_taken(const struct pieces *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->piece_count; i++)
		if (strcmp(s->pieces[i].name, name) == 0)
			return true;
	return s->index_name && strcmp(s->index_name, name) == 0;
}

static int
check_names(const struct pieces *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->blob_count; i++) {
		if (!is_file(&m->blobs[i]))
			continue;
		if (!dir_name_is_plain(m->blobs[i].name))
			return err_set(e, ERR_INVALID, m->blobs[i].name,
			               "is not the name of a file that a folder may get");
		if (is_taken(s, m->blobs[i].name))
			return err_set(e, ERR_INVALID, m->blobs[i].name,
			               "is the name of a side file and of a file with tensors");
	}
	return 0;
}

/* ---- which file gets which tensors ---- */

static int
add_piece(struct pieces *s, const char *name, size_t first, size_t count, struct err *e)
{
	struct piece *p = &s->pieces[s->piece_count++];

	p->name = mem_text(name, strlen(name));
	p->label = dir_label(s->path, name);
	p->first = first;
	p->count = count;
	return p->name && p->label ? 0 : err_memory(e);
}

/* The shards that source lists, if they are those of these tensors. */
static json_t *
listed_shards(const struct model *m)
{
	json_t *rows = json_object_get(m->source, "shards"), *row;
	const char *format = model_source_text(m, "format"), *name;
	uint64_t n, all = 0;
	size_t i;

	if (!format || strcmp(format, format_safetensors.name) != 0 ||
	    json_array_size(rows) == 0)
		return NULL;
	json_array_foreach(rows, i, row)
		if (json_member_text(row, "file", &name) < 0 || !dir_name_is_plain(name) ||
		    json_member_u64(row, "tensors", &n) < 0 || num_add(all, n, &all) < 0)
			return NULL;
	return all == m->tensor_count ? rows : NULL;
}

static int
choose_index(struct pieces *s, struct err *e)
{
	json_t *index = json_object_get(s->plan->source, "index");
	const char *name;

	if (json_member_text(index, "file", &name) < 0 || !dir_name_is_plain(name) ||
	    is_taken(s, name))
		name = FOLDER_INDEX;
	s->index_name = mem_text(name, strlen(name));
	return s->index_name ? 0 : err_memory(e);
}

static int
choose_pieces(struct pieces *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *rows = listed_shards(m), *row;
	const char *name;
	size_t i, first = 0;
	uint64_t n;

	s->pieces = mem_array(rows ? json_array_size(rows) : 1, sizeof *s->pieces);
	if (!s->pieces)
		return err_memory(e);
	if (!rows) {
		name = model_source_text(m, "file");
		if (!name || !dir_name_is_plain(name))
			name = FOLDER_SINGLE;
		return add_piece(s, name, 0, m->tensor_count, e);
	}
	json_array_foreach(rows, i, row) {
		json_member_text(row, "file", &name);
		json_member_u64(row, "tensors", &n);
		if (is_taken(s, name))
			return err_set(e, ERR_INVALID, name, "is the name of two shards");
		if (add_piece(s, name, first, (size_t)n, e) < 0)
			return -1;
		first += (size_t)n;
	}
	return choose_index(s, e);
}

/* ---- a plan for each file ---- */

static int
copy_tensors(const struct pieces *s, struct piece *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		struct tensor *t = tensor_copy(s->plan->tensors[p->first + i]);

		if (!t)
			return err_memory(e);
		if (model_add_tensor(&p->plan, t, e) < 0)
			return -1;
	}
	return 0;
}

static int
copy_key(struct model *to, const struct meta *k, struct err *e)
{
	return model_add_meta(to, k->key, strlen(k->key), k->type, k->wire, k->wire_bytes, e);
}

static bool
is_short_string(const struct meta *k)
{
	return k->wire && k->type.depth == 0 && k->type.leaf == VALUE_STRING;
}

/* Other files than the first repeat its strings, or those of them that they had. */
static int
copy_keys(const struct pieces *s, struct model *to, json_t *names, struct err *e)
{
	const struct model *m = s->plan;
	json_t *name;
	size_t i;

	for (i = 0; !names && i < m->meta_count; i++)
		if (is_short_string(&m->meta[i]) && copy_key(to, &m->meta[i], e) < 0)
			return -1;
	json_array_foreach(names, i, name) {
		const struct meta *k = json_is_string(name)
		                           ? model_find(m, json_string_value(name)) : NULL;

		if (k && is_short_string(k) && !model_find(to, k->key) &&
		    copy_key(to, k, e) < 0)
			return -1;
	}
	return 0;
}

/* The first file has all but the other files' tensors and what is a file itself. */
static int
copy_rest(struct pieces *s, struct model *to, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (k->blob == SIZE_MAX && copy_key(to, k, e) < 0)
			return -1;
		if (k->blob != SIZE_MAX &&
		    model_add_meta_blob(to, k->key, strlen(k->key), k->type,
		                        m->blobs[k->blob].bytes, e) < 0)
			return -1;
	}
	for (i = 0; i < m->blob_count; i++) {
		s->blobs[i] = is_file(&m->blobs[i]) ? SIDE_FILE : i;
		if (strcmp(m->blobs[i].type, MODEL_VALUE) == 0 || is_file(&m->blobs[i]))
			continue;
		s->blobs[i] = to->blob_count;
		if (model_add_blob(to, m->blobs[i].name, m->blobs[i].type, m->blobs[i].bytes,
		                   e) < 0)
			return -1;
	}
	for (i = 0; i < m->prov_count; i++)
		if (model_add_prov(to, m->provs[i], e) < 0)
			return -1;
	to->licence = m->licence;
	to->signatures = m->signatures;
	return 0;
}

/* Its style is that of its row, or of the source of a single file. */
static json_t *
piece_source(const struct pieces *s, size_t i)
{
	json_t *row = json_array_get(json_object_get(s->plan->source, "shards"), i), *source;

	if (!s->index_name)
		source = json_deep_copy(s->plan->source);
	else
		source = row ? json_deep_copy(row) : NULL;
	if (s->index_name &&
	    json_object_set_new(source, "format", json_string(format_safetensors.name)) < 0) {
		json_decref(source);
		return NULL;
	}
	return source;
}

static int
plan_piece(struct pieces *s, size_t i, struct err *e)
{
	struct piece *p = &s->pieces[i];
	json_t *source;

	if (model_init(&p->plan, e) < 0)
		return -1;
	source = piece_source(s, i);
	if (!source)
		return err_memory(e);
	json_decref(p->plan.source);
	p->plan.source = source;
	if ((i == 0 ? copy_rest(s, &p->plan, e)
	            : copy_keys(s, &p->plan, json_object_get(source, "keys"), e)) < 0)
		return -1;
	return copy_tensors(s, p, e);
}

/* ---- outputs ---- */

/* A file that has no name as yet, on the file system on which ours will lie. */
static int
open_out(struct pieces *s, const char *label, struct out *o, struct err *e)
{
	struct out_options where = { .path = s->temporary, .input = -1,
		.no_sync = s->options.no_sync };

	if (out_open(o, &where, e) < 0) {
		out_abandon(o);
		return -1;
	}
	o->name = label;
	return 0;
}

static int
begin_piece(struct pieces *s, struct piece *p, struct err *e)
{
	struct out o;

	if (p->begun)
		return 0;
	p->begun = true;
	if (open_out(s, p->label, &o, e) < 0)
		return -1;
	if (p == s->pieces && out_reserve(&o, s->bytes) < 0) {
		out_abandon(&o);
		return -1;
	}
	p->sink = safetensors_create_shard(&o, &s->options, s->plan, e);
	if (!p->sink)
		return -1;
	p->sink->note = s->sink.note;
	return sink_begin(p->sink, &p->plan, e);
}

static int
settle_piece(struct pieces *s, struct piece *p, struct err *e)
{
	if (p->settled)
		return 0;
	if (begin_piece(s, p, e) < 0)
		return -1;
	p->settled = true;
	return safetensors_settle(p->sink, e);
}

static int
begin_beside(struct pieces *s, const char *name, struct err *e)
{
	struct beside *b;

	if (mem_grow(&s->besides, &s->beside_cap, s->beside_count + 1,
	             sizeof *s->besides) < 0)
		return err_memory(e);
	b = s->beside = &s->besides[s->beside_count];
	*b = (struct beside){ .name = mem_text(name, strlen(name)),
		.label = dir_label(s->path, name), .out = { .fd = -1, .done = true } };
	s->beside_count++;
	if (!b->name || !b->label)
		return err_memory(e);
	return open_out(s, b->label, &b->out, e);
}

/* ---- the index ---- */

static int
append(const char *text, size_t n, void *b)
{
	buf_put(b, text, n);
	return buf_ok(b) ? 0 : -1;
}

static json_t *
build_index(const struct pieces *s)
{
	json_t *facts = json_object_get(json_object_get(s->plan->source, "index"), "metadata");
	json_t *metadata = json_is_object(facts) ? json_deep_copy(facts) : json_object();
	json_t *map = json_object(), *index;
	size_t i, k;
	int r = json_object_set_new(metadata, "total_size",
	                            json_from_u64(model_tensor_bytes(s->plan)));

	for (i = 0; i < s->piece_count; i++)
		for (k = 0; r == 0 && k < s->pieces[i].count; k++)
			r = json_object_set_new(map,
			                        tensor_name(s->plan->tensors[s->pieces[i].first + k]),
			                        json_string(s->pieces[i].name));
	index = r == 0 ? json_pack("{s:O,s:O}", "metadata", metadata, "weight_map", map) : NULL;
	json_decref(metadata);
	json_decref(map);
	return index;
}

/* As Python's json writes it with indent=2 and sort_keys, and a line's end. */
static int
put_index(struct pieces *s, struct err *e)
{
	json_t *index = build_index(s);
	struct buf b = { 0 };
	int r = -1;

	if (index && json_dump_callback(index, append, &b, JSON_INDENT(2) | JSON_SORT_KEYS |
	                                JSON_ENSURE_ASCII) == 0)
		buf_text(&b, "\n");
	else
		b.failed = true;
	json_decref(index);
	if (!buf_ok(&b))
		err_memory(e);
	else if (begin_beside(s, s->index_name, e) == 0)
		r = out_put(&s->beside->out, b.p, b.n);
	if (r == 0)
		r = out_settle(&s->beside->out);
	buf_free(&b);
	return r;
}

/* ---- the verbs ---- */

/* A folder that holds nothing may be given to us; nothing else is replaced. */
static int
refuse_target(const struct pieces *s, struct err *e)
{
	DIR *d = opendir(s->path);
	struct dirent *x;
	bool empty = true;

	if (!d && errno == ENOENT)
		return 0;
	if (!d && errno != ENOTDIR)
		return err_errno(e, s->path, "cannot be made");
	while (d && (x = readdir(d)))
		if (strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0)
			empty = false;
	if (d)
		closedir(d);
	if (d && empty)
		return 0;
	err_set(e, ERR_USAGE, s->path, "exists already");
	return err_hint(e, "a folder is never replaced, also not with -f");
}

static int
add_up(struct pieces *s, struct err *e)
{
	size_t i;

	s->bytes = model_tensor_bytes(s->plan);
	for (i = 0; i < s->plan->blob_count; i++)
		if (num_add(s->bytes, s->plan->blobs[i].bytes, &s->bytes) < 0)
			return err_set(e, ERR_INVALID, s->path, "its size does not fit in 64 bits");
	return 0;
}

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;
	size_t i;

	s->plan = plan;
	s->blobs = mem_array(plan->blob_count, sizeof *s->blobs);
	if (!s->blobs)
		return err_memory(e);
	if (refuse_target(s, e) < 0 || choose_pieces(s, e) < 0 || check_names(s, e) < 0)
		return -1;
	for (i = 0; i < s->piece_count; i++)
		if (plan_piece(s, i, e) < 0)
			return -1;
	/* What the first cannot hold is refused before anything is written. */
	return add_up(s, e) < 0 ? -1 : begin_piece(s, &s->pieces[0], e);
}

static int
put_blob(struct pieces *s, struct item *item, struct err *e)
{
	size_t i = s->blobs[item->index];

	if (i == SIDE_FILE) {
		s->now = TO_FILE;
		return begin_beside(s, s->plan->blobs[item->index].name, e);
	}
	item->index = i;
	s->now = TO_PIECE;
	s->piece = &s->pieces[0];
	return sink_put(s->piece->sink, item, e);
}

/* Shards come one after another: what lies before this one is complete. */
static int
put_tensor(struct pieces *s, struct item *item, struct err *e)
{
	struct piece *p = s->pieces;

	for (; item->index >= p->first + p->count; p++)
		if (settle_piece(s, p, e) < 0)
			return -1;
	if (begin_piece(s, p, e) < 0)
		return -1;
	item->index -= p->first;
	s->now = TO_PIECE;
	s->piece = p;
	return sink_put(p->sink, item, e);
}

static int
put(struct sink *sink, const struct item *given, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;
	struct item item = *given;

	switch (item.kind) {
	case ITEM_BLOB:
		return put_blob(s, &item, e);
	case ITEM_TENSOR:
		return put_tensor(s, &item, e);
	case ITEM_LICENCE:
	case ITEM_PROV:
	case ITEM_SIGN:
	case ITEM_OTHER:
		break;
	}
	s->now = TO_PIECE;
	s->piece = &s->pieces[0];
	return sink_put(s->piece->sink, &item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;

	return s->now == TO_FILE ? out_put(&s->beside->out, p, n)
	                         : sink_write(s->piece->sink, p, n, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;

	return s->now == TO_FILE ? out_settle(&s->beside->out)
	                         : sink_put_end(s->piece->sink, e);
}

/* ---- the end ---- */

/* Give a file its name in the temporary folder. */
static int
name_piece(struct pieces *s, struct piece *p, struct err *e)
{
	char *path = dir_label(s->temporary, p->name);
	int r = -1;

	if (!path)
		return err_memory(e);
	safetensors_rename(p->sink, path);
	r = sink_end(p->sink, e);
	safetensors_rename(p->sink, s->temporary);
	free(path);
	return r;
}

static int
name_beside(struct pieces *s, struct beside *b, struct err *e)
{
	char *path = dir_label(s->temporary, b->name);
	int r;

	if (!path)
		return err_memory(e);
	b->out.path = path;
	r = out_finish(&b->out);
	b->out.path = s->temporary;
	free(path);
	return r;
}

/* The folder with all that is in it so far. */
static void
remove_temporary(struct pieces *s)
{
	char *path;
	size_t i;

	for (i = 0; i < s->piece_count + s->beside_count; i++) {
		path = dir_label(s->temporary, i < s->piece_count
		                    ? s->pieces[i].name : s->besides[i - s->piece_count].name);
		if (path)
			unlink(path);
		free(path);
	}
	rmdir(s->temporary);
}

static int
name_all(struct pieces *s, struct err *e)
{
	size_t i;

	for (i = 0; i < s->piece_count; i++)
		if (name_piece(s, &s->pieces[i], e) < 0)
			return -1;
	for (i = 0; i < s->beside_count; i++)
		if (name_beside(s, &s->besides[i], e) < 0)
			return -1;
	if (rename(s->temporary, s->path) < 0)
		return err_errno(e, s->path, "cannot be given its name");
	return 0;
}

/* A crash must not lose the name. */
static void
sync_parent(const struct pieces *s)
{
	int fd = open(s->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

static int
make_folder(struct pieces *s, struct err *e)
{
	if (mkdir(s->temporary, 0777) < 0)
		return err_errno(e, s->path, "cannot be made");
	if (name_all(s, e) < 0) {
		remove_temporary(s);
		return -1;
	}
	if (!s->options.no_sync)
		sync_parent(s);
	return 0;
}

/* Everything is written and synced. What is left takes no time, and must not be cut
 * in two by a signal. */
static int
end(struct sink *sink, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;
	sigset_t all, before;
	size_t i;
	int r;

	for (i = 0; i < s->piece_count; i++)
		if (settle_piece(s, &s->pieces[i], e) < 0)
			return -1;
	if (s->index_name && put_index(s, e) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = make_folder(s, e);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void
close_sink(struct sink *sink)
{
	struct pieces *s = (struct pieces *)sink;
	size_t i;

	for (i = 0; i < s->piece_count; i++) {
		sink_close(s->pieces[i].sink);
		model_free(&s->pieces[i].plan);
		free(s->pieces[i].name);
		free(s->pieces[i].label);
	}
	for (i = 0; i < s->beside_count; i++) {
		out_abandon(&s->besides[i].out);
		free(s->besides[i].name);
		free(s->besides[i].label);
	}
	free(s->pieces);
	free(s->besides);
	free(s->blobs);
	free(s->index_name);
	free(s->path);
	free(s->parent);
	free(s->temporary);
	free(s);
}

/* path, the folder it lies in, and the name it has until it is complete. */
static int
take_path(struct pieces *s, const char *path)
{
	size_t n = strlen(path);
	const char *slash;
	char name[300];

	while (n > 1 && path[n - 1] == '/')
		n--;
	s->path = mem_text(path, n);
	if (!s->path)
		return -1;
	slash = strrchr(s->path, '/');
	s->parent = slash ? mem_text(s->path, slash == s->path ? 1 : (size_t)(slash - s->path))
	                  : mem_text(".", 1);
	snprintf(name, sizeof name, ".%.200s.%ld.tmp", slash ? slash + 1 : s->path,
	         (long)getpid());
	s->temporary = s->parent ? dir_label(s->parent, name) : NULL;
	return s->temporary ? 0 : -1;
}

struct sink *
folder_create(const char *path, const struct format_options *options, struct err *e)
{
	static const struct sink_ops ops = { begin, put, write_body, put_end, end,
		close_sink };
	struct pieces *s = mem_array(1, sizeof *s);

	if (s && take_path(s, path) == 0) {
		s->sink.ops = &ops;
		s->options = *options;
		return &s->sink;
	}
	if (s)
		close_sink(&s->sink);
	err_memory(e);
	return NULL;
}
