/* base/diff: unified diffs with one line of context. */
#include "base/diff.h"
#include "tap.h"

static char *diff(const char *a, const char *b)
{
	struct buf out = BUF_INIT;
	diff_unified(&out, "a", a, "b", b, 1);
	return buf_steal(&out);
}

int main(void)
{
	char *d = diff("one\ntwo\n", "one\ntwo\n");
	is_str(d, "", "equal texts give an empty diff");
	free(d);
	d = diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\nten\n");
	is_str(d, "--- a\n+++ b\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n@@ -9,1 +9,2 @@\n 9\n+ten\n",
	       "two changes give two hunks with one line of context");
	free(d);
	d = diff("", "x\n");
	is_str(d, "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x\n", "a diff from an empty text adds every line");
	free(d);
	d = diff("x\ny\n", "");
	is_str(d, "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n", "a diff to an empty text removes every line");
	free(d);
	return tap_done();
}
