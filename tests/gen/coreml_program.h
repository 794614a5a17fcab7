/* coreml_program: programs of Core ML, operation by operation, and weight files. */
#ifndef GEN_COREML_PROGRAM_H
#define GEN_COREML_PROGRAM_H

#include "coreml.h"

/* Numbers of types. */
enum { MIL_BOOL = 1, MIL_TEXT = 2, MIL_F16 = 10, MIL_F32 = 11, MIL_F64 = 12, MIL_BF16 = 13,
       MIL_I8 = 21, MIL_I32 = 23, MIL_I4 = 25, MIL_U8 = 31, MIL_U32 = 33, MIL_U4 = 35, MIL_U2 = 36,
       MIL_U1 = 37, MIL_U6 = 38, MIL_U3 = 39, MIL_F8 = 40 };

/* A ValueType of a tensor: shape is "2x3", or "" for a scalar. */
static inline void
put_tensor_type(struct gen *value, uint32_t type, const char *shape)
{
	struct gen tensor = { 0 }, dims = { 0 }, size = { 0 }, constant = { 0 }, outer = { 0 };
	unsigned rank = 0;
	char *end;

	for (; *shape; shape = *end ? end + 1 : end, rank++) {
		put_int(&size, 1, strtoull(shape, &end, 10));
		put_message(&constant, 1, &size);
		put_message(&dims, 3, &constant);
	}
	put_int(&tensor, 1, type);
	if (rank)
		put_int(&tensor, 2, rank);
	put(&tensor, dims.p, dims.n);
	gen_free(&dims);
	put_message(&outer, 1, &tensor);
	put_message(value, 2, &outer);
}

/* A Value: field is that of the bytes in a TensorValue (1 floats, 2 ints, 7 bytes, ...). */
static inline void
put_value(struct gen *value, uint32_t type, const char *shape, uint32_t field, const void *p,
          size_t n)
{
	struct gen bytes = { 0 }, tensor = { 0 }, immediate = { 0 };

	put_tensor_type(value, type, shape);
	put_bytes(&bytes, 1, p, n);
	put_message(&tensor, field, &bytes);
	put_message(&immediate, 1, &tensor);
	put_message(value, 3, &immediate);
}

static inline void
put_blob_value(struct gen *value, uint32_t type, const char *shape, const char *file,
               uint64_t offset)
{
	struct gen blob = { 0 };

	put_tensor_type(value, type, shape);
	put_bytes(&blob, 1, file, strlen(file));
	put_int(&blob, 2, offset);
	put_message(value, 5, &blob);
}

/* An entry of a map. */
static inline void
put_entry(struct gen *g, uint32_t field, const char *key, struct gen *value)
{
	struct gen entry = { 0 };

	put_bytes(&entry, 1, key, strlen(key));
	put_message(&entry, 2, value);
	put_message(g, field, &entry);
}

/* Operands: the name of a value, and a value. */
static inline void
put_input(struct gen *operands, const char *key, const char *name)
{
	struct gen binding = { 0 }, argument = { 0 };

	put_bytes(&binding, 1, name, strlen(name));
	put_message(&argument, 1, &binding);
	put_entry(operands, 2, key, &argument);
}

static inline void
put_attribute(struct gen *operands, const char *key, uint32_t type, const char *shape,
              const void *p, size_t n)
{
	struct gen value = { 0 };

	put_value(&value, type, shape, type == MIL_F32 ? 1 : type == MIL_I32 ? 2 : 7, p, n);
	put_entry(operands, 5, key, &value);
}

/* An operation with these operands, and an output for each word of names. */
static inline void
put_op(struct gen *block, const char *type, const char *names, struct gen *operands)
{
	struct gen op = { 0 }, output = { 0 };
	size_t n;

	put_bytes(&op, 1, type, strlen(type));
	put(&op, operands->p, operands->n);
	gen_free(operands);
	do {
		n = strcspn(names, " ");
		put_bytes(&output, 1, names, n);
		put_message(&op, 3, &output);
		names += n + (names[n] == ' ');
	} while (*names);
	put_message(block, 3, &op);
}

static inline void
put_constant(struct gen *block, const char *name, uint32_t type, const char *shape, const void *p,
             size_t n)
{
	struct gen operands = { 0 };

	put_attribute(&operands, "val", type, shape, p, n);
	put_op(block, "const", name, &operands);
}

static inline void
put_blob_constant(struct gen *block, const char *name, uint32_t type, const char *shape,
                  const char *file, uint64_t offset)
{
	struct gen operands = { 0 }, value = { 0 };

	put_blob_value(&value, type, shape, file, offset);
	put_entry(&operands, 5, "val", &value);
	put_op(block, "const", name, &operands);
}

static inline void
put_function(struct gen *program, const char *name, struct gen *block)
{
	struct gen function = { 0 };

	put_bytes(&function, 2, "CoreML7", 7);
	put_entry(&function, 3, "CoreML7", block);
	put_entry(program, 2, name, &function);
}

/* A model around one block. */
static inline void
put_program(struct gen *g, struct gen *block)
{
	struct gen program = { 0 };

	put_int(&program, 1, 1);
	put_function(&program, "main", block);
	put_model(g, 502, &program);
}

/* A record and its values; the file begins with put_weight_file. Returns the record's offset. */
static inline void
put_weight_file(struct gen *g, uint32_t count)
{
	put_u32(g, count);
	mark(g, "version");
	put_u32(g, 2);
	put_fill(g, 0, 56);
}

static inline void
put_record(struct gen *g, uint32_t type, const void *p, size_t n, uint64_t unused)
{
	put_align(g, 64);
	mark(g, "sentinel");
	put_u32(g, 0xdeadbeef);
	mark(g, "type");
	put_u32(g, type);
	mark(g, "bytes");
	put_u64(g, n);
	mark(g, "offset");
	put_u64(g, g->n + 48);
	mark(g, "unused");
	put_u64(g, unused);
	put_fill(g, 0, 32);
	put(g, p, n);
}

#endif
