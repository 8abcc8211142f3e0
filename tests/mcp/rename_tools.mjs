// rename_tools: a proxy before a real peakd that gives its tools the names of the conformance suite's fixtures, so that the suite's
// tasks scenarios run against peakd's own jobs. Nothing else is changed. Run by tests/mcp/conformance.sh:
//     node rename_tools.mjs URL        prints its own URL and serves until its input ends
import http from 'node:http';

const server = new URL(process.argv[2]);
const at = { at: 'conformance', device: 'hlsl:0' };
// What ends at once must not wait for a device, which others may hold: the suite waits for ten seconds. A job that fails is a task
// whose result says so, as the suite asks of failing_job.
const atOnce = ['draft', { source: '__global__ void f(float *x) { x[0] = 1; }', model: 'replay:none' }];
const TOOLS = {
	greet: () => ['devices', {}],
	slow_compute: seconds => (seconds >= 5 ? ['tune', { ...at, budget: 200 }] : atOnce),
	failing_job: () => atOnce,
};

function rename(message, headers) {
	const tool = message.method === 'tools/call' && TOOLS[message.params?.name];
	if (!tool) return;
	const [name, args] = tool(message.params.arguments?.seconds ?? 1);
	if (headers['mcp-name'] === message.params.name) headers['mcp-name'] = name;
	Object.assign(message.params, { name, arguments: args });
}

async function read(stream) {
	const chunks = [];
	for await (const chunk of stream) chunks.push(chunk);
	return Buffer.concat(chunks).toString();
}

const proxy = http.createServer(async (request, response) => {
	let body = await read(request), lists = false;
	const headers = { ...request.headers, host: request.headers.host === proxy.host ? server.host : request.headers.host };
	delete headers['content-length'];
	try {
		const message = JSON.parse(body);
		lists = message.method === 'tools/list';
		rename(message, headers);
		body = JSON.stringify(message);
	} catch {} // what is not JSON goes on as it is
	const options = { host: server.hostname, port: server.port, path: server.pathname, method: request.method, headers };
	const onward = http.request(options, async answer => {
		if (!lists) {
			response.writeHead(answer.statusCode, answer.headers);
			answer.pipe(response);
			return;
		}
		const list = JSON.parse(await read(answer));
		for (const name of Object.keys(TOOLS)) list.result?.tools.push({ name, inputSchema: { type: 'object' } });
		response.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] });
		response.end(JSON.stringify(list));
	});
	onward.on('error', () => response.destroy());
	response.on('close', () => onward.destroy());
	onward.end(body);
});
proxy.listen(0, '127.0.0.1', () => {
	proxy.host = `127.0.0.1:${proxy.address().port}`;
	console.log(`http://${proxy.host}/mcp`);
});
process.stdin.resume().on('end', () => process.exit(0));
