// Package qwen reads the sessions of Qwen Code: JSON lines that form a tree by parent, one file a session. A message of the
// model has its counts; what else a model was asked for is in lines of telemetry.
//
// Tools and system prompt count as all of the first call that no line shows.
package qwen

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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
const Agent = facts.Qwen

// Describe returns what the rest of the program needs to know about Qwen Code. It compacts at 0.85 of the window or 33,000
// tokens ahead of its end and asks for the summary on the conversation's own prefix, as 0.24.4 does.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "Qwen Code", Read: reader.Read, Texts: reader.Texts, Markers: 1,
		Document: begins, Lined: true,
		Places:        func(h *facts.Home) { h.Add(facts.Place{Agent: Agent}, h.Under(".qwen"), "projects") },
		SummaryShares: func(_, _ string) bool { return true },
		Forgets:       true, // the date, with the first prompt of a process (0.24.4, seen and read)
	}, 85, 33_000)
}

var reader = assembly.Linewise[*file]{Name: Agent, New: newFile, Line: (*file).parse, Ends: billAlone}

// begins reports whether a file begins with a line of the client, as far as head has it: some
// members are members of Claude Code's lines.
func begins(head []byte) bool {
	names := assembly.Names(head, 2)
	return names["uuid"] && (names["message.parts"] || names["systemPayload"])
}

// file is one file.
type file struct {
	*assembly.Part
	index  assembly.IDs         // of entries of the tree, by id
	bare   map[string]bool      // answers without counts, by id: a line of the same id has them
	alone  []told               // responses that no message is known for
	before int                  // how many of them are older than the last message
	untold map[prompt.Usage]int // messages whose response has not been told, by their counts
	typed  int                  // prompts so far
	asked  bool                 // the last one has been answered by the model, or telemetry says so
	marks  bool                 // the last response that telemetry told is of a request that marks what the cache keeps
	alive  bool                 // the first prompt was number 0: a terminal or a process for one prompt sent it
}

// told is a response that telemetry tells.
type told struct {
	*response
	uuid string // of its line
	at   int64
	line int
}

// line is one line.
type line struct {
	UUID      string         `json:"uuid"`
	Parent    string         `json:"parentUuid"`
	Session   string         `json:"sessionId"`
	Timestamp string         `json:"timestamp"`
	Type      string         `json:"type"`
	Subtype   string         `json:"subtype"`
	By        string         `json:"provenance"`
	Cwd       string         `json:"cwd"`
	Version   string         `json:"version"`
	Model     string         `json:"model"`
	Window    int64          `json:"contextWindowSize"`
	Message   content        `json:"message"`
	Usage     *counts        `json:"usageMetadata"`
	Payload   jsontext.Value `json:"systemPayload"`
}

// content is what one side said.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// part is a part of a content.
type part struct {
	Text    string                     `json:"text"`
	Thought bool                       `json:"thought"`
	Call    *assembly.FunctionCall     `json:"functionCall"`
	Result  *assembly.FunctionResponse `json:"functionResponse"`
}

// counts are the tokens of a call, as a message or telemetry names them. The input has what was read, the output what was thought.
type counts struct {
	Input    assembly.Count `json:"promptTokenCount|input_token_count"`
	Output   assembly.Count `json:"candidatesTokenCount|output_token_count"`
	Cached   assembly.Count `json:"cachedContentTokenCount|cached_content_token_count"`
	Thoughts int64          `json:"thoughtsTokenCount|thoughts_token_count"`
	Total    int64          `json:"totalTokenCount|total_token_count"`
}

// usage returns the counts as disjoint classes. They have no place for what was written to the cache, which is all that was not read where
// the client asks Anthropic's interface: it marks the end of each request (seen, 0.24.4).
func (c *counts) usage(marks bool) assembly.Usage {
	output := c.Output
	if both := output.N + c.Thoughts; c.Thoughts > 0 && (c.Total == c.Input.N+both || c.Thoughts > output.N) {
		output.N = both
	}
	thought := assembly.Count{N: max(0, c.Thoughts), Logged: true}
	l := assembly.Logged{Input: c.Input, Read: assembly.Count{N: max(0, c.Cached.N)}, Output: output, Reasoning: thought}
	if marks {
		l.Write.N = max(0, l.Input.N-l.Read.N)
	}
	return l.Usage()
}

// response is an event of telemetry: a response of the model, whatever it was asked for.
type response struct {
	counts
	Name  string `json:"event.name"`
	Model string `json:"model"`
	For   string `json:"prompt_id"` // session########number
	Of    string `json:"auth_type"` // the interface
}

// marks reports whether the request of the response marks what the cache keeps.
func (r *response) marks() bool {
	return r.Of == "anthropic" && assembly.CacheByModel(r.Model) == facts.CacheMarked
}

func (r *response) usage() assembly.Usage { return r.counts.usage(r.marks()) }

// payload is what a system line holds.
type payload struct {
	Event   response  `json:"uiEvent"`
	History []content `json:"compressedHistory"`
	Info    struct {
		Before int64  `json:"originalTokenCount"`
		Why    string `json:"triggerReason"`
	} `json:"info"`
}

var (
	errNoPayload = errors.New("telemetry, or a compaction, without what it tells")
	errNoParent  = errors.New("the parent of the line is not above the line: lines are missing or moved")
	errOther     = errors.New("line of another session than the first line of the file; it is read as one of this session")
)

func newFile(p *assembly.Part) *file {
	return &file{Part: p, index: assembly.IDs{}, bare: map[string]bool{}, untold: map[prompt.Usage]int{}}
}

// billAlone bills the responses that are of no part of the conversation. Where a file ends with one, another file of the session may have
// its message: a copy that was made later, or the rest of a log that was divided.
func billAlone(files []*file) {
	of := map[string][]*file{}
	for _, f := range files {
		of[f.Part.ID] = append(of[f.Part.ID], f)
	}
	for _, f := range files {
		for i, t := range f.alone {
			if i >= f.before && f.Part.ID != "" && slices.ContainsFunc(of[f.Part.ID], func(o *file) bool { return o != f && o.answers(&t, f) }) {
				continue
			}
			f.whole(&t)
			f.AddBeside("beside@"+t.Model, "", t.at, t.line, t.Model, t.usage())
		}
	}
}

// answers reports whether a file has the message of a response with which another file of the session ends, or tells of that response itself.
func (f *file) answers(t *told, o *file) bool {
	alone := func(a told) bool { return a.uuid == t.uuid }
	if t.uuid != "" && f.Had(t.uuid) && (f.Lines > o.Lines || !slices.ContainsFunc(f.alone, alone)) {
		return true
	}
	u := t.usage()
	if f.untold[u.Usage] == 0 {
		return false
	}
	f.untold[u.Usage]--
	return true
}

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	var l line
	if err := assembly.Decode(ln.Text, &l); err != nil {
		return err
	}
	if l.Type == "" {
		return assembly.ErrNoType
	}
	at := f.At(f.Stamp(ln.Number, []byte(l.Timestamp)))
	if at != 0 && !f.bare[l.UUID] { // ids and times that were taken out together tell nothing apart
		if err := f.Once("line", l.UUID); err != nil {
			return err
		}
	}
	if l.Session != "" && f.Part.ID != "" && l.Session != f.Part.ID {
		if err := f.Refuse(ln.Number, errOther); err != nil {
			return err
		}
	}
	f.Part.ID, f.Project, f.Version = cmp.Or(f.Part.ID, l.Session), cmp.Or(f.Project, l.Cwd), cmp.Or(f.Version, l.Version)
	f.Window = max(f.Window, l.Window)
	steps, err := f.steps(&l, at, ln.Number)
	if err != nil {
		return err
	}
	for i := range steps {
		steps[i].At, steps[i].Line = at, int32(ln.Number)
	}
	if len(steps) == 0 && l.UUID == "" && l.Parent == "" {
		return nil // the line sends nothing, and no other line can name it
	}
	parent, ok := f.index.Get(l.Parent)
	if !ok || l.UUID == l.Parent {
		parent = f.Len() - 1
	}
	f.index.Set(l.UUID, f.Add(parent, steps))
	if !ok && l.Parent != "" && f.Lines > 1 { // the first line of the rest of a log that was divided
		return f.Refuse(ln.Number, errNoParent)
	}
	return nil
}

// steps returns the steps of a line.
func (f *file) steps(l *line, at int64, number int) ([]assembly.Step, error) {
	switch blocks := l.blocks(f.Maker); l.Type {
	case "user":
		if l.By == "real_user" {
			f.typed, f.asked = f.typed+1, false
		}
		return []assembly.Step{{Kind: assembly.StepInput, Blocks: blocks}}, nil
	case "tool_result":
		return []assembly.Step{{Kind: assembly.StepResult, Blocks: blocks}}, nil
	case "assistant":
		steps := []assembly.Step{{Kind: assembly.StepReply, ID: l.UUID, Blocks: blocks}}
		counts := l.Usage
		if n := len(f.alone); counts == nil && n > f.before && f.alone[n-1].Model == l.Model {
			counts = &f.alone[n-1].counts // they are the same
		}
		if f.bare[l.UUID] = counts == nil; counts == nil {
			f.Bare(number)
			return steps, nil
		}
		u := counts.usage(f.marks)
		f.forget(&u)
		return append(steps, assembly.Step{Kind: assembly.StepCount, Model: assembly.ModelName(l.Model), Usage: u, Final: u.OK}), nil
	case "system":
		return f.system(l, at, number)
	}
	f.Unknown[l.Type]++
	return nil, nil
}

// forget forgets the response of a message, which telemetry has told. Where it told one since the last message and none has these
// counts, they are in doubt.
func (f *file) forget(u *assembly.Usage) {
	for i := len(f.alone) - 1; i >= 0; i-- {
		if t := f.alone[i].usage(); t.Usage == u.Usage {
			f.alone = append(f.alone[:i], f.alone[i+1:]...)
			f.before = len(f.alone)
			return
		}
	}
	u.Doubt = u.Doubt || len(f.alone) > f.before
	f.before = len(f.alone)
	f.untold[u.Usage]++
}

// system takes a line of the client: a compaction, with the calls since the last message, or a response.
func (f *file) system(l *line, at int64, number int) ([]assembly.Step, error) {
	compacts := bytes.Contains(l.Payload, []byte(`"compressedHistory"`))
	if known := l.Subtype == "chat_compression" || l.Subtype == "ui_telemetry"; !known && !compacts && !bytes.Contains(l.Payload, []byte(`"uiEvent"`)) {
		return nil, nil
	}
	var p payload
	if err := assembly.Decode(l.Payload, &p); err != nil {
		return nil, err
	}
	switch {
	case compacts:
	case p.Event.Name == "":
		return nil, errNoPayload
	case p.Event.Name == "qwen-code.api_response":
		f.respond(&p.Event, l.UUID, at, number)
		if f.restarted(p.Event.For) {
			return []assembly.Step{{Kind: assembly.StepInput, Signs: signs.Process}}, nil
		}
		return nil, nil
	case p.Event.Input.Logged && p.Event.Output.Logged:
		return nil, fmt.Errorf("telemetry of type %.40q has the token counts of a call", p.Event.Name)
	default:
		return nil, nil
	}
	s := assembly.Step{Kind: assembly.StepCompact, Tokens: assembly.Within(p.Info.Before), Manual: p.Info.Why == "manual"}
	if h := p.History; len(h) > 0 && len(h[0].Parts) > 0 {
		s.Blocks = []assembly.Block{f.Maker.Text(prompt.KindSummary, h[0].Parts[0].Text)}
	}
	for i := range f.alone {
		f.whole(&f.alone[i])
		u := f.alone[i].usage()
		if !u.OK {
			s.Usage.Bad = true
			continue
		}
		s.Usage.OK, s.Usage.Reasoning, s.Calls, s.Model = true, -1, s.Calls+1, assembly.ModelName(f.alone[i].Model)
		s.Usage.Usage.Add(&u.Usage)
	}
	f.alone, f.before = nil, 0
	return []assembly.Step{s}, nil
}

// whole tells of a response that no message repeats and of which telemetry does not say what was read from the cache, as it
// does of all others.
func (f *file) whole(t *told) {
	if c := t.Cached; !c.Logged || c.N < 0 {
		f.Lacks(1, t.line, "telemetry of a response lacks what was read from the cache, which counts as nothing")
	}
}

// respond takes a response that telemetry tells: of a message that will follow or has come, or of no message.
func (f *file) respond(r *response, uuid string, at int64, line int) {
	u := r.usage()
	f.marks = r.marks()
	switch {
	case u.OK && f.untold[u.Usage] > 0:
		f.untold[u.Usage]--
	case r.Input == assembly.Count{Logged: true} && r.Output == assembly.Count{Logged: true}: // it failed
	default:
		f.alone = append(f.alone, told{r, uuid, at, line})
	}
}

// restarted reports whether the response is the first to a prompt with which the client was started anew. A terminal numbers the prompts of
// a session from 0 on, and so says how many came before; a process for one prompt adds one to the last number, or to the count of the prompts
// where that was 0. So its number is above that count.
func (f *file) restarted(id string) bool {
	_, last, ok := strings.Cut(id, "########")
	n, err := strconv.Atoi(last)
	if !ok || err != nil || f.asked || f.typed == 0 {
		return false
	}
	f.asked = true
	f.alive = f.alive || f.typed == 1 && n == 0
	return f.alive && n >= f.typed && f.typed > 1
}

// blocks returns the blocks of a message. What a person did not write is the client's.
func (l *line) blocks(mk assembly.Maker) (list []assembly.Block) {
	kind, client := prompt.KindPrompt, l.By != "" && l.By != "real_user"
	if l.Type == "assistant" {
		kind, client = prompt.KindText, false
	}
	for i := range l.Message.Parts {
		switch p := &l.Message.Parts[i]; {
		case p.Call != nil:
			list = append(list, mk.Use(assembly.CallID(p.Call.ID), p.Call.Name, p.Call.Args))
		case p.Result != nil:
			said := &p.Result.Said
			list = append(list, mk.Result(assembly.CallID(p.Result.ID), said.Output+said.Error, said.Error != "", false))
		case p.Thought:
			list = append(list, mk.Text(prompt.KindThinking, p.Text))
		case p.Text != "" && client:
			list = append(list, mk.Added(p.Text))
		case p.Text != "":
			list = append(list, mk.Text(kind, p.Text))
		}
	}
	return list
}
