/* files: descriptors of more than the host's files.
 */
#ifndef CORE_WASM_FILES_H
#define CORE_WASM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_lender {
	int64_t (*read)(void *ctx, uint64_t at, void *p, size_t n);
	void *ctx;
};

/* A descriptor of a file of this size that the lender reads. -1 with errno. */
int file_lend(const struct file_lender *lender, uint64_t bytes);

/* A descriptor of a folder; its name, or NULL. */
int file_folder(const char *name, size_t n);
const char *file_folder_name(int fd);

#endif
