/* advice: micro-profiling tools: rules of an expert, each a small Markdown file. It says for which class of kernels it asks, when
 * it speaks and what its evidence is. Two sentences of guidance and the transformations to try complete it:
 *
 *     ---
 *     class: memory, latency
 *     when: load_efficiency < 0.5 and loads_per_flop > 0.01
 *     evidence: a wave uses {load_efficiency%} of the bytes that it fetches
 *     try: tb-tiling, vectorize
 *     gain: 1 / load_efficiency
 *     ---
 *     Neighbouring threads read places that are far apart. Let ...
 *
 * {limiter} is what limits the occupancy; gain: (1 where it is missing) reckons how many times faster at most, and only orders what
 * is said. First the class of a kernel is found, then the tools that fit it are asked. A user's folder adds tools, and hides
 * shipped ones of the same name. Called by core/measure/profile and by `peakd profile --list-tools`. */
#ifndef PEAKD_CORE_ADVISE_ADVICE_H
#define PEAKD_CORE_ADVISE_ADVICE_H

#include "base/err.h"
#include "base/front_matter.h"
#include "core/advise/figures.h"

/* What limits a kernel, by the roofline: a roof that is near, or neither. */
enum advice_class {
	ADVICE_MEMORY,  /* the copy ceiling is near, or the only one that can be */
	ADVICE_COMPUTE, /* the arithmetic ceiling */
	ADVICE_LATENCY, /* both are far: too little work under way, or too many instructions beside the work */
	ADVICE_LAUNCH,  /* launching takes much of the time */
	ADVICE_CLASSES
};
extern const char *const advice_class_names[ADVICE_CLASSES + 1]; /* NULL at the end */

/* The classes that `class:` names, as bits 1 << enum advice_class; "any" names all; 0: there is no such line. `file` is for
 * errors. */
int advice_classes_read(const struct front_matter *m, const char *file, unsigned *ret_classes, struct err *e);
/* From the shares of the ceilings; *ret_why (free()) gives the figures in words. ADVICE_CLASSES where they are not known. */
enum advice_class advice_classify(const struct figures *f, char **ret_why);

struct advisor {
	char *name, *file;
	unsigned classes;                    /* bits: 1 << enum advice_class */
	char *when, *evidence, *text, *gain; /* text: the guidance, one line */
	char **try;                          /* names of transformations */
	size_t try_count;
	struct expr *condition, *reckoned; /* when: and gain:; reckoned is NULL where there is none */
};

struct advisors {
	struct advisor *at;
	size_t count;
};

/* All *.md of the folders, by name; the first folder that has a name counts. Missing folders and NULLs are passed over. -ERR_INPUT
 * names file and line. */
int advice_read(const char *const *folders, size_t folder_count, struct advisors *ret_advisors, struct err *e);
void advice_fini(struct advisors *t);

/* What one tool said of one kernel. */
struct advice {
	char *tool, *evidence, *text, *try; /* try: names with ", " between them; NULL none */
	double gain;                        /* as reckoned; the largest comes first */
};

/* Asks those of the class, or all where it is ADVICE_CLASSES. ret_advice: advice_free. *ret_closed (free(), NULL none): tools whose
 * figures are not there, in words. */
void advice_ask(const struct advisors *t, const struct figures *f, enum advice_class class, struct advice **ret_advice,
		size_t *ret_count, char **ret_closed);
void advice_free(struct advice *take_at, size_t count);

#endif
