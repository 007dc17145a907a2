package synthetic

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// fitSteps is the number of steps between the quantiles of a fitted profile.
const fitSteps = 40

// fittedTools is the number of tools a fitted mix keeps; the rarest are left out.
const fittedTools = 12

// fittedReadLimit is the tokens that one Read returns at most: Claude Code's own
// limit.
const fittedReadLimit = 25_000

// FitWorkload returns a workload whose sizes, times, mix and shares are those of
// recorded sessions: numbers, no content. What no recording tells is taken from
// base: the version, which decides the threshold, connects and resumes.
func FitWorkload(base *Workload, sessions []*traces.Session) *Workload {
	f := &fitter{w: *base, values: map[string][]float64{}}
	for _, o := range Observe(sessions) {
		f.values[o.Name] = o.Values
	}
	f.main, f.agents = newUsage(), newUsage()
	for _, s := range sessions {
		if len(s.Threads) > 0 && s.Threads[0].Kind == traces.ThreadMain && !s.Threads[0].MidContext {
			f.session(s)
		}
	}
	f.finish()
	return &f.w
}

// fitter gathers what Observe does not keep.
type fitter struct {
	w            Workload
	values       map[string][]float64 // by dimension
	main, agents *toolUsage
	models       map[string]float64
	counts       struct {
		sessions, turns, prompts, images, switches, branches       float64
		calls, withText, withTools, thinking, warm, write1h, write float64
	}
	hidden, static, agentHidden, agentStatic []float64
	summary, restored, wait, speed           []float64
	imageBytes                               []float64
}

// toolUsage is what is known of the tools of one kind of thread.
type toolUsage struct {
	count, failed       map[string]float64
	input, result, time map[string][]float64
}

func newUsage() *toolUsage {
	return &toolUsage{
		count: map[string]float64{}, failed: map[string]float64{},
		input: map[string][]float64{}, result: map[string][]float64{}, time: map[string][]float64{},
	}
}

func (f *fitter) session(s *traces.Session) {
	if f.models == nil {
		f.models = map[string]float64{}
	}
	f.counts.sessions++
	for i := range s.Threads {
		t := &s.Threads[i]
		if len(t.Rounds) == 0 {
			continue
		}
		u := f.main
		switch t.Kind {
		case traces.ThreadAgent, traces.ThreadOrphan:
			u = f.agents
			f.prefix(s, t, &f.agentStatic, &f.agentHidden)
		case traces.ThreadMain:
			f.prefix(s, t, &f.static, &f.hidden)
			f.events(s, t)
			if t.Rounds[0].Usage.Read > 0 {
				f.counts.warm++
			}
		case traces.ThreadBranch:
			f.counts.branches++
		}
		for r := range t.Rounds {
			f.round(s, t, r, u)
		}
	}
}

// prefix keeps the size of what stands ahead of a thread.
func (f *fitter) prefix(s *traces.Session, t *traces.Thread, static, hidden *[]float64) {
	var fixed float64
	for i := t.Prefix.From; i < t.Prefix.To; i++ {
		if s.Blocks[i].Kind.Level() != prompt.LevelMessages {
			fixed += float64(s.Blocks[i].Tokens)
		}
	}
	if t.Rounds[0].Usage.Read > 0 {
		*static = append(*static, fixed)
	}
	*hidden = append(*hidden, float64(s.Tokens(t.Prefix)))
}

func (f *fitter) events(s *traces.Session, t *traces.Thread) {
	for i := range t.Events {
		ev := &t.Events[i]
		if ev.Kind != traces.EventCompact || ev.Kept == 0 {
			continue
		}
		summary := s.Tokens(ev.Summary)
		f.summary = append(f.summary, float64(summary))
		f.restored = append(f.restored, max(0, float64(int64(ev.Kept)-summary)))
		if ev.Wait > 0 {
			f.wait = append(f.wait, float64(ev.Wait)/1e9)
		}
	}
}

func (f *fitter) round(s *traces.Session, t *traces.Thread, r int, u *toolUsage) {
	rd := &t.Rounds[r]
	f.counts.calls++
	f.counts.write1h += float64(rd.Usage.Write1h)
	f.counts.write += float64(rd.Usage.Writes())
	if t.Kind == traces.ThreadMain && rd.Trigger == traces.TriggerPrompt {
		f.counts.turns++
		f.models[s.Models[rd.Model]]++
		if r > 0 && t.Rounds[r-1].Model != rd.Model {
			f.counts.switches++
		}
	}
	f.reply(s, rd, u)
	var tools []*prompt.Block
	for i := rd.Input.From; i < rd.Input.To; i++ {
		switch b := &s.Blocks[i]; b.Kind {
		case prompt.KindPrompt:
			f.counts.prompts++
		case prompt.KindImage:
			f.counts.images++
			f.imageBytes = append(f.imageBytes, float64(b.Bytes))
		case prompt.KindToolResult:
			tools = append(tools, b)
			name := s.Tools[b.Tool]
			if b.Flags&prompt.FlagError != 0 {
				u.failed[name]++
			} else {
				u.result[name] = append(u.result[name], float64(b.Tokens))
			}
		}
	}
	if len(tools) == 1 {
		name := s.Tools[tools[0].Tool]
		u.time[name] = append(u.time[name], float64(rd.Wait)/1e9)
	}
}

// reply keeps the make-up and the speed of a response.
func (f *fitter) reply(s *traces.Session, rd *traces.Round, u *toolUsage) {
	var text, tools, thinks bool
	var behind float64 // tokens after the first block
	for i := rd.Reply.From; i < rd.Reply.To; i++ {
		b := &s.Blocks[i]
		if i > rd.Reply.From {
			behind += float64(b.Tokens)
		}
		switch b.Kind {
		case prompt.KindText:
			text = true
		case prompt.KindThinking:
			thinks = true
		case prompt.KindToolUse:
			tools = true
			name := s.Tools[b.Tool]
			u.count[name]++
			u.input[name] = append(u.input[name], max(2, float64(b.Tokens)-fixedToolUse-rateToolUse*60))
		}
	}
	if tools {
		f.counts.withTools++
		if text {
			f.counts.withText++
		}
	}
	if thinks {
		f.counts.thinking++
	}
	if took := float64(rd.Stream-rd.First) / 1e9; behind >= 100 && took > 0.5 {
		f.speed = append(f.speed, min(300, max(5, behind/took)))
	}
}

// finish writes what was gathered into the workload.
func (f *fitter) finish() {
	w, c := &f.w, &f.counts
	w.Doc = fmt.Sprintf("Fitted on %.0f recorded sessions with %.0f calls: numbers, no content.", c.sessions, c.calls)
	w.Project, w.ReadLimit = "/home/dev/recorded", fittedReadLimit
	w.Turns, w.Rounds = f.dist(PerSession), f.dist("calls per turn")
	w.Prompt, w.Text = f.dist("prompt"), f.dist("text")
	w.Answer, w.Thinking = f.dist("answer"), f.dist("thinking")
	w.TextShare, w.ThinkingShare = ratio(c.withText, c.withTools), ratio(c.thinking, c.calls)
	w.Images, w.Rewinds = ratio(c.images, c.prompts), ratio(c.branches, c.turns)
	w.SwitchModel, w.WarmStart = ratio(c.switches, c.turns), ratio(c.warm, c.sessions)
	if len(f.imageBytes) > 0 {
		w.ImageBytes = quantilesOf(f.imageBytes)
	}
	if mean := meanOf(f.values["tool uses per call"]); mean > 1 {
		w.Parallel = rounded(1 - 1/mean)
	}
	w.Models = nil
	for _, name := range byWeight(f.models) {
		w.Models = append(w.Models, WorkModel{name, f.models[name]})
	}
	w.Files = max(1, int(quantileOf(f.values["files per session"], 0.9)))
	w.FileSize = f.dist("result of Read")
	w.Reread = rounded(meanOf(f.values["reads of a file read before"]))
	w.Think, w.Pauses = f.dist("idle gap"), nil
	w.Lifetime = "5m"
	if c.write1h > c.write/2 {
		w.Lifetime = "1h"
	}
	f.times()
	f.context()
	w.Tools = f.main.mix(w.Files > 0)
	w.Agents.Tools = slices.DeleteFunc(f.agents.mix(true), func(t WorkTool) bool { return t.Name == toolTask })
	if w.Agents.Type == "" {
		w.Agents.Type = "general-purpose"
	}
	if w.Agents.Static == 0 {
		w.Agents.Static = w.Static
	}
	if len(w.Agents.Tools) == 0 {
		w.Tools = slices.DeleteFunc(w.Tools, func(t WorkTool) bool { return t.Name == toolTask })
	}
}

// times fits the speed, and the time to the first token as what the first block
// leaves of the time to its end.
func (f *fitter) times() {
	speed := 60.0
	if len(f.speed) > 20 {
		f.w.Speed = quantilesOf(f.speed)
		speed = quantileOf(f.speed, 0.5)
	}
	head := meanOf(f.values["thinking"])/2 + meanOf(f.values["text"])/2
	var first []float64
	for _, x := range f.values["time to first block"] {
		first = append(first, max(0.3, x-min(head/speed, x*0.5)))
	}
	f.w.FirstToken = quantilesOf(first)
}

// context fits prefixes and compactions.
func (f *fitter) context() {
	w := &f.w
	fit := func(static, hidden []float64, fixed *int, rest *Dist) {
		if len(static) == 0 || len(hidden) == 0 {
			return
		}
		*fixed = int(min(max(quantileOf(static, 0.5), minStaticTokens), maxHidden/2))
		for i := range hidden {
			hidden[i] = max(0, hidden[i]-float64(*fixed))
		}
		*rest = quantilesOf(hidden)
		for i := range rest.Quantiles {
			rest.Quantiles[i] = min(rest.Quantiles[i], float64(maxHidden-*fixed))
		}
	}
	fit(f.static, f.hidden, &w.Static, &w.Reminders)
	fit(f.agentStatic, f.agentHidden, &w.Agents.Static, &w.Agents.Reminders)
	if len(f.summary) > 0 {
		w.Summary, w.Restored = quantilesOf(f.summary), quantilesOf(f.restored)
	}
	if len(f.wait) > 0 {
		w.CompactTime = quantilesOf(f.wait)
	}
	var report []float64
	for _, x := range f.values["result of Task"] {
		report = append(report, max(1, (x/rateResult-float64(len(agentBill("a1234567"))))*rateText))
	}
	if len(report) > 0 {
		w.Agents.Report, w.Agents.Rounds = quantilesOf(report), f.dist("calls per sub-agent")
	}
}

// mix returns the tools by how often they were used, tools that a workload does
// not know left out.
func (u *toolUsage) mix(files bool) []WorkTool {
	var list []WorkTool
	for _, name := range byWeight(u.count) {
		known := knownTool(name) || slices.Contains(otherTools, name)
		if !known || len(list) == fittedTools || worksOnFiles(name) && !files {
			continue
		}
		t := WorkTool{Name: name, Weight: u.count[name], Input: quantilesOf(u.input[name]), Errors: ratio(u.failed[name], u.count[name])}
		if name != toolRead && name != toolTask {
			t.Result = quantilesOf(u.result[name])
		}
		if name != toolTask {
			t.Time = quantilesOf(u.time[name])
		}
		if name == toolRead {
			t.Input = Dist{}
		}
		list = append(list, t)
	}
	return list
}

func (f *fitter) dist(name string) Dist { return quantilesOf(f.values[name]) }

// quantilesOf returns the distribution of values; none is always 0.
func quantilesOf(values []float64) Dist {
	if len(values) == 0 {
		return Dist{}
	}
	sorted := slices.Sorted(slices.Values(values))
	d := Dist{Quantiles: make([]float64, fitSteps+1)}
	for i := range d.Quantiles {
		d.Quantiles[i] = rounded(quantileOf(sorted, float64(i)/fitSteps))
	}
	return d
}

// quantileOf returns a quantile of values, the median of none being 0.
func quantileOf(values []float64, u float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := values
	if !slices.IsSorted(values) {
		sorted = slices.Sorted(slices.Values(values))
	}
	at := u * float64(len(sorted)-1)
	i := int(at)
	return sorted[i] + (at-float64(i))*(sorted[min(i+1, len(sorted)-1)]-sorted[i])
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return ratio(sum, float64(len(values)))
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
	names := make([]string, 0, len(weights))
	for name := range weights {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if weights[a] != weights[b] {
			if weights[a] > weights[b] {
				return -1
			}
			return 1
		}
		if a < b {
			return -1
		}
		return 1
	})
	return names
}
