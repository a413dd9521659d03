"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const state = { measure: "one", zoom: "near", hidden: new Set() };
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const narrow = window.matchMedia("(max-width: 760px)");
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (look) => (dark.matches ? look.dark : look.colour);
const faint = (hex) => hex + "29";

function traces(problem, kind) {
  const out = [];
  for (const curve of problem.curves) {
    const hue = colour(curve.look);
    const points = curve.points.filter((p) => p[kind][state.measure] !== null);
    if (!points.length) continue;
    const visible = !state.hidden.has(curve.name);
    const x = points.map((p) => p.seconds);
    if (kind === "estimate") {
      const [low, high] = ["low", "high"].map((end) => points.map((p) => p[end][state.measure]));
      out.push({
        x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()], type: "scatter", mode: "lines", fill: "toself",
        fillcolor: faint(hue), line: { width: 0 }, hoverinfo: "skip", showlegend: false, visible,
      });
    }
    out.push({
      x, y: points.map((p) => p[kind][state.measure]), type: "scatter", mode: "lines+markers", name: curve.look.name, visible,
      line: { color: hue, width: 2, dash: curve.look.dashed ? "6px,4px" : "solid" },
      marker: { color: hue, symbol: curve.look.symbol, size: curve.look.symbol === "star" ? 12 : 8, line: { width: 1.5, color: hue } },
      text: points.map((p) => p.text), hovertemplate: "%{text}<extra></extra>", showlegend: false, meta: curve.name,
    });
  }
  return out;
}

function layout(problem, kind) {
  const ink = token("--ink"), soft = token("--soft"), line = token("--line"), paper = token("--paper");
  const level = kind === "estimate" ? problem.truth : data.accurate ** 2;
  const axis = { gridcolor: line, zeroline: false, linecolor: soft, ticks: "outside", tickcolor: soft, automargin: true };
  const near = kind === "estimate" && state.zoom === "near" && level !== null;
  const what = state.measure === "one" ? "one trial" : data.trials + " trials combined";
  const mark = kind === "error" ? `RMSE ${data.accurate} nats` : level === null ? "" : problem.errors ? "truth" : `truth ${problem.truthText}`;
  return {
    title: {
      text: `${kind === "estimate" ? "estimate of the log evidence" : "squared error"}, ${what}${mark ? `  <span style="color:${soft}">· dotted: ${mark}</span>` : ""}`,
      font: { size: narrow.matches ? 12 : 14 }, x: 0.02, xanchor: "left", y: 0.97,
    },
    xaxis: { ...axis, type: "log", exponentformat: "power", dtick: 1, title: { text: "seconds per trial", font: { size: 12 } } },
    yaxis: {
      ...axis, type: kind === "error" ? "log" : "linear", exponentformat: kind === "error" ? "power" : "none", separatethousands: false,
      tickformat: kind === "estimate" ? "d" : undefined, dtick: kind === "error" ? 1 : undefined,
      title: { text: kind === "error" ? "nats²" : problem.errors ? "estimate − truth, nats" : "nats", font: { size: 12 } },
      ...(near ? { range: [level - data.zoom, level + data.zoom] } : kind === "estimate" ? { range: problem.range } : {}),
    },
    shapes: level === null ? [] : [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, line: { color: soft, width: 1.2, dash: "dot" } }],
    margin: { l: 58, r: 14, t: 40, b: 46 }, paper_bgcolor: paper, plot_bgcolor: paper, font: { color: ink, family: getComputedStyle(document.body).fontFamily, size: 12 },
    hovermode: "closest", hoverlabel: { align: "left", bgcolor: token("--card"), bordercolor: soft, font: { color: ink, size: 13 } },
    dragmode: narrow.matches ? false : "zoom", showlegend: false,
  };
}

const options = { responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset" };

// A page has another width than the screen. Charts keep what is drawn and are scaled as pictures.
let printing = false;

function scale(print) {
  if (print) for (const node of document.querySelectorAll(".chart")) {
    const { width, height } = node.getBoundingClientRect();
    node.style.setProperty("--shape", `${width} / ${height}`);
    for (const picture of node.querySelectorAll(".main-svg")) picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  } else for (const picture of document.querySelectorAll(".chart .main-svg")) picture.removeAttribute("viewBox");
  printing = print;
  if (!print) draw();
}

function draw() {
  if (printing) return;
  for (const node of document.querySelectorAll(".chart")) {
    const problem = data.problems[Number(node.dataset.problem)];
    Plotly.react(node, traces(problem, node.dataset.kind), layout(problem, node.dataset.kind), options);
  }
  for (const chip of document.querySelectorAll(".chips button")) {
    chip.setAttribute("aria-pressed", String(!state.hidden.has(chip.dataset.curve)));
    chip.querySelector(".glyph").style.color = colour(data.looks[chip.dataset.curve]);
  }
  for (const [key, value] of [["measure", state.measure], ["zoom", state.zoom]]) {
    for (const button of document.querySelectorAll(`[data-${key}]`)) button.setAttribute("aria-pressed", String(button.dataset[key] === value));
  }
}

// The ledger's filter needs no figure, so it works before they are drawn.
function filter(wanted) {
  const ledger = document.getElementById("ledger");
  for (const button of ledger.querySelectorAll("[data-state]")) button.setAttribute("aria-pressed", String(button.dataset.state === wanted));
  for (const row of ledger.querySelectorAll("[data-verdict]")) row.hidden = wanted !== "" && row.dataset.verdict !== wanted;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-state]");
  if (button) filter(button.dataset.state);
});

function controls() {
  const chips = document.querySelector(".chips");
  for (const [name, look] of Object.entries(data.looks)) {
    const chip = document.createElement("button");
    chip.type = "button";
    chip.dataset.curve = name;
    const glyph = document.createElement("span");
    glyph.className = "glyph";
    glyph.textContent = look.glyph;
    chip.append(glyph, " " + look.name);
    chips.append(chip);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { curve, measure, zoom, curves } = button.dataset;
    if (curve) state.hidden.has(curve) ? state.hidden.delete(curve) : state.hidden.add(curve);
    if (measure) state.measure = measure;
    if (zoom) state.zoom = zoom;
    if (curves) state.hidden = new Set(curves === "none" ? Object.keys(data.looks) : []);
    draw();
  });
  dark.addEventListener("change", draw);
  narrow.addEventListener("change", draw);
  window.addEventListener("beforeprint", () => scale(true));
  window.addEventListener("afterprint", () => scale(false));
}

// Plotly travels compressed, which makes the page a third of the size.
async function unpack() {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
}

unpack().then(() => { controls(); draw(); document.body.dataset.ready = "yes"; }).catch((error) => {
  const trouble = document.getElementById("trouble");
  trouble.hidden = false;
  trouble.textContent = "The interactive figures could not be drawn (" + error.message + "); the same figures lie beside this page as PDF, PNG and SVG.";
});
