/* schema_node: which keywords each schema object has, noted once when it is compiled (mcp/schema.c), so that checking
 * (mcp/schema_check.c) never looks for those that are not there. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/jsonrpc.h"
#include "mcp/schema_inner.h"

/* Enough to hold all nodes and to stay half empty. */
static size_t slots_for(size_t count)
{
	size_t n = 8;
	while (n < 2 * count)
		n *= 2;
	return n;
}

static struct mcp_schema_node *slot_of(struct mcp_schema_node *nodes, size_t slots, const json_t *at)
{
	size_t i = (size_t)(((uintptr_t)at >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (slots - 1);
	while (nodes[i].at && nodes[i].at != at)
		i = (i + 1) & (slots - 1);
	return &nodes[i];
}

unsigned mcp_schema_type_bits(const json_t *type)
{
	const char *word = json_string_value(type);
	static const struct {
		const char *name;
		unsigned bits;
	} TYPES[] = {
		{ "null", 1u << JSON_NULL },       { "boolean", 1u << JSON_TRUE | 1u << JSON_FALSE },
		{ "object", 1u << JSON_OBJECT },   { "array", 1u << JSON_ARRAY },
		{ "string", 1u << JSON_STRING },   { "number", 1u << JSON_INTEGER | 1u << JSON_REAL },
		{ "integer", 1u << JSON_INTEGER }, /* 1.0 too: mcp_schema_value_type sees to that */
	};
	for (size_t i = 0; word && i < MEM_COUNT(TYPES); i++)
		if (strcmp(TYPES[i].name, word) == 0)
			return TYPES[i].bits;
	return 0;
}

static unsigned types_of(const json_t *type)
{
	size_t i;
	json_t *one;
	unsigned bits = mcp_schema_type_bits(type);
	json_array_foreach(type, i, one)
	{
		bits |= mcp_schema_type_bits(one);
	}
	return bits;
}

void mcp_schema_add_node(struct mcp_schema *s, const json_t *at, unsigned says)
{
	size_t slots = slots_for(s->node_count + 1);
	if (slots != s->node_slots) {
		struct mcp_schema_node *more = MEM_NEW_N(struct mcp_schema_node, slots);
		for (size_t i = 0; i < s->node_slots; i++)
			if (s->nodes[i].at)
				*slot_of(more, slots, s->nodes[i].at) = s->nodes[i];
		free(s->nodes);
		s->nodes = more;
		s->node_slots = slots;
	}
	struct mcp_schema_node *n = slot_of(s->nodes, slots, at);
	s->node_count += n->at == NULL;
	n->at = at;
	n->says = says;
	n->types = types_of(json_object_get(at, "type"));
	n->properties = json_object_get(at, "properties");
	n->patterns = json_object_get(at, "patternProperties");
	n->additional = json_object_get(at, "additionalProperties");
	n->names = json_object_get(at, "propertyNames");
	n->required = json_object_get(at, "required");
	n->dependent = json_object_get(at, "dependentRequired");
	n->fewest = json_object_get(at, "minProperties");
	n->most = json_object_get(at, "maxProperties");
}

int mcp_schema_has_node(const struct mcp_schema *s, const json_t *at)
{
	return s->node_slots && slot_of(s->nodes, s->node_slots, at)->at;
}

const struct mcp_schema_node *mcp_schema_node(const struct mcp_schema *s, const json_t *at)
{
	const struct mcp_schema_node *n = slot_of(s->nodes, s->node_slots, at);
	assert(n->at);
	return n;
}
