// The dials ask the server that sent this page; what comes back takes the place of the page's body.
(() => {
  const form = document.getElementById("dials"), state = document.getElementById("state");
  const card = document.getElementById("advice"), whose = document.getElementById("whose"), clients = page.all(form, ".client");
  const token = new URLSearchParams(location.search).get("t");
  const field = name => form.elements[name];
  const dials = page.all(form, "input[type=range]");
  let under = null, explaining = null, advising = null, timer = 0, about = null, fits = form.dataset.fits, agent = form.dataset.agent;
  const value = d => d.dataset.values.split(" ")[d.value - 1];
  // fit shows the dials that the strategy has, and of clients those of the agent whose sessions are shown. One that a client has
  // is shown once. One that is not shown is unchanged: fit returns whether any was turned.
  function fit() {
    const own = field("strategy").value === "own", paths = fits.split(" ");
    clients.forEach(c => { c.hidden = !own || c.dataset.agent !== agent });
    whose.hidden = !own || agent !== "";
    const client = d => d.closest(".client"), shown = d => paths.includes(d.dataset.path) && !client(d)?.hidden;
    const theirs = dials.filter(d => client(d) && shown(d)).map(d => d.dataset.path);
    let turned = false;
    dials.forEach(d => {
      const hidden = !shown(d) || !client(d) && theirs.includes(d.dataset.path);
      d.closest(".dial").hidden = hidden;
      if (hidden && +d.value) { d.value = 0; turned = true }
    });
    return turned;
  }
  const variant = () => ({ strategy: field("strategy").value, dials: dials.filter(d => +d.value > 0).map(d => d.dataset.path + "=" + value(d)) });
  const sessions = () => Array.from(field("session").selectedOptions, o => o.value);
  // post returns what the server says, nothing when something newer was asked for.
  async function post(path, ask, by) {
    const r = await fetch(path, { method: "POST", signal: by.signal, headers: { "Content-Type": "application/json", "X-Sim-Token": token }, body: JSON.stringify(ask) });
    const text = await r.text();
    if (r.headers.has("X-Sim-Fits")) { fits = r.headers.get("X-Sim-Fits"); agent = r.headers.get("X-Sim-Agent"); if (fit()) soon(); show() }
    if (!r.ok) throw new Error(text.trim());
    const part = document.createElement("template");
    part.innerHTML = text;
    const main = part.content.querySelector("main");
    main.dataset.title = part.content.querySelector("h1").textContent;
    return main;
  }
  // advise asks what to set in the clients of the chosen sessions, once for each choice.
  async function advise() {
    const ask = { agent: field("agent").value, sessions: sessions() }, of = JSON.stringify(ask);
    if (of === about) return;
    about = of;
    if (advising) advising.abort();
    const mine = advising = new AbortController();
    card.setAttribute("aria-busy", "true");
    try {
      const main = await post("advise", ask, mine);
      if (mine !== advising) return;
      card.replaceChildren(...main.childNodes);
      page.enliven(card);
    } catch (e) {
      if (e.name === "AbortError") return;
      card.replaceChildren(page.make("h2", "What to set"), page.make("p", e.message));
    }
    card.removeAttribute("aria-busy");
  }
  async function ask() {
    if (under) under.abort();
    const mine = under = new AbortController(), began = performance.now();
    state.textContent = "…";
    try {
      const main = await post("simulate", { ...variant(), agent: field("agent").value, sessions: sessions() }, mine);
      if (mine !== under) return;
      const top = scrollY, old = document.querySelector("main"), open = page.all(old, "details").map(d => d.open);
      page.all(old, ".tracks").forEach(t => t.dispatchEvent(new Event("gone")));
      old.replaceWith(main);
      page.all(main, "details").forEach((d, i) => { d.open = !!open[i] });
      page.enliven(main);
      document.title = document.querySelector("h1").textContent = main.dataset.title;
      scrollTo(0, top);
      state.textContent = Math.round(performance.now() - began) + " ms";
      document.body.dataset.done = String(+(document.body.dataset.done || 0) + 1);
    } catch (e) { if (e.name !== "AbortError") state.textContent = e.name === "TypeError" ? "the server is gone: " + e.message : e.message }
  }
  // Who chooses a call is told what led to it, what it was expected to read and why it missed.
  addEventListener("asked", async e => {
    if (explaining) explaining.abort();
    const mine = explaining = new AbortController(), { session, cell, call, into } = e.detail;
    try {
      const main = await post("explain", { ...variant(), sessions: [session], cell, call }, mine);
      if (mine === explaining) into.replaceChildren(...main.childNodes);
    } catch (e) { if (e.name !== "AbortError") into.textContent = e.message }
  });
  const show = () => {
    dials.forEach(d => {
      const text = +d.value ? value(d).replace(/\B(?=(\d{3})+$)/g, ",") : "unchanged";
      d.closest(".dial").querySelector("output").textContent = text; d.setAttribute("aria-valuetext", text);
    });
    const some = sessions().length, of = field("session").options.length;
    document.getElementById("chosen").textContent = some ? some + " of " + of : "all " + of;
  };
  const soon = () => { show(); clearTimeout(timer); timer = setTimeout(() => { ask(); advise() }, 60) };
  form.addEventListener("input", soon);
  form.addEventListener("submit", e => { e.preventDefault(); soon() });
  form.addEventListener("reset", () => setTimeout(soon));
  fit(); show(); advise();
})();
