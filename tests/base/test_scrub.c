/* base/scrub: planted secrets and paths are gone, and code is left alone: every context and transformation that is shipped stays as
 * it is. */
#include "base/scrub.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tap.h"

static void becomes(const char *text, const char *want, const char *what)
{
	char *got = scrub_text(text);
	is_str(got, want, "%s", what);
	free(got);
}

static void test_paths(void)
{
	becomes("see /Users/jane/kernels/a.cu:12", "see <path>/a.cu:12", "a path in a message keeps the file's name");
	becomes("\"/tmp/x\", '/var/lib/y'", "\"<path>/x\", '<path>/y'", "short paths below known roots");
	becomes("-I/opt/cuda/include -L/usr/lib", "-I<path>/include -L<path>/lib", "paths behind compiler options");
	becomes("file:///Users/jane/a.md", "file://<path>/a.md", "a file's address");
	becomes("in /lustre/project7/jane/run.log.", "in <path>/run.log.", "other roots, at the end of a sentence");
	becomes("~/.ssh/id_rsa", "~<path>/id_rsa", "a home folder");
	becomes("C:\\Users\\jane\\a.cu, D:\\\\x\\\\b.cu", "<path>/a.cu, <path>/b.cu", "paths of Windows, escaped or not");
	static const char *const kept[] = { "a / b / c", "x = n/4/k; // half", "/* a */ b", "https://example.org/a/b",
					    "transforms/tools/x.md", "./build/x", "1/2", "GB/s and FLOP/byte",
					    "peak://docs/context-format", "y = (a)/bb/cccccccc", "A[i]/bb/cccccccc", "</div>" };
	for (size_t i = 0; i < MEM_COUNT(kept); i++)
		becomes(kept[i], kept[i], kept[i]);
}

static void test_secrets(void)
{
	setenv("PEAKD_TEST_API_KEY", "correct-horse-battery", 1);
	setenv("PEAKD_TEST_TOKEN", "short", 1);
	becomes("it is correct-horse-battery.", "it is <secret>.", "the value of a variable that names a key");
	becomes("a short one", "a short one", "a short value is left alone");
	becomes("sk-abcdefghijklmnopqrstuvwx", "<secret>", "a key of a model's provider");
	becomes("ghp_0123456789abcdefghijKLMN, AKIAIOSFODNN7EXAMPLE", "<secret>, <secret>", "tokens of code hosts and clouds");
	becomes("Authorization: Bearer abc.def.ghi-123", "Authorization: Bearer <secret>", "a header");
	becomes("{\"api_key\": \"topsecret\"}", "{\"api_key\": \"<secret>\"}", "a key in JSON");
	becomes("password=hunter2 x", "password=<secret> x", "a password");
	becomes("token: 9f8e7d6c5b4a3210ffee", "token: <secret>", "a token that looks random");
	becomes("https://jane:pw@host/x", "https://<secret>@host/x", "credentials in an address");
	becomes("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n<secret>\nb", "a private key");
	static const char *const kept[] = { "int token = blockIdx.x * 4;", "token = tokens[i0123456789];", "secret: of the values",
					    "ask-questions-about-it", "int key = 3;", "prompt_tokens: 12",
					    "-----BEGIN CERTIFICATE-----", "bearer of news" };
	for (size_t i = 0; i < MEM_COUNT(kept); i++)
		becomes(kept[i], kept[i], kept[i]);
	ok(scrub_text(NULL) == NULL, "no text stays no text");
}

static void test_shipped(const char *folder)
{
	DIR *d = opendir(folder);
	int changed = 0, count = 0;
	for (struct dirent *x; d && (x = readdir(d)) != NULL;) {
		size_t n = strlen(x->d_name);
		struct buf text = BUF_INIT;
		struct err e = ERR_INIT;
		char *path = mem_fmt("%s/%s", folder, x->d_name);
		if (n > 3 && strcmp(x->d_name + n - 3, ".md") == 0 && buf_add_file(&text, path, 1 << 20, &e) >= 0) {
			char *got = scrub_text(buf_text(&text));
			count++;
			if (strcmp(got, buf_text(&text)) != 0)
				changed++, printf("# %s changes\n", path);
			free(got);
		}
		buf_fini(&text);
		free(path);
	}
	if (d)
		closedir(d);
	ok(count > 5 && changed == 0, "%d files of %s stay as they are", count, folder);
}

int main(void)
{
	test_paths();
	test_secrets();
	test_shipped("examples");
	test_shipped("transforms");
	test_shipped("transforms/knowledge");
	return tap_done();
}
