/* host: what the module asks of the program around it (web/aprml.js). This is all that it imports,
 * under the name "apr". Offsets and sizes are doubles, which hold integers up to 2^53, because
 * 64-bit integers need another type in JavaScript.
 */
#ifndef CORE_WASM_HOST_H
#define CORE_WASM_HOST_H

#include <stddef.h>
#include <stdint.h>

#define HOST(name) __attribute__((import_module("apr"), import_name(#name))) extern

/* A file by its name: its number, which is not negative, or -errno. Written files are created empty. */
HOST(open) int host_open(const char *name, size_t n, int writes);
HOST(size) double host_size(int file);
HOST(close) void host_close(int file);

/* Copies between 1 and n bytes from or to this offset. Returns their number, 0 at the end, or
 * -errno. */
HOST(read) int host_read(int file, double at, void *p, size_t n);
HOST(write) int host_write(int file, double at, const void *p, size_t n);

/* Name i of the files that begin with these n bytes: copies up to room bytes of it and returns its
 * length, or -1 behind the last. */
HOST(list) int host_list(const char *start, size_t n, size_t i, char *name, size_t room);

/* Seconds since 1970 if wall, else of a clock that never goes back. */
HOST(clock) double host_clock(int wall);
HOST(entropy) void host_entropy(void *p, size_t n);
HOST(log) void host_log(const char *text, size_t n);

/* A decoder of compressed frames, LZ4 (0) or zstd (1): its number, which is positive, or -errno. */
HOST(decoder) int host_decoder(int kind);
HOST(decoder_free) void host_decoder_free(int decoder);

/* Begins a frame: 0, or negative. */
HOST(restart) int host_restart(int decoder);

/* Bytes to decode and room for the result. */
struct host_piece {
	const void *in;
	void *out;
	uint32_t in_n, out_n; /* afterwards: bytes that were used and made */
	char fact[128];       /* of an error */
};

/* Decodes. Returns 1 at the end of the frame, 0 before, -ERR_... (core/err.h) with p->fact filled, or less if
 * the decoder itself has failed. */
HOST(decode) int host_decode(int decoder, struct host_piece *p);

#undef HOST

#endif
