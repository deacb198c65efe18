"use strict";
// Draws the document "gradweave/report@1" that stands in the page.
const data = JSON.parse(document.getElementById("data").textContent);
const advice = data.advice, results = advice.results;

// ---- elements, numbers, texts -------------------------------------------------------------------

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const section = (id) => document.getElementById(id);

const digits = (x) => (x === 0 ? "0" : Math.abs(x) >= 1000 ? Math.round(x).toString() : Math.abs(x - Math.round(x)) < 1e-9 * Math.abs(x) ? `${Math.round(x)}` : x.toPrecision(4));
const rough = (x) => `${Number(x.toPrecision(3))}`;
function seconds(x) {
  if (x === null || x === undefined) return "not known";
  const [unit, factor] = Math.abs(x) >= 1 || x === 0 ? ["s", 1] : Math.abs(x) >= 1e-3 ? ["ms", 1e3] : Math.abs(x) >= 1e-6 ? ["µs", 1e6] : ["ns", 1e9];
  return `${digits(x * factor)} ${unit}`;
}
function bytes(x) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; x >= 1024 && i + 1 < units.length; i++) x /= 1024;
  return `${digits(x)} ${units[i]}`;
}
const count = (x) => Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (x) => `${(100 * x).toFixed(1)}%`;
const margin = (x) => (x < 0.995 ? percent(x) : `a factor of ${Number((1 + x).toPrecision(3))}`);
const factor = (x) => (x === null || x === undefined ? "not known" : `${rough(x)} times`);
const policyOf = (result) => (result.changed || {}).policy || null;
const named = (result) => result.algorithm + (policyOf(result) ? ` (${policyOf(result)})` : "");
const style = (name) => `fill:var(--${name})`;

function table(headings, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${headings.join(", ")}` },
    el("table", {},
      el("thead", {}, el("tr", {}, ...headings.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell, i) =>
        cell instanceof Element && cell.tagName === "TD" ? cell
          : i === 0 ? el("th", { scope: "row" }, cell) : el("td", { "data-heading": headings[i] }, cell)))))));
}
// On narrow screens a figure keeps its size, and is scrolled.
const figure = (svg) => el("figure", {}, el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Figure" }, svg));
const numbers = (headings, rows) => el("details", {}, el("summary", {}, "The numbers"), table(headings, rows));
const legend = (entries) => el("ul", { class: "legend" },
  ...entries.map(([text, colour]) => el("li", {}, el("span", { class: "swatch", style: `background:${colour}` }), text)));

// Round steps that give about so many marks from 0 to the largest value.
function marks(largest, about) {
  const least = largest / about, power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((m) => m * power >= least) * power;
  return Array.from({ length: Math.floor(largest / step + 1e-9) + 1 }, (_, i) => i * step);
}

// ---- what was asked, and the answer -----------------------------------------------------------

const find = (key) => results.find((r) => r.algorithm === advice[key] && policyOf(r) === (advice[`${key}_policy`] || null));
const chosen = find("recommended");
// Breaks between its ends, and not before a unit.
const interval = (r) => ("iteration_low_s" in r ? `${seconds(r.iteration_low_s)} to ${seconds(r.iteration_high_s)}`.replace(/ (?=\D)/g, "\u00a0") : "not known");

function writeHead() {
  const { model, cluster } = data;
  const samples = (model.batch_size || 0) * (advice.rests_on.micro_batches || 1);
  const elements = model.tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
  document.title = `${model.name} on ${cluster.name} - gradweave report`;
  section("title").textContent = `${model.name} on ${cluster.name}`;
  section("asked").textContent = `${model.tensors.length} tensors, ${count(elements)} elements, ` +
    `${bytes(elements * model.bytes_per_element)} of gradients; ${advice.workers} workers, ${cluster.workers_per_node} a node; density ${advice.density}. ` +
    `A worker: ${model.device || "a device that the model does not name"}${advice.rests_on.precision ? ` in ${advice.rests_on.precision}` : ""}` +
    `${samples ? `, ${count(samples)} sample${samples === 1 ? "" : "s"} an iteration` : ""}.` +
    `${cluster.within ? ` Within a node: ${cluster.within}.` : ""}${cluster.reach ? ` Network: ${cluster.reach}.` : ""}`;
}

// Times as many iterations as without compression, in the trainings that say so.
function iterations(r) {
  const factor = r.iterations_factor;
  if ("not_recommended" in r) return `not recommended: ${r.not_recommended}`;
  if (factor === undefined || factor.low === null) return "";
  return (factor.low === factor.high ? `x ${rough(factor.low)}` : `${factor.median === null ? "" : `x ${rough(factor.median)} `}(${rough(factor.low)} to ${rough(factor.high)})`) +
    (factor.never > 0 ? `, never in ${percent(factor.never)}` : "");
}

function card(term, value, note) {
  return el("div", {}, el("dt", {}, term), el("dd", {}, value, note ? el("small", {}, note) : null));
}

// A line of the advice that costs nothing, is soonest with compression, or has the fastest iteration.
function sayTier(words, tier) {
  if (tier === undefined) return "";
  const name = tier.algorithm + (tier.policy ? ` (${tier.policy})` : "");
  const factor = tier.iterations_factor, known = tier.speedup_low === null ? "how far off that may be is not known" : `${rough(tier.speedup_low)} to ${rough(tier.speedup_high)} in 95% of cases`;
  return el("p", {}, el("strong", {}, `${words}: ${name}, ${seconds(tier.iteration_s)}`),
    tier.speedup === 1 ? "" : `: iterations are ${rough(tier.speedup)} times as fast as ${named(find("dense"))}'s (${known})` +
      (words !== "Costs nothing" && tier.speedup >= 1.005 ? `: it pays if training needs fewer than ${rough(tier.speedup)} times as many iterations` : "") +
      (factor === undefined ? "; nobody trained so" : factor.low === null ? "; in trainings none got there"
        : `; trainings needed ${rough(factor.low)}${factor.high > factor.low ? ` to ${rough(factor.high)}` : ""} times as many iterations` +
          (factor.never > 0 ? `, and ${percent(factor.never)} of the runs never got there` : "")), ".");
}

function writeVerdict() {
  const speedup = advice.speedup, recommended = named(chosen), accumulation = advice.accumulation;
  const known = speedup.low !== null ? `${rough(speedup.low)} to ${rough(speedup.high)} in 95% of cases` : "how far off is not known";
  const soonest = advice.soonest_compressed, fastest = advice.fastest_iteration;
  section("verdict").append(
    "warning" in advice ? el("p", { class: "answer" }, `${advice.warning}.`) : "",
    sayTier("Costs nothing", advice.costs_nothing),
    accumulation.samples_per_second_factor >= 1.02 ? el("p", {}, `Gradient accumulation over ${accumulation.micro_batches} micro-batches, in batches four times as large: DistributedDataParallel trains ${rough(accumulation.samples_per_second_factor)} times as many samples a second.`) : "",
    sayTier("Soonest with compression", soonest),
    soonest && fastest && soonest.algorithm === fastest.algorithm ? "" : sayTier("Fastest iteration with compression", fastest),
    advice.recommended === "ddp" ? "" : el("p", { class: "answer" }, `Recommended: ${recommended}.`),
    sayMeasured() || "",
    el("dl", { class: "cards" },
      card("Recommended", recommended, `${data.plan.groups.length} group${data.plan.groups.length === 1 ? "" : "s"}, plan ${data.plan.policy}`),
      card("An iteration", seconds(chosen.iteration_s), interval(chosen)),
      card("With compression, times as fast", rough(speedup.value), known),
      card("Exposed after the backward pass", seconds(chosen.breakdown.exposed_comm_s), `of ${seconds(chosen.comm_s)} of exchanges`),
      card("Both take equally long at", advice.even_bandwidth === null ? "no bandwidth" : `${rough(advice.even_bandwidth)} x`, advice.even_bandwidth === null ? "from a thousandth to a thousand times this one" : "this bandwidth"),
      advice.widest_uncertainty ? card("Measure next", advice.widest_uncertainty, "it narrows the interval most") : null),
    ...writeBuckets());
}

// Those that are faster than the defaults wherever curves may be.
function writeBuckets() {
  const list = advice.bucket_cap_mb_list, cap = advice.bucket_cap_mb, byDefault = seconds(advice.bucket_default_iteration_s);
  const counted = `These times count ${seconds(advice.bucket_besides_s)} for each bucket besides its exchange; the table does not.`;
  const first = `${advice.recommended === "ddp" ? "No compression shortens training by 2% or more throughout the interval. Recommended: " : "Without compression: "}DistributedDataParallel (DDP)`;
  if (list === null && cap === null) {
    return [el("p", {}, `${first}, its buckets left as they are (${byDefault}): no others are 1% faster throughout the interval. ${counted}`)];
  }
  const argument = list !== null ? `bucket_cap_mb_list=[${list.join(", ")}]` : `bucket_cap_mb=${cap}`;
  const takes = list !== null ? advice.bucket_iteration_s : advice.bucket_cap_iteration_s;
  return [el("p", {}, `${first}, with other buckets: ${seconds(takes)}, ${percent(1 - takes / advice.bucket_default_iteration_s)} less than with its default buckets (${byDefault})` +
      `${list !== null && cap !== null ? `; with bucket_cap_mb=${cap} ${seconds(advice.bucket_cap_iteration_s)}` : ""}:`),
    el("pre", { tabindex: "0" }, `DistributedDataParallel(module, ${argument})`), el("p", {}, counted)];
}

// What was measured of just this question, beside what is recommended.
function sayMeasured() {
  const m = data.measurements;
  if (!m) return null;
  const first = named(results[m.first]), predicted = named(results[m.predicted]);
  const came = `Measured: ${first} came first of ${count(m.count)} pipelines (${seconds(m.first_s)})`;
  if (m.first === m.predicted) return el("p", {}, `${came}, which is what predictions recommend.`);
  if (m.predicted_s === null) return el("p", {}, `${came}; ${predicted}, which predictions recommend, was not measured.`);
  const apart = m.predicted_s < 1.02 * m.first_s ? "they are within 2% of each other"
    : m.told_apart ? "predictions put them the other way round: believe the measurement"
    : "predictions cannot tell the two apart";
  return el("p", {}, `${came}, ${predicted}, which predictions recommend, took ${seconds(m.predicted_s)}; ${apart}.`);
}

// ---- the ranking ---------------------------------------------------------------------------------

const phases = [["forward_s", "forward"], ["backward_s", "backward"], ["compress_s", "compress"], ["exposed_comm_s", "exposed"], ["other_s", "update"]];
const phaseNames = { forward: "forward", backward: "backward", compress: "compression", exposed: "exposed communication", exchange: "exchange", update: "update and other", wait: "waiting" };

// Where the iteration's time goes, and the interval as a line below; what is beyond the scale is cut.
function breakdownBar(result, scale_s) {
  const width = 300, x = (s) => Math.min(width, (width * s) / scale_s);
  let at = 0;
  const bars = phases.map(([key, name]) => {
    const start = at;
    at += Math.max(0, result.breakdown[key]);
    return draw("rect", { x: x(start), y: 2, width: Math.max(0, x(at) - x(start)), height: 12, style: style(name) });
  });
  const range = "iteration_low_s" in result
    ? draw("path", { d: `M${x(result.iteration_low_s)} 18H${x(result.iteration_high_s)}`, style: "stroke:var(--text);stroke-width:2" }) : null;
  return el("td", { class: "wide" }, draw("svg", { viewBox: `0 0 ${width} 22`, "aria-hidden": "true", preserveAspectRatio: "none" }, ...bars, range));
}

// Those that may be recommended, the soonest first; then the others by their iterations.
function ranked() {
  const expected = (r) => advice.recommendations.find((one) => one.algorithm === r.algorithm && (one.policy || null) === policyOf(r)).expected_s;
  return [...results].sort((a, b) => ("not_recommended" in a) - ("not_recommended" in b) ||
    ("not_recommended" in a ? a.iteration_s - b.iteration_s : expected(a) - expected(b)));
}

function writeRanking() {
  const scale_s = 2.5 * results[0].iteration_s, priced = "cost" in results[0];
  section("ranking").append(
    data.why ? el("p", {}, data.why.replace(", marked with ?", "")) : "",
    el("p", {}, "First those that may be recommended, the soonest first: an iteration's time times the median of iterations and, for the share of trainings that never got there, a training by ddp. Bars are cut at two and a half times the fastest; the line below one is where the iteration is in 95% of cases. " +
      "Energy kept: what one worker sends of a bell-shaped gradient's sum of squares in an iteration. " +
      `Iterations: times as many as without compression, in trainings of five small networks at density ${advice.iterations_density}.`),
    legend([...phases.map(([, name]) => [phaseNames[name], `var(--${name})`])]),
    table(["pipeline", "iteration", "where its time goes", "95% interval", "compression", "exposed", "groups", "sent", "energy kept", "iterations", ...(priced ? ["a million cost"] : [])],
      ranked().map((r) => [(r === chosen ? "* " : "") + named(r), seconds(r.iteration_s), breakdownBar(r, scale_s), interval(r),
        seconds(r.breakdown.compress_s), seconds(r.breakdown.exposed_comm_s), count(r.groups), bytes(r.bytes_per_worker), r.energy_kept === null ? "unknown" : percent(r.energy_kept), iterations(r), ...(priced ? [count(r.cost)] : [])])),
    el("p", { class: "faint" }, "* recommended"));
}

// ---- timelines ------------------------------------------------------------------------------------

const rows = { compute: 0, communication: 1 };

function describeSpan(span) {
  const parts = [phaseNames[span.activity] || span.activity];
  if (span.label) parts.push(span.label);
  if (span.group !== undefined) parts.push(`group ${span.group}`);
  if (span.elements) parts.push(`${count(span.elements)} elements`);
  if (span.bytes) parts.push(bytes(span.bytes));
  return `${parts.join(", ")}: ${seconds(span.start_s)} to ${seconds(span.end_s)} (${seconds(span.end_s - span.start_s)})`;
}

function timeline(entry, end_s) {
  const result = results[entry.place], left = 100, full = 960, height = 92;
  let zoom = 1, current = -1;
  const said = el("p", { class: "said", "aria-live": "polite" }, "");
  const svg = draw("svg", { height, role: "img", "aria-label": `Timeline of ${named(result)}: ${seconds(result.iteration_s)} an iteration` });
  const box = el("div", { class: "timeline", tabindex: "0", role: "group",
    "aria-label": `Timeline of ${named(result)}. Left and right arrows go from one operation to the next, plus and minus zoom, 0 shows all.` }, svg);
  const shapes = [];

  function redraw() {
    const width = left + (full - left) * zoom, x = (s) => left + ((width - left - 10) * s) / end_s;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    for (const at of marks(end_s, 8 * zoom)) {
      svg.append(draw("path", { class: "axis", d: `M${x(at)} 4V68` }), draw("text", { class: "faint-text", x: x(at), y: 84, "text-anchor": "middle" }, seconds(Number(at.toPrecision(6)))));
    }
    for (const [name, row] of Object.entries(rows)) svg.append(draw("text", { x: 2, y: 24 + 32 * row }, name === "compute" ? "compute" : "network"));
    entry.spans.forEach((span, i) => {
      shapes[i] = draw("rect", { x: x(span.start_s), y: 8 + 32 * rows[span.stream], width: Math.max(0.5, x(span.end_s) - x(span.start_s)), height: 24,
        style: style(span.activity), "data-span": i, class: i === current ? "current" : null });
      svg.append(shapes[i]);
    });
    svg.append(draw("path", { d: `M${x(result.iteration_s)} 2V72`, style: "stroke:var(--text);stroke-width:1.5" }));
  }
  function choose(i) {
    if (current >= 0) shapes[current].removeAttribute("class");
    current = Math.max(0, Math.min(entry.spans.length - 1, i));
    shapes[current].setAttribute("class", "current");
    said.textContent = describeSpan(entry.spans[current]);
  }
  function scale(by) {
    zoom = by === 0 ? 1 : Math.max(1, Math.min(64, zoom * by));
    redraw();
    if (current >= 0 && zoom > 1) box.scrollLeft = Number(shapes[current].getAttribute("x")) - full / 2;
  }
  const keys = { ArrowRight: () => choose(current + 1), ArrowLeft: () => choose(current - 1), Home: () => choose(0), End: () => choose(entry.spans.length - 1),
    "+": () => scale(2), "=": () => scale(2), "-": () => scale(0.5), 0: () => scale(0) };
  box.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) { keys[event.key](); event.preventDefault(); }
  });
  svg.addEventListener("pointermove", (event) => {
    if (event.target.dataset && event.target.dataset.span !== undefined) choose(Number(event.target.dataset.span));
  });
  box.addEventListener("wheel", (event) => {
    if (event.ctrlKey) { scale(event.deltaY < 0 ? 1.5 : 1 / 1.5); event.preventDefault(); }
  }, { passive: false });
  redraw();
  return el("figure", {},
    el("h3", {}, `${named(result)}, ${seconds(result.iteration_s)}`), box, said,
    el("div", {}, ...[["Zoom in", 2], ["Zoom out", 0.5], ["Whole", 0]].map(([text, by]) => {
      const button = el("button", { type: "button" }, text, el("span", { class: "skip" }, ` of ${named(result)}`));
      button.addEventListener("click", () => scale(by));
      return button;
    })));
}

function writeTimelines() {
  const end_s = Math.max(...data.timelines.map((entry) => results[entry.place].iteration_s));
  section("timelines").append(
    el("p", {}, "One worker stands for all, which are alike here. All timelines have one scale; the line at the end is where the iteration ends. " +
      "Point at an operation, or go along them with the arrow keys, to see what it is."),
    legend(["forward", "backward", "compress", "exchange", "wait", "update"].map((name) => [phaseNames[name], `var(--${name})`])),
    ...data.timelines.map((entry) => timeline(entry, end_s)));
}

// ---- the plan ---------------------------------------------------------------------------------

function writePlan() {
  const { tensors } = data.model, width = 960, height = 170, bottom = 140;
  const most = Math.log10(Math.max(...tensors.map((t) => t.elements)) + 1);
  const x = (i) => 44 + ((width - 54) * i) / tensors.length;
  const bars = [];
  data.plan.groups.forEach((group, g) => {
    for (let i = group.first; i >= group.last; i--) {
      const tall = (Math.log10(tensors[i].elements + 1) / most) * (bottom - 10), at = tensors.length - 1 - i;
      bars.push(draw("rect", { x: x(at), y: bottom - tall, width: Math.max(0.4, x(at + 1) - x(at) - 0.4), height: tall, style: style(g % 2 ? "compress" : "backward") },
        draw("title", {}, `${tensors[i].name}: ${count(tensors[i].elements)} elements, group ${g}`)));
    }
  });
  const axis = [0, 2, 4, 6, 8].filter((p) => p <= most).map((p) => draw("text", { class: "faint-text", x: 2, y: bottom - (p / most) * (bottom - 10) + 4 }, p === 0 ? "1" : `10^${p}`));
  section("plan").append(
    el("p", {}, `The plan of ${named(chosen)}: neighbours of one colour travel together. Tensors stand in the order in which their gradients are ready; bars are elements, on a logarithmic scale.`),
    figure(draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${data.plan.groups.length} groups of ${tensors.length} tensors` },
      ...axis, ...bars, draw("text", { class: "faint-text", x: 44, y: height - 8 }, "the last layer, ready first"),
      draw("text", { class: "faint-text", x: width - 10, y: height - 8, "text-anchor": "end" }, "the first layer"))),
    numbers(["group", "tensors", "from", "to", "elements", "exchanged at"], data.plan.groups.map((group, g) =>
      [`${g}`, count(group.first - group.last + 1), tensors[group.first].name, tensors[group.last].name, count(group.elements), seconds(group.exchange_end_s)])));
}

// ---- scaling -------------------------------------------------------------------------------------

const lines = ["#3f6f9f", "#d98a1f", "#4f9d77"];
const dashes = [null, "7 4", "2 3"];
const shown = data.timelines.map((entry) => results[entry.place]);

function writeScaling() {
  const alone_s = data.model.forward_s + data.model.backward_s + data.model.update_s;
  const points = data.scaling, width = 960, height = 260, bottom = 220, left = 50;
  const low = Math.log2(points[0].workers), high = Math.log2(points[points.length - 1].workers);
  const x = (workers) => left + ((width - left - 20) * (Math.log2(workers) - low)) / Math.max(1e-9, high - low);
  const y = (share) => bottom - share * (bottom - 15);
  const parts = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [draw("path", { class: "axis", d: `M${left} ${y(share)}H${width - 20}` }),
    draw("text", { class: "faint-text", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share}%`)]);
  points.forEach((point) => parts.push(draw("text", { class: "faint-text", x: x(point.workers), y: bottom + 18, "text-anchor": "middle" }, count(point.workers))));
  parts.push(draw("text", { class: "faint-text", x: width / 2, y: height - 4, "text-anchor": "middle" }, "workers"));
  parts.push(draw("path", { d: `M${x(advice.workers)} 10V${bottom}`, style: "stroke:var(--faint);stroke-dasharray:3 3" }));
  shown.forEach((result, i) => {
    const known = points.filter((point) => point.iteration_s[i] !== null);
    const path = known.map((point, k) => `${k ? "L" : "M"}${x(point.workers)} ${y(Math.min(1, alone_s / point.iteration_s[i]))}`).join("");
    parts.push(draw("path", { d: path, style: `fill:none;stroke:${lines[i]};stroke-width:2.5`, "stroke-dasharray": dashes[i] }));
  });
  section("scaling").append(
    el("p", {}, "Efficiency: what one worker alone would take, over an iteration of all. The dotted line is at the number that was asked about; numbers that were not measured are derived."),
    legend(shown.map((result, i) => [named(result), lines[i]])),
    figure(draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Efficiency over numbers of workers; the numbers stand below" }, ...parts)),
    numbers(["workers", ...shown.map(named)], points.map((point) => [count(point.workers), ...point.iteration_s.map(seconds)])));
}

// ---- bandwidth and density ----------------------------------------------------------------------

const colours = ["#9cc3e0", "#e8a33d", "#7fc29a", "#e39a9a", "#bcaad8", "#8fd0d4", "#c9ab8e", "#c4c4c4"];

function writeMap() {
  const { bandwidths, densities, fastest, speedups } = data.map;
  const places = [...new Set(fastest.flat().filter((place) => place !== null))];
  const letter = (place) => String.fromCharCode(65 + places.indexOf(place));
  const width = 960, left = 70, rowHeight = 34, top = 6, cell = (width - left - 6) / bandwidths.length, below = top + rowHeight * densities.length;
  const parts = [];
  densities.forEach((density, d) => {
    const y = top + rowHeight * (densities.length - 1 - d);
    parts.push(draw("text", { class: "faint-text", x: left - 8, y: y + 21, "text-anchor": "end" }, rough(density)));
    bandwidths.forEach((bandwidth, b) => {
      const place = fastest[d][b];
      if (place === null) return;
      parts.push(draw("g", {}, draw("title", {}, `${factor(bandwidth)} the bandwidth, density ${Number(density.toPrecision(2))}: ${named(results[place])}, ${factor(speedups[d][b])} as fast as without compression`),
        draw("rect", { x: left + cell * b, y, width: cell - 2, height: rowHeight - 2, style: `fill:${colours[places.indexOf(place) % colours.length]}` }),
        draw("text", { class: "on-colour", x: left + cell * (b + 0.5) - 1, y: y + 21, "text-anchor": "middle" }, `${letter(place)} ${speedups[d][b] === null ? "" : speedups[d][b].toPrecision(2)}`)));
    });
  });
  bandwidths.forEach((bandwidth, b) => parts.push(draw("text", { class: "faint-text", x: left + cell * (b + 0.5), y: below + 18, "text-anchor": "middle" }, `${Number(bandwidth.toPrecision(2))}x`)));
  parts.push(draw("text", { class: "faint-text", x: left + (width - left) / 2, y: below + 38, "text-anchor": "middle" }, "bandwidth, times the cluster's"),
    draw("text", { class: "faint-text", x: 2, y: 14 }, "density"));
  section("map").append(
    el("p", {}, "Of those that may be recommended: a letter for the fastest, and how many times as fast it is as the fastest without compression."),
    legend(places.map((place) => [`${letter(place)}: ${named(results[place])}`, colours[places.indexOf(place) % colours.length]])),
    figure(draw("svg", { viewBox: `0 0 ${width} ${below + 46}`, role: "img", "aria-label": "The fastest pipeline over bandwidths and densities; the numbers stand below" }, ...parts)),
    numbers(["density", ...bandwidths.map((b) => `${Number(b.toPrecision(2))}x`)], densities.map((density, d) =>
      [rough(density), ...fastest[d].map((place) => (place === null ? "" : named(results[place])))])));
}

// ---- what if, what it rests on ------------------------------------------------------------------

function writeChanges() {
  section("changes").append(
    el("p", {}, "An iteration of each, where one thing is so many times what it is and all else stays."),
    table(["what", ...shown.map(named), ...(shown.length > 1 ? ["fastest of these"] : [])],
      [["as it is", ...shown.map((r) => seconds(r.iteration_s)), ...(shown.length > 1 ? [fastestOf(shown.map((r) => r.iteration_s))] : [])],
        ...data.changes.map((change) => [`${change.name} x ${change.factor}`, ...change.iteration_s.map(seconds), ...(shown.length > 1 ? [fastestOf(change.iteration_s)] : [])])]));
}
function fastestOf(times) {
  const known = times.map((time) => (time === null ? Infinity : time));
  return named(shown[known.indexOf(Math.min(...known))]);
}

const origins = { measured: "measured", imported: "imported from other programs", published: "published figures", assumed: "assumed from published figures", given: "given by the user" };

function writeBasis() {
  const { model, cluster } = data, rests = advice.rests_on;
  const uncertainties = Object.entries(chosen.uncertainty || {});
  section("basis").append(
    el("ul", {},
      el("li", {}, `Times of the model: ${origins[rests.model] || rests.model}${model.device ? `, on ${model.device}` : ""}. Forward ${seconds(model.forward_s)}, backward ${seconds(model.backward_s)}, update ${seconds(model.update_s)}.`),
      el("li", {}, `Costs of collectives: ${origins[rests.cluster] || rests.cluster}${rests.assumed_collectives ? `; ${rests.assumed_collectives}` : ""}.`),
      el("li", {}, `Costs of compressors: ${origins[rests.compressors] || rests.compressors}${cluster.assumed_compressors ? ` (${cluster.assumed_compressors})` : ""}.`),
      cluster.note ? el("li", {}, cluster.note) : null),
    uncertainties.length ? el("p", {}, `How far off what ${named(chosen)} hangs on may be, in 95% of cases:`) : null,
    uncertainties.length ? table(["what", "by up to"], uncertainties.map(([name, share]) => [name, share === null ? "not known" : margin(share)])) : null,
    ...(chosen.notes || []).map((note) => el("p", { class: "faint" }, `Note: ${note}.`)));
}

// ---- validation, accuracy, commands -------------------------------------------------------------

function writeValidation() {
  const { validation } = data;
  if (!validation) return;
  const pairs = validation.results, width = 960, barHeight = 16, rowHeight = 46, left = 150;
  const most = Math.max(...pairs.flatMap((pair) => [pair.predicted.iteration_s, pair.measured.iteration_s]));
  const x = (s) => ((width - left - 90) * s) / most;
  const parts = pairs.flatMap((pair, i) => [
    draw("text", { x: left - 8, y: rowHeight * i + 26, "text-anchor": "end" }, pair.algorithm),
    ...["predicted", "measured"].flatMap((side, k) => [
      draw("rect", { x: left, y: rowHeight * i + 4 + 18 * k, width: x(pair[side].iteration_s), height: barHeight, style: style(k ? "backward" : "forward") }),
      draw("text", { class: "faint-text", x: left + x(pair[side].iteration_s) + 6, y: rowHeight * i + 17 + 18 * k }, seconds(pair[side].iteration_s))])]);
  section("validation").hidden = false;
  section("validation").append(
    el("p", {}, `Iterations of ${validation.model || data.model.name} among ${validation.workers} workers, as predicted and as they were measured.`),
    legend([["predicted", "var(--forward)"], ["measured", "var(--backward)"]]),
    figure(draw("svg", { viewBox: `0 0 ${width} ${rowHeight * pairs.length + 4}`, role: "img", "aria-label": "Predicted and measured iterations; the numbers stand below" }, ...parts)),
    table(["pipeline", "predicted", "measured", "error"], pairs.map((pair) =>
      [pair.algorithm, seconds(pair.predicted.iteration_s), seconds(pair.measured.iteration_s),
        percent((pair.predicted.iteration_s - pair.measured.iteration_s) / pair.measured.iteration_s)])));
}

function writeAccuracy() {
  const { accuracy } = data;
  if (!accuracy) return;
  section("accuracy").hidden = false;
  section("accuracy").append(
    el("p", {}, `Iterations in which trainings of ${accuracy.model} came to an accuracy of ${percent(accuracy.goal)}.`),
    table(["pipeline", "density", "workers", "reached it", "median", "range"], accuracy.trainings.map((t) =>
      [t.algorithm, `${t.density}`, count(t.workers), `${t.reached} of ${t.count}`, t.iterations === null ? "never" : count(t.iterations),
        t.low === null ? "" : `${count(t.low)} to ${t.high === null ? "never" : count(t.high)}`])));
}

function writeCommands() {
  section("commands").append(el("pre", { tabindex: "0", "aria-label": "Commands" }, data.commands.join("\n")),
    el("p", { class: "faint" }, "The page's data, as gradweave report --json prints them, are in its source: the element \"data\"."));
}

for (const write of [writeHead, writeVerdict, writeRanking, writeTimelines, writePlan, writeScaling, writeMap, writeChanges, writeBasis, writeValidation, writeAccuracy, writeCommands]) write();
