"use strict";
// The layers of a fit pulled apart, back to front, seen from the side without perspective.

const FRONT_LEFT = { yaw: 0.7, pitch: 0.16, spread: 1.2 };

function stackPlacement(pane, count, turn, size) {
  const [rows, cols] = size;
  const { yaw, pitch, spread } = turn;
  const depth = spread * cols;
  const width = cols * Math.cos(yaw) + depth * Math.abs(Math.sin(yaw));
  const height = rows * Math.cos(pitch)
    + (cols * Math.abs(Math.sin(yaw)) + depth * Math.cos(yaw)) * Math.abs(Math.sin(pitch));
  const zoom = 0.9 * Math.min(pane.width / width, (pane.height - 40) / height);
  return Array.from({ length: count }, (_, index) => {
    const z = count > 1 ? depth * (index / (count - 1) - 0.5) : 0; // the front is nearest
    return {
      // Of a point (x, y) of the layer, measured from its middle.
      a: zoom * Math.cos(yaw),
      b: zoom * Math.sin(yaw) * Math.sin(pitch),
      c: 0,
      d: zoom * Math.cos(pitch),
      e: pane.left + pane.width / 2 + zoom * z * Math.sin(yaw),
      f: pane.top + 20 + pane.height / 2 + zoom * z * Math.cos(yaw) * Math.sin(pitch),
    };
  });
}

function drawStack(context, pane, stack, turn, size, pictureOf) {
  const [rows, cols] = size;
  context.save();
  context.beginPath();
  context.rect(pane.left, pane.top, pane.width, pane.height);
  context.clip();
  const base = context.getTransform();
  stackPlacement(pane, stack.length, turn, size).forEach((at, index) => {
    const image = pictureOf(stack[index].uri);
    context.setTransform(base);
    context.transform(at.a, at.b, at.c, at.d, at.e, at.f);
    context.imageSmoothingQuality = "high";
    context.fillStyle = "rgba(255, 255, 255, .035)";
    context.fillRect(-cols / 2, -rows / 2, cols, rows);
    if (image.complete && image.naturalWidth) context.drawImage(image, -cols / 2, -rows / 2, cols, rows);
    context.strokeStyle = "rgba(232, 233, 236, .45)";
    context.lineWidth = 1 / at.a;
    context.strokeRect(-cols / 2, -rows / 2, cols, rows);
    context.setTransform(base);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = "#a9adb8";
    context.textAlign = "center";
    const bottom = { x: -cols / 2, y: rows / 2 };
    context.fillText(stack[index].scale.toFixed(2), at.e + at.a * bottom.x, at.f + at.b * bottom.x + at.d * bottom.y + 13);
    context.textAlign = "start";
  });
  context.restore();
}
