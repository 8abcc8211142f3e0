/* plan_buffer: one buffer of a plan, and what it is filled with. A part of plan.h, which every other file includes; alone it is
 * what the judge's CUDA kernels know of plans (gpu/judge_kernels.cu), so it is C and C++. */
#ifndef PEAKD_BACKENDS_WIRE_PLAN_BUFFER_H
#define PEAKD_BACKENDS_WIRE_PLAN_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/wire/dtype.h"

enum { PLAN_RANK_MAX = 5 };

enum plan_role {
	PLAN_IN,      /* filled before every execution, must be unchanged after it */
	PLAN_OUT,     /* poisoned before, compared after */
	PLAN_INOUT,   /* filled before, compared after */
	PLAN_SCRATCH, /* poisoned before, ignored after */
	PLAN_TABLE,   /* constants computed by host code, written once at set-up */
};

enum plan_fill {
	PLAN_ZEROS,
	PLAN_ONES,
	PLAN_RANDOM /* uniform in [lo,hi) */,
	PLAN_NORMAL /* mean 0, deviation 1 */,
	PLAN_IOTA,
	PLAN_SORTED /* uniform in [lo,hi), and every row ascends; integer rows begin with lo and end with hi-1 */,
	PLAN_PERMUTATION /* every row holds 0 … columns-1 in a random order */,
	PLAN_PROBABILITIES /* every row is not negative and sums to 1 */
};

/* Which values an execution gives to inputs whose fill leaves a choice; the same binary serves for all of them (docs/trust.md says
 * what each catches). None leaves a closed domain. Integers stay as declared where nothing is said about them. */
enum plan_values {
	PLAN_DECLARED,        /* as the context says */
	PLAN_EXACT,           /* integers 0…15, in one row of four -8…7 where declared values have signs: sums of products
			       * have no rounding error */
	PLAN_EXACT_SMALL,     /* integers 0…3, where sums of the former do not fit the output's type */
	PLAN_OFFSET,          /* the values are far from zero, relative to their spread; how far is drawn anew */
	PLAN_WIDE,            /* magnitudes from 2^-20 to 2^20 (narrow types: what they hold), each as likely */
	PLAN_SPECIAL,         /* one element of some 128, in at most 64 places: ±0, denormals, ±infinity, NaN; in a closed
			       * domain, and for integers that have one, its ends */
	PLAN_SPARSE,          /* some 16 elements are 2^10 times larger, the others as declared; integers are drawn again */
	PLAN_ZERO_ROWS,       /* one row of four is zero; integers too */
	PLAN_TIES,            /* one row of four repeats its first element, one is in order; equal rows, equal neighbours; of sorted
			       * ones all of a row is at its ends; integers too */
	PLAN_INTEGERS,        /* integers over their domain, ends included, one row of four at an end; floats as declared */
	PLAN_OTHER_CONSTANTS, /* of inputs: zeros and ones become random numbers near them, iota is permuted */
	PLAN_LARGER,          /* all 2^5 times as large (narrow types: what they hold) */
	PLAN_SMALLER,         /* all 2^10 times smaller, the same */
	PLAN_SPECIAL_HIGH,    /* as PLAN_SPECIAL, but infinities are large numbers of their sign, and NaN are large ones */
	PLAN_SPECIAL_LOW,     /* the same, but NaN are large negative ones */
	PLAN_EXTREME,         /* every other row 2^50 times as large */
	PLAN_HIGH_END,   /* all but one of 64 at the upper end of their range, or a little beyond where it is open; integers too */
	PLAN_LOW_END,    /* the same at the lower end */
	PLAN_COINCIDING, /* a few values, the same in all arrays of one range; equal probabilities */
	PLAN_NEAR_TIES,  /* as PLAN_TIES, but in some rows in order two neighbours have changed places */
	PLAN_TINY,       /* rows 2^10 and rows 2^50 times smaller (narrow types: as PLAN_SMALLER) */
	PLAN_FEW,        /* integers: a few numbers of the range, next to each other, one bit apart or at its ends, the same in all
			  * arrays of one range; sorted ones ascend over them */
	PLAN_HUGE,       /* every other row 2^100 times as large; of f16 2^8 times */
	PLAN_HALVES,     /* floats of few bits: halves, quarters, small primes over a power of two */
	PLAN_NUMBERS, /* integers: all of a range that the array can hold; else Fibonacci numbers, squares, powers of two, sums of
			  * two of them and their neighbours, multiples of a number, of the same kind at the same place of all
			  * arrays */
	PLAN_CHAINS,  /* integers: each is the one before it plus or minus 1, by seed but for a few; every other long row, and by
			  * seed an only one, is the same in all arrays, but shifted as a whole or behind a place, or but for a
			  * stretch; a row of sorted ones jumps from its first to its last, or counts up */
	PLAN_SPECIAL_NUMBERS, /* as PLAN_SPECIAL, but NaN are declared values */
	PLAN_FAR,             /* as PLAN_OFFSET, but all arrays are as far from zero, so that differences between them cancel */
	PLAN_SMALL,           /* as PLAN_TINY, but 16 neighbouring rows have one scale; sorted arrays, too */
	PLAN_INFINITE_ROWS,   /* floats: one row of four is infinite, of one sign */
	PLAN_FINITE_ROWS,     /* the same rows, of large numbers instead */
	PLAN_ENDS,        /* integers: arrays, their rows or parts are all at one end of the range, or one above it, or at either
				 end; in one seed of four all arrays repeat the same few numbers, nearly */
	PLAN_MIXED_ZEROS, /* as PLAN_ZERO_ROWS, but other rows have zeros among their values; integers of a
			   * small range come in runs of each; of probabilities one has nearly all */
	PLAN_ALONE,       /* zeros alone; integers of a range all at its lower end */
	PLAN_MIXED_CONSTANTS, /* as PLAN_OTHER_CONSTANTS, but half of the zeros and ones stay, and some others change places */
	PLAN_MIXED_ENDS,      /* as PLAN_ENDS, but in one seed of four each array is equal throughout, or nearly, by chance in the
			       * middle of its range; in one of eight a number stands in the first 65536 elements, or 256, alone */
	PLAN_RUNS,            /* floats: rows and runs of infinities, in the arrays that special_takes chooses */
	PLAN_FINITE_RUNS,     /* the same runs, of large numbers instead */
	PLAN_NAN_ROWS,        /* the rows of PLAN_INFINITE_ROWS, of NaN instead */
	PLAN_QUARTERS,        /* as PLAN_HALVES, but no multiples of 31 and 127 */
	PLAN_IMMEDIATES,      /* one element of some 128, in small arrays of some 32: numbers of plan_immediates, their neighbours
			       * and negatives; integers too */
	PLAN_IMMEDIATE_ROWS,  /* rows so large or small that they, their sums or sums of squares are near such a number, 16
			       * neighbours about alike; the one row of an array in parts or, by seed, as a whole */
	PLAN_SPECIAL_FINITE,  /* as PLAN_SPECIAL_NUMBERS, but infinities are large numbers of their sign */
	PLAN_PATTERNS, /* floats: rows at one end of their range, or in halves, combs or blocks at the other; where special_takes
			       * chooses the array, all of it at one end */
	PLAN_FAINT,    /* rows 2^80 and rows 2^100 times smaller, in some all but one of eight elements zero */
	PLAN_SEGMENTS, /* every other part of a row, of two to sixteen, is 2^40 times smaller, between two ends 2^8 times;
			       * elsewhere a quarter of the rows are 2^34 times as large, and in a quarter the
			       * others are 2^4 times as large as the small ones, which are as declared */
	PLAN_EIGHTHS,  /* as PLAN_QUARTERS, but no element of a row is half of another one's size */
	PLAN_NEGATIVE, /* random numbers that are declared positive, and ones: every other row has the other sign; integers that are
			* declared zeros or ones are of any size and sign */
	PLAN_SPECIAL_NANS, /* as PLAN_SPECIAL, but infinities are large numbers of their sign */
	PLAN_NAN_RUNS,     /* the rows and runs of PLAN_RUNS, of NaN instead, in all arrays */
	PLAN_NEIGHBOURS,   /* integers: in seeds of one group the same uniform ones; by plan_neighbour, one of them differs */
	PLAN_APART,        /* as PLAN_FAR, but rows or, by seed, columns are each as far as is drawn, half of them not at all */
	PLAN_LABELS,       /* integers: by seed an array throughout, or rows of it, are one number of plan_immediates */
	PLAN_NARROW,       /* integers, of floats too, of so many bits at most as the seed says, in all arrays alike */
	PLAN_NATURAL,      /* as data that people have: by seed smooth, in even steps, grey levels, video, sound, as bf16 holds
			    * them, ones among zeros, or in a form below; integers smooth, in even steps, or text, packed in
			    * words, too; in all arrays or, by seed, half of them */
	PLAN_BLANK,        /* the arrays that special_takes chooses are zero throughout, or in odd seeds all others are */
	PLAN_MIXTURE,      /* each array has a kind of its own, by seed (fill.h) */
	PLAN_VALUES,       /* their number */
};

/* A seed's remainder by PLAN_SEEDS chooses a variant of some kinds: of PLAN_SPECIAL and its relatives a single special value in
 * each array, of PLAN_PATTERNS blocks of matrices, columns that share bits, or zeros in every other place, in place of combs. */
enum {
	PLAN_SEEDS = 4,
	PLAN_SEED_MANY = 0, /* of PLAN_SPECIAL: what the suite's table asks once, */
	PLAN_SEED_MORE = 1, /* and its further draws */
	PLAN_SEED_LONE = 3,
	PLAN_SEED_BLOCKS = 0, /* of PLAN_PATTERNS */
	PLAN_SEED_SHARES = 1,
	PLAN_SEED_COMBS = 2,
	PLAN_SEED_ZEROS = 3,
	PLAN_WIDTHS = 8, /* of PLAN_NARROW: a seed's remainder by it chooses one; */
	PLAN_FORMS = 19, /* the same of PLAN_NATURAL, */
	PLAN_FORM_ASCENDING = 2,
	PLAN_FORM_RECTIFIED = 8, /* most numbers are zero, and none is negative */
	PLAN_FORM_MASKED = 9,    /* a mask of ones on and below the diagonal, but for holes */
	PLAN_FORM_DECIMAL = 10,  /* prices and numbers of pieces, of several sizes */
	PLAN_FORM_SIGNS = 11,    /* 1 and -1, like a chessboard or at random */
	PLAN_FORM_ADDITIVE = 12, /* a mask that is added: zero, or far below; one row of sixteen is masked as a whole */
	PLAN_FORM_PEAKED = 13,   /* one column of each row stands out, as logits of a classifier do; most labels name it */
	PLAN_FORM_NEARLY = 14,   /* one level throughout, but for a little noise */
	PLAN_FORM_SHARED = 15,   /* the beginnings of arrays, or of their rows, are the same in all of them */
	PLAN_FORM_BAND = 16,     /* zero but for a band, which is wide in a few rows */
	PLAN_FORM_BLOCKS = 17,   /* a mask of ones below the diagonal, and in some columns or blocks above it */
	PLAN_FORM_REGULAR = 18   /* symmetric, a diagonal, periodic, or equal along a direction; but for some elements */
};
static inline int plan_width(uint64_t seed)
{
	const unsigned char widths[PLAN_WIDTHS] = { 7, 8, 9, 11, 16, 17, 24, 25 };
	return widths[seed % PLAN_WIDTHS];
}
static inline uint64_t plan_seed(uint64_t seed, uint64_t variant)
{
	return seed / PLAN_SEEDS * PLAN_SEEDS + variant;
}
/* A seed of PLAN_NATURAL in this form, in all arrays or in half of them; and what a seed says. */
static inline uint64_t plan_natural_seed(uint64_t seed, uint64_t form, bool all)
{
	return seed / (2 * PLAN_FORMS) * (2 * PLAN_FORMS) + (all ? PLAN_FORMS : 0) + form;
}
static inline unsigned plan_natural_form(uint64_t seed)
{
	return (unsigned)(seed % PLAN_FORMS);
}
static inline bool plan_natural_all(uint64_t seed)
{
	return seed / PLAN_FORMS & 1;
}

/* What a seed of PLAN_NEIGHBOURS says: its group, and what differs from the group's integers in the arrays that special_takes
 * chooses: one element or, in arrays of more than 16, each. `draw` is there so that one array alone can be chosen. */
enum {
	PLAN_NEIGHBOUR_NONE = 0,  /* in place of 1 + the bit that differs: nothing does, */
	PLAN_NEIGHBOUR_NEXT = 65, /* or it is one more */
	PLAN_NEIGHBOUR_ELEMENTS = 16
};
static inline uint64_t plan_neighbour(uint64_t group, uint64_t draw, uint64_t element, uint64_t differs)
{
	return group << 32 | (draw & 0xFFFF) << 16 | element << 8 | differs;
}
static inline uint64_t plan_neighbour_group(uint64_t seed)
{
	return seed >> 32;
}
static inline uint64_t plan_neighbour_element(uint64_t seed)
{
	return seed >> 8 & 255;
}
static inline uint64_t plan_neighbour_differs(uint64_t seed)
{
	return seed & 255;
}

/* The numbers that a kernel's compiled code holds, for the two kinds of values that are made of them. */
enum {
	PLAN_IMMEDIATES_MAX = 32,
	PLAN_IMMEDIATES_FORMS = 4, /* the number, its neighbours, its negative */
	PLAN_IMMEDIATES_PLACE = 32 /* elements with one of them, at least */
};
struct plan_immediates {
	uint64_t count;
	double at[PLAN_IMMEDIATES_MAX]; /* finite */
};

struct plan_buffer {
	char *name;      /* as in the context; for scratch and tables: from host code, or "scratch0", … */
	enum dtype type; /* element type */
	enum plan_role role;
	unsigned rank;               /* number of dims, ≥ 1 */
	int64_t dims[PLAN_RANK_MAX]; /* logical extents, outermost first (row-major) */
	int64_t ld;                  /* elements between rows: ≥ dims[rank-1] (equal when not declared) */
	uint64_t bytes;              /* allocated size */
	enum plan_fill fill;         /* PLAN_IN and PLAN_INOUT */
	double lo, hi;               /* of PLAN_RANDOM and PLAN_SORTED */
	bool closed;                 /* no value is outside of [least, most], infinite or NaN; zeros, ones and iota stay */
	double least, most;          /* numbers of `type` (±INFINITY: any); without meaning unless closed */
	enum dtype rounded;          /* values are rounded to this type first, if it is floating (lift.h); else to `type` alone */
	void *table;                 /* PLAN_TABLE: `bytes` bytes; else NULL */
};

/* Kinds that give integers, not floats, other values: special_integers makes them. */
static inline bool plan_values_whole(enum plan_values v)
{
	return v == PLAN_INTEGERS || v == PLAN_FEW || v == PLAN_NUMBERS || v == PLAN_CHAINS || v == PLAN_ENDS ||
	       v == PLAN_MIXED_ENDS || v == PLAN_NEIGHBOURS || v == PLAN_LABELS;
}

/* Filled before an execution, or compared after it; an inout is both. */
static inline bool plan_is_input(const struct plan_buffer *b)
{
	return b->role == PLAN_IN || b->role == PLAN_INOUT;
}
static inline bool plan_is_output(const struct plan_buffer *b)
{
	return b->role == PLAN_OUT || b->role == PLAN_INOUT;
}

/* Whether the domain is closed on both sides. */
static inline bool plan_has_ends(const struct plan_buffer *b)
{
	return b->closed && __builtin_isfinite(b->least) && __builtin_isfinite(b->most);
}

/* Whether the domain holds `count` integers in a row from 0 on, or from its end on, and the first. */
static inline bool plan_integers(const struct plan_buffer *b, int count, double *ret_first)
{
	*ret_first = b->closed && b->least > 0 ? __builtin_ceil(b->least) : 0;
	return !b->closed || (*ret_first >= b->least && *ret_first + count - 1 <= b->most);
}

#endif
