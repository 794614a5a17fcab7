#include "predict/pmml/pmml.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/readers.h"

bool
pmml_probe(const uint8_t *p, size_t n)
{
	static const uint8_t wide[] = { 'P', 0, 'M', 0, 'M', 0, 'L' };
	size_t i = n > 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;

	if (n > 3 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
		return memmem(p, n, wide, sizeof wide) != NULL;
	while (i < n && strchr(" \t\r\n", p[i]) && p[i])
		i++;
	return i < n && p[i] == '<' && memmem(p + i, n - i, "<PMML", 5) != NULL;
}

/* ---- the kind of model ---- */

static const struct {
	const char *name;
	int (*read)(struct pmml *p, uint32_t model);
} models[] = {
	{ "TreeModel", pmml_read_tree }, { "MiningModel", pmml_read_mining },
	{ "RegressionModel", pmml_read_regression }, { "ClusteringModel", pmml_read_clustering },
	{ "NaiveBayesModel", pmml_read_bayes },
};

int
pmml_read_model(struct pmml *p, uint32_t model)
{
	size_t i;

	for (i = 0; i < sizeof models / sizeof *models; i++)
		if (xml_is(&p->x, model, models[i].name))
			return models[i].read(p, model);
	return pmml_refuse(p, model, "%.60s is not read; only trees, sums and chains of them, regressions, clusters and "
	                   "naive Bayes are", xml_name(&p->x, model));
}

/* The first model of the document. */
static uint32_t
find_model(struct pmml *p, uint32_t root)
{
	static const char *const others[] = { "Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary",
		"Extension" };
	uint32_t c;
	size_t i;

	for (c = xml_child(&p->x, root, NULL); c; c = xml_next(&p->x, c, NULL)) {
		for (i = 0; i < sizeof others / sizeof *others && !xml_is(&p->x, c, others[i]); i++)
			;
		if (i == sizeof others / sizeof *others)
			return c;
	}
	pmml_wrong(p, root, "the document has no model");
	return XML_NONE;
}

static int
check_version(struct pmml *p, uint32_t root)
{
	const char *version = xml_attr(&p->x, root, "version");

	if (!xml_is(&p->x, root, "PMML") || !version)
		return pmml_wrong(p, root, "is not a document of PMML");
	if ((version[0] != '3' && version[0] != '4') || version[1] != '.')
		return err_set(p->e, ERR_VERSION, p->where, "is PMML %.20s, and 3.0 to 4.4 are read", version);
	return 0;
}

/* ---- from the parts to a predictor ---- */

static int
put_labels(struct pmml *p)
{
	const struct pmml_field *f = p->target == UINT32_MAX ? NULL : &p->fields[p->target];
	struct predictor *m = p->m;
	size_t i;

	if (m->task != PREDICT_CLASSES || m->labels)
		return 0;
	for (i = 0; f && i < f->word_count && i < m->outputs; i++)
		if (predictor_add_label(m, f->words[i], strlen(f->words[i]), p->e) < 0)
			return -1;
	return 0;
}

static int
put_words_of(struct predict_words *w, const struct pmml_field *f, struct err *e)
{
	/* A list must not be empty; no row has a line end in a text. */
	static const char *const none[] = { "\n" };
	const char *const *list = f->word_count ? f->words : none;
	size_t i, n = f->word_count ? f->word_count : 1;

	w->unknown = f->unknown;
	w->texts = mem_array(n, sizeof *w->texts);
	if (!w->texts)
		return err_memory(e);
	for (i = 0; i < n; i++, w->count++)
		if (!(w->texts[i] = mem_text(list[i], strlen(list[i]))))
			return err_memory(e);
	return 0;
}

/* The words of inputs that are texts; a column that nothing uses may hold anything. */
static int
put_words(struct pmml *p)
{
	struct predictor *m = p->m;
	bool any = false;
	size_t i;

	for (i = 0; i < p->field_count; i++)
		any |= p->fields[i].base == i && p->fields[i].slot < p->inputs &&
		       (p->fields[i].text || !p->fields[i].used);
	if (!any)
		return 0;
	m->words = mem_array(p->inputs, sizeof *m->words);
	if (!m->words)
		return err_memory(p->e);
	m->word_count = p->inputs;
	for (i = 0; i < p->field_count; i++) {
		const struct pmml_field *f = &p->fields[i];

		if (f->base != i || f->slot >= p->inputs)
			continue;
		if (!f->used)
			m->words[f->slot].unused = true;
		else if (f->text && put_words_of(&m->words[f->slot], f, p->e) < 0)
			return -1;
	}
	return 0;
}

size_t
pmml_slots(const struct pmml *p)
{
	return p->inputs + (p->derived ? pmml_derived_count(p) : 0);
}

static int
finish(struct pmml *p)
{
	struct predictor *m = p->m;

	m->features = pmml_slots(p);
	m->forest.features = m->features;
	m->absent = ABSENT_MISSING;
	m->rounds = p->uses_single && !p->uses_double;
	if (m->outputs > PREDICT_OUTPUTS)
		return err_set(p->e, ERR_FORMAT, p->where, "the model has %zu outputs", m->outputs);
	return put_labels(p) < 0 || put_words(p) < 0 ? -1 : pmml_put_derived(p);
}

static void
close_document(struct pmml *p)
{
	size_t i;

	for (i = 0; i < p->field_count; i++)
		free(p->fields[i].words);
	for (i = 0; i < p->kept_count; i++)
		free(p->kept[i]);
	free(p->fields);
	free(p->kept);
	free(p->table);
	pmml_free_derived(p);
}

static int
read_document(struct pmml *p)
{
	uint32_t model = XML_NONE;

	if (check_version(p, 1) < 0 || !(model = find_model(p, 1)))
		return -1;
	p->top = model;
	if (pmml_says(p, model, "isScorable", "false"))
		return pmml_refuse(p, model, "the model says that it is not scorable");
	if (pmml_read_fields(p, 1, model) < 0 || pmml_read_model(p, model) < 0)
		return -1;
	return finish(p);
}

int
pmml_read(struct predictor *m, const uint8_t *bytes, size_t n, const char *where, struct err *e)
{
	struct pmml p = { .m = m, .where = where, .e = e };
	bool covers = m->covers, mixed = false;
	struct xml x = { 0 };
	int r = xml_read(&x, bytes, n, where, e);

	while (r == 0) {
		p = (struct pmml){ .m = m, .where = where, .e = e, .x = x, .mixed = mixed, .most = 64 * (uint64_t)n + 4096 };
		m->forest.most = n;
		r = read_document(&p);
		mixed = !p.mixed && p.uses_single && p.uses_double;
		close_document(&p);
		if (r < 0 || !mixed)
			break;
		predictor_free(m); /* fields of both precisions: each is rounded by itself */
		m->covers = covers;
	}
	xml_free(&x);
	return r;
}
