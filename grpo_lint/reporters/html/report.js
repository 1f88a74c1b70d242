"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const form = document.getElementById("filters");
  const words = document.getElementById("words");
  const rule = document.getElementById("rule");
  const framework = document.getElementById("framework");
  const only = document.getElementById("only");

  const findings = new Map(all("article.finding").map((node) => [node.id.slice(1), {
    node, text: node.textContent.toLowerCase(), frameworks: node.dataset.frameworks.split(" "),
  }]));
  const lines = new Map();
  for (const node of all("tr[data-run]")) {
    const number = node.dataset.run;
    lines.set(number, [...(lines.get(number) || []), node]);
  }
  const runs = all("details.run").map((node) => ({
    node, lines: lines.get(node.dataset.run) || [], label: node.dataset.label.toLowerCase(),
    framework: node.dataset.framework, findings: node.dataset.findings.split(" ").filter(Boolean),
  }));
  const filed = new Set(runs.flatMap((run) => run.lines));
  const files = all("tr[data-run]").filter((node) => !filed.has(node)).map((node) => ({
    node, text: node.textContent.toLowerCase(),
    findings: all("td a", node).map((link) => link.hash.slice(2)),
  }));

  function shownFindings(wanted) {
    const severities = new Set(all("[name=severity]:checked", form).map((box) => box.value));
    const shown = new Set();
    for (const [number, one] of findings) {
      const fits = severities.has(one.node.dataset.severity)
        && (!rule.value || one.node.dataset.rule === rule.value)
        && (!framework.value || one.frameworks.includes(framework.value))
        && wanted.every((word) => one.text.includes(word));
      one.node.hidden = !fits;
      if (fits) shown.add(number);
    }
    return shown;
  }

  function apply() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = shownFindings(wanted);
    const narrow = only.checked || rule.value || all("[name=severity]:not(:checked)", form).length > 0;
    let count = 0;
    for (const run of runs) {
      const has = run.findings.some((number) => shown.has(number));
      const named = wanted.every((word) => run.label.includes(word));
      const fits = (!framework.value || run.framework === framework.value) && (has || (named && !narrow));
      run.node.hidden = !fits;
      for (const line of run.lines) line.hidden = !fits;
      count += fits;
    }
    for (const file of files) file.node.hidden = !file.findings.some((number) => shown.has(number));
    document.getElementById("none").hidden = shown.size > 0 || findings.size === 0;
    document.getElementById("shown").textContent =
      `${shown.size} of ${findings.size} findings, ${count} of ${runs.length} runs`;
  }

  function step(by) {
    const shown = [...findings.values()].map((one) => one.node).filter((node) => !node.hidden);
    const here = document.activeElement.closest("article.finding");
    const at = here ? shown.indexOf(here) + by : by > 0 ? 0 : shown.length - 1;
    if (shown[at]) {
      shown[at].focus({ preventScroll: true });
      shown[at].scrollIntoView({ block: "start" });
    }
  }

  const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  // From a cell with a link to the next one in a direction; cells without a link are passed over.
  function move(event) {
    const cell = event.target.closest(".grid th, .grid td");
    const way = ARROWS[event.key];
    if (!cell || !way) return;
    const table = all("tr", cell.closest("table")).filter((line) => !line.hidden);
    let row = table.indexOf(cell.parentNode);
    let column = cell.cellIndex;
    for (;;) {
      row += way[0];
      column += way[1];
      const next = table[row] && table[row].cells[column];
      if (!next) return;
      const link = next.querySelector("a[href]");
      if (link) {
        event.preventDefault();
        link.focus();
        return;
      }
    }
  }

  // A link into a fold opens it.
  function unfold() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target.hidden) {
      form.reset();
      apply();
    }
    target.scrollIntoView({ block: "start" });
    if (target.tabIndex === -1) target.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) return move(event);
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") {
        words.value = "";
        apply();
        event.target.blur();
      }
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      words.focus();
    } else if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
  });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  window.addEventListener("hashchange", unfold);
  form.hidden = false;
  apply();
  unfold();
})();
