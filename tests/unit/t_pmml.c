/* t_pmml: trees of PMML against their definition, an interpreter of three truth values; documents with values computed
 * by hand; what libraries predicted; and what is refused. */
#include <math.h>
#include <string.h>

#include "predict/predict.h"
#include "predict/readers.h"
#include "predict/rows/rows.h"
#include "recorded.h"
#include "test.h"
#include "wire/xml.h"

#define FOLDER "tests/data/pmml/"
#define HEAD "<PMML version='4.4' xmlns='http://www.dmg.org/PMML-4_4'><Header/>"

/* ---- reading and computing ---- */

static int
read_model(struct predictor *m, const char *text, size_t n, struct err *e)
{
	const struct predict_reader *r = predict_probe((const uint8_t *)text, n);

	*m = (struct predictor){ .covers = true };
	return r ? predict_read(m, r, (const uint8_t *)text, n, "m.pmml", e) : err_set(e, ERR_FORMAT, "m.pmml", "no probe");
}

/* The scores of a line of CSV; header: NULL, or the names of its columns. 0 or -1. */
static int
compute(struct predictor *m, const char *header, const char *line, double *scores, struct err *e)
{
	struct rows r = { .m = m, .form = ROWS_CSV, .where = "rows" };
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	bool missing = false;
	int status = rows_begin(&r, header ? header : line, strlen(header ? header : line), header != NULL, e) < 0 || step_rows_begin(&x, 1, m->features, e) < 0 ||
	             rows_read(&r, line, strlen(line), 1, step_row(&x, 0), &missing, NULL, e) < 0 ||
	             predict_block(m, &x, &spare, missing, scores, NULL, e) < 0 ? -1 : 0;

	step_rows_free(&x);
	step_rows_free(&spare);
	rows_free(&r);
	return status;
}

/* The prediction of a line, as text: a label, or a number. */
static void
say(struct predictor *m, const char *header, const char *line, char *to, size_t n)
{
	double scores[16], linked[64];
	struct err e = ERR_INIT;

	if (m->outputs > 16)
		snprintf(to, n, "many outputs");
	else if (compute(m, header, line, scores, &e) < 0)
		snprintf(to, n, "%s", e.fact);
	else if (m->task == PREDICT_VALUE) {
		predict_link(m, scores, linked);
		snprintf(to, n, "%.10g", linked[0]);
	} else
		snprintf(to, n, "%s", isnan(scores[0]) ? "nan" : m->labels[predict_label(m, scores)]);
}

/* ---- the definition of trees ---- */

enum truth { FALSE_, TRUE_, UNKNOWN };
enum kind { SIMPLE, SET, COMPOUND, ALWAYS, NEVER };

struct pred {
	enum kind kind;
	unsigned field, op, values, value[3];
	unsigned count;
	struct pred *inner[3];
};

struct node {
	struct pred *pred;
	int score;
	unsigned count, preferred;
	bool shares;
	struct node *child[3];
};

static const char *const strategies[] = { "none", "lastPrediction", "nullPrediction", "defaultChild" };
static const char *const ops[] = { "lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual", "equal", "notEqual",
	"isMissing", "isNotMissing" };
static const char *const joins[] = { "and", "or", "xor", "surrogate" };
static const char *const names[] = { "a", "b", "c", "k" }; /* double, float, text, integer */
static const char *const grid[4][5] = { { "", "-1", "0.1", "0.5", "2" }, { "", "-1", "0.1", "0.5", "2" },
	{ "", "red", "green", "blue", "odd" }, { "", "0", "1", "2", "70000" } };

static uint32_t state = 1;

static unsigned
roll(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 16) % n;
}

static struct pred *
make_pred(unsigned depth)
{
	struct pred *p = calloc(1, sizeof *p);
	unsigned i, what = roll(10);

	p->kind = depth && what < 3 ? COMPOUND : what < 5 ? SET : what == 5 && depth ? ALWAYS : SIMPLE;
	p->field = roll(4);
	p->op = p->kind == COMPOUND ? roll(4) : p->kind == SET ? roll(2) : p->field == 2 ? 4 + roll(4) : roll(8);
	p->values = 1 + roll(3);
	for (i = 0; i < 3; i++)
		p->value[i] = 1 + roll(4);
	p->count = p->kind == COMPOUND ? 2 + roll(2) : 0;
	for (i = 0; i < p->count; i++)
		p->inner[i] = make_pred(depth - 1);
	return p;
}

/* shared: another node has what is inside. */
static void
free_pred(struct pred *p, bool shared)
{
	unsigned i;

	for (i = 0; !shared && i < p->count; i++)
		free_pred(p->inner[i], false);
	free(p);
}

static struct node *
make_node(unsigned depth, int *score)
{
	struct node *n = calloc(1, sizeof *n);
	unsigned i;

	n->pred = make_pred(2);
	n->score = (*score)++;
	n->count = depth ? roll(4) : 0;
	for (i = 0; i < n->count; i++)
		n->child[i] = make_node(depth - 1, score);
	n->preferred = n->count ? roll(n->count) : 0;
	if (n->count == 2 && roll(3) == 0) { /* as binary trees have them */
		struct pred *a = n->child[0]->pred, *b = n->child[1]->pred;

		for (i = 0; i < b->count; i++)
			free_pred(b->inner[i], false);
		*b = *a;
		n->child[1]->shares = true;
		if (a->kind == SIMPLE)
			b->op = a->op == 0 ? 3 : a->op == 1 ? 2 : a->op == 2 ? 1 : a->op == 3 ? 0 : a->op ^ 1;
		else if (a->kind == SET)
			b->op = !a->op;
	}
	return n;
}

static void
put_pred(struct buf *b, const struct pred *p)
{
	unsigned i;

	if (p->kind == ALWAYS) {
		buf_text(b, "<True/>");
	} else if (p->kind == SIMPLE) {
		buf_printf(b, "<SimplePredicate field='%s' operator='%s'", names[p->field], ops[p->op]);
		if (p->op < 6)
			buf_printf(b, " value='%s'", grid[p->field][p->value[0]]);
		buf_text(b, "/>");
	} else if (p->kind == SET) {
		buf_printf(b, "<SimpleSetPredicate field='%s' booleanOperator='%s'><Array>", names[p->field],
		           p->op ? "isNotIn" : "isIn");
		for (i = 0; i < p->values; i++)
			buf_printf(b, " %s", grid[p->field][p->value[i]]);
		buf_text(b, "</Array></SimpleSetPredicate>");
	} else {
		buf_printf(b, "<CompoundPredicate booleanOperator='%s'>", joins[p->op]);
		for (i = 0; i < p->count; i++)
			put_pred(b, p->inner[i]);
		buf_text(b, "</CompoundPredicate>");
	}
}

static void
put_node(struct buf *b, const struct node *n)
{
	unsigned i;

	buf_printf(b, "<Node id='n%d' score='%d'", n->score, n->score);
	if (n->count)
		buf_printf(b, " defaultChild='n%d'", n->child[n->preferred]->score);
	buf_text(b, ">\n");
	put_pred(b, n->pred);
	for (i = 0; i < n->count; i++)
		put_node(b, n->child[i]);
	buf_text(b, "</Node>");
}

static enum truth
compare(const struct pred *p, unsigned at, unsigned with)
{
	const char *x = grid[p->field][at], *y = grid[p->field][with];
	double a = strtod(x, NULL), b = strtod(y, NULL);

	switch (p->op) {
	case 0: return a < b;
	case 1: return a <= b;
	case 2: return a > b;
	case 3: return a >= b;
	case 4: return strcmp(x, y) == 0;
	default: return strcmp(x, y) != 0;
	}
}

static enum truth
ask(const struct pred *p, const unsigned *row)
{
	unsigned i, at = row[p->field];
	enum truth t, all;

	if (p->kind == ALWAYS)
		return TRUE_;
	if (p->kind == SIMPLE && p->op >= 6)
		return (p->op == 6) == (at == 0);
	if (p->kind != COMPOUND && at == 0)
		return UNKNOWN;
	if (p->kind == SIMPLE)
		return compare(p, at, p->value[0]);
	if (p->kind == SET) {
		for (i = 0; i < p->values && p->value[i] != at; i++)
			;
		return (i < p->values) != (p->op == 1);
	}
	all = ask(p->inner[0], row);
	for (i = 1; i < p->count; i++) {
		t = ask(p->inner[i], row);
		if (p->op == 3)
			all = all == UNKNOWN ? t : all;
		else if (p->op == 0)
			all = all == FALSE_ || t == FALSE_ ? FALSE_ : all == UNKNOWN || t == UNKNOWN ? UNKNOWN : TRUE_;
		else if (p->op == 1)
			all = all == TRUE_ || t == TRUE_ ? TRUE_ : all == UNKNOWN || t == UNKNOWN ? UNKNOWN : FALSE_;
		else
			all = all == UNKNOWN || t == UNKNOWN ? UNKNOWN : all != t;
	}
	return all;
}

/* The score of the node that a row reaches, -1 without one. */
static int
follow(const struct node *n, const unsigned *row, unsigned strategy, bool last)
{
	unsigned i;

	if (n->count == 0)
		return n->score;
	for (i = 0; i < n->count; i++) {
		enum truth t = ask(n->child[i]->pred, row);

		if (t == TRUE_)
			return follow(n->child[i], row, strategy, last);
		if (t == UNKNOWN && strategy == 1)
			return n->score;
		if (t == UNKNOWN && strategy == 2)
			return -1;
		if (t == UNKNOWN && strategy == 3)
			return follow(n->child[n->preferred], row, strategy, last);
	}
	return last ? n->score : -1;
}

static void
free_node(struct node *n)
{
	unsigned i;

	for (i = 0; i < n->count; i++)
		free_node(n->child[i]);
	free_pred(n->pred, n->shares);
	free(n);
}

/* All rows of the grid; the number that differ. */
static unsigned
differences(struct predictor *m, const struct node *root, unsigned strategy, bool last)
{
	unsigned i, wrong = 0, row[4];
	char line[80], got[640], want[16];

	for (i = 0; i < 625; i++) {
		int score;

		row[0] = i % 5, row[1] = i / 5 % 5, row[2] = i / 25 % 5, row[3] = i / 125;
		snprintf(line, sizeof line, "%s,%s,%s,%s", grid[0][row[0]], grid[1][row[1]], grid[2][row[2]], grid[3][row[3]]);
		score = follow(root, row, strategy, last);
		snprintf(want, sizeof want, "%d", score);
		say(m, NULL, line, got, sizeof got);
		if (strcmp(got, score < 0 ? "nan" : want) != 0 && wrong++ == 0)
			printf("# %s: %s, not %s\n", line, got, want);
	}
	return wrong;
}

static void
test_definition(void)
{
	unsigned i, wrong = 0, read = 0, all = 160;
	struct err e;

	for (i = 0; i < all; i++) {
		struct buf b = { 0 };
		struct predictor m;
		int score = 0;
		unsigned strategy = roll(4);
		bool last = roll(2), good;
		struct node *root = make_node(3, &score);

		root->pred->kind = ALWAYS;
		buf_printf(&b, HEAD "<DataDictionary><DataField name='a' dataType='double'/><DataField name='b' dataType='float'/>"
		           "<DataField name='c' dataType='string'/><DataField name='k' dataType='integer'/></DataDictionary>"
		           "<TreeModel functionName='regression' missingValueStrategy='%s' noTrueChildStrategy='%s'><MiningSchema>"
		           "<MiningField name='a'/><MiningField name='b'/><MiningField name='c'/><MiningField name='k'/>"
		           "</MiningSchema>", strategies[strategy], last ? "returnLastPrediction" : "returnNullPrediction");
		put_node(&b, root);
		buf_printf(&b, "</TreeModel>%*s</PMML>", 100000, ""); /* room for copies of what several ways lead to */
		e = (struct err)ERR_INIT;
		good = read_model(&m, (const char *)b.p, b.n, &e) == 0;
		read += good;
		if (!good)
			printf("# %s: %s\n", e.object, e.fact);
		if (good && differences(&m, root, strategy, last)) {
			wrong++;
			printf("# strategy %s\n", strategies[strategy]);
		}
		predictor_free(&m);
		buf_free(&b);
		free_node(root);
	}
	test_ok(wrong == 0 && read + 8 > all, "%u of %u random trees: every row as the definition says", read, all);
}

/* ---- files with what they predict ---- */

static bool
close_to(const char *got, const char *want)
{
	double a = strtod(got, NULL), b = strtod(want, NULL);

	if (strcmp(got, want) == 0)
		return true;
	return (strchr("-.0123456789", *want) && *want && fabs(a - b) <= 1e-6 * fmax(1, fabs(b)));
}

/* A row: the prediction, and the probabilities behind it. */
static bool
same_row(struct predictor *m, const char *header, const char *line, char *want)
{
	double scores[16], linked[64];
	char got[640], *next = strtok(want, ",");
	struct err e = ERR_INIT;
	size_t k;

	say(m, header, line, got, sizeof got);
	if (!next || !close_to(got, next))
		return false;
	next = strtok(NULL, ",");
	if (!next)
		return true;
	if (compute(m, header, line, scores, &e) < 0)
		return false;
	predict_link(m, scores, linked);
	for (k = 0; k < predict_columns(m) && next; k++, next = strtok(NULL, ",")) {
		snprintf(got, sizeof got, "%.17g", linked[k]);
		if (!close_to(got, next))
			return false;
	}
	return k == predict_columns(m) && !next;
}

static void
test_file(const char *name)
{
	struct buf document = { 0 }, rows = { 0 }, out = { 0 };
	struct predictor m = { .covers = true };
	struct err e = ERR_INIT;
	unsigned n = 0, good = 0;
	char *r, *o, *line, *want, *header;

	if (recorded_read(&document, FOLDER "%s.pmml", name) < 0 || recorded_read(&rows, FOLDER "%s.csv", name) < 0 ||
	    recorded_read(&out, FOLDER "%s.out", name) < 0 ||
	    read_model(&m, (const char *)document.p, document.n, &e) < 0) {
		test_ok(0, "%s: %s: %s", name, e.object, e.fact);
	} else {
		r = (char *)rows.p;
		o = (char *)out.p;
		header = recorded_line(&r);
		while ((line = recorded_line(&r)) && (want = recorded_line(&o)) && ++n)
			good += same_row(&m, header, line, want);
		test_ok(n >= 3 && good == n && !recorded_line(&o), "%s: %u of %u rows as recorded", name, good, n);
	}
	predictor_free(&m);
	buf_free(&document);
	buf_free(&rows);
	buf_free(&out);
}

/* ---- what is refused ---- */

#define FIELDS "<DataDictionary><DataField name='a' dataType='double'/><DataField name='c' dataType='string'>" \
	"<Value value='red'/></DataField></DataDictionary>"
#define SCHEMA "<MiningSchema><MiningField name='a'/><MiningField name='c'/></MiningSchema>"
#define TREE(ATTRIBUTES, INSIDE) HEAD FIELDS "<TreeModel functionName='regression' " ATTRIBUTES ">" SCHEMA INSIDE \
	"</TreeModel></PMML>"
#define DERIVED(INSIDE) HEAD FIELDS "<TransformationDictionary>" INSIDE "</TransformationDictionary><TreeModel " \
	"functionName='regression'>" SCHEMA "<Node score='1'><True/><Node score='2'><SimplePredicate field='d' " \
	"operator='lessThan' value='1'/></Node></Node></TreeModel></PMML>"

static const struct {
	const char *text, *fact;
} refused[] = {
	{ "<PMML version='2.1'/>", "is PMML 2.1, and 3.0 to 4.4 are read" },
	{ HEAD "</PMML>", "the document has no model" },
	{ HEAD FIELDS "<NeuralNetwork>" SCHEMA "</NeuralNetwork></PMML>", "NeuralNetwork is not read" },
	{ "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><PMML version='4.4'>&b;</PMML>", "the document type declares" },
	{ "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><PMML version='4.4'>&a;</PMML>", "the document type declares" },
	{ "<!DOCTYPE x SYSTEM 'http://localhost/x.dtd'><PMML version='4.4'>&a;</PMML>", "the entity a is not declared" },
	{ HEAD "<a></b></PMML>", "mismatched tag" },
	{ HEAD, "no element found" },
	{ TREE("", ""), "TreeModel has no Node" },
	{ TREE("", "<Node score='1'/>"), "TreeModel has no Node, or its Node has no predicate" },
	{ TREE("", "<Node score='x'><True/></Node>"), "which is not a number" },
	{ TREE("", "<Node><True/></Node>"), "which is not a number" },
	{ TREE("missingValueStrategy='odd'", "<Node score='1'><True/></Node>"), "the strategy odd is not known" },
	{ TREE("", "<Node score='1'><SimplePredicate field='z' operator='equal' value='1'/></Node>"),
	  "asks for the field z, which is not an input" },
	{ TREE("", "<Node score='1'><SimplePredicate field='a' operator='like' value='1'/></Node>"),
	  "the operator like is not known" },
	{ TREE("", "<Node score='1'><SimplePredicate field='c' operator='lessThan' value='red'/></Node>"),
	  "the operator lessThan compares texts" },
	{ TREE("missingValueStrategy='defaultChild'", "<Node score='1' defaultChild='9'><True/><Node id='2' score='1'>"
	       "<SimplePredicate field='a' operator='lessThan' value='1'/></Node></Node>"), "has no defaultChild" },
	{ DERIVED("<DerivedField name='d' dataType='double'><FieldRef field='e'/></DerivedField><DerivedField name='e' "
	          "dataType='double'><Apply function='ln'><FieldRef field='d'/></Apply></DerivedField>"),
	  "the field d is derived from itself" },
	{ DERIVED("<DerivedField name='d' dataType='double'><Apply function='soundex'><FieldRef field='a'/></Apply>"
	          "</DerivedField>"), "the function soundex is not known here" },
	{ DERIVED("<DerivedField name='d' dataType='double'><Apply function='ln'/></DerivedField>"), "has 0 arguments" },
	{ DERIVED("<DerivedField name='d' dataType='double'><FieldRef field='c'/></DerivedField>"),
	  "the texts of c are used as numbers" },
	{ DERIVED("<DerivedField name='d' dataType='date'><FieldRef field='a'/></DerivedField>"),
	  "fields of the type date are not read" },
};

static void
test_refused(void)
{
	size_t i;

	for (i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct err e = ERR_INIT;
		struct predictor m = { .covers = true };
		int r = pmml_read(&m, (const uint8_t *)refused[i].text, strlen(refused[i].text), "m.pmml", &e);

		test_ok(r < 0 && strstr(e.fact, refused[i].fact), "refused: %s (%s)", refused[i].fact, e.fact);
		predictor_free(&m);
	}
}

/* A document of n bytes or so whose size grows faster somewhere else. */
static void
refuse_made(const char *what, const char *fact, const char *head, const char *each, unsigned n, const char *tail)
{
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	struct predictor m = { .covers = true };
	unsigned i;

	buf_text(&b, head);
	for (i = 0; i < n; i++)
		buf_printf(&b, each, i);
	buf_text(&b, tail);
	test_ok(pmml_read(&m, b.p, b.n, "m.pmml", &e) < 0 && strstr(e.fact, fact), "%s: %s", what, e.fact);
	predictor_free(&m);
	buf_free(&b);
}

static void
test_limits(void)
{
	refuse_made("depth", "elements inside each other", HEAD, "<Extension>", 2000, "");
	refuse_made("names", "names of elements and attributes", HEAD, "<n%u/>", 5000, "</PMML>");
}

int
main(void)
{
	static const char *const files[] = { "tree_value", "tree_class", "forest_value", "forest_class", "forest_weighted",
		"forest_votes", "boosted_value", "boosted_two", "boosted_three", "logistic", "multinomial", "linear", "bayes",
		"clusters", "xgboost_value", "xgboost_two", "xgboost_three", "golf_last", "golf_none", "derived", "treated",
		"terms", "link_logit", "link_probit", "link_exp", "link_cloglog", "link_loglog", "link_cauchit",
		"link_softmax", "link_probit_two", "link_simplemax", "majorityvote", "weightedmajorityvote",
		"select_first", "sum_some", "bayes_words" };
	size_t i;

	test_definition();
	for (i = 0; i < sizeof files / sizeof *files; i++)
		test_file(files[i]);
	test_refused();
	test_limits();
	return test_done();
}
