/* private: what a long call may use (struct aprml_work), and the memory of all calls. Names begin with
 * api_ and are hidden from the linker of a program.
 */
#ifndef API_JOB_H
#define API_JOB_H

#include <stdatomic.h>
#include <stdint.h>

#include "api/compute.h"

/* Why a call has to end. */
enum api_stop { API_GOES_ON, API_CANCELLED, API_LATE, API_FULL };

/* The memory that a call of this thread has allocated and not freed, and what ends the call. Each
 * allocation asks for that, so that a header is read within the limits, too. */
struct api_meter {
	uint64_t used, most; /* most 0: any number of bytes */
	double deadline;     /* of a clock that only goes forward; 0: none */
	const atomic_bool *cancelled; /* or NULL */
	enum api_stop stop;
};

/* A call, from api_job_begin to api_job_end. Then remarks of this thread go to its log, and its memory is
 * counted. A call-back of the program may make other calls meanwhile. */
struct api_job {
	struct aprml_work work;
	struct api_log log;
	struct api_meter meter;
	uint64_t all;        /* bytes of tensors in all */
	bool stopped;        /* the program, or the limit of time, has ended the call */
	struct api_meter *meter_before; /* of the call around this one, or NULL */
	const struct api_log *log_before;
};

/* Prove and copy the structure; NULL stands for one of zeros. 0, or -1 with e filled. */
int api_work(struct aprml_work *to, const struct aprml_work *from, struct err *e);

/* cancelled: true if the call is to end; or NULL. */
void api_job_begin(struct api_job *j, const struct aprml_work *work, const atomic_bool *cancelled);

/* If the call failed because of a limit, that is what e says then. */
void api_job_end(struct api_job *j, struct err *e);

/* The number of threads, at least 1. */
unsigned api_job_threads(const struct api_job *j);

/* `done` bytes of tensors have passed. -1 with e filled: the call is to end. */
int api_job_watch(struct api_job *j, uint64_t done, struct err *e);

/* Let a flow report to the job: its hook watch (model/flow.h). */
void api_job_hooks(struct api_job *j, struct flow *f, const struct model *plan);

/* Why the call is to end now. */
enum api_stop api_stops(struct api_meter *m);

/* For host.c: counts the memory of this thread, or NULL; what the program gives. */
extern _Thread_local struct api_meter *api_meter;
extern struct aprml_host api_host;

#endif
