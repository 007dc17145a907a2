package synthetic

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/nearest"
)

// Bounds that keep sums of a session far from overflow.
const (
	maxSessionCalls  = 1_000_000
	maxSessionTokens = 100_000_000             // more is no usage that a reader believes
	maxContextTokens = maxSessionTokens / 2    // where a session is cut off, should it come there after all
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

// flaws are what is wrong with a workload, apart from what could not be read: of
// that nothing is said twice, nor anything made up.
type flaws struct {
	list []flaw
	lost []string // paths of values that could not be read and are zero
}

func (fs *flaws) add(path, format string, args ...any) {
	if !slices.ContainsFunc(fs.lost, func(lost string) bool { return related(lost, path) }) {
		fs.list = append(fs.list, flaw{path, fmt.Sprintf(format, args...)})
	}
}

// sound reports whether nothing is wrong at or below some paths: what is
// reckoned from their values is worth telling.
func (fs *flaws) sound(paths ...string) bool {
	for _, path := range paths {
		if slices.ContainsFunc(fs.lost, func(lost string) bool { return related(lost, path) }) ||
			slices.ContainsFunc(fs.list, func(f flaw) bool { return related(f.path, path) }) {
			return false
		}
	}
	return true
}

// related reports whether one of two paths leads to or through the other.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == "" || a == b || strings.HasPrefix(b, a+".")
}

// Validate returns all problems of the workload at once.
func (w *Workload) Validate() []error {
	var errs []error
	for _, f := range w.flaws(nil) {
		errs = append(errs, fmt.Errorf("%s: %s", f.path, f.text))
	}
	return errs
}

// flaws returns what is wrong with a workload of which some values could not be
// read.
func (w *Workload) flaws(lost []string) []flaw {
	fs := flaws{lost: lost}
	if _, ok := parseVersion(w.Version); !ok {
		fs.add("version", "%q is none: want three numbers such as 2.1.62", w.Version)
	}
	if w.Project == "" || !utf8.ValidString(w.Project) {
		fs.add("project", "%q is none: want a folder", w.Project)
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
	if fs.sound("") {
		w.checkTotals(&fs)
	}
	return fs.list
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
	for _, d := range []struct {
		path, what string
		dist       *Dist
	}{{"turns", "turn", &w.Turns}, {"rounds", "call", &w.Rounds}, {"prompt", "token", &w.Prompt}} {
		if fs.sound(d.path) && d.dist.top() < 1 {
			fs.add(d.path, "missing, or never as much as one %s", d.what)
		}
	}
	if low := w.Speed.bottom(); fs.sound("speed") && low < minRate {
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
	if w.Images > 0 && fs.sound("image_bytes") && w.ImageBytes.bottom() < 1 {
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
		if t.Weight > 0 && worksOnFiles(t.Name) && w.Files < 1 && !slices.Contains(fs.lost, "files") {
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
	fs.within("static", float64(w.Static), minStaticTokens, maxHidden)
	fs.within("read_limit", float64(w.ReadLimit), 100, maxTokens)
	fs.within("window", float64(w.Window), 0, maxTokens)
	if n := w.Static + int(w.Reminders.top()); fs.sound("static", "reminders") && n > maxHidden {
		fs.add("reminders", "static prefix and reminders come to %d tokens, more than the %d that a reader takes for a beginning", n, maxHidden)
	}
	if n := w.Agents.Static + int(w.Agents.Reminders.top()); fs.sound("agents.static", "agents.reminders") && n > maxHidden {
		fs.add("agents.reminders", "static prefix and reminders come to %d tokens, more than the %d that a reader takes for a beginning", n, maxHidden)
	}
	if !fs.sound("version", "window", "threshold") || w.threshold() == 0 {
		return
	}
	limit := w.threshold()
	if limit > w.window() {
		fs.add("threshold", "%d lies above the window of %d tokens", limit, w.window())
	}
	if !fs.sound("static", "reminders", "summary", "restored") {
		return
	}
	if n := w.Static + int(w.Reminders.top()+w.Summary.top()+w.Restored.top()); n >= limit {
		fs.add("threshold", "a compaction may leave %d tokens (static, reminders, summary, restored), not less than the threshold of %d", n, limit)
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
