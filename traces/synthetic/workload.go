package synthetic

import (
	"time"
)

// Workload says how the sessions of a corpus behave: what they are drawn from.
// Unlike a Profile, whose blocks have a tokenizer's own rates so that reading is
// put to the test, a workload is exact: the reader finds in its transcripts the
// session that is emitted in the parsed form. Sizes are tokens, times seconds,
// shares and probabilities lie in 0…1.
type Workload struct {
	Name    string `yaml:"-"`
	Doc     string `yaml:"doc" doc:"what the workload stresses"`
	Version string `yaml:"version" doc:"Claude Code's version, such as 2.1.62: decides where it compacts and whether logged outputs are final"`
	Project string `yaml:"project" doc:"working directory of all sessions"`

	Start  time.Time `yaml:"start" doc:"when the first session can begin"`
	Spread float64   `yaml:"spread" doc:"seconds from start over which sessions begin, evenly"`

	Models      []WorkModel `yaml:"models" doc:"models a session begins with, by weight"`
	SwitchModel float64     `yaml:"switch_model" doc:"probability per turn behind the first that the model is drawn anew; caches belong to a model"`

	Turns    Dist `yaml:"turns" doc:"prompts typed in a session, at least 1"`
	Rounds   Dist `yaml:"rounds" doc:"calls per turn, at least 1"`
	Prompt   Dist `yaml:"prompt" doc:"tokens of a prompt"`
	Text     Dist `yaml:"text" doc:"tokens of text beside tool calls"`
	Answer   Dist `yaml:"answer" doc:"tokens of the text that ends a turn"`
	Thinking Dist `yaml:"thinking" doc:"tokens of a thinking block"`

	TextShare     float64 `yaml:"text_share" doc:"share of calls with tools that write text"`
	ThinkingShare float64 `yaml:"thinking_share" doc:"share of calls that think"`
	Images        float64 `yaml:"images" doc:"share of prompts with an image"`
	ImageBytes    Dist    `yaml:"image_bytes" doc:"bytes of an image in base64, at least 27; its tokens are the reader's constant"`

	Tools    []WorkTool `yaml:"tools" doc:"tool mix"`
	Parallel float64    `yaml:"parallel" doc:"probability of each further tool use in a call, at most 0.9"`

	Files     int     `yaml:"files" doc:"files of the working set"`
	FileSize  Dist    `yaml:"file_size" doc:"tokens of a file"`
	ReadLimit int     `yaml:"read_limit" doc:"tokens up to which a file is read whole; of a larger one a range"`
	Reread    float64 `yaml:"reread" doc:"probability that a file is picked among the five used last"`

	Think  Dist        `yaml:"think" doc:"seconds from a response to the next prompt"`
	Pauses []WorkPause `yaml:"pauses" doc:"longer breaks before a prompt"`

	FirstToken Dist `yaml:"first_token" doc:"seconds from a request to the first token"`
	Speed      Dist `yaml:"speed" doc:"output tokens per second"`

	Lifetime   string  `yaml:"lifetime" doc:"lifetime the client asks for on every write: 5m or 1h"`
	Static     int     `yaml:"static" doc:"tokens of tools and system prompt: what stays readable through a compaction"`
	Reminders  Dist    `yaml:"reminders" doc:"tokens ahead of the first prompt that no line shows"`
	WarmStart  float64 `yaml:"warm_start" doc:"probability that others have kept the static prefix readable at the first call"`
	WarmExpiry float64 `yaml:"warm_expiry" doc:"the same after an expiry"`

	Window      int  `yaml:"window" doc:"context window, tokens; 0 is 200,000"`
	Threshold   int  `yaml:"threshold" doc:"tokens at which the client compacts; 0 is the version's, negative never"`
	Summary     Dist `yaml:"summary" doc:"tokens of a summary"`
	Restored    Dist `yaml:"restored" doc:"tokens of files and notices put back beside a summary"`
	CompactTime Dist `yaml:"compact_time" doc:"seconds a compaction takes"`

	Connects      float64 `yaml:"connects" doc:"probability per turn behind the first that an MCP server connects: the tools change and with them the whole prefix"`
	ConnectTokens Dist    `yaml:"connect_tokens" doc:"tokens of the definitions it brings"`
	Rewinds       float64 `yaml:"rewinds" doc:"probability per turn behind the first that a person goes back and leaves the turn as a branch"`
	Resumes       float64 `yaml:"resumes" doc:"probability per turn behind the first that the session was closed and is resumed: only the static prefix stays readable"`
	ResumePause   Dist    `yaml:"resume_pause" doc:"seconds a session stays closed"`
	ResumeTokens  Dist    `yaml:"resume_tokens" doc:"tokens of reminders a resumed session sends anew"`

	Agents WorkAgents `yaml:"agents" doc:"the sub-agents that the tool Task starts"`
}

// WorkModel is one of the models of a workload.
type WorkModel struct {
	Name   string  `yaml:"name" doc:"model id"`
	Weight float64 `yaml:"weight" doc:"share, relative to the other weights"`
}

// WorkTool is one entry of a tool mix.
type WorkTool struct {
	Name   string  `yaml:"name" doc:"as Claude Code spells it; mcp__SERVER__TOOL for tools of MCP servers. Read, Edit and Write work on the files; Task starts a sub-agent"`
	Weight float64 `yaml:"weight" doc:"share of the mix, relative to the other weights"`
	Input  Dist    `yaml:"input,omitempty" doc:"tokens of free text in the call: a command, a replacement, a task"`
	Result Dist    `yaml:"result,omitempty" doc:"tokens of the result; not used by Read (the file decides) and Task (the report does)"`
	Time   Dist    `yaml:"time,omitempty" doc:"seconds from the call to its result; not used by Task"`
	Errors float64 `yaml:"errors,omitempty" doc:"probability that the call fails"`
}

// WorkPause is a kind of break a person makes before a prompt.
type WorkPause struct {
	Share  float64 `yaml:"share" doc:"probability per prompt; the rest of 1 is think"`
	Length Dist    `yaml:"length" doc:"seconds"`
}

// WorkAgents says how sub-agents behave. They use the workload's files, text,
// thinking and speed.
type WorkAgents struct {
	Type      string     `yaml:"type" doc:"subagent_type, such as Explore"`
	Model     string     `yaml:"model" doc:"model; empty for the session's"`
	Static    int        `yaml:"static" doc:"tokens of tools and system prompt, shared by agents of one type"`
	Reminders Dist       `yaml:"reminders" doc:"tokens ahead of the task that no line shows"`
	Rounds    Dist       `yaml:"rounds" doc:"calls of an agent, at least 1; it reports sooner when its context passes the threshold"`
	Report    Dist       `yaml:"report" doc:"tokens of the final answer"`
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
	return ClientThreshold(w.Version, w.window())
}

// lifetime returns how long a write is readable.
func (w *Workload) lifetime() time.Duration {
	if w.Lifetime == "1h" {
		return time.Hour
	}
	return 5 * time.Minute
}
