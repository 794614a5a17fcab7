/* Recurrent layers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/net.h"

static size_t
gates_of(const struct net_recurrent *n)
{
	return n->units * (n->cell == NET_LSTM ? 4 : n->cell == NET_GRU ? 3 : 1);
}

/* to += x W, for the columns from `from` to before `end`. */
static void
add_product(const double *x, size_t in, const double *w, size_t columns, size_t from, size_t end, double *to)
{
	size_t i, j;

	for (i = 0; i < in; i++)
		for (j = from; j < end; j++)
			to[j] += x[i] * w[i * columns + j];
}

static void
step_lstm(const struct net_recurrent *n, const double *v, double *h, double *c)
{
	size_t j, u = n->units;

	for (j = 0; j < u; j++) {
		c[j] = net_value(&n->gate, v[u + j]) * c[j] + net_value(&n->gate, v[j]) * net_value(&n->f, v[2 * u + j]);
		h[j] = net_value(&n->gate, v[3 * u + j]) * net_value(&n->f, c[j]);
	}
}

/* v: W x + b of the three gates; r: room for as many, and for the state. */
static void
step_gru(const struct net_recurrent *n, const struct net_direction *d, double *v, double *h, double *r)
{
	size_t j, u = n->units, gates = 3 * u;
	double *reset = r + gates;

	if (d->a)
		memcpy(r, d->a, gates * sizeof *r);
	else
		memset(r, 0, gates * sizeof *r);
	add_product(h, u, d->u, gates, 0, n->reset_after ? gates : 2 * u, r);
	for (j = 0; j < 2 * u; j++)
		v[j] = net_value(&n->gate, v[j] + r[j]);
	if (!n->reset_after) {
		for (j = 0; j < u; j++)
			reset[j] = v[u + j] * h[j];
		add_product(reset, u, d->u, gates, 2 * u, gates, r);
	}
	for (j = 0; j < u; j++) {
		double k = n->reset_after ? v[u + j] * r[2 * u + j] : r[2 * u + j];

		h[j] = v[j] * h[j] + (1 - v[j]) * net_value(&n->f, v[2 * u + j] + k);
	}
}

/* One row in one direction. y: of the first step; room: states and gates. */
static void
run(const struct net_recurrent *n, unsigned which, const double *x, double *y, double *room)
{
	const struct net_direction *d = &n->direction[which];
	size_t t, j, gates = gates_of(n), u = n->units, wide = u * n->directions;
	double *h = room, *c = h + u, *v = c + u, *more = v + gates;
	bool back = which == 1 || n->backward;

	memset(room, 0, 2 * u * sizeof *room);
	for (t = 0; t < n->steps; t++) {
		size_t at = back ? n->steps - 1 - t : t;

		for (j = 0; j < gates; j++)
			v[j] = d->b ? d->b[j] : 0;
		add_product(x + at * n->inputs, n->inputs, d->w, gates, 0, gates, v);
		if (n->cell != NET_GRU)
			add_product(h, u, d->u, gates, 0, gates, v);
		if (n->cell == NET_LSTM)
			step_lstm(n, v, h, c);
		else if (n->cell == NET_GRU)
			step_gru(n, d, v, h, more);
		for (j = 0; j < u && n->cell == NET_SIMPLE; j++)
			h[j] = net_value(&n->f, v[j]);
		/* A layer that reads backward alone has its steps in the order in which it reads; of two
		 * directions, or in_order, they have the order of the input. */
		if (n->sequences)
			memcpy(y + (n->directions == 2 || n->in_order ? at : t) * wide + which * u, h, u * sizeof *h);
	}
	if (!n->sequences)
		memcpy(y + which * u, h, u * sizeof *h);
}

static int
recur(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct net_recurrent *n = s->more;
	double *room = mem_array(3 * n->units + 2 * gates_of(n), sizeof *room);
	unsigned which;
	size_t r;

	if (!room)
		return err_memory(e);
	if (step_rows_begin(spare, x->n, s->out, e) < 0) {
		free(room);
		return -1;
	}
	for (r = 0; r < x->n; r++)
		for (which = 0; which < n->directions; which++)
			run(n, which, step_row(x, r), step_row(spare, r), room);
	step_rows_swap(x, spare);
	free(room);
	return 0;
}

void
net_recurrent_free(void *more)
{
	struct net_recurrent *n = more;
	unsigned i;

	for (i = 0; n && i < 2; i++) {
		free(n->direction[i].w);
		free(n->direction[i].u);
		free(n->direction[i].b);
		free(n->direction[i].a);
	}
	free(n);
}

const struct step_kind net_recurrent = { "recurrent layer", false, false, recur };
