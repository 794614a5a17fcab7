/* The opcodes: what each does to the stack. */
#include <string.h>

#include "core/text.h"
#include "wire/pickle_machine.h"

#define MEMO_MAX (1u << 22) /* a larger number of a memo is refused */
#define PROTOCOL_MAX 5

/* ---- the stack ---- */

static size_t
fence(const struct pickle *k)
{
	return k->mark_count ? k->marks[k->mark_count - 1] : 0;
}

static int
push(struct pickle *k, pickle_ref r)
{
	if (r == PICKLE_NOTHING ||
	    pickle_grow(k, &k->stack, &k->stack_cap, k->depth + 1, sizeof *k->stack) < 0)
		return -1;
	k->stack[k->depth++] = r;
	return 0;
}

/* Take n nodes off the stack; the first that was pushed is at *to. */
static int
take(struct pickle *k, pickle_ref **to, size_t n)
{
	if (k->depth - fence(k) < n)
		return pickle_bad(k, k->at, "an opcode that finds too little on the stack");
	k->depth -= n;
	*to = k->stack + k->depth;
	return 0;
}

/* Take what is above the last mark off the stack, and the mark. */
static int
take_mark(struct pickle *k, pickle_ref **to, size_t *n)
{
	if (k->mark_count == 0)
		return pickle_bad(k, k->at, "an opcode that finds no mark");
	*n = k->depth - fence(k);
	k->depth = fence(k);
	k->mark_count--;
	*to = k->stack + k->depth;
	return 0;
}

/* ---- opcodes ---- */

static int
do_nothing(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)with;
	if (a->v > k->n - k->at)
		return pickle_bad(k, k->at, "a frame that is longer than the pickle");
	return 0;
}

static int
do_protocol(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)with;
	return a->v <= PROTOCOL_MAX ? 0 : err_set(k->err, ERR_VERSION, k->where,
		"is a pickle of protocol %u, which is not known", (unsigned)a->v);
}

static int
do_refuse(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)a;
	return err_set(k->err, ERR_FORMAT, k->where, "is refused: its pickle %s", with
		? "has an extension code, which hides a name"
		: "needs buffers from outside");
}

static int
do_mark(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)a;
	(void)with;
	if (pickle_grow(k, &k->marks, &k->mark_cap, k->mark_count + 1, sizeof *k->marks) < 0)
		return -1;
	k->marks[k->mark_count++] = (uint32_t)k->depth;
	return 0;
}

static int
do_pop(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x;
	size_t n;

	(void)a;
	if (with || (k->mark_count && k->depth == fence(k)))
		return take_mark(k, &x, &n);
	return take(k, &x, 1);
}

static int
do_dup(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)a;
	(void)with;
	if (k->depth == fence(k))
		return pickle_bad(k, k->at, "an opcode that finds too little on the stack");
	return push(k, k->stack[k->depth - 1]);
}

static int
do_empty(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)a;
	return push(k, pickle_new(k, with));
}

static int
do_bool(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref r = pickle_new(k, PICKLE_BOOL);

	(void)a;
	if (r != PICKLE_NOTHING)
		k->nodes[r].u.i = with;
	return push(k, r);
}

/* with: the number has a sign in 32 bits. */
static int
do_int(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	return push(k, pickle_new_int(k, with ? (int32_t)(uint32_t)a->v : (int64_t)a->v));
}

static int
do_long(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	uint64_t v = 0;
	size_t i;

	(void)with;
	if (a->n > 8)
		return push(k, pickle_new_bytes(k, PICKLE_LONG, a->p, a->n));
	for (i = 0; i < 8; i++)
		v |= (uint64_t)(i < a->n ? a->p[i] : a->n && a->p[a->n - 1] & 0x80 ? 0xff : 0)
			<< 8 * i;
	return push(k, pickle_new_int(k, (int64_t)v));
}

/* Big-endian, unlike everything else. */
static int
do_float(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref r = pickle_new(k, PICKLE_FLOAT);
	uint64_t v = __builtin_bswap64(a->v);

	(void)with;
	if (r != PICKLE_NOTHING)
		memcpy(&k->nodes[r].u.d, &v, sizeof v);
	return push(k, r);
}

static int
do_text_number(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	return push(k, with == PICKLE_FLOAT ? pickle_text_float(k, a->p, a->n)
	                                    : pickle_text_int(k, a->p, a->n, with == PICKLE_LONG));
}

static int
do_text_string(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	return push(k, (with ? pickle_text_unicode : pickle_text_string)(k, a->p, a->n));
}

/* Strings of Python 2 may be text or bytes: with is 0. */
static int
do_bytes(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	if (!with)
		with = text_utf8(a->p, a->n, true) ? PICKLE_TEXT : PICKLE_BYTES;
	return push(k, pickle_new_bytes(k, with, a->p, a->n));
}

/* with: the number of members, or 0: those above the mark. */
static int
do_tuple(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, r;
	size_t i, n = with;

	(void)a;
	if ((with ? take(k, &x, n) : take_mark(k, &x, &n)) < 0)
		return -1;
	r = pickle_new(k, PICKLE_TUPLE);
	for (i = 0; r != PICKLE_NOTHING && i < n; i++)
		if (pickle_append(k, r, x[i]) < 0)
			return -1;
	return push(k, r);
}

/* LIST, DICT, FROZENSET. */
static int
do_gather(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, r;
	size_t i, n;

	(void)a;
	if (take_mark(k, &x, &n) < 0)
		return -1;
	if (with == PICKLE_DICT && n % 2)
		return pickle_bad(k, k->at, "a key without a value");
	r = pickle_new(k, with);
	for (i = 0; r != PICKLE_NOTHING && i < n; i++)
		if (pickle_append(k, r, x[i]) < 0)
			return -1;
	return push(k, r);
}

enum { TO_LIST = 1, TO_SET = 2, TO_DICT = 4, MANY = 8 };

/* APPEND, APPENDS, ADDITEMS, SETITEM, SETITEMS. */
static int
do_add(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, to;
	struct pickle_node *node;
	size_t i, n = with & TO_DICT ? 2 : 1;
	bool fits;

	(void)a;
	if ((with & MANY ? take_mark(k, &x, &n) : take(k, &x, n)) < 0)
		return -1;
	if (k->depth == fence(k))
		return pickle_bad(k, k->at, "an opcode that finds too little on the stack");
	to = k->stack[k->depth - 1];
	node = &k->nodes[to];
	if (n == 0)
		return 0;
	fits = with & TO_LIST ? node->kind == PICKLE_LIST
	       : with & TO_SET ? node->kind == PICKLE_SET : node->kind == PICKLE_DICT;
	if (node->kind == PICKLE_CALL && !(with & TO_SET))
		fits = node->count == 0 || node->pairs == !!(with & TO_DICT);
	if (!fits || (with & TO_DICT && n % 2))
		return pickle_bad(k, k->at, "members for an object that cannot have them");
	if (node->kind == PICKLE_CALL)
		node->pairs = with & TO_DICT;
	for (i = 0; i < n; i++)
		if (pickle_append(k, to, x[i]) < 0)
			return -1;
	return 0;
}

static int
do_get(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)with;
	if (a->v >= k->memo_cap || !k->memo[a->v])
		return pickle_bad(k, k->at, "a reference to nothing");
	return push(k, k->memo[a->v] - 1);
}

static int
memo_set(struct pickle *k, uint64_t i)
{
	if (k->depth == fence(k))
		return pickle_bad(k, k->at, "an opcode that finds too little on the stack");
	if (i >= MEMO_MAX)
		return pickle_bad(k, k->at, "a memo of too many objects");
	if (pickle_grow(k, &k->memo, &k->memo_cap, (size_t)i + 1, sizeof *k->memo) < 0)
		return -1;
	k->memo_count += !k->memo[i];
	k->memo[i] = k->stack[k->depth - 1] + 1;
	return 0;
}

static int
do_put(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)with;
	return memo_set(k, a->v);
}

/* The number is the count of objects in the memo so far. */
static int
do_memoize(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)a;
	(void)with;
	return memo_set(k, k->memo_count);
}

/* GET and PUT with the number as text. */
static int
do_memo_text(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	struct pickle_arg number = { 0 };
	size_t i;

	for (i = 0; i < a->n && i < 8 && a->p[i] >= '0' && a->p[i] <= '9'; i++)
		number.v = number.v * 10 + (uint64_t)(a->p[i] - '0');
	if (i == 0 || i < a->n)
		return pickle_bad(k, k->at, "a memo without a number");
	return with ? do_put(k, &number, 0) : do_get(k, &number, 0);
}

static pickle_ref
global_of_lines(struct pickle *k, const struct pickle_arg *a)
{
	pickle_ref module = pickle_new_bytes(k, PICKLE_TEXT, a->p, a->n), name;

	if (module == PICKLE_NOTHING)
		return module;
	name = pickle_new_bytes(k, PICKLE_TEXT, a->q, a->m);
	return name == PICKLE_NOTHING ? name : pickle_new_global(k, module, name);
}

static int
do_global(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	(void)with;
	return push(k, global_of_lines(k, a));
}

static int
do_stack_global(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x;

	(void)a;
	(void)with;
	if (take(k, &x, 2) < 0)
		return -1;
	if (k->nodes[x[0]].kind != PICKLE_TEXT || k->nodes[x[1]].kind != PICKLE_TEXT)
		return err_set(k->err, ERR_FORMAT, k->where,
		               "is refused: its pickle computes the name of a function");
	return push(k, pickle_new_global(k, x[0], x[1]));
}

enum { REDUCE, NEW_OBJECT, NEW_OBJECT_KEYS };

static int
do_call(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, function, args;

	(void)a;
	if (take(k, &x, with == NEW_OBJECT_KEYS ? 3 : 2) < 0)
		return -1;
	function = x[0];
	args = x[1];
	if (k->nodes[args].kind != PICKLE_TUPLE)
		return pickle_bad(k, k->at, "a call without a tuple of arguments");
	if (with == NEW_OBJECT_KEYS && k->nodes[x[2]].kind != PICKLE_DICT)
		return pickle_bad(k, k->at, "a call without a dictionary of arguments");
	if (with == NEW_OBJECT_KEYS && k->nodes[x[2]].count)
		return err_set(k->err, ERR_FORMAT, k->where,
		               "is refused: its pickle calls a function with named arguments");
	return push(k, pickle_new_call(k, function, args));
}

/* INST names the class; OBJ has it on the stack, as the first above the mark. */
static int
do_instance(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, class, args;
	size_t i, n, from = with ? 1 : 0;

	if (take_mark(k, &x, &n) < 0)
		return -1;
	if (n < from)
		return pickle_bad(k, k->at, "an object without a class");
	class = with ? x[0] : global_of_lines(k, a);
	args = class == PICKLE_NOTHING ? class : pickle_new(k, PICKLE_TUPLE);
	if (args == PICKLE_NOTHING)
		return -1;
	for (i = from; i < n; i++)
		if (pickle_append(k, args, x[i]) < 0)
			return -1;
	return push(k, pickle_new_call(k, class, args));
}

static int
do_build(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x = NULL, object;

	(void)a;
	(void)with;
	if (take(k, &x, 2) < 0)
		return -1;
	k->depth++; /* the object stays */
	object = x[0];
	return pickle_build(k, object, x[1]) < 0 || pickle_take_behind(k, object) < 0 ? -1 : 0;
}

static int
do_persistent(struct pickle *k, const struct pickle_arg *a, unsigned with)
{
	pickle_ref *x, id, r;

	if (!k->persistent)
		return err_set(k->err, ERR_FORMAT, k->where,
		               "is refused: its pickle refers to objects outside");
	if (with)
		id = pickle_new_bytes(k, PICKLE_TEXT, a->p, a->n);
	else
		id = take(k, &x, 1) < 0 ? PICKLE_NOTHING : *x;
	r = id == PICKLE_NOTHING ? id : pickle_new(k, PICKLE_PERSISTENT);
	if (r != PICKLE_NOTHING)
		k->nodes[r].args = id;
	return push(k, r);
}

const struct pickle_op pickle_ops[256] = {
	[0x80] = { ONE, 0, do_protocol },
	[0x95] = { EIGHT, 0, do_nothing }, /* FRAME */
	['('] = { PLAIN, 0, do_mark },
	['0'] = { PLAIN, 0, do_pop },
	['1'] = { PLAIN, 1, do_pop },
	['2'] = { PLAIN, 0, do_dup },

	/* Values. */
	['N'] = { PLAIN, PICKLE_NONE, do_empty },
	[0x88] = { PLAIN, 1, do_bool },
	[0x89] = { PLAIN, 0, do_bool },
	['I'] = { LINE, PICKLE_INT, do_text_number },
	['L'] = { LINE, PICKLE_LONG, do_text_number },
	['F'] = { LINE, PICKLE_FLOAT, do_text_number },
	['J'] = { FOUR, 1, do_int },
	['K'] = { ONE, 0, do_int },
	['M'] = { TWO, 0, do_int },
	[0x8a] = { BYTES1, 0, do_long },
	[0x8b] = { BYTES4, 0, do_long },
	['G'] = { EIGHT, 0, do_float },
	['S'] = { LINE, 0, do_text_string },
	['V'] = { LINE, 1, do_text_string },
	['T'] = { BYTES4, 0, do_bytes },
	['U'] = { BYTES1, 0, do_bytes },
	['X'] = { BYTES4, PICKLE_TEXT, do_bytes },
	[0x8c] = { BYTES1, PICKLE_TEXT, do_bytes },
	[0x8d] = { BYTES8, PICKLE_TEXT, do_bytes },
	['B'] = { BYTES4, PICKLE_BYTES, do_bytes },
	['C'] = { BYTES1, PICKLE_BYTES, do_bytes },
	[0x8e] = { BYTES8, PICKLE_BYTES, do_bytes },
	[0x96] = { BYTES8, PICKLE_BYTES, do_bytes },

	/* Collections. */
	[')'] = { PLAIN, PICKLE_TUPLE, do_empty },
	[0x85] = { PLAIN, 1, do_tuple },
	[0x86] = { PLAIN, 2, do_tuple },
	[0x87] = { PLAIN, 3, do_tuple },
	['t'] = { PLAIN, 0, do_tuple },
	[']'] = { PLAIN, PICKLE_LIST, do_empty },
	['l'] = { PLAIN, PICKLE_LIST, do_gather },
	['}'] = { PLAIN, PICKLE_DICT, do_empty },
	['d'] = { PLAIN, PICKLE_DICT, do_gather },
	[0x8f] = { PLAIN, PICKLE_SET, do_empty },
	[0x91] = { PLAIN, PICKLE_SET, do_gather },
	['a'] = { PLAIN, TO_LIST, do_add },
	['e'] = { PLAIN, TO_LIST | MANY, do_add },
	[0x90] = { PLAIN, TO_SET | MANY, do_add },
	['s'] = { PLAIN, TO_DICT, do_add },
	['u'] = { PLAIN, TO_DICT | MANY, do_add },

	/* The memo. */
	['g'] = { LINE, 0, do_memo_text },
	['h'] = { ONE, 0, do_get },
	['j'] = { FOUR, 0, do_get },
	['p'] = { LINE, 1, do_memo_text },
	['q'] = { ONE, 0, do_put },
	['r'] = { FOUR, 0, do_put },
	[0x94] = { PLAIN, 0, do_memoize },

	/* Names, calls and references. */
	['c'] = { LINES, 0, do_global },
	[0x93] = { PLAIN, 0, do_stack_global },
	['R'] = { PLAIN, REDUCE, do_call },
	[0x81] = { PLAIN, NEW_OBJECT, do_call },
	[0x92] = { PLAIN, NEW_OBJECT_KEYS, do_call },
	['i'] = { LINES, 0, do_instance },
	['o'] = { PLAIN, 1, do_instance },
	['b'] = { PLAIN, 0, do_build },
	['P'] = { LINE, 1, do_persistent },
	['Q'] = { PLAIN, 0, do_persistent },
	[0x82] = { ONE, 1, do_refuse },
	[0x83] = { TWO, 1, do_refuse },
	[0x84] = { FOUR, 1, do_refuse },
	[0x97] = { PLAIN, 0, do_refuse },
	[0x98] = { PLAIN, 0, do_refuse },
};
