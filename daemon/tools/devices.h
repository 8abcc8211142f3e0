/* devices: what a device is to those who ask for it, by the devices tool and by the resource peak://device/…. */
#ifndef PEAKD_DAEMON_TOOLS_DEVICES_H
#define PEAKD_DAEMON_TOOLS_DEVICES_H

#include <jansson.h>

struct facts;

/* New reference. */
json_t *devices_entry(const struct facts *facts);

#endif
