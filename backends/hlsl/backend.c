/* backend: the table of backend.h filled for HLSL; see backends/worker/backend.h. */
#include "backends/hlsl/backend.h"

#include "backends/hlsl/compile.h"
#include "backends/hlsl/device.h"
#include "backends/hlsl/facts.h"
#include "backends/hlsl/race.h"
#include "backends/hlsl/run.h"

const struct backend backend_hlsl = {
	.name = "hlsl",
	.devices = hlsl_facts_devices,
	.describe = hlsl_facts_describe,
	.compile = hlsl_compile,
	.open = hlsl_device_open,
	.close = hlsl_device_close,
	.prepare = hlsl_run_prepare,
	.write = hlsl_run_write,
	.read = hlsl_run_read,
	.execute = hlsl_run_execute,
	.release = hlsl_run_release,
	.races = hlsl_race_check,
};
