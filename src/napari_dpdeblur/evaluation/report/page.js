const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const canvas = byId("canvas");
const context = canvas.getContext("2d");

const KIND_NAMES = {
  "image": ["Images", "i"],
  "image error": ["Image errors", "e"],
  "defocus": ["Defocus maps", "d"],
  "defocus error": ["Defocus errors", "x"],
  "residual": ["Residuals", "r"],
  "layers": ["Layers", "y"],
};
const MODES = { flip: ["Flip", "f"], slide: ["Slide", "s"], side: ["Side by side", "b"], all: ["All", "g"] };
const INFERNO = "#000004,#420a68,#932667,#dd513a,#fca50a,#fcffa4";
const MAX_ZOOM = 32;
const SMOOTH_BELOW = 2;
const GAP = 4;

const state = {
  scene: 0, kind: data.kinds[0], mode: "slide", a: "", b: "", split: 0.5,
  ...FRONT_LEFT, // of the exploded layers
  zoom: 0, x: 0.5, y: 0.5, // zoom 0: fit; x, y: the point of the picture in the middle, 0 to 1
};

// ---- what there is

const scene = () => data.scenes[state.scene];
const layersOfKind = () => scene().layers.filter((layer) => state.kind in layer.pictures);
const layerNamed = (name) => scene().layers.find((layer) => layer.name === name);
const shows = (name) => layersOfKind().some((layer) => layer.name === name);

const cache = new Map();
function picture(layer) { return pictureOf(layer.pictures[state.kind]); }
function pictureOf(uri) {
  if (!cache.has(uri)) {
    const image = new Image();
    image.addEventListener("load", requestDraw);
    image.src = uri;
    cache.set(uri, image);
  }
  return cache.get(uri);
}

function chooseVisible() {
  const names = layersOfKind().map((layer) => layer.name);
  if (!names.includes(state.a)) state.a = names[0] ?? "";
  if (!names.includes(state.b)) state.b = names.find((name) => name !== state.a) ?? state.a;
}

// ---- drawing

let drawQueued = false;
function requestDraw() {
  if (drawQueued) return;
  drawQueued = true;
  requestAnimationFrame(() => { drawQueued = false; draw(); });
}

function panes() {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (state.mode === "all") return gridOf(layersOfKind().map((layer) => layer.name), width, height);
  if (state.mode === "side") return gridOf([state.a, state.b], width, height, 2);
  return [{ name: state.a, left: 0, top: 0, width, height }];
}

function gridOf(names, width, height, wanted) {
  const [rows, cols] = scene().size;
  const fits = (count) => Math.min(width / count / cols, height / Math.ceil(names.length / count) / rows);
  const counts = names.map((_, index) => index + 1);
  const count = wanted ?? counts.reduce((best, next) => (fits(next) > fits(best) ? next : best), 1);
  const lines = Math.ceil(names.length / count);
  const paneWidth = (width - GAP * (count - 1)) / count;
  const paneHeight = (height - GAP * (lines - 1)) / lines;
  return names.map((name, index) => ({
    name,
    left: (index % count) * (paneWidth + GAP),
    top: Math.floor(index / count) * (paneHeight + GAP),
    width: paneWidth,
    height: paneHeight,
  }));
}

function fitZoom(pane) {
  const [rows, cols] = scene().size;
  return Math.min(pane.width / cols, pane.height / rows);
}
// Layers are turned by dragging, so there is no line to drag.
const slides = () => state.mode === "slide" && state.kind !== "layers";
const zoomIn = (pane) => state.zoom || fitZoom(pane);

function place(pane) {
  const [rows, cols] = scene().size;
  const zoom = zoomIn(pane);
  return {
    left: pane.left + pane.width / 2 - state.x * cols * zoom,
    top: pane.top + pane.height / 2 - state.y * rows * zoom,
    width: cols * zoom,
    height: rows * zoom,
  };
}

function draw() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const all = scene() ? panes() : [];
  for (const pane of all) drawPane(pane);
  if (slides() && all.length) drawSlide(all[0]);
  byId("notice").textContent = all.some((pane) => pane.name) ? "" : "This scene has no image of this kind.";
  byId("status").textContent = statusText(all[0]);
}

function drawPane(pane, name = pane.name, clipLeft = pane.left) {
  const layer = layerNamed(name);
  if (!layer || !shows(name)) return;
  if (state.kind === "layers") {
    drawStack(context, pane, layer.pictures.layers, state, scene().size, pictureOf);
    label(layer.label, pane.left, pane.top, false, name);
    return;
  }
  const image = picture(layer);
  context.save();
  context.beginPath();
  context.rect(clipLeft, pane.top, pane.left + pane.width - clipLeft, pane.height);
  context.clip();
  if (clipLeft > pane.left) {
    context.fillStyle = "#0c0d0f";
    context.fillRect(clipLeft, pane.top, pane.width, pane.height);
  }
  if (image.complete && image.naturalWidth) {
    context.imageSmoothingEnabled = zoomIn(pane) < SMOOTH_BELOW;
    context.imageSmoothingQuality = "high";
    const at = place(pane);
    context.drawImage(image, at.left, at.top, at.width, at.height);
  }
  context.restore();
  const onRight = clipLeft > pane.left;
  const edge = Math.max(pane.left, place(pane).left);
  label(`${layer.label}${numbersOf(name)}`, onRight ? 2 * pane.left + pane.width - edge : edge, pane.top, onRight, name);
}

function numbersOf(name) {
  const row = data.rows.find((entry) => entry.scene === scene().name && entry.method === name);
  const isMap = state.kind.startsWith("defocus");
  const value = row?.cells[isMap ? "aiwe1" : "psnr_db"];
  return value ? (isMap ? `   AIWE(1) ${value}` : `   ${value} dB`) : "";
}

function label(text, x, y, alignRight, name) {
  context.font = "13px system-ui, sans-serif";
  const width = context.measureText(text).width + 14;
  const left = alignRight ? x - width - 8 : x + 8;
  context.fillStyle = "rgba(12, 13, 15, .78)";
  context.fillRect(left, y + 8, width, 22);
  const colors = { [state.b]: "#ffc46b", [state.a]: "#7db8ff" };
  context.fillStyle = (state.mode === "all" ? "" : alignRight ? "#ffc46b" : colors[name]) || "#e8e9ec";
  context.fillText(text, left + 7, y + 23);
}

function drawSlide(pane) {
  const x = pane.left + state.split * pane.width;
  drawPane(pane, state.b, x);
  context.fillStyle = "#fff";
  context.fillRect(x - 1, pane.top, 2, pane.height);
  context.beginPath();
  context.arc(x, pane.top + pane.height / 2, 9, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = "#17181b";
  context.font = "12px system-ui, sans-serif";
  context.fillText("↔", x - 6, pane.top + pane.height / 2 + 4);
}

let pointerAt = null;
function statusText(pane) {
  if (!pane) return "";
  const parts = [`zoom ${Math.round(zoomIn(pane) * 100)} %`];
  if (pointerAt) {
    const under = panes().find((p) => inside(p, pointerAt));
    const at = under && place(under);
    const [rows, cols] = scene().size;
    const col = at && Math.floor((pointerAt.x - at.left) / at.width * cols);
    const row = at && Math.floor((pointerAt.y - at.top) / at.height * rows);
    if (at && row >= 0 && col >= 0 && row < rows && col < cols) parts.push(`row ${row}, column ${col}`);
  }
  return parts.join("   ");
}

// ---- controls

function button(text, key, pressed, action, title) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.title = title ?? (key ? `${text} (${key})` : text);
  made.setAttribute("aria-pressed", String(pressed));
  made.addEventListener("click", action);
  return made;
}

function fill(id, buttons) { byId(id).replaceChildren(...buttons); }

function update(changes) {
  Object.assign(state, changes);
  chooseVisible();
  refreshControls();
  refreshTables();
  requestDraw();
  history.replaceState(null, "", `#${new URLSearchParams({
    scene: scene()?.name ?? "", kind: state.kind, mode: state.mode, a: state.a, b: state.b,
  })}`);
}

function refreshControls() {
  const focused = document.activeElement?.dataset?.key;
  fill("scenes", data.scenes.map((entry, index) =>
    keyed(button(entry.name, "", index === state.scene, () => update({ scene: index }), `Scene ${entry.name}`), `scene ${entry.name}`)));
  fill("kinds", data.kinds.map((kind) => {
    const made = button(KIND_NAMES[kind][0], KIND_NAMES[kind][1], kind === state.kind, () => update({ kind }));
    made.disabled = !scene()?.layers.some((layer) => kind in layer.pictures);
    return keyed(made, `kind ${kind}`);
  }));
  fill("modes", Object.entries(MODES).map(([mode, [text, key]]) =>
    keyed(button(text, key, mode === state.mode, () => update({ mode })), `mode ${mode}`)));
  for (const side of ["a", "b"]) {
    fill(`choice-${side}`, (scene() ? layersOfKind() : []).map((layer, index) =>
      keyed(button(layer.label, `${side === "b" ? "Shift+" : ""}${index + 1}`, layer.name === state[side],
        () => update({ [side]: layer.name })), `${side} ${layer.name}`)));
  }
  for (const id of ["row-a", "row-b"]) byId(id).style.display = state.mode === "all" ? "none" : "";
  if (focused) document.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  refreshScale();
}

function keyed(element, key) { element.dataset.key = key; return element; }

function refreshScale() {
  const isError = state.kind in data.errorRanges;
  byId("scale").hidden = ["image", "layers"].includes(state.kind) || !scene();
  if (byId("scale").hidden) return;
  const [low, high] = isError ? [0, data.errorRanges[state.kind]] : scene().range;
  const isSigned = !isError && scene().isSigned;
  const [first, last] = isSigned ? ["in front", "behind"] : ["sharp", "blurred"];
  byId("scale-low").textContent = isError ? "0" : `${first} ${low.toFixed(2)}`;
  const unit = state.kind === "residual" ? " × noise" : "";
  byId("scale-high").textContent = isError ? `≥ ${high.toFixed(2)}${unit}` : `${high.toFixed(2)} ${last}`;
  byId("scale-bar").textContent = isSigned ? "focus" : "";
  byId("scale-bar").style.background = `linear-gradient(90deg, ${isError ? INFERNO : scene().colors})`;
}

function refreshTables() {
  const name = scene()?.name ?? "";
  byId("scene-heading").textContent = name ? `Scene ${name}` : "No scene can be shown";
  byId("scene-table").replaceChildren(...table(data.rows.filter((row) => row.scene === name)));
  byId("mean-table").replaceChildren(...table(data.rows.filter((row) => row.scene === "mean")));
}

function table(rows) {
  const head = document.createElement("thead");
  const headings = ["Method", ...data.metrics.map((m) => `${m.heading} ${m.larger ? "↑" : "↓"}`), "time s"];
  head.append(lineOf(headings.map((text) => cell("th", text))));
  const body = document.createElement("tbody");
  for (const row of rows) body.append(tableRow(row));
  return [head, body];
}

function tableRow(row) {
  const names = [...data.metrics.map((metric) => metric.name), "time_s"];
  const first = cell("th", row.label);
  first.scope = "row";
  const mark = row.source === "published" ? "published" : row.scene === "mean" ? `${row.scenes} scenes` : "";
  if (mark) first.append(Object.assign(document.createElement("span"), { className: "badge", textContent: mark }));
  const cells = names.map((name) => {
    const made = cell("td", row.cells[name] || "–");
    made.dataset.metric = name;
    made.classList.toggle("best", row.best.includes(name));
    return made;
  });
  if (row.status !== "ok") cells.push(Object.assign(cell("td", `${row.status}: ${row.reason}`), { className: "reason" }));
  const line = lineOf([first, ...cells]);
  if (row.source === "measured" && layerNamed(row.method)) selectable(line, row.method);
  line.dataset.label = row.label;
  line.dataset.source = row.source;
  return line;
}

function selectable(line, method) {
  line.dataset.method = method;
  line.classList.toggle("is-a", method === state.a);
  line.classList.toggle("is-b", method === state.b && state.mode !== "all");
  line.title = "Show as A; with Shift as B";
  line.addEventListener("click", (event) => {
    if (shows(method)) update({ [event.shiftKey ? "b" : "a"]: method });
  });
}

const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
function lineOf(cells) { const line = document.createElement("tr"); line.append(...cells); return line; }

// ---- moving

const inside = (pane, at) =>
  at.x >= pane.left && at.x < pane.left + pane.width && at.y >= pane.top && at.y < pane.top + pane.height;
const paneAt = (at) => panes().find((pane) => inside(pane, at)) ?? panes()[0];
const limited = (value, low, high) => Math.min(Math.max(value, low), high);

function zoomBy(factor, at) {
  if (state.kind === "layers") { spreadBy(factor); return; }
  const pane = paneAt(at ?? { x: canvas.clientWidth / 2, y: canvas.clientHeight / 2 });
  const point = at ?? { x: pane.left + pane.width / 2, y: pane.top + pane.height / 2 };
  const before = place(pane);
  const u = (point.x - before.left) / before.width;
  const v = (point.y - before.top) / before.height;
  const fit = fitZoom(pane);
  const zoom = limited(zoomIn(pane) * factor, fit, MAX_ZOOM);
  if (zoom <= fit * 1.001) { Object.assign(state, { zoom: 0, x: 0.5, y: 0.5 }); requestDraw(); return; }
  const [rows, cols] = scene().size;
  state.zoom = zoom;
  state.x = limited(u - (point.x - pane.left - pane.width / 2) / (cols * zoom), 0, 1);
  state.y = limited(v - (point.y - pane.top - pane.height / 2) / (rows * zoom), 0, 1);
  requestDraw();
}

function spreadBy(factor) {
  state.spread = limited(state.spread * factor, 0.1, 4);
  requestDraw();
}

function moveBy(dx, dy) {
  if (state.kind === "layers") { turnBy(dx, dy); return; }
  const pane = panes()[0];
  const [rows, cols] = scene().size;
  if (!state.zoom) return;
  state.x = limited(state.x - dx / (cols * zoomIn(pane)), 0, 1);
  state.y = limited(state.y - dy / (rows * zoomIn(pane)), 0, 1);
  requestDraw();
}

function turnBy(dx, dy) {
  state.yaw = limited(state.yaw + dx / 300, -1.3, 1.3);
  state.pitch = limited(state.pitch - dy / 300, -0.9, 0.9);
  requestDraw();
}

function zoomTo(zoom) {
  if (state.kind === "layers") { Object.assign(state, FRONT_LEFT); requestDraw(); return; }
  const pane = panes()[0];
  if (zoom) zoomBy(zoom / zoomIn(pane)); else { Object.assign(state, { zoom: 0, x: 0.5, y: 0.5 }); requestDraw(); }
}

const position = (event) => {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};
const onLine = (at) => slides() && Math.abs(at.x - state.split * canvas.clientWidth) < 10;

const fingers = new Map();
let dragging = "";
canvas.addEventListener("pointerdown", (event) => {
  const at = position(event);
  fingers.set(event.pointerId, at);
  // With nothing to move, dragging anywhere moves the line.
  dragging = slides() && (onLine(at) || !state.zoom) ? "line" : "picture";
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add(dragging === "line" ? "sliding" : "moving");
  if (dragging === "line") slideTo(at);
});
canvas.addEventListener("pointermove", (event) => {
  const at = position(event);
  pointerAt = at;
  const before = fingers.get(event.pointerId);
  if (!before) {
    canvas.classList.toggle("sliding", onLine(at));
    byId("status").textContent = statusText(panes()[0]);
    return;
  }
  if (fingers.size === 2) pinch(event.pointerId, before, at);
  else if (dragging === "line") slideTo(at);
  else if (state.kind === "layers") turnBy(at.x - before.x, at.y - before.y);
  else moveBy(at.x - before.x, at.y - before.y);
  fingers.set(event.pointerId, at);
});
for (const kind of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(kind, (event) => {
    fingers.delete(event.pointerId);
    canvas.classList.remove("moving", "sliding");
  });
}
canvas.addEventListener("pointerleave", () => { pointerAt = null; requestDraw(); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoomBy(Math.exp(-event.deltaY / 400), position(event));
}, { passive: false });
canvas.addEventListener("dblclick", () => zoomTo(0));

function slideTo(at) { state.split = limited(at.x / canvas.clientWidth, 0, 1); requestDraw(); }
function pinch(id, before, at) {
  const other = [...fingers].find(([key]) => key !== id)[1];
  const distance = (p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
  zoomBy(distance(at) / distance(before), { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 });
}

// ---- keyboard

function step(list, current, by) {
  return list.length ? list[(list.indexOf(current) + by + list.length) % list.length] : current;
}
function chooseLayer(index, shift) {
  const layer = layersOfKind()[index];
  if (layer) update({ [shift ? "b" : "a"]: layer.name });
}
function stepLayer(by, shift) {
  const side = shift ? "b" : "a";
  update({ [side]: step(layersOfKind().map((layer) => layer.name), state[side], by) });
}
function stepScene(by) {
  update({ scene: (state.scene + by + data.scenes.length) % data.scenes.length });
}

const KEYS = {
  ArrowLeft: (event) => stepLayer(-1, event.shiftKey),
  ArrowRight: (event) => stepLayer(1, event.shiftKey),
  ArrowUp: () => stepScene(-1),
  ArrowDown: () => stepScene(1),
  " ": () => update({ a: state.b, b: state.a }),
  "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5),
  0: () => zoomTo(0), z: () => zoomTo(1),
  h: () => moveBy(60, 0), l: () => moveBy(-60, 0), k: () => moveBy(0, 60), j: () => moveBy(0, -60),
  "?": () => byId("help").showModal(),
};
for (const [kind, [, key]] of Object.entries(KIND_NAMES)) {
  KEYS[key] = () => { if (scene().layers.some((layer) => kind in layer.pictures)) update({ kind }); };
}
for (const [mode, [, key]] of Object.entries(MODES)) KEYS[key] = () => update({ mode });

document.addEventListener("keydown", (event) => {
  if (byId("help").open || event.ctrlKey || event.metaKey || event.altKey || !scene()) return;
  const digit = /^Digit([1-9])$/.exec(event.code);
  if (event.key === " " && event.target.tagName === "BUTTON") event.target.blur();
  if (digit) chooseLayer(Number(digit[1]) - 1, event.shiftKey);
  else if (event.key in KEYS) KEYS[event.key](event);
  else return;
  event.preventDefault();
});
byId("zoom-in").addEventListener("click", () => zoomBy(1.5));
byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
byId("zoom-one").addEventListener("click", () => zoomTo(1));
byId("zoom-fit").addEventListener("click", () => zoomTo(0));
byId("help-button").addEventListener("click", () => byId("help").showModal());
window.addEventListener("resize", requestDraw);

// ---- start: what the address names, else the input beside the last method

function start() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const index = data.scenes.findIndex((entry) => entry.name === asked.get("scene"));
  const names = (data.scenes[Math.max(index, 0)]?.layers ?? [])
    .filter((layer) => data.kinds[0] in layer.pictures).map((layer) => layer.name);
  update({
    scene: Math.max(index, 0),
    kind: data.kinds.includes(asked.get("kind")) ? asked.get("kind") : data.kinds[0],
    mode: asked.get("mode") in MODES ? asked.get("mode") : "slide",
    a: asked.get("a") ?? names[0] ?? "",
    b: asked.get("b") ?? names.at(-1) ?? "",
  });
}
start();
