/* The threads of ranges: those that fetch, and the one that shows bytes in order. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/num.h"
#include "hub/ranges_parts.h"

#define TELL (128u << 10) /* bytes after which a reader that waits is woken */

uint8_t *
ranges_bytes(struct ranges *r, const struct piece *p)
{
	return r->window + (size_t)(p - r->pieces) * RANGES_PIECE;
}

void
ranges_drop(struct ranges *r, struct piece *p)
{
	if (p->state == PIECE_LOADING || p->showing) {
		p->dropped = true;
		atomic_store(&p->stop, true);
	} else {
		p->state = PIECE_FREE;
	}
	pthread_cond_broadcast(&r->changed);
}

/* ---- which piece is next ---- */

/* Whether a piece that the reader has passed still has bytes for `seen`, or waits for those
 * before it. If they will never come, the rest of the file is not shown. */
static bool
is_awaited(struct ranges *r, const struct piece *p)
{
	struct ranges_file *f = &r->files[p->file];
	size_t i;

	if (p->showing)
		return true;
	if (f->broken || piece_end(p) <= f->shown)
		return false;
	for (i = 0; i < RANGES_PIECES; i++)
		if (piece_covers(&r->pieces[i], p->file, f->shown) &&
		    r->pieces[i].state != PIECE_FAILED)
			return true;
	f->broken = true;
	return false;
}

/* A piece for new bytes, or NULL. urgent: at the expense of one fetched ahead. */
static struct piece *
vacant(struct ranges *r, bool urgent)
{
	struct piece *last = NULL;
	size_t i;

	for (i = 0; i < RANGES_PIECES; i++)
		if (r->pieces[i].state == PIECE_FREE)
			return &r->pieces[i];
	for (i = 0; i < RANGES_PIECES; i++) {
		struct piece *p = &r->pieces[i];

		if (p->state == PIECE_LOADING || p == r->pinned || p->dropped)
			continue;
		if (p->used && !is_awaited(r, p))
			return p;
		if (!p->used && !p->showing && p->order > 0 && (!last || p->order > last->order))
			last = p;
	}
	if (urgent && last && last->file < r->file_count)
		r->files[last->file].broken |= last->at <= r->files[last->file].shown;
	return urgent ? last : NULL;
}

static void
set_piece(struct piece *p, const struct stretch *s, uint64_t order)
{
	*p = (struct piece){ .state = PIECE_LOADING, .file = s->file, .at = s->at,
		.n = (size_t)(s->end - s->at), .order = order };
}

/* The next piece along the road, or NULL. */
static struct piece *
take_ahead(struct ranges *r)
{
	struct stretch s;
	struct piece *p;
	size_t i, ahead = 0;

	for (i = 0; i < RANGES_PIECES; i++)
		ahead += r->pieces[i].state != PIECE_FREE && r->pieces[i].order > 0 &&
		         !r->pieces[i].used;
	if (!r->open || r->to == r->road_count || ahead >= RANGES_AHEAD ||
	    !(p = vacant(r, false)))
		return NULL;
	s = r->road[r->to];
	s.at = r->road_at;
	s.end = s.at + num_min(RANGES_PIECE, s.end - s.at);
	set_piece(p, &s, ++r->orders);
	r->road_at = s.end;
	if (r->road_at == r->road[r->to].end && ++r->to < r->road_count)
		r->road_at = r->road[r->to].at;
	return p;
}

static struct piece *
take(struct ranges *r)
{
	struct piece *p = r->asked ? vacant(r, true) : NULL;

	if (!p)
		return r->asked ? NULL : take_ahead(r);
	set_piece(p, &r->demand, 0);
	r->asked = false;
	pthread_cond_broadcast(&r->changed);
	return p;
}

/* ---- fetching ---- */

struct job {
	struct ranges *r;
	struct piece *p;
	size_t told;
};

static int
put(void *ctx, const void *bytes, size_t n, struct err *e)
{
	struct job *j = ctx;
	struct piece *p = j->p;

	if (atomic_load(&p->stop) || n > p->n - p->filled)
		return err_set(e, ERR_NETWORK, NULL, "the server sends too many bytes");
	memcpy(ranges_bytes(j->r, p) + p->filled, bytes, n);
	pthread_mutex_lock(&j->r->mutex);
	p->filled += n;
	if (j->r->awaited == p && p->filled - j->told >= TELL) {
		j->told = p->filled;
		pthread_cond_broadcast(&j->r->changed);
	}
	pthread_mutex_unlock(&j->r->mutex);
	return 0;
}

/* The reader may have read the first bytes, so other ones must not take their place. */
static int
put_again(void *ctx, struct err *e)
{
	struct job *j = ctx;

	if (j->p->filled == 0)
		return 0;
	return err_set(e, ERR_NETWORK, NULL, "the file has changed meanwhile");
}

static void
fetch(struct ranges *r, unsigned worker, struct piece *p)
{
	struct job j = { .r = r, .p = p };
	struct ranges_sink sink = { .data = put, .again = put_again, .ctx = &j, .stop = &p->stop };
	struct err e = ERR_INIT;
	int status;

	pthread_mutex_unlock(&r->mutex);
	status = r->ops.fetch(r->ctx, worker, p->file, p->at, piece_end(p), &sink, &e);
	pthread_mutex_lock(&r->mutex);
	if (status == 0 && p->filled < p->n)
		status = err_set(&e, ERR_NETWORK, NULL, "the connection ended before the last byte");
	p->state = p->dropped ? PIECE_FREE : status < 0 ? PIECE_FAILED : PIECE_READY;
	p->dropped = false;
	p->why = e;
	pthread_cond_broadcast(&r->changed);
}

struct worker {
	struct ranges *r;
	unsigned number;
};

static void *
work(void *ctx)
{
	struct worker w = *(struct worker *)ctx;
	struct ranges *r = w.r;
	struct piece *p;

	pthread_mutex_lock(&r->mutex);
	((struct worker *)ctx)->r = NULL; /* taken */
	pthread_cond_broadcast(&r->changed);
	while (!r->ending) {
		p = take(r);
		if (p)
			fetch(r, w.number, p);
		else
			pthread_cond_wait(&r->changed, &r->mutex);
	}
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

/* ---- showing ---- */

static struct piece *
next_to_show(struct ranges *r)
{
	size_t i;

	for (i = 0; i < RANGES_PIECES; i++) {
		struct piece *p = &r->pieces[i];

		if (p->state == PIECE_READY && !p->dropped && !r->files[p->file].broken &&
		    piece_covers(p, p->file, r->files[p->file].shown))
			return p;
	}
	return NULL;
}

static void
show_piece(struct ranges *r, struct piece *p)
{
	uint64_t from = r->files[p->file].shown - p->at;

	p->showing = true;
	pthread_mutex_unlock(&r->mutex);
	r->ops.seen(r->ctx, p->file, ranges_bytes(r, p) + from, p->n - (size_t)from);
	pthread_mutex_lock(&r->mutex);
	r->files[p->file].shown = piece_end(p);
	p->showing = false;
	if (p->dropped) {
		p->dropped = false;
		p->state = PIECE_FREE;
	}
	pthread_cond_broadcast(&r->changed);
}

static void *
show(void *ctx)
{
	struct ranges *r = ctx;
	struct piece *p;

	pthread_mutex_lock(&r->mutex);
	while (!r->ending)
		if ((p = next_to_show(r)))
			show_piece(r, p);
		else
			pthread_cond_wait(&r->changed, &r->mutex);
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

int
ranges_start(struct ranges *r, struct err *e)
{
	struct worker w;
	sigset_t all, old;
	unsigned i;
	int failed = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&r->mutex);
	for (i = 0; i < RANGES_WORKERS && !failed; i++) {
		w = (struct worker){ .r = r, .number = i };
		failed = pthread_create(&r->threads[i], NULL, work, &w);
		r->thread_count += !failed;
		while (!failed && w.r)
			pthread_cond_wait(&r->changed, &r->mutex);
	}
	if (!failed && r->ops.seen) {
		failed = pthread_create(&r->threads[i], NULL, show, r);
		r->thread_count += !failed;
	}
	pthread_mutex_unlock(&r->mutex);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = failed;
	return failed ? err_errno(e, NULL, "a thread cannot be started") : 0;
}
