/* study_table: the figures that `peakd study` prints and writes. A row is one transformation, applied by one model a number of
 * times, each time from the same checkpoint. Used by study.c. */
#ifndef PEAKD_DAEMON_VERBS_STUDY_TABLE_H
#define PEAKD_DAEMON_VERBS_STUDY_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One independent try. */
struct study_try {
	unsigned number;         /* from 1; names the recordings */
	char *id;                /* the job's */
	char *first;             /* "right", "malformed", "compile", "wrong", "crash", "narrow"; "" when nothing was judged */
	char *error;             /* why it was not accepted; NULL when it was */
	int64_t checkpoint;      /* 0: not accepted */
	unsigned asked, repairs; /* answers, and how many of them were repairs or fresh samples */
	uint64_t tokens_in, tokens_out, tokens_cached; /* 0 where the provider does not say */
};

struct study_row {
	char *transformation, *model;
	int64_t parent; /* checkpoint that every try started from */
	struct study_try *tries;
	size_t try_count;
};

struct study_table {
	struct study_row *rows;
	size_t row_count;
};

/* Sums over rows. Every judged try counts once in right … narrow, and once in right, repaired and given_up. */
struct study_sum {
	size_t tries;                                    /* judged tries */
	size_t right;                                    /* accepted, and no answer needed a repair */
	size_t malformed, compile, wrong, crash, narrow; /* the first trouble of the others */
	size_t repaired, given_up;                       /* what became of the others */
	size_t unjudged;                                 /* no model, no device or cancelled: no verdict, and not among `tries` */
	unsigned asked, repairs;
	uint64_t tokens_in, tokens_out, tokens_cached;
};

void study_table_fini(struct study_table *t);
struct study_row *study_table_add(struct study_table *t, const char *transformation, const char *model, int64_t parent);
/* The first accepted try among the last `rows` rows; NULL when none was. */
const struct study_try *study_table_accepted(const struct study_table *t, size_t rows);
struct study_sum study_table_sum(const struct study_row *rows, size_t count);
/* Wilson's score interval at 95 % of `right` out of `tries` (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927); 0 and 1 without tries. */
void study_table_interval(size_t right, size_t tries, double *ret_low, double *ret_high);
/* Prints one line a row and one for all, with the interval. */
void study_table_print(const struct study_table *t, FILE *out);
/* {rows: [{transformation, model, parent, tries, right, …, each: [{…}]}], pooled: {…, low, high}} */
json_t *study_table_json(const struct study_table *t);

#endif
