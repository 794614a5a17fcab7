/* A model as a play (version 2, section 4.3). */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "report/debug.h"

/* Appends a number with commas: 39,000,000. */
static void
put_commas(struct buf *b, uint64_t n)
{
	if (n >= 1000) {
		put_commas(b, n / 1000);
		buf_printf(b, ",%03" PRIu64, n % 1000);
	} else {
		buf_printf(b, "%" PRIu64, n);
	}
}

static void
put_scene(struct buf *b, unsigned *scene, const char *what)
{
	buf_printf(b, "  Scene %u: %s... ", ++*scene, what);
}

static void
put_header(struct buf *b, const uint8_t *head, size_t n, const char *format, json_t *facts)
{
	json_t *version = json_object_get(facts, "version");
	unsigned scene = 0;
	char text[32];

	buf_text(b, "ACT I: THE HEADER\n");
	put_scene(b, &scene, "Magic bytes");
	text_quote(text, sizeof text, (const char *)head, n < 4 ? n : 4);
	buf_printf(b, "%s %s\n", text, format ? "(applause!)" : "(silence. Nobody knows them.)");
	put_scene(b, &scene, "Format");
	buf_printf(b, "%s\n", format ? format : "unknown (a murmur in the stalls)");
	put_scene(b, &scene, "Version check");
	if (!version) {
		buf_text(b, facts ? "none is stated (a shrug)\n" : "the page is torn (gasps)\n");
		return;
	}
	if (json_is_string(version))
		buf_text(b, text_quote(text, sizeof text, json_string_value(version),
		                       json_string_length(version)));
	else
		json_show(version, b);
	buf_text(b, " (standing ovation!)\n");
}

static uint64_t
fact(json_t *facts, const char *name)
{
	uint64_t n = 0;

	json_member_u64(facts, name, &n);
	return n;
}

static void
put_metadata(struct buf *b, json_t *facts)
{
	const char *arch = json_string_value(json_object_get(facts, "architecture"));
	uint64_t parameters = fact(facts, "parameters");
	unsigned scene = 0;
	char text[300];

	buf_text(b, "\nACT II: THE METADATA\n");
	if (!facts) {
		buf_text(b, "  The curtain does not rise.\n");
		return;
	}
	put_scene(b, &scene, "Parameters");
	put_commas(b, parameters);
	buf_text(b, parameters >= 1000000 ? " (a cast of millions!)\n"
	            : parameters ? " (a chamber play)\n" : " (an empty stage)\n");
	put_scene(b, &scene, "Tensors");
	put_commas(b, fact(facts, "tensors"));
	buf_text(b, "\n");
	put_scene(b, &scene, "Architecture");
	buf_printf(b, "%s\n", arch ? text_quote(text, sizeof text, arch, strlen(arch))
	                           : "unknown (a masked stranger!)");
	put_scene(b, &scene, "Signatures");
	if (fact(facts, "signatures"))
		buf_printf(b, "%" PRIu64 " (not verified: a sealed letter)\n",
		           fact(facts, "signatures"));
	else
		buf_text(b, "none (nobody signed the letter)\n");
}

void
debug_drama(struct buf *b, const char *name, const uint8_t *head, size_t n, const char *format,
            json_t *facts, const struct err *v)
{
	char text[400];

	buf_printf(b, "====[ DRAMA: %s ]====\n\n", text_quote(text, sizeof text, name, strlen(name)));
	put_header(b, head, n, format, facts);
	put_metadata(b, facts);
	buf_text(b, "\nACT III: THE VERDICT\n");
	if (v->code == ERR_NONE) {
		buf_text(b, "  Scene 1: The structure holds to the last byte of the header.\n"
		            "  CURTAIN CALL: Model is READY TO BE READ! (apr-check judges its "
		            "values)\n");
		return;
	}
	buf_printf(b, "  Scene 1: %s: %s\n", v->object, v->fact);
	buf_printf(b, "  CURTAIN FALLS: E%03d. A TRAGEDY! (apr-explain E%03d)\n", (int)v->code,
	           (int)v->code);
}
