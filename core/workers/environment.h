/* environment: what a worker inherits of the daemon's environment: all but secrets. Models' keys are the daemon's alone; a worker
 * runs code that a model wrote. Called by process.c, and by its test. */
#ifndef PEAKD_CORE_WORKERS_ENVIRONMENT_H
#define PEAKD_CORE_WORKERS_ENVIRONMENT_H

/* The texts of `from` ("NAME=value", ends with NULL; borrowed, not copied) without those whose name has KEY, TOKEN, SECRET, PASSW
 * or CREDENTIAL in it, in any case, without PEAKD_MODEL, and without the variable that PEAKD_MODEL names as key_env. free() the
 * list alone. */
char **environment_new(char *const *from);

#endif
