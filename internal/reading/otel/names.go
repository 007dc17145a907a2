package otel

import "strings"

// attribute is something that spans say.
type attribute uint8

// The attributes that are read.
const (
	input attribute = iota
	read
	write
	output
	reasoning
	total
	operation
	kind
	model
	response
	conversation
	chunk
	compacted
	sent
	answered
	said
	instructions
	tools
	toolName
	toolID
	toolInput
	toolResult
	cost
	failure
	numAttributes
)

// place is where the value of a name goes. Of several names for one thing that with
// the lowest rank counts.
type place struct {
	attribute
	rank  uint8
	apart bool    // the count leaves out what was read from the cache and written to it
	scale float64 // of a time, ns; of a cost, USD
}

// spoken are the names of each attribute, those that count first ahead: of the convention of today, of its
// predecessors, and of OpenInference, Vercel's AI SDK, Traceloop, Codex and Claude Code.
var spoken = [numAttributes][]string{
	input: {
		"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
		"codex.turn.token_usage.input_tokens", "input_tokens",
	},
	output: {
		"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.outputTokens",
		"codex.turn.token_usage.output_tokens", "output_tokens",
	},
	read: {
		"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
		"llm.token_count.prompt_details.cache_read", "ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens",
		"codex.turn.token_usage.cached_input_tokens", "cache_read_tokens",
	},
	write: {
		"gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
		"gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write",
		"ai.usage.inputTokenDetails.cacheWriteTokens", "cache_creation_tokens",
	},
	reasoning: {
		"gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "llm.usage.reasoning_tokens",
		"llm.token_count.completion_details.reasoning", "ai.usage.outputTokenDetails.reasoningTokens",
		"codex.turn.token_usage.reasoning_output_tokens",
	},
	total: {
		"gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens",
		"codex.turn.token_usage.total_tokens",
	},
	operation:    {"gen_ai.operation.name"},
	kind:         {"openinference.span.kind", "traceloop.span.kind"},
	model:        {"gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model", "ai.model.id", "model"},
	response:     {"gen_ai.response.id", "ai.response.id"},
	failure:      {"error.type"},
	conversation: {"gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id", "ai.telemetry.metadata.sessionId", "thread.id"},
	compacted:    {"gen_ai.conversation.compacted"},
	chunk:        {"gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token", "ai.response.msToFirstChunk", "ttft_ms"},
	cost:         {"operation.cost", "gen_ai.usage.cost", "llm.cost.total"},
	sent:         {"gen_ai.input.messages", "ai.prompt.messages"},
	answered:     {"gen_ai.output.messages"},
	said:         {"ai.response.text"},
	instructions: {"gen_ai.system_instructions"},
	tools:        {"gen_ai.tool.definitions"},
	toolName:     {"gen_ai.tool.name"},
	toolID:       {"gen_ai.tool.call.id"},
	toolInput:    {"gen_ai.tool.call.arguments"},
	toolResult:   {"gen_ai.tool.call.result"},
}

// names are the places of all names. Claude Code's count of input is apart; the name of a time shows its unit.
var names = func() map[string]place {
	all := map[string]place{}
	for a, list := range spoken {
		for rank, name := range list {
			p := place{attribute: attribute(a), rank: uint8(rank), apart: name == "input_tokens", scale: 1}
			if p.attribute == chunk {
				p.scale = 1e9
				if strings.HasSuffix(name, "_ms") || strings.Contains(name, ".msTo") {
					p.scale = 1e6
				}
			}
			all[name] = p
		}
	}
	return all
}()
