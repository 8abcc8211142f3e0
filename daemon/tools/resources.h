/* resources: what peakd's answers link to: contexts' sources, checkpoints' parts, transformations, documents. */
#ifndef PEAKD_DAEMON_TOOLS_RESOURCES_H
#define PEAKD_DAEMON_TOOLS_RESOURCES_H

#include "mcp/registry.h"

extern const struct mcp_resource resources_table[];
extern const struct mcp_template resources_templates[];
/* For struct mcp_server_config: resources that are not in the table, and completion of names. */
void resources_list(void *user, size_t offset, size_t limit, json_t *array);
void resources_complete(void *user, const struct mcp_completion *what, json_t *candidates);

#endif
