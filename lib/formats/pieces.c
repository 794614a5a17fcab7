#include "formats/pieces.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/dir.h"
#include "core/mem.h"
#include "core/num.h"

/* ---- which file gets which tensors ---- */

bool
pieces_is_taken(const struct pieces *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->piece_count; i++)
		if (strcmp(s->pieces[i].name, name) == 0)
			return true;
	return s->index_name && strcmp(s->index_name, name) == 0;
}

int
pieces_add(struct pieces *s, const char *name, size_t count, struct err *e)
{
	size_t first = 0;
	struct piece *p;

	if (s->piece_count)
		first = s->pieces[s->piece_count - 1].first + s->pieces[s->piece_count - 1].count;
	if (mem_grow(&s->pieces, &s->piece_cap, s->piece_count + 1, sizeof *s->pieces) < 0)
		return err_memory(e);
	p = &s->pieces[s->piece_count++];
	p->name = mem_text(name, strlen(name));
	p->label = dir_label(s->folder, name);
	p->first = first;
	p->count = count;
	return p->name && p->label ? 0 : err_memory(e);
}

/* Count the tensors from first on that fit into one file; 0 if none are left. */
static int
count_tensors(const struct pieces *s, size_t first, size_t *count, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t all = 0, bytes;

	for (*count = 0; first + *count < m->tensor_count; ++*count) {
		const struct tensor *t = m->tensors[first + *count];

		if (num_align(tensor_bytes(t), s->ops->unit, &bytes) < 0 ||
		    num_add(all, bytes, &all) < 0)
			return err_set(e, ERR_INVALID, tensor_name(t),
			               "its end does not fit in 64 bits");
		if (*count > 0 && all > s->options.shard_size)
			break;
	}
	return 0;
}

static int
count_files(const struct pieces *s, size_t *files, struct err *e)
{
	size_t first = 0, n;

	for (*files = 0; ; ++*files, first += n) {
		if (count_tensors(s, first, &n, e) < 0)
			return -1;
		if (n == 0)
			return 0;
	}
}

const char *
pieces_base(const struct pieces *s)
{
	const char *slash = strrchr(s->path, '/');

	return slash ? slash + 1 : s->path;
}

static char *
prefix_of(const struct pieces *s)
{
	const char *name = s->makes_folder ? "model" : pieces_base(s);
	size_t n = strlen(name), end = strlen(s->ops->ending);

	return mem_text(name, n > end && dir_name_ends(name, s->ops->ending) ? n - end : n);
}

static int
add_numbered(struct pieces *s, const char *prefix, size_t files, struct err *e)
{
	size_t i, first = 0, n;
	struct buf b = { 0 };
	int r = 0;

	for (i = 0; r == 0 && i < files; i++, first += n) {
		char *name = dir_number_name(prefix, strlen(prefix), i + 1, files,
		                             s->ops->ending);

		r = count_tensors(s, first, &n, e);
		if (r == 0)
			r = name ? pieces_add(s, name, n, e) : err_memory(e);
		free(name);
	}
	if (r < 0 || !s->ops->index_end)
		return r;
	buf_text(&b, prefix);
	buf_text(&b, s->ops->index_end);
	s->index_name = buf_string(&b) ? mem_text((char *)b.p, b.n) : NULL;
	buf_free(&b);
	return s->index_name ? 0 : err_memory(e);
}

int
pieces_cut(struct pieces *s, struct err *e)
{
	size_t files, most = s->ops->most ? s->ops->most : 99999;
	char *prefix;
	int r;

	if (count_files(s, &files, e) < 0)
		return -1;
	if (files < 2)
		return pieces_add(s, s->makes_folder ? s->ops->single : pieces_base(s),
		                  s->plan->tensor_count, e);
	if (files > most)
		return err_set(e, ERR_USAGE, s->path, "would have %zu shards, at most %zu are "
		               "possible", files, most);
	prefix = prefix_of(s);
	r = prefix ? add_numbered(s, prefix, files, e) : err_memory(e);
	free(prefix);
	return r;
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

static bool
is_file(const struct pieces *s, const struct blob *b)
{
	return s->makes_folder && s->ops->blob && strcmp(b->type, s->ops->blob) == 0;
}

static int
copy_blobs(struct pieces *s, struct model *to, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->blob_count; i++) {
		const struct blob *b = &m->blobs[i];

		s->blobs[i] = is_file(s, b) ? PIECES_FILE : i;
		if (strcmp(b->type, MODEL_VALUE) == 0 || is_file(s, b))
			continue;
		s->blobs[i] = to->blob_count;
		if (model_add_blob(to, b->name, b->type, b->bytes, e) < 0)
			return -1;
	}
	return 0;
}

/* Copy everything except tensors, and except blobs that become files, to the first file's
 * plan. */
static int
copy_rest(struct pieces *s, struct model *to, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		size_t n = strlen(k->key);

		if ((k->blob == SIZE_MAX
		     ? model_add_meta(to, k->key, n, k->type, k->wire, k->wire_bytes, e)
		     : model_add_meta_blob(to, k->key, n, k->type, m->blobs[k->blob].bytes,
		                           e)) < 0)
			return -1;
	}
	for (i = 0; i < m->prov_count; i++)
		if (model_add_prov(to, m->provs[i], e) < 0)
			return -1;
	to->licence = m->licence;
	to->signatures = m->signatures;
	if (json_object_update(to->extra, m->extra) < 0)
		return err_memory(e);
	return copy_blobs(s, to, e);
}

static int
plan_piece(struct pieces *s, size_t i, struct err *e)
{
	struct piece *p = &s->pieces[i];
	json_t *source;

	if (model_init(&p->plan, e) < 0)
		return -1;
	p->plan.holes = s->plan->holes; /* the estimate is for all files together */
	source = s->ops->source(s, i);
	if (!source)
		return err_memory(e);
	json_decref(p->plan.source);
	p->plan.source = source;
	if (i == 0 ? copy_rest(s, &p->plan, e) < 0
	           : s->ops->keys && s->ops->keys(s, i, &p->plan, e) < 0)
		return -1;
	return copy_tensors(s, p, e);
}

/* ---- outputs ---- */

/* Open a file that has no name yet, on the file system of the destination. */
static int
open_out(struct pieces *s, const char *label, struct out *o, struct err *e)
{
	struct out_options where = { .path = s->path, .input = -1, .stage = s->place,
		.no_sync = s->where.no_sync };

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
	p->file = o.file;
	if (p == s->pieces && out_reserve(&o, model_space(s->plan, s->bytes)) < 0) {
		out_abandon(&o);
		return -1;
	}
	p->sink = s->ops->create(s, (size_t)(p - s->pieces), &o, e);
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
	return s->ops->settle(p->sink, e);
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
		.label = dir_label(s->folder, name), .out = { .fd = -1, .done = true } };
	s->beside_count++;
	if (!b->name || !b->label)
		return err_memory(e);
	return open_out(s, b->label, &b->out, e);
}

static int
put_index(struct pieces *s, struct err *e)
{
	struct buf text = { 0 };
	int r = s->ops->index(s, &text, e);

	if (r == 0 && !buf_ok(&text))
		r = err_memory(e);
	if (r == 0)
		r = begin_beside(s, s->index_name, e);
	if (r == 0)
		r = out_put(&s->beside->out, text.p, text.n);
	if (r == 0)
		r = out_settle(&s->beside->out);
	buf_free(&text);
	return r;
}

/* ---- the verbs ---- */

/* The only side file that a folder has in a folder below. */
static bool
is_pooling(const char *name)
{
	return dir_name_is_below(name) && dir_name_ends(name, "_Pooling/config.json");
}

static int
check_files(const struct pieces *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	for (i = 0; i < m->blob_count; i++) {
		if (!is_file(s, &m->blobs[i]))
			continue;
		if (!dir_name_is_plain(m->blobs[i].name) && !is_pooling(m->blobs[i].name))
			return err_set(e, ERR_INVALID, m->blobs[i].name,
			               "is not the name of a file that a folder may get");
		if (pieces_is_taken(s, m->blobs[i].name))
			return err_set(e, ERR_INVALID, m->blobs[i].name,
			               "is the name of a side file and of a file with tensors");
	}
	return 0;
}

/* Raise the limit of open files if necessary: each file stays open until all have their
 * names. */
static int
allow_files(const struct pieces *s, struct err *e)
{
	const rlim_t some = 64; /* for all other files */
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || s->piece_count + some <= limit.rlim_cur)
		return 0;
	if (s->piece_count + some <= limit.rlim_max) {
		limit.rlim_cur = s->piece_count + some;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
			return 0;
	}
	err_set(e, ERR_USAGE, s->path, "would have %zu shards, more files than may be open at "
	        "once", s->piece_count);
	return err_hint(e, "larger shards, or ulimit -n");
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
choose(struct pieces *s, struct err *e)
{
	return s->ops->choose ? s->ops->choose(s, e) : pieces_cut(s, e);
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
	if ((s->makes_folder && pieces_refuse(s, e) < 0) || choose(s, e) < 0 ||
	    (!s->makes_folder && pieces_refuse(s, e) < 0) || check_files(s, e) < 0 ||
	    allow_files(s, e) < 0)
		return -1;
	for (i = 0; i < s->piece_count; i++)
		if (plan_piece(s, i, e) < 0)
			return -1;
	/* Beginning the first file refuses what it cannot hold before anything is written. */
	return add_up(s, e) < 0 ? -1 : begin_piece(s, &s->pieces[0], e);
}

static int
put_blob(struct pieces *s, struct item *item, struct err *e)
{
	size_t i = s->blobs[item->index];

	if (i == PIECES_FILE) {
		s->now = TO_FILE;
		return begin_beside(s, s->plan->blobs[item->index].name, e);
	}
	item->index = i;
	s->now = TO_PIECE;
	s->piece = &s->pieces[0];
	return sink_put(s->piece->sink, item, e);
}

/* Put a tensor. Tensors come in their order, so the files before its file are complete. */
static int
put_tensor(struct pieces *s, struct item *item, struct err *e)
{
	struct piece *p = s->pieces;

	for (; item->index >= p->first + p->count; p++)
		if (p > s->pieces && settle_piece(s, p, e) < 0)
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
	case ITEM_SKEY:
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
zeros(struct sink *sink, uint64_t n, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;

	return s->now == TO_FILE ? sink_write_zeros(sink, n, e)
	                         : sink_zeros(s->piece->sink, n, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct pieces *s = (struct pieces *)sink;

	return s->now == TO_FILE ? out_settle(&s->beside->out)
	                         : sink_put_end(s->piece->sink, e);
}

/* Complete all files, then name them. Naming takes little time, and signals are blocked so
 * that none can interrupt it halfway. */
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
	r = pieces_name(s, e);
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
	free(s->folder);
	free(s->parent);
	place_close(s->place);
	free(s);
}

/* Set the paths of the output and its folders, and the place that gives all files their
 * names. */
static int
take_path(struct pieces *s, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	s->path = mem_text(path, n);
	if (!s->path)
		return -1;
	s->parent = mem_text(s->path, (size_t)(pieces_base(s) - s->path));
	s->folder = s->makes_folder ? mem_text(s->path, n)
	            : s->parent ? mem_text(s->parent, strlen(s->parent)) : NULL;
	s->place = place_open(path, s->where.force);
	return s->folder && s->place ? 0 : -1;
}

struct sink *
pieces_create(const struct out_options *where, bool makes_folder,
              const struct format_options *options, const struct pieces_ops *ops,
              struct err *e)
{
	static const struct sink_ops verbs = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink,
		.zeros = zeros };
	struct pieces *s = mem_array(1, sizeof *s);

	if (s) {
		s->sink.ops = &verbs;
		s->ops = ops;
		s->options = *options;
		s->where = *where;
		s->makes_folder = makes_folder;
	}
	if (s && take_path(s, where->path) == 0)
		return &s->sink;
	if (s)
		close_sink(&s->sink);
	err_memory(e);
	return NULL;
}
