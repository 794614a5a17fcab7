/* training_loss: the loss and the optimizer of training.h, and its table. It comes after
 * training_product.h and training_values.h. The file that includes this defines
 *
 *	TRAINING   the name of the table
 *	ROOTS(v)   square roots of all lanes of a wide *v
 */

/* ---- the loss ---- */

/* What a row of the loss is made of: sums of powers of z, of z × cooler and of y × cooler, without their
 * maxima; and Σ p (ln p - ln q) before it is divided. */
struct row {
	float most, teacher_most;
	double hot, cool, teacher, cross;
};

static void
row_sums(const float *z, const float *y, size_t n, float cooler, struct row *r)
{
	fine hot = { 0 }, cool = { 0 }, teacher = { 0 }, cross = { 0 };
	size_t i, some;
	wide v, a, b, p;

	r->most = most_of(z, n);
	r->teacher_most = y ? most_of(y, n) : 0;
	for EACH(i, some, n) {
		load(&v, z + i, some, -INFINITY);
		v -= r->most;
		p = v;
		exponential(&p);
		hot += __builtin_convertvector(p, fine);
		if (!y)
			continue;
		load(&a, z + i, some, r->most - 1000 / cooler);
		load(&b, y + i, some, r->teacher_most - 1000 / cooler);
		a = (a - r->most) * cooler;
		b = (b - r->teacher_most) * cooler;
		p = b;
		exponential(&p);
		teacher += __builtin_convertvector(p, fine);
		b = (b - a) * p;
		cross += __builtin_convertvector(b, fine);
		exponential(&a);
		cool += __builtin_convertvector(a, fine);
	}
	r->hot = fine_sum(&hot);
	r->cool = fine_sum(&cool);
	r->teacher = fine_sum(&teacher);
	r->cross = fine_sum(&cross);
}

static void
row_gradient(float *z, const float *y, size_t n, const struct training_aim *aim,
             const struct row *r)
{
	float hard = (float)((double)aim->hard / r->hot);
	float cool = y ? (float)((double)aim->soft / r->cool) : 0;
	float teacher = y ? (float)((double)aim->soft / r->teacher) : 0;
	size_t i, some;
	wide v, a, b;

	for EACH(i, some, n) {
		load(&v, z + i, some, 0);
		v -= r->most;
		a = v;
		exponential(&a);
		a *= hard;
		if (y) {
			v *= aim->cooler;
			exponential(&v);
			load(&b, y + i, some, 0);
			b = (b - r->teacher_most) * aim->cooler;
			exponential(&b);
			a += v * cool - b * teacher;
		}
		store(z + i, &a, some);
	}
	z[aim->target] -= aim->hard;
}

static void
loss(float *z, const float *y, size_t n, const struct training_aim *aim, bool gradient,
     struct training_loss *to)
{
	struct row r;

	row_sums(z, y, n, aim->cooler, &r);
	to->hard = log(r.hot) - (double)(z[aim->target] - r.most);
	to->soft = y ? r.cross / r.teacher - log(r.teacher) + log(r.cool) : 0;
	if (gradient)
		row_gradient(z, y, n, aim, &r);
}

/* ---- the optimizer ---- */

static void
adam(const struct training_step *s, float *value, float *gradient, float *first, float *second,
     size_t n)
{
	size_t i, some;
	wide g, m, v, x, r;

	for EACH(i, some, n) {
		load(&g, gradient + i, some, 0);
		load(&m, first + i, some, 0);
		load(&v, second + i, some, 0);
		load(&x, value + i, some, 0);
		g *= s->clip;
		m = m * s->beta1 + g * s->rest1;
		v = v * s->beta2 + g * g * s->rest2;
		r = v;
		ROOTS(&r);
		x -= m * s->rate / (r * s->scale + s->eps) + x * s->decay;
		g = (wide){ 0 };
		store(gradient + i, &g, some);
		store(first + i, &m, some);
		store(second + i, &v, some);
		store(value + i, &x, some);
	}
}

const struct training TRAINING = {
	pack, multiply, add, bias, columns, moments, norm, norm_back, norm_gain, rotate, gate,
	gate_back, gelu, gelu_back, softmax, softmax_again, softmax_back, loss, squares, adam
};
