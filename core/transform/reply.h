/* reply: the region that a model's answer holds, or exactly what is wrong with the answer. Whole regions in one
 * fence; search/replace blocks where the prompt allowed them. Used by transform.c. */
#ifndef PEAKD_CORE_TRANSFORM_REPLY_H
#define PEAKD_CORE_TRANSFORM_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/context/context.h"

enum reply_outcome {
	REPLY_OK,
	REPLY_EMPTY,          /* nothing but blanks */
	REPLY_REFUSED,        /* the provider or the words say so, and there is no code */
	REPLY_NO_CODE,        /* prose without a fence */
	REPLY_WRONG_REGION,   /* fences, but all of other regions */
	REPLY_TRUNCATED,      /* the provider stopped at its length limit */
	REPLY_UNTERMINATED,   /* the fence is never closed */
	REPLY_ELIDED,         /* "… rest unchanged" instead of code */
	REPLY_DROPPED_KERNEL, /* a kernel that is launched is gone */
	REPLY_UNCHANGED,      /* the region as it was */
	REPLY_SEARCH_MISSING, /* a search block that is not in the region */
	REPLY_BAD_PLAN,       /* a plan that cannot be read, or cannot be applied here */
	REPLY_SEARCH_TWICE,   /* a search block that is there more than once */
};

/* How the provider said that the answer ended. */
enum reply_finish { REPLY_FINISH_STOP, REPLY_FINISH_LENGTH, REPLY_FINISH_REFUSED, REPLY_FINISH_OTHER };

struct reply_want {
	enum region region;
	const char *backend; /* "cuda", "hlsl", … */
	const char *before;  /* the region as it is */
	const char *host;    /* host code: its launches name the kernels that must stay; NULL: not looked at */
	bool may_drop_kernels;
	bool may_keep;
	bool may_patch; /* search/replace blocks are accepted as well */
};

struct reply {
	enum reply_outcome outcome;
	char *text;   /* REPLY_OK: the whole new region, ends in a newline (macros: or ""); owned */
	char *detail; /* else: one sentence for the model and for people; owned */
	char *words;  /* without a usable region: the beginning of what the model said in its own words, on one line; NULL: nothing.
			 Owned */
};

void reply_parse(const struct reply_want *want, const char *answer, enum reply_finish finish, struct reply *ret_reply);
/* The text of the last closed fence whose first word is `mark`; free(), NULL: there is none. */
char *reply_marked(const char *answer, const char *mark);
void reply_fini(struct reply *r);
/* "stop", "length", "refused", "other". Static storage. */
const char *reply_finish_name(enum reply_finish f);
/* "ok", "truncated", … Static storage. */
const char *reply_outcome_name(enum reply_outcome o);

#endif
