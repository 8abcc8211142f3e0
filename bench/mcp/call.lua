-- call: wrk's request, always the same: one tools/call of revision 2026-07-28 that carries a text of $TEXT_BYTES bytes. Prints the
-- figures as one line of JSON on standard error. bench/mcp/run.py uses it.
local bytes = tonumber(os.getenv("TEXT_BYTES") or "32")
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = "application/json, text/event-stream"
wrk.headers["MCP-Protocol-Version"] = "2026-07-28"
wrk.headers["Mcp-Method"] = "tools/call"
wrk.headers["Mcp-Name"] = "echo"
wrk.body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"' ..
	string.rep("x", bytes) .. '"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' ..
	'"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"wrk","version":"4"}}}}'

function done(summary, latency)
	local e = summary.errors
	io.stderr:write(string.format(
		'{"requests":%d,"seconds":%.3f,"per_s":%.1f,"p50_us":%d,"p99_us":%d,"max_us":%d,"not_2xx":%d,"socket_errors":%d}\n',
		summary.requests, summary.duration / 1e6, summary.requests / (summary.duration / 1e6), latency:percentile(50),
		latency:percentile(99), latency.max, e.status, e.connect + e.read + e.write + e.timeout))
end
