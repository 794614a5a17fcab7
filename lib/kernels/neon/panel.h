/* panel: what panels of codes and of floats share. Internal to this folder.
 */
#ifndef DOT_PANEL_NEON_ROWS_H
#define DOT_PANEL_NEON_ROWS_H

#include "kernels/neon/codes.h"

/* The activations that a panel is multiplied by, and where results go. */
struct job {
	const uint8_t *a;   /* rows of activations, bytes apart */
	size_t bytes, n, many;
	float *y;           /* [many][leading] */
	size_t leading;
	bool add;           /* results are added to y; floats only */
};

/* Rows of four numbers of 32 bits become columns. */
INLINE void
turn_whole(int32x4_t *v)
{
	int32x4_t ac = vzip1q_s32(v[0], v[2]), bd = vzip1q_s32(v[1], v[3]);
	int32x4_t AC = vzip2q_s32(v[0], v[2]), BD = vzip2q_s32(v[1], v[3]);

	v[0] = vzip1q_s32(ac, bd);
	v[1] = vzip2q_s32(ac, bd);
	v[2] = vzip1q_s32(AC, BD);
	v[3] = vzip2q_s32(AC, BD);
}

/* Row i of count of a panel; behind the last row, the last row again. */
INLINE const uint8_t *
row_at(const uint8_t *w, size_t stride, size_t count, int i)
{
	return w + stride * ((size_t)i < count ? (size_t)i : count - 1);
}

/* The results of up to four of the rows, from at on. */
INLINE float32x4_t
get_rows(const float *y, size_t rows, size_t at)
{
	float some[4] = { 0 };

	if (rows >= at + 4)
		return vld1q_f32(y + at);
	if (rows > at)
		memcpy(some, y + at, (rows - at) * sizeof *y);
	return vld1q_f32(some);
}

INLINE void
put_rows(float *y, size_t rows, size_t at, float32x4_t v)
{
	float some[4];

	if (rows >= at + 4) {
		vst1q_f32(y + at, v);
	} else if (rows > at) {
		vst1q_f32(some, v);
		memcpy(y + at, some, (rows - at) * sizeof *y);
	}
}

/* A dot_panels that does CALL with o for part rows at a time. */
#define PANELS(FUNCTION, ADD, CALL) \
void \
FUNCTION(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t bytes, \
         size_t many, size_t n, float *y, size_t leading) \
{ \
	struct job o = { a, bytes, n, many, y, leading, ADD }; \
	size_t part; \
\
	for (; count > 0; count -= part, w += stride * part, o.y += part) { \
		part = count < ROWS ? count : ROWS; \
		CALL; \
	} \
}

#endif
