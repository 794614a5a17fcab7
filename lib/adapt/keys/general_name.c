#include "adapt/keys/general_name.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "tokenizer/unicode.h"

enum { BASENAME = 1, SIZE = 2, FINETUNE = 4, VERSION = 8, TYPE = 16 };

struct part {
	char *text;
	unsigned kinds; /* of the list above */
};

struct parts {
	struct part *part;
	size_t n, cap;
};

/* ---- what a part looks like; letters in either case ---- */

static int
lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static int
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static const char *
skip_digits(const char *s)
{
	while (is_digit(*s))
		s++;
	return s;
}

/* Whether s begins with the word, which is in lower case. */
static bool
begins(const char *s, const char *word)
{
	for (; *word; s++, word++)
		if (lower(*s) != *word)
			return false;
	return true;
}

static bool
is_one_of(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (begins(s, *words) && !s[strlen(*words)])
			return true;
	return false;
}

/* "2", "v0.3", "iter5" */
static bool
is_version(const char *s)
{
	const char *p;

	s += begins(s, "iter") ? 4 : begins(s, "v") ? 1 : 0;
	for (;; s = p + 1) {
		p = skip_digits(s);
		if (p == s || (*p && *p != '.'))
			return false;
		if (!*p)
			return true;
	}
}

/* "Q4_K_M", "iq2_xs", "fp16", "bf16", "f32" */
static bool
is_type(const char *s)
{
	const char *p = s + (lower(*s) == 'i');

	if (lower(*p) == 'q' && is_digit(p[1])) {
		for (p += 2; p[0] == '_' && (is_digit(p[1]) || p[1] == '_' ||
		                             (lower(p[1]) >= 'a' && lower(p[1]) <= 'z')); p += 2)
			;
		return !*p;
	}
	s += lower(*s) == 'b';
	if (lower(*s) != 'f')
		return false;
	s += lower(s[1]) == 'p' ? 2 : 1;
	return strcmp(s, "16") == 0 || strcmp(s, "32") == 0;
}

/* "7B", "1_6b", "8x7B", "A2.7B", "7b1", "small" */
static bool
is_size(const char *s)
{
	static const char *const words[] = { "small", "mini", "medium", "large", "xl", "xxl", NULL };
	const char *p = skip_digits(s);

	if (is_one_of(s, words))
		return true;
	if (lower(*s) == 'a')
		s++;
	else if (p > s && lower(*p) == 'x')
		s = p + 1;
	p = skip_digits(s);
	if (p == s)
		return false;
	if ((*p == '.' || *p == '_') && is_digit(p[1]))
		p = skip_digits(p + 1);
	if (!*p || !strchr("kmbt", lower(*p)))
		return false;
	p += is_digit(p[1]) ? 2 : 1;
	return !*p;
}

static bool
is_finetune(const char *s)
{
	static const char *const words[] = { "chat", "instruct", "vision", "lora", NULL };

	return is_one_of(s, words);
}

static bool
begins_with_letter(const char *s)
{
	uint32_t c;

	return text_character(s, strlen(s), &c) && unicode_is_letter(c);
}

/* ---- kinds ---- */

/* Whether a number with a unit ("128K") is a length of contexts: it is too far from the number of
 * parameters to be a size. Other labels ("8x7B") are taken for sizes. */
static bool
is_context(const char *label, int64_t parameters)
{
	uint64_t n = parameters < 0 ? 0 - (uint64_t)parameters : (uint64_t)parameters, far;
	size_t last = strlen(label) - 1;
	const char *unit = strchr("KMBT", label[last]);
	char number[48];
	double v;

	if (n == 0 || !unit || last >= sizeof number)
		return false;
	memcpy(number, label, last);
	number[last] = '\0';
	if (text_decimal(number, 0, 1e40, &v) < 0)
		return false;
	v *= pow(1000, (double)(unit - "KMBT" + 1));
	if (parameters < 0)
		return v < (double)(n / 8);
	return num_mul(n, 7, &far) == 0 && fabs(v - (double)n) > (double)(far / 8);
}

/* A size in its usual form: "1_6b" is "1.6B", "7b1" is "7.1B". */
static int
normalize_size(struct part *p)
{
	size_t n = strlen(p->text), i;
	char *s = malloc(n + 2);

	if (!s)
		return -1;
	for (i = 0; i <= n; i++)
		s[i] = p->text[i] == '_' ? '.' : p->text[i];
	if (is_digit(s[n - 1])) {
		s[n] = s[n - 2];
		s[n - 2] = '.';
		s[++n] = '\0';
	}
	if (is_digit(s[n - 2]) && s[n - 1] >= 'a')
		s[n - 1] = (char)(s[n - 1] - ('a' - 'A'));
	free(p->text);
	p->text = s;
	return 0;
}

static int
look_at_size(struct part *p, int64_t parameters)
{
	size_t last;

	if (normalize_size(p) < 0)
		return -1;
	last = strlen(p->text) - 1;
	p->kinds = SIZE;
	if (is_context(p->text, parameters)) {
		p->kinds = FINETUNE;
		p->text[last] = (char)lower(p->text[last]);
	}
	return 0;
}

static int
look_at_part(struct part *p, bool first, int64_t parameters)
{
	char *s;

	if (is_version(p->text)) {
		p->kinds = VERSION;
	} else if (is_type(p->text)) {
		p->kinds = TYPE;
		for (s = p->text; *s; s++)
			if (*s >= 'a' && *s <= 'z')
				*s = (char)(*s - ('a' - 'A'));
	} else if (!first && is_size(p->text)) {
		return look_at_size(p, parameters);
	} else if (!first && is_finetune(p->text)) {
		p->kinds = parameters < 0 && begins(p->text, "lora") ? TYPE : FINETUNE;
	}
	return 0;
}

/* "small" is not a size beside "1B". */
static void
prefer_numbers(struct parts *list)
{
	bool number = false;
	size_t i;

	for (i = 0; i < list->n; i++)
		number |= list->part[i].kinds == SIZE && strpbrk(list->part[i].text, "0123456789");
	for (i = 0; number && i < list->n; i++)
		if (list->part[i].kinds == SIZE && !strpbrk(list->part[i].text, "0123456789"))
			list->part[i].kinds = 0;
}

/* The basename is what the name begins with, with versions inside but not at its end. */
static void
find_basename(struct parts *list)
{
	bool start = true;
	size_t i;

	for (i = 0; i < list->n; i++) {
		struct part *p = &list->part[i];

		start = start && ((!p->kinds && begins_with_letter(p->text)) || p->kinds == VERSION);
		if (start)
			p->kinds |= BASENAME;
		else if (!p->kinds)
			p->kinds = FINETUNE;
	}
	for (i = list->n; i > 0 && list->part[i - 1].kinds == (BASENAME | VERSION); i--)
		list->part[i - 1].kinds = VERSION;
}

/* ---- from parts to a name ---- */

static int
add_part(struct parts *list, const char *s, size_t n)
{
	if (n == 0)
		return 0;
	if (list->n == list->cap &&
	    mem_grow(&list->part, &list->cap, list->n + 1, sizeof *list->part) < 0)
		return -1;
	list->part[list->n].text = mem_text(s, n);
	return list->part[list->n++].text ? 0 : -1;
}

static int
divide(struct parts *list, const char *s)
{
	size_t n;

	for (;; s += n + 1) {
		n = strcspn(s, "-");
		if (add_part(list, s, n) < 0)
			return -1;
		if (!s[n])
			return 0;
	}
}

static bool
is_repeated(const struct parts *list, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (list->part[k].kinds == SIZE && strcmp(list->part[k].text, list->part[i].text) == 0)
			return true;
	return false;
}

/* The parts of a kind, joined by hyphens; sizes once each. */
static int
join(const struct parts *list, unsigned kind, char **to)
{
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < list->n; i++) {
		unsigned kinds = list->part[i].kinds;

		if (!(kinds & kind) || (kind == VERSION && (kinds & BASENAME)) ||
		    (kind == SIZE && is_repeated(list, i)))
			continue;
		buf_printf(&b, "%s%s", b.n ? "-" : "", list->part[i].text);
	}
	if (b.n > 0 && !buf_string(&b))
		return -1;
	*to = (char *)b.p;
	return b.failed ? -1 : 0;
}

static int
read_parts(struct general_name *n, int64_t parameters)
{
	struct parts list = { 0 };
	int r = divide(&list, n->full);
	size_t i;

	for (i = 0; r == 0 && i < list.n; i++)
		r = look_at_part(&list.part[i], i == 0, parameters);
	if (r == 0) {
		prefer_numbers(&list);
		find_basename(&list);
		r = join(&list, SIZE, &n->size_label) < 0 || join(&list, FINETUNE, &n->finetune) < 0 ||
		    join(&list, VERSION, &n->version) < 0 ? -1 : 0;
		/* The first words alone may be anything. */
		if (r == 0 && (n->size_label || n->finetune || n->version))
			r = join(&list, BASENAME, &n->basename);
	}
	for (i = 0; i < list.n; i++)
		free(list.part[i].text);
	free(list.part);
	return r;
}

int
general_name_read(struct general_name *n, const char *id, int64_t parameters, struct err *e)
{
	const char *slash = strchr(id, '/');

	*n = (struct general_name){ 0 };
	if (strchr(id, ' ') || strlen(id) > GENERAL_NAME) {
		n->full = mem_text(id, strlen(id));
		return n->full ? 0 : err_memory(e);
	}
	if (slash && *id != '.') {
		n->organization = mem_text(id, (size_t)(slash - id));
		if (!n->organization)
			return err_memory(e);
	}
	slash = slash ? slash + 1 : id;
	n->full = mem_text(slash, strlen(slash));
	return n->full && read_parts(n, parameters) == 0 ? 0 : err_memory(e);
}

void
general_name_free(struct general_name *n)
{
	free(n->full);
	free(n->organization);
	free(n->basename);
	free(n->finetune);
	free(n->version);
	free(n->size_label);
	*n = (struct general_name){ 0 };
}

/* ---- titles and sizes ---- */

/* "v2", "v1.5": such a word keeps its case, as one that begins with a digit. */
static bool
keeps_case(const char *s, size_t n)
{
	size_t i = 1, digits;

	if (is_digit(*s))
		return true;
	if (*s != 'v')
		return false;
	for (;; i++) {
		for (digits = 0; i < n && is_digit(s[i]); i++)
			digits++;
		if (digits == 0)
			return false;
		if (i == n)
			return true;
		if (s[i] != '.')
			return false;
	}
}

static bool
is_lower_case(const char *s, size_t n)
{
	bool lowers = false;
	uint32_t c;
	size_t len;

	for (; n > 0 && (len = text_character(s, n, &c)) > 0; s += len, n -= len) {
		if (unicode_is_upper(c))
			return false;
		lowers |= unicode_is_lower(c);
	}
	return lowers;
}

static void
put_word(const char *s, size_t n, struct buf *to)
{
	bool inside = false; /* after a letter with a case */
	uint32_t c;
	size_t len;

	if (keeps_case(s, n) || !is_lower_case(s, n)) {
		buf_put(to, s, n);
		return;
	}
	for (; n > 0 && (len = text_character(s, n, &c)) > 0; s += len, n -= len) {
		if (inside)
			text_put(to, c);
		else
			unicode_put_title(c, to);
		inside = unicode_is_lower(c);
	}
	buf_put(to, s, n);
}

void
general_title(const char *name, struct buf *to)
{
	size_t begin = to->n, n;

	for (;; name += n) {
		name += strspn(name, " -\t\n\v\f\r");
		n = strcspn(name, " -\t\n\v\f\r");
		if (n == 0)
			return;
		if (to->n > begin)
			buf_u8(to, ' ');
		put_word(name, n, to);
	}
}
