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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
		CompactsAt: func(_ string, window, _ int64) int64 {
			return min(window*85/100, window-33_000)
		},
		SummaryShares: func(string) bool { return true },
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
	index map[string]int32 // of entries of the tree, by id
	alone []told           // responses that no message is known for
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
	Cached   int64          `json:"cached_content_token_count"`
	Thoughts int64          `json:"thoughts_token_count"`
	Total    int64          `json:"total_token_count"`
}

func (r *response) usage() assembly.Usage {
	return (&counts{r.Input, r.Output, r.Thoughts, r.Cached, r.Total}).usage()
}

// payload is what a system line holds.
type payload struct {
	Event   response  `json:"uiEvent"`
	History []content `json:"compressedHistory"`
	Info    struct {
		Before int64  `json:"originalTokenCount"`
		Why    string `json:"triggerReason"`
	} `json:"info"`
}

var errNoType = errors.New("not a line of a session: it has no type")

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := &file{Part: assembly.NewPart(assembly.NewFile(in.Name, opts)), index: map[string]int32{}}
	err := f.Read(ctx, opts, in, f.parse)
	for i := range f.alone {
		f.beside(&f.alone[i])
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
	f.Part.ID, f.Project, f.Version = cmp.Or(f.Part.ID, l.Session), cmp.Or(f.Project, l.Cwd), cmp.Or(f.Version, l.Version)
	f.Window = max(f.Window, l.Window)
	steps, err := f.steps(&l, at, ln.Number)
	if err != nil {
		return err
	}
	for i := range steps {
		steps[i].At, steps[i].Line = at, int32(ln.Number)
	}
	parent, ok := f.index[l.Parent]
	if !ok || l.UUID == l.Parent {
		parent = f.Len() - 1
	}
	f.index[l.UUID] = f.Add(parent, steps)
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
		if l.Usage == nil {
			f.Bare(number)
			return steps, nil
		}
		u := l.Usage.usage()
		f.known(&u)
		return append(steps, assembly.Step{Kind: assembly.StepCount, Model: assembly.ModelName(l.Model), Usage: u, Final: u.OK}), nil
	case "system":
		return f.system(l, at, number)
	}
	f.Unknown[l.Type]++
	return nil, nil
}

// known forgets the response of a message, which telemetry has told.
func (f *file) known(u *assembly.Usage) {
	for i := len(f.alone) - 1; i >= 0; i-- {
		if t := f.alone[i].usage(); t.Usage == u.Usage {
			f.alone = append(f.alone[:i], f.alone[i+1:]...)
			return
		}
	}
}

// system takes a line of the client: a compaction, with the calls since the last message, or a response.
func (f *file) system(l *line, at int64, number int) ([]assembly.Step, error) {
	if len(l.Payload) == 0 || l.Subtype != "chat_compression" && l.Subtype != "ui_telemetry" {
		return nil, nil
	}
	var p payload
	if err := assembly.Decode(l.Payload, &p); err != nil {
		return nil, err
	}
	if l.Subtype == "ui_telemetry" {
		if p.Event.Name == "qwen-code.api_response" && p.Event.Input.N > 0 {
			f.alone = append(f.alone, told{&p.Event, at, number})
		}
		return nil, nil
	}
	s := assembly.Step{Kind: assembly.StepCompact, Tokens: int32(min(max(0, p.Info.Before), assembly.MaxTokens)), Manual: p.Info.Why == "manual", Blocks: p.summary(f.Maker)}
	for i := range f.alone {
		u := f.alone[i].usage()
		if !u.OK {
			s.Usage.Bad = true
			continue
		}
		s.Usage.OK, s.Usage.Reasoning, s.Calls, s.Model = true, -1, s.Calls+1, assembly.ModelName(f.alone[i].Model)
		s.Usage.Usage.Add(&u.Usage)
	}
	f.alone = nil
	return []assembly.Step{s}, nil
}

// beside makes a call of a response that is no part of the conversation.
func (f *file) beside(t *told) {
	u := t.usage()
	if !u.OK {
		f.Lacks(1, t.line, "a call beside the conversation has no usable token counts; it is not in the bill")
		return
	}
	p := assembly.NewPart(f.File)
	p.ID, p.Up = "beside@"+t.Model, f.Part.ID
	p.Add(-1, []assembly.Step{
		{Kind: assembly.StepInput, At: t.at, Line: int32(t.line)}, {Kind: assembly.StepReply, At: t.at, Line: int32(t.line)},
		{Kind: assembly.StepCount, At: t.at, Line: int32(t.line), Model: assembly.ModelName(t.Model), Usage: u, Final: true},
	})
	f.Below = append(f.Below, p)
}
