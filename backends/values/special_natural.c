/* special_natural: the values of special.h that are as measured or written data are: PLAN_NATURAL. A kernel that recognises
 * photographs, sound, text or weights of a checkpoint meets them. A declared range is kept. Where a domain is open, grey levels,
 * sound and flags are what they are, and integers of up to 32 bits are of all of their type. */
#include "backends/values/special.h"
#include "backends/values/special_rows.h"

enum {
	CELL = 16,      /* columns between two random numbers of smooth data, */
	CELL_ROWS = 8,  /* and rows */
	WORD = 8,       /* bytes of text that are drawn together */
	GRAINS = 64,    /* noise in smooth data is so many times smaller */
	BLACK = 16,     /* of video: the least number, */
	SHADES = 220,   /* and how many there are */
	BITS_ALIKE = 8, /* rows of words in which as many bits are set */
	SOUND = -15,    /* of PCM of 16 bits: a power of two */
	SHORTENED = 45, /* bits that a double has and bfloat16 has not */
	SPARSEST = 10,  /* rectified, one number in at most so many powers of two is not zero */
	BANK = 8,       /* columns of a mask that are masked together */
	WHOLE = 16,     /* of so many rows of an added mask one is masked as a whole */
	FAR_BELOW = -10000,
	BELOW = -256, /* where exponentials vanish, too, but sums with it keep their digits */
	LEAST_PEAK = 8,
	MOST_PEAK = 24,
	QUIET = 7,       /* nearly equal numbers differ by at most one part in 2^7, */
	QUIETER = 6,     /* or by less, in so many steps, in every other draw by as many more */
	WIDE_ROWS = 8,   /* of so many rows of a band one is wide */
	NARROW = 4,      /* elements beside the diagonal in the others: from two on as many kinds */
	LEAST_BLOCK = 4, /* the least block of a mask */
	BREACH = 64,     /* one of so many elements breaks a rule */
};

/* Between two random numbers, with a slope that does not jump. */
static double eased(uint64_t at, uint64_t period)
{
	double t = (double)(int64_t)(at % period) / (double)(int64_t)period;
	return t * t * (3 - 2 * t);
}

static double corner(const struct stream *s, uint64_t y, uint64_t x)
{
	return stream_unit(salted(s, NEAR, y << 32 | x));
}

/* In [0,1): neighbours in a row and in a column are nearly equal, and rise and fall. */
static double smooth(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, column = i % s->columns, y = row / CELL_ROWS, x = column / CELL;
	double right = eased(column, CELL), down = eased(row, CELL_ROWS);
	double above = corner(s, y, x) * (1 - right) + corner(s, y, x + 1) * right;
	double below = corner(s, y + 1, x) * (1 - right) + corner(s, y + 1, x + 1) * right;
	return above * (1 - down) + below * down;
}

/* A row that ascends nearly evenly, as times of samples do. */
static double ascending(const struct stream *s, uint64_t i)
{
	double columns = (double)(int64_t)s->columns;
	return ((double)(int64_t)(i % s->columns) + stream_unit(salted(s, AGAIN, i)) / 4) / columns;
}

/* Forms of which there are two take turns: a suite draws each form twice. */
static bool is_other_turn(const struct stream *s)
{
	return s->seed / (2 * PLAN_FORMS) & 1;
}

/* Whether a rectified number is not zero. Rows have many such numbers, or few. Honest variances are measured from a row's first
 * number, which is none that stands out alone. */
static bool is_active(const struct stream *s, uint64_t i)
{
	uint64_t one_of = UINT64_C(1) << (1 + salted(s, PLACE, i / s->columns) % SPARSEST);
	return (i % s->columns || s->columns == 1) && salted(s, HOLE, i) % one_of == 0;
}

/* An element of a square mask: the diagonal, the first column, and what is below the diagonal, by seed without what is far from it,
 * without some columns, or without a few elements. */
static bool is_visible(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns % s->columns, column = i % s->columns, how = stream_random(stream_mix(s->seed + ORDER), 0);
	if (column >= row || column == 0)
		return column == row || column == 0;
	uint64_t without = 1 + how % 7;
	bool apart = without & 1 && row - column > 1 + (how >> 8) % s->columns;
	bool banked = without & 2 && salted(s, PLACE, column / BANK) % 4 == 0;
	return !apart && !banked && !(without & 4 && salted(s, HOLE, i) % RARE == 0);
}

/* The same, but with all that is below the diagonal, and with columns or blocks on the diagonal that all of their rows see. */
static bool is_joined(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns % s->columns, column = i % s->columns, how = stream_random(stream_mix(s->seed + ORDER), 1);
	uint64_t block = LEAST_BLOCK << (how >> 8) % 4;
	return column <= row || (is_other_turn(s) ? column < 1 + (how >> 16) % s->columns / 2 : column / block == row / block);
}

/* An element of a band beside the diagonal that is wide in a few rows, as of a skyline. */
static bool is_banded(const struct stream *s, uint64_t i)
{
	uint64_t rows = matrix_rows(s), row = i / s->columns % rows, column = i % s->columns;
	uint64_t middle = row * s->columns / rows, apart = column > middle ? column - middle : middle - column;
	uint64_t drawn = salted(s, PLACE, i / s->columns);
	return apart <= (drawn % WIDE_ROWS ? 2 + s->key % NARROW : (drawn >> 8) % s->columns);
}

/* Whether an element is the same in all arrays: by seed those at the beginning of the array, or of each row. */
static bool is_shared(const struct stream *s, uint64_t i)
{
	uint64_t how = stream_random(stream_mix(s->seed + NEAR), 1), part = 1 + (how >> 8) % 7; /* eighths */
	bool rows = is_other_turn(s);
	uint64_t at = rows ? i % s->columns : i, all = rows ? s->columns : s->rows * s->columns;
	return at < all * part / 8;
}

static double shared(const struct stream *s, uint64_t i, double v)
{
	struct stream common = *s;
	common.key = stream_mix(s->seed + TIE);
	if (is_shared(s, i))
		stream_declared(&common, i, &v, 1);
	return v;
}

/* One level throughout, but for noise that is smaller by orders of magnitude. */
static double nearly_level(const struct stream *s, uint64_t i, double low, double high)
{
	double top = low < 0 && (high <= 0 || s->key >> 20 & 1) ? low : high;
	double level = top * (1 + stream_unit(salted(s, CONSTANT, 0))) / 2,
	       noise = power(-QUIET - is_other_turn(s) * QUIETER - (int)((s->key >> 9) % QUIETER));
	return level * (1 + noise * (2 * stream_unit(salted(s, AGAIN, i)) - 1));
}

/* By a rule that by seed some elements break: few anywhere, or a block that lies neither at the ends nor in the middle. */
static double regular(const struct stream *s, uint64_t i, double v)
{
	uint64_t columns = s->columns, rows = matrix_rows(s);
	uint64_t row = i / columns % rows, column = i % columns, first = i - row * columns - column;
	uint64_t how = stream_random(stream_mix(s->seed + ORDER), 2), like = i;
	bool inside = (rows == 1 || row - rows / 4 < rows / 8) && column - columns / 4 < columns / 8;
	if (is_other_turn(s) ? inside : how & 2 && salted(s, HOLE, i) % BREACH == 0)
		return v;
	if (rows == 1)
		like = column % (UINT64_C(2) << (how >> 8) % 6);
	else
		switch ((how >> 8) % 5) {
		case 0: like = rows == columns && column < row ? first + column * columns + row : i; break;
		case 1: return row == column ? v : 0;
		case 2: like = first + (column + rows - row) % columns; break;
		case 3: like = first + column; break;
		case 4: like = first + row * columns; break;
		}
	stream_declared(s, like, &v, 1);
	return v;
}

/* A sorted row: in even steps, which by seed are finer in the middle, or nearly even ones. Integers keep their ends. */
static double ladder(const struct stream *s, uint64_t i)
{
	const struct plan_buffer *b = s->buffer;
	bool floats = dtype_is_float(b->type);
	uint64_t column = i % s->columns, last = floats ? s->columns : s->columns - 1;
	double width = floats ? s->width : s->width - 1, t = last ? (double)(int64_t)column / (double)(int64_t)last : 0;
	if (salted(s, PLACE, i / s->columns) & 1)
		t = t < 1.0 / 3 ? 1.4 * t : t < 2.0 / 3 ? 0.4 + 0.2 * t : 1 - 1.4 * (1 - t);
	else if (floats)
		t = ascending(s, i);
	return floats ? s->lo + width * t : s->lo + __builtin_floor(width * t);
}

/* One or minus one. Neighbours that take turns add up to zero in every tile. */
static double sign_of(const struct stream *s, uint64_t i)
{
	uint64_t turn = s->key >> 9 & 1 ? i / s->columns + i % s->columns : salted(s, SIGN, i);
	return turn & 1 ? 1 : -1;
}

/* What an added mask holds. Of a row that is masked as a whole an honest sum must still tell the scores beneath it. */
static double added(const struct stream *s, uint64_t i)
{
	uint64_t row = i / s->columns, group = row / WHOLE;
	if (s->rows > 1 && salted(s, ZERO, group) % (s->rows < WHOLE ? s->rows : WHOLE) == row % WHOLE)
		return BELOW;
	bool visible = s->key >> 9 & 1 ? is_joined(s, i) : is_visible(s, i);
	return visible ? 0 : salted(s, CONSTANT, row) & 1 ? BELOW : FAR_BELOW;
}

/* The column of a row that stands out, in all arrays alike, once it is divided by their number. */
static uint64_t peak_of(const struct stream *s, uint64_t row)
{
	return stream_random(stream_mix(s->seed + PLACE), row);
}

static double peaked(const struct stream *s, uint64_t i, double v)
{
	uint64_t row = i / s->columns;
	if (s->columns > 1 && 1 + peak_of(s, row) % (s->columns - 1) != i % s->columns)
		return v;
	return v + LEAST_PEAK + (MOST_PEAK - LEAST_PEAK) * stream_unit(salted(s, AGAIN, row));
}

/* A multiple of 0.01, or in half of the arrays and in half of the rows of others of 1; a row's numbers are of one size. */
static double decimal(const struct stream *s, uint64_t i)
{
	static const double tops[] = { 5, 50, 500 };
	uint64_t row = salted(s, PLACE, i / s->columns);
	/* Sums of products of larger ones are no halves. */
	double top = tops[dtype_size(s->buffer->type) < 4 ? 0 : row % 3], pieces = s->key >> 9 & 1 || row >> 8 & 1 ? 1 : 100;
	double u = stream_unit(salted(s, AGAIN, i));
	return __builtin_floor(top * (1 - u * u) * pieces) / pieces;
}

static double shortened(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	bits = (bits + (UINT64_C(1) << (SHORTENED - 1))) >> SHORTENED << SHORTENED;
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* Bytes of prose, of tables with quoted fields, or of any printable characters. */
static unsigned char letter(const struct stream *s, uint64_t i)
{
	static const char words[] =
		" of the a city, \nand to in was ais then \nIn 17 for that with he \n\nThe s.\" \"We s it; he w";
	static const char marks[] = "\"\\\r\n"; /* few, so that many borders cut two that belong together */
	uint64_t word = salted(s, PLACE, i / WORD), drawn = salted(s, AGAIN, i);
	switch (plan_natural_form(s->seed)) {
	case 3: return (unsigned char)words[word % ((sizeof words - 1) / WORD) * WORD + i % WORD];
	case 4: return (unsigned char)marks[drawn % (sizeof marks - 1)];
	default: return (unsigned char)(drawn % 8 ? ' ' + drawn % 95 : '\n');
	}
}

/* One of so many numbers from 0 on. */
static double one_of(uint64_t drawn, double width)
{
	return width >= 1 && width < 0x1p32 ? (double)(int64_t)(drawn % (uint64_t)(int64_t)width) : 0;
}

/* Number i of a range of integers. */
static double ranged(const struct stream *s, uint64_t i, double low, double width, double v)
{
	bool text = low <= '\t' && low + width > '~';
	switch (plan_natural_form(s->seed)) {
	case 0: return low + __builtin_floor(width * smooth(s, i));
	case 1: return low + __builtin_floor(width * (smooth(s, i) * (GRAINS - 1) + stream_unit(salted(s, AGAIN, i))) / GRAINS);
	case PLAN_FORM_ASCENDING: return low + __builtin_floor(width * ascending(s, i));
	case 6: return low + __builtin_floor(width * (double)(int64_t)(BLACK + salted(s, AGAIN, i) % SHADES) / 256);
	case 7: return low + (double)(int64_t)(salted(s, AGAIN, i) & 1);
	case PLAN_FORM_RECTIFIED: return is_active(s, i) ? v : low;
	case PLAN_FORM_MASKED: return low + is_visible(s, i);
	case PLAN_FORM_BLOCKS: return s->rows == 1 ? v : low + is_joined(s, i);
	case PLAN_FORM_BAND: return s->rows == 1 || is_banded(s, i) ? v : low + (width > 1); /* as prices */
	case PLAN_FORM_DECIMAL: return decimal(s, i) + 1; /* zero often marks the end of a list */
	case PLAN_FORM_SIGNS: return low < 0 && low + width > 1 ? sign_of(s, i) : v;
	case PLAN_FORM_NEARLY: return low + __builtin_floor(width / 2) + (double)(int64_t)(salted(s, AGAIN, i) & 1);
	case PLAN_FORM_REGULAR: return regular(s, i, v);
	case PLAN_FORM_ADDITIVE:
	case PLAN_FORM_SHARED: return v;
	case PLAN_FORM_PEAKED:
		return salted(s, AGAIN, i / SCALED) % 4 && width > 1 ? low + 1 + one_of(peak_of(s, i), width - 1) : v;
	default: return text ? letter(s, i) : v;
	}
}

/* Words of a range of which few bits are set, or few are not, as in sets, bit boards and rows of graphs. */
static double thinned(const struct stream *s, uint64_t i, double low, double width)
{
	uint64_t a = salted(s, AGAIN, i), b = salted(s, HOLE, i), c = salted(s, ZERO, i);
	switch (salted(s, PLACE, i / s->columns / BITS_ALIKE) & 3) {
	case 0: a &= b; break;
	case 1: a &= b & c; break;
	case 2: a |= b; break;
	default: a |= b & c; break;
	}
	return low + (double)(int64_t)(a & ((UINT64_C(1) << ilogb(width)) - 1));
}

/* Where any integer may be, those of 8 and 16 bits are of all of their type, text and video of its positive half. Those of 32 bits
 * hold four bytes of text or video. All else is in the declared range. */
static double natural_integer(const struct stream *s, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	unsigned bits = (unsigned)dtype_size(b->type) * 8, form = plan_natural_form(s->seed);
	bool sign = dtype_is_signed(b->type);
	if (form == 5 && is_other_turn(s) && width_of(b) > 256 && width_of(b) <= 0x1p32)
		return thinned(s, i, low_of(b), width_of(b));
	if (b->closed || bits > 32 || form >= PLAN_FORM_SIGNS || (bits == 32 && (form < 3 || form > 6)))
		return ranged(s, i, low_of(b), width_of(b), v);
	if (bits < 32)
		return ranged(s, i, sign && form < 3 ? -power((int)bits - 1) : 0, power((int)bits - (sign && form >= 3)), v);
	uint32_t word = 0;
	for (unsigned k = 0; k < 4; k++)
		word |= (uint32_t)ranged(s, 4 * i + k, 0, 256, 0) << 8 * k;
	return sign ? (double)(int32_t)word : (double)word;
}

static double natural_float(const struct stream *s, uint64_t i, double v)
{
	const struct plan_buffer *b = s->buffer;
	double low = low_of(b), width = width_of(b), high = low + width;
	uint64_t drawn = salted(s, AGAIN, i);
	switch (plan_natural_form(s->seed)) {
	case 0: return low + width * smooth(s, i);
	case 1: return low + width * (smooth(s, i) * (GRAINS - 1) + stream_unit(drawn)) / GRAINS;
	case PLAN_FORM_ASCENDING: return low + width * ascending(s, i);
	case 3: v = (double)(int64_t)(drawn & 255) / 255; return low <= 0 && high >= 1 ? v : low + width * v;
	case 4: v = (double)(int64_t)(BLACK + drawn % SHADES); return low <= 0 && high >= 255 ? v : low + width * (v / 255);
	case 5: return (double)(int64_t)(drawn & (low < 0 ? 65535 : 32767)) * power(SOUND) - (low < 0);
	case 6: return shortened(v);
	case PLAN_FORM_RECTIFIED: return !is_active(s, i) ? 0 : v < 0 ? -v : v;
	case PLAN_FORM_MASKED: return is_visible(s, i);
	case PLAN_FORM_BLOCKS: return is_joined(s, i);
	case PLAN_FORM_BAND: return is_banded(s, i) ? v : 0;
	case PLAN_FORM_NEARLY: return nearly_level(s, i, low, high);
	case PLAN_FORM_SHARED: return shared(s, i, v);
	case PLAN_FORM_REGULAR: return regular(s, i, v);
	case PLAN_FORM_DECIMAL: return decimal(s, i);
	case PLAN_FORM_SIGNS: return low <= -1 && high >= 1 ? sign_of(s, i) : v;
	case PLAN_FORM_ADDITIVE: return low < 0 && high >= 0 && special_holds(b, FAR_BELOW) ? added(s, i) : v;
	case PLAN_FORM_PEAKED: return peaked(s, i, v);
	default: return (double)(int64_t)(drawn & 1);
	}
}

double special_natural(const struct stream *s, uint64_t i, double v)
{
	/* What takes all numbers for short ones is right if all are. */
	unsigned form = plan_natural_form(s->seed);
	bool all = form == PLAN_FORM_DECIMAL || form == PLAN_FORM_SHARED || (plan_natural_all(s->seed) && form != 6),
	     floats = dtype_is_float(s->buffer->type);
	bool some = form == PLAN_FORM_ADDITIVE ? special_takes(s) : s->key & 1;
	if (s->buffer->fill == PLAN_SORTED)
		return ladder(s, i);
	if (!all && !some && (floats || (form != PLAN_FORM_MASKED && form != PLAN_FORM_BLOCKS)))
		return v;
	double x = floats ? natural_float(s, i, v) : natural_integer(s, i, v);
	return special_holds(s->buffer, x) ? x : v;
}
