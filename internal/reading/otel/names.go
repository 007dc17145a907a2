package otel

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

// names are those of the convention of today, of its predecessors, and of OpenInference,
// Vercel's AI SDK, Traceloop, Codex and Claude Code.
var names = map[string]place{
	"gen_ai.usage.input_tokens":                      {attribute: input},
	"gen_ai.usage.prompt_tokens":                     {attribute: input, rank: 1},
	"llm.token_count.prompt":                         {attribute: input, rank: 2},
	"ai.usage.inputTokens":                           {attribute: input, rank: 3},
	"codex.turn.token_usage.input_tokens":            {attribute: input, rank: 4},
	"input_tokens":                                   {attribute: input, rank: 5, apart: true},
	"gen_ai.usage.output_tokens":                     {attribute: output},
	"gen_ai.usage.completion_tokens":                 {attribute: output, rank: 1},
	"llm.token_count.completion":                     {attribute: output, rank: 2},
	"ai.usage.outputTokens":                          {attribute: output, rank: 3},
	"codex.turn.token_usage.output_tokens":           {attribute: output, rank: 4},
	"output_tokens":                                  {attribute: output, rank: 5},
	"gen_ai.usage.cache_read.input_tokens":           {attribute: read},
	"gen_ai.usage.cache_read_input_tokens":           {attribute: read, rank: 1},
	"llm.token_count.prompt_details.cache_read":      {attribute: read, rank: 2},
	"ai.usage.inputTokenDetails.cacheReadTokens":     {attribute: read, rank: 3},
	"ai.usage.cachedInputTokens":                     {attribute: read, rank: 4},
	"codex.turn.token_usage.cached_input_tokens":     {attribute: read, rank: 5},
	"cache_read_tokens":                              {attribute: read, rank: 6},
	"gen_ai.usage.cache_write.input_tokens":          {attribute: write},
	"gen_ai.usage.cache_creation.input_tokens":       {attribute: write, rank: 1},
	"gen_ai.usage.cache_creation_input_tokens":       {attribute: write, rank: 2},
	"llm.token_count.prompt_details.cache_write":     {attribute: write, rank: 3},
	"ai.usage.inputTokenDetails.cacheWriteTokens":    {attribute: write, rank: 4},
	"cache_creation_tokens":                          {attribute: write, rank: 5},
	"gen_ai.usage.reasoning.output_tokens":           {attribute: reasoning},
	"gen_ai.usage.reasoning_tokens":                  {attribute: reasoning, rank: 1},
	"llm.usage.reasoning_tokens":                     {attribute: reasoning, rank: 2},
	"llm.token_count.completion_details.reasoning":   {attribute: reasoning, rank: 3},
	"ai.usage.outputTokenDetails.reasoningTokens":    {attribute: reasoning, rank: 4},
	"codex.turn.token_usage.reasoning_output_tokens": {attribute: reasoning, rank: 5},
	"gen_ai.usage.total_tokens":                      {attribute: total},
	"llm.usage.total_tokens":                         {attribute: total, rank: 1},
	"llm.token_count.total":                          {attribute: total, rank: 2},
	"ai.usage.totalTokens":                           {attribute: total, rank: 3},
	"codex.turn.token_usage.total_tokens":            {attribute: total, rank: 4},

	"gen_ai.operation.name":   {attribute: operation},
	"openinference.span.kind": {attribute: kind},
	"traceloop.span.kind":     {attribute: kind, rank: 1},
	"gen_ai.response.model":   {attribute: model},
	"gen_ai.request.model":    {attribute: model, rank: 1},
	"llm.model_name":          {attribute: model, rank: 2},
	"ai.response.model":       {attribute: model, rank: 3},
	"ai.model.id":             {attribute: model, rank: 4},
	"model":                   {attribute: model, rank: 5},
	"gen_ai.response.id":      {attribute: response},
	"ai.response.id":          {attribute: response, rank: 1},
	"error.type":              {attribute: failure},

	"gen_ai.conversation.id":          {attribute: conversation},
	"session.id":                      {attribute: conversation, rank: 1},
	"gcp.vertex.agent.session_id":     {attribute: conversation, rank: 2},
	"ai.telemetry.metadata.sessionId": {attribute: conversation, rank: 3},
	"thread.id":                       {attribute: conversation, rank: 4},
	"gen_ai.conversation.compacted":   {attribute: compacted},

	"gen_ai.response.time_to_first_chunk": {attribute: chunk, scale: 1e9},
	"gen_ai.server.time_to_first_token":   {attribute: chunk, rank: 1, scale: 1e9},
	"ai.response.msToFirstChunk":          {attribute: chunk, rank: 2, scale: 1e6},
	"ttft_ms":                             {attribute: chunk, rank: 3, scale: 1e6},
	"operation.cost":                      {attribute: cost, scale: 1},
	"gen_ai.usage.cost":                   {attribute: cost, rank: 1, scale: 1},
	"llm.cost.total":                      {attribute: cost, rank: 2, scale: 1},

	"gen_ai.input.messages":      {attribute: sent},
	"ai.prompt.messages":         {attribute: sent, rank: 1},
	"gen_ai.output.messages":     {attribute: answered},
	"ai.response.text":           {attribute: said},
	"gen_ai.system_instructions": {attribute: instructions},
	"gen_ai.tool.definitions":    {attribute: tools},
	"gen_ai.tool.name":           {attribute: toolName},
	"gen_ai.tool.call.id":        {attribute: toolID},
	"gen_ai.tool.call.arguments": {attribute: toolInput},
	"gen_ai.tool.call.result":    {attribute: toolResult},
}
