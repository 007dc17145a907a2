// Package kimi reads the sessions of Kimi Code: JSON lines of a type and a time, one wire.jsonl an agent, in the folder of
// the session.
//
// Two things are assumed. Tools and system prompt count as all of the first call that no other line shows. Writes to the
// cache live for five minutes.
package kimi

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Kimi

// Describe returns what the rest of the program needs to know about Kimi Code. It marks the last message for models of
// Anthropic, compacts at 0.85 of the window or 50,000 tokens ahead of its end, and asks for the summary on the
// conversation's own prefix, as 2.1.0 does.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "Kimi Code", Read: reader.Read, Texts: reader.Texts, Markers: 1,
		Member: func(typ, name string) bool { return marks[typ] == name && name != "" },
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{"wire.jsonl"}}, h.Under(".kimi-code"), "sessions")
		},
		SummaryShares: func(_, _ string) bool { return true },
		Settings: []facts.Setting{{
			Name: "loop_control.reserved_context_size", Group: facts.GroupThreshold, Where: "~/.kimi-code/config.toml",
			Snippet: "[loop_control]\nreserved_context_size = %s", Does: "keep %s tokens free",
			Values: []string{"70000", "80000", "90000", "100000", "120000"},
			Below:  "a smaller reserve is near the client's own, 50,000", Above: facts.NoRoom,
			Assign: "full-compact.trigger.reserve=%s",
		}},
	}, 85, 50_000)
}

// marks are the types of lines that no other log has, each with a member that it has. A wire begins with its metadata; the
// part of one that log rotation left behind does not.
var marks = map[string]string{
	"metadata": "protocol_version", "context.append_message": "message", "context.append_loop_event": "event", "usage.record": "usage",
}

var reader = assembly.Linewise[*file]{
	Name: Agent, New: newFile, Line: (*file).parse, End: func(f *file) {
		if f.end(0, 0, "", nil); f.summary != nil {
			f.Lacks(1, 0, "no compaction follows the counts of a summary's call; they are not in the bill")
		}
	},
}

// file is the wire of an agent.
type file struct {
	*assembly.Part
	model   string          // of the last request
	begun   int64           // when it was made
	lists   []string        // hashes of the lists of tools that requests had, in order
	tools   string          // that the last one had
	system  string          // its system prompt
	verdict signs.Verdict   // what the request under way changed of the one before
	open    bool            // a request was made, or a step began, that no line has ended
	under   string          // the step that began last, where the protocol names it
	reply   []assembly.Step // what it was answered, by lines
	results []assembly.Step
	counts  *usage
	timed   int64           // when these were written, unix ns
	by      string          // what started the compaction under way
	summing bool            // a request for a summary has no counts yet
	summary *usage          // its counts
	written map[record]bool // records of usage
	ended   int32           // entry of the last step if no record of its counts came before its end, which protocol 1.1 writes behind it; -1 for none
	counted usage           // its counts
}

// record is what tells one record of usage from another.
type record struct {
	at int64 // unix ns
	usage
}

// line is one line.
type line struct {
	Type      string         `json:"type"`
	Time      int64          `json:"time|created_at"` // unix ms
	Protocol  jsontext.Value `json:"protocol_version"`
	Kind      string         `json:"kind"`
	Model     string         `json:"model"`
	Tools     string         `json:"toolsHash"` // of a request
	System    string         `json:"systemPromptHash"`
	Source    string         `json:"source"`
	Usage     *usage         `json:"usage"`
	Scope     string         `json:"usageScope"` // session where no turn made the call
	Summary   string         `json:"summary"`
	Context   string         `json:"contextSummary"` // with the client's words around it
	Event     event          `json:"event"`
	Message   jsontext.Value `json:"message"` // of some types a text
	Disclosed struct {
		Cwd string `json:"cwd"`
	} `json:"environmentDisclosure"`
}

// message is what was said.
type message struct {
	Role    string `json:"role"`
	Content []part `json:"content"`
	Origin  struct {
		Kind string `json:"kind"`
	} `json:"origin"`
}

// event is an event of a step, which is a call and its tools.
type event struct {
	Type   string         `json:"type"`
	UUID   string         `json:"uuid"`
	Part   part           `json:"part"`
	Call   string         `json:"toolCallId"`
	Name   string         `json:"name"`
	Args   jsontext.Value `json:"args"`
	Result struct {
		Output jsontext.Value `json:"output"` // a text, or parts
		Failed bool           `json:"isError"`
	} `json:"result"`
	Usage *usage `json:"usage"`
}

// part is a part of a message.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Think string `json:"think"`
}

// usage are the counts of a call, in disjoint classes.
type usage struct {
	Other  assembly.Count `json:"inputOther"`
	Read   assembly.Count `json:"inputCacheRead"`
	Write  assembly.Count `json:"inputCacheCreation"`
	Output assembly.Count `json:"output"`
}

func (u *usage) counts() assembly.Usage {
	if u == nil {
		return assembly.Usage{Bad: true}
	}
	return assembly.Counts(u.Other, u.Read, u.Write, u.Output, assembly.Count{}, -1)
}

var errJoined = errors.New("another wire begins here: wires are joined in one file, and read as one session")

var (
	errAgain  = errors.New("the record of usage is here a second time; it counts once")
	errUnmade = errors.New("the counts are of no request that is ahead of them: lines are missing, moved or another session's; they are billed")
)

func newFile(p *assembly.Part) *file {
	f := &file{Part: p, written: map[record]bool{}, ended: -1}
	// sessions/<folder>/<session>/agents/<agent>/wire.jsonl
	if dir := path.Dir(p.Name); path.Base(path.Dir(dir)) == "agents" {
		session := path.Base(path.Dir(path.Dir(dir)))
		if f.Part.ID = session; path.Base(dir) != "main" {
			f.Part.ID, f.Up = session+"/"+path.Base(dir), session
		}
	}
	return f
}

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	var l line
	if err := assembly.Decode(ln.Text, &l); err != nil {
		return err
	}
	at := f.At(f.Millis(ln.Number, l.Time))
	f.Project = cmp.Or(f.Project, l.Disclosed.Cwd)
	switch l.Type {
	case "":
		return assembly.ErrNoType
	case "metadata":
		if p := strings.Trim(string(l.Protocol), `"`); p != "" && !strings.HasPrefix(p, "1.") {
			f.Form(ln.Number, []byte(p), "1")
		}
		if f.Lines > 1 {
			return errJoined
		}
	case "llm.request":
		if f.model = cmp.Or(l.Model, f.model); l.Kind == "compaction" {
			f.summing = true
			return nil
		}
		f.begun, f.open = at, true
		f.compare(&l)
	case "usage.record":
		return f.record(&l, at, ln.Number)
	case "full_compaction.begin":
		f.by = l.Source
	case "full_compaction.cancel":
		f.cancel(at, ln.Number)
	case "context.apply_compaction":
		s := assembly.Step{
			Kind: assembly.StepCompact, At: at, Line: int32(ln.Number), Model: assembly.ModelName(f.model), Manual: f.by != "" && f.by != "auto",
			Blocks: []assembly.Block{f.Maker.Text(prompt.KindSummary, cmp.Or(l.Context, l.Summary))},
		}
		f.end(at, ln.Number, "", nil)
		if f.summary != nil || f.summing { // one that made a request has counts
			s.Usage = f.summary.counts()
			s.Tokens = assembly.Within(s.Usage.Input()) // tokensBefore estimates the messages alone
		}
		f.summary, f.summing = nil, false
		f.add(s)
	case "context.append_message":
		var m message
		if err := assembly.Decode(l.Message, &m); err != nil {
			return err
		}
		f.add(assembly.Step{Kind: assembly.StepInput, At: at, Line: int32(ln.Number), Blocks: m.userBlocks(f.Maker)})
	case "context.append_loop_event":
		return f.step(&l.Event, at, ln.Number)
	}
	return nil
}

// cancel takes the call of a compaction that came to nothing. A client that compacts in the background drops its summary if the turn goes
// on meanwhile (2.1.0, where compaction_trigger_ratio is below 0.85).
func (f *file) cancel(at int64, line int) {
	if f.summary != nil || f.summing {
		f.AddBeside("beside@compaction", "", at, line, f.model, f.summary.counts())
	}
	f.summary, f.summing = nil, false
}

// compare notes what a request changes of the tools and the system prompt of the one before it. The first request of another process
// has lacked a tool, which the second one has again (2.1.0).
func (f *file) compare(l *line) {
	f.verdict = signs.VerdictNone
	tools, system := cmp.Or(l.Tools, f.tools), cmp.Or(l.System, f.system) // a request that names none sends what the request before it sent
	switch {
	case f.tools != "" && tools != f.tools:
		f.verdict = signs.VerdictTools
	case f.system != "" && system != f.system:
		f.verdict = signs.VerdictSystem
	}
	if f.tools, f.system = tools, system; tools != "" && !slices.Contains(f.lists, tools) {
		f.lists = append(f.lists, tools)
	}
}

// parted returns where the request under way parts from the one before it, as traces.Round has it.
func (f *file) parted() int32 {
	switch f.verdict {
	case signs.VerdictTools:
		return int32(slices.Index(f.lists, f.tools)) + 1
	case signs.VerdictSystem:
		return 1
	}
	return 0
}

// record takes the counts of a call, which the end of its step repeats.
func (f *file) record(l *line, at int64, line int) error {
	f.model = cmp.Or(f.model, l.Model)
	counts := l.Usage
	if counts == nil {
		counts = new(usage) // the call was made
	}
	if r := (record{at, *counts}); at != 0 {
		if f.written[r] {
			return errAgain
		}
		f.written[r] = true
	}
	if f.summing && l.Scope != "turn" {
		if f.summary != nil {
			f.cancel(at, line)
		}
		f.summary, f.summing = counts, false
		return nil
	}
	if f.ended >= 0 && f.counted == *counts {
		steps := f.Steps(f.ended)
		for i := range steps {
			if s := &steps[i]; s.Kind == assembly.StepCount && s.Model == "" {
				s.Model = assembly.ModelName(l.Model)
			}
		}
		f.Set(f.ended, steps)
		f.ended = -1
		return nil
	}
	if f.counts != nil {
		f.end(at, line, "", nil)
	}
	unmade := !f.open
	if f.counts, f.timed, f.ended, f.open = counts, at, -1, false; unmade {
		return f.Refuse(line, errUnmade)
	}
	return nil
}

// add appends a step to the conversation.
func (f *file) add(steps ...assembly.Step) { f.Part.Tree.Add(f.Len()-1, steps) }

// step takes an event of a step.
func (f *file) step(e *event, at int64, line int) error {
	switch e.Type {
	case "":
		return assembly.ErrNoType
	case "step.begin":
		f.open, f.under = true, e.UUID
	case "step.end":
		if err := f.Once("the end of step", e.UUID); err != nil {
			return err
		}
		recorded := f.counts != nil
		unmade := e.Usage != nil && (!recorded && !f.open || f.under != "" && f.under != e.UUID)
		f.end(at, line, e.UUID, e.Usage)
		if f.ended = -1; !recorded && e.Usage != nil {
			f.ended, f.counted = f.Len()-1, *e.Usage
		}
		if f.open, f.under = false, ""; unmade {
			return f.Refuse(line, errUnmade)
		}
	case "tool.result":
		b := f.Maker.Result(assembly.CallID(e.Call), assembly.Literal(e.Result.Output), e.Result.Failed, false)
		f.results = f.Gather(f.results, assembly.Step{Kind: assembly.StepResult, Line: int32(line), Blocks: []assembly.Block{b}})
	default:
		if blocks := e.blocks(f.Maker); len(blocks) > 0 {
			f.reply = f.Gather(f.reply, assembly.Step{Kind: assembly.StepReply, Line: int32(line), Blocks: blocks})
		}
	}
	return nil
}

// end ends the call under way: what the model said, its counts, and the results of its tools. A step that was cut off has
// counts of its own line alone.
func (f *file) end(at int64, line int, id string, u *usage) {
	counts := u
	if counts == nil {
		counts = f.counts
	}
	if counts == nil && len(f.reply)+len(f.results) == 0 {
		return
	}
	if id == "" && counts != nil && f.timed != 0 { // of a step that was cut off: a copy of the file has its counts under the same time
		id = "record at " + strconv.FormatInt(f.timed, 10)
	}
	steps := []assembly.Step{{Kind: assembly.StepInput, At: f.begun, Line: int32(line)}}
	if len(f.reply) == 0 {
		f.reply = []assembly.Step{{Kind: assembly.StepReply, Line: int32(line)}}
	}
	for _, s := range f.reply {
		s.At, s.ID = at, id
		steps = append(steps, s)
	}
	if counts != nil {
		c := counts.counts()
		c.Doubt = c.Doubt || u != nil && f.counts != nil && *u != *f.counts
		steps = append(steps, assembly.Step{Kind: assembly.StepCount, At: at, Line: int32(line), Model: assembly.ModelName(f.model), Usage: c, Final: c.OK,
			Verdict: f.verdict, Parted: f.parted()})
	} else {
		f.Bare(line)
	}
	for _, s := range f.results {
		s.At = at
		steps = append(steps, s)
	}
	f.add(steps...)
	f.reply, f.results, f.counts, f.timed, f.begun = nil, nil, nil, 0, 0
}

// userBlocks returns the blocks of a message that is not of the model. What a person did not write is the client's.
func (m *message) userBlocks(mk assembly.Maker) (list []assembly.Block) {
	for _, p := range m.Content {
		switch own := m.Origin.Kind != "" && m.Origin.Kind != "user"; {
		case p.Type != "text":
			mk.Skip(p.Type)
		case own || m.Role != "user":
			list = append(list, mk.Added(p.Text))
		default:
			list = append(list, mk.Text(prompt.KindPrompt, p.Text))
		}
	}
	return list
}

// blocks returns what the model said.
func (e *event) blocks(mk assembly.Maker) []assembly.Block {
	switch {
	case e.Type == "tool.call":
		return []assembly.Block{mk.Use(assembly.CallID(e.Call), e.Name, e.Args)}
	case e.Type == "content.part" && e.Part.Type == "think":
		return []assembly.Block{mk.Text(prompt.KindThinking, e.Part.Think)}
	case e.Type == "content.part" && e.Part.Type == "text":
		return []assembly.Block{mk.Text(prompt.KindText, e.Part.Text)}
	case e.Type == "content.part":
		mk.Skip(e.Part.Type)
	}
	return nil
}
