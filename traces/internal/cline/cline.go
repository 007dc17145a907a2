// Package cline reads the sessions of Cline's SDK, on which its command line,
// desktop and extensions rest since 2026: one JSON document per session or
// sub-agent, of messages.
//
// A message of the model is one call, with its counts. Where a run did not report
// them by message, the last one of a turn has the turn's counts: its calls share
// them, and are marked. Since 3.0.64 the document keeps all messages, and what is
// sent in place of the first of them stands in a second one, <id>.compaction.json; a
// later compaction writes that anew. Before, a compaction rewrote the document, and
// the calls that it took out are in no file. The call that makes a summary is in none.
//
// Two things are assumed. Tools are in no file, so all of the first call that no
// message shows counts as these and the system prompt. Writes to the cache live
// for five minutes.
package cline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Cline

// Describe returns what the rest of the program needs to know about Cline. It
// compacts at 0.9 of the largest input, a constant of 3.0.65 that no setting moves, and
// asks for the summary in a request of its own.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "Cline", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document, Markers: 1, MarksPrompt: true, Size: facts.SizeInput, // 3.0.65
		Window: 128_000, // 3.0.65, of a model that it does not know
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{".messages.json", replacing}}, h.Under(".cline", "data", "sessions"))
		},
	}, 90, 0)
}

// replacing ends the name of a file of what is sent in place of a session's first messages.
const replacing = ".compaction.json"

// document reports whether a file is one object that has an id of a session, messages, and what
// its contract asks for beside them.
func document(head []byte) bool {
	names := assembly.Names(head, 1)
	return (names["sessionId"] || names["conversation_id"]) && names["updated_at"] && names["version"] && names["messages"]
}

// file is one file.
type file struct {
	*assembly.Part
	said  int64  // tokens of all that was said, as estimated
	turn  []call // calls of the turn under way that have no counts
	input int64  // of a call of the last turn with counts, tokens; 0 after a compaction
	// shared are the calls of that turn without counts of their own, saidThen is what had been said before its last call.
	shared   int
	saidThen int64

	entries assembly.IDs // of messages, by id
	last    string       // id of the last message, or of the last one that this file replaces
	sources int          // messages that this file replaces
}

// call is a call that waits for counts.
type call struct {
	entry, line  int32
	said, before int64 // tokens of all that was said before it, and before the call before it
}

// message is a message of a document.
type message struct {
	ID      string         `json:"id"`
	Role    string         `json:"role"`
	Content jsontext.Value `json:"content"` // a string, or parts
	Time    int64          `json:"ts"`      // unix ms, when it was complete
	Model   struct {
		ID      string `json:"id"`
		Gateway string `json:"provider"`
	} `json:"modelInfo"`
	Metrics  *metrics       `json:"metrics"`
	Metadata jsontext.Value `json:"metadata"` // of a message that a compaction wrote or changed
}

// metrics are the counts of a call, or of a turn. Input includes reads and writes
// where it is as large as these.
type metrics struct {
	Input  assembly.Count `json:"inputTokens"`
	Output assembly.Count `json:"outputTokens"`
	Read   assembly.Count `json:"cacheReadTokens"`
	Write  assembly.Count `json:"cacheWriteTokens"`
	USD    float64        `json:"cost"`
}

// part is a part of a content.
type part struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Thinking string         `json:"thinking"`
	Path     string         `json:"path"`    // of a file
	Content  jsontext.Value `json:"content"` // of a file or a result
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Input    jsontext.Value `json:"input"`
	Call     string         `json:"tool_use_id"`
	Failed   bool           `json:"is_error"`
	Data     string         `json:"data"` // of an image
}

var (
	errNoSession = errors.New("file is no session: it has no messages")
	errNoRole    = errors.New("it has no role")
)

// scan reads one file. What precedes a defect is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := newFile(assembly.NewFile(in.Name, opts))
	return f, f.ReadDocument(ctx, opts, in, f.document)
}

func newFile(f *assembly.File) *file {
	return &file{Part: assembly.NewPart(f), entries: assembly.IDs{}}
}

// document reads a session.
func (f *file) document(text []byte) error {
	var key string
	bad := assembly.EachOf(text, "messages", func(name string, v []byte) error {
		switch name {
		case "version":
			f.Form(0, v, "1")
		case "sessionId", "conversation_id":
			return assembly.Decode(v, &f.Part.ID)
		case "source_message_count":
			return assembly.Decode(v, &f.sources)
		case "source_last_message_key":
			return assembly.Decode(v, &key)
		}
		return nil
	}, func(v []byte, line int) error {
		var m message
		err := assembly.Decode(v, &m)
		switch {
		case err != nil:
		case m.Role == "":
			err = errNoRole
		case m.Role != "assistant" && m.Metrics != nil:
			err = fmt.Errorf("role %.40q is not the model's, and the message has its token counts", m.Role)
		default:
			err = f.Once("message", m.ID)
		}
		if err != nil {
			return f.Refuse(line, fmt.Errorf("message: %w", err))
		}
		f.message(line, &m)
		return nil
	})
	f.endTurn()
	if id, ok := strings.CutPrefix(key, "id:"); ok {
		f.last = id
	}
	if bad == nil && f.Len() == 0 {
		return errNoSession
	}
	return bad
}

// message adds a message to the history.
func (f *file) message(line int, m *message) {
	if m.ID != "" {
		f.entries.Set(m.ID, f.Len())
		f.last = m.ID
	}
	at := f.At(f.Millis(line, m.Time))
	blocks := m.blocks(f.Maker)
	before := f.said
	f.said += f.Weigh(blocks...)
	if m.Role == "assistant" {
		f.answer(line, at, m, blocks, before)
		return
	}
	step := assembly.Step{Kind: assembly.StepInput, At: at, Line: int32(line), Blocks: blocks}
	if len(blocks) > 0 && blocks[0].Kind == prompt.KindToolResult {
		step.Kind = assembly.StepResult
	} else {
		f.endTurn()
	}
	if len(blocks) > 0 && blocks[0].Kind == prompt.KindSummary {
		step.Kind, f.input, f.shared = assembly.StepCompact, 0, 0
		var written struct {
			At int64 `json:"generatedAt"` // unix ms
		}
		if assembly.Decode(m.Metadata, &written) == nil && written.At != 0 {
			step.At = f.At(f.Millis(line, written.At))
		}
	}
	f.Add(f.Len()-1, []assembly.Step{step})
}

// endTurn tells of calls of a turn whose counts did not come.
func (f *file) endTurn() {
	for _, c := range f.turn {
		f.Bare(int(c.line))
	}
	f.turn = nil
}

// answer adds a call. If calls of the turn before it have no counts, its own cover all these calls.
func (f *file) answer(line int, at int64, m *message, blocks []assembly.Block, said int64) {
	steps := []assembly.Step{{Kind: assembly.StepReply, At: at, Line: int32(line), ID: m.ID, Model: assembly.ModelName(m.Model.ID), Blocks: blocks}}
	c := call{entry: f.Len(), line: int32(line), said: said, before: -1}
	if n := len(f.turn); n > 0 {
		c.before = f.turn[n-1].said
	}
	f.turn = append(f.turn, c)
	if m.Metrics == nil {
		f.Add(f.Len()-1, steps)
		return
	}
	f.USD += f.Cost(line, m.Metrics.USD)
	u := m.Metrics.usage()
	steps = append(steps, count(at, line, m, u))
	f.Add(f.Len()-1, steps)
	if n := int64(len(f.turn)); u.OK {
		// A context grows: the calls of a turn read more than as many calls before it.
		if missing := n - 1; missing > 0 && 2*u.Input() < (2*n-1)*f.input {
			f.Lacks(int(missing), line, "counts are less than the counts of the %d calls of the turn: some are missing", n)
		}
		if n == 1 && f.shared > 0 && u.Input() > 3*f.input/2+said-f.saidThen {
			// This call alone is larger than the share of each call before it: the counts did not cover all calls.
			f.Lacks(f.shared, line, "counts of the turn before are less than the counts of its %d calls: some are missing", f.shared+1)
		}
		f.input, f.shared, f.saidThen = u.Input()/n, int(n)-1, said
	}
	if len(f.turn) > 1 && u.OK {
		f.share(m, &u)
	}
	f.turn = nil
}

// count ends a call.
func count(at int64, line int, m *message, u assembly.Usage) assembly.Step {
	return assembly.Step{Kind: assembly.StepCount, At: at, Line: int32(line), Model: assembly.ModelName(m.Model.ID), Gateway: m.Model.Gateway, Usage: u, Final: u.OK}
}

// share gives the calls of a turn their shares of its counts.
func (f *file) share(m *message, u *assembly.Usage) {
	usages := make([]assembly.Usage, len(f.turn))
	var list []assembly.Portion
	for i, c := range f.turn {
		list = append(list, assembly.Portion{Of: &usages[i], Context: c.said, Before: c.before})
	}
	total := assembly.Total{Input: u.Input(), Read: u.Read, Write: u.Writes(), Output: u.Output}
	if total.Spread(list) != nil {
		return
	}
	for i, c := range f.turn {
		reply := f.Steps(c.entry)[0]
		f.Set(c.entry, []assembly.Step{reply, count(reply.At, int(c.line), m, usages[i])})
	}
}

// usage splits the counts of a call into disjoint classes.
func (m *metrics) usage() assembly.Usage {
	input, read, write := m.Input, m.Read, m.Write
	if cached := read.N + write.N; min(read.N, write.N) >= 0 && input.N >= cached {
		input.N -= cached
	}
	return assembly.Counts(input, read, write, m.Output, assembly.Count{}, -1)
}

// blocks returns the blocks of a message.
func (m *message) blocks(mk assembly.Maker) (list []assembly.Block) {
	kind := prompt.KindPrompt
	switch {
	case m.Role == "assistant":
		kind = prompt.KindText
	case len(m.Metadata) > 0 && m.Time == 0: // written by a compaction
		kind = prompt.KindSummary
	}
	for _, p := range assembly.PartsOf(mk, m.Content, func(p *part) *string { p.Type = "text"; return &p.Text }) {
		switch p.Type {
		case "text":
			list = append(list, mk.Text(kind, p.Text))
		case "thinking":
			list = append(list, mk.Text(prompt.KindThinking, p.Thinking))
		case "redacted_thinking":
			list = append(list, mk.Text(prompt.KindThinking, p.Data))
		case "file":
			b := mk.Added(assembly.Literal(p.Content))
			b.Object = p.Path
			list = append(list, b)
		case "image":
			list = append(list, mk.Text(prompt.KindImage, p.Data))
		case "tool_use":
			list = append(list, mk.Use(assembly.CallID(p.ID), p.Name, assembly.Inline(p.Input)))
		case "tool_result":
			list = append(list, mk.Result(assembly.CallID(p.Call), assembly.Literal(p.Content), p.Failed, false))
		default:
			mk.Skip(p.Type)
		}
	}
	return list
}

// texts reads the texts of a document again.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	_ = f.document(text) // as far as it is readable
	return f.Texts()
}

// sessions makes one session of every file. No file says whose sub-agent it is. A file that replaces messages of another one is a
// compaction of that; alone it is a session that begins with what the compaction left.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	whole := map[string]*file{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name, replacing) && f.Len() > 0 {
			whole[f.Part.ID] = f
		}
	}
	compacted := map[*file]int32{}
	files = slices.DeleteFunc(slices.Clone(files), func(c *file) bool {
		f := whole[c.Part.ID]
		if f == nil || f == c || !strings.HasSuffix(c.Name, replacing) {
			return false
		}
		at, ok := f.entries.Get(c.last)
		if !ok {
			at = int32(c.sources) - 1
		}
		switch f.Beside = append(f.Beside, c.File); {
		case at < 0 || at >= f.Len():
			c.Problems.Add(c.Name, 0, "message %.40q, behind which the session was compacted, is not in %s; the compaction is left out", c.last, f.Name)
		case compacted[f] != at+1:
			compacted[f] = at + 1
			f.compact(at, c)
		}
		return true
	})
	return assembly.Families(Agent, opts, files)
}

// compact puts what another file holds in place of the messages through entry i.
func (f *file) compact(i int32, by *file) {
	step := assembly.Step{Kind: assembly.StepCompact, Source: by.File, Line: 1, At: f.Steps(i)[0].At, Uncalled: true}
	var summary []assembly.Block
	for k := range by.Len() {
		for _, s := range by.Steps(k) {
			if s.Kind == assembly.StepCompact {
				summary, step.Line, step.At, step.Uncalled = s.Blocks, s.Line, s.At, false
			} else {
				step.Blocks = append(step.Blocks, s.Blocks...)
			}
		}
	}
	step.Blocks = append(step.Blocks, summary...)
	if next := i + 1; next < f.Len() {
		f.Set(next, append([]assembly.Step{step}, f.Steps(next)...))
	} else {
		f.Add(i, []assembly.Step{step})
	}
}
