// browser: a headless Chromium for page.t, spoken to over the DevTools protocol on a pipe (messages end with a NUL), so no package is needed.
import {spawn} from "node:child_process";
import {writeFileSync} from "node:fs";

export async function browse(program, folder) {
	const child = spawn(
		program,
		[
			"--headless=new",
			"--remote-debugging-pipe",
			"--no-sandbox",
			"--disable-gpu",
			"--disable-dev-shm-usage",
			"--no-first-run",
			"--disable-background-networking",
			"--disable-component-update",
			`--user-data-dir=${folder}/chromium`,
			"about:blank",
		],
		{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]},
	);
	process.on("exit", () => child.kill("SIGKILL"));
	const answers = new Map(),
		bound = new Map(),
		errors = [];
	let last = 0,
		text = "",
		session;
	const send = (method, params = {}) =>
		new Promise((done, fail) => {
			answers.set(++last, {done, fail, method});
			child.stdio[3].write(`${JSON.stringify({id: last, method, params, sessionId: session})}\0`);
		});
	child.stdio[4].setEncoding("utf8");
	child.stdio[4].on("data", data => {
		text += data;
		const messages = text.split("\0");
		text = messages.pop();
		for (const m of messages.map(one => JSON.parse(one))) {
			if (m.id) {
				const {done, fail, method} = answers.get(m.id);
				m.error ? fail(new Error(`${method}: ${m.error.message}`)) : done(m.result);
			}
			// What a person would see in red in the console.
			if (m.method === "Runtime.exceptionThrown")
				errors.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
			if (m.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(m.params.type))
				errors.push(m.params.args.map(a => a.value).join(" "));
			if (m.method === "Log.entryAdded" && ["error", "warning"].includes(m.params.entry.level))
				errors.push(`${m.params.entry.text} ${m.params.entry.url ?? ""}`);
			if (m.method === "Runtime.bindingCalled") bound.get(m.params.name)(m.params.payload);
		}
	});
	const {targetInfos} = await send("Target.getTargets");
	session = (await send("Target.attachToTarget", {targetId: targetInfos.find(t => t.type === "page").targetId, flatten: true}))
		.sessionId;
	for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
	const value = async expression => {
		const r = await send("Runtime.evaluate", {expression, awaitPromise: true, returnByValue: true});
		if (r.exceptionDetails) throw new Error(`${expression.slice(0, 200)}: ${r.exceptionDetails.exception?.description}`);
		return r.result.value;
	};
	return {
		errors,
		send,
		value,
		// A function of the page that calls one of ours.
		bind: (name, f) => (bound.set(name, f), send("Runtime.addBinding", {name})),
		open: url => send("Page.navigate", {url}),
		// Until the expression is true, 20 s at most; the animation frames are the browser's own pace.
		async until(expression, seconds = 20) {
			const end = Date.now() + 1000 * seconds;
			while (Date.now() < end) {
				if (await value(`(() => { try { return !!(${expression}); } catch { return false; } })()`).catch(() => false)) return true;
				await value("new Promise(done => setTimeout(done, 20))").catch(() => null);
			}
			return false;
		},
		async key(key, modifiers = 0) {
			const codes = {Tab: 9, Enter: 13, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Home: 36, End: 35};
			const named = {key, code: key, windowsVirtualKeyCode: codes[key], modifiers, ...(key === "Enter" ? {text: "\r"} : {})};
			await send("Input.dispatchKeyEvent", {type: key === "Enter" ? "keyDown" : "rawKeyDown", ...named});
			await send("Input.dispatchKeyEvent", {type: "keyUp", ...named});
		},
		size: (width, height, dark = false) =>
			Promise.all([
				send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: width < 600}),
				send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]}),
			]),
		async picture(file) {
			const {data} = await send("Page.captureScreenshot", {format: "png"});
			writeFileSync(file, Buffer.from(data, "base64"));
		},
		async close() {
			const ended = new Promise(done => child.once("exit", done));
			await send("Browser.close").catch(() => null);
			await ended;
		},
	};
}
