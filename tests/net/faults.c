/*
 * Faults that a test asks for. Each line of ROOT/faults is a rule:
 *
 *   METHOD PATTERN WORD...
 *
 * METHOD may be "*"; PATTERN is a shell pattern of the decoded path, in which "*" also matches
 * "/". All rules that match a request hold. The words, where values decode %XX:
 *
 *   times=N skip=N      the rule holds for N requests, after it did not for N
 *   status=CODE         the status, with a short body
 *   header=NAME:VALUE   one more header; may be given several times
 *   location=URL        a redirect (302 without status=)
 *   loop                a redirect to the same path
 *   body=FILE           the content of ROOT/FILE instead
 *   etag=TEXT           another ETag
 *   noranges            Range is ignored: 200 and the whole body
 *   needrange           400 without Range
 *   badrange            Content-Range is one byte off
 *   flip=N              the byte at offset N of the file is changed
 *   short=N             the connection is closed after N bytes of the body
 *   cut=N               the same at offset N of the file
 *   stall=N             nothing is sent after N bytes of the body, until the client closes
 *   length=N            Content-Length is N
 *   chunked             no Content-Length: chunks
 *   endless             the body does not end
 *   endless-headers     the headers do not end
 *   reset               the connection is closed before the answer
 *
 * Uses are counted anew when the text of the file changes.
 */
#include "server.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_RULES 64

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long used[LIMIT_RULES];
static char *known;

/* Counts from 0 if the rules differ from those of the last request. */
static void
count_anew(const char *rules)
{
	if (known != NULL && strcmp(known, rules) == 0)
		return;
	free(known);
	known = strdup(rules);
	memset(used, 0, sizeof(used));
}

static void
number(uint64_t *to, const char *value)
{
	*to = strtoull(value, NULL, 0);
}

static void
string(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
}

/* Returns the text after "name=" if the word begins so. */
static char *
value_of(char *word, const char *name)
{
	size_t n = strlen(name);

	return strncmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static void
word_apply(struct fault *f, char *word)
{
	const struct {
		const char *name;
		uint64_t *at;
	} numbers[] = { { "short", &f->short_at }, { "cut", &f->cut }, { "stall", &f->stall },
		{ "flip", &f->flip }, { "length", &f->length } };
	const struct {
		const char *name;
		char **at;
	} strings[] = { { "etag", &f->etag }, { "location", &f->location }, { "body", &f->body } };
	const struct {
		const char *name;
		bool *at;
	} flags[] = { { "noranges", &f->noranges }, { "needrange", &f->needrange },
		{ "badrange", &f->badrange }, { "chunked", &f->chunked }, { "endless", &f->endless },
		{ "endless-headers", &f->endless_headers }, { "loop", &f->loop },
		{ "reset", &f->reset } };
	char *value;

	decode(word);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if ((value = value_of(word, numbers[i].name)) != NULL)
			number(numbers[i].at, value);
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		if ((value = value_of(word, strings[i].name)) != NULL)
			string(strings[i].at, value);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (strcmp(word, flags[i].name) == 0)
			*flags[i].at = true;
	if ((value = value_of(word, "status")) != NULL)
		f->status = atoi(value);
	if ((value = value_of(word, "header")) != NULL)
		text_print(&f->headers, "%s\r\n", value);
}

/* Whether this use of the rule is between skip= and times=. */
static bool
rule_holds(const char *words, unsigned long use)
{
	const char *times = strstr(words, " times="), *skip = strstr(words, " skip=");
	unsigned long first = skip != NULL ? strtoul(skip + 6, NULL, 10) : 0;

	return use >= first && (times == NULL || use - first < strtoul(times + 7, NULL, 10));
}

static void
rule_apply(const struct request *r, struct fault *f, size_t i, char *line)
{
	char *save = NULL, *copy = strdup(line), *method = strtok_r(line, " ", &save);
	char *pattern = strtok_r(NULL, " ", &save), *word;

	if (method != NULL && pattern != NULL &&
			(strcmp(method, "*") == 0 || strcmp(method, r->method) == 0) &&
			fnmatch(pattern, r->path, 0) == 0 && rule_holds(copy, used[i]++))
		while ((word = strtok_r(NULL, " ", &save)) != NULL)
			word_apply(f, word);
	free(copy);
}

void
fault_find(const struct request *r, struct fault *f)
{
	struct text rules = { 0 };
	char *save = NULL;
	size_t i = 0;

	*f = (struct fault){ .short_at = UINT64_MAX, .cut = UINT64_MAX, .stall = UINT64_MAX,
		.flip = UINT64_MAX, .length = UINT64_MAX };
	pthread_mutex_lock(&mutex);
	if (file_read("faults", &rules) && rules.n > 0) {
		count_anew(rules.at);
		for (char *line = strtok_r(rules.at, "\n", &save); line != NULL && i < LIMIT_RULES;
				line = strtok_r(NULL, "\n", &save))
			rule_apply(r, f, i++, line);
	}
	pthread_mutex_unlock(&mutex);
	text_free(&rules);
}

void
fault_free(struct fault *f)
{
	free(f->etag);
	free(f->location);
	free(f->body);
	text_free(&f->headers);
}
