/* fuzz_train: files that a training reads: models that learn (train/train.h), and checkpoints
 * (distill/checkpoint.h), of any container.
 *
 *     1. A model is opened, or refused with a message that a terminal can show.
 *     2. One that is opened has a loss, a gradient and a step, or a refusal that changes no value;
 *        after a step all values are numbers.
 *     3. A checkpoint is read, or refused. One that is read has numbers only, and squares that are not
 *        negative.
 */
#include <math.h>

#include "distill/checkpoint.h"
#include "load/load.h"
#include "train/train.h"

#include "fuzz.h"

enum { LENGTH = 5, MOST = 200000, LIMIT = 4 << 20 };

static void
check_numbers(const struct train_model *m, const float *x, bool squares)
{
	size_t i;

	for (i = 0; i < m->total; i++)
		must(isfinite(x[i]) && (!squares || x[i] >= 0));
}

/* Whether all values that the model has are numbers of a usual size. */
static bool
is_usual(const struct train_model *m)
{
	size_t i;

	for (i = 0; i < m->total; i++)
		if (!(fabsf(m->value[i]) < 1e6f))
			return false;
	return true;
}

static void
learn(struct train_model *m, const struct train_batch *b)
{
	const struct train_adam adam = TRAIN_ADAM;
	const struct train_goal goal = { .temperature = 1 };
	struct train_loss loss = { 0 }, again = { 0 };
	struct err e = ERR_INIT;
	struct train_work *w = train_work_open(m, 1, LENGTH, 0, 1, LIMIT, &e);
	double norm = 0;
	bool usual = is_usual(m);

	if (!w) {
		must_say(e.code == ERR_INVALID || e.code == ERR_MEMORY, &e);
		return;
	}
	must_say(train_loss(w, b, &goal, &again, &e) == 0 && train_backward(w, b, &goal, &loss, &e) == 0,
	         &e);
	must(loss.counted == LENGTH && memcmp(&loss, &again, sizeof loss) == 0);
	if (train_update(m, &adam, 1, 1, &norm, &e) < 0) {
		must_say(e.code == ERR_INVALID, &e);
		must(is_usual(m) == usual);
	} else if (usual) {
		check_numbers(m, m->value, false);
		check_numbers(m, m->second, true);
	}
	train_work_close(w);
}

static struct source *
opened(struct reader *r, const uint8_t *data, size_t size, struct err *e)
{
	const struct format_options options = { 0 };
	const struct format *format;

	reader_memory(r, data, size, "input", e);
	return format_open(r, &options, NULL, &format, e);
}

static void
as_model(const uint8_t *data, size_t size)
{
	uint32_t tokens[LENGTH], targets[LENGTH];
	const struct train_batch batch = { tokens, targets, 1, LENGTH };
	struct train_model m = { 0 };
	struct load load = { 0 };
	struct err e = ERR_INIT;
	struct reader r;
	struct source *s = opened(&r, data, size, &e);
	size_t i;

	if (s && load_source(&load, s, &e) == 0) {
		if (train_open(&m, &load.weights, 0, &e) < 0) {
			fuzz_refused(&e, true);
		} else if (m.total < MOST) {
			for (i = 0; i < LENGTH; i++) {
				tokens[i] = (uint32_t)(i % m.hyper.vocabulary);
				targets[i] = (uint32_t)((i + 1) % m.hyper.vocabulary);
			}
			learn(&m, &batch);
		}
		train_close(&m);
	}
	source_close(s);
	load_close(&load);
}

static void
as_checkpoint(const uint8_t *data, size_t size)
{
	static const struct train_config config = { .family = "llama", .layers = 1, .width = 4, .heads = 1,
		.ff = 4, .context = 4, .vocabulary = 3, .tied = true };
	static struct train_model m;
	struct err e = ERR_INIT;
	struct reader r;
	struct source *s;
	uint64_t step = 0;

	if (!m.value)
		must_say(train_new(&m, &config, &e) == 0, &e);
	s = opened(&r, data, size, &e);
	if (s && checkpoint_read(&m, "{\"seed\":1}", &step, s, &e) == 0) {
		check_numbers(&m, m.value, false);
		check_numbers(&m, m.first, false);
		check_numbers(&m, m.second, true);
	} else {
		fuzz_refused(&e, true);
	}
	source_close(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_model(data, size);
	as_checkpoint(data, size);
	return 0;
}
