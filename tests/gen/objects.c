/* objects: check that each line of standard input is one JSON object, and name those that
 * are not. */
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

int
main(void)
{
	char *line = NULL;
	size_t cap = 0;
	unsigned n = 0;
	json_error_t why;

	while (getline(&line, &cap, stdin) >= 0) {
		json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &why);

		n++;
		if (!json_is_object(o)) {
			fprintf(stderr, "objects: line %u: %s\n", n, o ? "no object" : why.text);
			return 1;
		}
		json_decref(o);
	}
	free(line);
	return n == 0;
}
