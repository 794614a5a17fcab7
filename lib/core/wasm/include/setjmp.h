/* setjmp: a jump out of functions does not exist in WebAssembly. It ends the module's instance
 * instead, whose memory is separate from everything else; its user gets an error and may
 * begin another instance.
 */
#ifndef WASM_SETJMP_H
#define WASM_SETJMP_H

typedef int jmp_buf[1];

#define setjmp(to) ((void)(to), 0)
#define longjmp(to, value) ((void)(to), (void)(value), __builtin_trap())

#endif
