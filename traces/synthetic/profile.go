package synthetic

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// LogNormal is a heavy-tailed size or time: the median times exp(Sigma × a
// standard normal), clipped to [Min, Max]. A Median of 0 always gives Min; a
// Max of 0 is no limit; a Sigma of 0 is a constant.
type LogNormal struct {
	Median float64
	Sigma  float64
	Min    float64
	Max    float64
}

// Tool is one entry of a profile's tool mix.
type Tool struct {
	// Name as Claude Code spells it: Read, Edit, Write, Bash, Grep, Glob or Task.
	// Read and Edit work on the profile's files; Task starts a sub-agent.
	Name   string
	Weight float64   // share of the mix, relative to the other weights; ≥ 0
	Input  LogNormal // tokens of free text in the call: a command, a replacement, a task
	Result LogNormal // tokens of the result; not used by Read (the file's size decides) and Task (the agent's report)
	Time   LogNormal // seconds from the call to its result; not used by Task
	Errors float64   // probability that the call fails
}

// Pause is a kind of break a person makes before a prompt.
type Pause struct {
	Share  float64   // probability per prompt; the rest of 1 is Profile.Think
	Length LogNormal // seconds
}

// Agent says how the sub-agents started by the Task tool behave. They use the
// profile's files and its text, thinking and speed.
type Agent struct {
	Type      string // subagent_type, for example "Explore"
	Model     string // "" is the session's model
	Static    int    // tokens of tools and system prompt, shared by agents of one type
	Reminders int    // tokens ahead of the task that no line shows
	Rounds    LogNormal
	Report    LogNormal // tokens of the final answer
	Tools     []Tool    // without Task
	// OwnFiles writes each agent to a file of its own beside the session, as
	// later clients do; otherwise its messages are agent_progress lines of the
	// session's file.
	OwnFiles bool
}

// Profile says how a session behaves. Sizes are true tokens, times seconds.
type Profile struct {
	Name    string
	Version string // Claude Code's version, "2.1.42": decides the threshold and whether logged outputs are final
	Model   string
	Project string    // working directory written into the lines
	Branch  string    // git branch written into the lines
	Start   time.Time // first line

	Prompts  int       // prompts typed, ≥ 1
	Rounds   LogNormal // API calls per prompt, at least 1
	Prompt   LogNormal // tokens of a prompt
	Text     LogNormal // tokens of a text block
	Thinking LogNormal // tokens of a thinking block
	// TextShare and ThinkingShare are the probabilities that a call that uses
	// tools also writes text or thinks.
	TextShare     float64
	ThinkingShare float64
	Tools         []Tool
	Parallel      float64 // probability of each further tool use in a call, below 1

	Files    int       // files of the working set
	FileSize LogNormal // tokens of a file
	// Reread is the probability that a file is picked among the few used most;
	// otherwise any file of the set.
	Reread float64

	Think  LogNormal // seconds from a response to the next prompt
	Pauses []Pause   // longer breaks

	FirstToken LogNormal // seconds from a request to the first block
	Speed      LogNormal // output tokens per second

	TTL       prompt.TTL // lifetime the client asks for on every write
	Static    int        // tokens of tools and system prompt: what a compaction leaves readable
	Reminders int        // tokens ahead of the first prompt that no line shows: project files, environment
	// WarmStart and WarmExpiry are the probabilities that other sessions have
	// kept the static prefix readable at the first call and after an expiry.
	// Recorded: 64 % and 12 %.
	WarmStart  float64
	WarmExpiry float64

	Window        int       // tokens; 0 is 200,000
	Threshold     int       // tokens at which the client compacts; 0 is ClientThreshold, negative never
	Summary       LogNormal // tokens of a summary
	CompactTime   LogNormal // seconds a compaction takes
	RestoreFiles  int       // files read last that are restored after a compaction
	RestoreTokens int       // most tokens restored of each

	Agent Agent
	Hooks bool // log hook_progress and stop_hook_summary lines
}

// ClientThreshold returns the tokens at which Claude Code of the given version
// compacts in a window of the given size: window − 32k − 13k through 2.1.24,
// window − 20k − 13k from 2.1.25 (recorded minima 155.0k and 167.0k).
func ClientThreshold(version string, window int) int {
	if atLeast(version, 2, 1, 25) {
		return window - 20_000 - 13_000
	}
	return window - 32_000 - 13_000
}

// finalOutputs reports whether the version logs the final output tokens on the
// last line of a call; older ones log the value of the stream's start.
func finalOutputs(version string) bool { return atLeast(version, 2, 1, 59) }

// threshold returns the tokens at which the session compacts; 0 is never.
func (p *Profile) threshold() int {
	switch {
	case p.Threshold < 0:
		return 0
	case p.Threshold > 0:
		return p.Threshold
	}
	return ClientThreshold(p.Version, p.window())
}

func (p *Profile) window() int {
	if p.Window == 0 {
		return 200_000
	}
	return p.Window
}

func (p *Profile) lifetime() time.Duration {
	if p.TTL == prompt.TTL1h {
		return time.Hour
	}
	return 5 * time.Minute
}
