/* private: what a long call may use (struct aprml_work), and the memory of all calls. Names begin with
 * api_ and are hidden from the linker of a program.
 */
#ifndef API_JOB_H
#define API_JOB_H

#include <stdint.h>

#include "api/compute.h"

/* The memory that a call of this thread has allocated and not freed. */
struct api_meter {
	uint64_t used, most; /* most 0: any number of bytes */
};

/* A call, from api_job_begin to api_job_end. Then remarks of this thread go to its log, and its memory is
 * counted. */
struct api_job {
	struct aprml_work work;
	struct api_log log;
	struct api_meter meter;
	double deadline;     /* of a clock that only goes forward; 0: none */
	uint64_t all;        /* bytes of tensors in all */
	bool stopped;        /* the program, or the limit of time, has ended the call */
};

/* Prove and copy the structure; NULL stands for one of zeros. 0, or -1 with e filled. */
int api_work(struct aprml_work *to, const struct aprml_work *from, struct err *e);

void api_job_begin(struct api_job *j, const struct aprml_work *work);
void api_job_end(void);

/* The number of threads, at least 1. */
unsigned api_job_threads(const struct api_job *j);

/* Let a flow report to the job: its hook watch (model/flow.h). */
void api_job_hooks(struct api_job *j, struct flow *f, const struct model *plan);

/* For host.c: counts the memory of this thread, or NULL; what the program gives. */
extern _Thread_local struct api_meter *api_meter;
extern struct aprml_host api_host;

#endif
