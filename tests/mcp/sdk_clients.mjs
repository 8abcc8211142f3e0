// sdk_clients: both TypeScript SDK clients list, call, read and hear progress from the conformance server, over HTTP and
// stdio, in each era that they speak. TAP on standard output. Run by tests/mcp/clients.sh:
//     node sdk_clients.mjs NPM_DIR URL SERVER
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [dir, url, server] = process.argv.slice(2);
const need = createRequire(dir + '/index.js');
const load = name => import(pathToFileURL(need.resolve(name)).href);
const { Client: Client1 } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport: Stdio1 } = await load('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport: Http1 } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { ElicitRequestSchema } = await load('@modelcontextprotocol/sdk/types.js');
const { Client: Client2, StreamableHTTPClientTransport: Http2 } = await load('@modelcontextprotocol/client');
const { StdioClientTransport: Stdio2 } = await load('@modelcontextprotocol/client/stdio');

let count = 0, failed = 0;
function ok(good, what, why) {
	count++;
	if (!good) failed++;
	console.log(`${good ? 'ok' : 'not ok'} ${count} - ${what}`);
	if (!good && why !== undefined) console.log('# ' + String(why?.stack ?? why).replaceAll('\n', '\n# '));
}

const me = { name: 'sdk-clients-test', version: '1.0.0' };

async function drive(name, client, transport) {
	try {
		await client.connect(transport);
		const { tools } = await client.listTools();
		ok(tools.some(t => t.name === 'greet'), `${name}: lists tools`);
		const called = await client.callTool({ name: 'greet', arguments: { name: 'World' } });
		ok(called.content[0].text === 'Hello, World!', `${name}: calls a tool`, JSON.stringify(called));
		const refused = await client.callTool({ name: 'test_error_handling', arguments: {} });
		ok(refused.isError === true, `${name}: sees a tool's error`, JSON.stringify(refused));
		const steps = [];
		await client.callTool(...progressCall(client, { name: 'test_tool_with_progress', arguments: {} },
			p => steps.push(p.progress)));
		ok(steps.join() === '0,50,100', `${name}: hears progress`, steps.join());
		const read = await client.readResource({ uri: 'test://template/7/data' });
		ok(JSON.parse(read.contents[0].text).id === '7', `${name}: reads from a template`, JSON.stringify(read));
		const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } });
		ok(/arg1='a'/.test(prompt.messages[0].content.text), `${name}: gets a prompt`, JSON.stringify(prompt));
		const asked = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Well?' } });
		ok(/action=accept/.test(asked.content[0].text), `${name}: is asked, and answers`, JSON.stringify(asked));
		await client.callTool({ name: 'nothing', arguments: {} }).then(
			r => ok(false, `${name}: an unknown tool is an error`, JSON.stringify(r)),
			e => ok(e.code === -32602, `${name}: an unknown tool is an error`, e));
	} catch (e) {
		ok(false, `${name}: no exception`, e);
	}
	await client.close().catch(() => {});
}

// Version 1 of the package takes a result schema between parameters and options.
function progressCall(client, params, onprogress) {
	return client instanceof Client1 ? [params, undefined, { onprogress }] : [params, { onprogress }];
}

const answer = async () => ({ action: 'accept', content: { response: 'yes' } });

function client1() {
	const client = new Client1(me, { capabilities: { elicitation: {} } });
	client.setRequestHandler(ElicitRequestSchema, answer);
	return client;
}

function client2(versionNegotiation) {
	const client = new Client2(me, { capabilities: { elicitation: {} }, versionNegotiation });
	client.setRequestHandler('elicitation/create', answer);
	return client;
}

const stdio = { command: server, args: ['--stdio'] };
await drive('sdk 1, http', client1(), new Http1(new URL(url)));
await drive('sdk 1, stdio', client1(), new Stdio1(stdio));
const eras = { default: undefined, auto: { mode: 'auto' }, modern: { mode: { pin: '2026-07-28' } } };
for (const [era, negotiation] of Object.entries(eras)) {
	await drive(`sdk 2, http, ${era}`, client2(negotiation), new Http2(new URL(url)));
	await drive(`sdk 2, stdio, ${era}`, client2(negotiation), new Stdio2(stdio));
}
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
