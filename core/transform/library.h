/* library: where transformations and sequences are found: the user's own folder first, then the shipped one. Used by
 * the tools `transformations`, `transform`, `transform_begin` and by `peakd run`. */
#ifndef PEAKD_CORE_TRANSFORM_LIBRARY_H
#define PEAKD_CORE_TRANSFORM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/err.h"
#include "core/advise/advice.h"
#include "core/context/context.h"
#include "core/knowledge/note.h"
#include "core/transform/transformation.h"

struct library;

/* Folders in search order, each holding *.md and a folder sequences/; missing folders and NULLs are passed over. */
struct library *library_new(const char *const *folders, size_t count);
void library_free(struct library *lib);

/* By name ("tb-tiling"). Unknown: -ERR_NOT_FOUND with the nearest names. The file is read anew each time, so an edit
 * counts. */
int library_find(const struct library *lib, const char *name, struct transformation **ret_t, struct err *e);
/* One word: printable ASCII without a blank. All other text is a sentence. */
bool library_is_name(const char *name_or_text);
/* One word is a name; all other text is a transformation of its own. */
int library_find_or_text(const struct library *lib, const char *name_or_text, struct transformation **ret_t, struct err *e);
/* Every name, sorted, a user's own hiding a shipped one. Array and names owned by the caller (mem_free_texts). */
void library_names(const struct library *lib, char ***ret_names, size_t *ret_count);
/* One transformation of the library, and whether a person, an agent, a prompt or a search may be offered it for a context. */
struct library_offer {
	struct transformation *t;
	char *why_not; /* NULL: it may be offered; else one sentence */
};
/* Those that may be offered come first; by name otherwise. A file that cannot be read is among neither. */
struct library_offers {
	struct library_offer *at;
	size_t count;   /* all */
	size_t offered; /* those without why_not */
};
/* The one answer to "what may be offered for this context on this device": every transformation that fits it (fits_check), less
 * those in `applied`, which led to the context. `facts` NULL: no device is chosen, and conditions on it hold.
 * library_offers_fini. */
void library_offers(const struct library *lib, const struct context *ctx, const struct facts *facts, const char *const *applied,
		    size_t applied_count, struct library_offers *ret_offers);
void library_offers_fini(struct library_offers *o);
/* Takes from what micro-profiling tools suggest the transformations that may not be offered. */
void library_offers_screen(const struct library_offers *o, struct advisors *io_advisors);
/* sequences/NAME.txt or NAME.md: names of transformations in order. */
int library_sequence(const struct library *lib, const char *name, char ***ret_names, size_t *ret_count, struct err *e);
void library_sequence_names(const struct library *lib, char ***ret_names, size_t *ret_count);
/* The micro-profiling tools of the folders' tools/. advice_fini. */
int library_advisors(const struct library *lib, struct advisors *ret_advisors, struct err *e);
/* The notes of the folders' knowledge/. note_fini. Each can be applied as well: library_find knows "note-NAME". */
int library_notes(const struct library *lib, struct notes *ret_notes, struct err *e);

#endif
