"""The page's verifier in Node, and pages in a headless browser, if these are installed."""

import json
import subprocess
from pathlib import Path
from shutil import which

import tailguard

SOURCE = Path(tailguard.__file__).with_name("report") / "verifier.js"
NODE = which("node")
BROWSER = next(
    filter(None, map(which, ("chromium-headless-shell", "chromium", "google-chrome"))), None
)

# Each input line is a call, [name, arguments]; each output line is its result.
HARNESS = """
const names = ["erfcx", "logDelta", "epsilonOfMu", "checks", "verdictOf"];
const found = new Function(`${process.argv[1]}; return {${names}}`)();
found.verdict = (certificate) => {
  let rows = []; // of what is no certificate there are none
  try {
    rows = found.checks(certificate) || [];
  } catch {}
  return [found.verdictOf(rows), rows];
};
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const [name, ...given] = JSON.parse(line);
  let answer = null; // of what is no certificate at all, the page says nothing
  try {
    answer = found[name](...given);
  } catch {}
  console.log(JSON.stringify(answer));
});
"""


def called(calls, source=None):
    """Call functions of the verifier in sequence, in one process."""
    text = SOURCE.read_text() if source is None else source
    lines = "\n".join(json.dumps(call) for call in calls)
    done = subprocess.run(
        [NODE, "-e", HARNESS, text], input=lines, check=True, capture_output=True, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def verdicts(certificates, source=None):
    """The page's verdict on each certificate, as a whole and check by check."""
    return called([["verdict", certificate] for certificate in certificates], source)


def opened(path, *more):
    """The page after its script has run in a browser; ``more`` are options of the browser."""
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=2000",
        "--dump-dom",
        *more,
    ]
    done = subprocess.run([BROWSER, *options, path], check=True, capture_output=True, text=True)
    return done.stdout
