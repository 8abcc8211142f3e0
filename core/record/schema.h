/* schema: the SQL files that are compiled in. Only store and query ask for them. */
#ifndef PEAKD_CORE_RECORD_SCHEMA_H
#define PEAKD_CORE_RECORD_SCHEMA_H

/* The highest number of a migration: the version of a database that is up to date. */
int schema_version(void);
/* The text of schema/NNNN-*.sql; NULL when there is none with that number. Static storage. */
const char *schema_migration(int number);
/* The text of schema/queries.sql. Static storage. */
const char *schema_queries(void);

#endif
