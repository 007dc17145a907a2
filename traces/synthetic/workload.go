package synthetic

import (
	"time"

	"github.com/compactsim/compactsim/internal/kit/version"
)

// Workload describes the sessions of a corpus by what they are drawn from. It is
// exact: reading its transcripts gives the session that the Generator emits.
// Sizes are tokens, times seconds, shares and probabilities lie in 0…1; a
// probability per turn does not count a session's first turn. The tags min and max
// bound a number and the draws of a distribution: no draw lies above max, and the
// largest, or for a min below 1 every draw, is at least min.
type Workload struct {
	Name    string `yaml:"-"`
	Doc     string `yaml:"doc" doc:"what the workload stresses"`
	Version string `yaml:"version" doc:"Claude Code's version, such as 2.1.62: decides threshold and logged outputs"`
	Project string `yaml:"project" doc:"working directory of all sessions"`

	Start  time.Time `yaml:"start" doc:"when the first session can begin"`
	Spread float64   `yaml:"spread" min:"0" max:"315360000" doc:"seconds from start over which sessions begin, evenly"`

	Models      []WorkModel `yaml:"models" doc:"models a session begins with, by weight"`
	SwitchModel float64     `yaml:"switch_model" min:"0" max:"1" doc:"probability per turn that the model is drawn anew"`

	Turns    Dist `yaml:"turns" min:"1" max:"1000000" doc:"prompts typed in a session, at least 1"`
	Rounds   Dist `yaml:"rounds" min:"1" max:"1000000" doc:"calls per turn, at least 1"`
	Prompt   Dist `yaml:"prompt" min:"1" max:"2000000" doc:"tokens of a prompt"`
	Text     Dist `yaml:"text" max:"2000000" doc:"tokens of text beside tool calls"`
	Answer   Dist `yaml:"answer" max:"2000000" doc:"tokens of the text that ends a turn"`
	Thinking Dist `yaml:"thinking" max:"2000000" doc:"tokens of a thinking block"`

	TextShare     float64 `yaml:"text_share" min:"0" max:"1" doc:"share of calls with tools that write text"`
	ThinkingShare float64 `yaml:"thinking_share" min:"0" max:"1" doc:"share of calls that think"`
	Images        float64 `yaml:"images" min:"0" max:"1" doc:"share of prompts with an image"`
	ImageBytes    Dist    `yaml:"image_bytes" max:"100000000" doc:"bytes of an image in base64, at least 27"`

	Tools    []WorkTool `yaml:"tools" doc:"tool mix"`
	Parallel float64    `yaml:"parallel" min:"0" max:"0.9" doc:"probability of each further tool use in a call"`

	Files     int     `yaml:"files" min:"0" max:"1000000" doc:"files of the working set"`
	FileSize  Dist    `yaml:"file_size" max:"2000000" doc:"tokens of a file"`
	ReadLimit int     `yaml:"read_limit" min:"100" max:"2000000" doc:"tokens up to which a file is read whole"`
	Reread    float64 `yaml:"reread" min:"0" max:"1" doc:"probability that a file is picked among the five used last"`

	Think  Dist        `yaml:"think" max:"315360000" doc:"seconds from a response to the next prompt"`
	Pauses []workPause `yaml:"pauses" doc:"longer breaks before a prompt"`

	FirstToken Dist `yaml:"first_token" max:"315360000" doc:"seconds from a request to the first token"`
	Speed      Dist `yaml:"speed" min:"0.1" max:"1000000" doc:"output tokens per second"`

	Lifetime   string  `yaml:"lifetime" enum:"5m,1h" doc:"lifetime the client asks for on every write"`
	Static     int     `yaml:"static" min:"1024" max:"60000" doc:"tokens of tools and system prompt"`
	Reminders  Dist    `yaml:"reminders" max:"60000" doc:"tokens before the first prompt that no line shows"`
	WarmStart  float64 `yaml:"warm_start" min:"0" max:"1" doc:"probability that a first call finds a cached prefix"`
	WarmExpiry float64 `yaml:"warm_expiry" min:"0" max:"1" doc:"probability of the same after an expiry"`

	Window      int  `yaml:"window" min:"0" max:"10000000" doc:"context window, tokens; 0 is 200,000"`
	Threshold   int  `yaml:"threshold" doc:"tokens at which it compacts; 0 is the version's, negative never"`
	Summary     Dist `yaml:"summary" max:"2000000" doc:"tokens of a summary"`
	Restored    Dist `yaml:"restored" max:"2000000" doc:"tokens of files and notices put back beside a summary"`
	CompactTime Dist `yaml:"compact_time" max:"315360000" doc:"seconds a compaction takes"`

	Connects      float64 `yaml:"connects" min:"0" max:"1" doc:"probability per turn that an MCP server changes the tools"`
	ConnectTokens Dist    `yaml:"connect_tokens" max:"2000000" doc:"tokens of the definitions it brings"`
	Rewinds       float64 `yaml:"rewinds" min:"0" max:"0.9" doc:"probability per turn that it is taken back: a branch"`
	Resumes       float64 `yaml:"resumes" min:"0" max:"1" doc:"probability per turn that the session was closed before"`
	ResumePause   Dist    `yaml:"resume_pause" max:"315360000" doc:"seconds a session stays closed"`
	ResumeTokens  Dist    `yaml:"resume_tokens" max:"2000000" doc:"tokens of reminders a resumed session sends anew"`

	Agents WorkAgents `yaml:"agents" doc:"the sub-agents that the tool Task starts"`
}

// WorkModel is one of the models of a workload.
type WorkModel struct {
	Name   string  `yaml:"name" doc:"model id"`
	Weight float64 `yaml:"weight" min:"0" max:"1000000000" doc:"share, relative to the other weights"`
}

// WorkTool is one entry of a tool mix. Read, Edit and Write work on the files of
// the working set; Task starts a sub-agent.
type WorkTool struct {
	Name   string  `yaml:"name" doc:"as Claude Code spells it; mcp__SERVER__TOOL for tools of MCP servers"`
	Weight float64 `yaml:"weight" min:"0" max:"1000000000" doc:"share of the mix, relative to the other weights"`
	Input  Dist    `yaml:"input,omitempty" max:"2000000" doc:"tokens of free text in the call; not for Read"`
	Result Dist    `yaml:"result,omitempty" max:"2000000" doc:"tokens of the result; not for Read and Task"`
	Time   Dist    `yaml:"time,omitempty" max:"315360000" doc:"seconds from call to result; not for Task"`
	Errors float64 `yaml:"errors,omitempty" min:"0" max:"1" doc:"probability that the call fails"`
}

// workPause is a kind of break a person makes before a prompt.
type workPause struct {
	Share  float64 `yaml:"share" min:"0" max:"1" doc:"probability per prompt; the rest of 1 is think"`
	Length Dist    `yaml:"length" max:"315360000" doc:"seconds"`
}

// WorkAgents describes sub-agents. They use the workload's files, text, thinking
// and speed.
type WorkAgents struct {
	Type      string     `yaml:"type" doc:"subagent_type, such as Explore"`
	Model     string     `yaml:"model" doc:"model; empty for the session's"`
	Static    int        `yaml:"static" min:"0" max:"60000" doc:"tokens of tools and system prompt that agents share"`
	Reminders Dist       `yaml:"reminders" max:"60000" doc:"tokens before the task that no line shows"`
	Rounds    Dist       `yaml:"rounds" max:"1000000" doc:"calls of an agent, fewer when it reaches the threshold"`
	Report    Dist       `yaml:"report" max:"2000000" doc:"tokens of the final answer"`
	Tools     []WorkTool `yaml:"tools" doc:"tool mix, without Task"`
}

// window returns the context window, tokens.
func (w *Workload) window() int {
	if w.Window == 0 {
		return 200_000
	}
	return w.Window
}

// threshold returns the tokens at which a session compacts; 0 is never.
func (w *Workload) threshold() int {
	switch {
	case w.Threshold < 0:
		return 0
	case w.Threshold > 0:
		return w.Threshold
	}
	return clientThreshold(w.Version, w.window())
}

// lifetime returns how long a write is readable.
func (w *Workload) lifetime() time.Duration {
	if w.Lifetime == "1h" {
		return time.Hour
	}
	return 5 * time.Minute
}

// clientThreshold returns the tokens at which Claude Code of the given version
// compacts in a window of the given size: window − 32k − 13k through 2.1.24,
// window − 20k − 13k from 2.1.25 (recorded minima 155.0k and 167.0k).
func clientThreshold(release string, window int) int {
	if version.AtLeast(release, 2, 1, 25) {
		return window - 20_000 - 13_000
	}
	return window - 32_000 - 13_000
}

// finalOutputs reports whether the version logs the final output tokens on the
// last line of a call; older ones log the value of the stream's start.
func finalOutputs(release string) bool { return version.AtLeast(release, 2, 1, 59) }
