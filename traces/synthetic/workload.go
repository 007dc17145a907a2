package synthetic

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
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

	Writing `yaml:",inline"`

	Tools    []WorkTool `yaml:"tools" doc:"tool mix"`
	Parallel float64    `yaml:"parallel" min:"0" max:"0.9" doc:"probability of each further tool use in a call"`

	WorkingSet `yaml:",inline"`

	Pace `yaml:",inline"`

	Head `yaml:",inline"`

	Compactions `yaml:",inline"`

	Interruptions `yaml:",inline"`

	Agents WorkAgents `yaml:"agents" doc:"the sub-agents that the tool Task starts"`
}

// Interruptions are changes of tools, prompts taken back and sessions taken up again.
type Interruptions struct {
	Connects      float64 `yaml:"connects" min:"0" max:"1" doc:"probability per turn that an MCP server changes the tools"`
	ConnectTokens Dist    `yaml:"connect_tokens" max:"2000000" doc:"tokens of the definitions it brings"`
	Rewinds       float64 `yaml:"rewinds" min:"0" max:"0.9" doc:"probability per turn that it is taken back: a branch"`
	Resumes       float64 `yaml:"resumes" min:"0" max:"1" doc:"probability per turn that the session was closed before"`
	ResumePause   Dist    `yaml:"resume_pause" max:"315360000" doc:"seconds a session stays closed"`
	ResumeTokens  Dist    `yaml:"resume_tokens" max:"2000000" doc:"tokens of reminders a resumed session sends anew"`
}

// Compactions says when a client compacts and what it leaves.
type Compactions struct {
	Window      int  `yaml:"window" min:"0" max:"10000000" doc:"context window, tokens; 0 is 200,000"`
	Threshold   int  `yaml:"threshold" doc:"tokens at which it compacts; 0 is the version's, negative never"`
	Summary     Dist `yaml:"summary" max:"2000000" doc:"tokens of a summary"`
	Restored    Dist `yaml:"restored" max:"2000000" doc:"tokens of files and notices put back beside a summary"`
	CompactTime Dist `yaml:"compact_time" max:"315360000" doc:"seconds a compaction takes"`
}

// Head is what stands ahead of the first prompt, and how it is cached.
type Head struct {
	Lifetime   string  `yaml:"lifetime" enum:"5m,1h" doc:"lifetime the client asks for on every write"`
	Static     int     `yaml:"static" min:"1024" max:"60000" doc:"tokens of tools and system prompt"`
	Reminders  Dist    `yaml:"reminders" max:"60000" doc:"tokens before the first prompt that no line shows"`
	WarmStart  float64 `yaml:"warm_start" min:"0" max:"1" doc:"probability that a first call finds a cached prefix"`
	WarmExpiry float64 `yaml:"warm_expiry" min:"0" max:"1" doc:"probability of the same after an expiry"`
}

// Pace is how long people and the model take.
type Pace struct {
	Think  Dist        `yaml:"think" max:"315360000" doc:"seconds from a response to the next prompt"`
	Pauses []workPause `yaml:"pauses" doc:"longer breaks before a prompt"`

	FirstToken Dist `yaml:"first_token" max:"315360000" doc:"seconds from a request to the first token"`
	Speed      Dist `yaml:"speed" min:"0.1" max:"1000000" doc:"output tokens per second"`
}

// WorkingSet is the files that a session works on.
type WorkingSet struct {
	Files     int     `yaml:"files" min:"0" max:"1000000" doc:"files of the working set"`
	FileSize  Dist    `yaml:"file_size" max:"2000000" doc:"tokens of a file"`
	ReadLimit int     `yaml:"read_limit" min:"100" max:"2000000" doc:"tokens up to which a file is read whole"`
	Reread    float64 `yaml:"reread" min:"0" max:"1" doc:"probability that a file is picked among the five used last"`
}

// Writing says which parts calls and prompts have.
type Writing struct {
	TextShare     float64 `yaml:"text_share" min:"0" max:"1" doc:"share of calls with tools that write text"`
	ThinkingShare float64 `yaml:"thinking_share" min:"0" max:"1" doc:"share of calls that think"`
	Images        float64 `yaml:"images" min:"0" max:"1" doc:"share of prompts with an image"`
	ImageBytes    Dist    `yaml:"image_bytes" max:"100000000" doc:"bytes of an image in base64, at least 27"`
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

// maxHidden is the largest static prefix with reminders, tokens: a reader takes
// a session with more for one that begins in the middle.
const maxHidden = 60_000

// released is the form of a version of the client.
var released = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.\d{1,9}$`)

// minStatic is the smallest static prefix, tokens: nothing shorter is cached.
const minStatic = 1024

// Validate returns all problems of the workload at once, each after the path of
// its key and a colon.
func (w *Workload) Validate() []error {
	var errs []error
	for _, p := range spec.Validate(w) {
		text := strings.TrimLeft(strings.TrimPrefix(p.Error(), p.Paths[0]), ": ")
		errs = append(errs, fmt.Errorf("%s: %s", p.Paths[0], text))
	}
	return errs
}

// faults collects what is wrong with values.
type faults []error

func (fs *faults) add(path, format string, args ...any) {
	*fs = append(*fs, spec.Wrong(path, format, args...))
}

// Within returns an error for a distribution with a draw out of low…high.
func (d *Dist) Within(low, high float64) error {
	for _, x := range append([]float64{d.Median, d.Sigma, d.Min, d.Max}, d.Quantiles...) {
		if !(x >= 0 && x <= high) {
			return spec.Wrong("", "%g is out of range: want 0 to %g", x, high)
		}
	}
	switch {
	case !slices.IsSorted(d.Quantiles):
		return spec.Wrong("", "has quantiles that fall")
	case len(d.Quantiles) == 1:
		return spec.Wrong("", "has one quantile: want two or more, or a median")
	case len(d.Quantiles) > 0 && (d.Median != 0 || d.Sigma != 0):
		return spec.Wrong("", "has both quantiles and a median")
	case d.Max > 0 && d.Min > d.Max:
		return spec.Wrong("", "has a minimum of %g above the maximum of %g", d.Min, d.Max)
	case !(d.top() <= high):
		return spec.Wrong("", "has a tail beyond %g: set a maximum", high)
	case d.top() < math.Ceil(low):
		return spec.Wrong("", "is missing, or always less than %g", math.Ceil(low))
	case low > 0 && low < 1 && d.bottom() < low:
		return spec.Wrong("", "draws %.3g: want a minimum of %g", d.bottom(), low)
	}
	return nil
}

// Rules refuses a tool that is not known.
func (t *WorkTool) Rules() []error {
	if slices.Contains(knownTools, t.Name) || strings.HasPrefix(t.Name, "mcp__") {
		return nil
	}
	return []error{spec.Wrong("name", "%q is unknown%s", t.Name, nearest.Hint(t.Name, knownTools))}
}

// Rules returns what the tags of the fields cannot say: bounds of draws, and
// values that contradict each other.
func (w *Workload) Rules() []error {
	var fs faults
	if !released.MatchString(w.Version) {
		fs.add("version", "%q: want three numbers such as 2.1.62", w.Version)
	}
	if w.Project == "" || !utf8.ValidString(w.Project) {
		fs.add("project", "%q: want a folder", w.Project)
	}
	if y := w.Start.Year(); y < 2000 || y > 2100 {
		fs.add("start", "%s lies outside the years 2000 to 2100", w.Start.Format("2006-01-02"))
	}
	w.checkShares(&fs)
	if w.checkMix(&fs, "tools", w.Tools) {
		w.checkAgents(&fs)
	}
	if len(fs) == 0 {
		w.checkContext(&fs)
		w.checkSize(&fs)
	}
	return fs
}

func (w *Workload) checkShares(fs *faults) {
	if w.Images > 0 && w.ImageBytes.bottom() < 1 {
		fs.add("image_bytes", "is missing: images need bytes")
	}
	weights, shares := 0.0, 0.0
	for i, m := range w.Models {
		if m.Name == "" {
			fs.add("models["+strconv.Itoa(i)+"].name", "is missing")
		}
		weights += m.Weight
	}
	if !(weights > 0) {
		fs.add("models", "is empty: no model has a weight above 0")
	}
	for _, p := range w.Pauses {
		shares += p.Share
	}
	if shares > 1+1e-9 {
		fs.add("pauses", "has shares that sum to %g, more than 1", shares)
	}
}

// checkMix reports whether the mix starts sub-agents.
func (w *Workload) checkMix(fs *faults, path string, tools []WorkTool) (starts bool) {
	sum, files := 0.0, false
	for i := range tools {
		t := &tools[i]
		sum += t.Weight
		files = files || t.Weight > 0 && worksOnFiles(t.Name)
		starts = starts || t.Name == toolTask && t.Weight > 0
	}
	if !(sum > 0) {
		fs.add(path, "is empty: no tool has a weight above 0")
	}
	if files && w.Files < 1 {
		fs.add("files", "is 0, and %s work on files", path)
	}
	return starts
}

// checkAgents checks what only sub-agents need.
func (w *Workload) checkAgents(fs *faults) {
	if w.checkMix(fs, "agents.tools", w.Agents.Tools) {
		fs.add("agents.tools", "starts sub-agents: leave out Task")
	}
	if w.Agents.Static < minStatic {
		fs.add("agents.static", "%d must be at least %d", w.Agents.Static, minStatic)
	}
	if w.Agents.Type == "" {
		fs.add("agents.type", "is missing: the tools start sub-agents")
	}
}

// most returns the largest draw of a size, tokens.
func most(d Dist) int { return int(min(d.top(), 1e9)) }

func (w *Workload) checkContext(fs *faults) {
	const text = "come to %d tokens with the static prefix, more than the %d that a session begins with"
	hidden := w.Static + most(w.Reminders)
	if hidden > maxHidden {
		fs.add("reminders", text, hidden, maxHidden)
	}
	if n := w.Agents.Static + most(w.Agents.Reminders); n > maxHidden {
		fs.add("agents.reminders", text, n, maxHidden)
	}
	limit := w.threshold()
	if limit == 0 {
		return
	}
	if limit > w.window() {
		fs.add("threshold", "%d lies above the window of %d tokens", limit, w.window())
	}
	if n := hidden + most(w.Summary) + most(w.Restored); n >= limit {
		fs.add("threshold", "%d is no more than what a compaction may leave: "+
			"%d tokens of static, reminders, summary and restored", limit, n)
	}
}

// checkSize refuses a workload whose typical session is larger than a session
// can be. The tail of others is cut off: see plan.full.
func (w *Workload) checkSize(fs *faults) {
	weights, tasks := 0.0, 0.0
	for _, t := range w.Tools {
		weights += t.Weight
		if t.Name == toolTask {
			tasks += t.Weight
		}
	}
	uses := min(1/(1-w.Parallel), maxUses)
	calls := max(1, w.Turns.quantile(0.5)) * max(1, w.Rounds.quantile(0.5))
	agentCalls := calls * uses * tasks / weights * max(1, w.Agents.Rounds.quantile(0.5))
	if n := (calls + agentCalls) * (2 + 2*uses); n > numberMask {
		path := "turns"
		if agentCalls > calls {
			path = "agents.rounds"
		}
		fs.add(path, "make sessions of %.3g calls and %.3g blocks, more than %d: lower turns and rounds",
			calls+agentCalls, n, numberMask)
	}
}
