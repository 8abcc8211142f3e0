/* analyzer: tells clang's analyzer, which reads one file at a time, that setting an error returns a negative number.
 * `make tidy` puts it in front of every file but base/err.c; nothing else includes it. */
#ifndef PEAKD_TESTS_SOURCE_ANALYZER_H
#define PEAKD_TESTS_SOURCE_ANALYZER_H

#include "base/err.h"

#define err_set(...) (err_set(__VA_ARGS__), -1)
#define err_sys(...) (err_sys(__VA_ARGS__), -1)
#define err_wrap(...) (err_wrap(__VA_ARGS__), -1)

#endif
