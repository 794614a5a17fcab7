#include "core/characters.h"

#include <utf8proc.h>

enum character_category
character_category(uint32_t c)
{
	_Static_assert((int)CHARACTER_CO == (int)UTF8PROC_CATEGORY_CO &&
	               (int)CHARACTER_ZS == (int)UTF8PROC_CATEGORY_ZS &&
	               (int)CHARACTER_ND == (int)UTF8PROC_CATEGORY_ND, "the order of categories");
	return (enum character_category)utf8proc_category((utf8proc_int32_t)c);
}

unsigned
character_class(uint32_t c)
{
	return (unsigned)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

uint32_t
character_lower(uint32_t c)
{
	return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

uint32_t
character_title(uint32_t c)
{
	return (uint32_t)utf8proc_totitle((utf8proc_int32_t)c);
}

size_t
character_decompose(uint32_t c, bool compatible, uint32_t to[CHARACTER_LONGEST])
{
	int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
	utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, (utf8proc_int32_t *)to,
	                                             CHARACTER_LONGEST, (utf8proc_option_t)options, NULL);

	return n > 0 ? (size_t)n : 0;
}

size_t
characters_compose(uint32_t *c, size_t n)
{
	utf8proc_ssize_t left =
		utf8proc_normalize_utf32((utf8proc_int32_t *)c, (utf8proc_ssize_t)n,
	                                 (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));

	return left > 0 ? (size_t)left : 0;
}
