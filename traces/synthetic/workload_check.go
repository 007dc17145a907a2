package synthetic

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
)

// Bounds that keep sums of a session far from overflow.
const (
	maxSessionCalls  = 1_000_000
	maxSessionTokens = 100_000_000             // more is no usage that a reader believes
	maxSessionTime   = 100 * 365 * 24 * 3600.0 // s
	maxHidden        = 60_000                  // static prefix and reminders: of more a reader thinks the session begins in the middle
	minStaticTokens  = 1024                    // nothing shorter can be cached, nor recognised as static
	maxSpread        = 10 * 365 * 24 * 3600.0  // s
	maxBytes         = 100_000_000             // of an image
	maxRate          = 1e6                     // output tokens per second
	minRate          = 0.01                    // the same
)

// otherTools are tools beside those of Profile that a workload may name; their
// input is free text.
var otherTools = []string{
	"AskUserQuestion", "ExitPlanMode", "KillShell", "Skill", "TaskCreate", "TaskOutput", "TaskUpdate", "TodoWrite", "WebFetch", "WebSearch",
}

// flaw is something wrong with a workload.
type flaw struct {
	path string // keys and indices that lead to it, joined by dots
	text string
}

type flaws []flaw

func (fs *flaws) add(path, format string, args ...any) {
	*fs = append(*fs, flaw{path, fmt.Sprintf(format, args...)})
}

// Validate returns all problems of the workload at once.
func (w *Workload) Validate() []error {
	var errs []error
	for _, f := range w.flaws() {
		errs = append(errs, fmt.Errorf("%s: %s", f.path, f.text))
	}
	return errs
}

func (w *Workload) flaws() []flaw {
	var fs flaws
	if _, ok := parseVersion(w.Version); !ok {
		fs.add("version", "%q is none: want three numbers such as 2.1.62", w.Version)
	}
	if y := w.Start.Year(); y < 2000 || y > 2100 {
		fs.add("start", "%s lies outside the years 2000 to 2100", w.Start.Format("2006-01-02"))
	}
	if w.Lifetime != "5m" && w.Lifetime != "1h" {
		fs.add("lifetime", "%q is none: want 5m or 1h", w.Lifetime)
	}
	fs.within("spread", w.Spread, 0, maxSpread)
	w.checkModels(&fs)
	w.checkDists(&fs)
	w.checkShares(&fs)
	w.checkMixes(&fs)
	w.checkPauses(&fs)
	w.checkContext(&fs)
	if len(fs) == 0 {
		w.checkTotals(&fs)
	}
	return fs
}

func (w *Workload) checkModels(fs *flaws) {
	sum := 0.0
	for i, m := range w.Models {
		path := "models." + strconv.Itoa(i)
		if m.Name == "" {
			fs.add(path+".name", "a model needs a name")
		}
		fs.within(path+".weight", m.Weight, 0, 1e9)
		sum += max(m.Weight, 0)
	}
	if !(sum > 0) {
		fs.add("models", "empty: no model has a weight above 0")
	}
}

func (w *Workload) checkDists(fs *flaws) {
	for _, d := range []struct {
		path  string
		dist  *Dist
		limit float64
	}{
		{"turns", &w.Turns, maxSessionCalls}, {"rounds", &w.Rounds, maxSessionCalls}, {"agents.rounds", &w.Agents.Rounds, maxSessionCalls},
		{"prompt", &w.Prompt, maxTokens}, {"text", &w.Text, maxTokens}, {"answer", &w.Answer, maxTokens}, {"thinking", &w.Thinking, maxTokens},
		{"file_size", &w.FileSize, maxTokens}, {"summary", &w.Summary, maxTokens}, {"restored", &w.Restored, maxTokens},
		{"reminders", &w.Reminders, maxHidden}, {"connect_tokens", &w.ConnectTokens, maxTokens}, {"resume_tokens", &w.ResumeTokens, maxTokens},
		{"agents.reminders", &w.Agents.Reminders, maxHidden}, {"agents.report", &w.Agents.Report, maxTokens},
		{"image_bytes", &w.ImageBytes, maxBytes}, {"think", &w.Think, maxSeconds}, {"first_token", &w.FirstToken, maxSeconds},
		{"speed", &w.Speed, maxRate}, {"compact_time", &w.CompactTime, maxSeconds}, {"resume_pause", &w.ResumePause, maxSeconds},
	} {
		fs.dist(d.path, d.dist, d.limit)
	}
	if low := w.Speed.quantile(1e-9); low < minRate {
		fs.add("speed", "draws of %g tokens per second: want a minimum of %g", low, minRate)
	}
}

func (w *Workload) checkShares(fs *flaws) {
	for _, s := range []struct {
		path  string
		share float64
	}{
		{"switch_model", w.SwitchModel}, {"text_share", w.TextShare}, {"thinking_share", w.ThinkingShare}, {"images", w.Images},
		{"reread", w.Reread}, {"warm_start", w.WarmStart}, {"warm_expiry", w.WarmExpiry}, {"connects", w.Connects}, {"resumes", w.Resumes},
	} {
		fs.within(s.path, s.share, 0, 1)
	}
	fs.within("parallel", w.Parallel, 0, 0.9)
	fs.within("rewinds", w.Rewinds, 0, 0.9)
	fs.within("files", float64(w.Files), 0, 1_000_000)
	if w.Images > 0 && w.ImageBytes.quantile(1e-9) < 1 {
		fs.add("image_bytes", "images need bytes")
	}
}

func (w *Workload) checkMixes(fs *flaws) {
	agents := w.checkMix(fs, "tools", w.Tools, true)
	if agents {
		w.checkMix(fs, "agents.tools", w.Agents.Tools, false)
		fs.within("agents.static", float64(w.Agents.Static), minStaticTokens, maxHidden)
		if w.Agents.Type == "" {
			fs.add("agents.type", "missing: the tools start sub-agents")
		}
	}
}

// checkMix reports whether the mix starts sub-agents.
func (w *Workload) checkMix(fs *flaws, path string, tools []WorkTool, mayStart bool) (starts bool) {
	sum := 0.0
	for i := range tools {
		t := &tools[i]
		at := path + "." + strconv.Itoa(i)
		if !knownTool(t.Name) && !strings.HasPrefix(t.Name, "mcp__") && !slices.Contains(otherTools, t.Name) {
			fs.add(at+".name", "unknown tool %q%s", t.Name, nearest.Hint(t.Name, append(toolNames[:len(toolNames):len(toolNames)], otherTools...)))
		}
		fs.within(at+".weight", t.Weight, 0, 1e9)
		sum += max(t.Weight, 0)
		fs.dist(at+".input", &t.Input, maxTokens)
		fs.dist(at+".result", &t.Result, maxTokens)
		fs.dist(at+".time", &t.Time, maxSeconds)
		fs.within(at+".errors", t.Errors, 0, 1)
		if t.Weight > 0 && worksOnFiles(t.Name) && w.Files < 1 {
			fs.add(at, "%s works on files, and the working set has none (files: %d)", t.Name, w.Files)
		}
		if t.Name == toolTask {
			starts = starts || t.Weight > 0
			if !mayStart {
				fs.add(at, "sub-agents start no sub-agents")
			}
		}
	}
	if !(sum > 0) {
		fs.add(path, "empty: no tool has a weight above 0")
	}
	return starts
}

func (w *Workload) checkPauses(fs *flaws) {
	sum := 0.0
	for i := range w.Pauses {
		path := "pauses." + strconv.Itoa(i)
		fs.within(path+".share", w.Pauses[i].Share, 0, 1)
		fs.dist(path+".length", &w.Pauses[i].Length, maxSeconds)
		sum += w.Pauses[i].Share
	}
	if sum > 1+1e-9 {
		fs.add("pauses", "their shares sum to %g, more than 1", sum)
	}
}

func (w *Workload) checkContext(fs *flaws) {
	before := len(*fs)
	fs.within("static", float64(w.Static), minStaticTokens, maxHidden)
	fs.within("read_limit", float64(w.ReadLimit), 100, maxTokens)
	fs.within("window", float64(w.Window), 0, maxTokens)
	if len(*fs) > before {
		return
	}
	if n := w.Static + int(w.Reminders.top()); n > maxHidden {
		fs.add("reminders", "static prefix and reminders come to %d tokens, more than the %d that a reader takes for a beginning", n, maxHidden)
	}
	if n := w.Agents.Static + int(w.Agents.Reminders.top()); n > maxHidden {
		fs.add("agents.reminders", "static prefix and reminders come to %d tokens, more than the %d that a reader takes for a beginning", n, maxHidden)
	}
	limit := w.threshold()
	if limit == 0 {
		return
	}
	if limit > w.window() {
		fs.add("threshold", "%d lies above the window of %d tokens", limit, w.window())
	}
	if n := w.Static + int(w.Reminders.top()+w.Summary.top()+w.Restored.top()); n >= limit {
		fs.add("threshold", "a compaction may leave %d tokens (static, reminders, summary, restored), not less than the threshold of %d", n, limit)
	}
}

// checkTotals looks for sessions that would overflow what holds them.
func (w *Workload) checkTotals(fs *flaws) {
	calls := w.Turns.top() * w.Rounds.top()
	if calls > maxSessionCalls {
		fs.add("turns", "turns and rounds come to %.3g calls in a session, more than %d: set maxima", calls, maxSessionCalls)
	}
	perTurn := max(w.Think.top(), w.ResumePause.top())
	for i := range w.Pauses {
		perTurn = max(perTurn, w.Pauses[i].Length.top())
	}
	reply := w.FirstToken.top() + (max(w.Answer.top(), w.Text.top())+w.Thinking.top())/w.Speed.quantile(1e-9)
	slowest := 0.0
	for i := range w.Tools {
		slowest = max(slowest, w.Tools[i].Time.top())
	}
	if seconds := w.Turns.top()*perTurn + calls*(reply+slowest); seconds > maxSessionTime {
		fs.add("turns", "the times of a session may come to %.3g years, more than %d: set maxima", seconds/(365*24*3600), int(maxSessionTime/(365*24*3600)))
	}
	if w.threshold() != 0 {
		return
	}
	if n := calls * (w.Prompt.top() + w.Text.top() + w.Thinking.top() + w.FileSize.top()); n > 100*maxSessionTokens {
		fs.add("threshold", "never compacting, a session may come to %.3g tokens: set maxima for turns and rounds", n)
	}
}

func (fs *flaws) within(path string, x, low, high float64) {
	if !(x >= low && x <= high) {
		fs.add(path, "%g is out of range: want %g to %g", x, low, high)
	}
}

func (fs *flaws) dist(path string, d *Dist, limit float64) {
	for _, x := range append([]float64{d.Median, d.Sigma, d.Min, d.Max}, d.Quantiles...) {
		if !(x >= 0 && x <= limit) {
			fs.add(path, "%g is out of range: want 0 to %g", x, limit)
			return
		}
	}
	for i := 1; i < len(d.Quantiles); i++ {
		if d.Quantiles[i] < d.Quantiles[i-1] {
			fs.add(path, "quantiles fall from %g to %g", d.Quantiles[i-1], d.Quantiles[i])
			return
		}
	}
	switch {
	case len(d.Quantiles) == 1:
		fs.add(path, "one quantile says nothing: want two or more, or median")
	case len(d.Quantiles) > 0 && (d.Median != 0 || d.Sigma != 0):
		fs.add(path, "has both quantiles and a median")
	case d.Max > 0 && d.Min > d.Max:
		fs.add(path, "minimum %g above maximum %g", d.Min, d.Max)
	case math.IsInf(d.top(), 0) || d.top() > limit:
		fs.add(path, "the tail passes %g: set a maximum", limit)
	}
}
