/* reference_ahead: see reference_ahead.h. */
#include "core/judge/reference_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"

struct item {
	const struct params *size;
	uint64_t seed;
	enum plan_values values;
};

struct reference_ahead {
	const struct eval *ev;
	const struct context *root;
	const struct facts *facts;
	struct pool_worker *device;
	struct item *items;
	size_t count;
	uint64_t bytes;        /* of their outputs */
	atomic_bool stop;
	bool started;
	pthread_t thread;
};

struct reference_ahead *reference_ahead_new(const struct eval *ev, const struct context *root, const struct facts *facts,
                                            struct pool_worker *device)
{
	struct reference_ahead *a = MEM_NEW(struct reference_ahead);
	a->ev = ev;
	a->root = root;
	a->facts = facts;
	a->device = device;
	return a;
}

void reference_ahead_add(struct reference_ahead *a, const struct params *size, uint64_t seed, enum plan_values values, uint64_t output_bytes)
{
	a->bytes += output_bytes;
	if (a->bytes <= references_limit(a->ev->references) / 2)
		*MEM_PUSH(a->items, a->count) = (struct item){ .size = size, .seed = seed, .values = values };
}

static void *compute_all(void *arg)
{
	struct reference_ahead *a = arg;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < a->count && !atomic_load(&a->stop); i++) {
		const struct item *x = &a->items[i];
		const struct reference *r;
		struct err ignored = ERR_INIT; /* who needs it meets the same */
		rc = reference_get(a->ev, a->root, a->facts, a->device, x->size, x->seed, x->values, &r, &ignored);
		if (rc == 0)
			reference_release(a->ev->references, r);
	}
	return NULL;
}

void reference_ahead_start(struct reference_ahead *a)
{
	a->started = a->count > 0 && pthread_create(&a->thread, NULL, compute_all, a) == 0;
}

void reference_ahead_free(struct reference_ahead *a)
{
	if (a == NULL)
		return;
	atomic_store(&a->stop, true);
	if (a->started)
		pthread_join(a->thread, NULL);
	free(a->items);
	free(a);
}
