// Run probes of node's test runner as plain programs: without the runner, under a name that is no test's, with a
// terminal where there is `script`. node itself runs this text (`node -e`); what it says stands behind the token.
const { spawnSync } = require("node:child_process");
const { copyFileSync, rmSync } = require("node:fs");
const { dirname, extname, join } = require("node:path");

const [token, ...paths] = process.argv.slice(1);
const env = { ...process.env };
delete env.NODE_TEST_CONTEXT;
const terminal = spawnSync("script", ["--version"]).status === 0;

function run(path) {
  const file = join(dirname(path), `main${extname(path)}`);
  copyFileSync(path, file);
  const options = { env, encoding: "utf8", timeout: 20000, stdio: ["ignore", "pipe", "pipe"] };
  const done = terminal
    ? spawnSync("script", ["-qec", `node '${file}'`, "/dev/null"], options)
    : spawnSync(process.execPath, [file], options);
  rmSync(file);
  const said = `${done.stdout ?? ""}${done.stderr ?? ""}`;
  if (done.status === 0) return ["passed", ""];
  return [done.status !== null && said.includes("ERR_ASSERTION") ? "failed" : "unclear", said.slice(-2000)];
}

console.log(token + JSON.stringify(Object.fromEntries(paths.map((path) => [path, run(path)]))));
