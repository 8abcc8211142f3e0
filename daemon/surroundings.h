/* surroundings: variables that somebody sets for one command, but that only the daemon reads, which may run since before. */
#ifndef PEAKD_DAEMON_SURROUNDINGS_H
#define PEAKD_DAEMON_SURROUNDINGS_H

/* Those PEAKD_… variables of this process that the process at the other end of the socket was not started with: "PEAKD_MODEL, PEAKD_RECORD";
 * NULL when there are none, or when it cannot be known; free(). *ret_pid is that process. */
char *surroundings_unseen(int fd, int *ret_pid);

#endif
