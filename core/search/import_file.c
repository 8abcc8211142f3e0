/* import_file: see import_file.h. gzread returns plain files unchanged. */
#include "core/search/import_file.h"

#include <errno.h>

#include <zlib.h>

enum { CHUNK = 1 << 16, BYTES_MAX = 1 << 30 };

int import_file_read(const char *path, struct buf *text, struct err *e)
{
	gzFile f = gzopen(path, "rbe");
	int got, problem;
	if (f == NULL)
		return err_sys(e, errno ? errno : ENOMEM, "%s: cannot be opened", path);
	do {
		char *room = buf_room(text, CHUNK);
		got = gzread(f, room, CHUNK);
		text->len -= (size_t)(CHUNK - (got > 0 ? got : 0));
		text->data[text->len] = '\0';
	} while (got > 0 && text->len < BYTES_MAX);
	gzerror(f, &problem);
	gzclose(f);
	if (got > 0)
		return err_set(e, ERR_INPUT, "%s: more than %d bytes of JSON", path, BYTES_MAX);
	if (got < 0)
		return err_set(e, ERR_IO, "%s: cannot be read or unpacked (zlib error %d): is the file complete?", path, problem);
	return 0;
}
