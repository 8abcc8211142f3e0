/* service: see service.h. The protocol is sd_notify(3)'s and sd_listen_fds(3)'s. */
#include "daemon/service.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

int service_sockets(struct service_sockets *ret_sockets, struct err *e)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names), rc = 0;
	*ret_sockets = (struct service_sockets){ 0 };
	for (int i = 0; i < count; i++) {
		int fd = SD_LISTEN_FDS_START + i;
		ret_sockets->own |= strcmp(names[i], SERVICE_OWN) == 0;
		int *place = strcmp(names[i], SERVICE_NOTE) == 0                  ? &ret_sockets->note
			     : strcmp(names[i], SERVICE_DATABASE) == 0            ? &ret_sockets->database
			     : sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0 ? &ret_sockets->local
			     : sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0    ? &ret_sockets->inet
										  : NULL;
		if (rc == 0 && (place == NULL || *place))
			rc = err_set(
				e, ERR_INPUT,
				"the service manager passed %d sockets, and number %d is neither the first Unix nor the first TCP "
				"socket that listens. Give peakd.socket at most one ListenStream= of each kind",
				count, i + 1);
		if (rc == 0)
			*place = fd;
		free(names[i]);
	}
	free(names);
	return rc;
}

/* --- the start ------------------------------------------------------------------------------------------------------------- */

struct service_patience {
	pthread_t thread;
	int ended, signals, look_ms; /* an eventfd and a signalfd */
};

static int64_t cpu_us(const struct rusage *r)
{
	return (r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000000 + r->ru_utime.tv_usec + r->ru_stime.tv_usec;
}

static void die_of(int signo)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, signo);
	signal(signo, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
}

static void *ask_for_time(void *arg)
{
	struct service_patience *p = arg;
	struct pollfd fds[] = { { .fd = p->ended, .events = POLLIN }, { .fd = p->signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	struct rusage before, now;
	getrusage(RUSAGE_SELF, &before);
	while (poll(fds, MEM_COUNT(fds), p->look_ms) == 0 || fds[0].revents == 0) {
		if (fds[1].revents && read(p->signals, &info, sizeof info) == sizeof info) {
			log_info("ending: signal %u, before the start was over", info.ssi_signo);
			die_of((int)info.ssi_signo);
		}
		getrusage(RUSAGE_SELF, &now);
		/* This thread and others at rest use far less than a hundredth of the time. */
		if (cpu_us(&now) - cpu_us(&before) > p->look_ms * 10 || now.ru_inblock != before.ru_inblock ||
		    now.ru_oublock != before.ru_oublock)
			sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%d", 3 * 1000 * p->look_ms);
		before = now;
	}
	return NULL;
}

struct service_patience *service_patience_new(int look_ms)
{
	struct service_patience *p = MEM_NEW(struct service_patience);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	*p = (struct service_patience){ .ended = eventfd(0, EFD_CLOEXEC),
					.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
					.look_ms = look_ms };
	if (p->signals >= 0 && p->ended >= 0 && pthread_create(&p->thread, NULL, ask_for_time, p) == 0)
		return p;
	if (p->ended >= 0)
		close(p->ended);
	if (p->signals >= 0)
		close(p->signals);
	free(p);
	return NULL;
}

void service_patience_free(struct service_patience *take_patience)
{
	if (take_patience == NULL)
		return;
	eventfd_write(take_patience->ended, 1);
	pthread_join(take_patience->thread, NULL);
	close(take_patience->ended);
	close(take_patience->signals);
	free(take_patience);
}

/* --- what is said ---------------------------------------------------------------------------------------------------------- */

int64_t service_watchdog_ns(void)
{
	uint64_t us = 0;
	return sd_watchdog_enabled(0, &us) > 0 ? (int64_t)us * 1000 / 2 : 0;
}

void service_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}

void service_ready(const char *status)
{
	sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void service_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(clock_now() / 1000));
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
