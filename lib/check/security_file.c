/* The bytes of the file itself, without its tensors: what another program takes it for. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "check/lint_parts.h"
#include "core/le.h"
#include "core/part.h"
#include "core/remote.h"

#define HEAD 1024              /* bytes in which readers look for the magic of a document */
#define TAIL (22 + 65535 + 20) /* an archive ends with its list, and a comment behind it */

/* Reads up to n bytes at an offset. Returns their number. */
static size_t
read_at(int fd, uint64_t offset, uint8_t *p, size_t n)
{
	bool remote = remote_holds(fd);
	size_t have = 0;

	while (have < n) {
		ssize_t got = remote ? remote_read(fd, offset + have, p + have, n - have, 0)
		                     : part_pread(fd, p + have, n - have, offset + have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

/* What the bytes begin with, or NULL. */
static const char *
magic(const uint8_t *p, size_t n)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *what;
	} magics[] = {
		{ "\x7f" "ELF", 4, "a program (ELF)" }, { "PK\3\4", 4, "an archive (zip)" },
		{ "%PDF-", 5, "a document (PDF)" }, { "#!/", 3, "a script" },
		{ "7z\xbc\xaf\x27\x1c", 6, "an archive (7z)" }, { "Rar!", 4, "an archive (RAR)" },
		{ "\x1f\x8b\x08", 3, "compressed data (gzip)" },
		{ "\xca\xfe\xba\xbe", 4, "a program (Mach-O or Java)" },
		{ "\xfe\xed\xfa", 3, "a program (Mach-O)" }, { "<html", 5, "a page (HTML)" },
		{ "<script", 7, "a script (HTML)" }, { "<!DOCTYPE", 9, "a page (HTML)" },
		{ "\x80\x02", 2, "a pickle" }, { "\x80\x04\x95", 3, "a pickle" },
		{ "MZ\x90", 3, "a program (Windows)" }, { "\0asm", 4, "a program (WebAssembly)" },
	};
	size_t i;

	for (i = 0; i < sizeof magics / sizeof *magics; i++)
		if (n >= magics[i].n && memcmp(p, magics[i].bytes, magics[i].n) == 0)
			return magics[i].what;
	return NULL;
}

/* A PDF or a page may begin anywhere in the first bytes. */
static void
judge_head(const struct lint *l, const struct rule *r)
{
	static const char *const texts[] = { "%PDF-", "<html", "<HTML", "<script", "<!DOCTYPE html",
		"<?php" };
	uint8_t head[HEAD];
	size_t n = read_at(l->fd, 0, head, sizeof head), i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++) {
		const uint8_t *at = memmem(head, n, texts[i], strlen(texts[i]));

		if (!at)
			continue;
		findings_add_at(l->to, r, FINDING_WARN, NULL, "\"%s\" near the beginning: other programs "
		                "take the file for a document", texts[i]);
		findings_offset(l->to, (uint64_t)(at - head));
		return;
	}
}

/* An archive is found from its end: the end record, whose comment fills the rest of the file, and
 * the list of members in front of it. */
static void
judge_tail(const struct lint *l, const struct rule *r, uint8_t *tail)
{
	uint64_t size = l->s->file_bytes, from = size > TAIL ? size - TAIL : 0;
	size_t n = read_at(l->fd, from, tail, TAIL), i;

	for (i = n < 22 ? 0 : n - 21; i-- > 0;) {
		uint64_t list;

		if (memcmp(tail + i, "PK\5\6", 4) != 0 || le16(tail + i + 20) != n - i - 22)
			continue;
		list = le32(tail + i + 12);
		if (list > from + i)
			continue;
		findings_add(l->to, r, NULL, "the end of the file is that of a zip archive of %u "
		             "member%s", le16(tail + i + 10), le16(tail + i + 10) == 1 ? "" : "s");
		findings_offset(l->to, from + i);
		return;
	}
}

/* What stands in gaps and after the end. */
static void
judge_oddities(const struct lint *l, const struct rule *r)
{
	const struct oddities *o = l->s->source->oddities;
	uint8_t bytes[16];
	size_t i;

	for (i = 0; o && i < o->count; i++) {
		const struct oddity *x = &o->of[i];
		const char *what;

		if (x->kind != ODD_GAP && x->kind != ODD_TRAILING && x->kind != ODD_PADDING)
			continue;
		what = magic(bytes, read_at(l->fd, x->offset, bytes, sizeof bytes));
		if (!what)
			continue;
		findings_add(l->to, r, x->object, "bytes outside the model are %s", what);
		findings_offset(l->to, x->offset);
	}
}

const char *
security_polyglot(const struct lint *l, const struct rule *r)
{
	static uint8_t tail[TAIL];

	if (l->fd < 0 || l->s->file_bytes == UINT64_MAX)
		return "the file cannot be read at any place";
	if (!lint_is(l, "pytorch")) {
		judge_head(l, r);
		judge_tail(l, r, tail);
	}
	judge_oddities(l, r);
	return NULL;
}
