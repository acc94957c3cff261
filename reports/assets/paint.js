// SPDX-License-Identifier: Apache-2.0
// What lies beneath the lines of a chart (chart.js): predictions, intervals of single points, the marks
// of changes, and the commit that was chosen. The colours are the page's.
"use strict";
(function () {
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function colors(count) {
    return ["--head", "--over1", "--over2", "--over3", "--over4", "--over5"].slice(0, count).map(color);
  }

  // The prediction is drawn where it lies within, and does not stretch the axis: a model that is off by
  // a factor must not hide a change of a percent.
  function under(chart, canvas, area, graph, steps) {
    canvas.save();
    canvas.beginPath();
    canvas.rect(area.x, area.y, area.w, area.h);
    canvas.clip();
    if (steps) zeroLine(canvas, area, graph);
    else if (chart.lines.length === 1) predictionAndWhiskers(chart, canvas, graph);
    marksOn(chart, canvas, area, graph, steps || !chart.levels);
    if (chart.chosen !== undefined) upright(canvas, area, graph.toDomXCoord(chart.chosen), color("--fg"), []);
    canvas.restore();
  }

  function upright(canvas, area, x, style, dash) {
    canvas.strokeStyle = style;
    canvas.lineWidth = 1;
    canvas.setLineDash(dash);
    canvas.beginPath();
    canvas.moveTo(x, area.y);
    canvas.lineTo(x, area.y + area.h);
    canvas.stroke();
  }

  function zeroLine(canvas, area, graph) {
    var y = graph.toDomYCoord(0);
    canvas.strokeStyle = color("--muted");
    canvas.setLineDash([]);
    canvas.globalAlpha = 0.6;
    canvas.beginPath();
    canvas.moveTo(area.x, y);
    canvas.lineTo(area.x + area.w, y);
    canvas.stroke();
    canvas.globalAlpha = 1;
  }

  // In full the intervals of the points that have one are upright, for their neighbours have none.
  function predictionAndWhiskers(chart, canvas, graph) {
    var drawing = false, points = chart.pointsOf(chart.first);
    canvas.strokeStyle = color("--head");
    canvas.lineWidth = 1;
    canvas.setLineDash([]);
    canvas.beginPath();
    points.forEach(function (p) {
      if (!chart.full || !(p.low > 0)) return;
      canvas.moveTo(graph.toDomXCoord(p.at), graph.toDomYCoord(p.low * chart.factor));
      canvas.lineTo(graph.toDomXCoord(p.at), graph.toDomYCoord(p.high * chart.factor));
    });
    canvas.stroke();
    canvas.strokeStyle = color("--predicted");
    canvas.lineWidth = 1.6;
    canvas.setLineDash([3, 3]);
    canvas.beginPath();
    points.forEach(function (p) {
      if (p.predicted) canvas[drawing ? "lineTo" : "moveTo"](graph.toDomXCoord(p.at), graph.toDomYCoord(p.predicted * chart.factor));
      drawing = drawing || !!p.predicted;
    });
    canvas.stroke();
  }

  function marksOn(chart, canvas, area, graph, named) {
    var free = area.x; // where the next text may begin: the closest ones stay without
    canvas.font = "11px system-ui, sans-serif";
    (chart.first.marks || []).forEach(function (mark) {
      var x = graph.toDomXCoord(mark.at - 0.5), width = canvas.measureText(mark.text).width;
      if (x < area.x || x > area.x + area.w) return;
      upright(canvas, area, x, color({ faster: "--faster", epoch: "--new", declared: "--muted" }[mark.kind] || "--slower"),
        { epoch: [], declared: [1, 3] }[mark.kind] || [4, 3]);
      if (!named || x + 4 < free || x + 4 + width > area.x + area.w) return;
      canvas.fillStyle = color("--muted");
      canvas.fillText(mark.text, x + 4, area.y + 11);
      free = x + 8 + width;
    });
  }

  window.plumbPaint = { color: color, colors: colors, under: under };
})();
