/* load: from /proc/stat (proc(5)) and the times of processes; see load.h. */
#include "core/measure/load.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

#define NOTHING 0.15 /* CPUs: ticks are 10 ms, and a comparison takes a few hundred */

/* Fields of the first line: user, nice, system, idle, iowait, irq, softirq, steal. */
static void read_all(struct load *l)
{
	unsigned long long at[8] = { 0 };
	double tick = (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	int n = f ? fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6],
			   &at[7])
		  : 0;
	if (f)
		fclose(f);
	if (n < 4 || tick <= 0)
		return;
	for (size_t i = 0; i < MEM_COUNT(at); i++) {
		l->total += (double)at[i] / tick;
		l->busy += i == 3 || i == 4 ? 0 : (double)at[i] / tick;
	}
}

/* User and system time of a process: fields 14 and 15, behind a name that may hold anything but ends with the last ')'. */
static double spent_by(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *end = strrchr(text, ')');
	if (end == NULL || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void load_begin(struct load *l, pid_t worker)
{
	struct rusage own = { 0 };
	*l = (struct load){ .worker = worker };
	read_all(l);
	getrusage(RUSAGE_SELF, &own);
	l->own = seconds(own.ru_utime) + seconds(own.ru_stime) + spent_by(worker);
}

char *load_end(const struct load *l, char text[LOAD_TEXT])
{
	struct load now;
	load_begin(&now, l->worker);
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN), total = now.total - l->total;
	double others = total > 0 ? ((now.busy - l->busy) - (now.own - l->own)) / total * cpus : 0;
	text[0] = '\0';
	if (l->total > 0 && others > NOTHING)
		snprintf(text, LOAD_TEXT, "other processes used %.1f of %.0f CPUs meanwhile", others, cpus);
	return text;
}
