/* cache_text: what the caches hold, as text and JSON. */
#ifndef CLI_CACHE_CACHE_TEXT_H
#define CLI_CACHE_CACHE_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/json.h"
#include "hub/stock.h"

/* Appends the sums of both caches. */
void cache_put_info(struct buf *b, const struct stock *s, bool json);

/* Appends a line for each chosen revision, and for what no revision of a chosen repository
 * needs. */
void cache_put_list(struct buf *b, const struct stock *s, bool json);

/* Appends the name of a revision, "org/name@1a5378b527b5 (main)", escaped. */
void cache_put_revision(struct buf *b, const struct stock_revision *v);

/* The members that name a revision: cache, name, commit, refs. A new reference, or NULL. */
json_t *cache_json_revision(const struct stock_cache *c, const struct stock_revision *v);

#endif
