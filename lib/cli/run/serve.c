#include "cli/run/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/prompt.h"
#include "core/num.h"
#include "generate/generate.h"

#define PIECE (1u << 16)  /* bytes per read */
#define BESIDE (1u << 20) /* bytes of a request beside the longest prompt that fits, and of a prompt that
                           * a tokenizer may drop */
#define VALUES 4096       /* of a request beside its tokens */

/* What a request has at most. More cannot be answered, and would only take memory. */
struct bounds {
	size_t positions;         /* tokens that there is room for */
	size_t prompt, line;      /* bytes */
};

/* One request and its answer. */
struct answer {
	const struct serve *s;
	const struct bounds *most;
	struct request request;
	struct buf text, ids;      /* of the answer so far */
	bool lost;                 /* the output has failed */
};

/* ---- lines ---- */

/* Begins an object with the name of the request. */
static void
begin(const struct answer *a, struct buf *b)
{
	buf_text(b, "{");
	if (!a->request.name)
		return;
	buf_text(b, "\"request\":");
	json_show(a->request.name, b);
	buf_text(b, ",");
}

static int
put(struct answer *a, struct buf *b, struct err *e)
{
	int r = !buf_ok(b) ? err_memory(e)
	      : out_put(a->s->out, b->p, b->n) < 0 || out_flush(a->s->out) < 0 ? -1 : 0;

	a->lost = a->lost || (r < 0 && buf_ok(b));
	buf_free(b);
	return r;
}

/* Receives a token. */
static int
take_token(void *ctx, const struct generated *g, struct err *e)
{
	struct answer *a = ctx;
	struct buf b = { 0 };

	buf_put(&a->text, g->text, g->n);
	buf_printf(&a->ids, "%s%" PRIu32, a->ids.n ? "," : "", g->id);
	if (!buf_ok(&a->text) || !buf_ok(&a->ids))
		return err_memory(e);
	if (!a->request.stream)
		return 0;
	begin(a, &b);
	buf_printf(&b, "\"id\":%" PRIu32 ",", g->id);
	if (a->s->tokenizer) {
		buf_text(&b, "\"text\":");
		json_show_text(&b, g->text ? g->text : "", g->n);
		buf_text(&b, ",");
	}
	buf_printf(&b, "\"logprob\":%.9g}\n", g->logprob);
	return put(a, &b, e);
}

static int
put_answer(struct answer *a, const struct generate_result *r, struct err *e)
{
	static const char *const ends[] = {
		[GENERATE_COUNT] = "count", [GENERATE_END_OF_TEXT] = "end_of_text",
		[GENERATE_STOP] = "stop", [GENERATE_CONTEXT] = "context",
		[GENERATE_INTERRUPTED] = "interrupted"
	};
	struct buf b = { 0 };

	begin(a, &b);
	if (a->s->tokenizer) {
		buf_text(&b, "\"text\":");
		json_show_text(&b, a->text.p ? (const char *)a->text.p : "", a->text.n);
		buf_text(&b, ",");
	}
	buf_text(&b, "\"tokens\":[");
	buf_put(&b, a->ids.p, a->ids.n);
	buf_printf(&b, "],\"prompt_tokens\":%" PRIu64 ",\"end\":\"%s\"}\n", r->prompt, ends[r->end]);
	return put(a, &b, e);
}

static int
put_error(struct answer *a, const struct err *why, struct err *e)
{
	char number[8] = "";
	struct buf b = { 0 }, text = { 0 };

	if (why->code <= ERR_MEMORY)
		snprintf(number, sizeof number, "E%03d", (int)why->code);
	begin(a, &b);
	buf_printf(&b, "\"error\":\"%s\",\"message\":", *number ? number
	           : why->code == ERR_USAGE ? "usage" : "invalid");
	if (*why->object)
		buf_printf(&text, "%s: ", why->object);
	buf_text(&text, why->fact);
	json_show_text(&b, text.p ? (const char *)text.p : "", text.n);
	if (*why->hint) {
		buf_text(&b, ",\"hint\":");
		json_show_text(&b, why->hint, strlen(why->hint));
	}
	buf_text(&b, "}\n");
	buf_free(&text);
	return put(a, &b, e);
}

/* Answers with the error instead, after freeing what was generated. */
static int
put_failure(struct answer *a, const struct err *why, struct err *e)
{
	struct err full = ERR_INIT;

	buf_free(&a->text);
	buf_free(&a->ids);
	if (put_error(a, why, &full) == 0)
		return 0;
	if (a->lost)
		return -1;
	/* No memory for a line with the name of the request: it goes without. */
	request_free(&a->request);
	return put_error(a, why, e);
}

/* ---- requests ---- */

/* BESIDE bytes, and n for each of the tokens; at most SERVE_LINE. */
static size_t
bytes_for(size_t positions, uint64_t n)
{
	uint64_t bytes;

	return num_mul(positions, n, &bytes) < 0 || bytes > SERVE_LINE - BESIDE ? SERVE_LINE
	       : (size_t)bytes + BESIDE;
}

/* In JSON a byte of text takes up to 6, an id 11. */
static struct bounds
bounds_of(const struct serve *s)
{
	size_t positions = infer_context(sequence_model(s->sequence));
	size_t longest = s->tokenizer ? tokenizer_longest(s->tokenizer) : 0;

	return (struct bounds){ positions, bytes_for(positions, longest),
		bytes_for(positions, longest < 2 ? 12 : 6 * (uint64_t)longest) };
}

/* Each value of an array or object has a bracket or a comma in front. */
static size_t
count_values(const uint8_t *p, size_t n)
{
	bool text = false;
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		if (p[i] == '"')
			text = !text;
		else if (text)
			i += p[i] == '\\';
		else
			count += p[i] == ',' || p[i] == '[' || p[i] == '{';
	return count;
}

static int
read_request(struct answer *a, const uint8_t *line, size_t n, struct err *e)
{
	if (count_values(line, n) > a->most->positions + VALUES)
		return err_set(e, ERR_MEMORY, "the request", "has more than %zu values",
		               a->most->positions + VALUES);
	return request_read(&a->request, line, n, e);
}

static int
prove_prompt(const struct answer *a, struct err *e)
{
	size_t n = strlen(a->request.prompt);

	if (n <= a->most->prompt)
		return 0;
	err_set(e, ERR_INVALID, NULL, "the prompt has %zu bytes, and %zu are the most for %zu tokens", n,
	        a->most->prompt, a->most->positions);
	return err_hint(e, "-c N makes room for N");
}

static int
encode(struct answer *a, struct err *e)
{
	struct buf prompt = { 0 };
	int r;

	if (!a->request.prompt)
		return 0;
	if (!a->s->tokenizer)
		return err_set(e, ERR_USAGE, "prompt", "the model has no vocabulary: ask with tokens");
	if (prove_prompt(a, e) < 0)
		return -1;
	buf_text(&prompt, a->request.prompt);
	r = buf_ok(&prompt) ? prompt_encode(a->s->tokenizer, &prompt, &a->request.tokens, e)
	                    : err_memory(e);
	buf_free(&prompt);
	return r;
}

static int
generate(struct answer *a, struct generate_result *r, struct err *e)
{
	const struct request *q = &a->request;
	const struct generate g = {
		.sequence = a->s->sequence, .tokenizer = a->s->tokenizer, .sampler = q->sampler,
		.stops = q->stops, .stop_count = q->stop_count, .count = q->count,
		.interrupted = a->s->interrupted, .token = take_token, .ctx = a
	};

	if (q->stop_count && !a->s->tokenizer)
		return err_set(e, ERR_USAGE, "stop", "the model has no vocabulary");
	return generate_run(&g, &q->tokens, r, e);
}

/* Answers a line. -1 if the answer cannot be written. */
static int
serve_line(const struct serve *s, const struct bounds *most, const uint8_t *line, size_t n,
           const struct err *before, struct err *e)
{
	struct answer a = { .s = s, .most = most, .request = s->defaults };
	struct generate_result result;
	struct err why = *before;
	int r = -1;

	if (why.code == ERR_NONE && read_request(&a, line, n, &why) == 0 &&
	    encode(&a, &why) == 0 && generate(&a, &result, &why) == 0)
		r = put_answer(&a, &result, &why);
	if (r < 0 && !a.lost)
		r = put_failure(&a, &why, e);
	buf_free(&a.text);
	buf_free(&a.ids);
	request_free(&a.request);
	return r;
}

/* ---- the input ---- */

struct input {
	struct bounds most;
	struct buf b;              /* bytes that were read and not used */
	size_t searched;           /* of them, those that are not an end of a line */
	bool skips;                /* the line is too long and is answered at its end */
	bool ended;
};

static bool
is_blank(const uint8_t *p, size_t n)
{
	while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r')) {
		p++;
		n--;
	}
	return n == 0;
}

/* Reads more. -1 with e filled; the end of the input and a signal are not errors. */
static int
fill(const struct serve *s, struct input *in, struct err *e)
{
	uint8_t *room = buf_room(&in->b, PIECE);
	ssize_t n;

	if (!room)
		return err_memory(e);
	n = read(s->in, room, PIECE);
	if (n < 0 && errno != EINTR)
		return err_errno(e, "<stdin>", "cannot be read");
	in->ended = n == 0;
	in->b.n += n > 0 ? (size_t)n : 0;
	return 0;
}

/* Answers a line of n bytes. */
static int
take_line(const struct serve *s, struct input *in, const uint8_t *p, size_t n, struct err *e)
{
	struct err before = ERR_INIT;

	if (in->skips || n > in->most.line)
		err_set(&before, ERR_MEMORY, "the request", "is longer than %zu bytes",
		        in->most.line);
	in->skips = false;
	return before.code == ERR_NONE && is_blank(p, n) ? 0
	       : serve_line(s, &in->most, p, n, &before, e);
}

/* Answers the complete lines of the input, and keeps what follows them. */
static int
take_lines(const struct serve *s, struct input *in, struct err *e)
{
	const uint8_t *p = in->b.p, *end = p + in->b.n, *stop, *from = p + in->searched;

	while (from < end && !*s->interrupted && (stop = memchr(from, '\n', (size_t)(end - from)))) {
		if (take_line(s, in, p, (size_t)(stop - p), e) < 0)
			return -1;
		from = p = stop + 1;
	}
	in->b.n = in->searched = (size_t)(end - p);
	if (in->b.n > in->most.line) {
		in->skips = true;
		in->b.n = in->searched = 0;
	}
	if (in->b.n > 0)
		memmove(in->b.p, p, in->b.n);
	return 0;
}

int
serve_lines(const struct serve *s, struct err *e)
{
	struct input in = { .most = bounds_of(s) };
	int r = 0;

	while (r == 0 && !in.ended && !*s->interrupted) {
		r = fill(s, &in, e);
		if (r == 0)
			r = take_lines(s, &in, e);
	}
	if (r == 0 && in.ended && (in.b.n > 0 || in.skips))
		r = take_line(s, &in, in.b.p, in.b.n, e);
	buf_free(&in.b);
	return r;
}
