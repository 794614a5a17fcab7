/* Maps and schema files. */
#include <math.h>
#include <string.h>

#include "adapt/names/schema.h"
#include "core/json.h"
#include "core/mem.h"

/* Turn a usage error of schema_add into an error of the file. */
static int
blame(const char *where, const struct err *fault, struct err *e)
{
	if (fault->code != ERR_USAGE) {
		*e = *fault;
		return -1;
	}
	return err_set(e, ERR_CORRUPT, where, "%.120s: %s", fault->object, fault->fact);
}

static int
add(struct schema *s, const char *from, const char *to, bool required, const char *where,
    struct err *e)
{
	struct err fault = ERR_INIT;

	return schema_add(s, from, to, required, &fault) < 0 ? blame(where, &fault, e) : 0;
}

static int
finish(struct schema *s, const char *where, struct err *e)
{
	struct err fault = ERR_INIT;

	if (s->count == 0)
		return err_set(e, ERR_CORRUPT, where, "names no tensor");
	return schema_finish(s, &fault) < 0 ? blame(where, &fault, e) : 0;
}

int
schema_read_map(struct schema *s, const void *text, size_t n, const char *where,
                struct err *e)
{
	json_t *o = json_parse(text, n, ERR_CORRUPT, where, e), *v;
	const char *name;
	int r = o ? 0 : -1;

	s->literal = true;
	json_object_foreach(o, name, v) {
		if (r == 0 && !json_is_string(v))
			r = err_set(e, ERR_CORRUPT, where, "%.120s: the new name is not text", name);
		if (r == 0)
			r = add(s, name, json_string_value(v), true, where, e);
	}
	json_decref(o);
	return r < 0 ? -1 : finish(s, where, e);
}

/* ---- schema files ---- */

struct file {
	struct schema *s;
	const char *where;
	struct err *e;
};

static int
bad_row(struct file *f, size_t i, const char *what)
{
	return err_set(f->e, ERR_CORRUPT, f->where, "tensor %zu of the schema: %s", i, what);
}

static bool
is_range(const json_t *v)
{
	const json_t *low = json_array_get(v, 0), *high = json_array_get(v, 1);

	return json_array_size(v) == 2 && json_is_number(low) && json_is_number(high) &&
	       isfinite(json_number_value(low)) && isfinite(json_number_value(high)) &&
	       json_number_value(low) <= json_number_value(high);
}

static int
check_member(struct file *f, size_t i, const char *name, const json_t *v)
{
	if (strcmp(name, "from") == 0)
		return json_is_string(v) || json_array_size(v) > 0
		       ? 0 : bad_row(f, i, "from is neither a name nor an array of names");
	if (strcmp(name, "to") == 0)
		return json_is_string(v) ? 0 : bad_row(f, i, "to is not a name");
	if (strcmp(name, "required") == 0)
		return json_is_boolean(v) ? 0 : bad_row(f, i, "required is neither true nor false");
	if (strcmp(name, "mean") == 0 || strcmp(name, "std") == 0)
		return is_range(v) ? 0 : bad_row(f, i, "a range is not two numbers in order");
	if (strcmp(name, "note") == 0)
		return json_is_string(v) ? 0 : bad_row(f, i, "note is not text");
	return err_set(f->e, ERR_CORRUPT, f->where,
	               "tensor %zu of the schema: %.80s is not a member of a row", i, name);
}

static int
add_names(struct file *f, size_t i, const json_t *row)
{
	const json_t *from = json_object_get(row, "from"), *to = json_object_get(row, "to"), *v;
	bool required = json_is_true(json_object_get(row, "required"));
	size_t k;

	if (!from)
		return bad_row(f, i, "from is missing");
	if (json_is_string(from))
		return add(f->s, json_string_value(from), json_string_value(to ? to : from),
		           required, f->where, f->e);
	if (!to)
		return bad_row(f, i, "several names need a new one");
	json_array_foreach(from, k, v) {
		if (!json_is_string(v))
			return bad_row(f, i, "from is neither a name nor an array of names");
		if (add(f->s, json_string_value(v), json_string_value(to), required, f->where,
		        f->e) < 0)
			return -1;
	}
	return 0;
}

static int
read_rows(struct file *f, const json_t *rows)
{
	const json_t *row;
	const char *name;
	json_t *v;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!json_is_object(row))
			return bad_row(f, i, "it is not an object");
		json_object_foreach((json_t *)(uintptr_t)row, name, v)
			if (check_member(f, i, name, v) < 0)
				return -1;
		if (add_names(f, i, row) < 0)
			return -1;
	}
	return 0;
}

static int
read_members(struct file *f, json_t *o)
{
	json_t *v, *rows = NULL;
	const char *name;

	json_object_foreach(o, name, v) {
		if (strcmp(name, "tensors") == 0 && json_is_array(v))
			rows = v;
		else if (strcmp(name, "architecture") == 0 && json_is_string(v))
			f->s->architecture = mem_text(json_string_value(v), json_string_length(v));
		else
			return err_set(f->e, ERR_CORRUPT, f->where,
			               "%.80s is not a member of a schema, or has another type", name);
	}
	if (!rows)
		return err_set(f->e, ERR_CORRUPT, f->where, "has no array tensors: not a schema");
	if (json_object_get(o, "architecture") && !f->s->architecture)
		return err_memory(f->e);
	return read_rows(f, rows);
}

int
schema_read(struct schema *s, const void *text, size_t n, const char *where, struct err *e)
{
	struct file f = { s, where, e };
	json_t *o = json_parse(text, n, ERR_CORRUPT, where, e);
	int r = o ? read_members(&f, o) : -1;

	json_decref(o);
	return r < 0 ? -1 : finish(s, where, e);
}
