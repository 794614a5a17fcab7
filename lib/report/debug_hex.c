/* Bytes beside their meaning, and strings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/num.h"
#include "core/text.h"
#include "model/block.h"
#include "report/debug.h"
#include "stats/values.h"

static void
put_bytes(struct buf *b, const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < DEBUG_LINE; i++) {
		if (i < n)
			buf_printf(b, "%s%02x", i == 8 ? "  " : i ? " " : "", p[i]);
		else
			buf_text(b, i == 8 ? "    " : i ? "   " : "  ");
	}
}

void
debug_hex(struct buf *b, const uint8_t *p, size_t n, uint64_t offset, uint64_t mark)
{
	size_t i, k, some;

	for (i = 0; i < n; i += some) {
		some = n - i < DEBUG_LINE ? n - i : DEBUG_LINE;
		buf_printf(b, "%c%13" PRIu64 "  ",
		           mark >= offset + i && mark - offset - i < DEBUG_LINE ? '>' : ' ',
		           offset + i);
		put_bytes(b, p + i, some);
		buf_text(b, "  |");
		for (k = 0; k < some; k++)
			buf_u8(b, p[i + k] >= 0x20 && p[i + k] < 0x7f ? p[i + k] : '.');
		buf_text(b, "|\n");
	}
}

/* ---- blocks ---- */

/* The eight scales or minima of Q4_K and Q5_K: six bits each, in 12 bytes. */
static unsigned
six(const uint8_t *x, unsigned j, bool least)
{
	if (j < 4)
		return x[j + (least ? 4 : 0)] & 63;
	return (least ? x[j + 4] >> 4 : x[j + 4] & 15) | x[j - (least ? 0 : 4)] >> 6 << 4;
}

static void
put_sixes(struct buf *b, const uint8_t *x)
{
	unsigned j;

	for (j = 0; j < 8; j++)
		buf_printf(b, " %u", six(x, j, false));
	buf_text(b, "; minima");
	for (j = 0; j < 8; j++)
		buf_printf(b, " %u", six(x, j, true));
}

/* The 16 scales of Q3_K: six bits each, less 32. */
static void
put_threes(struct buf *b, const uint8_t *x)
{
	unsigned j;

	for (j = 0; j < 16; j++)
		buf_printf(b, " %d", (int)((x[j % 8] >> (j < 8 ? 0 : 4) & 15) |
		                           (x[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32);
}

/* What n bytes of a part mean. */
static void
put_meaning(struct buf *b, enum block_kind kind, const uint8_t *x, size_t n)
{
	size_t i;

	switch (kind) {
	case BLOCK_F16:
		buf_printf(b, " %.6g", (double)half_f16_f32(le16(x)));
		break;
	case BLOCK_F32:
		buf_printf(b, " %.9g", (double)le_f32(x));
		break;
	case BLOCK_I8:
		for (i = 0; i < n; i++)
			buf_printf(b, " %d", (int8_t)x[i]);
		break;
	case BLOCK_I16:
		for (i = 0; i + 1 < n; i += 2)
			buf_printf(b, " %d", (int16_t)le16(x + i));
		break;
	case BLOCK_U16:
		buf_printf(b, " 0x%04x", le16(x));
		break;
	case BLOCK_POWER:
		buf_printf(b, " 2^%d", *x - 127);
		break;
	case BLOCK_HALVES:
		for (i = 0; i < n; i++)
			buf_printf(b, " %u", x[i] & 15u);
		buf_text(b, "; high");
		for (i = 0; i < n; i++)
			buf_printf(b, " %u", x[i] >> 4);
		break;
	case BLOCK_SIXES:
		put_sixes(b, x);
		break;
	case BLOCK_THREES:
		put_threes(b, x);
		break;
	case BLOCK_BITS:
		break;
	}
}

static void
put_part(struct buf *b, const struct block_part *part, const uint8_t *p, uint64_t offset)
{
	size_t i, some;

	for (i = 0; i < part->bytes; i += some) {
		some = part->bytes - i < DEBUG_LINE ? part->bytes - i : DEBUG_LINE;
		buf_printf(b, " %13" PRIu64 "  ", offset + i);
		put_bytes(b, p + i, some);
		buf_printf(b, "  %s", i ? "" : part->name);
		put_meaning(b, part->kind, p + i, some);
		buf_text(b, "\n");
	}
}

#define SHOWN 8 /* values of a block */

static void
put_values(struct buf *b, const struct dtype *t, const uint8_t *head, const uint8_t *p, size_t n)
{
	double v[DTYPE_NAMED_ITEMS];
	char text[VALUES_TEXT];
	size_t i;

	values_double(t, head, p, v, n);
	for (i = 0; i < n; i++)
		buf_printf(b, " %s", values_text(t, p, v[i], i, text));
}

/* A type whose values are blocks of their own: values beside their bytes. */
static void
put_plain(struct buf *b, const struct dtype *t, const uint8_t *head, const uint8_t *p, size_t n,
          uint64_t offset)
{
	size_t i, some;

	for (i = 0; i + t->bytes <= n; i += some) {
		some = n - i < DEBUG_LINE ? n - i - (n - i) % t->bytes : DEBUG_LINE;
		buf_printf(b, " %13" PRIu64 "  ", offset + i);
		put_bytes(b, p + i, some);
		buf_text(b, " ");
		put_values(b, t, head, p + i, some / t->bytes);
		buf_text(b, "\n");
	}
}

void
debug_blocks(struct buf *b, const struct dtype *t, const uint8_t *head, const uint8_t *p, size_t n,
             uint64_t at, uint64_t offset)
{
	const struct block_part *part = t ? block_parts(t) : NULL;
	size_t i, k;

	if (!t || (!part && (t->items != 1 || !values_known(t)))) {
		debug_hex(b, p, n, offset, UINT64_MAX);
		return;
	}
	if (!part) {
		put_plain(b, t, head, p, n, offset);
		return;
	}
	for (i = 0; i + t->bytes <= n; i += t->bytes) {
		buf_printf(b, "block %" PRIu64 " of %s: values %" PRIu64 " to %" PRIu64 "\n",
		           (at + i) / t->bytes, t->name, (at + i) / t->bytes * t->items,
		           ((at + i) / t->bytes + 1) * t->items - 1);
		for (k = 0; part[k].name; k++)
			put_part(b, &part[k], p + i + part[k].offset, offset + i + part[k].offset);
		if (values_known(t)) {
			double v[DTYPE_NAMED_ITEMS];
			char text[VALUES_TEXT];

			values_double(t, head, p + i, v, t->items);
			buf_text(b, "                values");
			for (k = 0; k < SHOWN && k < t->items; k++)
				buf_printf(b, " %s", values_number(v[k], true, text));
			buf_text(b, t->items > SHOWN ? " ...\n" : "\n");
		}
	}
	if (i < n)
		debug_hex(b, p + i, n - i, offset + i, UINT64_MAX);
}

/* ---- kinds ---- */

static bool
is_only(const uint8_t *p, size_t n, bool (*is)(uint8_t))
{
	while (n > 0 && is(p[n - 1]))
		n--;
	return n == 0;
}

static bool
is_zero(uint8_t c)
{
	return c == 0;
}

static bool
is_ascii(uint8_t c)
{
	return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r');
}

const char *
debug_kind(const uint8_t *head, size_t n)
{
	static const struct { const char *begin, *kind; } rows[] = {
		{ "{", "JSON" }, { "[", "JSON" }, { "#!", "a script" }, { "<", "HTML or XML" },
	};
	size_t i, at = 0;

	if (n == 0)
		return "empty";
	if (is_only(head, n, is_zero))
		return "zeros: a download that reserved its room and did not go on has these";
	if (n >= 2 && head[0] == 0x80 && head[1] <= 5)
		return "a pickle of Python";
	if (!is_only(head, n, is_ascii))
		return NULL;
	while (at < n && strchr(" \t\r\n", head[at]))
		at++;
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (n - at >= strlen(rows[i].begin) &&
		    memcmp(head + at, rows[i].begin, strlen(rows[i].begin)) == 0)
			return rows[i].kind;
	return "text";
}

/* ---- strings ---- */

static void
end_run(struct debug_strings *s, struct buf *b)
{
	char text[4 * DEBUG_STRING_SHOWN + 8];
	uint64_t shown = num_min(s->run, DEBUG_STRING_SHOWN);

	if (s->run >= DEBUG_STRING && s->left > 0) {
		buf_printf(b, "%14" PRIu64 "  %s", s->at,
		           text_quote(text, sizeof text, s->text, (size_t)shown));
		if (s->run > shown)
			buf_printf(b, " (%" PRIu64 " more)", s->run - shown);
		buf_text(b, "\n");
		s->left--;
	}
	s->run = 0;
}

void
debug_strings_add(struct debug_strings *s, struct buf *b, const uint8_t *p, size_t n,
                  uint64_t offset)
{
	size_t i;

	for (i = 0; i < n && s->left > 0; i++) {
		if (p[i] < 0x20 || p[i] >= 0x7f) {
			if (s->run)
				end_run(s, b);
			continue;
		}
		if (s->run == 0)
			s->at = offset + i;
		if (s->run < DEBUG_STRING_SHOWN)
			s->text[s->run] = (char)p[i];
		s->run++;
	}
}

void
debug_strings_end(struct debug_strings *s, struct buf *b)
{
	end_run(s, b);
}
