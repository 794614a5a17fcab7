/* mkplan METADATA TENSORS: a stream on standard output whose plan has these rows
 * (JSON, written as they are), and which ends after it: for models that must be refused
 * before any data comes, or have none.
 */
#include "stream.h"

int
main(int argc, char **argv)
{
	struct frames s = { 0 };
	struct gen plan = { 0 }, g = { 0 };

	if (argc != 3)
		gen_die("two operands are needed", argv[0]);
	put_text(&plan, "{\"version\":1,\"source\":{},\"metadata\":[");
	put_text(&plan, argv[1]);
	put_text(&plan, "],\"blobs\":[],\"tensors\":[");
	put_text(&plan, argv[2]);
	put_text(&plan, "],\"signatures\":0}");
	put_u8(&plan, 0);
	put_frame(&s, "APRS", "APRS", (char *)plan.p);
	put_frame(&s, "DONE", "DONE", "{\"tensors\":0}");
	write_frames(&g, &s);
	if (fwrite(g.p, 1, g.n, stdout) != g.n || fflush(stdout) != 0)
		gen_die("cannot be written", "standard output");
	gen_free(&plan);
	gen_free(&g);
	frames_free(&s);
	return 0;
}
