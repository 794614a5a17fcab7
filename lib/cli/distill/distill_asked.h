/* distill_asked: what the command line of apr-distill asks for. */
#ifndef CLI_DISTILL_DISTILL_ASKED_H
#define CLI_DISTILL_DISTILL_ASKED_H

#include "cli/tool.h"
#include "core/buf.h"
#include "distill/course.h"
#include "distill/student.h"

struct distill_asked {
	const char *data, *validate, *checkpoint;
	const char *student, *fresh, *size, *keep; /* what the student begins as */
	uint64_t layers;
	uint64_t steps, epochs, warm, batch, accumulate, context, seed, every, jobs;
	double alpha, temperature, rate, decay, clip, held_out;
	bool resume, json;
	struct output_options output;

	struct buf text, validation; /* of the files */
};
#define DISTILL_ASKED { .alpha = -1, .temperature = -1, .rate = -1, .decay = -1, .clip = -1, \
	.held_out = -1, .warm = UINT64_MAX }

/* Rows of a tool's option table. */
#define OPT_DISTILL(o) \
	TEXT(0, "data", "FILE", &(o)->data, "learn the text of FILE; .jsonl: JSON lines"), \
	NUMBER(0, "layers", "N", &(o)->layers, 1, UINT32_MAX, \
	       "the student has N layers of the model"), \
	TEXT(0, "keep", "WHICH", &(o)->keep, \
	     "these: spread (default), first, cosine, or a list such as 0,2"), \
	TEXT(0, "size", "SIZE", &(o)->size, "small: half of the layers; tiny: a quarter"), \
	TEXT(0, "student", "FILE", &(o)->student, "the student is the model FILE"), \
	TEXT(0, "new", "SIZES", &(o)->fresh, \
	     "the student is new: layers=N,hidden=N,heads=N,kv=N,ff=N,context=N"), \
	DECIMAL(0, "alpha", "X", &(o)->alpha, 0, 1, \
	        "the teacher's share in the loss (default: 0.5; 0: no teacher)"), \
	DECIMAL(0, "temperature", "T", &(o)->temperature, 0, 1000, \
	        "of the teacher's probabilities (default: 2)"), \
	NUMBER(0, "epochs", "N", &(o)->epochs, 1, UINT32_MAX, "learn the text N times (default: 3)"), \
	NUMBER(0, "steps", "N", &(o)->steps, 1, UINT32_MAX, "do N steps"), \
	DECIMAL(0, "lr", "X", &(o)->rate, 0, 1, "the learning rate (default: 0.001)"), \
	NUMBER(0, "warmup", "N", &(o)->warm, 0, UINT32_MAX, \
	       "steps until it is reached (default: a twentieth, at most 100)"), \
	DECIMAL(0, "decay", "X", &(o)->decay, 0, 1, "the decay of weights (default: 0.1)"), \
	DECIMAL(0, "clip", "X", &(o)->clip, 0, UINT32_MAX, \
	        "the longest gradient (default: 1; 0: any)"), \
	NUMBER(0, "batch", "N", &(o)->batch, 1, 65536, "parts of the text in a batch (default: 8)"), \
	NUMBER(0, "accumulate", "N", &(o)->accumulate, 1, 65536, "batches in a step (default: 1)"), \
	NUMBER(0, "context", "N", &(o)->context, 4, UINT32_MAX, \
	       "tokens in a part (default: the model's, at most 256)"), \
	NUMBER(0, "seed", "N", &(o)->seed, 0, UINT64_MAX, "of the random numbers (default: 0)"), \
	TEXT(0, "validate", "FILE", &(o)->validate, "measure the student with the text of FILE"), \
	DECIMAL(0, "held-out", "X", &(o)->held_out, 0, 1, \
	        "measure it with the last share X of the text (default: 0.05)"), \
	NUMBER(0, "every", "N", &(o)->every, 1, UINT32_MAX, \
	       "measure and save after N steps (default: a twentieth of all, at most 100)"), \
	TEXT(0, "checkpoint", "FILE", &(o)->checkpoint, "save the state of the training in FILE"), \
	FLAG(0, "resume", &(o)->resume, "go on where the checkpoint stands, if there is one"), \
	FLAG(0, "json", &(o)->json, "print each measurement as one object per line, on standard error")

/* Prove what needs no file, and fill in defaults. 0, or -1 with ERR_USAGE. */
int distill_asked_check(struct distill_asked *a, struct err *e);

/* Read the texts, before the sandbox; operand: the model. 0 or -1; distill_asked_free in any case. */
int distill_asked_read(struct distill_asked *a, const char *operand, struct err *e);
void distill_asked_free(struct distill_asked *a);

/* What the student begins as. text: tokens, for --keep cosine. how->kept is the caller's. 0 or -1. */
int distill_asked_student(const struct distill_asked *a, const struct train_model *teacher,
                          const struct weights *weights, const struct tokens *text,
                          struct student_how *how, struct err *e);

/* How it learns n tokens. 0 or -1. */
int distill_asked_course(const struct distill_asked *a, const struct train_model *student, size_t n,
                         struct course_how *how, struct err *e);

#endif
