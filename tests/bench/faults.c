/* faults MODEL.gguf TEXT CONTEXT LIMIT: makes faults in one tensor at a time, measures by how
 * much perplexity rises (apr-run --perplexity; APR_BIN), and whether values_judge finds
 * them. tests/bench/FAULTS.md has the table.
 *
 * Faults: the tensor is scaled by 11, transposed (the shape stays), zeroed, exchanged with that
 * of the next block (in both places), shifted by one byte, or permuted within each head: rows
 * of queries and keys between the order of halves and that of pairs, rows of values and
 * columns of the attention output reversed. Values of quantized tensors are decoded, changed and
 * encoded again; a shift changes bytes.
 *
 * Prints a line for each fault: model, fault, tensor, ratio of perplexities, and the rule that
 * found it, or "-". A last line counts, for faults that raise perplexity by more than 5 %.
 * LIMIT: only every LIMIT-th tensor, from 1.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/survey.h"
#include "check/values.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/format.h"
#include "kernels/kernel.h"
#include "kernels/level.h"

#define TOOL 4096

enum fault { SCALE, TRANSPOSE, ZERO, SWAP, SHIFT, PERMUTE, FAULTS };
static const char *const names[FAULTS] = { "scaled", "transposed", "zeroed", "swapped",
	"shifted", "permuted" };

struct place {
	const struct tensor *t;
	const struct match *m;
	uint64_t offset;
};

static uint8_t *good, *bad; /* the file */
static size_t bytes;
static char path[64], command[TOOL];
static size_t matter[FAULTS], found[FAULTS], all_found, all;
static uint64_t heads, kv_heads;

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "faults: %s\n", what);
	exit(1);
}

/* ---- models ---- */

static void
read_model(const char *name)
{
	FILE *f = fopen(name, "rb");

	must(f && fseek(f, 0, SEEK_END) == 0, "the model cannot be read");
	bytes = (size_t)ftell(f);
	good = malloc(bytes);
	bad = malloc(bytes);
	rewind(f);
	must(good && bad && fread(good, 1, bytes, f) == bytes, "the model cannot be read");
	fclose(f);
}

static void
write_model(const uint8_t *p)
{
	FILE *f = fopen(path, "wb");

	must(f && fwrite(p, 1, bytes, f) == bytes && fclose(f) == 0, "no room for a model");
}

/* Infinite if it is not a number. */
static double
perplexity(void)
{
	char line[256] = "";
	double v = INFINITY;
	FILE *p = popen(command, "r");

	must(p, "apr-run cannot be started");
	while (fgets(line, sizeof line, p))
		if (strncmp(line, "perplexity ", 11) == 0)
			v = atof(line + 11);
	pclose(p);
	return isfinite(v) && v > 0 ? v : INFINITY;
}

static struct source *
open_model(const char *name, const struct format **format, int *held)
{
	struct format_options o = { 0 };
	struct err e = ERR_INIT;
	struct source *s = format_open_path(name, &o, NULL, format, held, &e);

	must(s, "the model cannot be opened");
	return s;
}

/* ---- faults ---- */

static void
decode(const struct place *p, float *v)
{
	kernel_decode(tensor_type(p->t), NULL, good + p->offset, v, (size_t)tensor_items(p->t));
}

static void
encode(const struct place *p, const float *v)
{
	kernel_for(tensor_type(p->t))->encode(v, bad + p->offset, (size_t)tensor_items(p->t));
}

static void
transpose(const float *v, float *to, size_t rows, size_t columns)
{
	size_t r, c;

	for (r = 0; r < rows; r++)
		for (c = 0; c < columns; c++)
			to[c * rows + r] = v[r * columns + c];
}

/* Row or column i of a head of n comes from this one. Rows of queries and keys: from the order
 * of pairs to that of halves. */
static size_t
permuted(size_t i, size_t n, bool rotary)
{
	return rotary ? (i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1) : n - 1 - i;
}

static bool
permute(const struct place *p, const float *v, float *to)
{
	enum role role = p->m->rule->role;
	size_t rows = (size_t)tensor_dims(p->t)[0], columns = (size_t)tensor_row(p->t), r, c, n;
	bool rotary = role == ROLE_Q || role == ROLE_K;

	if (role != ROLE_Q && role != ROLE_K && role != ROLE_V && role != ROLE_O)
		return false;
	n = (role == ROLE_O ? columns : rows) / (size_t)(role == ROLE_Q || role == ROLE_O ? heads
	                                                                            : kv_heads);
	for (r = 0; r < rows; r++)
		for (c = 0; c < columns; c++)
			to[r * columns + c] = role == ROLE_O
				? v[r * columns + c / n * n + permuted(c % n, n, false)]
				: v[(r / n * n + permuted(r % n, n, rotary)) * columns + c];
	return true;
}

/* The tensor of the same role in another block, or NULL. */
static const struct place *
partner(const struct place *p, const struct place *other, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (p->m->rule->role == other[i].m->rule->role && p->m->rule->role != ROLES &&
		    p->m->bias == other[i].m->bias && other[i].m->block == p->m->block + 1)
			return &other[i];
	return NULL;
}

/* Writes the fault to bad. False if the tensor cannot have it. */
static bool
make(enum fault fault, const struct place *p, const struct place *places, size_t count)
{
	size_t n = (size_t)tensor_items(p->t), i, size = (size_t)tensor_bytes(p->t);
	float *v = malloc(n * sizeof *v), *to = malloc(n * sizeof *to);
	const struct place *other = partner(p, places, count);
	bool done = true;

	must(v && to, "no memory");
	memcpy(bad, good, bytes);
	decode(p, v);
	switch (fault) {
	case SCALE:
		for (i = 0; i < n; i++)
			to[i] = 11 * v[i];
		break;
	case TRANSPOSE:
		done = tensor_ndim(p->t) == 2;
		if (done)
			transpose(v, to, (size_t)tensor_dims(p->t)[0], (size_t)tensor_row(p->t));
		break;
	case ZERO:
		memset(to, 0, n * sizeof *to);
		break;
	case SWAP:
		done = other != NULL;
		if (done) {
			encode(other, v);
			decode(other, to);
		}
		break;
	case PERMUTE:
		done = permute(p, v, to);
		break;
	default:
		memmove(bad + p->offset, good + p->offset + 1, size - 1);
		bad[p->offset + size - 1] = good[p->offset];
		break;
	}
	if (done && fault != SHIFT)
		encode(p, to);
	free(v);
	free(to);
	return done;
}

/* ---- the judge ---- */

/* The first rule of a finding above INFO, or NULL. */
static const char *
judge(char fact[256])
{
	const struct format *format;
	struct survey s = { .jobs = 2 };
	struct findings f = { 0 };
	struct err e = ERR_INIT;
	int held = -1;
	struct source *source = open_model(path, &format, &held);
	const char *id = NULL;

	must(survey_run(&s, source, &e) == 0 && values_judge(&s, &f, &e) == 0, "no memory");
	findings_sort(&f);
	if (f.count && f.of[0].level > FINDING_INFO) {
		id = f.of[0].rule->id;
		snprintf(fact, 256, "%s: %s", f.of[0].object ? f.of[0].object : "model",
		         f.of[0].fact);
	}
	findings_free(&f);
	survey_free(&s);
	source_close(source);
	if (held >= 0)
		close(held);
	return id;
}

static void
try(const char *model, enum fault fault, const struct place *p, const struct place *places,
    size_t count, double base)
{
	char fact[256] = "";
	const char *id;
	double ratio;

	if (!make(fault, p, places, count))
		return;
	write_model(bad);
	id = judge(fact);
	ratio = perplexity() / base;
	all++;
	all_found += id != NULL;
	if (ratio > 1.05) {
		matter[fault]++;
		found[fault] += id != NULL;
	}
	printf("%s\t%s\t%s\t%.3g\t%s\t%s\n", model, names[fault], tensor_name(p->t), ratio,
	       id ? id : "-", fact);
	fflush(stdout);
}

static const char *
base_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

int
main(int argc, char **argv)
{
	const struct format *format;
	struct survey s = { .jobs = 2 };
	struct err e = ERR_INIT;
	struct place *places;
	struct source *source;
	size_t i, n = 0, step, sum = 0, sum_found = 0;
	enum fault fault;
	char fact[256];
	double base;
	int held = -1;

	must(argc == 5, "usage: faults MODEL.gguf TEXT CONTEXT LIMIT");
	must(level_begin(NULL, NULL, &e) == 0, "no level of the CPU");
	step = (size_t)atoi(argv[4]);
	snprintf(path, sizeof path, "/tmp/faults.%ld.gguf", (long)getpid());
	snprintf(command, sizeof command, "%s/apr-run --perplexity '%s' -c %s '%s' 2>/dev/null",
	         getenv("APR_BIN") ? getenv("APR_BIN") : "bin", argv[2], argv[3], path);
	read_model(argv[1]);
	write_model(good);
	source = open_model(path, &format, &held);
	must(survey_run(&s, source, &e) == 0 && format->reads->tensor_offset, "the model is not GGUF");
	heads = sizes_get(&s.sizes, 'H');
	kv_heads = sizes_get(&s.sizes, 'G');
	places = mem_array(s.count, sizeof *places);
	for (i = 0; i < s.count; i++)
		if (s.tensors[i].known && s.tensors[i].read &&
		    kernel_for(tensor_type(s.tensors[i].t)) &&
		    kernel_for(tensor_type(s.tensors[i].t))->encode)
			places[n++] = (struct place){ s.tensors[i].t, &s.tensors[i].match,
				format->reads->tensor_offset(source, i) };
	must(!judge(fact), fact);
	base = perplexity();
	for (fault = 0; fault < FAULTS; fault++)
		for (i = 0; i < n; i += step ? step : 1)
			try(base_name(argv[1]), fault, &places[i], places, n, base);
	for (fault = 0; fault < FAULTS; fault++) {
		printf("# %s\t%s\t%zu of %zu\n", base_name(argv[1]), names[fault], found[fault],
		       matter[fault]);
		sum += matter[fault];
		sum_found += found[fault];
	}
	printf("# %s\tall\t%zu of %zu with an effect of 5 %%, %zu of %zu in all\n",
	       base_name(argv[1]), sum_found, sum, all_found, all);
	unlink(path);
	return 0;
}
