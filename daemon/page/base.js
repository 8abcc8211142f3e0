// base: elements, numbers, and how the page reads peakd: over MCP (POST /mcp), through the host of an MCP App (postMessage), or from the data
// in an offline file. Values reach the document as text nodes only.
"use strict";

// --- elements ------------------------------------------------------------------------------------------------------

// h("td", {class: "n", onclick: f}, "text", child): an element. Properties that are null or false are left out.
function make(space, tag, properties, children) {
	const e = space ? document.createElementNS(space, tag) : document.createElement(tag);
	for (const [key, value] of Object.entries(properties || {})) {
		if (value === null || value === undefined || value === false) continue;
		if (typeof value === "function") e.addEventListener(key.slice(2), value);
		else e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children.flat(9).filter(c => c !== null && c !== undefined && c !== false));
	return e;
}
const h = (tag, properties, ...children) => make(null, tag, properties, children);
const s = (tag, properties, ...children) => make("http://www.w3.org/2000/svg", tag, properties, children);
const byId = id => document.getElementById(id);
const say = text => {
	byId("status").textContent = text;
};

// A table: columns are [title, row → cell, class]; a cell is text or an element.
function table(caption, columns, rows, chosen) {
	return h(
		"div",
		{class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
		h(
			"table",
			{"aria-label": caption},
			h(
				"thead",
				null,
				h(
					"tr",
					null,
					columns.map(([title, , kind]) => h("th", {scope: "col", class: kind}, title)),
				),
			),
			h(
				"tbody",
				null,
				rows.map(row =>
					h(
						"tr",
						{class: chosen && chosen(row) ? "chosen" : null},
						columns.map(([, cell, kind]) => h("td", {class: kind}, cell(row) ?? "")),
					),
				),
			),
		),
	);
}

function choose(label, options, value, onchange) {
	return h(
		"label",
		null,
		label,
		" ",
		h(
			"select",
			{onchange: e => onchange(e.target.value)},
			options.map(o => h("option", {value: o, selected: o === value}, o)),
		),
	);
}

// --- numbers ---------------------------------------------------------------------------------------------------------

function digits(x, n = 3) {
	if (!Number.isFinite(x)) return "";
	return x !== 0 && Math.abs(x) >= 10 ** n ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(n)).toString();
}
function duration(ns) {
	if (!Number.isFinite(ns)) return "";
	for (const [unit, size] of [
		["s", 1e9],
		["ms", 1e6],
		["µs", 1e3],
	])
		if (ns >= size) return (ns / size).toPrecision(4).replace(/e.*/, "") + " " + unit;
	return ns.toPrecision(4) + " ns";
}
const roundTime = ns => duration(ns).replace(/\.?0+ /, " ");
const when = ms => {
	const d = new Date(ms);
	return Number.isNaN(+d) ? "" : d.toISOString().slice(0, 16).replace("T", " ");
};
const isUnclear = (verdict, low, high) => verdict === "unclear" || !(high <= low * 1.5);
const intervalText = (low, high) => (low > 0 && high > 0 ? ` (${low.toFixed(2)}–${high.toFixed(2)})` : "");
const ratioText = (times, low, high) => (times > 0 ? `${times.toFixed(2)}×${intervalText(low, high)}` : "");
// A ratio with its interval, as peakd says it everywhere: one whose interval is wide says little.
function speedParts(row, name) {
	const [times, low, high, verdict] = ["", "_low", "_high", "_verdict"].map(end => row[name + end]);
	if (!verdict || !Number.isFinite(times)) return ["", ""];
	return [isUnclear(verdict, low, high) ? "unclear" : `${times.toFixed(2)}×`, intervalText(low, high)];
}
const speedText = (row, name) => speedParts(row, name).join("");

// RFC 4180, with a header line: an array of objects of texts.
function readCsv(text) {
	const rows = [[""]];
	let quoted = false;
	for (let i = 0; i < text.length; i++) {
		const c = text[i],
			row = rows[rows.length - 1];
		if (quoted && c === '"' && text[i + 1] === '"') {
			row[row.length - 1] += c;
			i++;
		} else if (c === '"') quoted = !quoted;
		else if (!quoted && c === ",") row.push("");
		else if (!quoted && c === "\n") rows.push([""]);
		else row[row.length - 1] += c;
	}
	const names = rows.shift();
	return rows.filter(r => r.length === names.length).map(r => Object.fromEntries(names.map((n, i) => [n, r[i]])));
}

// --- reading peakd -----------------------------------------------------------------------------------------------------

const META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}};
const baked = byId("data") ? JSON.parse(byId("data").textContent) : null; // {name, made_ms, log: [...], read: {uri: text}}
const framed = !baked && window.parent !== window;
let tokenAsked = null; // a promise while the form is shown

function askToken(wrong) {
	tokenAsked ??= new Promise(done =>
		byId("main").replaceChildren(
			h(
				"form",
				{
					class: "token",
					onsubmit: e => {
						e.preventDefault();
						sessionStorage.setItem("token", byId("token").value);
						tokenAsked = null;
						done();
					},
				},
				h(
					"label",
					{for: "token"},
					wrong ? "That token is not right. The daemon's bearer token:" : "This daemon asks for its bearer token:",
				),
				h("input", {id: "token", type: "password", autocomplete: "off", required: true}),
				h("button", {class: "main"}, "Continue"),
			),
		),
	);
	byId("token")?.focus();
	return tokenAsked;
}

// Calls onMessage with each message of the answer, which is one JSON object or a stream of server-sent events.
async function readMessages(response, onMessage) {
	if (!/event-stream/.test(response.headers.get("Content-Type"))) return onMessage(await response.json());
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	for (;;) {
		const {value, done} = await reader.read();
		if (done) return null;
		text += value;
		const events = text.split("\n\n");
		text = events.pop();
		for (const event of events) {
			const data = event
				.split("\n")
				.filter(l => l.startsWith("data: "))
				.map(l => l.slice(6))
				.join("\n");
			if (data) onMessage(JSON.parse(data));
		}
	}
}

let lastId = 0;
async function askHttp(method, params, name, options) {
	const token = sessionStorage.getItem("token");
	const meta = options.progress ? {...META, progressToken: "p"} : META;
	const response = await fetch("mcp", {
		method: "POST",
		signal: options.signal,
		cache: "no-store",
		headers: {
			"Content-Type": "application/json",
			Accept: "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28",
			"Mcp-Method": method,
			...(name ? {"Mcp-Name": name} : {}),
			...(token ? {Authorization: `Bearer ${token}`} : {}),
		},
		body: JSON.stringify({jsonrpc: "2.0", id: ++lastId, method, params: {...params, _meta: meta}}),
	});
	if (response.status === 401) {
		// Another token may have been entered since this request left.
		if (sessionStorage.getItem("token") === token) {
			await askToken(token);
			route();
		}
		return askHttp(method, params, name, options);
	}
	let answer = null;
	await readMessages(response, message => {
		if (message.method === "notifications/progress") options.progress?.(message.params);
		else if ("result" in message || "error" in message) answer = message;
	});
	if (!answer) throw new Error(`${method}: the daemon ended the answer early`);
	return answer;
}

// The host of an MCP App forwards tools/call and resources/read to the server (extension io.modelcontextprotocol/ui).
const waiting = new Map();
function askHost(method, params) {
	const id = ++lastId;
	window.parent.postMessage({jsonrpc: "2.0", id, method, params}, "*");
	return new Promise(done => waiting.set(id, done));
}
if (framed)
	window.addEventListener("message", e => {
		if (e.source !== window.parent || e.data?.jsonrpc !== "2.0") return;
		if (e.data.method === "ui/notifications/tool-input") {
			const {name, at} = e.data.params?.arguments ?? {};
			if (name ?? at) location.hash = `#/w/${encodeURIComponent(name ?? at)}`;
		} else if (waiting.has(e.data.id)) {
			waiting.get(e.data.id)(e.data);
			waiting.delete(e.data.id);
		}
	});
async function joinHost() {
	await askHost("ui/initialize", {protocolVersion: "2026-01-26", appInfo: {name: "peakd", version: "1"}, appCapabilities: {}});
	for (const [method, params] of [
		["ui/notifications/initialized", {}],
		["ui/notifications/size-changed", {height: 720}],
	])
		window.parent.postMessage({jsonrpc: "2.0", method, params}, "*");
	// A frame's links are relative to the host's address.
	document.addEventListener("click", e => {
		const link = e.target.closest('a[href^="#"]');
		if (!link) return;
		e.preventDefault();
		location.hash = link.getAttribute("href");
	});
}

async function ask(method, params, name, options = {}) {
	const answer = await (framed ? askHost(method, params) : askHttp(method, params, name, options));
	if (answer.error) throw new Error(answer.error.message);
	if (answer.result.isError) throw new Error(answer.result.content[0].text);
	return answer.result;
}
// A tool's structured answer.
const call = async (tool, args, options) =>
	(await ask("tools/call", {name: tool, arguments: args}, tool, options)).structuredContent;
// A resource's text.
async function read(uri) {
	if (baked) {
		const text = baked.read[decodeURIComponent(uri)];
		if (text === undefined) throw new Error("this is not in the file: see the page of the daemon");
		return text;
	}
	return (await ask("resources/read", {uri}, uri)).contents[0].text;
}
const view = async (name, of, from = 0) => JSON.parse(await read(`peak://page/${name}/${encodeURIComponent(of)}/${from}`));
const part = (id, name) => read(`peak://checkpoint/${id}/${name}`);

// Which tools there are: with --read-only those that change something are missing, and so are the page's buttons.
let tools = new Set();
async function learnTools() {
	if (framed) tools = new Set(["workflow_change", "job_control"]);
	else if (!baked) tools = new Set((await ask("tools/list", {})).tools.map(t => t.name));
}
