// sdk_server: the same tool as bench/mcp/server.c on the TypeScript SDK, in its stateless form with a server per request.
// bench/mcp/run.py runs it:
//     node sdk_server.mjs NPM_DIR low|high PORT | --stdio
// high is McpServer with a zod schema, as the SDK's documentation shows. low is the SDK's Server with bare handlers, which does not check
// arguments and is the fastest way to use the SDK. Both answer with plain JSON.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [dir, level, where] = process.argv.slice(2);
const need = createRequire(dir + '/index.js');
const load = name => import(pathToFileURL(need.resolve(name)).href);
const { McpServer, Server, createMcpHandler } = await load('@modelcontextprotocol/server');
const { toNodeHandler } = await load('@modelcontextprotocol/node');
const { serveStdio } = await load('@modelcontextprotocol/server/stdio');
const { z } = await load('zod');

const info = { name: 'bench', version: '1.0.0' };
const description = 'Says what it is told';
const inputSchema = z.object({ text: z.string() });
const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false };
const say = text => ({ content: [{ type: 'text', text }] });

function high() {
	const server = new McpServer(info);
	server.registerTool('echo', { description, inputSchema }, ({ text }) => say(text));
	return server;
}

function low() {
	const server = new Server(info, { capabilities: { tools: {} } });
	server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'echo', description, inputSchema: schema }] }));
	server.setRequestHandler('tools/call', request => say(request.params.arguments.text));
	return server;
}

const factory = level === 'low' ? low : high;
if (where === '--stdio') {
	serveStdio(factory);
} else {
	const handler = createMcpHandler(factory, { legacy: 'reject', responseMode: 'json', maxRequestBodySize: 8 << 20 });
	const http = createServer(toNodeHandler(handler));
	http.listen(Number(where), '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
	process.stdin.on('end', () => process.exit(0)).resume();
}
