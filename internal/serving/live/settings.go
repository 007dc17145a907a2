package live

import "time"

// Providers of real models.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai" // also servers with the same interface
)

// DefaultMaxOutput bounds a call without a limit of its own, tokens: the client's cap for summaries, of which 99.99 %
// take at most 17,387.
const DefaultMaxOutput = 20_000

// Settings configure real calls: the block live of a scenario.
type Settings struct {
	Provider string `yaml:"provider" enum:"anthropic,openai" doc:"anthropic, or openai for any server with chat completions (vLLM, llama.cpp)."`
	// Model replaces the session's model, under exactly this name. A strategy that
	// names its own model keeps it. Recorded names are sent without what a cloud
	// platform or the client adds to them.
	Model        string        `yaml:"model" doc:"Model to ask in place of the session's (\"\" for that), under exactly this name. A small model that a strategy names for itself stays."`
	Instructions string        `yaml:"instructions" doc:"What to ask of every summary besides."`
	MaxOutput    int           `yaml:"max_output" min:"1" doc:"Most tokens to ask for in an answer, where the strategy says nothing and the model allows it: the client's own cap for summaries."`
	Budget       float64       `yaml:"budget_usd" min:"0" doc:"Stop before real calls cost more; 0: no limit."`
	MaxCalls     int           `yaml:"max_calls" min:"0" doc:"Stop before more requests are sent; 0: no limit."`
	Concurrency  int           `yaml:"concurrency" min:"1" doc:"Calls at once."`
	Attempts     int           `yaml:"attempts" min:"1" max:"1000" doc:"Requests for one call before it counts as failed."`
	Timeout      time.Duration `yaml:"timeout" above:"0s" max:"24h" doc:"Longest time for one request."`
}

// DefaultSettings returns the settings of a scenario without a block live.
func DefaultSettings() Settings {
	return Settings{
		Provider: Anthropic, MaxOutput: DefaultMaxOutput, Concurrency: 4, Attempts: 4, Timeout: DefaultTimeout,
	}
}
