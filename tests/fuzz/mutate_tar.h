/* mutate_tar: an archive whose members are described again after a change. */
#ifndef MUTATE_TAR_H
#define MUTATE_TAR_H

#include "mutate.h"
#include "mutate_pickle.h"
#include "wire/tar.h"

#define TAR_MEMBERS 8

/* The size in a header, if it is octal and the archive has as many bytes behind it. */
static size_t
mutate_tar_size(const uint8_t *head, size_t most)
{
	size_t n = 0, i;

	for (i = 124; i < 135 && head[i] >= '0' && head[i] <= '7'; i++)
		n = n * 8 + (size_t)(head[i] - '0');
	return n < most ? n : most;
}

/* Append a header with another size, and the right sum. */
static void
mutate_tar_head(struct buf *b, const uint8_t *head, size_t n)
{
	const size_t at = b->n;
	unsigned sum = 8 * ' ', i;
	char text[16];

	buf_put(b, head, TAR_BLOCK);
	must(buf_ok(b));
	snprintf(text, sizeof text, "%011zo", n);
	if (head[124] < 0x80)
		memcpy(b->p + at + 124, text, 11);
	for (i = 0; i < TAR_BLOCK; i++)
		sum += i < 148 || i >= 156 ? b->p[at + i] : 0;
	snprintf(text, sizeof text, "%06o", sum);
	memcpy(b->p + at + 148, text, 7);
	b->p[at + 155] = ' ';
}

/* Change the header itself: its name, size, type or prefix. */
static void
mutate_tar_field(uint8_t *head, unsigned seed)
{
	static const char *const names[] = { "pickle", "storages", "tensors", "sys_info", "../pickle",
		"./tensors", "a//b", "" };
	static const uint8_t types[] = { 0, '0', '1', '2', '5', '7', 'x', 'g', 'L', 'S' };

	switch (seed % 4) {
	case 0:
		memset(head, 0, 100);
		memcpy(head, names[seed / 4 % 8], strlen(names[seed / 4 % 8]));
		break;
	case 1:
		head[156] = types[seed / 4 % sizeof types];
		break;
	case 2:
		memset(head + 124, 0, 12);
		head[124] = 0x80;
		head[128 + seed / 4 % 8] = (uint8_t)(seed / 32);
		break;
	default:
		head[345] = (uint8_t)(seed / 4);
	}
}

/* Write the archive again, with one member changed. */
static void
mutate_tar(struct buf *b, const uint8_t *data, size_t size, unsigned seed)
{
	unsigned i, which = seed % TAR_MEMBERS;
	uint8_t head[TAR_BLOCK];
	size_t at = 0, n;

	seed /= TAR_MEMBERS;
	for (i = 0; size - at >= TAR_BLOCK && (data[at] || data[at + 156]) && i < 64; i++) {
		struct buf content = { 0 };

		memcpy(head, data + at, TAR_BLOCK);
		n = mutate_tar_size(head, size - at - TAR_BLOCK);
		buf_put(&content, data + at + TAR_BLOCK, n);
		if (i == which && seed % 4 == 0)
			mutate_tar_field(head, seed / 4);
		else if (i == which && content.n > 0 && head[0] == 'p')
			mutate_pickle(&content, seed / 4);
		else if (i == which && content.n > 0)
			mutate_piece(&content, 0, &(size_t){ content.n });
		mutate_tar_head(b, head, content.n);
		buf_put(b, content.p, content.n);
		buf_zeros(b, (TAR_BLOCK - content.n % TAR_BLOCK) % TAR_BLOCK);
		buf_free(&content);
		n = (n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
		at += TAR_BLOCK + n < size - at ? TAR_BLOCK + n : size - at;
	}
	buf_put(b, data + at, size - at);
}

#endif
