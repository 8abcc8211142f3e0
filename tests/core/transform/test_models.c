/* What may be said of a model in a configuration, and what each mistake is answered with. */
#include "core/transform/models.h"

#include <string.h>

#include "base/mem.h"
#include "tap.h"

static void taken(const char *text)
{
	struct models *m = models_new(NULL, 0);
	struct err e = ERR_INIT;
	is_int(models_add(m, text, &e), 0, "taken: %s %s", text, e.text);
	models_free(m);
}

static void refused(const char *text, const char *part)
{
	struct models *m = models_new(NULL, 0);
	struct err e = ERR_INIT;
	is_int(models_add(m, text, &e), -ERR_INPUT, "refused: '%s'", text);
	has_str(e.text, part, "says what is wrong");
	models_free(m);
}

static void test_replace(void)
{
	struct err e = ERR_INIT;
	struct models *m = models_new(NULL, 0);
	char **names = NULL;
	size_t count = 0;
	is_int(models_add(m, "old=replay:x", &e), 0, "a model is added");
	is_int(models_replace(m, (const char *const[]){ "a=replay:x", "b=replay:y", NULL }, &e), 0, "models are replaced %s",
	       e.text);
	is_int(models_replace(m, (const char *const[]){ "c=replay:x", "d=nonsense", NULL }, &e), -ERR_INPUT,
	       "a mistake is refused");
	models_names(m, &names, &count);
	ok(count == 2 && strcmp(names[0], "a") == 0 && strcmp(names[1], "b") == 0, "a mistake changes no model");
	mem_free_texts(names, count);
	models_free(m);
}

int main(void)
{
	test_replace();
	struct models *m = models_new(NULL, 0);
	struct models_open open;
	struct err e = ERR_INIT;
	taken("replay:matmul-fp32-hlsl");
	taken("default=openai:http://127.0.0.1:8080/v1?model=m");
	taken("big=anthropic:https://"
	      "example.org?key_env=K&model=m&reasoning=high&temperature=0.2&max_tokens=9&retries=1&stall_s=9&total_s=9");
	refused("", "is not a model: write replay:NAME");
	refused("x", "is not a model");
	refused("default=", "is not a model");
	refused("default=replay:", "is not a model");
	refused("default=openai", "is not a model");
	refused("opnai:http://127.0.0.1/v1?model=m", "is not a model");
	refused("openai:127.0.0.1:8080/v1?model=m", "begins with http:// or https://");
	refused("openai:http://127.0.0.1:8080/v1", "write ?model=M");
	refused("openai:http://127.0.0.1:8080/v1?key_env=K", "write ?model=M");
	refused("openai:http://127.0.0.1:8080/v1?model=", "'model' has no value");
	refused("openai:http://127.0.0.1:8080/v1?model=m&key_env=", "'key_env' has no value");
	refused("openai:http://127.0.0.1:8080/v1?modle=m", "no option 'modle' (did you mean model?)");
	refused("openai:http://127.0.0.1:8080/v1?model=m&kye_env=K", "no option 'kye_env' (did you mean key_env?)");
	is_int(models_open(m, NULL, 1, &open, &e), -ERR_NOT_FOUND, "none is configured");
	has_str(e.text, "peakd serve --model NAME=SPEC", "says how one is");
	models_free(m);
	return tap_done();
}
