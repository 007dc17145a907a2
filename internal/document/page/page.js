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
    const body = table.tBodies[0], first = Array.from(body.rows);
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

  // hover shows the value of the point of a picture that is nearest to the pointer.
  function hover(figure) {
    if (!figure.querySelector("script")) return;
    const spots = data(figure), tip = figure.querySelector(".tip"), box = figure.querySelector(".drawn");
    const w = +figure.dataset.width, h = +figure.dataset.height;
    box.addEventListener("pointermove", e => {
      const r = box.getBoundingClientRect(), x = (e.clientX - r.left) / r.width * w, y = (e.clientY - r.top) / r.height * h;
      let best = null, near = 18 * 18;
      for (const s of spots) {
        const dx = Math.max(0, Math.abs(s.x - x) - (s.w || 0)), dy = Math.max(0, Math.abs(s.y - y) - (s.h || 0)), d = dx * dx + dy * dy;
        if (d < near) { near = d; best = s }
      }
      tip.hidden = !best;
      if (!best) return;
      tip.textContent = best.t;
      tip.style.left = 100 * best.x / w + "%"; tip.style.top = 100 * best.y / h + "%";
    });
    box.addEventListener("pointerleave", () => { tip.hidden = true });
  }

  const chosen = {}; // what tracks show, kept when the page is filled anew
  const colours = ["#80bee6", "#08306b", "#e6781e", "#824b28"]; // read light, what costs dark
  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const ink = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // tracks draws what each call of a conversation read, wrote and sent uncached, with what happened at it.
  function tracks(box) {
    const d = data(box), height = 320, pick = c => box.querySelector("." + c), step = pick("step");
    for (const t of d.list) t.total = t.stack[0].map((_, i) => t.stack.reduce((sum, part) => sum + part[i], 0));
    const groups = [...new Set(d.list.map(t => t.group))];
    const fill = (select, names) => select.replaceChildren(...names.map(n => { const o = make("option", n); o.value = n; return o }));
    fill(pick("group"), groups);
    if (groups.includes(chosen.group)) pick("group").value = chosen.group;
    let plot = null, shown = null, at = chosen.at || 0;
    const find = v => d.list.find(t => t.group === pick("group").value && t.variant === v);
    function variants() {
      const names = d.list.filter(t => t.group === pick("group").value).map(t => t.variant);
      const keep = [pick("variant").value || chosen.variant, pick("other").value || chosen.other];
      fill(pick("variant"), names); fill(pick("other"), ["–", ...names]);
      if (names.includes(keep[0])) pick("variant").value = keep[0];
      pick("other").value = names.includes(keep[1]) ? keep[1] : "–";
    }
    function tell(i) {
      if (!shown || i == null || i < 0 || i >= shown.total.length) return;
      at = chosen.at = i;
      const parts = d.parts.map((p, k) => p + " " + tokens(shown.stack[k][i]));
      step.textContent = d.step + " " + (i + 1) + " of " + shown.total.length + (shown.when ? " · " + seconds(shown.when[i]) + " after the first" : "") + " · " +
        parts.join(" · ") + (shown.usd ? " · $" + shown.usd[i].toFixed(4) : "") + (shown.notes[i] ? "\n" + shown.notes[i] : "") +
        (shown.look ? "\n" + shown.look.replace("{n}", i + 1) : "");
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
      const values = [x, ...layers.reverse().map(fit)], series = [{ label: d.step }];
      d.parts.map((p, k) => [p, k]).reverse().forEach(([p, k]) => series.push({
        label: p, stroke: colours[k], fill: colours[k], width: 1, points: { show: false },
        paths: uPlot.paths.stepped({ align: -1 }), value: (u, v, s, i) => i == null ? "–" : tokens(shown.stack[k][i]) }));
      if (other) { values.push(fit(other.total)); series.push({ label: other.variant, stroke: dark() ? "#fff" : "#000", width: 1.5, dash: [6, 3], points: { show: false }, value: (u, v) => tokens(v) }) }
      const marks = u => {
        const c = u.ctx; c.save(); c.textAlign = "center"; c.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
        for (const [i, text] of Object.entries(shown.notes)) {
          const px = u.valToPos(+i + 1, "x", true), missed = /^miss/.test(text);
          if (px < u.bbox.left || px > u.bbox.left + u.bbox.width) continue;
          c.fillStyle = missed ? "#d03b3b" : "#3c8c5a";
          c.fillText(missed ? "▾" : "◆", px, u.bbox.top + (missed ? 11 : 24) * devicePixelRatio);
        }
        c.restore();
      };
      const axis = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 } };
      plot = new uPlot({
        width: Math.max(280, box.clientWidth), height, series, scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, hi * 1.12 || 1] } },
        axes: [{ ...axis, label: d.step, labelSize: 20 }, { ...axis, size: 58, values: (u, v) => v.map(tokens) }],
        hooks: { draw: [marks], setCursor: [u => tell(u.cursor.idx)] }, cursor: { drag: { x: true, y: false } },
      }, values, pick("plot"));
      tell(Math.min(at, shown.total.length - 1));
    }
    pick("group").addEventListener("change", () => { at = 0; variants(); draw() });
    pick("variant").addEventListener("change", draw);
    pick("other").addEventListener("change", draw);
    pick("whole").addEventListener("click", draw);
    box.tabIndex = 0;
    box.addEventListener("keydown", e => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!by || e.target.tagName === "SELECT") return;
      e.preventDefault(); tell(at + by);
      plot.setCursor({ left: plot.valToPos(at + 1, "x"), top: 10 });
    });
    box.hidden = false;
    variants(); draw();
    const end = new AbortController(), on = { signal: end.signal };
    box.addEventListener("gone", () => { end.abort(); plot.destroy() });
    addEventListener("resize", () => plot.setSize({ width: Math.max(280, box.clientWidth), height }), on);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, on);
  }

  // enliven adds to a part of the page what needs scripts.
  function enliven(part) {
    all(part, "table").forEach(sortable);
    all(part, "figure.picture").forEach(hover);
    all(part, ".tracks").forEach(tracks);
  }
  enliven(document);
  return { enliven, make, all };
})();
