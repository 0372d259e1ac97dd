"use strict";
// Works out the totals of a certificate anew, from what it planned and released, where they have a
// closed form: squares of mu (Dong, Roth and Su 2022), rhos (Bun and Steinke 2016) and pure epsilons
// (Dwork and Lei 2009) add up. All else is left to `tailguard verify`.

const AGREES = "agrees";
const DIFFERS = "does not agree";
const UNCHECKED = "not checked here: run tailguard verify";
// Floats repeat a total to 1e-11 of it; tailguard verify allows 1e-9. Between these two shares, and
// for an epsilon below the third number, the page leaves the verdict to tailguard verify.
const [SAME, OTHER, SMALLEST] = [5e-10, 2e-9, 1e-10];
const CURRENCIES = ["epsilon", "mu", "rho"];
// Below this mu the two terms of delta nearly cancel, and their difference is integrated, by the
// three-point rule of Gauss and Legendre.
const SMALL_MU = 0.01;
const NODES = [[5 / 18, 0.5 - Math.sqrt(0.15)], [8 / 18, 0.5], [5 / 18, 0.5 + Math.sqrt(0.15)]];

// exp(x^2) erfc(x): a series near zero, a continued fraction elsewhere.
function erfcx(x) {
  if (x < 0) return 2 * Math.exp(x * x) - erfcx(-x);
  if (x > 1.5) {
    let rest = x;
    for (let n = 200; n > 0; n--) rest = x + n / 2 / rest;
    return 1 / (Math.sqrt(Math.PI) * rest);
  }
  let [term, sum] = [x, x];
  for (let n = 1; term > 1e-18; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return Math.exp(x * x) - (2 / Math.sqrt(Math.PI)) * sum;
}

// Minus the derivative of Mills' ratio.
function millsDrop(x) {
  if (x > 1e4) return 1 / (1 + x * x);
  return 1 - x * Math.sqrt(Math.PI / 2) * erfcx(x / Math.SQRT2);
}

// Logarithm of the delta of a mu-GDP release at epsilon (Balle and Wang 2018, Theorem 8).
function logDelta(mu, epsilon) {
  const a = mu / 2 - epsilon / mu;
  const b = a - mu;
  if (mu < SMALL_MU) {
    const drops = NODES.map(([weight, node]) => weight * millsDrop(mu * node - a));
    const integral = mu * drops.reduce((sum, drop) => sum + drop);
    return (-a * a) / 2 - Math.log(2 * Math.PI) / 2 + Math.log(integral);
  }
  const second = erfcx(-b / Math.SQRT2);
  if (a <= 0) return (-a * a) / 2 + Math.log((erfcx(-a / Math.SQRT2) - second) / 2);
  const logFirst = Math.log1p((-erfcx(a / Math.SQRT2) * Math.exp((-a * a) / 2)) / 2);
  const logSecond = (-a * a) / 2 + Math.log(second / 2);
  return logFirst + Math.log1p(-Math.exp(logSecond - logFirst));
}

function epsilonOfMu(mu, delta) {
  const target = Math.log(delta);
  if (mu === 0 || logDelta(mu, 0) <= target) return 0;
  let [low, high] = [0, mu];
  while (logDelta(mu, high) > target) [low, high] = [high, 2 * high];
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2;
    if (logDelta(mu, middle) > target) low = middle;
    else high = middle;
  }
  return high;
}

// The same where the noise that was drawn is only that near to what is accounted for.
function epsilonOf(mu, delta, logRatio, variation) {
  let found = epsilonOfMu(mu, delta);
  while (logRatio || variation) {
    const charged = found * (1 + 1e-12);
    const left = (delta - (1 + Math.exp(charged)) * variation) * Math.exp(-logRatio);
    if (!(left > 0)) throw Error(UNCHECKED);
    found = epsilonOfMu(mu, left) + 2 * logRatio;
    if (found <= charged) break;
  }
  return found;
}

// The leaves of an event, and those of each block of each map apart.
function flattened(event, times = 1, flat = { leaves: [], maps: new Map() }) {
  if (event.kind === "repeated") flattened(event.event, times * event.times, flat);
  else if (event.kind === "composed") event.events.forEach((each) => flattened(each, times, flat));
  else if (event.kind === "parallel") {
    const { block_map: map, block } = event;
    if (!flat.maps.has(map)) flat.maps.set(map, new Map());
    const blocks = flat.maps.get(map);
    if (!blocks.has(block)) blocks.set(block, { leaves: [], maps: new Map() });
    flattened(event.event, times, blocks.get(block));
  } else if (event.kind !== "nothing") flat.leaves.push([event, times]);
  return flat;
}

// A replaced record is in one block of a map, so that the costliest block counts.
function addUp(flat, price) {
  let sum = 0;
  for (const [leaf, times] of flat.leaves) sum += times * price(leaf);
  for (const blocks of flat.maps.values()) {
    sum += Math.max(...[...blocks.values()].map((part) => addUp(part, price)));
  }
  return sum;
}

function kindsOf(flat, kinds = new Set()) {
  flat.leaves.forEach(([leaf]) => kinds.add(leaf.kind));
  flat.maps.forEach((blocks) => blocks.forEach((part) => kindsOf(part, kinds)));
  return kinds;
}

const RHO = {
  gaussian: (leaf) => leaf.mu ** 2 / 2,
  zcdp: (leaf) => leaf.rho,
  pure: (leaf) => leaf.epsilon * Math.tanh(leaf.epsilon / 2),
  bounded_range: (leaf) => leaf.eta ** 2 / 8,
  laplace: ({ epsilon: e }) =>
    e < 1e-3 ? (e * e) / 2 * (1 - e / 3 + (e * e) / 12) : e + Math.expm1(-e),
};

// The event of a release, from its sensitivity and its noise.
function eventOf(release) {
  const { mechanism, parameters, block_map: map } = release;
  const ratio = release.sensitivity / release.noise_std;
  let event;
  if (mechanism === "gaussian") event = { kind: "gaussian", mu: ratio };
  else if (mechanism === "laplace") event = { kind: "laplace", epsilon: ratio * Math.SQRT2 };
  else throw Error(UNCHECKED);
  if (map !== null) {
    const { map_blocks: count, map_order: order } = parameters;
    if (order === "shuffled" || "outer_map" in parameters || count > 1e5) throw Error(UNCHECKED);
    const blocks = release.block === null ? [...Array(count).keys()] : [release.block];
    const events = blocks.map((block) => ({ kind: "parallel", block_map: map, block, event }));
    event = { kind: "composed", events };
  }
  return { kind: "repeated", event, times: release.times };
}

// What an event costs in each currency: a number, null where it has none, undefined where this page
// cannot tell.
function totals(event, certificate) {
  const { guarantee, sampler_log_ratio: ratio, sampler_total_variation: variation } = certificate;
  const [flat, found] = [flattened(event), { epsilon: undefined, mu: undefined, rho: undefined }];
  const inBlocks = [...kindsOf({ leaves: [], maps: flat.maps })];
  found.otherInBlocks = inBlocks.some((kind) => kind !== "gaussian");
  const only = (...known) => [...kindsOf(flat)].every((kind) => known.includes(kind));
  if (only(...Object.keys(RHO))) found.rho = addUp(flat, (leaf) => RHO[leaf.kind](leaf));
  if (only("gaussian")) found.mu = Math.sqrt(addUp(flat, (leaf) => leaf.mu ** 2));
  else if (guarantee.kind !== "gdp") found.mu = null;
  if (guarantee.kind === "gdp" || guarantee.kind === "zcdp") found.epsilon = null;
  else if (guarantee.kind === "approx" && only("gaussian")) {
    found.epsilon = epsilonOf(found.mu, guarantee.delta, ratio, variation);
  } else if (guarantee.kind === "pure" && only("laplace", "pure") && !ratio && !variation) {
    found.epsilon = addUp(flat, (leaf) => leaf.epsilon);
  }
  return found;
}

function judged(what, stated, found, smallest = 0) {
  const answer = (verdict) => ({ what, stated, found, verdict });
  if (found === undefined || Math.abs(found) === Infinity) return answer(UNCHECKED);
  if (found === null || stated === null) return answer(found === stated ? AGREES : DIFFERS);
  const gap = Math.abs(stated - found);
  if (gap <= SAME * found) return answer(AGREES);
  return answer(gap <= OTHER * found || gap <= smallest ? UNCHECKED : DIFFERS);
}

// Every check of one certificate: what, what is stated, what was worked out, and the verdict.
function checks(certificate) {
  const parts = [
    ["reserved", certificate.total, () => certificate.planned],
    ["released", certificate.spent, () => ({ kind: "composed", events: certificate.releases.map(eventOf) })],
  ];
  if ("charged" in certificate) parts.push(["counted", certificate.counted, () => certificate.charged]);
  const [rows, known] = [[], {}];
  for (const [name, stated, event] of parts) {
    try {
      known[name] = totals(event(), certificate);
    } catch {
      known[name] = {}; // a part without a closed form here, or no certificate at all
    }
    for (const currency of CURRENCIES) {
      const smallest = currency === "epsilon" ? SMALLEST : 0;
      const row = judged(`${name}: ${currency}`, stated[currency], known[name][currency], smallest);
      if (row.stated !== null || row.verdict === DIFFERS) rows.push(row);
    }
  }
  return [...rows, ...kept(certificate, known)];
}

// Whether the releases cost no more than was reserved, and that no more than was promised. Of blocks
// with other noise than Gaussian each must be covered by one, which totals do not tell.
function kept({ guarantee, mode }, { reserved, released }) {
  const strength = { approx: "epsilon", pure: "epsilon", gdp: "mu", zcdp: "rho" }[guarantee.kind];
  const spent = reserved.otherInBlocks ? undefined : released[strength];
  const limits = [["released, at most what was reserved", reserved[strength], spent]];
  if (mode !== "reproduction: NOT PRIVATE") {
    limits.push(["reserved, at most what was promised", guarantee[strength], reserved[strength]]);
  }
  return limits.map(([what, limit, found]) => {
    if (typeof limit !== "number" || typeof found !== "number") return judged(what, limit, undefined);
    return found <= limit ? { what, stated: limit, found, verdict: AGREES } : judged(what, limit, found, SMALLEST);
  });
}

function verdictOf(rows) {
  const verdicts = rows.map((row) => row.verdict);
  return [DIFFERS, UNCHECKED].find((verdict) => verdicts.includes(verdict)) ?? AGREES;
}

function show(page) {
  const { certificate } = JSON.parse(page.getElementById("report-data").textContent);
  const rows = checks(certificate);
  const digits = (value) => (typeof value === "number" ? String(Number(value.toPrecision(10))) : "-");
  for (const { what, stated, found, verdict } of rows) {
    const line = page.getElementById("checks").insertRow();
    const head = line.appendChild(page.createElement("th"));
    head.scope = "row";
    head.textContent = what;
    for (const text of [digits(stated), digits(found), verdict]) {
      const cell = line.insertCell();
      cell.textContent = text;
      cell.className = text === verdict ? "" : "number";
    }
  }
  page.getElementById("verdict").textContent = `Totals, worked out again by this page: ${verdictOf(rows)}.`;
  page.getElementById("check-table").hidden = false;
}

if (typeof document !== "undefined") show(document);
