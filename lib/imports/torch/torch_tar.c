/* The tar form: storages and tensors lie in members of their own, and the object refers to them by
 * their keys.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/torch/torch.h"

#define RECORD (1u << 16)       /* bytes of the pickle of a storage or tensor */
#define LIST (16u << 20)        /* bytes of the pickle of all views */
#define NAMED (1u << 18)        /* maximum number of storages and tensors, each */
#define PROTOCOL 1000

/* What is left of a member. */
struct part {
	uint64_t at, end;
};

static int
bad_tar(const struct torch *t, const char *what)
{
	return err_set(t->err, ERR_CORRUPT, t->source.name, "is a tar file of PyTorch %s", what);
}

/* ---- members ---- */

static int
find_parts(struct torch *t, const struct tar_entry **found)
{
	static const char *const names[] = { "sys_info", "storages", "tensors", "pickle" };
	size_t i;

	if (tar_open(&t->tar, t->p, t->n, t->source.name, t->err) < 0)
		return -1;
	for (i = 0; i < sizeof names / sizeof *names; i++) {
		found[i] = tar_find(&t->tar, names[i]);
		if (!found[i])
			return err_set(t->err, ERR_FORMAT, t->source.name, "is a tar archive without the "
			               "member %s of PyTorch", names[i]);
	}
	if (t->tar.count > i)
		torch_note(t, "left out: other members of the archive: %zu", t->tar.count - i);
	return 0;
}

/* The next pickle, which has at most `most` bytes and is data without calls. */
static int
read_record(struct torch *t, struct pickle *k, struct part *m, size_t most)
{
	map_look(&t->file->map, t->p + m->at);
	*k = (struct pickle){ .names = torch_names, .name_count = torch_name_count,
		.where = t->source.name };
	if (pickle_read(k, t->p + m->at, (size_t)num_min(m->end - m->at, most), t->err) < 0)
		return -1;
	m->at += k->end;
	return 0;
}

/* A pickle with the number of storages or tensors. */
static int
read_count(struct torch *t, struct part *m, uint64_t *count)
{
	const struct pickle_node *x;
	struct pickle k;
	int r = read_record(t, &k, m, RECORD);

	x = r == 0 ? pickle_node(&k, k.root) : NULL;
	if (x && (x->kind != PICKLE_INT || x->u.i < 0 || x->u.i > NAMED))
		r = bad_tar(t, "whose number of storages or tensors cannot be");
	if (r == 0)
		*count = (uint64_t)x->u.i;
	pickle_free(&k);
	return r;
}

static int
check_end(const struct torch *t, const struct part *m)
{
	return m->at == m->end ? 0 : bad_tar(t, "with bytes behind its storages or tensors");
}

static int
read_system(struct torch *t, const struct tar_entry *x)
{
	struct part m = { x->offset, x->offset + x->bytes };
	const struct pickle_cell *c, *value;
	const struct pickle_node *v;
	struct pickle k;
	int r = read_record(t, &k, &m, RECORD);

	if (r == 0 && (pickle_node(&k, k.root)->kind != PICKLE_DICT || m.at != m.end))
		r = bad_tar(t, "without its system's sizes");
	for (c = r == 0 ? pickle_first(&k, k.root) : NULL; c && r == 0; c = pickle_next(&k, value)) {
		value = pickle_next(&k, c);
		v = pickle_node(&k, value->node);
		if (pickle_is(&k, c->node, "little_endian") && (v->kind != PICKLE_BOOL || !v->u.i))
			r = err_set(t->err, ERR_FORMAT, t->source.name, "is a big-endian tar file of PyTorch, "
			            "which is not read");
		if (pickle_is(&k, c->node, "protocol_version") &&
		    (v->kind != PICKLE_INT || v->u.i != PROTOCOL))
			r = err_set(t->err, ERR_VERSION, t->source.name,
			            "is a tar file of PyTorch of a version that is not known");
	}
	pickle_free(&k);
	return r;
}

/* ---- storages and tensors ---- */

static int
by_key(const void *a, const void *b)
{
	const struct torch_named *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* Sort what is there so far, each key once. */
static int
sort(struct torch *t)
{
	size_t i;

	if (t->named_count > 0)
		qsort(t->named, t->named_count, sizeof *t->named, by_key);
	for (i = 1; i < t->named_count; i++)
		if (t->named[i].key == t->named[i - 1].key)
			return bad_tar(t, "that has a storage or tensor twice");
	return 0;
}

/* Among the first n, which are sorted. */
static const struct torch_named *
find(const struct torch *t, size_t n, int64_t key)
{
	const struct torch_named x = { .key = key };

	return n ? bsearch(&x, t->named, n, sizeof x, by_key) : NULL;
}

static int
add(struct torch *t, struct torch_named x)
{
	if (mem_grow(&t->named, &t->named_cap, t->named_count + 1, sizeof x) < 0)
		return err_memory(t->err);
	t->named[t->named_count++] = x;
	return 0;
}

/* The members of a tuple of n: 0, or -1 if the node is another one. */
static int
take_tuple(const struct pickle *k, pickle_ref r, const struct pickle_node **x, size_t n)
{
	pickle_ref items[4];
	size_t i;

	if (pickle_node(k, r)->kind != PICKLE_TUPLE || pickle_items(k, r, items, n) != n)
		return -1;
	for (i = 0; i < n; i++)
		x[i] = pickle_node(k, items[i]);
	return 0;
}

static int
read_storage(struct torch *t, struct part *m)
{
	const struct pickle_node *x[3];
	struct torch_named s = { 0 };
	struct pickle k;
	uint64_t bytes;
	int r = read_record(t, &k, m, RECORD);

	if (r == 0 && (take_tuple(&k, k.root, x, 3) < 0 || x[0]->kind != PICKLE_INT ||
	               x[2]->kind != PICKLE_GLOBAL || x[2]->what != TORCH_STORAGE))
		r = bad_tar(t, "with a storage that is not described");
	if (r == 0) {
		s.key = x[0]->u.i;
		s.type = torch_type_of(&k, (pickle_ref)(x[2] - k.nodes));
		r = s.type ? 0 : bad_tar(t, "with a storage of unknown type");
	}
	pickle_free(&k);
	if (r < 0)
		return -1;
	if (m->end - m->at < 8 || num_mul(le64(t->p + m->at), s.type->bytes, &bytes) < 0 ||
	    bytes > m->end - m->at - 8)
		return bad_tar(t, "that ends inside its storages");
	s.at = m->at + 8;
	s.bytes = bytes;
	m->at = s.at + bytes;
	return add(t, s);
}

/* A part of a storage, which is a storage too. */
static int
add_view(struct torch *t, const struct pickle *k, pickle_ref r, size_t storages)
{
	const struct pickle_node *x[4];
	const struct torch_named *root;
	uint64_t skip, bytes, end;
	size_t i;

	if (take_tuple(k, r, x, 4) < 0)
		return bad_tar(t, "with a part of a storage that is not described");
	for (i = 0; i < 4; i++)
		if (x[i]->kind != PICKLE_INT || (i >= 2 && x[i]->u.i < 0))
			return bad_tar(t, "with a part of a storage that is not described");
	root = find(t, storages, x[1]->u.i);
	if (!root || num_mul((uint64_t)x[2]->u.i, root->type->bytes, &skip) < 0 ||
	    num_mul((uint64_t)x[3]->u.i, root->type->bytes, &bytes) < 0 ||
	    num_add(skip, bytes, &end) < 0 || end > root->bytes)
		return bad_tar(t, "with a part of a storage that the storage lacks");
	return add(t, (struct torch_named){ .key = x[0]->u.i, .type = root->type,
	                                    .at = root->at + skip, .bytes = bytes });
}

static int
read_storages(struct torch *t, const struct tar_entry *x)
{
	struct part m = { x->offset, x->offset + x->bytes };
	const struct pickle_cell *c;
	struct pickle k = { 0 };
	uint64_t i, count = 0;
	size_t storages;
	int r;

	if (read_count(t, &m, &count) < 0)
		return -1;
	for (i = 0; i < count; i++)
		if (read_storage(t, &m) < 0)
			return -1;
	if (sort(t) < 0)
		return -1;
	r = read_record(t, &k, &m, LIST);
	if (r == 0 && pickle_node(&k, k.root)->kind != PICKLE_LIST)
		r = bad_tar(t, "without a list of the parts of storages");
	storages = t->named_count;
	for (c = r == 0 ? pickle_first(&k, k.root) : NULL; c && r == 0; c = pickle_next(&k, c))
		r = t->named_count - storages < NAMED ? add_view(t, &k, c->node, storages)
		                                      : bad_tar(t, "with too many parts of storages");
	pickle_free(&k);
	return r < 0 ? -1 : sort(t) < 0 ? -1 : check_end(t, &m);
}

/* The type of a class such as torch.FloatTensor, for a tensor without a storage; NULL: unknown. */
static const struct torch_type *
type_of_class(const struct pickle *k, const struct pickle_node *class)
{
	static const char end[] = "Tensor";
	const size_t after = sizeof end - 1;
	size_t n;
	const uint8_t *p;

	if (class->kind != PICKLE_GLOBAL)
		return NULL;
	p = pickle_bytes(k, class->u.global.name, &n);
	return n > after && memcmp(p + n - after, end, after) == 0
	           ? torch_type_of_storage((const char *)p, n - after) : NULL;
}

static int
read_tensor(struct torch *t, struct part *m, size_t storages)
{
	const struct pickle_node *x[3];
	const struct torch_named *s;
	struct torch_named made = { 0 };
	struct pickle k;
	uint64_t bytes;
	int r = read_record(t, &k, m, RECORD);

	if (r == 0 && (take_tuple(&k, k.root, x, 3) < 0 || x[0]->kind != PICKLE_INT ||
	               (x[1]->kind != PICKLE_INT && x[1]->kind != PICKLE_NONE)))
		r = bad_tar(t, "with a tensor that is not described");
	if (r == 0 && x[1]->kind == PICKLE_INT) {
		s = find(t, storages, x[1]->u.i);
		if (s)
			made = *s;
		else
			r = bad_tar(t, "with a tensor in a storage that the file lacks");
	} else if (r == 0) {
		made.type = type_of_class(&k, x[2]);
		r = made.type ? 0 : bad_tar(t, "with a tensor of unknown type");
	}
	if (r == 0)
		made.key = x[0]->u.i;
	pickle_free(&k);
	if (r < 0)
		return -1;
	if (m->end - m->at < 8 || num_mul(le32(t->p + m->at), 16, &bytes) < 0 ||
	    bytes > m->end - m->at - 8 || m->end - m->at - 8 - bytes < 8)
		return bad_tar(t, "that ends inside its tensors");
	made.numbers = m->at;
	m->at += 8 + bytes + 8;
	return add(t, made);
}

static int
read_tensors(struct torch *t, const struct tar_entry *x)
{
	struct part m = { x->offset, x->offset + x->bytes };
	const size_t storages = t->named_count;
	uint64_t i, count = 0;

	if (read_count(t, &m, &count) < 0)
		return -1;
	for (i = 0; i < count; i++)
		if (read_tensor(t, &m, storages) < 0)
			return -1;
	return check_end(t, &m) < 0 ? -1 : sort(t);
}

int
torch_read_tar(struct torch *t, const struct tar_entry **object)
{
	const struct tar_entry *part[4];

	if (find_parts(t, part) < 0 || read_system(t, part[0]) < 0 ||
	    read_storages(t, part[1]) < 0 || read_tensors(t, part[2]) < 0)
		return -1;
	*object = part[3];
	return 0;
}

/* ---- the object's references ---- */

static const struct torch_named *
referred(const struct torch *t, pickle_ref r)
{
	const struct pickle *k = &t->pickle;
	const pickle_ref id = pickle_node(k, r)->args;
	const uint8_t *p;
	char text[24];
	uint64_t key;
	size_t n;

	if (t->form != TORCH_TAR || pickle_node(k, id)->kind != PICKLE_TEXT)
		return NULL;
	p = pickle_bytes(k, id, &n);
	if (n >= sizeof text)
		return NULL;
	memcpy(text, p, n);
	text[n] = 0;
	return strlen(text) == n && text_u64(text, 0, INT64_MAX, &key) == 0
	           ? find(t, t->named_count, (int64_t)key) : NULL;
}

/* A key that nothing has is taken for a tensor, and then refused. */
bool
torch_is_named(const struct torch *t, pickle_ref r)
{
	const struct torch_named *x = referred(t, r);

	return t->form == TORCH_TAR && (!x || x->numbers) &&
	       pickle_node(&t->pickle, pickle_node(&t->pickle, r)->args)->kind == PICKLE_TEXT;
}

struct tensor *
torch_named(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
            struct torch_view *v)
{
	const struct torch_named *x = referred(t, r);
	const struct torch_storage s = { .at = x ? x->at : 0, .bytes = x ? x->bytes : 0 };
	struct torch_place place = { 0 };
	const uint8_t *p;
	size_t i;

	if (!x) {
		err_set(t->err, ERR_CORRUPT, name, "is a tensor that the file lacks");
		return NULL;
	}
	p = t->p + x->numbers;
	place.n = le32(p);
	if (place.n > TENSOR_DIMS) {
		err_set(t->err, ERR_FORMAT, name, "has %zu dimensions, at most %u are read", place.n,
		        TENSOR_DIMS);
		return NULL;
	}
	for (i = 0; i < place.n; i++) {
		place.dims[i] = le64(p + 8 + 8 * i);
		place.strides[i] = le64(p + 8 + 8 * (place.n + i));
	}
	place.offset = le64(p + 8 + 16 * place.n);
	for (i = 0; i < place.n; i++)
		if (place.dims[i] > INT64_MAX || place.strides[i] > INT64_MAX) {
			err_set(t->err, ERR_CORRUPT, name, "has a shape or stride that is negative");
			return NULL;
		}
	/* Before 0.4, a tensor without dimensions was empty. */
	if (place.n == 0 && x->bytes == 0)
		place.n = 1;
	return torch_strided(t, name, name_bytes, x->type, &place, &s, v);
}
