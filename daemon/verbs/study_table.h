/* study_table: the figures that `peakd study` prints and writes. A row is one transformation, applied by one model a number of
 * times, each time from the same checkpoint: {transformation, model, parent, each: [{try, first, checkpoint, asked, repairs,
 * tokens_in, tokens_out, tokens_cached, error}]}. `first` is "right" or the first trouble, "" when nothing was judged;
 * checkpoint 0: not accepted. Used by study.c. */
#ifndef PEAKD_DAEMON_VERBS_STUDY_TABLE_H
#define PEAKD_DAEMON_VERBS_STUDY_TABLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* The figures of a list of rows: {rows: [the row and its counts], pooled: {counts of all}}. Counts: tries (those that were judged);
 * right (accepted, and no answer needed a repair); the first trouble of the others (malformed, compile, wrong, crash, narrow); what
 * became of them (repaired, given_up); unjudged; sums (asked to tokens_cached); the interval of right (low and high). */
json_t *study_table_json(const json_t *rows);
/* Wilson's score interval at 95 % of `right` out of `tries` (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927); 0 and 1 without tries. */
void study_table_interval(size_t right, size_t tries, double *ret_low, double *ret_high);
/* Prints these figures: one line a row and one for all, with the interval. */
void study_table_print(const json_t *figures, FILE *out);

#endif
