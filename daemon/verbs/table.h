/* table: rows of a tool's answer as a table that fits the terminal. Used by call.c. */
#ifndef PEAKD_DAEMON_VERBS_TABLE_H
#define PEAKD_DAEMON_VERBS_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A list of columns ends with a NULL title. */
struct table_column {
	const char *title;
	const char *path; /* members, "validation.passed"; through a list of objects ("best.params") each of them is a row */
	enum table_kind {
		TABLE_TEXT,  /* may be cut; a list is joined by commas */
		TABLE_STATE, /* coloured */
		TABLE_TIME,  /* nanoseconds */
		TABLE_NUMBER,
		TABLE_WHEN, /* ISO 8601, shown to the minute */
	} kind;
};

/* Prints the list `rows` of an answer, no wider than the terminal: text is cut with "…" first, then the last columns go. Columns
 * without any value are left out. Below it: the answer's other texts. */
void table_print(const json_t *answer, const char *rows, const struct table_column *columns);
/* The same to a file, of `width` characters. */
void table_write(const json_t *list, const struct table_column *columns, int width, bool colours, FILE *out);

#endif
