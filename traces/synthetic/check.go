package synthetic

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
)

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
