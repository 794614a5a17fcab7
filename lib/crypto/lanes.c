#include "crypto/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "core/num.h"

/* Bytes read from a file at once, for all lanes together. They fit into a near cache. */
#define READ (64u << 10)

const uint32_t lanes_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

/* What lanes_count found. */
static struct {
	unsigned count;
	bool two, eight; /* these kernels run here and agree */
} cpu;

bool
lanes_run(unsigned lanes)
{
	return lanes == 8 ? cpu.eight : lanes == 2 ? cpu.two : lanes == 1;
}

/* A message on its way through a lane. */
struct lane {
	struct lanes_message *m; /* NULL: the lane is free */
	uint64_t done;           /* bytes fetched */
	uint8_t *piece;          /* room for bytes read from a file */
	const uint8_t *at;       /* blocks to hash next, */
	size_t blocks;           /* this many */
	uint8_t end[2 * LANES_BLOCK]; /* the last bytes, and the padding */
	bool ends;               /* end has been made */
};

struct run {
	unsigned lanes;
	struct lane lane[LANES_MOST];
	uint32_t h[LANES_MOST][8];
	struct lanes_message *next; /* to be started, */
	size_t left;                /* this many */
	size_t part;                /* bytes of a lane's piece */
};

/* n bytes of the lane's message into p. */
static int
fetch(struct lane *l, uint8_t *p, size_t n)
{
	if (l->m->p) {
		memcpy(p, l->m->p + l->done, n);
	} else if (n > 0 && range_read(&l->m->range, l->done, p, n) < 0) {
		l->m->fault = errno + 1;
		return -1;
	}
	l->done += n;
	return 0;
}

/* The bytes after the last whole block, a bit 1, zeros, and the length in bits: FIPS 180-4,
 * section 5.1.1. */
static int
make_end(struct lane *l)
{
	size_t n = (size_t)(l->m->bytes % LANES_BLOCK), i;

	memset(l->end, 0, sizeof l->end);
	if (fetch(l, l->end, n) < 0)
		return -1;
	l->end[n] = 0x80;
	l->blocks = n < LANES_BLOCK - 8 ? 1 : 2;
	l->at = l->end;
	for (i = 0; i < 8; i++)
		l->end[l->blocks * LANES_BLOCK - 8 + i] = (uint8_t)(l->m->bytes * 8 >> (56 - 8 * i));
	l->ends = true;
	return 0;
}

static void
words_put(struct digest *d, const uint32_t h[8])
{
	size_t i;

	for (i = 0; i < DIGEST_BYTES; i++)
		d->b[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

/* The next whole blocks of lane i's message, or its end. -1: it cannot be read. */
static int
more_blocks(struct run *r, unsigned i)
{
	struct lane *l = &r->lane[i];
	uint64_t whole = (l->m->bytes - l->done) / LANES_BLOCK;

	if (whole == 0)
		return make_end(l);
	if (l->m->p) {
		l->at = l->m->p + l->done;
		l->blocks = (size_t)whole;
		l->done += whole * LANES_BLOCK;
		return 0;
	}
	l->at = l->piece;
	l->blocks = (size_t)num_min(whole, r->part / LANES_BLOCK);
	return fetch(l, l->piece, l->blocks * LANES_BLOCK);
}

/* Give lane i blocks to hash: of its message, or of the next message. */
static void
refill(struct run *r, unsigned i)
{
	/* FIPS 180-4, section 5.3.3. */
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	struct lane *l = &r->lane[i];

	for (;;) {
		if (l->m && l->ends) {
			words_put(&l->m->digest, r->h[i]);
			l->m = NULL;
		}
		if (!l->m) {
			if (r->left == 0)
				return;
			*l = (struct lane){ .m = r->next++, .piece = l->piece };
			r->left--;
			memcpy(r->h[i], first, sizeof first);
		}
		if (more_blocks(r, i) == 0)
			return;
		l->m = NULL;
	}
}

/* Hash as many blocks as all busy lanes have. A free lane repeats the blocks of a busy
 * one, and its words are overwritten later. Returns 0 if no lane is busy. */
static int
step(struct run *r)
{
	const uint8_t *p[LANES_MOST], *any = NULL;
	size_t n = SIZE_MAX;
	unsigned i;

	for (i = 0; i < r->lanes; i++)
		if (r->lane[i].m) {
			any = r->lane[i].at;
			n = r->lane[i].blocks < n ? r->lane[i].blocks : n;
		}
	if (!any)
		return 0;
	for (i = 0; i < r->lanes; i++)
		p[i] = r->lane[i].m ? r->lane[i].at : any;
	if (r->lanes == 2)
		lanes_blocks_shani(r->h, p, n);
	else
		lanes_blocks_avx512(r->h, p, n);
	for (i = 0; i < r->lanes; i++)
		if (r->lane[i].m) {
			r->lane[i].at += n * LANES_BLOCK;
			r->lane[i].blocks -= n;
		}
	return 1;
}

/* With at most two messages left, eight lanes would be idle: move these to the first two. */
static void
narrow(struct run *r)
{
	unsigned i, busy = 0;

	for (i = 0; i < r->lanes; i++)
		busy += r->lane[i].m != NULL;
	if (r->lanes == 2 || r->left > 0 || busy > 2 || !lanes_run(2))
		return;
	for (i = busy = 0; i < r->lanes; i++) {
		struct lane l = r->lane[i];

		if (!l.m)
			continue;
		r->lane[i].m = NULL;
		if (l.ends) /* at points into the lane itself */
			l.at = r->lane[busy].end + (l.at - r->lane[i].end);
		memmove(r->h[busy], r->h[i], sizeof r->h[i]);
		r->lane[busy++] = l;
	}
	while (busy < 2)
		r->lane[busy++].m = NULL;
	r->lanes = 2;
}

/* One message by crypto/digest.h. */
static void
hash_one(struct lanes_message *m, uint8_t *piece)
{
	struct lane l = { .m = m };
	struct err unused = ERR_INIT;
	struct sha256 h;
	size_t n;

	sha256_start(&h);
	if (m->p) {
		sha256_add(&h, m->p, (size_t)m->bytes);
		l.done = m->bytes;
	}
	while (l.done < m->bytes) {
		n = (size_t)num_min(m->bytes - l.done, READ);
		if (fetch(&l, piece, n) < 0) {
			sha256_abandon(&h);
			return;
		}
		sha256_add(&h, piece, n);
	}
	if (sha256_finish(&h, &m->digest, &unused) < 0)
		m->fault = LANES_MEMORY;
}

void
lanes_hash_by(unsigned lanes, struct lanes_message *m, size_t n)
{
	uint8_t piece[READ];
	struct run r = { .lanes = lanes, .next = m, .left = n };
	unsigned i;
	size_t k;

	for (k = 0; k < n; k++)
		m[k].fault = 0;
	if (lanes < 2) {
		for (k = 0; k < n; k++)
			hash_one(&m[k], piece);
		return;
	}
	r.part = READ / lanes;
	for (i = 0; i < lanes; i++)
		r.lane[i].piece = piece + i * r.part;
	do {
		for (i = 0; i < r.lanes; i++)
			if (!r.lane[i].m || r.lane[i].blocks == 0)
				refill(&r, i);
		narrow(&r);
	} while (step(&r));
}

void
lanes_hash(struct lanes_message *m, size_t n)
{
	lanes_hash_by(lanes_count(), m, n);
}

/* ---- the choice ---- */

static bool
has_shani(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3) &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
#else
	return false;
#endif
}

/* The CPU has it, and the system saves its registers. */
static bool
has_avx512(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

#define SAMPLE 9 /* messages that are tried */
#define SAMPLE_BYTES ((size_t)30 * LANES_BLOCK)

struct sample {
	uint8_t bytes[SAMPLE][SAMPLE_BYTES];
	struct lanes_message m[SAMPLE];
};

static void
sample_make(struct sample *s)
{
	size_t i, k;

	for (i = 0; i < SAMPLE; i++) {
		for (k = 0; k < SAMPLE_BYTES; k++)
			s->bytes[i][k] = (uint8_t)(k * (2 * i + 5) + k / (i + 5) + i);
		s->m[i] = (struct lanes_message){ .p = s->bytes[i], .bytes = SAMPLE_BYTES - 21 * i };
	}
}

static bool
agrees(unsigned lanes, struct sample *s)
{
	struct digest want;
	size_t i;

	lanes_hash_by(lanes, s->m, SAMPLE);
	for (i = 0; i < SAMPLE; i++)
		if (sha256_of(s->m[i].p, (size_t)s->m[i].bytes, &want) < 0 ||
		    !digest_equal(&want, &s->m[i].digest))
			return false;
	return true;
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds for eight messages of equal length, the best of some tries. */
static uint64_t
takes(unsigned lanes, struct sample *s)
{
	uint64_t best = UINT64_MAX, from;
	int i;

	for (i = 0; i < 5; i++) {
		from = now();
		lanes_hash_by(lanes, s->m, 8);
		best = num_min(best, now() - from);
	}
	return best;
}

static void
choose(void)
{
	const char *level = getenv("APR_CPU");
	struct sample s;
	size_t i;

	cpu.count = 1;
	if (level && strcmp(level, "ref") == 0)
		return;
	sample_make(&s);
	cpu.two = has_shani() && agrees(2, &s);
	cpu.eight = (!level || !*level || strcmp(level, "avx512") == 0) &&
	            has_avx512() && agrees(8, &s);
	for (i = 0; i < SAMPLE; i++)
		s.m[i].bytes = SAMPLE_BYTES;
	if (cpu.eight && (!cpu.two || takes(8, &s) < takes(2, &s)))
		cpu.count = 8;
	else if (cpu.two)
		cpu.count = 2;
}

unsigned
lanes_count(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return cpu.count;
}
