/* embedded: see embedded.h. tests/source/embed.sh makes the table. */
#include "base/embedded.h"

#include <string.h>

#include "embedded_files.h"

const char *embedded_file(const char *path)
{
	for (const struct embedded_entry *f = embedded_entries; f->path; f++)
		if (strncmp(f->path, path, strlen(path)) == 0)
			return f->text;
	return NULL;
}
