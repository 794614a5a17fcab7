/* card_fields: the fields of a model card (check/card.h), in their order, as rows of data. */
#ifndef CHECK_CARD_FIELDS_H
#define CHECK_CARD_FIELDS_H

enum card_kind {
	CARD_SCALAR,  /* text, a number or a truth value */
	CARD_LIST,    /* an array of these */
	CARD_MAP,     /* an object */
	CARD_ENTRIES  /* an array of objects: base models, data sets */
};

enum card_group {
	CARD_DETAILS, CARD_USE, CARD_TRAINING, CARD_EVALUATION, CARD_RISKS, CARD_COMPLIANCE,
	CARD_MORE, CARD_GROUPS
};

struct card_field {
	const char *name, *label;
	enum card_kind kind;
	enum card_group group;
	const char *other;   /* second name of the key, and in model_card; or NULL */
	const char *general; /* of the key after "general.", for entries its first part; or NULL */
	const char *front[3]; /* members of the front matter */
};

/* Ended by a row without a name. The members of `compliance` have a table of their own. */
extern const struct card_field card_fields[];
extern const struct card_field card_compliance[];

#endif
