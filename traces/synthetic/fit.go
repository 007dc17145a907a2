package synthetic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/stats"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

const (
	fitSteps        = 40     // steps between the quantiles of a fitted profile
	fittedTools     = 12     // tools a fitted mix keeps; the rarest are left out
	fittedReadLimit = 25_000 // tokens that one Read returns at most, Claude Code's own limit
	typicalPath     = 60     // bytes of names in a tool's input
)

// FitWorkload returns a workload whose sizes, times, mix and shares are those of
// recorded sessions: numbers, no content. What no recording shows comes from
// base: the version, which decides the threshold, connects and resumes.
func FitWorkload(base *Workload, sessions []*traces.Session) *Workload {
	f := fitter{observer: observe(sessions), w: *base, rates: traces.DefaultRates()}
	f.said()
	f.tools()
	f.times()
	f.prefixes()
	return &f.w
}

// fitter writes what was observed into a workload.
type fitter struct {
	*observer
	w     Workload
	rates traces.Rates
}

// said fits what is said, by which model.
func (f *fitter) said() {
	w := &f.w
	w.Doc = fmt.Sprintf("Fitted on %d recorded sessions with %d calls: numbers, no content.",
		len(f.values[PerSession]), len(f.values["output per call"]))
	w.Project = "/home/dev/recorded"
	w.Turns, w.Rounds = f.dist(PerSession), f.dist("calls per turn")
	w.Prompt, w.Text = f.dist("prompt"), f.dist("text")
	w.Answer, w.Thinking = f.dist("answer"), f.dist("thinking")
	w.TextShare, w.ThinkingShare = f.mean("calls with tools that write text"), f.mean("calls that think")
	w.Images = ratio(float64(len(f.values["image bytes"])), float64(len(f.values["prompts"])))
	f.keep(&w.ImageBytes, "image bytes")
	w.Models = nil
	turns := 0.0
	for _, name := range byWeight(f.models) {
		w.Models = append(w.Models, WorkModel{name, f.models[name]})
		turns += f.models[name]
	}
	w.SwitchModel, w.Rewinds = f.mean("switches of the model"), ratio(sum(f.values["branches per session"]), turns)
}

// tools fits the tool mixes and the working set.
func (f *fitter) tools() {
	w := &f.w
	if mean := f.mean("tool uses per call"); mean > 1 {
		w.Parallel = rounded(1 - 1/mean)
	}
	w.Files = max(1, int(quantileOf(f.values["files per session"], 0.9)))
	w.FileSize, w.ReadLimit = f.dist("result of Read"), fittedReadLimit
	w.Reread = f.mean("reads of a file read before")
	w.Tools = f.mix("main ")
	w.Agents.Tools = slices.DeleteFunc(f.mix("agents' "), func(t WorkTool) bool { return t.Name == toolTask })
	w.Agents.Type = cmp.Or(w.Agents.Type, "general-purpose")
	if len(w.Agents.Tools) == 0 {
		w.Tools = slices.DeleteFunc(w.Tools, func(t WorkTool) bool { return t.Name == toolTask })
	}
}

// mix returns the tools by how often they were used, without those that a
// workload does not know.
func (f *fitter) mix(users string) []WorkTool {
	weights := map[string]float64{}
	for name, inputs := range f.values {
		if tool, ok := strings.CutPrefix(name, "input of "+users); ok {
			weights[tool] = float64(len(inputs))
		}
	}
	var list []WorkTool
	for _, name := range byWeight(weights) {
		if len(list) == fittedTools || !slices.Contains(knownTools, name) {
			continue
		}
		t := WorkTool{Name: name, Weight: weights[name]}
		t.Errors = ratio(sum(f.values["failures of "+users+name]), t.Weight)
		if name != toolRead {
			fixed := f.rates.Fixed[prompt.KindToolUse] + f.rates.PerByte[prompt.KindToolUse]*typicalPath
			t.Input = quantilesOf(f.each("input of "+users+name, func(x float64) float64 { return max(2, x-fixed) }))
		}
		if name != toolRead && name != toolTask {
			t.Result = f.dist("result of " + users + name)
		}
		if name != toolTask {
			t.Time = f.dist("time of " + users + name)
		}
		list = append(list, t)
	}
	return list
}

// times fits the speed, and the time to the first token as what the first block
// leaves of the time to its end.
func (f *fitter) times() {
	w, speed := &f.w, 60.0
	if values := f.values["speed"]; len(values) > 20 {
		w.Speed, speed = quantilesOf(values), quantileOf(values, 0.5)
	}
	head := f.mean("thinking")/2 + f.mean("text")/2
	w.FirstToken = quantilesOf(f.each("time to first block", func(x float64) float64 {
		return max(0.3, x-min(head/speed, x*0.5))
	}))
	w.Think, w.Pauses = f.dist("idle gap"), nil
}

// prefixes fits the prefixes of threads, compactions, and the sizes of agents.
func (f *fitter) prefixes() {
	w := &f.w
	w.WarmStart, w.Lifetime = f.mean("warm starts"), "5m"
	if sum(f.values["written for an hour"]) > sum(f.values["written"])/2 {
		w.Lifetime = "1h"
	}
	f.prefix("main ", &w.Static, &w.Reminders)
	f.prefix("agents' ", &w.Agents.Static, &w.Agents.Reminders)
	w.Agents.Static = cmp.Or(w.Agents.Static, w.Static)
	f.keep(&w.Summary, "summary")
	f.keep(&w.Restored, "restored")
	f.keep(&w.CompactTime, "compaction time")
	bill := float64(len(agentBill("a1234567")))
	report := f.each("result of Task", func(x float64) float64 {
		return max(1, (x/f.rates.PerByte[prompt.KindToolResult]-bill)*f.rates.PerByte[prompt.KindText])
	})
	if len(report) > 0 {
		w.Agents.Report, w.Agents.Rounds = quantilesOf(report), f.dist("calls per sub-agent")
	}
}

// prefix fits the static prefix of a kind of thread, and the rest that no line
// shows.
func (f *fitter) prefix(users string, static *int, rest *Dist) {
	prefixes := f.values[users+"static prefix"]
	if len(prefixes) == 0 {
		return
	}
	fixed := min(max(quantileOf(prefixes, 0.5), minStatic), maxHidden/2)
	*static = int(fixed)
	*rest = quantilesOf(f.each(users+"hidden prefix", func(x float64) float64 { return max(0, x-float64(*static)) }))
	for i, x := range rest.Quantiles {
		rest.Quantiles[i] = min(x, float64(maxHidden-*static))
	}
}

// dist returns the distribution of a dimension.
func (f *fitter) dist(name string) Dist { return quantilesOf(f.values[name]) }

// keep sets a distribution to that of a dimension, if it has values.
func (f *fitter) keep(d *Dist, name string) {
	if len(f.values[name]) > 0 {
		*d = f.dist(name)
	}
}

func (f *fitter) mean(name string) float64 {
	return ratio(sum(f.values[name]), float64(len(f.values[name])))
}

// each returns the values of a dimension, each changed.
func (f *fitter) each(name string, change func(float64) float64) []float64 {
	list := slices.Clone(f.values[name])
	for i, x := range list {
		list[i] = change(x)
	}
	return list
}

// quantilesOf returns the distribution of values; none is always 0.
func quantilesOf(values []float64) Dist {
	if len(values) == 0 {
		return Dist{}
	}
	d := Dist{Quantiles: make([]float64, fitSteps+1)}
	for i := range d.Quantiles {
		d.Quantiles[i] = rounded(quantileOf(values, float64(i)/fitSteps))
	}
	return d
}

// quantileOf returns a quantile of ascending values; that of none is 0.
func quantileOf(values []float64, u float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Quantile(values, u)
}

func sum(values []float64) float64 {
	total := 0.0
	for _, x := range values {
		total += x
	}
	return total
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return rounded(a / b)
}

// rounded keeps three digits: no fit is finer.
func rounded(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// byWeight returns the keys of weights, the heaviest first.
func byWeight(weights map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
}
