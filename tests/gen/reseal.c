/* reseal: change a sealed stream as an attacker would who can compute checksums but cannot
 * open it.
 *
 *     reseal list                       the changes: NAME, model, exit status of
 *                                       apr-decrypt, what its message says; tabs between
 *     reseal NAME [OTHER] < STREAM > STREAM
 *
 * model: mother, that of the generator tamper, signed, for two recipients; or big, whose
 * two tensors a and b of one shape have four chunks each. OTHER: the same model sealed
 * another time. What is stated of lengths is true again; rows with status 4 are changes
 * that cannot be hidden in this way, or that no reader takes. Status 0: what a seal leaves
 * open.
 */
#include <stdbool.h>

#include <jansson.h>

#include "stream.h"

enum { CHUNK = 1048576, STORED = CHUNK + 16 };

struct sealed {
	struct frames s;
	json_t *plan, *skey;
};

/* ---- a stream in, a stream out ---- */

static void
read_stream(FILE *from, struct sealed *x)
{
	frames_read(from, &x->s);
	x->plan = json_loads(x->s.list[0].head, 0, NULL);
	x->skey = json_loads(x->s.list[1].head, 0, NULL);
	if (!x->plan || !x->skey)
		gen_die("is not sealed", "the stream");
}

static void
set_head(struct frame *f, const json_t *o)
{
	free(f->head);
	f->head = json_dumps(o, JSON_COMPACT);
	f->head_n = strlen(f->head);
}

/* The first frame of a kind; or of SEAL, by what it holds, and by its name. */
static struct frame *
find(struct sealed *x, const char *kind, const char *name)
{
	char holds[300];
	size_t i;

	snprintf(holds, sizeof holds, "{\"holds\":\"%s\"%s%s%s", kind,
	         name ? ",\"name\":\"" : "", name ? name : "", name ? "\"" : "");
	for (i = 0; i < x->s.n; i++) {
		struct frame *f = &x->s.list[i];

		if ((!name && strcmp(f->kind, kind) == 0) ||
		    (strcmp(f->kind, "SEAL") == 0 && strncmp(f->head, holds, strlen(holds)) == 0))
			return f;
	}
	gen_die("is not in it", name ? name : kind);
}

static void
drop(struct sealed *x, struct frame *f)
{
	frame_free(f);
	memmove(f, f + 1, (size_t)(&x->s.list[x->s.n] - (f + 1)) * sizeof *f);
	x->s.n--;
}

static void
swap(struct gen *a, struct gen *b)
{
	struct gen g = *a;

	*a = *b;
	*b = g;
}

static json_t *
rows(struct sealed *x, const char *list)
{
	return json_object_get(x->plan, list);
}

static size_t
row_at(struct sealed *x, const char *list, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows(x, list), i, row)
		if (strcmp(json_string_value(json_array_get(row, 0)), name) == 0)
			return i;
	gen_die("is in no such list", name);
}

/* A field of a row, and the same in the head of its frame. */
static void
set_row(struct sealed *x, const char *list, const char *name, const char *member,
        size_t field, json_t *value)
{
	struct frame *f = find(x, strcmp(list, "tensors") == 0 ? "tensor" : "blob", name);
	json_t *head = json_loads(f->head, 0, NULL);

	json_array_set(json_array_get(rows(x, list), row_at(x, list, name)), field, value);
	json_object_set_new(head, member, value);
	set_head(f, head);
	json_decref(head);
}

/* ---- changes ---- */

static struct sealed other;

static void
flip(struct frame *f, size_t at)
{
	f->body.p[at] ^= 4;
}

static void flip_tensor(struct sealed *x) { flip(find(x, "tensor", "a.weight"), 0); }
static void flip_tag(struct sealed *x)
{
	struct frame *f = find(x, "tensor", "none.weight");

	flip(f, f->body.n - 1);
}
static void flip_blob(struct sealed *x) { flip(find(x, "blob", "README.md"), 3); }
static void flip_prov(struct sealed *x) { flip(find(x, "prov", NULL), 3); }
static void flip_sign(struct sealed *x) { flip(find(x, "sign", NULL), 600); }
static void flip_last_chunk(struct sealed *x) { flip(find(x, "tensor", "b"), 3 * STORED); }

/* Chunk i of a tensor. */
static uint8_t *
chunk(struct sealed *x, const char *name, size_t i)
{
	return find(x, "tensor", name)->body.p + i * STORED;
}

static void
swap_chunks(uint8_t *a, uint8_t *b)
{
	static uint8_t t[STORED];

	memcpy(t, a, STORED);
	memcpy(a, b, STORED);
	memcpy(b, t, STORED);
}

static void chunk_swap(struct sealed *x) { swap_chunks(chunk(x, "a", 0), chunk(x, "a", 1)); }
static void chunk_twice(struct sealed *x)
{
	memcpy(chunk(x, "a", 1), chunk(x, "a", 0), STORED);
}
static void chunk_order(struct sealed *x)
{
	swap_chunks(chunk(x, "b", 0), chunk(x, "b", 2));
	swap_chunks(chunk(x, "b", 1), chunk(x, "b", 2));
}
static void chunk_of_other_tensor(struct sealed *x)
{
	memcpy(chunk(x, "b", 1), chunk(x, "a", 1), STORED);
}
static void chunk_of_other_file(struct sealed *x)
{
	memcpy(chunk(x, "a", 2), chunk(&other, "a", 2), STORED);
}
static void chunk_missing(struct sealed *x)
{
	struct gen *g = &find(x, "tensor", "a")->body;

	memmove(g->p, g->p + STORED, g->n - STORED);
	g->n -= STORED;
}
static void bodies_swapped(struct sealed *x)
{
	swap(&find(x, "tensor", "a.weight")->body, &find(x, "tensor", "b.weight")->body);
}
static void twin_files_swapped(struct sealed *x)
{
	swap(&find(x, "blob", "README.md")->body, &find(x, "blob", "TWIN.md")->body);
}
static void body_of_other_file(struct sealed *x)
{
	swap(&find(x, "tensor", "scalar")->body, &find(&other, "tensor", "scalar")->body);
}

/* Turn a bit of hexadecimal digits. */
static void
turn(json_t *o, const char *name)
{
	char *text = strdup(json_string_value(json_object_get(o, name)));

	text[5] = text[5] == '0' ? '1' : '0';
	json_object_set_new(o, name, json_string(text));
	free(text);
}

static json_t *
stanza(struct sealed *x, size_t i)
{
	return json_array_get(json_object_get(x->skey, "stanzas"), i);
}

static void salt_turned(struct sealed *x) { turn(x->skey, "salt"); }
static void mac_turned(struct sealed *x) { turn(x->skey, "mac"); }
static void wrapped_turned(struct sealed *x) { turn(stanza(x, 0), "wrapped"); }
static void wrapped_of_another(struct sealed *x) { turn(stanza(x, 1), "wrapped"); }
static void commitment_turned(struct sealed *x) { turn(stanza(x, 0), "commitment"); }
static void commitment_of_another(struct sealed *x) { turn(stanza(x, 1), "commitment"); }
static void key_turned(struct sealed *x) { turn(stanza(x, 0), "key"); }
static void stanza_dropped(struct sealed *x)
{
	json_array_remove(json_object_get(x->skey, "stanzas"), 1);
}
static void stanza_twice(struct sealed *x)
{
	json_array_append(json_object_get(x->skey, "stanzas"), stanza(x, 0));
}
static void stanza_order(struct sealed *x)
{
	json_t *first = json_incref(stanza(x, 0)), *list = json_object_get(x->skey, "stanzas");

	json_array_remove(list, 0);
	json_array_append_new(list, first);
}
static void stanzas_of_other(struct sealed *x)
{
	json_object_set(x->skey, "stanzas", json_object_get(other.skey, "stanzas"));
}
static void skey_of_other(struct sealed *x) { json_object_update(x->skey, other.skey); }
static void stanza_kind(struct sealed *x)
{
	json_object_set_new(stanza(x, 0), "type", json_string("x448"));
}
static void stanza_of_unknown_kind(struct sealed *x)
{
	json_array_append_new(json_object_get(x->skey, "stanzas"),
	                      json_pack("{s:s}", "type", "x448"));
}
/* The same members in other text: restate leaves it. */
static void head_spaced(struct sealed *x)
{
	struct frame *f = find(x, "SKEY", NULL);
	char *text = malloc(f->head_n + 2);

	snprintf(text, f->head_n + 2, "{ %s", f->head + 1);
	free(f->head);
	f->head = text;
	f->head_n++;
	json_decref(x->skey);
	x->skey = NULL;
}
static void stanza_member(struct sealed *x)
{
	json_object_set_new(stanza(x, 0), "more", json_true());
}
static void skey_version(struct sealed *x)
{
	json_object_set_new(x->skey, "version", json_integer(1));
}
static void word_dear(struct sealed *x)
{
	json_t *s = stanza(x, 0), *list = json_object_get(x->skey, "stanzas");

	s = json_pack("{s:s,s:s,s:i,s:i,s:O,s:O}", "type", "argon2id", "salt",
	              "00000000000000000000000000000000", "memory", 2000000000, "passes", 9,
	              "commitment", json_object_get(s, "commitment"),
	              "wrapped", json_object_get(s, "wrapped"));
	json_array_clear(list);
	json_array_append_new(list, s);
}
static void stanzas_none(struct sealed *x)
{
	json_array_clear(json_object_get(x->skey, "stanzas"));
}

static void value_changed(struct sealed *x)
{
	json_array_set_new(json_array_get(rows(x, "metadata"), row_at(x, "metadata", "t.u8")), 2,
	                   json_integer(201));
}
/* The second key is a text: its first letter becomes another one. */
static void value_swapped(struct sealed *x)
{
	json_t *row = json_array_get(rows(x, "metadata"), 1);
	char *text = strdup(json_string_value(json_array_get(row, 2)));

	text[0] = text[0] == 'A' ? 'B' : 'A';
	json_array_set_new(row, 2, json_string(text));
	free(text);
}
static void value_dropped(struct sealed *x)
{
	json_array_remove(rows(x, "metadata"), row_at(x, "metadata", "t.u8"));
}
static void value_retyped(struct sealed *x)
{
	json_array_set_new(json_array_get(rows(x, "metadata"), row_at(x, "metadata", "t.u32")),
	                   1, json_string("i32"));
}
static void value_added(struct sealed *x)
{
	json_array_append_new(rows(x, "metadata"), json_pack("[s,s,i]", "more", "u32", 1));
}
static void long_value_changed(struct sealed *x)
{
	struct frame *f = find(x, "blob", NULL);

	f->body.p[f->body.n - 1] ^= 1;
}
static void licence_changed(struct sealed *x) { find(x, "lice", NULL)->body.p[0] ^= 1; }
static void licence_dropped(struct sealed *x)
{
	drop(x, find(x, "lice", NULL));
	json_object_del(x->plan, "licence");
}

static void tensor_renamed(struct sealed *x)
{
	set_row(x, "tensors", "a.weight", "name", 0, json_string("c.weight"));
}
static void tensor_retyped(struct sealed *x)
{
	set_row(x, "tensors", "a.weight", "dtype", 1, json_string("BF16"));
}
static void tensor_reshaped(struct sealed *x)
{
	set_row(x, "tensors", "a.weight", "shape", 2, json_pack("[i,i]", 8, 16));
}
/* A signature has a digest less. */
static void
shorter_sign(struct sealed *x)
{
	find(x, "sign", NULL)->body.n -= 32;
}
static void tensor_dropped(struct sealed *x)
{
	shorter_sign(x);
	json_array_remove(rows(x, "tensors"), row_at(x, "tensors", "f.bias"));
	drop(x, find(x, "tensor", "f.bias"));
}
static void tensors_order(struct sealed *x)
{
	size_t i = row_at(x, "tensors", "a.weight");
	json_t *row = json_incref(json_array_get(rows(x, "tensors"), i));
	struct frame *a = find(x, "tensor", "a.weight"), f = *a;

	json_array_remove(rows(x, "tensors"), i);
	json_array_insert_new(rows(x, "tensors"), i + 1, row);
	a[0] = a[1];
	a[1] = f;
}
static void file_renamed(struct sealed *x)
{
	set_row(x, "blobs", "TWIN.md", "name", 0, json_string("ELSE.md"));
}
static void file_retyped(struct sealed *x)
{
	set_row(x, "blobs", "TWIN.md", "type", 1, json_string("text/html"));
}
static void file_dropped(struct sealed *x)
{
	shorter_sign(x);
	json_array_remove(rows(x, "blobs"), row_at(x, "blobs", "TWIN.md"));
	drop(x, find(x, "blob", "TWIN.md"));
}
static void sign_dropped(struct sealed *x)
{
	drop(x, find(x, "sign", NULL));
	json_object_set_new(x->plan, "signatures", json_integer(0));
}
static void prov_dropped(struct sealed *x)
{
	struct frame *f = find(x, "prov", NULL);

	shorter_sign(x);
	json_array_remove(rows(x, "provenance"), 1);
	drop(x, f + 1);
}

static void seal_is_tensor(struct sealed *x)
{
	struct frame *f = find(x, "tensor", "b.weight");
	json_t *head = json_loads(f->head, 0, NULL);

	json_object_del(head, "holds");
	set_head(f, head);
	json_decref(head);
	memcpy(f->kind, "TENS", 4);
}
static void not_announced(struct sealed *x) { json_object_del(x->plan, "sealed"); }
static void skey_dropped(struct sealed *x) { drop(x, find(x, "SKEY", NULL)); }
static void skey_late(struct sealed *x)
{
	struct frame f = x->s.list[1];

	x->s.list[1] = x->s.list[2];
	x->s.list[2] = f;
}
static void holds_nothing(struct sealed *x)
{
	struct frame *f = find(x, "tensor", "b.weight");
	json_t *head = json_loads(f->head, 0, NULL);

	json_object_set_new(head, "holds", json_string("secret"));
	set_head(f, head);
	json_decref(head);
}
static void head_differs(struct sealed *x)
{
	struct frame *f = find(x, "tensor", "b.weight");
	json_t *head = json_loads(f->head, 0, NULL);

	json_object_set_new(head, "dtype", json_string("BF16"));
	set_head(f, head);
	json_decref(head);
}

static void nothing(struct sealed *x) { (void)x; }
static void source_changed(struct sealed *x)
{
	json_object_set_new(x->plan, "source", json_pack("{s:s}", "format", "else"));
}
static void member_added(struct sealed *x)
{
	json_object_set_new(x->plan, "later", json_true());
}
static void frame_added(struct sealed *x)
{
	struct frame *done = &x->s.list[x->s.n - 1], f;

	put_text(put_frame(&x->s, "", "note", "{}"), "not sealed");
	f = x->s.list[x->s.n - 1];
	x->s.list[x->s.n - 1] = *done;
	*done = f;
}

#define OPENED "cannot be opened: its tag does not hold (E005)"
#define HOLDS "its seal does not hold"
#define NO_KEY "no key that is given opens it (E005)"

static const struct row {
	const char *name, *model;
	int status;
	const char *says;
	void (*change)(struct sealed *);
} table[] = {
	{ "nothing", "mother", 0, "", nothing },
	{ "flip_tensor", "mother", 1, "a.weight: " OPENED, flip_tensor },
	{ "flip_tag", "mother", 1, "none.weight: " OPENED, flip_tag },
	{ "flip_blob", "mother", 1, "README.md: " OPENED, flip_blob },
	{ "flip_prov", "mother", 1, "prov: " OPENED, flip_prov },
	{ "flip_sign", "mother", 1, "sign: " OPENED, flip_sign },
	{ "flip_last_chunk", "big", 1, "b: " OPENED, flip_last_chunk },
	{ "chunk_swap", "big", 1, "a: " OPENED, chunk_swap },
	{ "chunk_twice", "big", 1, "a: " OPENED, chunk_twice },
	{ "chunk_order", "big", 1, "b: " OPENED, chunk_order },
	{ "chunk_of_other_tensor", "big", 1, "b: " OPENED, chunk_of_other_tensor },
	{ "chunk_of_other_file", "big", 1, "a: " OPENED, chunk_of_other_file },
	{ "chunk_missing", "big", 4, "(E002)", chunk_missing },
	{ "bodies_swapped", "mother", 1, "a.weight: " OPENED, bodies_swapped },
	{ "twin_files_swapped", "mother", 1, "README.md: " OPENED, twin_files_swapped },
	{ "body_of_other_file", "mother", 1, "scalar: " OPENED, body_of_other_file },
	{ "salt_turned", "mother", 1, NO_KEY, salt_turned },
	{ "mac_turned", "mother", 1, HOLDS, mac_turned },
	{ "wrapped_turned", "mother", 1, NO_KEY, wrapped_turned },
	{ "wrapped_of_another", "mother", 1, HOLDS, wrapped_of_another },
	{ "commitment_turned", "mother", 1, NO_KEY, commitment_turned },
	{ "commitment_of_another", "mother", 1, HOLDS, commitment_of_another },
	{ "key_turned", "mother", 1, NO_KEY, key_turned },
	{ "stanza_dropped", "mother", 1, HOLDS, stanza_dropped },
	{ "stanza_twice", "mother", 1, HOLDS, stanza_twice },
	{ "stanza_order", "mother", 1, HOLDS, stanza_order },
	{ "stanzas_of_other", "mother", 1, NO_KEY, stanzas_of_other },
	{ "skey_of_other", "mother", 1, "README.md: " OPENED, skey_of_other },
	{ "stanza_kind", "mother", 1, NO_KEY, stanza_kind },
	{ "stanza_of_unknown_kind", "mother", 1, HOLDS, stanza_of_unknown_kind },
	{ "head_spaced", "mother", 1, HOLDS, head_spaced },
	{ "stanza_member", "mother", 4, "no good stanza for a recipient (E002)", stanza_member },
	{ "skey_version", "mother", 4, "version 1, this tool reads 2 (E003)", skey_version },
	{ "word_dear", "mother", 1, "more than this tool spends", word_dear },
	{ "stanzas_none", "mother", 4, "no good list of stanzas (E002)", stanzas_none },
	{ "value_changed", "mother", 1, HOLDS, value_changed },
	{ "value_swapped", "mother", 1, HOLDS, value_swapped },
	{ "value_dropped", "mother", 1, HOLDS, value_dropped },
	{ "value_retyped", "mother", 1, HOLDS, value_retyped },
	{ "value_added", "mother", 1, HOLDS, value_added },
	{ "long_value_changed", "mother", 1, HOLDS, long_value_changed },
	{ "licence_changed", "mother", 1, HOLDS, licence_changed },
	{ "licence_dropped", "mother", 1, HOLDS, licence_dropped },
	{ "tensor_renamed", "mother", 1, HOLDS, tensor_renamed },
	{ "tensor_retyped", "mother", 1, HOLDS, tensor_retyped },
	{ "tensor_reshaped", "mother", 1, HOLDS, tensor_reshaped },
	{ "tensor_dropped", "mother", 1, HOLDS, tensor_dropped },
	{ "tensors_order", "mother", 1, HOLDS, tensors_order },
	{ "file_renamed", "mother", 1, HOLDS, file_renamed },
	{ "file_retyped", "mother", 1, HOLDS, file_retyped },
	{ "file_dropped", "mother", 1, HOLDS, file_dropped },
	{ "sign_dropped", "mother", 1, HOLDS, sign_dropped },
	{ "prov_dropped", "mother", 1, HOLDS, prov_dropped },
	{ "seal_is_tensor", "mother", 4, "the plan says that this is sealed (E002)",
	  seal_is_tensor },
	{ "not_announced", "mother", 4, "(E00", not_announced },
	{ "skey_dropped", "mother", 4, "it comes before SKEY (E002)", skey_dropped },
	{ "skey_late", "mother", 4, "it comes before SKEY (E002)", skey_late },
	{ "holds_nothing", "mother", 4, "what it holds is not known (E002)", holds_nothing },
	{ "head_differs", "mother", 4, "contradicts the plan", head_differs },
	{ "source_changed", "mother", 0, "", source_changed },
	{ "member_added", "mother", 0, "", member_added },
	{ "frame_added", "mother", 0, "a frame of unknown kind is bound by no seal",
	  frame_added },
};
#define ROWS (sizeof table / sizeof *table)

static const struct row *
row_of(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	gen_die("no such change", name);
}

/* Lengths that follow from others. */
static void
restate(struct sealed *x, const struct row *row)
{
	struct frame *skey = NULL;
	json_t *done;
	size_t i;

	for (i = 0; i < x->s.n; i++)
		if (strcmp(x->s.list[i].kind, "SKEY") == 0)
			skey = &x->s.list[i];
	if (skey) {
		if (x->skey)
			set_head(skey, x->skey);
		if (row->change != not_announced)
			json_object_set_new(x->plan, "sealed", json_integer((json_int_t)skey->head_n));
	}
	set_head(&x->s.list[0], x->plan);
	done = json_pack("{s:i}", "tensors", (int)json_array_size(rows(x, "tensors")));
	set_head(&x->s.list[x->s.n - 1], done);
	json_decref(done);
}

int
main(int argc, char **argv)
{
	static struct sealed x;
	const struct row *row;
	struct gen g = { 0 };
	FILE *f;
	size_t i;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (i = 0; i < ROWS; i++)
			printf("%s\t%s\t%d\t%s\n", table[i].name, table[i].model, table[i].status,
			       table[i].says);
		return 0;
	}
	if (argc < 2)
		gen_die("which change", "reseal");
	row = row_of(argv[1]);
	read_stream(stdin, &x);
	if (argc > 2) {
		f = fopen(argv[2], "rb");
		if (!f)
			gen_die("cannot be opened", argv[2]);
		read_stream(f, &other);
		fclose(f);
	}
	row->change(&x);
	restate(&x, row);
	write_frames(&g, &x.s);
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fflush(stdout) != 0)
		gen_die("cannot be written", "the stream");
	return 0;
}
