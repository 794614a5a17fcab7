/* Other objects in the archive: archives of torch.save that are members of it, and the constants
 * of TorchScript's code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/torch/torch.h"

#define KEPT 4 /* pickles of other objects that stay, because their arrays lie in them */

/* Keep the texts of its calls and release its pickle, which only arrays of NumPy still
 * need. */
static int
release_pickle(struct torch *t, struct torch *in)
{
	json_t *calls = torch_calls(in);
	int r = -1;

	if (calls && (t->inner_calls || (t->inner_calls = json_array())))
		r = json_array_size(t->inner_calls) < PICKLE_CALLS
		        ? json_array_extend(t->inner_calls, calls) : 0;
	json_decref(calls);
	if (in->arrays == 0) {
		pickle_free(&in->pickle);
		in->pickle = (struct pickle){ 0 };
	} else if (++t->kept > KEPT) {
		return err_set(t->err, ERR_FORMAT, t->source.name, "has arrays of NumPy in more than %u "
		               "archives", KEPT);
	}
	return r < 0 ? err_memory(t->err) : 0;
}

/* Add the tensors with the names that they have there, behind `before`, or the only one with a
 * name. */
static int
add_tensors(struct torch *t, struct torch *in, const char *before, const char *name)
{
	const struct tensor *x;
	struct tensor *made;
	struct buf b = { 0 };
	const char *to;
	size_t i, n;
	int r = 0;

	if (name && in->plan.tensor_count != 1 && t->options.closed) {
		t->unread++;
		return 0;
	}
	if (name && in->plan.tensor_count != 1)
		return err_set(t->err, ERR_CORRUPT, name, "lies in an archive of %zu tensors",
		               in->plan.tensor_count);
	for (i = 0; r == 0 && i < in->plan.tensor_count; i++) {
		x = in->plan.tensors[i];
		buf_clear(&b);
		buf_printf(&b, "%s%s", before, name ? name : tensor_name(x));
		to = buf_string(&b);
		n = b.n;
		if (!to) {
			r = err_memory(t->err);
			break;
		}
		to = torch_short_name(t, to, &n);
		made = tensor_new(to, n, tensor_type(x), tensor_ndim(x), tensor_dims(x), TENSOR_OWN_SIZE,
		                  t->source.name, t->err);
		in->views[i].in = in;
		r = made ? torch_take(t, made, &in->views[i]) : -1;
	}
	buf_free(&b);
	return r;
}

/* A new archive at member x, which the file owns from here on. NULL without memory. */
static struct torch *
new_inner(struct torch *t, const struct zip_entry *x)
{
	const size_t label = strlen(t->source.name) + x->name_bytes + 2;
	struct torch *in = mem_array(1, sizeof *in);
	char *name = malloc(label);

	if (!in || !name ||
	    mem_grow(&t->inner, &t->inner_cap, t->inner_count + 1, sizeof *t->inner) < 0) {
		free(in);
		free(name);
		return NULL;
	}
	snprintf(name, label, "%s/%.*s", t->source.name, (int)x->name_bytes, x->name);
	t->inner[t->inner_count++] = in;
	in->label = name;
	in->source = (struct source){ .name = name, .note = t->source.note };
	in->options = t->options;
	in->inside = in->part = true;
	in->err = t->err;
	in->file = t->file;
	in->base = t->base;
	in->p = t->p;
	in->n = t->n;
	return in;
}

int
torch_add_constants(struct torch *t)
{
	const struct zip_entry *x = torch_member(t, TORCH_CONSTANTS);
	struct torch *in;

	if (!x || torch_chosen(t, TORCH_KEY))
		return 0;
	in = new_inner(t, x);
	if (!in)
		return err_memory(t->err);
	in->zip = t->zip;
	in->borrows = true;
	in->folder = t->folder;
	in->folder_bytes = t->folder_bytes;
	in->big_endian = t->big_endian;
	in->storage_folder = "constants/";
	if (model_init(&in->plan, t->err) < 0 || torch_read_member(in, x) < 0 ||
	    torch_add_tensors(in) < 0 || add_tensors(t, in, "CONSTANTS.c", NULL) < 0)
		return -1;
	return release_pickle(t, in);
}

int
torch_add_inner(struct torch *t, const struct zip_entry *x, const char *name)
{
	struct torch *in;

	if (x->deflated)
		return err_set(t->err, ERR_FORMAT, t->source.name, "has a compressed archive %.*s, "
		               "which is not read", (int)num_min(x->name_bytes, 200), x->name);
	in = new_inner(t, x);
	if (!in)
		return err_memory(t->err);
	in->base += x->offset;
	in->p += x->offset;
	in->n = x->bytes;
	if (model_init(&in->plan, t->err) < 0 || torch_read_file(in) < 0)
		return -1;
	t->entries += in->zip.count;
	if (t->entries > ZIP_ENTRIES)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "has archives of more than %u "
		               "members", ZIP_ENTRIES);
	if (torch_add_tensors(in) < 0 || add_tensors(t, in, "", name) < 0)
		return -1;
	return release_pickle(t, in);
}
