#include "cli/ids.h"

#include <string.h>

#include "cli/tool.h"
#include "core/text.h"

#define BETWEEN ", \t\r\n[]"

int
ids_parse(struct tokens *t, const char *text, struct err *e)
{
	char number[16];
	uint64_t id;
	size_t n;

	for (text += strspn(text, BETWEEN); *text; text += strspn(text, BETWEEN)) {
		n = strcspn(text, BETWEEN);
		memcpy(number, text, n < sizeof number ? n : sizeof number);
		number[n < sizeof number ? n : sizeof number - 1] = 0;
		if (n >= sizeof number || text_u64(number, 0, UINT32_MAX, &id) < 0)
			return tool_misused(e, "%.*s is not a token id",
			                    (int)(n < 40 ? n : 40), text);
		if (tokens_add(t, (uint32_t)id, e) < 0)
			return -1;
		text += n;
	}
	return 0;
}
