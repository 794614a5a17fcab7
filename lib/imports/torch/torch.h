/* torch: files that PyTorch's torch.save writes.
 *
 * Zip form (since 1.6), every member below one folder, or none:
 *
 *     data.pkl        a pickle: the object that was saved
 *     data/KEY        bytes of a storage, for each KEY that the pickle refers to
 *     byteorder       "little" or "big"; little if it is missing
 *     version, .format_version, .storage_alignment, .data/serialization_id
 *     constants.pkl   of TorchScript: a tuple, whose storages are constants/KEY
 *     code/, extra/   of TorchScript: side files, except the pickles *.debug_pkl, which are left
 *                     out
 *
 * Models of torch.export (.pt2) are zip archives too, below one folder, or none:
 *
 *     archive_format                          "pt2"
 *     models/M.json                           the graph of model M: a side file
 *     data/weights/M_weights_config.json      {"config": {NAME: {"path_name": MEMBER,
 *     data/constants/M_constants_config.json    "is_param": …, "use_pickle": …,
 *                                               "tensor_meta": {"dtype": 7, "sizes":
 *                                               [{"as_int": 2}], "strides": …,
 *                                               "storage_offset": …, "layout": 7, …}}}}
 *     data/weights/MEMBER, data/constants/…   a storage; with use_pickle an archive of
 *                                             torch.save; without tensor_meta a custom object
 *     data/weights/M.pt, data/constants/M.pt  releases 2.7 and 2.8, in place of list and
 *                                             storages: archives of torch.save
 *     data/sample_inputs/M.pt                 a pickle that is never read
 *
 * Releases 2.1 to 2.6 write serialized_exported_program.json, and archives of torch.save:
 * serialized_state_dict.pt (or .json) and serialized_constants.pt.
 *
 * Legacy form, everything little-endian:
 *
 *     1. a pickle: 0x1950a86a20f9469cfc6c
 *     2. a pickle: 1001
 *     3. a pickle: a dictionary, with "little_endian"
 *     4. a pickle: the object
 *     5. a pickle: a list of keys
 *     6. for each key: i64 number of elements, the elements
 *
 * Tar form, before the legacy one, little-endian, with four members:
 *
 *     sys_info   a pickle: a dictionary, with "protocol_version" 1000 and "little_endian"
 *     pickle     a pickle: the object; tensors are persistent ids, each a KEY in decimal digits
 *     storages   a pickle: their number; for each a pickle (KEY, LOCATION, TYPE), i64 number of
 *                elements, the elements; then a pickle: a list of (KEY, ROOT, OFFSET, ELEMENTS),
 *                storages that are a part of the storage ROOT
 *     tensors    a pickle: their number; for each a pickle (KEY, KEY of the storage, TYPE), i32
 *                dimensions, 4 bytes, i64 for each size, each stride, and the offset
 *
 * A pickle alone has no storages: of it, the arrays of NumPy are read, and what it would call is
 * reported.
 *
 * In the zip and legacy forms a tensor is a call of torch._utils._rebuild_tensor or a relative: a storage,
 * an offset in it, a shape and strides, all in elements. The storage is a persistent id:
 * ("storage", TYPE, KEY, DEVICE, ELEMENTS), in the legacy form with one more member, None or
 * (VIEW KEY, OFFSET, ELEMENTS).
 *
 * The pickle is read as data (wire/pickle.h); its calls are never made. Which names have a
 * meaning is the table in torch_names.c.
 *
 * A sparse tensor is a call of torch._utils._rebuild_sparse_tensor: its layout, and a tuple of
 * tensors. For sparse_coo these are indices [S, N], values [N, D …], the size, and whether each index
 * comes once, in order; D are the dense dimensions. For sparse_csr and sparse_csc they are compressed
 * indices [B …, G + 1], plain indices [B …, N], values [B …, N, D …] and the size; rows of
 * sparse_csr, and columns of sparse_csc, are the G groups, of each of the B batches. For
 * sparse_bsr and sparse_bsc, groups and plain indices count blocks: values are
 * [B …, N, height, width, D …].
 *
 * Arrays of NumPy in the pickle are tensors too, if their type is one of tensors; their bytes lie in
 * the pickle.
 *
 * Names of tensors are the keys on the way to them, joined by "."; members of lists are
 * numbers. From an object of a class, such as torch.nn.Module, the way leads through its
 * attributes; _parameters, _buffers and _modules are left out of the name.
 *
 * Source: PyTorch's documentation (Serialization semantics), torch/serialization.py and
 * torch/_utils.py of releases 0.4 to 2.5 for the forms; the PT2 Archive Spec, torch/_export/serde
 * and torch/export/pt2_archive for torch.export.
 */
#ifndef IMPORTS_TORCH_TORCH_H
#define IMPORTS_TORCH_TORCH_H

#include "core/spool.h"
#include "formats/container.h"
#include "formats/format.h"
#include "imports/dense.h"
#include "imports/whole.h"
#include "wire/npy_pickle.h"
#include "wire/pickle.h"
#include "wire/tar.h"
#include "wire/zip.h"

/* ---- names (torch_names.c) ---- */

enum torch_meaning {
	TORCH_STORAGE = PICKLE_MEANING, /* class of a storage with a type */
	TORCH_UNTYPED,         /* class of a storage of bytes */
	TORCH_DTYPE,
	TORCH_REBUILD,         /* (storage, offset, shape, strides, …) */
	TORCH_REBUILD_TYPED,   /* the same, with the type as the seventh argument */
	TORCH_REBUILD_QUANTIZED,
	TORCH_PARAMETER,       /* (tensor, …) */
	TORCH_SUBCLASS,        /* (function, class, arguments, state) */
	TORCH_SPARSE,          /* (layout, (tensors …)) */
	TORCH_NAMED,           /* no name has it: a tensor of the tar form, by its key */
	TORCH_NO_TENSOR,       /* builds a tensor that is not read here: nested, meta, … */
	TORCH_TENSOR_CLASS,    /* torch.Tensor, Parameter; before 0.4 called with a tensor */
	TORCH_SCHEME,          /* of quantization */
	TORCH_SIZE,            /* (shape) */
	TORCH_LAYOUT,          /* ("torch.sparse_coo") */
	TORCH_ORDERED_DICT,
	TORCH_ARRAY,           /* of NumPy: wire/npy_pickle.h; so are its type and bytes */
	TORCH_ARRAY_TYPE,
	TORCH_ENCODE,
	TORCH_OBJECT           /* a class whose objects hold tensors as attributes */
};

extern const struct pickle_name torch_names[];
extern const size_t torch_name_count;

/* A type of elements, by PyTorch's two names. */
struct torch_type {
	const char *storage; /* "FloatStorage"; NULL: only untyped storages hold it */
	const char *dtype;   /* "float32" */
	const char *type;    /* "F32", or NULL: a tensor of this type is refused */
	uint8_t bytes;       /* of an element */
	uint8_t number;      /* ScalarType of torch.export; 0: it has none */
	const char *as;      /* quantized and complex types: type of the numbers; NULL: refused */
	uint8_t parts;       /* numbers of a value of a complex type without a type here: 2 */
};
const struct torch_type *torch_type_of(const struct pickle *k, pickle_ref global);
const struct torch_type *torch_type_of_number(int64_t number);
/* By the first n letters of a storage's name: "Float". */
const struct torch_type *torch_type_of_storage(const char *letters, size_t n);

/* ---- the file ---- */

/* The bytes of a storage. */
struct torch_storage {
	pickle_ref key;      /* TEXT; legacy only */
	uint64_t at, bytes;  /* in the file, or in the member once it is inflated */
	const struct zip_entry *deflated; /* NULL: the bytes lie in the file */
	const struct zip_entry *stored; /* the member that they are; NULL: another form */
	uint8_t element;     /* bytes of an element; legacy only */
};

/* The place of a tensor's values in a storage. */
struct torch_view {
	const struct zip_entry *deflated, *stored; /* as above */
	const uint8_t *bytes; /* of an array: its bytes or letters in the pickle; else NULL */
	size_t letters;      /* bytes of a text whose letters are the bytes; 0: none */
	unsigned swap;       /* of an array: bytes of a number in the other order, or 0 */
	struct torch_sparse *sparse; /* makes the values, from other tensors; NULL: they lie there */
	struct torch *in;    /* the archive inside that has the value; NULL: the file itself */
	uint64_t at;         /* of the first value, as above, in bytes */
	int64_t strides[TENSOR_DIMS]; /* in elements */
	uint8_t element;     /* bytes of a value */
	uint8_t number;      /* bytes of a number; a complex value may have two */
	bool complex;        /* numbers alternate between real and imaginary parts */
	bool negated[2];     /* real, imaginary parts: their sign changes */
	size_t relation, relation_bytes; /* in relations of the archive; 0 bytes: none */
	bool plain;          /* the values lie there in one piece, in order */
	uint8_t head[DTYPE_HEAD]; /* precedes the values, if the type has a head */
};

/* A storage or a tensor of the tar form. */
struct torch_named {
	int64_t key;
	const struct torch_type *type;
	uint64_t at, bytes;  /* of the storage, in the file */
	uint64_t numbers;    /* of a tensor: offset of its dimensions in the file; 0: a storage */
};

enum torch_form { TORCH_ZIP, TORCH_EXPORT, TORCH_LEGACY, TORCH_TAR, TORCH_PICKLE };

struct torch_box;            /* torch_gather.c */

struct torch {
	struct source source;
	struct model plan;
	struct format_options options;
	struct reader reader;
	struct err *err;

	/* The whole file, in memory that costs nothing until it is read. */
	const uint8_t *p;
	uint64_t n, base;    /* base: offset of p[0] in the file */
	struct whole whole;
	struct whole *file; /* this one, or that of the file around it */

	enum torch_form form;
	struct zip zip;
	const char *folder;  /* of the members: not terminated */
	size_t folder_bytes;
	struct buf pickled;  /* data.pkl, if it is deflated */
	struct pickle pickle;
	bool big_endian;
	struct torch_storage *storages; /* legacy: by key */
	size_t storage_count, storage_cap;
	struct tar tar;
	struct torch_named *named; /* tar: by key */
	size_t named_count, named_cap;

	/* Archives of torch.save that are members of this one; owned. */
	struct torch **inner;
	size_t inner_count, inner_cap;
	json_t *inner_calls; /* what their pickles would call; NULL: none was read */
	uint64_t entries;    /* members of all of them */
	unsigned kept;       /* their pickles that stay */
	bool inside;         /* this is one: the bytes belong to the file around it, */
	bool borrows;        /* and so does zip */
	const char *storage_folder; /* "data/" */
	char *label;         /* its name for messages; owned */
	bool scaling;        /* the tensor that is read is a part of another one */
	struct torch_sparse *sparse; /* all of this archive; owned */
	struct torch_sparse *sparse_now; /* the one that is being read, or was the last one */
	struct buf relations; /* of its tensors, each a JSON object */
	struct buf joined;   /* value of the key pytorch.tensors */
	bool joined_is_blob;
	uint64_t objects;    /* custom objects of torch.export, left out */

	/* Members that travel as side files. */
	const struct zip_entry **sides;
	size_t side_count, side_cap;
	uint64_t side_bytes;

	bool part;           /* one of several files: others may have the names with the prefix */
	uint64_t stripped;   /* names without the prefix now */
	uint64_t arrays;     /* of NumPy; the pickle stays for their bytes */
	uint64_t unread;     /* tensors left out of a report */
	struct torch_view *views; /* of the plan's tensors */
	size_t view_count, view_cap;

	/* What is being sent. */
	struct container_sent sent;
	size_t now;          /* the tensor */
	struct torch *holder; /* the archive that has its values; NULL: none is being sent */
	uint64_t unsent;     /* bytes that the reader sends, unchanged */
	bool sends_joined;   /* the key's value: side_done bytes so far */
	const struct zip_entry *side; /* the side file; NULL: none is being sent */
	struct zip_inflate *side_inflate;
	uint64_t side_done;
	uint32_t side_crc;

	/* The values of a tensor of this archive that are being read. */
	const struct torch_view *view;
	uint64_t left;       /* values */
	uint64_t plain_at;   /* offset in the storage of the next one, if they are not gathered */
	bool head_waits;
	unsigned swap;       /* bytes of a number whose bytes change their order; 0: none do */
	const uint8_t *from; /* the storage's bytes: p, or the inflated member */
	struct torch_box *box;
	bool *proved;        /* for each member: its CRC-32 has been checked; NULL: none has */
	const struct zip_entry *inflated; /* the member that bytes holds */
	struct spool bytes;
	const uint8_t *bytes_view;
	uint64_t inflated_bytes; /* so far */
	const uint8_t *last; /* the piece of the body that was read last */
	size_t last_bytes;
};

/* Read the form and the pickle; then torch_add_tensors fills the plan. 0 or -1. */
int torch_read_file(struct torch *t);
int torch_read_member(struct torch *t, const struct zip_entry *x); /* a member's pickle */
int torch_add_tensors(struct torch *t);

/* The tar form: read all but the object itself, which is in *object. torch_is_named is true for the
 * persistent id of a tensor, and torch_named makes its descriptor and view, as torch_tensor
 * does. */
int torch_read_tar(struct torch *t, const struct tar_entry **object);
bool torch_is_named(const struct torch *t, pickle_ref r);
struct tensor *torch_named(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
                           struct torch_view *v);

/* Find the storage for these elements of a type: 0, or -1. name: the tensor, for messages. */
int torch_find_storage(struct torch *t, pickle_ref persistent, const char *name,
                       const struct torch_type **type, struct torch_storage *s);

/* True if a node is a call that builds a tensor, or a parameter around one; or an array of a type
 * that tensors have. */
bool torch_is_tensor(const struct torch *t, pickle_ref r);
bool torch_is_array(const struct torch *t, pickle_ref r, size_t *n); /* *n: bytes looked at */

/* The same as torch_tensor for an array of NumPy. */
struct tensor *torch_array(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
                           struct torch_view *v);

/* Make the descriptor and view of such a node. NULL with the error filled. */
struct tensor *torch_tensor(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
                            struct torch_view *v);

/* Prove that a view with these strides lies in its storage, and describe it. 0 or -1. */
int torch_place_view(const struct torch *t, const char *name, const struct torch_type *type,
                     const uint64_t *dims, const uint64_t *strides, size_t n, uint64_t offset,
                     const struct torch_storage *s, struct torch_view *v);

/* The place of a tensor in its storage, in elements. */
struct torch_place {
	uint64_t dims[TENSOR_DIMS], strides[TENSOR_DIMS], offset;
	size_t n;            /* dimensions */
};

/* Make the descriptor and view of a tensor that is not quantized. NULL with the error filled. */
struct tensor *torch_strided(struct torch *t, const char *name, size_t name_bytes,
                             const struct torch_type *type, struct torch_place *place,
                             const struct torch_storage *s, struct torch_view *v);

/* The type of a tensor that is not quantized, with the view changed if a value becomes two numbers:
 * dims then has one more dimension. NULL with the error filled. */
const struct dtype *torch_plain_type(struct torch *t, const struct torch_type *type,
                                     const char *name, uint64_t *dims, size_t *n,
                                     struct torch_view *v);

/* The name without the prefix that the user chose; *n is its length before and after. */
const char *torch_short_name(struct torch *t, const char *name, size_t *n);

/* After a tensor that was refused by its form: true if this is a report, which shows the others;
 * the error is then removed. */
bool torch_pass_over(struct torch *t);

/* Append a tensor, which the plan owns from here on, and its view. 0 or -1. */
int torch_take(struct torch *t, struct tensor *x, const struct torch_view *v);

/* Check the plan as a whole: the prefix occurs, tensors exist, views are not endless. */
int torch_check_found(const struct torch *t);

/* The member below the archive's folder, or NULL. */
const struct zip_entry *torch_member(const struct torch *t, const char *name);

/* ---- torch.export (torch_export.c) ---- */

/* 1 if the zip archive is one of torch.export, 0 if not, or -1. */
int torch_is_exported(struct torch *t);
int torch_add_exported(struct torch *t);

/* Add the tensors of an archive of torch.save that is a member of this file. name: it holds one
 * tensor, which has this name here; NULL: all have their names. 0 or -1. */
int torch_add_inner(struct torch *t, const struct zip_entry *x, const char *name);

/* Add the tensors of TorchScript's constants.pkl, if there is one, with the names by which its code
 * calls them: CONSTANTS.c0, CONSTANTS.c1, … 0 or -1. */
#define TORCH_CONSTANTS "constants.pkl"
int torch_add_constants(struct torch *t);

/* ---- sparse tensors (torch_sparse.c) ---- */

/* The same as torch_tensor for the layout and the tuple of tensors. */
struct tensor *torch_sparse(struct torch *t, pickle_ref layout, pickle_ref data, const char *name,
                            size_t name_bytes, struct torch_view *v);

/* Start to make the values of a sparse tensor; write some, at most those that are left. 0 or
 * -1. */
int torch_sparse_begin(struct torch_sparse *s);
void torch_sparse_read(struct torch_sparse *s, uint64_t count, const uint8_t **p);
void torch_sparse_free(struct torch *t);

/* The numbers of a tuple or of a torch.Size: 0, or -1. */
int torch_read_numbers(const struct torch *t, pickle_ref r, const char *name, uint64_t *v, size_t *n);

/* ---- what values mean (torch_relations.c) ---- */

#define TORCH_TENSORS_KEY "pytorch.tensors"

/* Note the type of a tensor that has another one in the plan. */
void torch_relate_type(struct torch *t, const struct torch_type *type, struct torch_view *v);

/* The same with scale and zero point: (scheme, scale, zero point), or (scheme, scales, zero
 * points, axis) for n dimensions dims. 0 or -1. */
int torch_relate(struct torch *t, const struct torch_type *type, const pickle_ref *q, size_t count,
                 const uint64_t *dims, size_t n, const char *name, struct torch_view *v);

/* Append the key to the plan, unless no tensor needs it. For one of several files, only make its
 * value. 0 or -1. */
int torch_add_relations(struct torch *t);

/* ---- side files (torch_side.c) ---- */

#define TORCH_SIDE "torch" /* the type of their blobs */

/* List a member as a side file; append those that are listed to the plan, behind all values.
 * torch_side_begin and torch_side_read send blob i of the plan. 0 or -1. */
int torch_add_side(struct torch *t, const struct zip_entry *x);
int torch_add_sides(struct torch *t);
/* List TorchScript's code and extra files, and count members that are not known. */
int torch_add_code(struct torch *t);
int torch_side_begin(struct torch *t, size_t i);
int torch_side_read(struct torch *t, const uint8_t **p, size_t *n);
void torch_side_end(struct torch *t);

/* Start to read the values of a tensor, and read some: *n bytes, at most the values that are
 * left. 0 or -1. */
#define TORCH_PIECE (1u << 18) /* bytes of a piece that is not gathered */
int torch_values_begin(struct torch *t, const struct tensor *of, const struct torch_view *v);
int torch_values_read(struct torch *t, const uint8_t **p, size_t *n);
void torch_values_free(struct torch *t);

/* Open one file of several. If no name in it begins with the prefix, that is not an error. */
struct source *torch_open_part(struct reader *r, const struct format_options *options,
                               void (*note)(const char *), struct err *e);

void torch_outline(struct reader *r, struct outline *o);

/* Report that no tensor has the prefix. Returns -1. */
int torch_no_prefix(const char *name, const char *prefix, struct err *e);

/* The calls that apr-unpack refuses, as a list of texts: a new reference, or NULL. */
json_t *torch_calls(const struct torch *t);

/* Note a text of at most 300 bytes to the user. */
void torch_note(const struct torch *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

extern const struct format_option torch_options[];
enum { TORCH_KEY, TORCH_PREFIX, TORCH_ALL, TORCH_OPAQUE, TORCH_DENSE };

/* The value of an option, or NULL. */
const char *torch_chosen(const struct torch *t, unsigned option);

#endif
