import { createRequire } from 'module';
import * as bench from './bench.mjs';
process.env.MASTRA_TELEMETRY_DISABLED = '1';
const find = createRequire(bench.env + '/');
const { Agent } = await import(find.resolve('@mastra/core/agent'));
const { createTool } = await import(find.resolve('@mastra/core/tools'));
const { InMemoryStore } = await import(find.resolve('@mastra/core/storage'));
const { Memory } = await import(find.resolve('@mastra/memory'));
const { TokenCounter } = await import(find.resolve('@mastra/memory/processors'));
const { z } = await import(find.resolve('zod'));

TokenCounter.prototype.countString = bench.quarter; // it compares sizes with its limits: both sides count alike

function plain(prompt) {
  const list = [];
  let system;
  for (const m of prompt) {
    if (m.role === 'system') {
      if (system === undefined) system = m.content;
      else list.push({ role: 'system', text: m.content }); // observations are messages of their own, for the cache
      continue;
    }
    const parts = typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : m.content;
    if (m.role === 'tool') {
      for (const p of parts) list.push({ role: 'tool', text: typeof p.output.value === 'string' ? p.output.value : JSON.stringify(p.output.value), for: p.toolCallId });
      continue;
    }
    const text = parts.filter(p => p.type === 'text').map(p => p.text).join('');
    list.push({ role: m.role, text, calls: parts.filter(p => p.type === 'tool-call').map(p => [p.toolCallId, p.toolName, JSON.stringify(p.input)]) });
  }
  return [list, system];
}

const usage = { inputTokens: 10, outputTokens: 10, totalTokens: 20 };
function model(name) {
  const answer = o => {
    if (name !== 'main') return [[{ type: 'text', text: `<observations>\n${bench.side(...plain(o.prompt))}\n</observations>` }], 'stop'];
    const s = bench.main(...plain(o.prompt)), text = { type: 'text', text: s.say };
    const calls = s.calls.map(c => ({ type: 'tool-call', toolCallId: c.id, toolName: c.name, input: JSON.stringify(c.args) }));
    return [[text, ...calls], calls.length ? 'tool-calls' : 'stop'];
  };
  return {
    specificationVersion: 'v2', provider: 'scripted', modelId: name, supportedUrls: {},
    async doGenerate(o) { const [content, finishReason] = answer(o); return { content, finishReason, usage, warnings: [] }; },
    async doStream(o) {
      const [content, finishReason] = answer(o), parts = [{ type: 'stream-start', warnings: [] }];
      for (const c of content) parts.push(...(c.type === 'text' ? [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: c.text }, { type: 'text-end', id: 't' }] : [c]));
      parts.push({ type: 'finish', finishReason, usage });
      return { stream: new ReadableStream({ start(k) { parts.forEach(p => k.enqueue(p)); k.close(); } }) };
    },
  };
}

const look = createTool({ id: 'look', description: 'look', inputSchema: z.object({ path: z.string() }), execute: async a => bench.look(a.path ?? a.context?.path) });
const observationalMemory = { observation: { model: model('observer') }, reflection: { model: model('reflector') } };
const storage = new InMemoryStore();
const make = () => {
  const memory = new Memory({ storage, options: { observationalMemory } });
  return new Agent({ id: 'x', name: 'x', instructions: bench.system, model: model('main'), tools: { look }, memory });
};
let agent = make();
for (const p of bench.prompts) {
  if (bench.resumes) agent = make();
  await agent.generate(p, { maxSteps: 500, memory: { thread: 't', resource: 'r' } });
  await new Promise(f => setTimeout(f, 300)); // it observes behind the answer
}
process.exit(0);
