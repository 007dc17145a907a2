package synthetic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

const (
	fitSteps        = 40     // steps between the quantiles of a fitted profile
	fittedTools     = 12     // tools a fitted mix keeps; the rarest are left out
	fittedReadLimit = 25_000 // tokens that one Read returns at most, Claude Code's own limit
	typicalPath     = 60     // bytes of names in a tool's input
)

// seldom are the dimensions that stay the base's where sessions have no values.
var seldom = []string{"image bytes", "summary", "restored", "compaction time"}

// FitWorkload returns a workload with the sizes, times, mix and shares of recorded sessions:
// numbers, no content. What no recording shows comes from
// base: the version, which decides the threshold, connects and resumes.
func FitWorkload(base *Workload, sessions []*traces.Session) *Workload {
	o, w := observe(sessions), *base
	w.Doc = fmt.Sprintf("Fitted on %d recorded sessions with %d calls: numbers, no content.", len(o.values["turns"]), o.calls)
	w.Project, w.ReadLimit, w.Pauses, w.Lifetime = "/home/dev/recorded", fittedReadLimit, nil, "5m"
	if 2*o.usage.Write1h > o.usage.Writes() {
		w.Lifetime = "1h"
	}
	for name, d := range map[string]*Dist{
		"turns": &w.Turns, "calls per turn": &w.Rounds, "prompt": &w.Prompt, "text": &w.Text, "answer": &w.Answer,
		"thinking": &w.Thinking, "result of Read": &w.FileSize, "idle gap": &w.Think, "image bytes": &w.ImageBytes,
		"summary": &w.Summary, "restored": &w.Restored, "compaction time": &w.CompactTime,
	} {
		if values := o.values[name]; len(values) > 0 || !slices.Contains(seldom, name) {
			*d = quantilesOf(values)
		}
	}
	for name, share := range map[string]*float64{
		"calls with tools that write text": &w.TextShare, "calls that think": &w.ThinkingShare, "warm starts": &w.WarmStart,
		"switches of the model": &w.SwitchModel, "reads of a file read before": &w.Reread,
	} {
		*share = o.mean(name)
	}
	w.Models = nil
	turns := 0.0
	for _, name := range byWeight(o.models) {
		w.Models = append(w.Models, WorkModel{name, o.models[name]})
		turns += o.models[name]
	}
	w.Rewinds = ratio(float64(o.branches), turns)
	w.Images = ratio(float64(len(o.values["image bytes"])), float64(len(o.values["prompts"])))
	if mean := o.mean("tool uses per call"); mean > 1 {
		w.Parallel = round(1 - 1/mean)
	}
	if files := o.values["files"]; len(files) > 0 {
		w.Files = max(1, int(stats.Quantile(files, 0.9)))
	}
	o.speed(&w)
	o.mixes(&w)
	o.prefix("main ", &w.Static, &w.Reminders)
	o.prefix("agents' ", &w.Agents.Static, &w.Agents.Reminders)
	w.Agents.Static = cmp.Or(w.Agents.Static, w.Static)
	rates, bill := traces.DefaultRates(), float64(len(agentBill("a1234567")))
	report := o.each("result of Task", func(x float64) float64 {
		return max(1, (x/rates.PerByte[prompt.KindToolResult]-bill)*rates.PerByte[prompt.KindText])
	})
	if len(report) > 0 {
		w.Agents.Report, w.Agents.Rounds = quantilesOf(report), quantilesOf(o.values["calls per sub-agent"])
	}
	return &w
}

// speed fits how fast is written, and the time to the first token as what the first
// block leaves of the time to its end.
func (o *observer) speed(w *Workload) {
	speed := 60.0 // tokens a second, where too few replies show one
	if values := o.values["speed"]; len(values) > 20 {
		w.Speed, speed = quantilesOf(values), stats.Quantile(values, 0.5)
	}
	head := o.mean("thinking")/2 + o.mean("text")/2
	w.FirstToken = quantilesOf(o.each("time to first block", func(x float64) float64 {
		return max(0.3, x-min(head/speed, x*0.5))
	}))
}

// mixes fits which tools are used.
func (o *observer) mixes(w *Workload) {
	isTask := func(t WorkTool) bool { return t.Name == toolTask }
	w.Tools, w.Agents.Tools = o.mix("main "), slices.DeleteFunc(o.mix("agents' "), isTask)
	w.Agents.Type = cmp.Or(w.Agents.Type, "general-purpose")
	if len(w.Agents.Tools) == 0 {
		w.Tools = slices.DeleteFunc(w.Tools, isTask)
	}
}

// mix returns the tools that a workload knows by how often they were used.
func (o *observer) mix(users string) []WorkTool {
	weights := map[string]float64{}
	for name, inputs := range o.values {
		if tool, ok := strings.CutPrefix(name, "input of "+users); ok {
			weights[tool] = float64(len(inputs))
		}
	}
	rates := traces.DefaultRates()
	fixed := rates.Fixed[prompt.KindToolUse] + rates.PerByte[prompt.KindToolUse]*typicalPath
	var list []WorkTool
	for _, name := range byWeight(weights) {
		if len(list) == fittedTools || !slices.Contains(knownTools, name) {
			continue
		}
		failures := float64(len(o.values["failures of "+users+name]))
		t := WorkTool{Name: name, Weight: weights[name], Errors: ratio(failures, weights[name])}
		if name != toolRead {
			t.Input = quantilesOf(o.each("input of "+users+name, func(x float64) float64 { return max(2, x-fixed) }))
		}
		if name != toolRead && name != toolTask {
			t.Result = quantilesOf(o.values["result of "+users+name])
		}
		if name != toolTask {
			t.Time = quantilesOf(o.values["time of "+users+name])
		}
		list = append(list, t)
	}
	return list
}

// prefix fits the static prefix of a kind of thread, and the rest that no line shows.
func (o *observer) prefix(users string, static *int, rest *Dist) {
	prefixes := o.values[users+"static prefix"]
	if len(prefixes) == 0 {
		return
	}
	*static = int(min(max(stats.Quantile(prefixes, 0.5), minStatic), maxHidden/2))
	*rest = quantilesOf(o.each(users+"hidden prefix", func(x float64) float64 { return max(0, x-float64(*static)) }))
	for i, x := range rest.Quantiles {
		rest.Quantiles[i] = min(x, float64(maxHidden-*static))
	}
}

// observer gathers what sessions show, once for each session, turn, call or block.
type observer struct {
	values          map[string][]float64 // by dimension; a share of cases is the mean of zeros and ones
	models          map[string]float64   // turns of the main threads, by model
	usage           prompt.Usage         // of all calls
	calls, branches int
}

// observe measures sessions with a main thread; the values of each dimension ascend.
func observe(sessions []*traces.Session) *observer {
	o := &observer{values: map[string][]float64{}, models: map[string]float64{}}
	for _, s := range sessions {
		if len(s.Threads) > 0 && s.Threads[0].Kind == traces.ThreadMain && !s.Threads[0].MidContext {
			o.session(s)
		}
	}
	for _, values := range o.values {
		slices.Sort(values)
	}
	return o
}

func (o *observer) add(name string, x float64) { o.values[name] = append(o.values[name], x) }

// hit adds a one or a zero.
func (o *observer) hit(name string, is bool) {
	x := 0.0
	if is {
		x = 1
	}
	o.add(name, x)
}

func (o *observer) session(s *traces.Session) {
	turns := 0
	for i := range s.Threads {
		t := &s.Threads[i]
		users := "main "
		switch t.Kind {
		case traces.ThreadAgent, traces.ThreadOrphan:
			users = "agents' "
			o.add("calls per sub-agent", float64(len(t.Rounds)))
		case traces.ThreadBranch:
			o.branches++
		}
		o.start(s, t, users)
		turns += o.thread(s, t, users)
	}
	main := &s.Threads[0]
	o.add("turns", float64(turns))
	o.hit("warm starts", main.Rounds[0].Usage.Read > 0)
	for i := range main.Events {
		if ev := &main.Events[i]; ev.Kind == traces.EventCompact && ev.Kept > 0 {
			summary := s.Tokens(ev.Summary)
			o.add("summary", float64(summary))
			o.add("restored", max(0, float64(int64(ev.Kept)-summary)))
			if ev.Wait > 0 {
				o.add("compaction time", float64(ev.Wait)/1e9)
			}
		}
	}
	// Measure the working set of a session.
	reads, again := 0, 0
	known := map[int32]bool{} // files, and whether they were read
	for i := range s.Blocks {
		b := &s.Blocks[i]
		switch {
		case b.Kind != prompt.KindToolUse || b.Object < 0:
		case b.Op == op.Read:
			if reads++; known[b.Object] {
				again++
			}
			known[b.Object] = true
		case b.Op == op.Edit || b.Op == op.Write:
			if _, ok := known[b.Object]; !ok {
				known[b.Object] = false
			}
		}
	}
	o.add("files", float64(len(known)))
	if reads > 0 {
		o.add("reads of a file read before", float64(again)/float64(reads))
	}
}

// start measures the prefix of a thread.
func (o *observer) start(s *traces.Session, t *traces.Thread, users string) {
	if t.Kind == traces.ThreadBranch || len(t.Rounds) == 0 {
		return
	}
	var static float64
	for i := t.Prefix.From; i < t.Prefix.To; i++ {
		if s.Blocks[i].Kind.Level() != prompt.LevelMessages {
			static += float64(s.Blocks[i].Tokens)
		}
	}
	if t.Rounds[0].Usage.Read > 0 {
		o.add(users+"static prefix", static)
	}
	o.add(users+"hidden prefix", float64(s.Tokens(t.Prefix)))
}

// thread measures the calls of a thread and returns its turns; sub-agents have none.
func (o *observer) thread(s *traces.Session, t *traces.Thread, users string) int {
	turns, calls := 0, []float64{} // calls by turn
	prompted := t.Kind == traces.ThreadMain || t.Kind == traces.ThreadBranch
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		begins := rd.Trigger == traces.TriggerPrompt
		if prompted && begins {
			if turns++; r > 0 {
				o.add("idle gap", float64(rd.Wait)/1e9)
			}
		}
		if begins || r == 0 {
			calls = append(calls, 0)
		}
		calls[len(calls)-1]++
		o.calls++
		o.usage.Add(&rd.Usage)
		if rd.Flags&signs.NoTime == 0 && rd.First > 0 {
			o.add("time to first block", float64(rd.First)/1e9)
		}
		if t.Kind == traces.ThreadMain && begins {
			o.models[s.Models[rd.Model]]++
			o.hit("switches of the model", r > 0 && t.Rounds[r-1].Model != rd.Model)
		}
		o.input(s, t, rd, users)
		o.reply(s, t, rd, users)
	}
	if prompted {
		o.values["calls per turn"] = append(o.values["calls per turn"], calls...)
	}
	return turns
}

// input measures what a call answers: the time of a tool where no other was waited for.
func (o *observer) input(s *traces.Session, t *traces.Thread, rd *traces.Round, users string) {
	results, tool := 0, ""
	for i := rd.Input.From; i < rd.Input.To; i++ {
		b := &s.Blocks[i]
		switch b.Kind {
		case prompt.KindPrompt:
			o.add("prompts", 1)
			if t.Kind != traces.ThreadAgent && b.Flags&prompt.FlagMeta == 0 {
				o.add("prompt", float64(b.Tokens))
			}
		case prompt.KindImage:
			o.add("image bytes", float64(b.Bytes))
		case prompt.KindToolResult:
			results++
			tool = users + s.Tools[b.Tool]
			if b.Flags&prompt.FlagError != 0 {
				o.add("failures of "+tool, 1)
				continue
			}
			o.add("result of "+s.Tools[b.Tool], float64(b.Tokens))
			o.add("result of "+tool, float64(b.Tokens))
		}
	}
	if results == 1 {
		o.add("time of "+tool, float64(rd.Wait)/1e9)
	}
}

// reply measures what a call writes, and how fast.
func (o *observer) reply(s *traces.Session, t *traces.Thread, rd *traces.Round, users string) {
	uses, text, thinks := 0, false, false
	var said, behind float64 // tokens: of text, and of all after the first block
	for i := rd.Reply.From; i < rd.Reply.To; i++ {
		b := &s.Blocks[i]
		tokens := float64(b.Tokens)
		if i > rd.Reply.From {
			behind += tokens
		}
		switch b.Kind {
		case prompt.KindToolUse:
			uses++
			o.add("input of "+users+s.Tools[b.Tool], tokens)
		case prompt.KindThinking:
			thinks = true
			o.add("thinking", tokens)
		case prompt.KindText:
			text = true
			said += tokens
		}
	}
	o.hit("calls that think", thinks)
	switch {
	case uses > 0:
		o.add("tool uses per call", float64(uses))
		if o.hit("calls with tools that write text", text); said > 0 {
			o.add("text", said)
		}
	case said > 0 && t.Kind != traces.ThreadAgent:
		o.add("answer", said)
	}
	if took := float64(rd.Stream-rd.First) / 1e9; behind >= 100 && took > 0.5 {
		o.add("speed", min(300, max(5, behind/took)))
	}
}

func (o *observer) mean(name string) float64 {
	sum := 0.0
	for _, x := range o.values[name] {
		sum += x
	}
	return ratio(sum, float64(len(o.values[name])))
}

// each returns the values of a dimension, each changed.
func (o *observer) each(name string, change func(float64) float64) []float64 {
	list := slices.Clone(o.values[name])
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
		d.Quantiles[i] = round(stats.Quantile(values, float64(i)/fitSteps))
	}
	return d
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return round(a / b)
}

// round keeps three digits: no fit is finer.
func round(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64) // of a number's own text
	return r
}

// byWeight returns the keys of weights, the heaviest first.
func byWeight(weights map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
}
