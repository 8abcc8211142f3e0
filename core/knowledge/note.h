/* note: what an expert knows, as small Markdown files: which symptom a technique cures, on which devices, what it brought
 * elsewhere, and who says so:
 *
 *     ---
 *     kind: locality
 *     symptom: neighbouring threads read addresses that are far apart
 *     class: memory, latency
 *     when: load_efficiency < 0.5
 *     device: gpu
 *     words: transpose, stride
 *     try: transpose, tb-tiling
 *     gain: 3
 *     evidence:
 *       - H200: 1.9x on a naive product (docs/results.md)
 *     source: CUDA C++ Best Practices Guide, Coalesced Access to Global Memory
 *     ---
 *     Let the fastest index of a thread walk along the rows of memory. ...
 *
 * A user's folder adds notes, and hides shipped ones of the same name. Searched by knowledge.h; read by core/transform/library. */
#ifndef PEAKD_CORE_KNOWLEDGE_NOTE_H
#define PEAKD_CORE_KNOWLEDGE_NOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/wire/facts.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/context/expr.h"

enum note_kind { NOTE_ALGEBRA, NOTE_LOCALITY, NOTE_INSTRUCTIONS, NOTE_STATIC, NOTE_PRECISION, NOTE_KINDS };
/* "algebra", "locality", "instructions", "static", "precision". NULL at the end. */
extern const char *const note_kind_names[NOTE_KINDS + 1];

struct note_texts {
	char **at;
	size_t count;
};

struct note {
	char *name, *file;
	enum note_kind kind;
	char *symptom, *text;   /* one line each */
	unsigned classes;       /* bits: 1 << enum advice_class */
	char *when;             /* condition over figures; "" none */
	struct expr *condition; /* NULL: none */
	double gain;            /* the speed-up to expect before anything was measured */
	struct note_texts devices, words, try, evidence, sources;
};

struct notes {
	struct note *at;
	size_t count;
};

/* All *.md of the folders, by name; the first folder that has a name counts. Missing folders and NULLs are passed over. -ERR_INPUT
 * names file and line. */
int note_read(const char *const *folders, size_t folder_count, struct notes *ret_notes, struct err *e);
void note_fini(struct notes *n);
/* By its name, with or without NOTE_PREFIX. NULL: there is none. Borrowed. */
const struct note *note_find(const struct notes *n, const char *name);

/* Whether `device:` covers a device: any, gpu, cpu, a backend ("cuda"), a device class ("sm_90", "gfx90a"), or "sm_80+" for this
 * one and all later ones. */
bool note_fits_device(const struct note *n, const struct facts *facts);
/* The class that devices share what was measured on them: "cpu", "sm_90", "gfx90a"; the product's name where nothing else is
 * known. */
enum { NOTE_CLASS = FACTS_TEXT };
const char *note_device_class(const struct facts *facts, char text[NOTE_CLASS]);

/* A note can be applied like a transformation, by this prefix and its name. */
#define NOTE_PREFIX "note-"
/* The file of that transformation: one pass with the note's technique as its text. */
void note_transformation(const struct note *n, struct buf *out);
/* The whole note for a reader, as Markdown. */
void note_render(const struct note *n, struct buf *out);

#endif
