// Package dsh reads the sessions of DeepSeek Harness: JSON lines of events, in one zstd frame after another or plain. A
// sub-agent's session is a file of its own, whose header names its parent; one that was forked begins with the parent's events.
//
// Tools and system prompt count as all of the first call that no event shows.
// What a provider bills as written is assumed to live for five minutes.
package dsh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.DSH

// Describe returns what the rest of the program needs to know about DeepSeek Harness. It compacts at 0.8 of the window and asks
// for the summary on the conversation's own prefix, as its documentation has it.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "DeepSeek Harness", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Markers: 1,
		Member: func(typ, name string) bool {
			return typ == "session" && (name == "createdAt" || name == "delegationDepth") ||
				name == "data" && (typ == "turn/start" || typ == "step/start" || typ == "request/header")
		},
		Places:        func(h *facts.Home) { h.Add(facts.Place{Agent: Agent}, h.From("DSH_HOME", ".dsh"), "sessions") },
		SummaryShares: func(_, _ string) bool { return true },
		// by the documentation of a plug-in (zyd232/dsh-compaction-policy): presets, not patches, have the row
		Settings: assembly.ShareOfWindow("thresholdRatio", "compaction-basic in the preset of the agent",
			`config: {thresholdRatio: %s}`, "the simulation goes on cutting large results at 0.8 of the window",
			"0.2", "0.3", "0.4", "0.5", "0.6", "0.7"),
	}, 80, 0)
}

// file is one file.
type file struct {
	*assembly.Part
	seed     int64           // events copied from the parent
	seq      int64           // number of the event, from 0
	numbered bool            // an event had a number
	model    string          // the last one named
	begun    int64           // time of the first chunk of the step under way
	step     stepID          // the step whose counts are
	chunk    *usage          // those that a chunk had, nil once a message came
	summary  *compaction     // the last summary, until its message comes
	surface  []surfaced      // what the model sees
	copied   []int32         // entries of the tree that were copied
	ids      map[string]bool // of calls that are not copied
	begins   stepID          // the last one that began by an event
	last     stepID          // the last one that has counts
	answered bool            // by a message, or ended without one
	reads    bool            // counts of calls have what was read from the cache
}

// surfaced is a message that the model sees.
type surfaced struct {
	seq    int64
	blocks []assembly.Block
}

// event is one line. The first one is the header.
type event struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
	Parent  string `json:"parentSession"`
	Seed    int64  `json:"seedLength"`
	Created int64  `json:"createdAt"`

	Version jsontext.Value `json:"version"`

	Seq     *int64              `json:"seq"`
	Time    int64               `json:"time"` // unix ms
	Payload assembly.Late[data] `json:"data"`
	Where   jsontext.Value      `json:"surfaceOp"` // of a message: "append", or what it replaces
}

// eventOf reads a line, of which the result shares bytes.
func eventOf(text []byte) (e event, err error) {
	if err = assembly.Decode(text, &e); err == nil && e.Type == "" {
		err = errNoType
	}
	return e, err
}

// data returns what the event holds. Types that say nothing may hold anything.
func (e *event) data() (*data, error) {
	if ignored(e.Type) {
		return &data{}, nil
	}
	return e.Payload.Value()
}

// place says where a message goes: behind all other messages, or in place of some.
type place struct {
	Op    string `json:"op"`
	Start int64  `json:"start"` // numbers of events
	End   int64  `json:"end"`
}

// place returns where the message of an event goes.
func (e *event) place() (p place, err error) {
	if e.Where.Kind() == '{' {
		err = assembly.Decode(e.Where, &p)
	}
	return p, err
}

// replaces reports whether others go.
func (p place) replaces() bool { return p.Op == "replace" }

// data holds the members of all types of event.
type data struct {
	Turn     assembly.Count `json:"turn"`
	Step     assembly.Count `json:"step"`
	Model    string         `json:"model"`
	Window   int64          `json:"contextWindow"`
	Message  message        `json:"message"`
	Usage    *usage         `json:"usage"`
	Chunk    chunk          `json:"chunk"`
	Shadowed int64          `json:"shadowedTokenCount"`
	Header   struct {
		Config origin `json:"config"`
	} `json:"header"`
	Reason string `json:"reason"`     // of a request/header: why it is written
	Origin origin `json:"provenance"` // of an assistant/message of the first versions, in place of its source

	// Of a user/message and, in the first versions, of an assistant/message the members are not in a member of their own.
	message
}

// chunk is a part of a streamed response.
type chunk struct {
	Type  string `json:"type"`
	Usage *usage `json:"usage"`
}

// origin says which model answers.
type origin struct {
	Model string `json:"model"`
}

// message is what a person, the model or a tool said.
type message struct {
	ID      string    `json:"id"`
	Role    string    `json:"role"`
	Content []content `json:"content"`
	Source  struct {
		Kind  string `json:"kind"`
		Model string `json:"model"`
	} `json:"source"`
}

// messageOf returns the message of an event. The model's message has no role in the first versions.
func (d *data) messageOf(typ string) *message {
	m := &d.Message
	if m.Content == nil {
		m = &d.message
	}
	if typ == "assistant/message" {
		m.Role = "assistant"
	}
	return m
}

// usage are the counts of a call. Input excludes what was read and written.
type usage struct {
	Input     assembly.Count `json:"inputTokens"`
	Output    assembly.Count `json:"outputTokens"`
	Read      assembly.Count `json:"cacheReadTokens"`
	Write     assembly.Count `json:"cacheWriteTokens"`
	Reasoning assembly.Count `json:"reasoningTokens"`
}

// compaction is a summary before its message came.
type compaction struct {
	usage  assembly.Usage
	model  string
	tokens int64
	at     int64
	line   int
}

var (
	errNoType  = errors.New("not an event of a session: it has no type")
	errNoChunk = errors.New("it has no type of a chunk, or no counts")
)

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{Part: assembly.NewPart(assembly.NewFile(in.Name, opts)), ids: map[string]bool{}}
	return f, f.Read(ctx, opts, in, f.parse)
}

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	e, err := eventOf(ln.Text)
	if err != nil {
		return err
	}
	if e.Type == "session" {
		f.Form(ln.Number, e.Version, "0")
		if f.Part.ID == "" {
			f.Part.ID, f.Up, f.Project, f.seed = e.ID, e.Parent, e.Cwd, e.Seed
		}
		f.At(f.Millis(ln.Number, e.Created))
		return nil
	}
	if err := f.count(ln.Number, e.Seq); err != nil {
		return err
	}
	defer func() { f.seq++ }()
	at := f.At(f.Millis(ln.Number, e.Time))
	d, err := e.data()
	where, badPlace := e.place()
	if err = cmp.Or(err, badPlace); err != nil {
		return fmt.Errorf("%s: %w", e.Type, err)
	}
	switch e.Type {
	case "request/context", "request/header":
		f.model, f.Window = cmp.Or(d.Model, d.Header.Config.Model, f.model), max(f.Window, d.Window)
		if d.Reason == "change" {
			f.add(ln.Number, assembly.Step{Kind: assembly.StepInput, At: at, Signs: signs.Head})
		}
	case "step/start", "turn/end":
		f.cutOff(int32(ln.Number))
		if f.begun = 0; e.Type == "step/start" {
			f.begins = stepID{d.Turn, d.Step}
			f.add(ln.Number, assembly.Step{Kind: assembly.StepInput, At: at})
		}
	case "assistant/chunk":
		if f.begun == 0 {
			f.begun = at
		}
		return f.part(ln.Number, d)
	case "assistant/message":
		return f.answer(ln.Number, at, d)
	case "user/message":
		f.addMessage(ln.Number, at, assembly.StepInput, &d.message, where)
	case "tool/result":
		f.addMessage(ln.Number, at, assembly.StepResult, &d.Message, where)
	case "compaction/summary":
		f.billUnused()
		u := d.Usage.counts()
		if u.Bad = !u.OK; u.OK && f.reads && !d.Usage.Read.Logged {
			f.Lacks(1, ln.Number, "the counts of a summary lack what was read from the cache; the counts of calls have it")
		}
		f.summary = &compaction{usage: u, model: cmp.Or(d.Model, f.model), tokens: d.Shadowed, at: at, line: ln.Number}
	default:
		if !ignored(e.Type) {
			f.Unknown[e.Type]++
			if d.Usage != nil || d.Chunk.Usage != nil {
				return fmt.Errorf("event of type %.40q has the token counts of a call", e.Type)
			}
		}
	}
	return nil
}

// part takes a part of a response, of which only the counts matter, and when the first came.
func (f *file) part(line int, d *data) error {
	switch c := &d.Chunk; {
	case c.Usage != nil:
		if id := (stepID{d.Turn, d.Step}); f.step.other(id) {
			f.cutOff(int32(line))
			f.step = id
		} else if f.chunk == nil {
			f.step = id
		}
		f.chunk = c.Usage
		return f.order(line, d, false)
	case c.Type == "" || c.Type == "usage":
		return fmt.Errorf("assistant/chunk: %w", errNoChunk)
	}
	return nil
}

// billUnused bills a summary whose message did not come: the client was stopped between the two, or the message does not say what it replaces.
func (f *file) billUnused() {
	if c := f.summary; c != nil {
		f.summary = nil
		f.AddBeside("summary@"+c.model, "", c.at, c.line, c.model, c.usage)
	}
}

// add adds steps to the history.
func (f *file) add(line int, steps ...assembly.Step) {
	for i := range steps {
		steps[i].Line = int32(line)
	}
	i := f.Add(f.Len()-1, steps)
	if f.seq < f.seed {
		f.copied = append(f.copied, i)
	}
}

// show puts a message where the model sees it.
func (f *file) show(blocks []assembly.Block) { f.surface = append(f.surface, surfaced{f.seq, blocks}) }

// answer takes a message of the model, whose counts a chunk had before.
func (f *file) answer(line int, at int64, d *data) error {
	m := d.messageOf("assistant/message")
	if m.ID != "" && f.ids[m.ID] {
		f.Lacks(1, line, "message %.40q has the id of an earlier one; both are billed", m.ID)
		m.ID = ""
	}
	u := d.Usage.counts()
	f.reads = f.reads || d.Usage != nil && d.Usage.Read.Logged
	if f.chunk != nil {
		// The counts of another step are no other call's if they are the same.
		if same, other := d.Usage != nil && *d.Usage == *f.chunk, f.step.other(stepID{d.Turn, d.Step}); same || !other {
			u.Doubt, f.chunk = u.Doubt || !same || other, nil
		}
	}
	blocks := m.blocks(f.Maker)
	f.show(blocks)
	if f.seq >= f.seed && m.ID != "" {
		f.ids[m.ID] = true
	}
	first := f.begun
	if f.begun = 0; first > at {
		first = 0
	}
	f.add(line,
		assembly.Step{Kind: assembly.StepReply, At: at, First: first, ID: m.ID, Blocks: blocks},
		assembly.Step{Kind: assembly.StepCount, At: at, Model: cmp.Or(m.Source.Model, d.Origin.Model, f.model), Usage: u, Final: u.OK})
	return f.order(line, d, true)
}

// cutOff counts a step that ended before its message, so that only a chunk has its counts.
func (f *file) cutOff(line int32) {
	if f.chunk == nil {
		return
	}
	u := f.chunk.counts()
	f.chunk, f.answered = nil, f.answered || f.step == f.last
	f.add(int(line),
		assembly.Step{Kind: assembly.StepReply, At: f.End},
		assembly.Step{Kind: assembly.StepCount, At: f.End, Model: f.model, Usage: u, Final: u.OK})
}

// addMessage takes what a person, the client or a tool said. A message in place of others is a
// summary, if a summary was made, or what is left of a result.
func (f *file) addMessage(line int, at int64, kind assembly.StepKind, m *message, where place) {
	c := f.summary
	if f.hide(where); !where.replaces() || c == nil {
		blocks := m.blocks(f.Maker)
		if f.show(blocks); !where.replaces() {
			f.add(line, assembly.Step{Kind: kind, At: at, Blocks: blocks})
		}
		return
	}
	f.summary = nil
	step := assembly.Step{
		Kind: assembly.StepCompact, At: at, Usage: c.usage, Model: c.model, Tokens: assembly.Within(c.tokens),
	}
	for _, s := range f.surface {
		step.Blocks = append(step.Blocks, s.blocks...)
	}
	var summary []assembly.Block
	for _, p := range m.Content {
		if p.Text != "" {
			summary = append(summary, f.Maker.Text(prompt.KindSummary, p.Text))
		}
	}
	f.show(summary)
	step.Blocks = append(step.Blocks, summary...)
	f.add(line, step)
}

// hide takes messages out of what the model sees.
func (f *file) hide(p place) {
	if p.replaces() {
		f.surface = slices.DeleteFunc(f.surface, func(s surfaced) bool { return p.Start <= s.seq && s.seq <= p.End })
	}
}

// sessions makes sessions, with sub-agents' sessions as threads. Calls that a fork copied
// are its parent's where that is at hand, and history of the fork. What is under way where a file ends is billed, unless a
// longer log of the session tells how it went on: the file is a copy that was made meanwhile.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	own, longest := map[string]bool{}, map[string]int{}
	for _, f := range files {
		longest[f.Part.ID] = max(longest[f.Part.ID], f.Lines)
	}
	for _, f := range files {
		if f.Part.ID == "" || f.Lines == longest[f.Part.ID] {
			f.cutOff(0)
			f.billUnused()
		}
		for id := range f.ids {
			own[id] = true
		}
	}
	for _, f := range files {
		for _, i := range f.copied {
			steps := f.Steps(i)
			if len(steps) == 2 && own[steps[0].ID] {
				steps[0].Kind = assembly.StepInput
				f.Set(i, steps[:1])
			}
		}
	}
	return assembly.Families(Agent, opts, files)
}
