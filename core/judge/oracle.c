/* oracle: see oracle.h. One question is a line of JSON and the inputs' bytes on the process's stdin; the answer is a line of JSON
 * and the outputs' bytes on its stdout (docs/import.md). oracle.py is the other side. A process that answered waits for the next
 * question about the same code; questions about other code get a process of their own. */
#include "core/judge/oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/values/fill.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/workers/child.h"

enum { PROTOCOL = 1, SLICE_MS = 50, IDLE_MAX = 4, LINE_MAX_BYTES = 1 << 20, PIPE_BYTES = 1 << 20 };
#define ANSWER_NS (600 * CLOCK_S) /* one evaluation of a module on the CPU, in double */

struct running {
	struct hash code;
	pid_t pid;
	int to, from, complaints; /* our ends; complaints: a file in memory */
};

struct oracle {
	struct lock lock;
	struct running idle[IDLE_MAX]; /* oldest first */
	size_t idle_count;
};

struct oracle *oracle_new(void)
{
	struct oracle *o = MEM_NEW(struct oracle);
	lock_init(&o->lock, LOCK_LEAF);
	return o;
}

/* *ret_said: the end of its stderr, as a clause; free(). May be NULL. */
static void running_end(struct running *r, char **ret_said)
{
	struct buf said = BUF_INIT;
	char piece[4096];
	if (r->pid > 0)
		child_end(r->pid);
	if (ret_said && r->complaints >= 0) {
		for (off_t at = 0, n; (n = pread(r->complaints, piece, sizeof piece, at)) > 0; at += n)
			buf_add(&said, piece, (size_t)n);
		*ret_said = child_last_words(&said);
	}
	buf_fini(&said);
	child_close(&r->to);
	child_close(&r->from);
	child_close(&r->complaints);
	r->pid = 0;
}

void oracle_free(struct oracle *o)
{
	if (o == NULL)
		return;
	for (size_t i = 0; i < o->idle_count; i++)
		running_end(&o->idle[i], NULL);
	lock_fini(&o->lock);
	free(o);
}

void oracle_answer_fini(struct oracle_answer *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->outputs[i].bytes);
		free(a->outputs[i].moved);
		free(a->outputs[i].plain);
	}
	free(a->outputs);
	free(a->by);
	*a = (struct oracle_answer){ .count = 0 };
}

/* --- processes -------------------------------------------------------------------------------------------------------------- */

const char *oracle_python(void)
{
	const char *named = getenv("PEAKD_PYTHON");
	return named && *named ? named : "python3";
}

char **oracle_command(const char *text, bool builds)
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own);
	const char *const words[] = { "worker", "--", builds ? "+" : NULL, oracle_python(), "-IBc", text };
	char **argv = MEM_NEW_N(char *, MEM_COUNT(words) + 2);
	size_t count = 0;
	argv[count++] = n > 0 ? mem_strn(own, (size_t)n) : mem_str("peakd");
	for (size_t i = 0; i < MEM_COUNT(words); i++)
		if (words[i])
			argv[count++] = (char *)words[i];
	return argv;
}

static int start(const struct hash *code, bool builds, struct running *ret_running, struct err *e)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	struct running r = { .code = *code, .to = -1, .from = -1, .complaints = memfd_create("peakd-oracle", MFD_CLOEXEC) };
	char **argv = oracle_command(embedded_file("core/judge/oracle.py"), builds);
	int rc = 0;
	if (r.complaints < 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		rc = err_sys(e, errno, "cannot make the pipes of the oracle");
	if (rc == 0 && (rc = child_start(argv, in[0], out[1], r.complaints, &r.pid)) != 0) {
		r.pid = 0;
		rc = err_sys(e, rc, "cannot start the oracle's sandbox");
	}
	if (rc == 0) {
		r.to = in[1];
		r.from = out[0];
		in[1] = out[0] = -1;
		fcntl(r.to, F_SETFL, O_NONBLOCK);
		fcntl(r.from, F_SETFL, O_NONBLOCK);
		/* Arrays of megabytes pass; a smaller pipe is as right. */
		fcntl(r.to, F_SETPIPE_SZ, PIPE_BYTES);
		fcntl(r.from, F_SETPIPE_SZ, PIPE_BYTES);
		*ret_running = r;
	} else {
		running_end(&r, NULL);
	}
	for (int i = 0; i < 2; i++) {
		child_close(&in[i]);
		child_close(&out[i]);
	}
	free(argv[0]);
	free(argv);
	return rc;
}

/* A process that has read this code already; false without one. */
static bool take_idle(struct oracle *o, const struct hash *code, struct running *ret_running)
{
	bool found = false;
	lock_take(&o->lock);
	for (size_t i = 0; i < o->idle_count && !found; i++)
		if (strcmp(o->idle[i].code.hex, code->hex) == 0) {
			*ret_running = o->idle[i];
			memmove(o->idle + i, o->idle + i + 1, (--o->idle_count - i) * sizeof *o->idle);
			found = true;
		}
	lock_release(&o->lock);
	/* It ends by itself when nothing is asked for a while. */
	if (found && child_has_ended(ret_running->pid)) {
		running_end(ret_running, NULL);
		found = false;
	}
	return found;
}

static void keep_idle(struct oracle *o, struct running *take_running)
{
	struct running gone = { .pid = 0, .to = -1, .from = -1, .complaints = -1 };
	lock_take(&o->lock);
	if (o->idle_count == IDLE_MAX) {
		gone = o->idle[0];
		memmove(o->idle, o->idle + 1, --o->idle_count * sizeof *o->idle);
	}
	o->idle[o->idle_count++] = *take_running;
	lock_release(&o->lock);
	running_end(&gone, NULL);
}

/* --- bytes ------------------------------------------------------------------------------------------------------------------ */

struct transfer {
	struct running *r;
	int64_t deadline;
	const struct cancel *cancel;
};

/* Until the descriptor can be read or written. */
static int wait_for(const struct transfer *t, int fd, short events, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };
	for (;;) {
		if (cancel_check(t->cancel, e) < 0)
			return -ERR_CANCELLED;
		if (clock_now() >= t->deadline)
			return err_set(e, ERR_TIMEOUT, "the oracle did not answer within %d s", (int)(ANSWER_NS / CLOCK_S));
		if (poll(&p, 1, SLICE_MS) > 0)
			return 0;
	}
}

/* Writes the bytes to the oracle, or reads as many from it. */
static int move_bytes(const struct transfer *t, bool asks, void *bytes, size_t len, struct err *e)
{
	uint8_t *at = bytes;
	int fd = asks ? t->r->to : t->r->from;
	while (len) {
		ssize_t n = asks ? write(fd, at, len) : read(fd, at, len);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return err_set(e, ERR_CRASH, "the oracle ended before it %s", asks ? "was asked" : "answered");
		if (n < 0 && wait_for(t, fd, asks ? POLLOUT : POLLIN, e) < 0)
			return -(int)e->code;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* --- question and answer ---------------------------------------------------------------------------------------------------- */

static enum dtype type_of(const struct oracle_question *q, const struct plan_buffer *b)
{
	return q->in_double && dtype_is_float(b->type) ? DTYPE_F64 : b->type;
}

/* Declared types hold all values but perturbed ones. Those on the device are as the plan says. */
static enum dtype input_type_of(const struct oracle_question *q, const struct plan_buffer *b)
{
	return q->input->perturbation ? type_of(q, b) : b->type;
}

/* at: where it is on the device; NULL: it is sent. */
static json_t *array_of(enum dtype type, const struct plan_buffer *b, const struct wire_share *at)
{
	enum dtype declared = at && dtype_is_float(b->rounded) ? b->rounded : b->type;
	json_t *shape = json_array();
	for (unsigned d = 0; d < b->rank; d++)
		json_array_append_new(shape, json_integer(b->dims[d]));
	json_t *array = json_pack("{s:s, s:s, s:s, s:o}", "name", b->name, "type", dtype_name(type), "declared",
				  dtype_name(declared), "shape", shape);
	if (at) {
		struct buf hex = BUF_INIT;
		for (size_t i = 0; i < sizeof at->handle; i++)
			buf_addf(&hex, "%02x", at->handle[i]);
		json_object_set_new(array, "at",
				    json_pack("{s:s, s:I}", "handle", buf_text(&hex), "offset", (json_int_t)at->offset));
		buf_fini(&hex);
	}
	if (b->closed)
		json_object_set_new(array, "closed", json_pack("[f, f]", fmax(b->least, -DBL_MAX), fmin(b->most, DBL_MAX)));
	return array;
}

/* A scalar as kernels see it. */
static double scalar_of(const struct oracle_question *q, const struct param *p)
{
	const struct spec *spec = context_spec(q->ctx);
	uint8_t bytes[8];
	int at = spec_find(spec, p->name);
	if (at >= 0 && dtype_is_float(spec->vars[at].type)) {
		dtype_store(spec->vars[at].type, bytes, p->f);
		return dtype_load(spec->vars[at].type, bytes);
	}
	return p->f;
}

/* take_more: further members; free() what it returns. */
static char *question_line(const struct oracle_question *q, const char *ask, json_t *take_more)
{
	json_t *inputs = json_array(), *outputs = json_array(), *params = json_object();
	for (size_t i = 0; i < q->plan->buffer_count; i++) {
		const struct plan_buffer *b = &q->plan->buffers[i];
		const struct wire_share *at = q->shared ? &q->shared->at[i] : NULL;
		if (plan_is_input(b))
			json_array_append_new(inputs, array_of(input_type_of(q, b), b, at));
		if (plan_is_output(b))
			json_array_append_new(outputs, array_of(type_of(q, b), b, at));
	}
	for (size_t i = 0; i < q->params->count; i++) {
		const struct param *p = &q->params->at[i];
		if (!p->tuning)
			json_object_set_new(params, p->name, p->is_float ? json_real(scalar_of(q, p)) : json_integer(p->i));
	}
	json_t *all = json_pack("{s:i, s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "protocol", PROTOCOL, "ask", ask, "source",
				context_oracle(q->ctx), "double", q->in_double, "plain", q->plain, "params", params, "inputs",
				inputs, "outputs", outputs);
	if (q->moves)
		json_object_set_new(all, "moves",
				    json_pack("{s:i, s:f, s:I}", "count", (int)q->moves, "amplitude", q->amplitude, "seed",
					      (json_int_t)(q->input->seed & INT64_MAX)));
	if (q->shared)
		json_object_set_new(all, "device", json_string(q->device));
	json_object_update(all, take_more);
	char *text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	char *line = mem_fmt("%s\n", text);
	free(text);
	json_decref(all);
	json_decref(take_more);
	return line;
}

/* Rows without padding, as Python sees them. In double they are still rounded to the declared type first, and perturbed
 * afterwards. */
static int send_inputs(const struct oracle_question *q, const struct transfer *t, struct err *e)
{
	struct fill_choice choice = { .seed = q->input->seed,
				      .values = q->input->values,
				      .perturbation = q->input->perturbation,
				      .amplitude = q->input->amplitude,
				      .immediates = q->input->immediates };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < q->plan->buffer_count; i++) {
		struct plan_buffer b = q->plan->buffers[i];
		if (!plan_is_input(&b))
			continue;
		b.rounded = b.type;
		b.type = input_type_of(q, &b);
		b.ld = b.dims[b.rank - 1];
		b.bytes = plan_buffer_logical(&b) * dtype_size(b.type);
		uint8_t *bytes = mem_new(b.bytes + 1, 1);
		fill_chosen(&b, &choice, bytes);
		rc = move_bytes(t, true, bytes, b.bytes, e);
		free(bytes);
	}
	return rc;
}

static int read_line(const struct transfer *t, json_t **ret_line, struct err *e)
{
	struct buf line = BUF_INIT;
	json_error_t where;
	char c = 0;
	int rc = 0;
	while (rc == 0 && c != '\n' && line.len < LINE_MAX_BYTES)
		if ((rc = move_bytes(t, false, &c, 1, e)) == 0)
			buf_addc(&line, c);
	json_t *all = rc == 0 ? json_loadb(line.data, line.len, 0, &where) : NULL;
	const char *why = json_string_value(json_object_get(all, "error"));
	if (rc == 0 && !json_is_object(all))
		rc = err_set(e, ERR_CRASH, "the oracle's answer is not a line of JSON");
	else if (rc == 0 && why)
		rc = err_set(e, json_is_true(json_object_get(all, "missing")) ? ERR_UNSUPPORTED : ERR_INTERNAL, "the oracle: %s",
			     why);
	buf_fini(&line);
	if (rc < 0)
		json_decref(all);
	else
		*ret_line = all;
	return rc;
}

/* The outputs, then how far each moved, then all of them again as the code names their types. */
static int receive_outputs(const struct oracle_question *q, const struct transfer *t, struct oracle_answer *io_answer,
			   struct err *e)
{
	json_t *line = NULL;
	int rc = read_line(t, &line, e);
	const char *by = json_string_value(json_object_get(line, "by"));
	bool plain = json_is_true(json_object_get(line, "plain"));
	for (size_t i = 0; i < q->plan->buffer_count; i++) {
		const struct plan_buffer *b = &q->plan->buffers[i];
		if (plan_is_output(b))
			*MEM_PUSH(io_answer->outputs, io_answer->count) = (struct oracle_output){
				.type = type_of(q, b), .declared = b->type, .elements = plan_buffer_logical(b)
			};
	}
	for (size_t k = 0; rc == 0 && !q->shared && k < io_answer->count; k++) {
		struct oracle_output *o = &io_answer->outputs[k];
		o->bytes = mem_new(o->elements + 1, dtype_size(o->type));
		rc = move_bytes(t, false, o->bytes, o->elements * dtype_size(o->type), e);
	}
	for (size_t k = 0; rc == 0 && q->moves && k < io_answer->count; k++) {
		struct oracle_output *o = &io_answer->outputs[k];
		o->moved = MEM_NEW_N(float, o->elements + 1);
		rc = move_bytes(t, false, o->moved, o->elements * sizeof *o->moved, e);
	}
	for (size_t k = 0; rc == 0 && plain && k < io_answer->count; k++) {
		struct oracle_output *o = &io_answer->outputs[k];
		o->plain = mem_new(o->elements + 1, dtype_size(o->declared));
		rc = move_bytes(t, false, o->plain, o->elements * dtype_size(o->declared), e);
	}
	if (rc == 0)
		io_answer->by = mem_str(by ? by : "an oracle");
	io_answer->on_gpu = json_is_true(json_object_get(line, "on_gpu"));
	json_decref(line);
	return rc;
}

int oracle_ask(struct oracle *o, const struct oracle_question *q, struct oracle_answer *ret_answer, struct err *e)
{
	const char *source = context_oracle(q->ctx);
	struct hash code = hash_bytes(source, strlen(source));
	struct oracle_answer answer = { .count = 0 };
	struct running r;
	int rc = take_idle(o, &code, &r) ? 0 : start(&code, false, &r, e);
	if (rc < 0)
		return rc;
	struct transfer t = { &r, clock_now() + ANSWER_NS, q->cancel };
	char *line = question_line(q, "reference", NULL), *said = NULL;
	rc = move_bytes(&t, true, line, strlen(line), e);
	if (rc == 0 && !q->shared)
		rc = send_inputs(q, &t, e);
	/* A process that could not even start says why on stderr. */
	if (rc == 0)
		rc = receive_outputs(q, &t, &answer, e);
	free(line);
	/* After an error of the Python code the streams are in step: all inputs were read, and nothing else follows the line. */
	if (rc == 0 || e->code == ERR_INTERNAL) {
		keep_idle(o, &r);
	} else {
		running_end(&r, &said);
		if (e->code == ERR_CRASH && said)
			err_set(e, ERR_CRASH, "%s (%s)%s", e->text, oracle_python(), said);
		free(said);
	}
	if (rc < 0)
		oracle_answer_fini(&answer);
	else
		*ret_answer = answer;
	return rc;
}

/* --- on the device ------------------------------------------------------------------------------------------------------ */

/* The judge's process owns and fills the arrays, and the oracle's opens them by their handles: nothing passes through pipes and the
 * daemon's memory, which takes most of a second for 100 MB. */

/* Inputs and outputs without padding, in double or as declared. Of the plan's operations only the buffers matter: nothing is
 * launched. */
static struct plan *arrays_of(const struct plan *plan, bool in_double)
{
	struct plan *own = plan_new();
	struct plan_op op = { .kind = PLAN_OP_LAUNCH };
	for (size_t i = 0; i < plan->buffer_count; i++) {
		struct plan_buffer b = plan->buffers[i];
		if (!plan_is_input(&b) && !plan_is_output(&b))
			continue;
		b.name = mem_str(b.name);
		b.rounded = b.type;
		b.type = in_double && dtype_is_float(b.type) ? DTYPE_F64 : b.type;
		b.ld = b.dims[b.rank - 1];
		b.bytes = plan_buffer_logical(&b) * dtype_size(b.type);
		*MEM_PUSH(own->buffers, own->buffer_count) = b;
	}
	op.launch = (struct plan_launch){
		.kernel = mem_str("oracle"), .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .cluster = { 1, 1, 1 }
	};
	*MEM_PUSH(own->ops, own->op_count) = op;
	return own;
}

int oracle_run_begin(struct oracle_run *r, struct pool_worker *judge, const struct oracle_question *q, struct err *e)
{
	*r = (struct oracle_run){
		.variant = { .params = params_copy(q->params), .plan = arrays_of(q->plan, q->in_double) },
	};
	int rc = trial_allocate(&r->trial, judge, &r->variant, e);
	if (rc == 0)
		rc = trial_share(&r->trial, &r->shared, e);
	if (rc < 0)
		oracle_run_end(r);
	return rc;
}

int oracle_run_execute(struct oracle *o, struct oracle_run *r, const struct oracle_question *q, struct oracle_answer *ret_answer,
		       struct err *e)
{
	struct oracle_question there = *q;
	struct trial_input set_up = *q->input;
	set_up.keep |= WIRE_RESIDENT | WIRE_SET_UP;
	there.plan = r->variant.plan;
	there.shared = &r->shared;
	int rc = trial_execute(&r->trial, &set_up, EVAL_COMPARE_NS, NULL, e);
	return rc < 0 ? rc : oracle_ask(o, &there, ret_answer, e);
}

void oracle_run_end(struct oracle_run *r)
{
	trial_end(&r->trial);
	wire_shared_fini(&r->shared);
	variant_fini(&r->variant);
	*r = (struct oracle_run){ .trial = { .worker = NULL } };
}

/* --- timing ----------------------------------------------------------------------------------------------------------------- */

const char *const oracle_ways[ORACLE_WAYS] = { "eager", "compile", "max-autotune" };

struct oracle_timer {
	struct running r;
	const struct cancel *cancel;
	json_t *begun; /* its answer: by, and why a way cannot be timed */
};

int oracle_timer_begin(const struct oracle_question *q, const char *device, size_t flush, struct oracle_timer **ret_timer,
		       struct err *e)
{
	const char *source = context_oracle(q->ctx);
	struct hash code = hash_bytes(source, strlen(source));
	struct oracle_timer *t = MEM_NEW(struct oracle_timer);
	*t = (struct oracle_timer){ .r = { .to = -1, .from = -1, .complaints = -1 }, .cancel = q->cancel };
	int rc = start(&code, true, &t->r, e);
	struct transfer transfer = { &t->r, clock_now() + ANSWER_NS, q->cancel };
	char *line = question_line(q, "time", json_pack("{s:s, s:I}", "device", device, "flush", (json_int_t)flush));
	if (rc == 0)
		rc = move_bytes(&transfer, true, line, strlen(line), e);
	if (rc == 0)
		rc = send_inputs(q, &transfer, e);
	if (rc == 0)
		rc = read_line(&transfer, &t->begun, e);
	free(line);
	if (rc < 0)
		oracle_timer_end(t);
	else
		*ret_timer = t;
	return rc;
}

const char *oracle_timer_by(const struct oracle_timer *t)
{
	const char *by = json_string_value(json_object_get(t->begun, "by"));
	return by ? by : "an oracle";
}

const char *oracle_timer_why(const struct oracle_timer *t, unsigned way)
{
	const json_t *why = json_object_get(json_object_get(t->begun, "ways"), oracle_ways[way]);
	return why == NULL ? "it was not asked for" : json_string_value(why);
}

int oracle_timer_block(struct oracle_timer *t, unsigned way, size_t samples, double *ns, struct err *e)
{
	struct transfer transfer = { &t->r, clock_now() + ANSWER_NS, t->cancel };
	char *line = mem_fmt("{\"ask\":\"block\",\"way\":\"%s\",\"samples\":%zu}\n", oracle_ways[way], samples);
	json_t *answer = NULL;
	int rc = move_bytes(&transfer, true, line, strlen(line), e);
	if (rc == 0)
		rc = read_line(&transfer, &answer, e);
	const json_t *list = json_object_get(answer, "ns");
	if (rc == 0 && json_array_size(list) != samples)
		rc = err_set(e, ERR_CRASH, "the oracle timed %zu executions of %zu", json_array_size(list), samples);
	for (size_t i = 0; rc == 0 && i < samples; i++)
		ns[i] = json_number_value(json_array_get(list, i));
	free(line);
	json_decref(answer);
	return rc;
}

void oracle_timer_end(struct oracle_timer *t)
{
	if (t == NULL)
		return;
	running_end(&t->r, NULL);
	json_decref(t->begun);
	free(t);
}
