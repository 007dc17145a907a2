// What bench.py is for drivers in Python.
import fs from 'fs';

const [script, out] = process.argv.slice(2);
export const preset = process.argv[4];
export const env = process.env.BENCH_ENV;
const talk = JSON.parse(fs.readFileSync(script));
export const system = talk.system, prompts = talk.prompts.map(p => p.text), window = 200_000, resumes = talk.resumes, tools = 500;
const steps = talk.prompts.flatMap(p => [...p.rounds, { say: p.answer, calls: [] }]);
const results = Object.fromEntries(steps.flatMap(s => s.calls).map(c => [c.args.path, c.result]));
const log = fs.openSync(out, 'w');
let step = 0, refused = 0;

// quarter returns the tokens of a text as the bench counts them.
export const quarter = text => Math.floor((text || '').length / 4);
export const size = messages => messages.reduce((n, m) => n + quarter(m.text) + (m.calls || []).reduce((k, c) => k + quarter(c[2]), 0), 0);
const write = line => fs.writeSync(log, JSON.stringify(line) + '\n');

function refuse(n) {
  if (n <= window) { refused = 0; return; }
  write({ kind: 'refused' });
  if (++refused === 30) process.exit(1);
  throw new Error(`prompt is too long: ${n} tokens > ${window} maximum`);
}

// main logs a request of the conversation and returns the scripted answer.
export function main(messages, system) {
  refuse(size(messages) + quarter(system) + tools);
  const s = steps[step++];
  const output = s.calls.reduce((n, c) => n + quarter(JSON.stringify(c.args)), quarter(s.say));
  write({ kind: 'main', system, tools, messages, output });
  return s;
}

// side logs a call of the library's own and returns a text of the size of a summary.
export function side(messages, system) {
  refuse(size(messages) + quarter(system));
  write({ kind: 'side', system, tools: 0, messages, output: talk.summary });
  let text = '', seed = 7 + step;
  while (text.length < talk.summary * 4) { seed = (seed * 1103515245 + 12345) % 2147483648; text += `* ${seed.toString(36)}\n`; }
  return text.slice(0, talk.summary * 4);
}

const fails = new Set(steps.flatMap(s => s.calls).filter(c => c.fails).map(c => c.args.path));
export function look(path) {
  if (fails.has(path)) throw new Error(results[path]);
  return results[path];
}
