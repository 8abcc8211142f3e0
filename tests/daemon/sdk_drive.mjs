// sdk_drive: both TypeScript SDK clients drive peakd through a whole workflow, over stdio, HTTP and mcp-remote; two stdio clients
// at once share one daemon. TAP on standard output. Run by tests/daemon/clients.sh:
//     PEAKD_URL=… PEAKD_DB=… node sdk_drive.mjs NPM_DIR PEAKD FOLDER
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [dir, peakd, folder] = process.argv.slice(2);
const { PEAKD_URL: url, PEAKD_DB: db } = process.env;
const need = createRequire(dir + '/index.js');
const load = name => import(pathToFileURL(need.resolve(name)).href);
const { Client: Client1 } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport: Stdio1 } = await load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport: Http1 } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { Client: Client2, StreamableHTTPClientTransport: Http2 } = await load('@modelcontextprotocol/client');
const { StdioClientTransport: Stdio2 } = await load('@modelcontextprotocol/client/stdio');
const { AjvJsonSchemaValidator } = await load('@modelcontextprotocol/client/validators/ajv');

let count = 0, failed = 0;
function ok(good, what, why) {
	count++;
	if (!good) failed++;
	console.log(`${good ? 'ok' : 'not ok'} ${count} - ${what}`);
	if (!good && why !== undefined) console.log('# ' + String(why?.stack ?? why).slice(0, 600).replaceAll('\n', '\n# '));
}

const me = { name: 'sdk-drive', version: '1.0.0' };
const source = readFileSync(folder + '/scale.peak.md', 'utf8');
const patience = { timeout: 300000 };

// Version 1 of the package takes a result schema between parameters and options.
function call(client, name, args, more = {}) {
	const params = { name, arguments: args }, options = { ...patience, ...more };
	return client instanceof Client1 ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

// The structured answer of a tool, after its job has ended.
async function settle(client, name, args, more) {
	let answer = (await call(client, name, args, more)).structuredContent;
	while (answer?.state === 'queued' || answer?.state === 'running')
		answer = (await call(client, 'job', { action: 'wait', id: answer.job, wait_s: 45 }, more)).structuredContent;
	return answer;
}

async function drive(who, client, transport, workflow, budget) {
	try {
		await client.connect(transport);
		const { tools } = await client.listTools();
		const texts = tools.filter(t => !t.outputSchema).map(t => t.name).join();
		ok(tools.length >= 11 && texts === 'transform_begin,read',
			`${who}: lists tools with their output schemas, but for those that answer with a text alone`, texts);
		const at = { at: workflow, device: 'hlsl:0', wait_s: 45 };
		const created = await settle(client, 'context_create', { name: workflow, source });
		ok(created?.workflow === workflow, `${who}: a context is created`, JSON.stringify(created));
		const transformed = await settle(client, 'transform', { ...at, transformation: 'sum', model: 'replay:sum', samples: 2 });
		ok(transformed?.state === 'done' && transformed.result.checkpoint > 1, `${who}: a transformation is replayed`, JSON.stringify(transformed));
		const validated = await settle(client, 'validate', { ...at, samples: 2 });
		ok(validated?.result?.passed === true, `${who}: the result is valid`, JSON.stringify(validated));
		const heard = [];
		const tuned = await settle(client, 'tune', { ...at, budget }, { onprogress: p => heard.push(p) });
		ok(tuned?.result?.sizes[0].tried === budget && tuned.result.sizes[0].median_ns > 0, `${who}: it is tuned`, JSON.stringify(tuned));
		ok(heard.length > 0 && heard.every((p, i) => i === 0 || p.progress > heard[i - 1].progress || heard[i - 1].total !== p.total),
			`${who}: progress is heard, and increases`, JSON.stringify(heard));
		const log = await settle(client, 'workflow', { action: 'log', name: workflow });
		ok(log?.checkpoints.map(c => c.by).join() === 'sum,root', `${who}: the log shows it`, JSON.stringify(log));
		const refused = await call(client, 'tune', { at: 'nothing-of-that-name' });
		ok(refused.isError === true, `${who}: a wrong name is an error that a model can read`, JSON.stringify(refused));
		const prompt = await client.getPrompt({ name: 'optimize-step', arguments: { workflow } });
		ok(prompt.messages[0].content.text.includes(workflow), `${who}: gets a prompt`, JSON.stringify(prompt));
		const read = await client.readResource({ uri: `peak://checkpoint/${workflow}/source` });
		ok(read.contents[0].text.includes('kernel:'), `${who}: reads a resource`, JSON.stringify(read));
	} catch (e) {
		ok(false, `${who}: no exception`, e);
	}
	await client.close().catch(() => {});
}

// Client 2.4.0 lets its owner declare the tasks extension and sends tasks/*, but its callTool has no notion of a task: it refuses
// the answer by its resultType. So the task is read where the transport delivers it.
const asIs = { '~standard': { version: 1, vendor: 'sdk-drive', validate: value => ({ value }) } };
async function driveTasks(who, transport, workflow) {
	const client = new Client2(me, { versionNegotiation: { mode: { pin: '2026-07-28' } },
		capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
	const task = (method, taskId) => client.request({ method, params: { taskId } }, asIs, patience);
	const begin = async (name, args) => {
		let made;
		const deliver = transport.onmessage;
		transport.onmessage = (message, extra) => {
			if (message.result?.resultType === 'task') made = message.result;
			deliver(message, extra);
		};
		const error = await call(client, name, args).then(r => JSON.stringify(r), e => e);
		transport.onmessage = deliver;
		return made ?? Promise.reject(new Error(`${name} made no task`, { cause: error }));
	};
	const ended = async ({ taskId, pollIntervalMs }) => {
		for (;;) {
			const now = await task('tasks/get', taskId);
			if (now.status !== 'working') return now;
			await new Promise(resolve => setTimeout(resolve, pollIntervalMs));
		}
	};
	try {
		await client.connect(transport);
		ok(client.getServerCapabilities().extensions?.['io.modelcontextprotocol/tasks'], `${who}: the server offers tasks`);
		const { tools } = await client.listTools();
		await settle(client, 'context_create', { name: workflow, source });
		const at = { at: workflow, device: 'hlsl:0' };
		const long = await begin('tune', { ...at, budget: 200, wait_s: 45 });
		ok(long.status === 'working' && long.result === undefined && long.pollIntervalMs > 0 && 'ttlMs' in long,
			`${who}: a long tool is a task at once`, JSON.stringify(long));
		const early = await task('tasks/get', long.taskId);
		ok(early.status === 'working' && early.taskId === long.taskId, `${who}: which can be asked for`, JSON.stringify(early));
		await task('tasks/cancel', long.taskId);
		const stopped = await ended(long);
		ok(stopped.status === 'cancelled' && stopped.result === undefined, `${who}: and cancelled`, JSON.stringify(stopped));
		for (const [name, args, good] of [
			['validate', { samples: 2 }, r => r.passed === true],
			['tune', { budget: 2 }, r => r.sizes[0].tried === 2 && r.sizes[0].median_ns > 0],
		]) {
			const done = await ended(await begin(name, { ...at, ...args }));
			const answer = done.result?.structuredContent;
			ok(done.status === 'completed' && done.result.content[0].type === 'text' && good(answer.result),
				`${who}: the result of ${name} is in its task`, JSON.stringify(done));
			const checked = new AjvJsonSchemaValidator().getValidator(tools.find(t => t.name === name).outputSchema)(answer);
			ok(checked.valid, `${who}: and conforms to its output schema`, checked.errorMessage);
		}
		await task('tasks/get', 'jnone').then(r => ok(false, `${who}: an unknown task is an error`, JSON.stringify(r)),
			e => ok(e.code === -32602, `${who}: an unknown task is an error`, e));
	} catch (e) {
		ok(false, `${who}: no exception`, e.cause ?? e);
	}
	await client.close().catch(() => {});
}

const stdio = { command: peakd, args: ['stdio', '--db', db] };
const client2 = versionNegotiation => new Client2(me, { versionNegotiation });
await drive('sdk 1, stdio', new Client1(me), new Stdio1(stdio), 'sdk1-stdio', 4);
await drive('sdk 1, http', new Client1(me), new Http1(new URL(url)), 'sdk1-http', 1);
await drive('sdk 2, stdio, modern', client2({ mode: { pin: '2026-07-28' } }), new Stdio2(stdio), 'sdk2-stdio', 1);
await drive('sdk 2, http, auto', client2({ mode: 'auto' }), new Http2(new URL(url)), 'sdk2-http', 1);
await drive('sdk 1, mcp-remote', new Client1(me), new Stdio1({ command: 'mcp-remote', args: [url, '--allow-http'], env: process.env }),
	'mcp-remote', 1);
await driveTasks('sdk 2, http, tasks', new Http2(new URL(url)), 'tasks-http');
await driveTasks('sdk 2, stdio, tasks', new Stdio2(stdio), 'tasks-stdio');

// Two windows at once, and no daemon yet: one with the whole environment, one with the little that clients pass by default.
try {
	const other = folder + '/two.db', share = { PEAKD_SHARE: process.env.PEAKD_SHARE };
	const one = new Client1(me), two = client2({ mode: 'auto' });
	await Promise.all([
		one.connect(new Stdio1({ command: peakd, args: ['stdio', '--db', other], env: { ...process.env } })),
		two.connect(new Stdio2({ command: peakd, args: ['stdio', '--db', other], env: share })),
	]);
	await settle(one, 'context_create', { name: 'ours', source });
	const seen = await settle(two, 'workflow', { action: 'list' });
	ok(seen.workflows.some(w => w.name === 'ours'), 'what one stdio client makes, the other sees', JSON.stringify(seen));
	const served = readFileSync(other + '.log', 'utf8').split('\n').filter(l => l.includes('info: serving'));
	ok(served.length === 1, 'two stdio clients that start at once share one daemon', served.join('\n'));
	await Promise.all([one.close(), two.close()]);
} catch (e) {
	ok(false, 'two stdio clients: no exception', e);
}
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
