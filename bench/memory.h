/* memory: the resident memory of this process. */
#ifndef PEAKD_BENCH_MEMORY_H
#define PEAKD_BENCH_MEMORY_H

#include <stdio.h>
#include <unistd.h>

/* In KiB; 0 when /proc cannot be read. */
static long resident_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%*s %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
