/* knowledge: which notes (note.h) fit a checkpoint on a device, and what peakd measured of their advice. An application counts for
 * a note when the note suggests its transformation, and no profile of the parent says that the symptom was absent. Advice that was
 * refuted three times on a class of devices is no longer offered there. Used by prompts, by `profile`, by `peakd knowledge` and by
 * core/optimize. */
#ifndef PEAKD_CORE_KNOWLEDGE_KNOWLEDGE_H
#define PEAKD_CORE_KNOWLEDGE_KNOWLEDGE_H

#include "core/advise/advice.h"
#include "core/context/context.h"
#include "core/knowledge/note.h"

struct db;

/* What peakd measured of one note's advice on one class of devices. */
struct standing {
	unsigned helped, refuted, unclear; /* applications: faster than the parent; not faster; too noisy to say */
	double log_sum;                    /* natural logarithms of the speed-ups of those that helped or were refuted */
	double expected;                   /* speed-up: the note's own, moved by what was measured */
	bool withdrawn;                    /* refuted KNOWLEDGE_REFUTED times, and no gain on the whole: not offered */
};
enum { KNOWLEDGE_REFUTED = 3 };

struct knowledge_hit {
	const struct note *note;
	struct standing standing;
	double worth; /* the most promising first */
};

struct knowledge {
	struct knowledge_hit *at;
	size_t count;
};

/* What is known of the kernel. All borrowed. */
struct knowledge_query {
	const struct notes *notes;
	const struct facts *facts;
	int64_t checkpoint;        /* whose profile counts; 0: none */
	const struct context *ctx; /* whose words count */
	const char *applying;      /* a transformation that will be applied; its notes come first; NULL */
};

/* The notes that fit, the most promising first. knowledge_fini; the notes stay the caller's. */
int knowledge_search(struct db *db, const struct knowledge_query *q, struct knowledge *ret_knowledge, struct err *e);
/* Every note that fits the device, by name, whatever the kernel; facts NULL: every note, over all devices. */
int knowledge_list(struct db *db, const struct notes *notes, const struct facts *facts, struct knowledge *ret_knowledge,
		   struct err *e);
void knowledge_fini(struct knowledge *k);
/* At most `most` of them as a Markdown list, for a model or an agent. Nothing where there is none. */
void knowledge_write(const struct knowledge *k, size_t most, struct buf *out);
/* "3 of 4 tries faster, 1.3x on average", "not tried here yet". */
void knowledge_say(const struct standing *s, struct buf *out);

/* Takes from each advice the transformations that were refuted three times where its tool speaks. */
int knowledge_screen(struct db *db, const struct facts *facts, const struct advisors *advisors, struct advice *io_advice,
		     size_t count, struct err *e);
/* Records of which class a device is; called where measurements and comparisons are recorded. */
int knowledge_remember(struct db *db, const struct facts *facts, struct err *e);

#endif
