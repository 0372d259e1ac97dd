"use strict";
// Shows the prediction at the places of three sliders. All numbers were worked out beforehand.
(() => {
  const byId = (name) => document.getElementById(name);
  const data = JSON.parse(byId("plan-data").textContent);
  const axes = ["n_features", "n_rows", "epsilon"];
  const place = { ...data.start };

  const digits = (x) => (x === null ? "unknown" : Number(x.toPrecision(3)).toString());
  const cellAt = (at) => data.cells[at.n_features][at.n_rows][at.epsilon];

  // The same words as plan_page.py writes of the starting places.
  function sentence(at) {
    const cell = cellAt(at);
    if (cell === null) return data.words.nothing;
    const start = `${data.methods[cell[1]]}: predicted error ${digits(cell[0])}.`;
    return cell[2] ? `${start} ${data.words.hidden}` : start;
  }

  function errorsAt(at) {
    return data.axes.n_rows.map((_, row) => cellAt({ ...at, n_rows: row }));
  }

  function fillTable(cells) {
    byId("errors").querySelectorAll("tr").forEach((row, index) => {
      row.lastElementChild.textContent = cells[index] === null ? "none" : digits(cells[index][0]);
      row.classList.toggle("chosen", index === place.n_rows);
    });
  }

  function drawCurve(cells) {
    const known = cells
      .map((cell, row) => (cell === null ? null : [data.axes.n_rows[row], cell[0]]))
      .filter((point) => point !== null && point[1] > 0);
    const [low, high] = data.range.map(Math.log10);
    const first = Math.log10(data.axes.n_rows[0]);
    const last = Math.log10(data.axes.n_rows[data.axes.n_rows.length - 1]);
    const across = (n) => 10 + (580 * (Math.log10(n) - first)) / (last - first);
    const down = (error) => 10 + (180 * (high - Math.log10(error))) / Math.max(high - low, 1e-9);
    byId("curve").setAttribute("points", known.map(([n, e]) => `${across(n)},${down(e)}`).join(" "));
    const here = cells[place.n_rows];
    const dot = byId("here");
    dot.setAttribute("visibility", here === null || !(here[0] > 0) ? "hidden" : "visible");
    if (here !== null && here[0] > 0) {
      dot.setAttribute("cx", across(data.axes.n_rows[place.n_rows]));
      dot.setAttribute("cy", down(here[0]));
    }
  }

  function show() {
    for (const axis of axes) {
      const value = data.axes[axis][place[axis]].toLocaleString("en");
      byId(`${axis}-value`).textContent = value;
      byId(axis).setAttribute("aria-valuetext", value);
    }
    byId("prediction").textContent = sentence(place);
    byId("odds").textContent = data.odds[place.epsilon];
    byId("delta-warning").hidden = data.delta * data.axes.n_rows[place.n_rows] < 0.1;
    const cells = errorsAt(place);
    fillTable(cells);
    drawCurve(cells);
  }

  for (const axis of axes) {
    byId(axis).disabled = false;
    byId(axis).addEventListener("input", (event) => {
      place[axis] = Number(event.target.value);
      show();
    });
  }
  show();
})();
