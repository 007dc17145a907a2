import { createRequire } from 'module';
import * as bench from './bench.mjs';
const find = createRequire(bench.env + '/');
const { generateText, jsonSchema, pruneMessages, stepCountIs, tool } = await import(find.resolve('ai'));

function plain(prompt) {
  const list = [];
  let system = '';
  for (const m of prompt) {
    if (m.role === 'system') { system += m.content; continue; }
    if (m.role === 'tool') {
      for (const p of m.content) list.push({ role: 'tool', text: p.output.value, for: p.toolCallId });
      continue;
    }
    const text = m.content.filter(p => p.type === 'text').map(p => p.text).join('');
    list.push({ role: m.role, text, calls: m.content.filter(p => p.type === 'tool-call').map(p => [p.toolCallId, p.toolName, JSON.stringify(p.input)]) });
  }
  return [list, system];
}

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 10 } };
const model = {
  specificationVersion: 'v3', provider: 'scripted', modelId: 'main', supportedUrls: {},
  async doGenerate(o) {
    const s = bench.main(...plain(o.prompt));
    const calls = s.calls.map(c => ({ type: 'tool-call', toolCallId: c.id, toolName: c.name, input: JSON.stringify(c.args) }));
    return { content: [{ type: 'text', text: s.say }, ...calls], finishReason: { unified: calls.length ? 'tool-calls' : 'stop' }, usage, warnings: [] };
  },
};
const look = tool({ description: 'look', inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } } }), execute: async a => bench.look(a.path) });
const history = [];
// the options are those of the function's documentation
for (const p of bench.prompts) {
  history.push({ role: 'user', content: p });
  const messages = pruneMessages({ messages: history, reasoning: 'before-last-message', toolCalls: 'before-last-2-messages', emptyMessages: 'remove' });
  const { response } = await generateText({ model, system: bench.system, messages, tools: { look }, stopWhen: stepCountIs(500), maxRetries: 0 });
  history.push(...response.messages);
}
