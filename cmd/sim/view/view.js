// The dials ask the server that sent this page; what comes back takes the place of the page's body.
(() => {
  const form = document.getElementById("dials"), state = document.getElementById("state"), unpin = document.getElementById("unpin");
  const token = new URLSearchParams(location.search).get("t");
  const field = name => form.querySelector("[name=" + name + "]");
  const dials = page.all(form, "input[type=range]");
  let under = null, timer = 0, pinned = null;
  const value = d => d.dataset.values.split(" ")[d.value - 1];
  function variant() {
    const set = dials.filter(d => +d.value > 0).map(d => d.dataset.path + "=" + value(d));
    return { strategy: field("strategy").value, set: set.concat(field("more").value.split(/\s+/).filter(Boolean)) };
  }
  async function ask() {
    if (under) under.abort();
    const mine = under = new AbortController(), began = performance.now();
    state.textContent = "…";
    try {
      const r = await fetch("simulate", { method: "POST", signal: mine.signal, headers: { "Content-Type": "application/json", "X-Sim-Token": token },
        body: JSON.stringify({ ...variant(), agent: field("agent").value, session: field("session").value, pinned }) });
      const text = await r.text();
      if (mine !== under) return;
      if (!r.ok) { state.textContent = text; return }
      const top = scrollY, old = document.querySelector("main"), fresh = document.createElement("template");
      fresh.innerHTML = text;
      const open = page.all(old, "details").map(d => d.open);
      const main = fresh.content.querySelector("main");
      page.all(old, ".tracks").forEach(t => t.dispatchEvent(new Event("gone")));
      old.replaceWith(main);
      page.all(main, "details").forEach((d, i) => { d.open = !!open[i] });
      page.enliven(main);
      scrollTo(0, top);
      state.textContent = Math.round(performance.now() - began) + " ms";
      document.body.dataset.done = String(+(document.body.dataset.done || 0) + 1);
    } catch (e) { if (e.name !== "AbortError") state.textContent = "the server is gone: " + e.message }
  }
  const show = () => dials.forEach(d => {
    const text = +d.value ? value(d).replace(/\B(?=(\d{3})+$)/g, ",") : "as it is";
    d.nextElementSibling.textContent = text; d.setAttribute("aria-valuetext", text);
  });
  const soon = () => { show(); clearTimeout(timer); timer = setTimeout(ask, 60) };
  form.addEventListener("input", soon);
  form.addEventListener("submit", e => { e.preventDefault(); soon() });
  form.addEventListener("reset", () => setTimeout(soon));
  document.getElementById("pin").addEventListener("click", () => { pinned = variant(); unpin.hidden = false; soon() });
  unpin.addEventListener("click", () => { pinned = null; unpin.hidden = true; soon() });
  show();
})();
