/* faults_left: counts what this process and its device hold, so that bench/faults.c sees what faults leave behind. */
#ifndef PEAKD_BENCH_FAULTS_LEFT_H
#define PEAKD_BENCH_FAULTS_LEFT_H

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/wire/facts.h"
#include "base/mem.h"
#include "bench/memory.h"

struct left { long descriptors, children, rss_kib; double device_mib; int device_processes; };

static long count_entries(const char *folder)
{
	long n = 0;
	DIR *d = opendir(folder);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 3; /* itself, . and .. */
}

static long count_children(void)
{
	long n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *t; d && (t = readdir(d));) {
		char path[64], word[32];
		snprintf(path, sizeof path, "/proc/self/task/%.20s/children", t->d_name);
		FILE *f = t->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (f && fscanf(f, "%31s", word) == 1)
			n++;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

/* From NVML, which needs no context on the device; -1 without NVML. */
static void look_at_device(const struct facts *facts, struct left *l)
{
	struct { unsigned long long total, free, used; } memory = { 0 };
	struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } processes[64];
	unsigned count = MEM_COUNT(processes);
	void *device = NULL, *lib = strcmp(facts->backend, "cuda") == 0 ? dlopen("libnvidia-ml.so.1", RTLD_NOW) : NULL;
	l->device_mib = -1;
	l->device_processes = -1;
	if (lib == NULL)
		return;
	int (*init)(void), (*by_index)(unsigned, void **), (*get_memory)(void *, void *),
		(*get_processes)(void *, unsigned *, void *);
	*(void **)&init = dlsym(lib, "nvmlInit_v2");
	*(void **)&by_index = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&get_memory = dlsym(lib, "nvmlDeviceGetMemoryInfo");
	*(void **)&get_processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!init || !by_index || init() != 0 || by_index(facts->index, &device) != 0)
		return;
	if (get_memory && get_memory(device, &memory) == 0)
		l->device_mib = (double)memory.used / (1 << 20);
	if (get_processes && get_processes(device, &count, processes) == 0)
		l->device_processes = (int)count;
}

static struct left look(const struct facts *facts)
{
	struct left l = { 0 };
	look_at_device(facts, &l); /* first, because NVML opens descriptors once */
	l.descriptors = count_entries("/proc/self/fd");
	l.children = count_children();
	l.rss_kib = resident_kib();
	return l;
}

#endif
