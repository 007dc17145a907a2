"use strict";
// The page works without this: tables and pictures stand in it. It adds sorting, values under the pointer, and
// the calls of one conversation at a time.
const page = (() => {
  const all = (from, what) => Array.from(from.querySelectorAll(what));
  const make = (tag, text, kind) => { const e = document.createElement(tag); e.textContent = text || ""; if (kind) e.className = kind; return e };
  const data = of => JSON.parse(of.querySelector("script[type='application/json']").textContent);

  // number reads a figure as it is written for people: $1,234.56, −3.1 %, 159k, 3 h 24 m.
  function number(text) {
    const t = text.replace(/[−]/g, "-").replace(/[,~$%+]/g, "").trim();
    const time = t.match(/^(-?)(?:(\d+) h )?(?:(\d+) m\b ?)?(?:([\d.]+) s)?$/);
    if (time && t !== "" && t !== "-") return (time[1] ? -1 : 1) * (3600 * (time[2] || 0) + 60 * (time[3] || 0) + +(time[4] || 0));
    const m = t.match(/^(-?[\d.]+) ?([kMBT])?/);
    return m ? +m[1] * ({ k: 1e3, M: 1e6, B: 1e9, T: 1e12 }[m[2]] || 1) : NaN;
  }

  // tokens writes a count like the tables: 812, 9.9k, 167k, 1.24M.
  function tokens(v) {
    if (v == null || isNaN(v)) return "–";
    if (v < 999.5) return String(Math.round(v));
    if (v < 9950) return (v / 1e3).toFixed(1) + "k";
    if (v < 999500) return Math.round(v / 1e3) + "k";
    return (v / 1e6).toFixed(2) + "M";
  }

  // seconds writes a time like the tables: 42 s, 3 m 05 s, 1 h 02 m.
  function seconds(v) {
    const two = n => String(n).padStart(2, "0");
    if (v < 60) return v + " s";
    if (v < 3600) return Math.floor(v / 60) + " m " + two(v % 60) + " s";
    return Math.floor(v / 3600) + " h " + two(Math.floor(v % 3600 / 60)) + " m";
  }

  function sortable(table) {
    const body = table.tBodies[0], first = Array.from(body?.rows || []);
    if (!table.tHead || first.length < 2) return;
    Array.from(table.tHead.rows[0].cells).forEach((th, i) => {
      const b = make("button"); b.type = "button";
      while (th.firstChild && th.firstChild.nodeName !== "SUP") b.append(th.firstChild);
      th.prepend(b);
      b.addEventListener("click", () => {
        const was = th.getAttribute("aria-sort");
        all(table, "th").forEach(x => x.removeAttribute("aria-sort"));
        if (was === "descending") { body.append(...first); return }
        const sign = was === "ascending" ? -1 : 1;
        th.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const key = r => { const c = r.cells[i].cloneNode(true); all(c, "sup").forEach(x => x.remove()); return c.textContent.trim() };
        const by = first.map(r => ({ r, text: key(r), n: number(key(r)) }));
        const figures = by.some(x => !isNaN(x.n)) && th.classList.contains("r");
        by.sort((x, y) => figures ? (isNaN(x.n) - isNaN(y.n)) || sign * (x.n - y.n) : sign * x.text.localeCompare(y.text));
        body.append(...by.map(x => x.r));
      });
    });
  }

  // copyable lets a text be taken along whole.
  function copyable(pre) {
    const b = make("button", "copy", "copy"); b.type = "button";
    b.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(pre.textContent); b.textContent = "copied" } catch { getSelection().selectAllChildren(pre); b.textContent = "selected" }
      setTimeout(() => { b.textContent = "copy" }, 1500);
    });
    pre.before(b);
    return b;
  }

  const chosen = {}; // what tracks show, kept when the page is filled anew
  const colours = ["#80bee6", "#08306b", "#e6781e", "#824b28"]; // read light, what costs dark
  const kinds = { miss: ["▾", "#d03b3b", 11], cleared: ["◇", "#8a63c9", 24], other: ["◆", "#3c8c5a", 24] };
  const kind = text => kinds[/^(miss|cleared)/.exec(text)?.[1] || "other"];
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const quoted = text => /^[\w.-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'"; // for a shell

  // tracks draws what each call of a conversation read, wrote and sent uncached, with what happened at it.
  function tracks(box) {
    const d = data(box), height = 320, pick = c => box.querySelector("." + c), list = box.querySelector("table");
    for (const t of d.list) t.total = t.stack[0].map((_, i) => t.stack.reduce((sum, part) => sum + part[i], 0));
    const groups = new Map(d.list.map(t => [t.group, t.label || t.group]));
    const fill = (select, names, label) => select.replaceChildren(...Array.from(names, n => { const o = make("option", label ? label.get(n) : n); o.value = n; return o }));
    fill(pick("group"), groups.keys(), groups);
    if (groups.has(chosen.group)) pick("group").value = chosen.group;
    const copy = copyable(pick("look"));
    let plot = null, shown = null, events = [], at = chosen.at || 0;
    const find = v => d.list.find(t => t.group === pick("group").value && t.variant === v);
    function variants() {
      const names = d.list.filter(t => t.group === pick("group").value).map(t => t.variant);
      const keep = [pick("variant").value || chosen.variant, pick("other").value || chosen.other];
      fill(pick("variant"), names); fill(pick("other"), ["–", ...names]);
      if (names.includes(keep[0])) pick("variant").value = keep[0];
      pick("other").value = names.includes(keep[1]) ? keep[1] : "–";
    }
    // tell shows one call; asked says that somebody chose it.
    function tell(i, asked) {
      if (!shown || i == null || i < 0 || i >= shown.total.length) return;
      at = chosen.at = i;
      const parts = d.parts.map((p, k) => p + " " + tokens(shown.stack[k][i]));
      pick("step").textContent = d.step + " " + (i + 1) + " of " + shown.total.length + (shown.beside ? " (" + (shown.total.length - shown.beside) + " of the conversation, " + shown.beside + " beside it)" : "") + (shown.when ? " · " + seconds(shown.when[i]) + " after the first" : "") + " · " +
        parts.join(" · ") + (shown.usd ? " · $" + shown.usd[i].toFixed(4) : "") + (shown.notes[i] ? "\n" + shown.notes[i] : "");
      const command = d.commands?.[shown.variant] || "";
      pick("look").textContent = command.replace(/\{(id|n)\}/g, (_, key) => key === "n" ? i + 1 : quoted(shown.group));
      pick("look").hidden = copy.hidden = !command;
      pick("why").replaceChildren();
      plot.redraw(false);
      if (asked) box.dispatchEvent(new CustomEvent("asked", { bubbles: true, detail: { session: shown.group, cell: shown.variant, call: i + 1, into: pick("why") } }));
    }
    function step(by) { tell(at + by, true) }
    function event(by) {
      const next = by > 0 ? events.find(i => i > at) : events.findLast(i => i < at);
      if (next != null) tell(next, true);
    }
    // happenings lists what happened, for who cannot see the marks.
    function happenings() {
      events = Object.keys(shown.notes).map(Number);
      list.closest("details").hidden = !events.length;
      list.closest("details").firstChild.textContent = events.length + (events.length === 1 ? " event" : " events");
      list.replaceChildren(...events.slice(0, 500).map(i => {
        const row = make("tr"), b = make("button", d.step + " " + (i + 1)); b.type = "button";
        b.addEventListener("click", () => tell(i, true));
        row.append(make("td"), make("td", shown.notes[i])); row.firstChild.append(b);
        return row;
      }));
    }
    function draw() {
      shown = find(pick("variant").value);
      const other = find(pick("other").value);
      Object.assign(chosen, { group: pick("group").value, variant: pick("variant").value, other: pick("other").value });
      if (plot) plot.destroy();
      const n = Math.max(shown.total.length, other ? other.total.length : 0);
      const x = Array.from({ length: n }, (_, i) => i + 1);
      let sum = new Array(shown.total.length).fill(0);
      const layers = d.parts.map((_, k) => (sum = sum.map((v, i) => v + shown.stack[k][i])).slice());
      const fit = a => x.map((_, i) => i < a.length ? a[i] : null);
      const values = [x, ...layers.reverse().map(fit)], series = [{ label: d.step, value: (u, v) => v == null ? "–" : v }];
      d.parts.map((p, k) => [p, k]).reverse().forEach(([p, k]) => series.push({
        label: p, stroke: colours[k], fill: colours[k], width: 1, points: { show: false },
        paths: uPlot.paths.stepped({ align: -1 }), value: (u, v, s, i) => i == null ? "–" : tokens(shown.stack[k][i]) }));
      if (other) { values.push(fit(other.total)); series.push({ label: other.variant, stroke: dark() ? "#fff" : "#000", width: 1.5, dash: [6, 3], points: { show: false }, value: (u, v) => tokens(v) }) }
      const marks = u => {
        const c = u.ctx, scale = devicePixelRatio, place = i => u.valToPos(i + 1, "x", true), within = px => px >= u.bbox.left && px <= u.bbox.left + u.bbox.width;
        c.save(); c.textAlign = "center"; c.font = 12 * scale + "px system-ui, sans-serif";
        for (const i of events) {
          const [mark, colour, down] = kind(shown.notes[i]);
          c.fillStyle = colour;
          if (within(place(i))) c.fillText(mark, place(i), u.bbox.top + down * scale);
        }
        c.fillStyle = ink("--ink");
        if (within(place(at))) c.fillRect(place(at) - scale / 2, u.bbox.top, scale, u.bbox.height);
        c.restore();
      };
      happenings();
      const axis = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 } };
      plot = new uPlot({
        width: Math.max(280, box.clientWidth), height, series, scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, hi * 1.12 || 1] } },
        axes: [{ ...axis, label: d.step, labelSize: 20 }, { ...axis, size: 58, values: (u, v) => v.map(tokens) }],
        hooks: { draw: [marks] }, cursor: { drag: { x: true, y: false } },
      }, values, pick("plot"));
      let from = 0;
      plot.over.addEventListener("pointerdown", e => { from = e.clientX });
      plot.over.addEventListener("click", e => {
        if (Math.abs(e.clientX - from) > 4) return; // that was a zoom
        const px = e.clientX - plot.over.getBoundingClientRect().left, far = i => Math.abs(plot.valToPos(i + 1, "x") - px);
        const mark = events.reduce((a, b) => a == null || far(b) < far(a) ? b : a, null);
        tell(mark != null && far(mark) < 8 ? mark : plot.posToIdx(px), true);
      });
      tell(Math.min(at, shown.total.length - 1));
    }
    pick("group").addEventListener("change", () => { at = 0; variants(); draw() });
    pick("variant").addEventListener("change", draw);
    pick("other").addEventListener("change", draw);
    pick("whole").addEventListener("click", draw);
    pick("back").addEventListener("click", () => event(-1));
    pick("next").addEventListener("click", () => event(1));
    const graph = pick("plot");
    graph.tabIndex = 0; graph.setAttribute("role", "group"); graph.setAttribute("aria-label", "Calls of a session: arrow keys step from call to call");
    graph.addEventListener("keydown", e => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (by) { e.preventDefault(); step(by) }
    });
    box.hidden = false;
    variants(); draw();
    const end = new AbortController(), on = { signal: end.signal };
    box.addEventListener("gone", () => { end.abort(); plot.destroy() });
    addEventListener("resize", () => plot.setSize({ width: Math.max(280, box.clientWidth), height }), on);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, on);
  }

  // ways shows the sections that tell the same in one way at a time, the first at first.
  function ways(part) {
    const told = all(part, "[data-way]"), names = [...new Set(told.map(s => s.dataset.way))];
    if (names.length < 2) return;
    const label = make("label", "Show in ", "ways"), choice = make("select");
    choice.append(...names.map(name => make("option", name)));
    label.append(choice);
    told[0].before(label);
    const show = () => told.forEach(s => { s.hidden = s.dataset.way !== choice.value });
    choice.addEventListener("change", show);
    show();
  }

  // enliven adds to a part of the page what needs scripts.
  function enliven(part) {
    all(part, "table").forEach(sortable);
    all(part, "pre:not(.look)").forEach(copyable);
    all(part, ".tracks").forEach(tracks);
    ways(part);
  }
  // A link to what is folded opens it.
  const unfold = () => { const to = document.getElementById(location.hash.slice(1)), fold = to && to.closest("details"); if (fold) { fold.open = true; to.scrollIntoView() } };
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => all(document, "main > details").forEach(d => { d.open = true }));
  enliven(document); unfold();
  return { enliven, make, all };
})();
