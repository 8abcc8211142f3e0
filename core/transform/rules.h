/* rules: the words that every prompt starts with: what a context is, what an answer looks like, what each backend's
 * language and the host code allow. Words only; prompt.c puts them together. */
#ifndef PEAKD_CORE_TRANSFORM_RULES_H
#define PEAKD_CORE_TRANSFORM_RULES_H

/* For every backend. Static storage, Markdown, ends in a newline. */
const char *rules_common(void);
const char *rules_host(void);
/* The device language of a backend; "" for one that is not known. */
const char *rules_backend(const char *backend);

#endif
