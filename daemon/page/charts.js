// charts: drawings in SVG, each with a text that says the same to a screen reader. Sizes are in CSS pixels: a chart is as wide as its place.
"use strict";

const PAD = {left: 62, right: 14, top: 12, bottom: 34};

// A scale from values to pixels with its ticks.
function scale(values, log, from, to, marks) {
	const finite = values.filter(v => Number.isFinite(v) && (!log || v > 0));
	let low = Math.min(...finite),
		high = Math.max(...finite);
	if (!finite.length) [low, high] = [log ? 1 : 0, log ? 10 : 1];
	const f = log ? Math.log10 : x => x;
	let a = f(low),
		b = f(high);
	const room = (b - a || (log ? 0.3 : Math.abs(a) || 1)) * 0.06;
	[a, b] = [a - room, b + room];
	const ticks = [],
		distinct = [...new Set(finite)];
	if (distinct.length <= 6 && marks) {
		ticks.push(...distinct);
	} else if (log && b - a > 2.2) {
		for (let e = Math.ceil(a); e <= b; e++) ticks.push(10 ** e);
	} else if (log && b - a > 0.35) {
		for (let e = Math.floor(a); e <= b; e++) for (const m of [1, 2, 5]) ticks.push(m * 10 ** e);
	} else {
		const lowest = log ? 10 ** a : a,
			highest = log ? 10 ** b : b,
			rough = (highest - lowest) / 4,
			unit = 10 ** Math.floor(Math.log10(rough));
		const step = [1, 2, 5, 10].find(m => m * unit >= rough) * unit;
		for (let t = Math.ceil(lowest / step) * step; t <= highest; t += step) ticks.push(t);
	}
	const at = v => from + ((f(v) - a) / (b - a)) * (to - from);
	return {at, ticks: ticks.filter(t => f(t) >= a && f(t) <= b), log, low: log ? 10 ** a : a, high: log ? 10 ** b : b};
}

// Axes with grid lines; what draw(x, y) returns stands on top. x, y: {values, log, label, text}; x.marks: few values are their own ticks.
function plot(host, title, x, y, draw, height = 300) {
	const width = Math.max(300, Math.floor(host.clientWidth || 720)),
		right = width - PAD.right,
		bottom = height - PAD.bottom;
	const sx = scale(x.values, x.log, PAD.left, right, x.marks),
		sy = scale(y.values, y.log, bottom, PAD.top);
	const few = width < 480 && sx.ticks.length > 5;
	host.replaceChildren(
		s(
			"svg",
			{viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title},
			sy.ticks.map(t => [
				s("path", {class: "grid", d: `M${PAD.left} ${sy.at(t)}H${right}`}),
				s("text", {x: PAD.left - 6, y: sy.at(t) + 4, "text-anchor": "end"}, (y.text || digits)(t)),
			]),
			sx.ticks.map((t, i) => [
				s("path", {class: "grid", d: `M${sx.at(t)} ${PAD.top}V${bottom}`}),
				few && i % 2 ? null : s("text", {x: sx.at(t), y: bottom + 14, "text-anchor": "middle"}, (x.text || digits)(t)),
			]),
			s("path", {class: "axis", d: `M${PAD.left} ${PAD.top}V${bottom}H${right}`}),
			s("text", {x: (PAD.left + right) / 2, y: height - 4, "text-anchor": "middle"}, x.label),
			s("text", {transform: `translate(12 ${(PAD.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}, y.label),
			draw(sx, sy),
		),
	);
}
const dot = (x, y, kind, title, radius = 3.5) =>
	s("circle", {class: `dot ${kind}`, cx: x.toFixed(1), cy: y.toFixed(1), r: radius}, s("title", null, title));

// points: {id, times, low, high, unclear}, in the order of the line.
function speedChart(host, points) {
	plot(
		host,
		`Speed-up over the baseline of ${points.length} checkpoints; the table below has the figures`,
		{
			values: points.map((p, i) => i),
			marks: true,
			label: "checkpoints of the line, oldest first",
			text: i => (points[i] ? `#${points[i].id}` : ""),
		},
		{
			values: points.flatMap(p => [p.times, p.low, p.high]),
			log: true,
			label: "times as fast as the baseline",
			text: t => `${digits(t)}×`,
		},
		(x, y) => [
			s("path", {class: "line", d: points.map((p, i) => `${i ? "L" : "M"}${x.at(i)} ${y.at(p.times)}`).join("")}),
			points.map((p, i) => s("path", {class: "bar", d: `M${x.at(i) - 3} ${y.at(p.high)}h6m-3 0V${y.at(p.low)}m-3 0h6`})),
			points.map((p, i) => dot(x.at(i), y.at(p.times), p.unclear ? "open" : "", `checkpoint ${p.id}: ${p.text}`)),
		],
	);
}

// The most that are drawn: beyond, an even choice stands for all, and the page says so.
const POINTS_MAX = 3000,
	LINES_MAX = 1200;
function thin(rows, most) {
	const step = Math.ceil(rows.length / most);
	return step > 1 ? rows.filter((r, i) => i % step === 0) : rows;
}

// rows: {x, y, standing, title}.
function scatterChart(host, rows, x, y) {
	plot(
		host,
		`${y.label} over ${x.label} of ${rows.length} configurations; the table below lists the fastest`,
		{...x, values: rows.map(r => r.x)},
		{...y, values: rows.map(r => r.y), text: roundTime},
		(sx, sy) =>
			thin(rows, POINTS_MAX)
				.filter(r => (!x.log || r.x > 0) && r.y > 0)
				.map(r => dot(sx.at(r.x), sy.at(r.y), r.quoted ? "" : "dim", r.title, r.quoted ? 4 : 2.5)),
	);
}

// Parallel coordinates: one axis a parameter, the last one the time (logarithmic). The fastest `top` rows are bright.
function parallelChart(host, names, rows, top) {
	const width = Math.max(300, Math.floor(host.clientWidth || 720)),
		height = 280,
		above = 26,
		below = height - 22;
	const gap = (width - 90) / names.length,
		at = i => 30 + i * gap;
	const axes = names.map(n => {
		const values = [...new Set(rows.map(r => r.params[n]))];
		const numeric = values.every(v => Number.isFinite(Number(v)));
		values.sort((a, b) => (numeric ? a - b : a < b ? -1 : 1));
		const place = new Map(
			values.map((v, i) => [v, values.length > 1 ? below - (i / (values.length - 1)) * (below - above) : (above + below) / 2]),
		);
		return {name: n, values, at: r => place.get(r.params[n])};
	});
	const time = scale(
		rows.map(r => r.ns),
		true,
		above,
		below,
	);
	const line = r =>
		axes.map((a, i) => `${i ? "L" : "M"}${at(i).toFixed(1)} ${a.at(r).toFixed(1)}`).join("") +
		`L${at(names.length).toFixed(1)} ${time.at(r.ns).toFixed(1)}`;
	host.replaceChildren(
		s(
			"svg",
			{
				viewBox: `0 0 ${width} ${height}`,
				role: "img",
				"aria-label": `Parallel coordinates of ${rows.length} configurations over ${names.join(", ")} and time; the fastest ${top} are bright`,
			},
			thin(rows.slice(top), LINES_MAX).map(r => s("path", {class: "faint", d: line(r)})),
			thin(rows.slice(0, top), LINES_MAX)
				.reverse()
				.map(r => s("path", {class: "bright", d: line(r)}, s("title", null, `${duration(r.ns)}: ${r.text}`))),
			axes.map((a, i) => [
				s("path", {class: "axis", d: `M${at(i)} ${above}V${below}`}),
				s("text", {class: "strong", x: at(i), y: 14, "text-anchor": i ? "middle" : "start"}, a.name),
				(a.values.length > 12 ? [a.values[0], a.values[a.values.length - 1]] : a.values).map(v =>
					s("text", {x: at(i) + 4, y: a.at({params: {[a.name]: v}}) + 4}, v),
				),
			]),
			s("path", {class: "axis", d: `M${at(names.length)} ${above}V${below}`}),
			s("text", {class: "strong", x: at(names.length), y: 14, "text-anchor": "middle"}, "time"),
			time.ticks.map(t => s("text", {x: at(names.length) + 4, y: time.at(t) + 4}, roundTime(t))),
		),
	);
}

// r: {pipe, pipeGflops, copyGbs, points: [{label, intensity, gflops}]}.
function rooflineChart(host, r) {
	const ridge = r.pipeGflops / r.copyGbs,
		xs = [ridge / 8, ridge * 8, ...r.points.map(p => p.intensity)];
	const ys = [r.pipeGflops * 1.3, ...r.points.map(p => p.gflops), r.pipeGflops / 50];
	plot(
		host,
		`Roofline: ${r.points.map(p => `${p.label}: ${digits(p.gflops)} GFLOP/s at ${digits(p.intensity)} FLOP/byte`).join("; ")}; ` +
			`ceilings ${digits(r.pipeGflops)} GFLOP/s (${r.pipe}) and ${digits(r.copyGbs)} GB/s`,
		{values: xs, log: true, label: "FLOP/byte of the bytes that must move"},
		{values: ys, log: true, label: "GFLOP/s"},
		(x, y) => {
			const low = Math.max(x.low, y.low / r.copyGbs);
			return [
				s("path", {
					class: "axis",
					d: `M${x.at(low)} ${y.at(low * r.copyGbs)}L${x.at(ridge)} ${y.at(r.pipeGflops)}H${x.at(x.high)}`,
				}),
				s(
					"text",
					{x: x.at(x.high) - 2, y: y.at(r.pipeGflops) - 5, "text-anchor": "end"},
					`${r.pipe} ${digits(r.pipeGflops)} GFLOP/s, copy ${digits(r.copyGbs)} GB/s`,
				),
				r.points.map((p, i) => [
					dot(x.at(p.intensity), y.at(p.gflops), i ? "dim" : "", `${p.label}: ${digits(p.gflops)} GFLOP/s`, 5),
					s("text", {class: "strong", x: x.at(p.intensity) + 8, y: y.at(p.gflops) + 14}, p.label),
				]),
			];
		},
	);
}

// --- differences of texts ------------------------------------------------------------------------------------------------

// The regions of a context's text: the front matter, and each fence by its info string.
function regionsOf(text) {
	const regions = new Map(),
		lines = text.split("\n");
	let name = null,
		body = [];
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i];
		if (name === null && line === "---" && !regions.has("front matter")) name = "front matter";
		else if (name === "front matter" ? line === "---" : name !== null && line === "```") {
			regions.set(name, body);
			[name, body] = [null, []];
		} else if (name !== null) body.push(line);
		else if (line.startsWith("```")) name = line.slice(3).trim() || "text";
	}
	return regions;
}

// Myers, "An O(ND) difference algorithm and its variations", 1986. Returns [kind, line in a, line in b] with kind "=", "-" or "+".
const EDITS_MAX = 2000;
function diffLines(a, b) {
	let head = 0,
		tail = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const n = a.length - head - tail,
		m = b.length - head - tail,
		paths = [],
		frontier = new Map([[1, 0]]);
	let edits = 0,
		found = false;
	for (; edits <= Math.min(n + m, EDITS_MAX) && !found; edits++) {
		paths.push(new Map(frontier));
		for (let k = -edits; k <= edits && !found; k += 2) {
			const down = k === -edits || (k !== edits && frontier.get(k - 1) < frontier.get(k + 1));
			let x = down ? frontier.get(k + 1) : frontier.get(k - 1) + 1;
			while (x < n && x - k < m && a[head + x] === b[head + x - k]) x++;
			frontier.set(k, x);
			found = x >= n && x - k >= m;
		}
	}
	const middle = [];
	let x = n,
		y = m;
	if (!found) {
		// too different: one replaces the other
		for (; y > 0; y--) middle.push(["+", -1, head + y - 1]);
		for (; x > 0; x--) middle.push(["-", head + x - 1, -1]);
	}
	for (let d = edits - 1; found && d >= 0; d--) {
		const k = x - y,
			v = paths[d],
			down = k === -d || (k !== d && v.get(k - 1) < v.get(k + 1));
		const from = down ? k + 1 : k - 1,
			fx = d ? v.get(from) : 0,
			fy = d ? fx - from : 0;
		while (x > fx && y > fy) middle.push(["=", head + --x, head + --y]);
		if (d && down) middle.push(["+", -1, head + --y]);
		else if (d) middle.push(["-", head + --x, -1]);
	}
	const same = (from, offset, count) => Array.from({length: count}, (_, i) => ["=", from + i, from + i + offset]);
	return [...same(0, 0, head), ...middle.reverse(), ...same(a.length - tail, b.length - a.length, tail)];
}

// Side by side, changed lines with three lines around; null when both are the same.
function diffTable(title, a, b) {
	const all = diffLines(a, b),
		rows = [];
	if (all.every(([kind]) => kind === "=")) return null;
	const near = all.map((_, i) => all.slice(Math.max(0, i - 3), i + 4).some(([kind]) => kind !== "="));
	const side = (kind, line, text) => [
		h("td", {class: "no"}, line < 0 ? "" : line + 1),
		h("td", {class: line < 0 ? null : kind}, line < 0 ? "" : text[line]),
	];
	for (let i = 0; i < all.length;) {
		if (!near[i]) {
			let skipped = 0;
			while (i < all.length && !near[i]) {
				skipped++;
				i++;
			}
			rows.push(h("tr", {class: "gap"}, h("td", {colspan: 4}, `${skipped} equal line${skipped > 1 ? "s" : ""}`)));
			continue;
		}
		if (all[i][0] === "=") {
			rows.push(h("tr", null, side("", all[i][1], a), side("", all[i][2], b)));
			i++;
			continue;
		}
		const old = [],
			young = [];
		for (; i < all.length && all[i][0] !== "="; i++) (all[i][0] === "-" ? old : young).push(all[i]);
		for (let k = 0; k < Math.max(old.length, young.length); k++)
			rows.push(h("tr", null, side("drop", old[k] ? old[k][1] : -1, a), side("add", young[k] ? young[k][2] : -1, b)));
	}
	return [
		h("h3", null, title),
		h(
			"div",
			{class: "diff scroll", tabindex: 0, role: "region", "aria-label": `Changes of ${title}`},
			h(
				"table",
				null,
				h("colgroup", null, h("col", {class: "no"}), h("col"), h("col", {class: "no"}), h("col")),
				h("tbody", null, rows),
			),
		),
	];
}
