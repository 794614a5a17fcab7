/* texts: text of many scripts, for tokenizers: words, numbers, punctuation, blanks of
 * all kinds, in runs of a script each.
 *
 *     texts BYTES [SEED]     about BYTES bytes of valid UTF-8
 *     texts -n BYTES [SEED]  BYTES bytes of noise with some of that text in it
 *     texts -w BYTES         one word, with letters that do not repeat in a simple way
 */
#include "gen.h"

static uint64_t state = 1;

static uint32_t
chance(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state * 0x2545f4914f6cdd1du >> 33) % n;
}

static void
put_character(uint32_t c)
{
	if (c < 0x80) {
		putchar((int)c);
	} else if (c < 0x800) {
		putchar((int)(0xc0 | c >> 6));
		putchar((int)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		putchar((int)(0xe0 | c >> 12));
		putchar((int)(0x80 | (c >> 6 & 63)));
		putchar((int)(0x80 | (c & 63)));
	} else {
		putchar((int)(0xf0 | c >> 18));
		putchar((int)(0x80 | (c >> 12 & 63)));
		putchar((int)(0x80 | (c >> 6 & 63)));
		putchar((int)(0x80 | (c & 63)));
	}
}

/* First and last characters: Latin thrice, Greek, Cyrillic, Armenian, Hebrew, Arabic,
 * Devanagari, Tamil, Thai, Georgian, Khmer, hiragana, Han, Hangul, combining marks,
 * letterlike, mathematical, faces, Gothic, forms of full width. */
static const uint32_t scripts[][2] = {
	{ 'a', 'z' }, { 'a', 'z' }, { 'A', 'Z' }, { 0xc0, 0x17f }, { 0x391, 0x3c9 },
	{ 0x400, 0x45f }, { 0x561, 0x586 }, { 0x5d0, 0x5ea }, { 0x620, 0x64a },
	{ 0x904, 0x94d }, { 0xb85, 0xbcd }, { 0xe01, 0xe3a }, { 0x10d0, 0x10f0 },
	{ 0x1780, 0x17d3 }, { 0x3041, 0x3096 }, { 0x4e00, 0x9fa5 }, { 0xac00, 0xd7a3 },
	{ 0x300, 0x36f }, { 0x2100, 0x214f }, { 0x1d400, 0x1d454 }, { 0x1f600, 0x1f64f },
	{ 0x10330, 0x1034a }, { 0xff01, 0xff5e }
};

static void
put_word(void)
{
	const uint32_t *s = scripts[chance(sizeof scripts / sizeof *scripts)];
	uint32_t n = 1 + chance(8);

	while (n--)
		put_character(s[0] + chance(s[1] - s[0] + 1));
}

static void
put_some(void)
{
	static const char *const words[] = { "the", "of", "and", "don't", "IT'S", "we'LL",
		"isn't", "Hello", "world", "x", "int", "main(void)", "</s>", "<|im_end|>", "<0x0A>" };
	static const char *const marks[] = { ".", ",", "!", "...", "?!", "(", ")", "\"", "'",
		"==", "/*", "\xe2\x80\x94", "\xe3\x80\x82", "$" };
	static const uint32_t blanks[] = { ' ', ' ', ' ', ' ', ' ', '\n', '\t', '\r', 0xa0,
		0x3000, 0x2003, 0x85, 0x2028, 0x200b, 0x180e };
	uint32_t n;

	switch (chance(8)) {
	case 0:
		for (n = 1 + chance(12); n--;)
			put_character('0' + chance(10));
		break;
	case 1:
		fputs(marks[chance(sizeof marks / sizeof *marks)], stdout);
		break;
	case 2:
	case 3:
		fputs(words[chance(sizeof words / sizeof *words)], stdout);
		break;
	case 4:
		n = 1 + chance(chance(9) ? 2 : 40);
		while (n--)
			put_character(blanks[chance(sizeof blanks / sizeof *blanks)]);
		break;
	default:
		put_word();
	}
	if (chance(3))
		putchar(' ');
}

int
main(int argc, char **argv)
{
	char kind = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 't';
	int i = kind == 't' ? 1 : 2;
	long bytes;

	if (i >= argc) {
		fputs("usage: texts [-n | -w] BYTES [SEED]\n", stderr);
		return 2;
	}
	bytes = strtol(argv[i], NULL, 10);
	if (argc > i + 1)
		state = strtoull(argv[i + 1], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
	if (kind == 'w')
		for (; bytes > 0; bytes--)
			putchar((int)('a' + chance(4)));
	else if (kind == 'n')
		for (; bytes > 0; bytes--) {
			putchar((int)chance(256));
			if (chance(40) == 0)
				put_some();
		}
	else
		/* Each is some six bytes. */
		for (bytes /= 7; bytes > 0; bytes--)
			put_some();
	return fflush(stdout) == 0 ? 0 : 1;
}
