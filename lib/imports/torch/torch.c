#include "imports/torch/torch.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "imports/torch/torch_folder.h"

const struct format_option torch_options[] = {
	[TORCH_KEY] = { "key", "PATH", "the part of a checkpoint to read, as model.state_dict", false,
	                NULL },
	[TORCH_PREFIX] = { "prefix", "TEXT", "remove TEXT from the beginning of tensors' names", false,
	                   NULL },
	[TORCH_ALL] = { "all", NULL, "read all tensors, those of the optimizer too", false, NULL },
	[TORCH_OPAQUE] = { "opaque", NULL, "accept calls in a pickle that no tensor depends on",
	                   false, NULL },
	[TORCH_DENSE] = { "dense", NULL, "make sparse tensors dense", false, NULL },
	{ NULL, NULL, NULL, false, NULL }
};

const char *
torch_chosen(const struct torch *t, unsigned option)
{
	return format_chosen(&t->options, &torch_options[option]);
}

/* ---- the source ---- */

static int
finish(const struct torch *t)
{
	if (whole_is_whole(t->file))
		return 0;
	return err_set(t->err, ERR_CORRUPT, t->source.name, "was truncated while it was read");
}

/* True if the values lie in the file unchanged. */
static bool
is_plain(const struct torch *t, size_t i)
{
	const struct torch_view *v = &t->views[i];
	const bool big_endian = v->in ? v->in->big_endian : t->big_endian;

	return v->plain && !v->deflated && !v->bytes && tensor_type(t->plan.tensors[i])->head == 0 &&
	       !(big_endian && v->element > 1);
}

/* The offset of the first value in the file. */
static uint64_t
offset_of(const struct torch *t, size_t i)
{
	const struct torch_view *v = &t->views[i];

	return (v->in ? v->in->base : t->base) + v->at;
}

/* Values that lie in the file unchanged come from the reader, which can pass on pages. */
static int
begin_tensor(struct torch *t)
{
	const struct torch_view *v = &t->views[t->now];
	const struct tensor *x = t->plan.tensors[t->now];

	t->holder = v->in ? v->in : t;
	if (torch_values_begin(t->holder, x, v) < 0)
		return -1;
	if (whole_fd(t->file) < 0 || !is_plain(t, t->now) || t->holder->left == 0)
		return 0;
	if (reader_seek(&t->reader, offset_of(t, t->now)) < 0)
		return -1;
	t->unsent = tensor_bytes(x);
	t->holder->left = 0;
	return 0;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct torch *t = (struct torch *)source;

	(void)e; /* the source holds it */
	t->unsent = 0;
	if (!container_next(&t->sent, &t->plan, source->wanted, item))
		return finish(t);
	if (item->kind == ITEM_BLOB)
		return torch_side_begin(t, item->index) < 0 ? -1 : 1;
	t->now = item->index;
	return begin_tensor(t) < 0 ? -1 : 1;
}

/* A piece of what is being sent, which also goes to o unless that is NULL. */
static int
send_some(struct torch *t, struct out *o, const uint8_t **p, size_t *n)
{
	if (t->last_bytes)
		whole_release(t->file, t->last, t->last_bytes);
	t->last_bytes = 0;
	*n = 0;
	if (t->unsent > 0) {
		*p = o ? reader_share(&t->reader, o, t->unsent, n)
		       : reader_some(&t->reader, t->unsent, n);
		t->unsent -= *p ? *n : 0;
		return *p ? 0 : -1;
	}
	if (t->side || t->sends_joined) {
		if (torch_side_read(t, p, n) < 0)
			return -1;
	} else if (t->holder) {
		if (torch_values_read(t->holder, p, n) < 0)
			return -1;
		t->last = *p;
		t->last_bytes = *n;
	}
	return o && *n > 0 ? out_put(o, *p, *n) : 0;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	(void)e;
	return send_some((struct torch *)source, NULL, p, n);
}

static int
share_body(struct source *source, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	(void)e;
	return send_some((struct torch *)source, o, p, n);
}

static bool
lies(struct source *source, uint64_t *offset)
{
	struct torch *t = (struct torch *)source;

	if (whole_fd(t->file) < 0 || !is_plain(t, t->now))
		return false;
	*offset = offset_of(t, t->now);
	t->unsent = t->holder->left = 0;
	return true;
}

static int
opened(struct source *source)
{
	return whole_fd(((struct torch *)source)->file);
}

static void
free_file(struct torch *t)
{
	torch_values_free(t);
	torch_sparse_free(t);
	free(t->views);
	free(t->storages);
	free(t->named);
	tar_free(&t->tar);
	free(t->label);
	buf_free(&t->relations);
	buf_free(&t->joined);
	pickle_free(&t->pickle);
	buf_free(&t->pickled);
	if (!t->borrows)
		zip_free(&t->zip);
	model_free(&t->plan);
}

static void
close_source(struct source *source)
{
	struct torch *t = (struct torch *)source;
	size_t i;

	for (i = 0; i < t->inner_count; i++) {
		free_file(t->inner[i]);
		free(t->inner[i]);
	}
	free(t->inner);
	json_decref(t->inner_calls);
	torch_side_end(t);
	free(t->sides);
	free_file(t);
	whole_free(&t->whole);
	reader_close(&t->reader);
	free(t);
}

static int
read_all(struct torch *t)
{
	static const char *const form[] = { [TORCH_ZIP] = "zip", [TORCH_EXPORT] = "export",
		[TORCH_LEGACY] = "legacy", [TORCH_TAR] = "tar", [TORCH_PICKLE] = "pickle" };
	json_t *source;

	if (model_init(&t->plan, t->err) < 0 || torch_read_file(t) < 0)
		return -1;
	source = json_pack("{s:s,s:s}", "format", format_pytorch.name, "form", form[t->form]);
	if (!source)
		return err_memory(t->err);
	json_decref(t->plan.source);
	t->plan.source = source;
	if ((t->form == TORCH_EXPORT ? torch_add_exported(t) : torch_add_tensors(t)) < 0)
		return -1;
	if (t->form == TORCH_ZIP && (torch_add_constants(t) < 0 || torch_add_code(t) < 0))
		return -1;
	if (torch_add_relations(t) < 0 || torch_add_sides(t) < 0)
		return -1;
	/* Each member of an archive was looked at, which maps pages around it. */
	whole_release(t->file, t->file->map.p, t->file->map.n);
	return model_check(&t->plan, t->source.name, t->err);
}

static struct source *
open_file(struct reader *r, const struct format_options *options, bool part,
          void (*note)(const char *), struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .opened = opened, .share = share_body };
	struct torch *t = mem_array(1, sizeof *t);

	if (!t) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	t->source = (struct source){ .plan = &t->plan, .ops = &ops, .name = r->name, .note = note };
	t->reader = *r;
	t->options = *options;
	t->part = part;
	t->err = e;
	t->whole = (struct whole)WHOLE_INIT;
	t->file = &t->whole;
	if (read_all(t) == 0)
		return &t->source;
	close_source(&t->source);
	return NULL;
}

static struct source *
torch_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
           struct err *e)
{
	return open_file(r, options, false, note, e);
}

struct source *
torch_open_part(struct reader *r, const struct format_options *options,
                void (*note)(const char *), struct err *e)
{
	return open_file(r, options, true, note, e);
}

/* ---- the format ---- */

json_t *
torch_calls(const struct torch *t)
{
	json_t *list = json_array();
	struct buf b = { 0 };
	size_t i;

	for (i = 0; list && i < t->pickle.call_count && i < PICKLE_CALLS; i++) {
		buf_clear(&b);
		pickle_show(&t->pickle, t->pickle.calls[i], &b);
		if (!buf_string(&b) || json_array_append_new(list, json_string((char *)b.p)) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	buf_free(&b);
	if (list && t->inner_calls && json_array_extend(list, t->inner_calls) < 0) {
		json_decref(list);
		list = NULL;
	}
	return list;
}

static json_t *
describe(struct source *source, struct err *e)
{
	const struct torch *t = (struct torch *)source;
	json_t *o = json_pack("{s:s,s:O}", "format", format_pytorch.name, "form",
	                      json_object_get(t->plan.source, "form"));
	int r = o ? 0 : -1;

	if (r == 0 && (t->form == TORCH_ZIP || t->form == TORCH_EXPORT))
		r = json_object_set_new(o, "members", json_integer((json_int_t)t->zip.count));
	if (r == 0 && t->form == TORCH_TAR)
		r = json_object_set_new(o, "members", json_integer((json_int_t)t->tar.count));
	if (r == 0 && t->big_endian)
		r = json_object_set_new(o, "byteorder", json_string("big"));
	if (r == 0 && (t->pickle.call_count || json_array_size(t->inner_calls) > 0))
		r = json_object_set_new(o, "would_call", torch_calls(t));
	if (r == 0)
		r = json_object_set_new(o, "checksum", json_false());
	if (r == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static uint64_t
tensor_offset(const struct source *source, size_t i)
{
	const struct torch *t = (const struct torch *)source;

	return is_plain(t, i) ? offset_of(t, i) : FORMAT_SCATTERED;
}

/* True if a tar archive begins with a member of the tar form, or with the fields of one, as Python
 * writes them. */
static bool
probe_tar(const uint8_t *head, size_t n)
{
	static const char *const first[] = { "sys_info", "pickle", "tensors", "storages",
		"./sys_info", "././@PaxHeader" };
	size_t i, k;

	for (i = 0; i < sizeof first / sizeof *first; i++) {
		k = strlen(first[i]);
		if (n < FORMAT_PROBE || memcmp(head, first[i], k) != 0)
			continue;
		while (k < FORMAT_PROBE && head[k] == 0)
			k++;
		if (k == FORMAT_PROBE)
			return true;
	}
	return false;
}

/* Pickles of other programs are accepted here so that the message can say what they call. */
static bool
probe(const uint8_t *head, size_t n)
{
	return probe_tar(head, n) || (n >= 4 && memcmp(head, "PK\3\4", 4) == 0) ||
	       (n >= 3 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5);
}

/* A compressed storage is spooled, and so are the indices of a sparse tensor. */
static bool
spools(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

static const struct format_reads reads = {
	.open = torch_open,
	.open_path = torch_folder_open,
	.folder_of = torch_folder_of,
	.describe = describe,
	.tensor_offset = tensor_offset,
	.outline = torch_outline,
	.spools = spools,
};

const struct format format_pytorch = {
	.name = "pytorch",
	.title = "PyTorch",
	.probe = probe,
	.reads = &reads,
	.options = torch_options,
};
