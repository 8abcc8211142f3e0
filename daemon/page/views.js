// views: what is said of one checkpoint, and of a whole workflow beside its tree. Each view fills a place with elements.
"use strict";

const link = id => h("a", {href: here({at: id, tab: null})}, `#${id}`);
// The lists beside the tree end somewhere.
const ROWS_MAX = 500;
const ended = rows => (rows.length < ROWS_MAX ? null : h("p", {class: "quiet"}, `The newest ${ROWS_MAX}.`));
const longText = text => h("pre", null, text);
// A part that takes a moment, or fails: the reason stands where it would be.
async function fill(host, make) {
	const turn = (host.turn = (host.turn ?? 0) + 1); // a slow one does not replace what was asked for after it
	host.replaceChildren(h("p", {class: "quiet"}, "Loading…"));
	const found = [];
	try {
		found.push(await make());
	} catch (e) {
		found.push(h("p", {class: "bad", role: "alert"}, e.message));
	}
	if (host.turn === turn) host.replaceChildren(...found.flat(9).filter(Boolean));
}
const chart = () => h("div", {class: "chart"});
// Draws now and whenever the place changes its width.
function drawn(host, draw) {
	let width = 0;
	new ResizeObserver(() => {
		if (host.clientWidth && host.clientWidth !== width) {
			width = host.clientWidth;
			draw();
		}
	}).observe(host);
	return host;
}

// --- a checkpoint ----------------------------------------------------------------------------------------------------------

async function showSummary(w, id) {
	const [[row]] = await Promise.all([w.speeds([id]), toolsKnown]);
	const v = row.validation;
	return [
		h(
			"dl",
			null,
			h("dt", null, "verdict"),
			h(
				"dd",
				{class: row.status === "accepted" ? "good" : row.status === "failed" ? "bad" : null},
				row.status,
				row.note ? [": ", row.note] : null,
			),
			h("dt", null, "made by"),
			h("dd", null, row.by, row.parents.length ? [" from ", row.parents.map(p => [link(p), " "])] : " (the baseline)"),
			h("dt", null, "validations"),
			h("dd", null, `${v.passed} passed, ${v.failed} failed, ${v.skipped} skipped`),
			h("dt", null, "made"),
			h("dd", null, when(row.created)),
			h("dt", null, "hash"),
			h("dd", {class: "mono"}, row.hash.slice(0, 16)),
		),
		actions(w, row),
		row.best.length
			? [
					h("h2", null, "Fastest validated configuration of each size"),
					table(
						"Fastest validated configurations",
						[
							["size", r => r.sizes],
							["time", r => duration(r.median_ns), "n"],
							["GFLOP/s", r => (Number.isFinite(r.gflops) ? digits(r.gflops, 4) : ""), "n"],
							["over the baseline", r => speedText(r, "speedup"), "n"],
							["over its parent", r => speedText(r, "step_speedup"), "n"],
							["parameters", r => r.params.slice(r.sizes.length).trim(), "mono long"],
							["evidence", r => `validation ${r.evidence}`],
							["device", r => h("span", {title: r.device}, r.device.slice(0, 20))],
						],
						row.best,
					),
				]
			: h("p", {class: "quiet"}, "No validated time yet: tune it."),
		row.best.filter(r => r.load).map(r => h("p", {class: "quiet"}, `${r.sizes}: ${r.load}`)),
		row.best
			.filter(r => r.library_ratio)
			.map(r => h("p", null, `${r.sizes}: ${ratioText(r.library_ratio, r.library_low, r.library_high)} as fast as ${r.library}`)),
	];
}

function actions(w, row) {
	if (!tools.has("workflow_change")) return null;
	const name = h("input", {size: 14, "aria-label": "Name of the tag", placeholder: "name"});
	const change = async args => {
		try {
			await call("workflow_change", {...args, at: String(row.id)});
			say(args.action === "tag" ? `${args.name} names checkpoint ${row.id}` : `${w.name} is at checkpoint ${row.id}`);
			w.reload();
		} catch (e) {
			say(e.message);
		}
	};
	return h(
		"div",
		{class: "tools"},
		row.id === w.head || row.status === "failed"
			? null
			: h("button", {onclick: () => change({action: "restore", name: w.name})}, "Restore: move the head here"),
		h(
			"form",
			{
				class: "tools",
				onsubmit: e => {
					e.preventDefault();
					change({action: "tag", name: name.value});
				},
			},
			name,
			h("button", null, "Tag"),
		),
	);
}

const short = (text, most = 300) => (text.length > most ? `${text.slice(0, most)}…` : text);

async function showEvidence(w, id) {
	const rows = readCsv(await part(id, "validations"));
	if (!rows.length) return h("p", {class: "quiet"}, "Nothing has been validated.");
	const bad = rows.filter(r => r.verdict !== "passed");
	const columns = [
		["id", r => r.id, "n"],
		["verdict", r => h("span", {class: r.verdict === "failed" ? "bad" : r.verdict === "passed" ? "good" : null}, r.verdict)],
		["validator", r => r.validator],
		["size", r => r.size_kind],
		["error / bound", r => (r.error && r.tolerance ? digits(r.error / r.tolerance) : ""), "n"],
		["error", r => (r.error ? digits(+r.error) : ""), "n"],
		["bound", r => (r.tolerance ? digits(+r.tolerance) : ""), "n"],
		["parameters", r => r.params, "mono long"],
	];
	const reason = ["reason", r => (r.reason ? longText(short(r.reason, 1000)) : ""), "long"],
		good = rows.filter(r => r.verdict === "passed");
	return [
		bad.length
			? [
					h("h2", null, `Failed and skipped (${bad.length})`),
					table("Failed and skipped validations", [columns[0], columns[1], reason, ...columns.slice(2)], bad.slice(0, 200)),
				]
			: null,
		h("h2", null, `Passed (${good.length})`),
		table("Passed validations", good.some(r => r.reason) ? [...columns, reason] : columns, good.slice(0, 200)),
	];
}

const tuning = {axis: "", logX: true, logY: true, top: 10, group: ""}; // stays while checkpoints change

async function showTuning(w, id) {
	const all = readCsv(await part(id, "measurements")).map(r => ({
		...r,
		ns: +r.median_ns || NaN,
		params: Object.fromEntries(r.params.split(" ").map(p => p.split("="))),
		text: r.params,
	}));
	if (!all.length) return h("p", {class: "quiet"}, "Not tuned yet.");
	// The sizes are the parameters that the fastest configurations name too.
	const [row] = await w.speeds([id]);
	const inputs = new Set(
		(row.best[0]?.sizes ?? "")
			.split(" ")
			.map(p => p.split("=")[0])
			.filter(Boolean),
	);
	const groupOf = r => `${r.device.slice(0, 20)} ${[...inputs].map(n => `${n}=${r.params[n]}`).join(" ")}`.trim();
	const groups = [...new Set(all.map(groupOf))],
		host = h("div");
	if (!groups.includes(tuning.group)) tuning.group = groups[0];
	const redraw = () => {
		const rows = all.filter(r => groupOf(r) === tuning.group),
			timed = rows.filter(r => r.ns > 0).sort((a, b) => a.ns - b.ns);
		const names = [...new Set(rows.flatMap(r => Object.keys(r.params)))].filter(n => !inputs.has(n));
		const varied = names.filter(n => new Set(rows.map(r => r.params[n])).size > 1);
		const axes = [...(varied.length ? varied : names), "compile_ns", "registers", "spill_bytes"];
		if (!axes.includes(tuning.axis)) tuning.axis = axes[0];
		const top = Math.max(1, Math.round((timed.length * tuning.top) / 100)),
			scatter = chart(),
			parallel = chart();
		const valueOf = r => +(tuning.axis in r.params ? r.params[tuning.axis] : r[tuning.axis]);
		const set = (key, value) => {
			tuning[key] = value;
			redraw();
		};
		const box = (key, text) =>
			h("label", null, h("input", {type: "checkbox", checked: tuning[key], onchange: e => set(key, e.target.checked)}), ` ${text}`);
		const failed = rows.filter(r => !(r.ns > 0)),
			causes = new Map();
		for (const r of failed) {
			const why = `${r.status}: ${short(r.message.split("\n")[0], 160)}`;
			causes.set(why, (causes.get(why) ?? 0) + 1);
		}
		const controls = () => [...host.querySelectorAll("select, input")],
			focused = controls().indexOf(document.activeElement);
		const range = h("input", {
			type: "range",
			min: 1,
			max: 100,
			value: tuning.top,
			"aria-label": "fastest share in percent",
			onchange: e => set("top", +e.target.value),
		});
		host.replaceChildren(
			h(
				"div",
				{class: "tools"},
				choose("sizes and device", groups, tuning.group, v => set("group", v)),
				h("span", {class: "quiet"}, `${timed.length} timed, ${failed.length} failed or pruned`),
			),
			h("h2", null, "Time of each configuration"),
			h(
				"div",
				{class: "tools"},
				choose("across", axes, tuning.axis, v => set("axis", v)),
				box("logX", "log axis across"),
				box("logY", "log time"),
			),
			timed.length ? scatter : h("p", {class: "quiet"}, "No configuration was timed."),
			h(
				"p",
				{class: "quiet"},
				"Filled in the accent colour: validated, so it may be quoted. Grey: checked once while tuning.",
				timed.length > POINTS_MAX ? ` ${timed.length} points are drawn thinned out.` : "",
			),
			h("h2", null, "Parallel coordinates"),
			h("div", {class: "tools"}, h("label", null, `fastest ${tuning.top} % (${top}) `, range)),
			timed.length ? parallel : "",
			h("h2", null, "Fastest"),
			table(
				"Fastest configurations",
				[
					["time", r => duration(r.ns), "n"],
					["± %", r => (r.rse ? digits(100 * r.rse, 2) : ""), "n"],
					["samples", r => r.samples, "n"],
					["parameters", r => names.map(n => `${n}=${r.params[n]}`).join(" "), "mono long"],
					["registers", r => (r.registers > 0 ? r.registers : ""), "n"],
					["compiled in", r => duration(+r.compile_ns), "n"],
					["standing", r => r.standing, "long"],
				],
				timed.slice(0, 20),
			),
			failed.length
				? [
						h("h2", null, "Failed and pruned"),
						table(
							"Failed and pruned configurations",
							[
								["configurations", ([, n]) => n, "n"],
								["why", ([why]) => why, "long"],
							],
							[...causes].sort((a, b) => b[1] - a[1]).slice(0, 30),
						),
					].flat()
				: "",
		);
		controls()[focused]?.focus(); // what was operated stays so
		drawn(scatter, () =>
			scatterChart(
				scatter,
				timed.map(r => ({x: valueOf(r), y: r.ns, quoted: +r.evidence > 0, title: `${duration(r.ns)}: ${r.text}`})),
				{log: tuning.logX, label: tuning.axis, marks: true},
				{log: tuning.logY, label: "median time"},
			),
		);
		drawn(parallel, () => parallelChart(parallel, varied.length ? varied : names, timed, top));
	};
	redraw();
	return [
		host,
		await part(id, "tuning").then(
			t => (t ? [h("h2", null, "What the newest tune says beyond its winner"), longText(t)] : null),
			() => null,
		),
	];
}

async function showProfile(w, id) {
	const profiles = await view("profiles", id);
	if (!profiles.length)
		return h("p", {class: "quiet"}, "Not profiled yet: the tool profile, or peakd profile, says what limits it.");
	return profiles.slice(0, 1).flatMap(p =>
		(p.result.sizes ?? []).map(z => {
			const f = Object.fromEntries((z.figures ?? []).map(x => [x.name, x.value])),
				host = chart();
			const pipe = (f.gflops / f.pipe_percent) * 100,
				copy = (f.gbs / f.copy_percent) * 100;
			const points = [{label: `#${id}`, intensity: f.intensity, gflops: f.gflops}];
			if (z.before_gflops > 0) points.push({label: `#${z.against}`, intensity: z.before_intensity, gflops: z.before_gflops});
			if (pipe > 0 && copy > 0 && f.intensity > 0)
				drawn(host, () => rooflineChart(host, {pipe: z.pipe ?? "", pipeGflops: pipe, copyGbs: copy, points}));
			return [
				h("h2", null, z.size),
				h("p", null, z.class ? h("strong", null, `Limited by ${z.class}. `) : null, z.why),
				h(
					"p",
					null,
					[
						`cold ${duration(z.cold_ns)}`,
						`warm ${duration(z.warm_ns)}`,
						z.pipe_percent > 0 ? `${digits(z.pipe_percent)} % of the ${z.pipe} ceiling` : null,
						z.copy_percent > 0 ? `${digits(z.copy_percent)} % of the copy ceiling` : null,
						z.load,
					]
						.filter(Boolean)
						.join(", "),
				),
				host,
				z.guidance?.length
					? [
							h("h3", null, "Guidance"),
							table(
								"Guidance",
								[
									["tool", r => r.tool],
									["evidence", r => r.evidence, "long"],
									["advice", r => r.guidance, "long wide"],
									["try", r => r.try, "wrap"],
								],
								z.guidance,
							),
						]
					: null,
				z.probes?.length
					? [
							h("h3", null, "Probes"),
							table(
								"Probes",
								[
									["if this were free", r => r.free],
									["times as fast", r => ratioText(r.ratio, r.low, r.high), "n"],
									["", r => r.why, "long"],
								],
								z.probes,
							),
						]
					: null,
				z.kernels?.length
					? [
							h("h3", null, "Kernels"),
							table(
								"Kernels",
								[
									["kernel", r => r.kernel],
									["time", r => duration(r.ns), "n"],
									["%", r => digits(r.percent), "n"],
									["launches", r => r.launches, "n"],
									["registers", r => r.registers, "n"],
									["instructions", r => r.instructions, "long"],
									["traffic", r => r.traffic, "long"],
								],
								z.kernels,
							),
						]
					: null,
				z.figures?.length
					? h(
							"details",
							null,
							h("summary", null, `All ${z.figures.length} figures`),
							table(
								"Figures",
								[
									["figure", r => r.name],
									["value", r => digits(r.value, 4), "n"],
									["unit", r => r.unit],
								],
								z.figures,
							),
						)
					: null,
			];
		}),
	);
}

async function showCode(w, id) {
	return [...regionsOf(await part(id, "source"))]
		.filter(([, lines]) => lines.length)
		.map(([name, lines]) => [
			h("h3", null, name),
			h("pre", {class: "code", tabindex: 0, role: "region", "aria-label": name}, lines.join("\n")),
		]);
}

async function showDiff(w, id) {
	const parent = w.rows.get(id)?.parents[0],
		other = +hashQuery().get("with") || parent;
	const field = (label, value) => h("label", null, label, " ", h("input", {size: 6, value: value ?? "", inputmode: "numeric"}));
	const left = field("left (old)", other),
		right = field("right (new)", id);
	const form = h(
		"form",
		{
			class: "tools",
			onsubmit: e => {
				e.preventDefault();
				location.hash = here({at: right.lastChild.value, with: left.lastChild.value});
			},
		},
		left,
		right,
		h("button", null, "Compare"),
	);
	if (!other) return [form, h("p", {class: "quiet"}, "A baseline has no parent: name the other checkpoint.")];
	const [a, b] = (await Promise.all([part(other, "source"), part(id, "source")])).map(regionsOf);
	const names = [...new Set([...a.keys(), ...b.keys()])];
	const tables = new Map(names.map(n => [n, diffTable(n, a.get(n) ?? [], b.get(n) ?? [])]));
	const equal = names.filter(n => !tables.get(n));
	const timed = baked ? null : await call("workflow", {action: "compare", at: String(id), with: String(other)}).catch(() => null);
	return [
		form,
		(timed?.compare ?? []).map(c =>
			h(
				"p",
				null,
				`${c.sizes}: `,
				c.ratio
					? `#${id} against #${other}, timed in pairs: ${speedText({x: c.ratio, x_low: c.low, x_high: c.high, x_verdict: c.verdict}, "x")}`
					: h("span", {class: "quiet"}, c.note),
			),
		),
		equal.length < names.length ? [...tables.values()] : h("p", null, "The same text."),
		h("p", {class: "quiet"}, equal.map(n => `${n}: unchanged`).join("; ")),
	];
}

const CHECKPOINT_VIEWS = [
	["Summary", showSummary],
	["Evidence", showEvidence],
	["Tuning", showTuning],
	["Profile", showProfile],
	["Compare", showDiff],
	["Code", showCode],
];

// --- a workflow beside its tree ---------------------------------------------------------------------------------------------

const LINE_MAX = 200; // checkpoints of a line that the curve shows

async function showSpeedup(w) {
	await w.rest;
	const line = w.line().slice(-LINE_MAX),
		logs = await w.speeds(line);
	const groups = [...new Set(logs.flatMap(r => r.best.map(b => `${b.sizes} on ${b.device.slice(0, 20)}`)))];
	if (!groups.length) return h("p", {class: "quiet"}, "Nothing has been timed yet.");
	const host = h("div");
	const redraw = group => {
		const rows = logs.map(r => ({r, b: r.best.find(b => `${b.sizes} on ${b.device.slice(0, 20)}` === group)})).filter(x => x.b);
		const points = rows
			.map(({r, b}) =>
				r.parents.length
					? {
							id: r.id,
							times: b.speedup,
							low: b.speedup_low,
							high: b.speedup_high,
							text: speedText(b, "speedup"),
							unclear: isUnclear(b.speedup_verdict, b.speedup_low, b.speedup_high),
						}
					: {id: r.id, times: 1, low: 1, high: 1, text: "the baseline"},
			)
			.filter(p => p.times > 0);
		const place = chart();
		host.replaceChildren(
			place,
			h(
				"p",
				{class: "quiet"},
				"Timed in pairs against the baseline at its best; bars are confidence intervals, hollow points are unclear.",
				w.line().length > LINE_MAX ? ` The newest ${LINE_MAX} checkpoints of the line.` : "",
			),
			table(
				"The line",
				[
					["checkpoint", x => link(x.r.id)],
					["made by", x => x.r.by, "long"],
					["time", x => duration(x.b.median_ns), "n"],
					["GFLOP/s", x => (Number.isFinite(x.b.gflops) ? digits(x.b.gflops, 4) : ""), "n"],
					["over the baseline", x => speedText(x.b, "speedup"), "n"],
					["over its parent", x => speedText(x.b, "step_speedup"), "n"],
				],
				rows,
			),
		);
		if (points.length) drawn(place, () => speedChart(place, points));
	};
	redraw(groups[0]);
	return [h("div", {class: "tools"}, choose("sizes and device", groups, groups[0], redraw)), host];
}

async function showExchanges(w) {
	const rows = await view("exchanges", w.name),
		sum = key => rows.reduce((n, r) => n + Math.max(0, r[key] ?? 0), 0);
	const cost = r =>
		r.price_in > 0 || r.price_out > 0
			? ((r.tokens_in ?? 0) * (r.price_in ?? 0) + (r.tokens_out ?? 0) * (r.price_out ?? 0)) / 1e6
			: NaN;
	const money = rows
			.map(cost)
			.filter(Number.isFinite)
			.reduce((a, b) => a + b, 0),
		host = h("div");
	const count = n => (n !== null && n >= 0 ? n.toLocaleString("en") : "");
	if (!rows.length) return h("p", {class: "quiet"}, "No model was asked.");
	return [
		h(
			"p",
			null,
			`${rows.length} exchanges: ${count(sum("tokens_in"))} tokens in, ${count(sum("tokens_out"))} out, ${count(sum("tokens_cached"))} cached`,
			money ? `; ${digits(money, 4)} in money, where a search named its prices` : "; no prices are known",
		),
		table(
			"Exchanges with models",
			[
				[
					"",
					r =>
						h(
							"button",
							{
								onclick: () =>
									fill(host, async () => {
										const x = JSON.parse(await read(`peak://page/exchange/${r.id}/0`));
										setTimeout(() => host.scrollIntoView({block: "nearest"}));
										return [
											h("h3", null, `Exchange ${r.id}: the prompt`),
											h("pre", {class: "code", tabindex: 0}, x.prompt),
											h("h3", null, "The reply"),
											h("pre", {class: "code", tabindex: 0}, x.reply ?? "none came"),
										];
									}),
								"aria-label": `Read exchange ${r.id}`,
							},
							"read",
						),
				],
				["at", r => (r.checkpoint ? link(r.checkpoint) : "")],
				["transformation", r => short(r.transformation, 80), "long"],
				["pass", r => `${r.pass} ${r.step}`],
				["attempt", r => r.attempt, "n"],
				["outcome", r => r.outcome],
				["in", r => count(r.tokens_in), "n"],
				["out", r => count(r.tokens_out), "n"],
				["cached", r => count(r.tokens_cached), "n"],
				["money", r => (Number.isFinite(cost(r)) ? digits(cost(r)) : ""), "n"],
				["took", r => (r.latency_ms > 0 ? duration(r.latency_ms * 1e6) : ""), "n"],
				["model", r => r.model],
				["when", r => when(r.created_ms)],
			],
			rows,
		),
		ended(rows),
		host,
	];
}

async function showDecisions(w) {
	const rows = await view("decisions", w.name);
	if (!rows.length) return h("p", {class: "quiet"}, "optimize has not searched here.");
	return [
		table(
			"Decisions of optimize",
			[
				["search", r => h("a", {href: `#/job/${encodeURIComponent(r.search)}`}, r.search.slice(0, 8))],
				["", r => r.seq, "n"],
				["policy", r => r.policy],
				["decision", r => r.kind],
				["at", r => link(r.checkpoint)],
				["what", r => short(r.transformation ?? "", 160), "long"],
				["why", r => short(r.reason, 300), "long"],
				["expected", r => (r.expected_low > 0 ? `${digits(r.expected_low)}–${digits(r.expected_high)}×` : "")],
				["outcome", r => r.outcome],
				["gain", r => ratioText(r.gain, r.low, r.high)],
				["became", r => (r.made ? link(r.made) : "")],
				["calls", r => r.calls || "", "n"],
				["tokens", r => r.tokens_in + r.tokens_out || "", "n"],
				["device s", r => (r.device_seconds > 0 ? digits(r.device_seconds) : ""), "n"],
			],
			rows,
		),
		ended(rows),
	];
}

async function showTries(w) {
	await w.rest;
	const tries = await view("tries", w.name),
		failed = [...w.rows.values()].filter(r => r.status === "failed");
	return [
		h("h2", null, `Checkpoints that were refuted (${failed.length})`),
		failed.length
			? table(
					"Refuted checkpoints",
					[
						["checkpoint", r => link(r.id)],
						["made by", r => r.by],
						["from", r => r.parents.map(link)],
						["why", r => short(r.note ?? "", 600), "long"],
						["when", r => when(r.made)],
					],
					failed.slice(0, 200),
				)
			: null,
		h("h2", null, `Transformations that became nothing (${tries.length})`),
		tries.length
			? table(
					"Transformations that became nothing",
					[
						["from", r => link(r.checkpoint)],
						["transformation", r => short(r.transformation, 120), "long"],
						["pass", r => `${r.pass}.${r.step}`, "n"],
						["attempt", r => r.attempt, "n"],
						["state", r => r.state],
						["verdict", r => (r.verdict ? longText(short(r.verdict, 600)) : ""), "long"],
						["when", r => when(r.updated_ms)],
					],
					tries,
				)
			: null,
		ended(tries),
		h("p", {class: "quiet"}, "Configurations that failed or were pruned are in each checkpoint's tuning."),
	];
}

const WORKFLOW_VIEWS = [
	["Checkpoints", null],
	["Speed-up", showSpeedup],
	["Models", showExchanges],
	["Decisions", showDecisions],
	["Tries", showTries],
];
