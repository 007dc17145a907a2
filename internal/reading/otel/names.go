package otel

import "strings"

// spoken are the names of what spans say, members ahead of attributes: what it is called here, then the names for it,
// those that count first ahead. They are of the convention of today, of its predecessors, and of OpenInference, Vercel's AI
// SDK, Traceloop, Codex and Claude Code.
const spoken = `
trace        traceId traceID trace_id
span         spanId spanID span_id
parent       parentSpanId parent_span_id parent_id
name         name operationName spanName
start        startTimeUnixNano startTime start_time
end          endTimeUnixNano endTime end_time
duration     duration
status       status
reference    refType

service      service.name
version      service.version
input        gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens llm.token_count.prompt ai.usage.inputTokens codex.turn.token_usage.input_tokens input_tokens
output       gen_ai.usage.output_tokens gen_ai.usage.completion_tokens llm.token_count.completion ai.usage.outputTokens codex.turn.token_usage.output_tokens output_tokens
read         gen_ai.usage.cache_read.input_tokens gen_ai.usage.cache_read_input_tokens llm.token_count.prompt_details.cache_read ai.usage.inputTokenDetails.cacheReadTokens ai.usage.cachedInputTokens codex.turn.token_usage.cached_input_tokens cache_read_tokens
write        gen_ai.usage.cache_write.input_tokens gen_ai.usage.cache_creation.input_tokens gen_ai.usage.cache_creation_input_tokens llm.token_count.prompt_details.cache_write ai.usage.inputTokenDetails.cacheWriteTokens cache_creation_tokens
reasoning    gen_ai.usage.reasoning.output_tokens gen_ai.usage.reasoning_tokens llm.usage.reasoning_tokens llm.token_count.completion_details.reasoning ai.usage.outputTokenDetails.reasoningTokens codex.turn.token_usage.reasoning_output_tokens
total        gen_ai.usage.total_tokens llm.usage.total_tokens llm.token_count.total ai.usage.totalTokens codex.turn.token_usage.total_tokens
operation    gen_ai.operation.name
kind         openinference.span.kind traceloop.span.kind
model        gen_ai.response.model gen_ai.request.model llm.model_name ai.response.model ai.model.id model
response     gen_ai.response.id ai.response.id
failure      error.type
conversation gen_ai.conversation.id session.id gcp.vertex.agent.session_id ai.telemetry.metadata.sessionId thread.id
compacted    gen_ai.conversation.compacted
chunk        gen_ai.response.time_to_first_chunk gen_ai.server.time_to_first_token ai.response.msToFirstChunk ttft_ms
cost         operation.cost gen_ai.usage.cost llm.cost.total
sent         gen_ai.input.messages ai.prompt.messages
answered     gen_ai.output.messages
said         ai.response.text
instructions gen_ai.system_instructions
tools        gen_ai.tool.definitions
tool         gen_ai.tool.name
id           gen_ai.tool.call.id
arguments    gen_ai.tool.call.arguments
result       gen_ai.tool.call.result
`

// place is where the value of a name goes. Of several names for one thing that with the lowest rank counts.
type place struct {
	what      string
	rank      int
	attribute bool
}

// members and attributes are the places of their names.
var members, attributes = func() (members, attributes map[string]place) {
	head, tail, _ := strings.Cut(strings.TrimSpace(spoken), "\n\n")
	return places(head, false), places(tail, true)
}()

func places(table string, attribute bool) map[string]place {
	all := map[string]place{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		for rank, name := range words[1:] {
			all[name] = place{words[0], rank, attribute}
		}
	}
	return all
}
