/* The forms of the file: where its pickle and its storages lie. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/torch/torch.h"

#define PICKLE "data.pkl"
#define PICKLE_MAX (48u << 20)   /* bytes of a pickle */
#define DEFLATED_MAX (16u << 20) /* the same, if it must be inflated into memory */
#define PROTOCOL 1001

static const char magic[] = "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

void
torch_note(const struct torch *t, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	if (!t->source.note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	t->source.note(text);
}

/* Set p and n to the bytes of the file. */
static int
take_bytes(struct torch *t)
{
	if (whole_take(&t->whole, &t->reader, t->err) < 0)
		return -1;
	t->p = t->whole.p;
	t->n = t->whole.n;
	t->base = t->whole.base == READER_UNKNOWN ? 0 : t->whole.base;
	return 0;
}

/* ---- pickles ---- */

static int
read_pickle(struct torch *t, struct pickle *k, const uint8_t *p, uint64_t n)
{
	k->names = torch_names;
	k->name_count = torch_name_count;
	k->tolerant = t->options.closed || torch_chosen(t, TORCH_OPAQUE);
	k->persistent = t->form != TORCH_PICKLE;
	k->where = t->source.name;
	/* A pickle alone holds the bytes of its arrays, which are not read here. */
	return pickle_read(k, p, (size_t)num_min(n, t->form == TORCH_PICKLE ? UINT32_MAX : PICKLE_MAX),
	                   t->err);
}

/* Add what would help to the refusal of a pickle of another program: the first call shows which. */
static void
hint_program(const struct torch *t)
{
	static const struct { const char *module, *hint; } rows[] = {
		{ "sklearn", "it is an estimator of scikit-learn; skl2onnx writes it as ONNX" },
		{ "joblib", "it is a file of joblib, such as an estimator of scikit-learn; skl2onnx writes "
		            "that as ONNX" },
		{ "xgboost", "it is a model of XGBoost; save_model and onnxmltools write it in other forms" },
		{ "lightgbm", "it is a model of LightGBM; onnxmltools writes it as ONNX" },
		{ "catboost", "it is a model of CatBoost, which can write it as ONNX" },
		{ "keras", "it is a model of Keras; model.save writes .keras, which is read" },
		{ "tensorflow", "it is a model of TensorFlow; model.save writes .keras, which is read" },
		{ "paddle", "it has objects of PaddlePaddle; paddle.save of state_dict() writes arrays, which "
		            "are read" },
		{ "mxnet", "it has objects of MXNet, which can export its models as ONNX" },
	};
	const struct pickle *k = &t->pickle;
	pickle_ref r = k->call_count ? k->calls[0] : PICKLE_NOTHING;
	const uint8_t *p;
	size_t i, n, m;

	if (r != PICKLE_NOTHING && pickle_node(k, r)->kind == PICKLE_CALL)
		r = pickle_node(k, r)->function;
	if (r == PICKLE_NOTHING || pickle_node(k, r)->kind != PICKLE_GLOBAL)
		return;
	p = pickle_bytes(k, pickle_node(k, r)->u.global.module, &n);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		m = strlen(rows[i].module);
		if (n >= m && memcmp(p, rows[i].module, m) == 0 && (n == m || p[m] == '.')) {
			err_hint(t->err, "%s", rows[i].hint);
			return;
		}
	}
}

/* The pickle at *at, which is data without calls; *at moves behind it. */
static int
read_plain_pickle(struct torch *t, struct pickle *k, uint64_t *at)
{
	*k = (struct pickle){ .where = t->source.name };
	if (pickle_read(k, t->p + *at, (size_t)num_min(t->n - *at, PICKLE_MAX), t->err) < 0)
		return -1;
	*at += k->end;
	return 0;
}

/* Check that the pickle fills its member of this many bytes. */
static int
check_end(const struct torch *t, uint64_t bytes)
{
	if (t->pickle.end == bytes)
		return 0;
	return err_set(t->err, ERR_CORRUPT, t->source.name, "has %" PRIu64 " bytes behind the end of "
	               "its pickle", bytes - t->pickle.end);
}

/* ---- the zip form ---- */

/* Find the only data.pkl: without a folder, or in one. */
static int
find_folder(struct torch *t)
{
	const struct zip_entry *x;
	size_t i, end = strlen(PICKLE), found = 0;

	for (i = 0; i < t->zip.count; i++) {
		x = &t->zip.entries[i];
		if (x->name_bytes < end || memcmp(x->name + x->name_bytes - end, PICKLE, end) != 0)
			continue;
		if (x->name_bytes > end && memchr(x->name, '/', x->name_bytes) !=
		    x->name + x->name_bytes - end - 1)
			continue;
		t->folder = x->name;
		t->folder_bytes = x->name_bytes - end;
		found++;
	}
	if (found == 1)
		return 0;
	if (found > 1)
		return err_set(t->err, ERR_CORRUPT, t->source.name, "is a zip archive with %zu "
		               "members " PICKLE, found);
	return err_set(t->err, ERR_FORMAT, t->source.name, "is a zip archive without the "
	               PICKLE " of PyTorch");
}

/* The member FOLDER/name, or NULL. */
static const struct zip_entry *
find_member(const struct torch *t, const char *name, size_t n)
{
	char path[ZIP_NAME];

	if (t->folder_bytes + n > sizeof path)
		return NULL;
	if (t->folder_bytes)
		memcpy(path, t->folder, t->folder_bytes);
	memcpy(path + t->folder_bytes, name, n);
	return zip_find(&t->zip, path, t->folder_bytes + n);
}

const struct zip_entry *
torch_member(const struct torch *t, const char *name)
{
	return find_member(t, name, strlen(name));
}

static int
read_byteorder(struct torch *t)
{
	const struct zip_entry *x = find_member(t, "byteorder", 9);
	struct buf b = { 0 };
	int r = -1;

	if (!x)
		return 0;
	if (zip_get(&t->zip, x, 16, &b, t->err) == 0) {
		t->big_endian = b.n == 3 && memcmp(b.p, "big", 3) == 0;
		r = t->big_endian || (b.n == 6 && memcmp(b.p, "little", 6) == 0)
		        ? 0 : err_set(t->err, ERR_CORRUPT, t->source.name,
		                      "has a byteorder that is neither little nor big");
	}
	buf_free(&b);
	return r;
}

/* The bytes of a pickle: in the file, unless they must be inflated. NULL with the error filled. */
static const uint8_t *
pickle_of(struct torch *t, const struct zip_entry *x)
{
	if (x->deflated)
		return zip_get(&t->zip, x, DEFLATED_MAX, &t->pickled, t->err) < 0
		           ? NULL : t->pickled.n ? t->pickled.p : t->p;
	return zip_check(&t->zip, x, PICKLE_MAX, t->err) < 0 ? NULL : t->p + x->offset;
}

int
torch_read_member(struct torch *t, const struct zip_entry *x)
{
	const uint8_t *p = pickle_of(t, x);

	return !p || read_pickle(t, &t->pickle, p, x->bytes) < 0 ? -1 : check_end(t, x->bytes);
}

static int
read_zip(struct torch *t)
{
	int r;

	if (zip_open(&t->zip, t->p, t->n, &t->file->map, t->source.name, t->err) < 0)
		return -1;
	r = t->inside ? 0 : torch_is_exported(t);
	if (r > 0)
		t->form = TORCH_EXPORT;
	else if (r == 0)
		r = find_folder(t);
	if (r < 0 || read_byteorder(t) < 0)
		return -1;
	if (t->form == TORCH_EXPORT)
		return 0;
	t->storage_folder = "data/";
	return torch_read_member(t, find_member(t, PICKLE, strlen(PICKLE)));
}

/* ---- the legacy form ---- */

static int
bad_legacy(const struct torch *t, const char *what)
{
	return err_set(t->err, ERR_CORRUPT, t->source.name, "is a legacy file of PyTorch %s", what);
}

/* The parts before the object. */
static int
read_system(struct torch *t, uint64_t *at)
{
	const struct pickle_cell *c, *value;
	struct pickle k;
	int r = read_plain_pickle(t, &k, at);

	if (r == 0 && (pickle_node(&k, k.root)->kind != PICKLE_INT ||
	               pickle_node(&k, k.root)->u.i != PROTOCOL))
		r = err_set(t->err, ERR_VERSION, t->source.name,
		            "is a legacy file of PyTorch of a version that is not known");
	pickle_free(&k);
	if (r < 0)
		return -1;
	r = read_plain_pickle(t, &k, at);
	if (r == 0 && pickle_node(&k, k.root)->kind != PICKLE_DICT)
		r = bad_legacy(t, "without its system's sizes");
	for (c = r == 0 ? pickle_first(&k, k.root) : NULL; c; c = pickle_next(&k, value)) {
		value = pickle_next(&k, c);
		if (pickle_is(&k, c->node, "little_endian") &&
		    pickle_node(&k, value->node)->kind == PICKLE_BOOL)
			t->big_endian = !pickle_node(&k, value->node)->u.i;
	}
	pickle_free(&k);
	return r;
}

static int
compare_text(const struct pickle *a, pickle_ref x, const struct pickle *b, pickle_ref y)
{
	size_t n, m;
	const uint8_t *p = pickle_bytes(a, x, &n), *q = pickle_bytes(b, y, &m);
	int r = memcmp(p, q, n < m ? n : m);

	return r ? r : n < m ? -1 : n > m;
}

static int
by_key(const void *a, const void *b, void *k)
{
	return compare_text(k, ((const struct torch_storage *)a)->key, k,
	                    ((const struct torch_storage *)b)->key);
}

/* List the storages that the object refers to, each once. */
static int
list_storages(struct torch *t)
{
	const struct pickle *k = &t->pickle;
	size_t i, n = 0;

	for (i = 0; i < k->node_count; i++) {
		const struct pickle_node *x = &k->nodes[i];
		const struct torch_type *type;
		pickle_ref id[5];

		if (x->kind != PICKLE_PERSISTENT || pickle_items(k, x->args, id, 5) < 5 ||
		    !pickle_is(k, id[0], "storage") || k->nodes[id[2]].kind != PICKLE_TEXT ||
		    !(type = torch_type_of(k, id[1])))
			continue;
		if (mem_grow(&t->storages, &t->storage_cap, t->storage_count + 1,
		             sizeof *t->storages) < 0)
			return err_memory(t->err);
		t->storages[t->storage_count++] = (struct torch_storage){ .key = id[2],
			.element = type->bytes, .at = UINT64_MAX };
	}
	if (t->storage_count == 0)
		return 0;
	qsort_r(t->storages, t->storage_count, sizeof *t->storages, by_key, &t->pickle);
	for (i = 0; i < t->storage_count; i++) {
		if (n == 0 || by_key(&t->storages[n - 1], &t->storages[i], &t->pickle) != 0)
			t->storages[n++] = t->storages[i];
		else if (t->storages[n - 1].element != t->storages[i].element)
			return bad_legacy(t, "that gives one storage two types");
	}
	t->storage_count = n;
	return 0;
}

/* The storage with this key of pickle k. */
static struct torch_storage *
storage_by_key(struct torch *t, const struct pickle *k, pickle_ref key)
{
	size_t low = 0, high = t->storage_count, middle;
	int r;

	while (low < high) {
		middle = (low + high) / 2;
		r = compare_text(&t->pickle, t->storages[middle].key, k, key);
		if (r == 0)
			return &t->storages[middle];
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Find the places of the storages: they follow one another, each behind its size. */
static int
place_storages(struct torch *t, const struct pickle *k, uint64_t *at)
{
	const struct pickle_cell *c;
	struct torch_storage *s;
	uint64_t n;

	for (c = pickle_first(k, k->root); c; c = pickle_next(k, c)) {
		s = k->nodes[c->node].kind == PICKLE_TEXT ? storage_by_key(t, k, c->node) : NULL;
		if (!s || s->at != UINT64_MAX)
			return bad_legacy(t, s ? "that lists a storage twice"
			                       : "that lists a storage of unknown type");
		if (t->n - *at < 8)
			return bad_legacy(t, "that ends inside its storages");
		map_look(&t->file->map, t->p + *at);
		n = le64(t->p + *at);
		if (t->big_endian)
			n = __builtin_bswap64(n);
		*at += 8;
		if (num_mul(n, s->element, &n) < 0 || n > t->n - *at)
			return bad_legacy(t, "that ends inside its storages");
		s->at = *at;
		s->bytes = n;
		*at += n;
	}
	return 0;
}

static int
read_legacy(struct torch *t)
{
	uint64_t at = sizeof magic - 1;
	struct pickle keys = { 0 };
	int r;

	if (read_system(t, &at) < 0 || read_pickle(t, &t->pickle, t->p + at, t->n - at) < 0)
		return -1;
	at += t->pickle.end;
	r = read_plain_pickle(t, &keys, &at);
	if (r == 0 && pickle_node(&keys, keys.root)->kind != PICKLE_LIST)
		r = bad_legacy(t, "without a list of its storages");
	if (r == 0)
		r = list_storages(t);
	if (r == 0)
		r = place_storages(t, &keys, &at);
	pickle_free(&keys);
	if (r == 0 && at != t->n)
		r = err_set(t->err, ERR_CORRUPT, t->source.name, "has %" PRIu64
		            " bytes behind its last storage", t->n - at);
	return r;
}

/* ---- the tar form ---- */

static int
read_tar(struct torch *t)
{
	const struct tar_entry *x;

	if (torch_read_tar(t, &x) < 0 ||
	    read_pickle(t, &t->pickle, t->p + x->offset, x->bytes) < 0)
		return -1;
	return check_end(t, x->bytes);
}

/* ---- storages ---- */

static int
find_in_zip(struct torch *t, pickle_ref key, const char *name, struct torch_storage *s)
{
	char path[ZIP_NAME];
	const size_t before = strlen(t->storage_folder);
	const struct zip_entry *x = NULL;
	size_t n;
	const uint8_t *p = pickle_bytes(&t->pickle, key, &n);

	memcpy(path, t->storage_folder, before);
	if (n > 0 && n < sizeof path - before && !memchr(p, '/', n)) {
		memcpy(path + before, p, n);
		x = find_member(t, path, n + before);
	}
	if (!x)
		return err_set(t->err, ERR_CORRUPT, name, "lies in a storage that the file lacks");
	*s = (struct torch_storage){ .at = x->deflated ? 0 : x->offset, .bytes = x->bytes,
		.deflated = x->deflated ? x : NULL, .stored = x->deflated ? NULL : x };
	return 0;
}

/* The legacy form may refer to a part of a storage. */
static int
cut_storage(const struct torch *t, pickle_ref view, const char *name, uint64_t elements,
            uint8_t element, struct torch_storage *s)
{
	const struct pickle *k = &t->pickle;
	uint64_t skip = 0, bytes, most;
	pickle_ref id[3];

	if (view != PICKLE_NOTHING && k->nodes[view].kind != PICKLE_NONE) {
		if (pickle_items(k, view, id, 3) != 3 || k->nodes[id[1]].kind != PICKLE_INT ||
		    k->nodes[id[2]].kind != PICKLE_INT || k->nodes[id[1]].u.i < 0 ||
		    k->nodes[id[2]].u.i < 0)
			return err_set(t->err, ERR_CORRUPT, name, "lies in a part of a storage "
			               "that is not described");
		skip = (uint64_t)k->nodes[id[1]].u.i;
		elements = (uint64_t)k->nodes[id[2]].u.i;
	}
	if (num_mul(skip, element, &skip) < 0 || num_mul(elements, element, &bytes) < 0 ||
	    num_add(skip, bytes, &most) < 0 || most > s->bytes)
		return err_set(t->err, ERR_CORRUPT, name, "lies in a storage that has %" PRIu64
		               " bytes, fewer than the pickle says", s->bytes);
	s->at += skip;
	s->bytes = bytes;
	return 0;
}

int
torch_find_storage(struct torch *t, pickle_ref persistent, const char *name,
                   const struct torch_type **type, struct torch_storage *s)
{
	const struct pickle *k = &t->pickle;
	const struct torch_storage *found;
	pickle_ref id[6];
	uint8_t element = 1;
	size_t n;

	if (persistent == PICKLE_NOTHING || k->nodes[persistent].kind != PICKLE_PERSISTENT)
		return err_set(t->err, ERR_FORMAT, name, "does not lie in a storage of the file");
	n = pickle_items(k, k->nodes[persistent].args, id, 6);
	if (n < 5 || n > 6 || !pickle_is(k, id[0], "storage") ||
	    k->nodes[id[2]].kind != PICKLE_TEXT || k->nodes[id[4]].kind != PICKLE_INT ||
	    k->nodes[id[4]].u.i < 0)
		return err_set(t->err, ERR_CORRUPT, name, "lies in a storage that is not described");
	*type = torch_type_of(k, id[1]);
	if (*type && pickle_what(k, id[1]) == TORCH_STORAGE)
		element = (*type)->bytes;
	else if (pickle_what(k, id[1]) != TORCH_UNTYPED)
		return err_set(t->err, ERR_FORMAT, name, "lies in a storage of unknown type");
	if (k->nodes[id[4]].u.i == 0) {
		*s = (struct torch_storage){ 0 };
		return 0;
	}
	if (t->form == TORCH_ZIP) {
		if (find_in_zip(t, id[2], name, s) < 0)
			return -1;
	} else {
		found = storage_by_key(t, k, id[2]);
		if (!found || found->at == UINT64_MAX)
			return err_set(t->err, ERR_CORRUPT, name,
			               "lies in a storage that the file lacks");
		*s = *found;
	}
	return cut_storage(t, n == 6 ? id[5] : PICKLE_NOTHING, name, (uint64_t)k->nodes[id[4]].u.i,
	                   element, s);
}

int
torch_read_file(struct torch *t)
{
	if (!t->inside && take_bytes(t) < 0)
		return -1;
	if (t->n >= 4 && memcmp(t->p, "PK\3\4", 4) == 0)
		t->form = TORCH_ZIP;
	else if (t->n >= sizeof magic - 1 && memcmp(t->p, magic, sizeof magic - 1) == 0)
		t->form = TORCH_LEGACY;
	else if (!t->inside && tar_begins(t->p, t->n))
		t->form = TORCH_TAR;
	else
		t->form = TORCH_PICKLE;
	switch (t->form) {
	case TORCH_ZIP:
		return read_zip(t);
	case TORCH_LEGACY:
		return read_legacy(t);
	case TORCH_TAR:
		return read_tar(t);
	default:
		if (read_pickle(t, &t->pickle, t->p, t->n) == 0)
			return 0;
		hint_program(t);
		return -1;
	}
}
