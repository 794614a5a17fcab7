#include "model/flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "model/flow_parts.h"

int
source_next(struct source *s, struct item *item, struct err *e)
{
	*item = (struct item){ 0 };
	return s->ops->next(s, item, e);
}

int
source_read(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	return s->ops->read(s, p, n, e);
}

int
source_finish(struct source *s, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t n;
	int more;

	while ((more = source_next(s, &item, e)) > 0)
		do {
			if (source_read(s, &p, &n, e) < 0)
				return -1;
		} while (n > 0);
	return more;
}

/* Read some bytes of the body and put them to o. */
int
source_share(struct source *s, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	if (s->ops->share)
		return s->ops->share(s, o, p, n, e);
	return source_read(s, p, n, e) < 0 || (*n > 0 && out_put(o, *p, *n) < 0) ? -1 : 0;
}

int
source_zeros(struct source *s, uint64_t *n, struct err *e)
{
	*n = 0;
	return s->ops->zeros ? s->ops->zeros(s, n, e) : 0;
}

void
source_close(struct source *s)
{
	if (s)
		s->ops->close(s);
}

int
sink_begin(struct sink *s, const struct model *plan, struct err *e)
{
	return s->ops->begin(s, plan, e);
}

int
sink_put(struct sink *s, const struct item *item, struct err *e)
{
	return s->ops->put(s, item, e);
}

int
sink_write(struct sink *s, const uint8_t *p, size_t n, struct err *e)
{
	return s->ops->write(s, p, n, e);
}

int
sink_write_zeros(struct sink *s, uint64_t n, struct err *e)
{
	static const uint8_t zeros[1u << 16];
	size_t part;

	for (; n > 0; n -= part) {
		part = (size_t)num_min(n, sizeof zeros);
		if (sink_write(s, zeros, part, e) < 0)
			return -1;
	}
	return 0;
}

int
sink_zeros(struct sink *s, uint64_t n, struct err *e)
{
	return s->ops->zeros ? s->ops->zeros(s, n, e) : sink_write_zeros(s, n, e);
}

int
sink_put_end(struct sink *s, struct err *e)
{
	return s->ops->put_end(s, e);
}

int
sink_end(struct sink *s, struct err *e)
{
	return s->ops->end(s, e);
}

void
sink_close(struct sink *s)
{
	if (s)
		s->ops->close(s);
}

void
sink_tell(const struct sink *s, const char *what, uint64_t n)
{
	char text[400];

	if (n == 0 || !s->note)
		return;
	snprintf(text, sizeof text, "%s: %" PRIu64, what, n);
	s->note(text);
}

bool
item_is_sealed(const struct model *m, enum item_kind kind, size_t index)
{
	if (!m->sealed)
		return false;
	switch (kind) {
	case ITEM_TENSOR:
	case ITEM_PROV:
	case ITEM_SIGN:
		return true;
	case ITEM_BLOB:
		return strcmp(m->blobs[index].type, MODEL_VALUE) != 0;
	case ITEM_LICENCE:
	case ITEM_OTHER:
	case ITEM_SKEY:
		break;
	}
	return false;
}

void
item_sizes(const struct model *m, enum item_kind kind, size_t index, uint64_t *head,
           uint64_t *body)
{
	*head = *body = 0;
	switch (kind) {
	case ITEM_BLOB:
		*body = m->blobs[index].bytes;
		break;
	case ITEM_LICENCE:
		*body = m->licence;
		break;
	case ITEM_TENSOR:
		*body = tensor_bytes(m->tensors[index]);
		break;
	case ITEM_PROV:
		*head = m->provs[index];
		break;
	case ITEM_SIGN:
		*head = MODEL_SIGN_HEAD;
		*body = model_sign_body(m);
		break;
	case ITEM_SKEY:
		*head = m->sealed;
		break;
	case ITEM_OTHER:
		break;
	}
	if (!item_is_sealed(m, kind, index))
		return;
	/* The head is sealed as well, in front of the body. */
	if (num_add(*head, *body, body) < 0 || model_sealed_bytes(*body, body) < 0)
		*body = UINT64_MAX;
	*head = 0;
}

/* The head of the prov frame that stands for an ended signature. Its length
 * depends on the operation alone, so that a plan can announce it. */
static int
prov_head(const struct flow_run *r, struct buf *b)
{
	buf_text(b, "{\"operation\":");
	json_quote(b, r->f->operation, strlen(r->f->operation));
	buf_printf(b, r->source->verified ? ",\"parent\":\"%s\",\"key\":\"%s\"}"
	                                  : ",\"claimed_parent\":\"%s\",\"claimed_key\":\"%s\"}",
	           r->root, r->key);
	return buf_string(b) ? 0 : err_memory(r->e);
}

static bool
is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* Remember the root and key id of a signature that ends here. */
static int
remember(struct flow_run *r, const struct item *item)
{
	json_t *head;
	const char *root, *key;
	int ok;

	if (r->remembered)
		return 0;
	head = json_parse(item->head, item->head_bytes, ERR_CORRUPT, "sign frame", r->e);
	if (!head)
		return -1;
	ok = json_member_text(head, "root", &root) == 0 && is_hex(root, FLOW_ROOT) &&
	     json_member_text(head, "key", &key) == 0 && is_hex(key, FLOW_KEY);
	if (ok) {
		memcpy(r->root, root, FLOW_ROOT);
		memcpy(r->key, key, FLOW_KEY);
		r->remembered = true;
	}
	json_decref(head);
	return ok ? 0 : err_set(r->e, ERR_CORRUPT, "sign frame", "has no root or key");
}

int
flow_record(struct buf *b, const char *operation, bool verified, const char *head,
            size_t head_bytes, struct err *e)
{
	const struct item sign = { .kind = ITEM_SIGN, .head = head, .head_bytes = head_bytes };
	const struct flow f = { .operation = operation };
	struct source s = { .verified = verified };
	const struct flow_run none = { .source = &s, .f = &f, .e = e };
	struct flow_run r = none;

	return remember(&r, &sign) < 0 ? -1 : prov_head(&r, b);
}

void
flow_renumber(struct flow_run *r, struct item *item)
{
	switch (item->kind) {
	case ITEM_TENSOR:
		item->index = r->tensors++;
		break;
	case ITEM_BLOB:
		item->index = r->blobs++;
		break;
	case ITEM_PROV:
		item->index = r->provs++;
		break;
	case ITEM_SIGN:
		item->index = r->signs++;
		break;
	case ITEM_LICENCE:
	case ITEM_OTHER:
	case ITEM_SKEY:
		break;
	}
}

const struct meta *
flow_key_of(struct flow_run *r, const struct item *in)
{
	const struct model *m = r->source->plan;

	if (in->kind != ITEM_BLOB || strcmp(m->blobs[in->index].type, MODEL_VALUE) != 0)
		return NULL;
	while (r->keys < m->meta_count && m->meta[r->keys].blob != in->index)
		r->keys++;
	return r->keys < m->meta_count ? &m->meta[r->keys] : NULL;
}

/* Read some bytes of a body that passes unchanged, directly into the output if there is
 * one. */
static int
pass_on(struct flow_run *r, struct out *direct, const uint8_t **p, size_t *n)
{
	struct source *s = r->source;

	if (direct && r->f->proves) {
		if (source_read(s, p, n, r->e) < 0 || (*n > 0 && out_put(direct, *p, *n) < 0))
			return -1;
	} else if (direct) {
		if (source_share(s, direct, p, n, r->e) < 0)
			return -1;
	} else {
		return source_read(s, p, n, r->e) < 0 ||
		       (*n > 0 && sink_write(r->sink, *p, *n, r->e) < 0) ? -1 : 0;
	}
	if (*n > 0)
		r->sink->ops->passed(r->sink, *p, *n, s->crc);
	return 0;
}

int
flow_count(struct flow_run *r, uint64_t n)
{
	r->moved += n;
	if (r->f->progress)
		r->f->progress(r->f->progress_ctx, r->moved);
	return r->f->watch ? r->f->watch(r->f->progress_ctx, r->moved, r->e) : 0;
}

/* Whether zeros that the source has not stored go to the sink as such, or nowhere. A hook
 * needs all bytes of a body. */
static bool
passes_gaps(const struct flow_run *r, const struct item *in, const struct item *out, bool forward)
{
	const struct flow *f = r->f;

	return in->gaps && in->bytes == out->bytes && r->source->ops->zeros && !f->proves &&
	       (!forward || r->sink->ops->zeros) && (out->same || (!f->data && !f->placed));
}

/* Read a body with gaps to its end and forward it unchanged. */
static int
gaps_body(struct flow_run *r, bool forward)
{
	const uint8_t *p;
	uint64_t zeros;
	size_t n;

	for (;;) {
		if (source_zeros(r->source, &zeros, r->e) < 0 ||
		    (forward && zeros > 0 && sink_zeros(r->sink, zeros, r->e) < 0) ||
		    flow_count(r, zeros) < 0)
			return -1;
		if (zeros > 0)
			continue;
		if (source_read(r->source, &p, &n, r->e) < 0)
			return -1;
		if (n == 0)
			return 0;
		if ((forward && sink_write(r->sink, p, n, r->e) < 0) || flow_count(r, n) < 0)
			return -1;
	}
}

/* Read the body of an item to its end and forward it. same: data is not called. */
static int
body(struct flow_run *r, const struct item *in, bool forward, bool same)
{
	const struct meta *key = flow_key_of(r, in);
	const struct flow *f = r->f;
	bool shown = f->data && !same, passes = forward && (!shown || f->looks);
	struct out *direct = passes && r->sink->ops->direct
	                         ? r->sink->ops->direct(r->sink) : NULL;
	struct value_check value;
	const uint8_t *p;
	size_t n;

	if (key)
		value_check_begin(&value, key->type);
	for (;;) {
		if ((passes ? pass_on(r, direct, &p, &n)
		            : source_read(r->source, &p, &n, r->e)) < 0)
			return -1;
		if (n == 0)
			break;
		if (key)
			value_check_add(&value, p, n);
		if (shown && f->data(f->ctx, in, p, n, forward && !passes ? r->sink : NULL,
		                     r->e) < 0)
			return -1;
		if (flow_count(r, n) < 0)
			return -1;
	}
	if (key && !value_check_end(&value))
		return err_set(r->e, ERR_CORRUPT, r->source->plan->blobs[in->index].name,
		               "is not the value that its key announces");
	return 0;
}

/* True if the source can say where in its file the tensor lies, and the flow takes it from
 * there. */
static bool
lies(const struct flow_run *r, const struct item *in, struct range *at)
{
	struct source *s = r->source;

	if (in->kind != ITEM_TENSOR || in->place || !r->f->takes || r->sink || s->plan->sealed ||
	    !s->ops->lies || !s->ops->opened)
		return false;
	at->fd = s->ops->opened(s);
	return at->fd >= 0 && s->ops->lies(s, &at->at);
}

/* Process a body from its place in a file, or piece by piece. */
static int
whole_body(struct flow_run *r, const struct item *in, bool forward, bool same)
{
	const struct flow *f = r->f;
	struct item there = *in;
	struct range at;
	int taken = 0;

	if (lies(r, in, &at)) {
		there.place = &at;
		if (f->placed(f->ctx, &there, NULL, r->e) < 0 || body(r, in, false, true) < 0)
			return -1;
		taken = 1;
	} else if (in->place && f->placed && !same) {
		taken = f->placed(f->ctx, in, forward ? r->sink : NULL, r->e);
	}
	if (taken <= 0)
		return taken < 0 ? -1 : body(r, in, forward, same);
	return flow_count(r, in->bytes);
}

/* If the offset of a tensor in the source's file is enough for the sink, pass only that. */
static int
only_place(struct flow_run *r, const struct item *in, const struct item *out)
{
	struct source *s = r->source;
	uint64_t at;
	int file = -1;

	if (in->kind != ITEM_TENSOR || s->plan->sealed || !r->sink->place_of || r->f->data ||
	    !s->ops->lies || !s->ops->opened)
		return 0;
	file = r->sink->place_of(s->ops->opened(s));
	if (file < 0 || !s->ops->lies(s, &at))
		return 0;
	if (body(r, in, false, true) < 0 ||
	    r->sink->ops->place(r->sink, out, at, (unsigned)file, r->e) < 0)
		return -1;
	return 1;
}

int
flow_ask(struct flow_run *r, const struct item *in, struct item *out)
{
	const struct flow *f = r->f;

	*out = *in;
	if (f->operation && in->kind == ITEM_SIGN)
		return remember(r, in) < 0 ? -1 : 1;
	return f->item ? f->item(f->ctx, in, out, r->e) : 0;
}

static int
one_item(struct flow_run *r, const struct item *in)
{
	const struct flow *f = r->f;
	struct item out;
	bool forward;
	int dropped = flow_ask(r, in, &out);

	if (dropped < 0)
		return -1;
	forward = r->sink && !dropped;
	if (forward)
		flow_renumber(r, &out);
	if (forward && (dropped = only_place(r, in, &out)) != 0)
		return dropped < 0 ? -1 : 0;
	out.gaps = passes_gaps(r, in, &out, forward);
	if (forward && sink_put(r->sink, &out, r->e) < 0)
		return -1;
	if ((out.gaps ? gaps_body(r, forward) : whole_body(r, in, forward, out.same)) < 0)
		return -1;
	if (f->item_end && f->item_end(f->ctx, in, forward ? r->sink : NULL, r->e) < 0)
		return -1;
	return forward ? sink_put_end(r->sink, r->e) : 0;
}

int
flow_put_prov(struct flow_run *r)
{
	struct buf head = { 0 };
	struct item item = { .kind = ITEM_PROV, .index = r->provs++ };
	int status = prov_head(r, &head);

	if (status == 0) {
		item.head = (const char *)head.p;
		item.head_bytes = head.n;
		status = sink_put(r->sink, &item, r->e);
	}
	if (status == 0)
		status = sink_put_end(r->sink, r->e);
	buf_free(&head);
	return status;
}

int
flow_plan(struct flow_run *r, struct model *out)
{
	struct buf head = { 0 };
	int status = 0;

	memset(r->root, '0', FLOW_ROOT);
	memset(r->key, '0', FLOW_KEY);
	if (model_copy(out, r->source->plan, r->e) < 0)
		return -1;
	if (r->f->operation && out->signatures) {
		out->signatures = 0;
		status = prov_head(r, &head);
		if (status == 0)
			status = model_add_prov(out, head.n, r->e);
		buf_free(&head);
	}
	if (r->f->data)
		out->holes = 0;
	if (status == 0 && r->f->plan)
		status = r->f->plan(r->f->ctx, out, r->e);
	return status;
}

int
source_check_open(const struct source *s, struct err *e)
{
	if (!s->plan->sealed)
		return 0;
	err_set(e, ERR_DECRYPT, s->name, "is sealed");
	return err_hint(e, "apr-decrypt opens it");
}

int
flow_run(struct source *source, struct sink *sink, const struct flow *f, struct err *e)
{
	struct flow_run r = { .source = source, .sink = sink, .f = f, .e = e };
	struct model out = { 0 };
	struct item in;
	int more = -1;

	if (!source->sealed_too && source_check_open(source, e) < 0)
		return -1;
	if (flow_plan(&r, &out) < 0)
		goto end;
	if (sink && out.sealed && !sink->sealed_too) {
		err_set(e, ERR_FORMAT, source->name, "is sealed, which the output cannot hold");
		err_hint(e, "apr-decrypt opens it; APR2 files and streams can hold it");
		goto end;
	}
	if (sink && sink_begin(sink, &out, e) < 0)
		goto end;
	source->wanted = f->wanted ? f->wanted(f->ctx) : NULL;
	while ((more = source_next(source, &in, e)) > 0)
		if (one_item(&r, &in) < 0) {
			more = -1;
			break;
		}
	if (more < 0)
		goto end;
	more = -1;
	if (sink && f->operation && source->plan->signatures && flow_put_prov(&r) < 0)
		goto end;
	if (f->finish && f->finish(f->ctx, sink, e) < 0)
		goto end;
	if (sink && sink_end(sink, e) < 0)
		goto end;
	more = 0;
end:
	/* The sink may still point to the plan. Its owner closes it after this, and close
	 * must not use the plan. */
	model_free(&out);
	return more;
}
