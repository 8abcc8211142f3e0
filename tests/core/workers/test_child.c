/* core/workers/environment: secrets stay behind, everything else goes along. */
#include "core/workers/child.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tap.h"

static char **list(const char *const *texts)
{
	return child_environment((char *const *)(uintptr_t)texts);
}

int main(void)
{
	static const char *const all[] = {
		"PATH=/bin", "OPENAI_API_KEY=k", "hf_token=t", "AWS_SECRET_ACCESS=s", "CREDENTIALS_DIRECTORY=/run/c", "PGPASSWORD=p",
		"LD_LIBRARY_PATH=/x", "PEAKD_MODEL=openai:http://h/v1?model=m&key_env=HIDDEN&retries=1", "HIDDEN=h", "HIDDEN2=kept",
		"NOTE=a KEY in a value", "CUDA_HOME=/c", NULL,
	};
	static const char *const want[] = { "PATH=/bin", "LD_LIBRARY_PATH=/x", "HIDDEN2=kept", "NOTE=a KEY in a value", "CUDA_HOME=/c" };
	char **got = list(all);
	size_t n = 0;
	while (got[n])
		n++;
	is_int((int)n, (int)MEM_COUNT(want), "as many as expected");
	for (size_t i = 0; i < n && i < MEM_COUNT(want); i++)
		is_str(got[i], want[i], "in their order: %s", want[i]);
	free(got);
	static const char *const last[] = { "HIDDEN=h", "PEAKD_MODEL=openai:http://h/v1?model=m&key_env=HIDDEN", NULL };
	got = list(last);
	ok(got[0] == NULL, "an option at the end, and after the variable");
	free(got);
	static const char *const none[] = { NULL };
	got = list(none);
	ok(got[0] == NULL, "an empty environment");
	free(got);
	return tap_done();
}
