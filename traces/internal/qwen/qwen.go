// Package qwen reads the sessions of Qwen Code: JSON lines that form a tree by parent, one file a session. A message of the
// model has its counts; what else a model was asked for is in lines of telemetry.
//
// Tools and system prompt count as all of the first call that no line shows.
package qwen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentQwen

// Describe returns what the rest of the program needs to know about Qwen Code. It compacts at 0.85 of the window or 33,000
// tokens ahead of its end and asks for the summary on the conversation's own prefix, as 0.24.4 does.
func Describe() *traces.Agent {
	return &traces.Agent{
		Name: Agent, Title: "Qwen Code", Read: ReadInputs, Texts: texts, Markers: 1,
		Document: begins, Lined: true,
		Places: func(h *traces.Home) { h.Add(traces.Place{Agent: Agent}, h.Under(".qwen"), "projects") },
		Cache:  assembly.CacheByModel,
		CompactsAt: func(_ string, l traces.Limits) int64 {
			return min(l.Window*85/100, l.Window-33_000)
		},
		SummaryShares: func(_, _ string) bool { return true },
	}
}

// begins reports whether a file begins with a line of the client, as far as head has it: some
// members are members of Claude Code's lines.
func begins(head []byte) bool {
	var l struct {
		UUID    string `json:"uuid"`
		Message struct {
			Parts jsontext.Value `json:"parts"`
		} `json:"message"`
		Payload jsontext.Value `json:"systemPayload"`
	}
	d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_ = json.UnmarshalDecode(d, &l) // what precedes a cut has been read
	return l.UUID != "" && (l.Message.Parts != nil || l.Payload != nil)
}

// ReadInputs reads sessions that were found already; see assembly.Reader.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	r := assembly.Reader[*file]{Name: Agent, Scan: scan, Sessions: sessions}
	return r.Read(ctx, opts, inputs, what)
}

func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	return assembly.Families(Agent, opts, files)
}

// file is one file.
type file struct {
	*assembly.Part
	index  assembly.IDs         // of entries of the tree, by id
	bare   map[string]bool      // answers without counts, by id: a line of the same id has them
	alone  []told               // responses that no message is known for
	before int                  // how many of them are older than the last message
	untold map[prompt.Usage]int // messages whose response has not been told, by their counts
}

// told is a response that telemetry tells.
type told struct {
	*response
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
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Call    *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args jsontext.Value `json:"args"`
	} `json:"functionCall"`
	Result *struct {
		ID       string `json:"id"`
		Response struct {
			Output string `json:"output"`
			Error  string `json:"error"`
		} `json:"response"`
	} `json:"functionResponse"`
}

// counts are the tokens of a call. The prompt has what was read, the candidates what was thought.
type counts struct {
	Prompt     assembly.Count `json:"promptTokenCount"`
	Candidates assembly.Count `json:"candidatesTokenCount"`
	Thoughts   int64          `json:"thoughtsTokenCount"`
	Cached     int64          `json:"cachedContentTokenCount"`
	Total      int64          `json:"totalTokenCount"`
}

func (c *counts) usage() assembly.Usage {
	output := c.Candidates
	if both := output.N + c.Thoughts; c.Thoughts > 0 && (c.Total == c.Prompt.N+both || c.Thoughts > output.N) {
		output.N = both
	}
	fresh := c.Prompt
	fresh.N -= c.Cached
	return assembly.Counts(fresh, assembly.Count{N: c.Cached, Logged: true}, assembly.Count{Logged: true}, output, assembly.Count{}, max(0, c.Thoughts))
}

// response is an event of telemetry: a response of the model, whatever it was asked for.
type response struct {
	Name     string         `json:"event.name"`
	Model    string         `json:"model"`
	Input    assembly.Count `json:"input_token_count"`
	Output   assembly.Count `json:"output_token_count"`
	Cached   assembly.Count `json:"cached_content_token_count"`
	Thoughts int64          `json:"thoughts_token_count"`
	Total    int64          `json:"total_token_count"`
}

func (r *response) counts() *counts {
	return &counts{r.Input, r.Output, r.Thoughts, max(0, r.Cached.N), r.Total}
}

func (r *response) usage() assembly.Usage { return r.counts().usage() }

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
	errNoType    = errors.New("not a line of a session: it has no type")
	errNoPayload = errors.New("telemetry, or a compaction, without what it tells")
)

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{Part: assembly.NewPart(assembly.NewFile(in.Name, opts)), index: assembly.IDs{}, bare: map[string]bool{}, untold: map[prompt.Usage]int{}}
	err := f.Read(ctx, opts, in, f.parse)
	for _, t := range f.alone { // of no part of the conversation
		f.whole(&t)
		f.AddBeside("beside@"+t.Model, "", t.at, t.line, t.Model, t.usage())
	}
	return f, err
}

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	var l line
	if err := assembly.Decode(ln.Text, &l); err != nil {
		return err
	}
	if l.Type == "" {
		return errNoType
	}
	at := f.At(f.Stamp(ln.Number, []byte(l.Timestamp)))
	if at != 0 && !f.bare[l.UUID] { // ids and times that were taken out together tell nothing apart
		if err := f.Once("line", l.UUID); err != nil {
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
	return nil
}

// steps returns the steps of a line.
func (f *file) steps(l *line, at int64, number int) ([]assembly.Step, error) {
	switch blocks := l.blocks(f.Maker); l.Type {
	case "user":
		return []assembly.Step{{Kind: assembly.StepInput, Blocks: blocks}}, nil
	case "tool_result":
		return []assembly.Step{{Kind: assembly.StepResult, Blocks: blocks}}, nil
	case "assistant":
		steps := []assembly.Step{{Kind: assembly.StepReply, ID: l.UUID, Blocks: blocks}}
		counts := l.Usage
		if n := len(f.alone); counts == nil && n > f.before && f.alone[n-1].Model == l.Model {
			counts = f.alone[n-1].counts() // they are the same
		}
		if f.bare[l.UUID] = counts == nil; counts == nil {
			f.Bare(number)
			return steps, nil
		}
		u := counts.usage()
		f.known(&u)
		return append(steps, assembly.Step{Kind: assembly.StepCount, Model: assembly.ModelName(l.Model), Usage: u, Final: u.OK}), nil
	case "system":
		return f.system(l, at, number)
	}
	f.Unknown[l.Type]++
	return nil, nil
}

// known forgets the response of a message, which telemetry has told. Where it told one since the last message and none has these
// counts, they are in doubt.
func (f *file) known(u *assembly.Usage) {
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
		f.respond(&p.Event, at, number)
		return nil, nil
	case p.Event.Input.Logged && p.Event.Output.Logged:
		return nil, fmt.Errorf("telemetry of type %.40q has the token counts of a call", p.Event.Name)
	default:
		return nil, nil
	}
	s := assembly.Step{Kind: assembly.StepCompact, Tokens: int32(min(max(0, p.Info.Before), assembly.MaxTokens)), Manual: p.Info.Why == "manual", Blocks: p.summary(f.Maker)}
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
func (f *file) respond(r *response, at int64, line int) {
	u := r.usage()
	switch {
	case u.OK && f.untold[u.Usage] > 0:
		f.untold[u.Usage]--
	case r.Input == assembly.Count{Logged: true} && r.Output == assembly.Count{Logged: true}: // it failed
	default:
		f.alone = append(f.alone, told{r, at, line})
	}
}
