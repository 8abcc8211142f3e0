// main: addresses behind '#', the list of workflows, the tree of a workflow's checkpoints, jobs and devices.
"use strict";

// --- addresses: #/w/NAME?at=12&view=Tuning&tab=Models, #/jobs, #/job/ID, #/devices ---------------------------------------------

const hashPath = () => location.hash.replace(/^#/, "").split("?")[0].split("/").slice(1).map(decodeURIComponent);
const hashQuery = () => new URLSearchParams(location.hash.split("?")[1] ?? "");
// The present address with other values; null takes one away.
function here(change) {
	const query = hashQuery();
	if ("at" in change && !("with" in change)) query.delete("with");
	for (const [key, value] of Object.entries(change)) value === null ? query.delete(key) : query.set(key, value);
	return `${location.hash.split("?")[0] || "#/"}?${query}`;
}

// Tabs that the arrow keys move through; one is open.
function tabs(label, names, chosen, open) {
	const list = h(
		"div",
		{
			class: "tabs",
			role: "tablist",
			"aria-label": label,
			onkeydown: e => {
				const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
				if (step) list.children[(names.indexOf(chosen) + step + names.length) % names.length].click();
			},
		},
		names.map(n =>
			h(
				"button",
				{role: "tab", "aria-selected": n === chosen ? "true" : "false", tabindex: n === chosen ? 0 : -1, onclick: () => open(n)},
				n,
			),
		),
	);
	return list;
}

// --- the tree ---------------------------------------------------------------------------------------------------------------------

const ROW = 26;

// A workflow: its checkpoints arrive by pages, newest first; times and speed-ups only of those that are looked at.
class Workflow {
	constructor(name) {
		this.name = name;
		this.rows = new Map();
		this.logs = new Map();
		this.order = [];
	}
	async load(from = 0) {
		const g = await view("graph", this.name, from);
		Object.assign(this, {head: g.head, root: g.root, total: g.total, tags: new Map()});
		for (const [tag, id] of g.tags) this.tags.set(id, [...(this.tags.get(id) ?? []), tag]);
		for (const [id, parents, by, status, note, made] of g.rows)
			this.rows.set(id, {id, parents: (parents ?? "").split(" ").filter(Boolean).map(Number), by, status, note, made});
		this.arrange();
		return g.rows.length ? g.rows[g.rows.length - 1][0] : 0;
	}
	// The rest in the background.
	async loadRest(from, onPage) {
		while (from && !baked && this.rows.size < this.total) {
			from = await this.load(from);
			onPage();
		}
	}
	// From the head down its first parents, oldest first.
	line() {
		const line = [];
		for (let id = this.head; this.rows.has(id); id = this.rows.get(id).parents[0]) line.push(id);
		return line.reverse();
	}
	// Newest first; what branched off stands above the checkpoint where it did, one step further in. The line of the head, and elsewhere the
	// greatest branch, continues at the same depth, so depth grows with the logarithm of the tree.
	arrange() {
		const children = new Map(),
			weight = new Map(),
			onLine = new Set(this.line()),
			ids = [...this.rows.keys()].sort((a, b) => a - b);
		for (const id of ids) {
			const parent = this.rows.get(id).parents[0];
			if (this.rows.has(parent)) children.set(parent, [...(children.get(parent) ?? []), id]);
		}
		for (const id of [...ids].reverse()) weight.set(id, 1 + (children.get(id) ?? []).reduce((n, c) => n + weight.get(c), 0));
		const order = [],
			stack = ids.filter(id => !this.rows.has(this.rows.get(id).parents[0])).map(id => [id, 0]);
		while (stack.length) {
			const [id, depth] = stack.pop();
			order.push({id, depth});
			const sorted = (children.get(id) ?? []).sort(
				(a, b) => onLine.has(a) - onLine.has(b) || weight.get(a) - weight.get(b) || a - b,
			);
			const main = sorted.pop();
			if (main) stack.push([main, depth], ...sorted.map(c => [c, depth + 1]));
		}
		this.order = order.reverse();
	}
	// The rows of `workflow log` for these checkpoints.
	async speeds(ids) {
		const missing = ids.filter(id => !this.logs.has(id));
		for (let i = 0; i < missing.length; i += 25) {
			const rows = baked ? baked.log : JSON.parse(await read(`peak://page/log/${missing.slice(i, i + 25).join("+")}/0`));
			for (const row of rows) this.logs.set(row.id, row);
		}
		return ids.map(id => this.logs.get(id)).filter(Boolean);
	}
}

function tree(w, chosen, open) {
	const room = h("div", {class: "room", role: "presentation"}),
		said = new Set();
	let at = Math.max(
			0,
			w.order.findIndex(o => o.id === chosen),
		),
		waiting = 0;
	const box = h(
		"div",
		{
			class: "tree",
			role: "tree",
			tabindex: 0,
			"aria-label": `Checkpoints of ${w.name}, newest first`,
			onscroll: () => draw(),
			onkeydown: e => {
				const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 2);
				const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[e.key];
				if (step) move(at + step);
				else if (e.key !== "Enter" && e.key !== " ") return;
				e.preventDefault();
				clearTimeout(waiting);
				waiting = setTimeout(() => open(w.order[at].id), step ? 150 : 0);
			},
		},
		h(
			"div",
			{class: "row head", "aria-hidden": "true"},
			h("span", null, "checkpoint"),
			h("span", {class: "n"}, "time"),
			h("span", {class: "n"}, "over the baseline"),
		),
		room,
	);
	const move = to => {
		at = Math.max(0, Math.min(w.order.length - 1, to));
		chosen = w.order[at].id;
		const top = at * ROW,
			low = box.scrollTop,
			seen = box.clientHeight - ROW;
		if (top < low) box.scrollTop = top;
		else if (top + ROW > low + seen) box.scrollTop = top + ROW - seen;
		draw();
	};
	const look = async ids => {
		// times of what is in sight
		const wanted = ids.filter(id => !said.has(id) && w.rows.get(id)?.status !== "failed");
		wanted.forEach(id => said.add(id));
		if (wanted.length)
			await w.speeds(wanted).then(
				() => draw(),
				e => say(e.message),
			);
	};
	const line = (o, i) => {
		const r = w.rows.get(o.id),
			best = w.logs.get(o.id)?.best[0],
			[times, interval] = best ? speedParts(best, "speedup") : ["", ""];
		return h(
			"div",
			{
				class: `row ${r.status}`,
				id: `row-${o.id}`,
				role: "treeitem",
				"aria-level": o.depth + 1,
				"aria-selected": i === at ? "true" : "false",
				"aria-setsize": w.order.length,
				"aria-posinset": i + 1,
				"aria-label": `checkpoint ${o.id}, ${r.by}, ${r.status}${o.id === w.head ? ", head" : ""}${best ? `, ${duration(best.median_ns)}, ${times}${interval}` : ""}`,
				onclick: () => {
					move(i);
					open(o.id);
				},
			},
			h(
				"span",
				null,
				h("span", {class: "id"}, o.id),
				h("span", {class: "by"}, r.by),
				o.id === w.head ? h("span", {class: "tag head"}, "head") : null,
				(w.tags.get(o.id) ?? []).map(t => h("span", {class: "tag"}, t)),
			),
			h("span", {class: "n"}, best ? duration(best.median_ns) : ""),
			h("span", {class: "n"}, times, h("span", {class: "interval"}, interval)),
		);
	};
	let timer = 0;
	const draw = () => {
		const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 4),
			seen = w.order.slice(from, from + Math.ceil((box.clientHeight || 600) / ROW) + 8);
		room.style.height = `${w.order.length * ROW}px`;
		room.replaceChildren(
			...seen.map((o, i) => {
				const e = line(o, from + i);
				e.style.top = `${(from + i) * ROW}px`;
				e.firstChild.style.paddingLeft = `${Math.min(o.depth, 12) * 14}px`;
				return e;
			}),
		);
		box.setAttribute("aria-activedescendant", w.order[at] ? `row-${w.order[at].id}` : "");
		clearTimeout(timer);
		timer = setTimeout(() => look(seen.map(o => o.id)), 60);
	};
	box.redraw = () => {
		said.clear();
		at = Math.max(
			0,
			w.order.findIndex(o => o.id === chosen),
		);
		draw();
	};
	box.choose = id =>
		move(
			Math.max(
				0,
				w.order.findIndex(o => o.id === id),
			),
		);
	requestAnimationFrame(() => move(at));
	draw();
	return box;
}

// --- pages --------------------------------------------------------------------------------------------------------------------------

let shown = null; // the workflow that stands on the page, and how to show another part of it

async function pageWorkflow(main, name) {
	if (shown?.w.name === name && byId("main").contains(shown.place)) return shown.update();
	const w = new Workflow(name),
		next = await w.load();
	const detail = h("section", {"aria-label": "Checkpoint"}),
		rest = h("section", {"aria-label": "Workflow"});
	const title = h("h1", null, name),
		count = h("p", {class: "quiet"}),
		save = baked || framed ? null : h("button", {onclick: () => saveFile(name)}, "Save as a file"),
		bar = h("div"),
		split = h("div", {class: "split"});
	const at = () => +hashQuery().get("at") || w.head;
	const list = tree(w, at(), id => {
		location.hash = here({at: id});
	});
	let last = "";
	const tellCount = () => {
		count.textContent = `${w.total} checkpoint${w.total === 1 ? "" : "s"}, head #${w.head}${baked && w.total > w.rows.size ? `; the newest ${w.rows.size} are in this file` : ""}`;
	};
	// After a job: the tree alone, so that what is being read stays.
	const refresh = async () => {
		w.logs.clear();
		await w.load();
		list.redraw();
		tellCount();
	};
	const update = () => {
		const query = hashQuery(),
			tab = query.get("tab") ?? "Checkpoints",
			viewName = query.get("view") ?? "Summary",
			id = at();
		if (last === location.hash) return;
		last = location.hash;
		tellCount();
		const focused = bar.contains(document.activeElement),
			focusedView = detail.firstChild?.contains(document.activeElement);
		bar.replaceChildren(
			tabs(
				"Workflow",
				WORKFLOW_VIEWS.map(v => v[0]),
				tab,
				n => {
					location.hash = here({tab: n === "Checkpoints" ? null : n});
				},
			),
		);
		if (focused) bar.querySelector("[aria-selected=true]").focus();
		const make = WORKFLOW_VIEWS.find(v => v[0] === tab)?.[1];
		split.hidden = !!make;
		split.classList.toggle("split", !make);
		rest.hidden = !make;
		if (make) return fill(rest, () => make(w));
		list.choose(id);
		const body = h("div", {role: "tabpanel", "aria-label": viewName}),
			show = CHECKPOINT_VIEWS.find(v => v[0] === viewName)?.[1] ?? showSummary;
		detail.replaceChildren(
			tabs(
				"Checkpoint",
				CHECKPOINT_VIEWS.map(v => v[0]),
				viewName,
				n => {
					location.hash = here({view: n});
				},
			),
			h("h1", null, `Checkpoint ${id}`),
			body,
		);
		if (focusedView) detail.firstChild.querySelector("[aria-selected=true]").focus();
		fill(body, () => show(w, id));
	};
	w.reload = () => {
		shown = null;
		route();
	};
	split.append(list, detail);
	main.append(title, h("div", {class: "tools"}, count, save), bar, split, rest);
	shown = {w, place: main, update, refresh};
	w.rest = w.loadRest(next, () => list.redraw()).catch(e => say(e.message));
	update();
}

// One HTML file with this page and the newest checkpoints inside, to be read without a daemon.
async function saveFile(name) {
	const file = await read(`peak://page/file/${encodeURIComponent(name)}/0`).catch(e => say(e.message));
	if (!file) return;
	const link = h("a", {
		href: URL.createObjectURL(new Blob([file], {type: "text/html"})),
		download: `${name.replace(/[^\w.-]/g, "_")}.html`,
	});
	link.click();
	URL.revokeObjectURL(link.href);
	say(`${link.download} is saved`);
}

async function pageWorkflows(main) {
	const rows = [];
	for (let cursor; ;) {
		const answer = await call("workflow", {action: "list", limit: 500, ...(cursor ? {cursor} : {})});
		rows.push(...answer.workflows);
		if (!(cursor = answer.next)) break;
	}
	main.replaceChildren(
		h("h1", null, "Workflows"),
		rows.length
			? table(
					"Workflows",
					[
						["name", r => h("a", {href: `#/w/${encodeURIComponent(r.name)}`}, r.name)],
						["head", r => `#${r.head}`, "n"],
						["baseline", r => `#${r.root}`, "n"],
						["moved", r => when(r.moved)],
					],
					rows,
				)
			: h("p", {class: "quiet"}, "No workflows yet: the tool context_create, or peakd workflow create FILE.peak.md, begins one."),
	);
}

const isLive = job => job.state === "running" || job.state === "queued";
let watching = null; // the streams of progress on the page; aborted when another page is shown

// Server-sent events of a running job until it ends; then onEnd gets its last state.
async function watch(id, onMessage, onEnd) {
	const controller = watching;
	try {
		for (let state = "running"; isLive({state}) && !controller.signal.aborted;) {
			const job = await call(
				"job",
				{action: "wait", id, wait_s: 40},
				{signal: controller.signal, progress: p => onMessage(p.message ?? "", p)},
			);
			state = job.state;
			if (!isLive(job)) onEnd(job);
		}
	} catch (e) {
		if (e.name !== "AbortError") say(e.message);
	}
}

function jobActions(job) {
	if (!tools.has("job_control")) return null;
	const button = (action, text) =>
		h(
			"button",
			{
				onclick: () =>
					call("job_control", {action, id: job.job}).then(
						j => {
							say(`job ${j.job}: ${j.state}`);
							route();
						},
						e => say(e.message),
					),
			},
			text,
		);
	return isLive(job) ? button("cancel", "Cancel") : job.state === "interrupted" ? button("resume", "Retry") : null;
}

async function pageJobs(main) {
	const [{jobs}] = await Promise.all([call("job", {action: "list", limit: 100}), toolsKnown]),
		told = new Map();
	const live = jobs.filter(isLive),
		ended = jobs.filter(j => !isLive(j));
	const columns = [
		["job", j => h("a", {href: `#/job/${encodeURIComponent(j.job)}`}, j.job)],
		["kind", j => j.kind],
		["state", j => h("span", {class: j.state === "failed" ? "bad" : null}, j.state)],
		["about", j => j.about, "long"],
		["asked for", j => when(Date.parse(j.created))],
		[
			"message",
			j => {
				const e = h("span", null, j.message);
				told.set(j.job, e);
				return e;
			},
			"long",
		],
		["", jobActions],
	];
	main.replaceChildren(
		h("h1", null, "Jobs"),
		h("h2", null, `Running and queued (${live.length})`),
		live.length ? table("Running and queued jobs", columns, live) : h("p", {class: "quiet"}, "None."),
		h("h2", null, "Ended"),
		ended.length ? table("Ended jobs", columns, ended) : h("p", {class: "quiet"}, "None."),
	);
	// A browser opens six connections to one host: three streams leave room for the rest.
	for (const job of live.filter(j => j.state === "running").slice(0, 3))
		watch(
			job.job,
			text => {
				told.get(job.job).textContent = text;
			},
			() => route(),
		);
}

async function pageJob(main, id) {
	const [job] = await Promise.all([call("job", {id}), toolsKnown]),
		events = h("pre", {class: "code", tabindex: 0, role: "log", "aria-label": "Events"}),
		done = h("div", {class: "bar-inner"});
	const text = h("p", {"aria-live": "polite"}, job.error ?? job.message);
	main.replaceChildren(
		h("h1", null, `${job.kind} ${job.job}`),
		h("p", null, h("strong", null, job.state), " ", jobActions(job)),
		text,
		isLive(job) ? h("div", {class: "bar-outer"}, done) : "",
		h("h2", null, "Events"),
		events,
		job.result
			? h(
					"details",
					{open: true},
					h("summary", null, "Result"),
					h("pre", {class: "code", tabindex: 0}, JSON.stringify(job.result, null, 1)),
				)
			: "",
	);
	done.style.width = "0";
	const log = await read(`peak://job/${encodeURIComponent(id)}/log`);
	events.textContent = log.split("\n").slice(-500).join("\n");
	if (isLive(job))
		watch(
			id,
			(message, p) => {
				text.textContent = message;
				events.append(`${message}\n`);
				if (p.total > 0) done.style.width = `${Math.min(100, (100 * p.progress) / p.total)}%`;
			},
			() => route(),
		);
}

async function pageDevices(main) {
	const {devices, notes} = await call("devices", {}),
		{jobs} = await call("job", {action: "list", limit: 100});
	main.replaceChildren(
		h("h1", null, "Devices"),
		devices.length
			? table(
					"Devices",
					[
						["device", d => d.id],
						["name", d => d.name, "long"],
						["architecture", d => d.arch],
						["driver", d => d.driver, "long"],
						["units", d => d.units, "n"],
						["memory", d => `${digits(d.memory_bytes / 2 ** 30)} GiB`, "n"],
						["f32 peak", d => (d.peak_gflops_f32 > 0 ? `${digits(d.peak_gflops_f32)} GFLOP/s` : ""), "n"],
						[
							"",
							d =>
								[d.shares_cpu ? "shares the CPU" : null, d.emulated ? "emulated" : null, d.runs ? null : "compiles only"]
									.filter(Boolean)
									.join(", "),
						],
						["last crash", d => (d.last_crash ? longText(d.last_crash) : ""), "long"],
					],
					devices,
				)
			: h("p", null, "No device."),
		notes?.length
			? h(
					"ul",
					null,
					notes.map(n => h("li", null, n)),
				)
			: "",
		h("h2", null, "Queue"),
		h(
			"p",
			null,
			`${jobs.filter(j => j.state === "running").length} jobs run, ${jobs.filter(j => j.state === "queued").length} wait: `,
			h("a", {href: "#/jobs"}, "jobs"),
		),
	);
}

// --- which page ---------------------------------------------------------------------------------------------------------------------------

const PAGES = {w: pageWorkflow, jobs: pageJobs, job: pageJob, devices: pageDevices};

let turns = 0;
async function route() {
	const main = byId("main"),
		[page = "", ...rest] = hashPath();
	if (location.hash === "#main") return main.focus();
	const turn = ++turns,
		place = h("div"),
		inside = main.contains(document.activeElement);
	watching?.abort();
	watching = new AbortController();
	const at = {w: "", job: "jobs"}[page] ?? page;
	for (const a of byId("nav").children)
		a.getAttribute("href") === `#/${at}` ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current");
	document.title = rest[0] ? `${rest[0]} – peakd` : "peakd";
	try {
		await (PAGES[page] ?? pageWorkflows)(place, ...rest);
	} catch (e) {
		if (e.name === "AbortError") return;
		place.append(h("p", {class: "bad", role: "alert"}, e.message));
	}
	// A page that brought itself up to date leaves its place empty; one that was slower than the next is not wanted any more.
	if (turn !== turns || !place.hasChildNodes()) return;
	main.replaceChildren(place);
	if (inside) main.focus({preventScroll: true}); // what had the focus is gone
	performance.mark("page");
}

// While the page is in sight, jobs that began or ended since the last look bring it up to date.
const LOOK_MS = 5000;
let seenJobs = null;
async function look() {
	if (document.hidden || tokenAsked || framed) return;
	const {jobs} = await call("job", {action: "list", limit: 30}).catch(e => {
		say(e instanceof TypeError ? "The daemon does not answer." : e.message);
		return {jobs: null};
	});
	const now = jobs && jobs.map(j => j.job + j.state).join();
	if (jobs) say(jobs.some(isLive) ? `${jobs.filter(isLive).length} running or queued` : "");
	const page = hashPath()[0] ?? "";
	if (seenJobs !== null && now && now !== seenJobs)
		page === "w" ? shown?.refresh().catch(e => say(e.message)) : ["", "jobs"].includes(page) && route();
	seenJobs = now ?? seenJobs;
}

let toolsKnown;
async function start() {
	window.addEventListener("hashchange", route);
	if (framed) await joinHost();
	byId("nav").hidden = !!baked;
	if (baked && hashPath()[0] !== "w") location.replace(`#/w/${encodeURIComponent(baked.name)}`);
	toolsKnown = learnTools().catch(e => say(e.message));
	await route();
	if (baked) return say(`as of ${when(baked.made_ms)}`);
	look();
	setInterval(look, LOOK_MS);
}
start();
