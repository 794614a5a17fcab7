#include "hub/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "hub/ranges_parts.h"

#define PROMPT (64u << 10) /* bytes that are worth an answer */
#define JUMPS 64           /* out of order; then the road is left */
#define REST (64u << 10)    /* bytes that are fetched for `seen` at the end */

struct ranges *
ranges_open(uint8_t *window, const struct ranges_ops *ops, void *ctx, struct err *e)
{
	struct ranges *r = mem_array(1, sizeof *r);

	if (!r) {
		err_memory(e);
		return NULL;
	}
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->window = window;
	r->ops = *ops;
	r->ctx = ctx;
	if (ranges_start(r, e) == 0)
		return r;
	ranges_close(r);
	return NULL;
}

void
ranges_close(struct ranges *r)
{
	size_t i;

	if (!r)
		return;
	pthread_mutex_lock(&r->mutex);
	r->ending = true;
	for (i = 0; i < RANGES_PIECES; i++)
		atomic_store(&r->pieces[i].stop, true);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	for (i = 0; i < r->thread_count; i++)
		pthread_join(r->threads[i], NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->mutex);
	free(r->files);
	free(r->road);
	free(r);
}

int64_t
ranges_add(struct ranges *r, uint64_t bytes)
{
	int64_t number = -1;

	pthread_mutex_lock(&r->mutex);
	if (mem_grow(&r->files, &r->file_cap, r->file_count + 1, sizeof *r->files) == 0) {
		number = (int64_t)r->file_count++;
		r->files[number] = (struct ranges_file){ .bytes = bytes, .broken = !r->ops.seen };
	}
	pthread_mutex_unlock(&r->mutex);
	return number;
}

void
ranges_give(struct ranges *r, uint32_t file, const void *p, size_t n)
{
	struct piece *to = &r->pieces[0];

	pthread_mutex_lock(&r->mutex);
	if (to->state == PIECE_FREE && n <= RANGES_FIRST) {
		*to = (struct piece){ .state = PIECE_READY, .file = file, .n = n, .filled = n };
		memcpy(ranges_bytes(r, to), p, n);
		r->files[file].next = n;
		r->files[file].step = RANGES_FIRST;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->mutex);
}

/* ---- the road ---- */

/* Whether the last stretch can be made longer by this one. */
static bool
meets_last(struct ranges *r, const struct stretch *s)
{
	const struct stretch *last = r->road_count ? &r->road[r->road_count - 1] : NULL;

	return last && r->to < r->road_count && last->file == s->file && s->at >= last->end &&
	       s->at - last->end <= RANGES_NEAR && r->slack + (s->at - last->end) <= RANGES_SLACK;
}

static int
add_stretch(struct ranges *r, const struct stretch *s, struct err *e)
{
	if (meets_last(r, s)) {
		/* Alignment between tensors is not counted. */
		uint64_t gap = s->at - r->road[r->road_count - 1].end;

		r->slack += gap < 4096 ? 0 : gap;
		r->road[r->road_count - 1].end = s->end;
		return 0;
	}
	if (mem_grow(&r->road, &r->road_cap, r->road_count + 1, sizeof *r->road) < 0)
		return err_memory(e);
	if (r->to == r->road_count)
		r->road_at = s->at;
	r->open = false;
	r->road[r->road_count++] = *s;
	return 0;
}

int
ranges_want(struct ranges *r, uint32_t file, uint64_t at, uint64_t n, struct err *e)
{
	struct stretch s = { .file = file, .at = at };
	int status;

	pthread_mutex_lock(&r->mutex);
	if (n == 0)
		status = 0;
	else if (file >= r->file_count || num_add(at, n, &s.end) < 0 || s.end > r->files[file].bytes)
		status = err_set(e, ERR_CORRUPT, NULL, "a range lies outside its file");
	else
		status = add_stretch(r, &s, e);
	r->open |= n == 0;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	return status;
}

/* The stretch that has the byte, or road_count. */
static size_t
stretch_of(const struct ranges *r, uint32_t file, uint64_t at)
{
	size_t i;

	for (i = 0; i < r->road_count; i++)
		if (r->road[i].file == file && at >= r->road[i].at && at < r->road[i].end)
			break;
	return i;
}

/* The reader is at a byte of the road that no piece holds: go on there, unless the next piece
 * will have it. False after too many jumps: the road is left, and no piece will come. */
static bool
jump(struct ranges *r, size_t to, uint64_t at)
{
	size_t i;

	pthread_cond_broadcast(&r->changed);
	if (to == r->to && at >= r->road_at && at - r->road_at < RANGES_PIECE) {
		for (i = 0; i < RANGES_PIECES; i++)
			r->pieces[i].used = true;
		return true;
	}
	for (i = 0; i < RANGES_PIECES; i++)
		if (r->pieces[i].state != PIECE_FREE && r->pieces[i].order > 0)
			ranges_drop(r, &r->pieces[i]);
	r->to = to;
	r->road_at = at;
	if (++r->jumps <= JUMPS)
		return true;
	r->to = r->road_count = 0;
	return false;
}

/* ---- on demand ---- */

/* Asks for a piece. The file's step grows while the reader goes straight on. */
static void
demand(struct ranges *r, uint32_t file, uint64_t at, uint64_t more)
{
	struct ranges_file *f = &r->files[file];
	uint64_t n;

	if (r->asked)
		return;
	f->step = f->step && at == f->next ? num_min(4 * f->step, RANGES_STEP) : RANGES_FIRST;
	n = more > f->step ? more : f->step;
	n = num_min(num_min(n, RANGES_PIECE), f->bytes - at);
	r->demand = (struct stretch){ .file = file, .at = at, .end = at + n };
	f->next = at + n;
	r->asked = true;
	pthread_cond_broadcast(&r->changed);
}

static struct piece *
find(struct ranges *r, uint32_t file, uint64_t at)
{
	struct piece *best = NULL;
	size_t i;

	for (i = 0; i < RANGES_PIECES; i++)
		if (piece_covers(&r->pieces[i], file, at) &&
		    (!best || (best->state != PIECE_READY && r->pieces[i].state == PIECE_READY)))
			best = &r->pieces[i];
	return best;
}

/* The reader reads p: it has passed what comes before it. */
static void
pass(struct ranges *r, const struct piece *now)
{
	size_t i;

	for (i = 0; i < RANGES_PIECES; i++) {
		struct piece *p = &r->pieces[i];

		if (p != now && p->state != PIECE_FREE &&
		    (p->order == 0 || (now->order > 0 && p->order < now->order)))
			p->used = true;
	}
}

/* 1 if bytes are there, 0 to wait, or -1. */
static int
look(struct ranges *r, uint32_t file, uint64_t at, uint64_t n, uint64_t more, struct err *e)
{
	struct piece *p = find(r, file, at);
	uint64_t have;
	size_t i;

	if (!p) {
		r->awaited = NULL;
		i = r->open ? stretch_of(r, file, at) : r->road_count;
		if (i == r->road_count || !jump(r, i, at))
			demand(r, file, at, more);
		return 0;
	}
	if (p->state == PIECE_FAILED) {
		*e = e->code == ERR_NONE ? p->why : *e;
		p->state = PIECE_FREE;
		return -1;
	}
	r->awaited = p;
	have = p->at + p->filled > at ? p->at + p->filled - at : 0;
	if (have == 0 || (have < n && have < PROMPT && p->state == PIECE_LOADING))
		return 0;
	pass(r, p);
	r->pinned = p;
	return 1;
}

int
ranges_read(struct ranges *r, uint32_t file, uint64_t at, uint64_t n, uint64_t more,
            uint64_t *where, uint64_t *got, struct err *e)
{
	const struct piece *p;
	int found;

	pthread_mutex_lock(&r->mutex);
	if (file >= r->file_count || at >= r->files[file].bytes || n == 0) {
		pthread_mutex_unlock(&r->mutex);
		return err_set(e, ERR_CORRUPT, NULL, "a range lies outside its file");
	}
	/* The piece of the last answer is done with if the reader has left it. */
	if (r->pinned && !piece_covers(r->pinned, file, at))
		r->pinned->used = true;
	r->pinned = NULL;
	pthread_cond_broadcast(&r->changed);
	while ((found = look(r, file, at, n, more, e)) == 0)
		pthread_cond_wait(&r->changed, &r->mutex);
	r->awaited = NULL;
	if (found > 0) {
		p = r->pinned;
		*where = (uint64_t)(ranges_bytes(r, p) - r->window) + (at - p->at);
		*got = num_min(n, p->at + p->filled - at);
	}
	pthread_mutex_unlock(&r->mutex);
	return found > 0 ? 0 : -1;
}

/* ---- the end ---- */

/* Reads what is left of the file, a little, so that it is shown. */
static int
read_rest(struct ranges *r, uint32_t file, struct err *e)
{
	uint64_t at, where, got;

	for (at = r->files[file].shown; at < r->files[file].bytes; at += got)
		if (ranges_read(r, file, at, r->files[file].bytes - at, r->files[file].bytes - at, &where,
		                &got, e) < 0)
			return -1;
	return 0;
}

/* Waits until everything that is in the window has been shown. */
static void
await_showing(struct ranges *r, uint32_t file)
{
	const struct ranges_file *f = &r->files[file];
	const struct piece *p;

	while (!f->broken && (p = find(r, file, f->shown)) && p->state != PIECE_FAILED)
		pthread_cond_wait(&r->changed, &r->mutex);
}

bool
ranges_all_seen(struct ranges *r, uint32_t file, struct err *e)
{
	const struct ranges_file *f;
	bool rest, all;

	pthread_mutex_lock(&r->mutex);
	f = &r->files[file];
	await_showing(r, file);
	rest = !f->broken && f->shown > 0 && f->shown < f->bytes && f->bytes - f->shown <= REST;
	pthread_mutex_unlock(&r->mutex);
	if (rest && read_rest(r, file, e) < 0)
		return false;
	pthread_mutex_lock(&r->mutex);
	if (rest)
		await_showing(r, file);
	all = !r->files[file].broken && r->files[file].shown == r->files[file].bytes;
	pthread_mutex_unlock(&r->mutex);
	return all;
}
