package synthetic

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/nearest"
)

// maxHidden is the largest static prefix with reminders, tokens: a reader takes
// a session with more for one that begins in the middle.
const maxHidden = 60_000

// minStatic is the smallest static prefix, tokens: nothing shorter is cached.
const minStatic = 1024

// Validate returns all problems of the workload at once, each with the path of
// its key. Sums over several keys are checked once the keys by themselves are
// right.
func (w *Workload) Validate() []error {
	var errs []error
	for _, f := range w.flaws() {
		errs = append(errs, fmt.Errorf("%s: %s", f.path, f.text))
	}
	return errs
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

func (w *Workload) flaws() []flaw {
	var fs flaws
	fs.bounds(reflect.ValueOf(w).Elem(), "")
	if _, ok := parseVersion(w.Version); !ok {
		fs.add("version", "want three numbers such as 2.1.62, not %q", w.Version)
	}
	if w.Project == "" || !utf8.ValidString(w.Project) {
		fs.add("project", "want a folder, not %q", w.Project)
	}
	if y := w.Start.Year(); y < 2000 || y > 2100 {
		fs.add("start", "%s lies outside the years 2000 to 2100", w.Start.Format("2006-01-02"))
	}
	w.checkDraws(&fs)
	w.checkMixes(&fs)
	if len(fs) == 0 {
		w.checkContext(&fs)
	}
	if len(fs) == 0 {
		w.checkSize(&fs)
	}
	return fs
}

// bounds holds the fields of a struct against their tags.
func (fs *flaws) bounds(v reflect.Value, path string) {
	for i := range v.NumField() {
		field, f := v.Type().Field(i), v.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		at := strings.TrimPrefix(path+"."+key, ".")
		low, _ := strconv.ParseFloat(field.Tag.Get("min"), 64) // 0 without a tag
		high, err := strconv.ParseFloat(field.Tag.Get("max"), 64)
		bounded := err == nil
		switch {
		case f.Type() == reflect.TypeFor[Dist]():
			d := f.Interface().(Dist)
			fs.dist(at, &d, low, high)
		case f.Kind() == reflect.Slice:
			for k := range f.Len() {
				fs.bounds(f.Index(k), at+"."+strconv.Itoa(k))
			}
		case f.Type() == reflect.TypeFor[WorkAgents]():
			fs.bounds(f, at)
		case f.Kind() == reflect.String:
			if enum := field.Tag.Get("enum"); enum != "" && !slices.Contains(strings.Split(enum, ","), f.String()) {
				fs.add(at, "want %s, not %q", strings.ReplaceAll(enum, ",", " or "), f.String())
			}
		case bounded && f.CanInt():
			fs.within(at, float64(f.Int()), low, high)
		case bounded:
			fs.within(at, f.Float(), low, high)
		}
	}
}

func (fs *flaws) within(path string, x, low, high float64) {
	if !(x >= low && x <= high) {
		fs.add(path, "%g is out of range: want %g to %g", x, low, high)
	}
}

// dist checks a distribution whose draws must lie in low…high.
func (fs *flaws) dist(path string, d *Dist, low, high float64) {
	for _, x := range append([]float64{d.Median, d.Sigma, d.Min, d.Max}, d.Quantiles...) {
		if !(x >= 0 && x <= high) {
			fs.add(path, "%g is out of range: want 0 to %g", x, high)
			return
		}
	}
	switch {
	case !slices.IsSorted(d.Quantiles):
		fs.add(path, "quantiles must not fall")
	case len(d.Quantiles) == 1:
		fs.add(path, "one quantile is not enough: want two or more, or a median")
	case len(d.Quantiles) > 0 && (d.Median != 0 || d.Sigma != 0):
		fs.add(path, "has both quantiles and a median")
	case d.Max > 0 && d.Min > d.Max:
		fs.add(path, "minimum %g above maximum %g", d.Min, d.Max)
	case math.IsInf(d.top(), 0) || d.top() > high:
		fs.add(path, "the tail passes %g: set a maximum", high)
	case d.bottom() < low:
		fs.add(path, "draws of %g: want a minimum of %g", d.bottom(), low)
	}
}

// checkDraws checks what is drawn at least once, and shares that add up.
func (w *Workload) checkDraws(fs *flaws) {
	for _, d := range []struct {
		path string
		dist *Dist
	}{{"turns", &w.Turns}, {"rounds", &w.Rounds}, {"prompt", &w.Prompt}} {
		told := slices.ContainsFunc(*fs, func(f flaw) bool { return f.path == d.path })
		if !told && d.dist.top() < 1 {
			fs.add(d.path, "missing, or always less than 1")
		}
	}
	if w.Images > 0 && w.ImageBytes.bottom() < 1 {
		fs.add("image_bytes", "images need bytes")
	}
	weights, shares := 0.0, 0.0
	for i, m := range w.Models {
		if m.Name == "" {
			fs.add("models."+strconv.Itoa(i)+".name", "a model needs a name")
		}
		weights += m.Weight
	}
	if !(weights > 0) {
		fs.add("models", "empty: no model has a weight above 0")
	}
	for _, p := range w.Pauses {
		shares += p.Share
	}
	if shares > 1+1e-9 {
		fs.add("pauses", "their shares sum to %g, more than 1", shares)
	}
}

func (w *Workload) checkMixes(fs *flaws) {
	if !w.checkMix(fs, "tools", w.Tools) {
		return
	}
	if w.checkMix(fs, "agents.tools", w.Agents.Tools) {
		fs.add("agents.tools", "sub-agents start no sub-agents: leave out Task")
	}
	fs.within("agents.static", float64(w.Agents.Static), minStatic, maxHidden)
	if w.Agents.Type == "" {
		fs.add("agents.type", "missing: the tools start sub-agents")
	}
}

// checkMix reports whether the mix starts sub-agents.
func (w *Workload) checkMix(fs *flaws, path string, tools []WorkTool) (starts bool) {
	sum := 0.0
	for i := range tools {
		t, at := &tools[i], path+"."+strconv.Itoa(i)
		if !slices.Contains(knownTools, t.Name) && !strings.HasPrefix(t.Name, "mcp__") {
			fs.add(at+".name", "unknown tool %q%s", t.Name, nearest.Hint(t.Name, knownTools))
		}
		sum += t.Weight
		if t.Weight > 0 && worksOnFiles(t.Name) && w.Files < 1 {
			fs.add(at, "%s works on files, and the working set has none (files: 0)", t.Name)
		}
		starts = starts || t.Name == toolTask && t.Weight > 0
	}
	if !(sum > 0) {
		fs.add(path, "empty: no tool has a weight above 0")
	}
	return starts
}

func (w *Workload) checkContext(fs *flaws) {
	const text = "static prefix and reminders come to %d tokens, more than the %d that a session begins with"
	hidden := w.Static + int(w.Reminders.top())
	if hidden > maxHidden {
		fs.add("reminders", text, hidden, maxHidden)
	}
	if n := w.Agents.Static + int(w.Agents.Reminders.top()); n > maxHidden {
		fs.add("agents.reminders", text, n, maxHidden)
	}
	limit := w.threshold()
	if limit == 0 {
		return
	}
	if limit > w.window() {
		fs.add("threshold", "%d lies above the window of %d tokens", limit, w.window())
	}
	if n := hidden + int(w.Summary.top()+w.Restored.top()); n >= limit {
		fs.add("threshold", "a compaction may leave %d tokens (static, reminders, summary, restored), "+
			"not less than the threshold of %d", n, limit)
	}
}

// checkSize refuses a workload whose typical session is larger than a session
// can be. The tail of a smaller one is cut off: see plan.full.
func (w *Workload) checkSize(fs *flaws) {
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
		fs.add(path, "half of the sessions come to %.3g calls, of sub-agents too, and %.3g blocks, more than %d: "+
			"lower turns and rounds", calls+agentCalls, n, numberMask)
	}
}
