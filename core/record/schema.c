/* schema: finds migrations and queries among the files of schema/; see schema.h. */
#include "core/record/schema.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schema_files.h"

const char *schema_migration(int number)
{
	char prefix[32];
	snprintf(prefix, sizeof prefix, "schema/%04d-", number);
	for (const struct schema_file *f = schema_files; f->path; f++)
		if (strncmp(f->path, prefix, strlen(prefix)) == 0)
			return f->text;
	return NULL;
}

int schema_version(void)
{
	int version = 0;
	while (schema_migration(version + 1))
		version++;
	return version;
}

const char *schema_queries(void)
{
	for (const struct schema_file *f = schema_files; f->path; f++)
		if (strcmp(f->path, "schema/queries.sql") == 0)
			return f->text;
	assert(!"schema/queries.sql is compiled in");
	return "";
}
