/* base/folder: files of several folders, the first folder's before the others', by name and ending. */
#include "base/folder.h"

#include "base/mem.h"
#include "folder.h"
#include "tap.h"

int main(void)
{
	static const char *const endings[] = { ".md", ".txt", NULL };
	char root[] = "/tmp/peakd-folder-XXXXXX";
	if (mkdtemp(root) == NULL)
		return 1;
	folder_write(root, "own/same.md", "");
	folder_write(root, "own/.hidden.md", "");
	folder_write(root, "own/.md", "");
	folder_write(root, "own/other.c", "");
	folder_write(root, "shipped/same.md", "");
	folder_write(root, "shipped/list.txt", "");
	char *own = mem_fmt("%s/own", root), *shipped = mem_fmt("%s/shipped", root);
	const char *folders[] = { own, NULL, "/nowhere", shipped };
	size_t count;
	struct folder_file *files = folder_list(folders, MEM_COUNT(folders), endings, &count);
	if (ok(count == 2, "hidden files, other endings and missing folders are passed over")) {
		is_str(files[0].name, "list", "names are sorted and have no ending");
		is_str(files[1].name, "same", "a name counts once");
		has_str(files[1].path, "own/same.md", "and it is the first folder's");
	}
	folder_free(files, count);
	ok(folder_list(folders, 0, endings, &count) == NULL && count == 0, "no folders have no files");
	char *places = mem_fmt("::%s:/usr/bin:/bin", own), *program = folder_find_program(places, "sh");
	ok(program && (strcmp(program, "/usr/bin/sh") == 0 || strcmp(program, "/bin/sh") == 0),
	   "a program is found in the first folder that has it");
	ok(folder_find_program(places, "same.md") == NULL && folder_find_program(NULL, "sh") == NULL,
	   "a file that cannot be executed is no program");
	free(program);
	free(places);
	free(own);
	free(shipped);
	folder_remove(root);
	return tap_done();
}
