// Package opencode reads the sessions of OpenCode and of Kilo, OpenCode's fork: the
// database in which they are since 1.2, and exports (opencode export), one JSON
// document per session, of messages and their parts. An assistant message is
// one call. A sub-agent's session is an export of its own; the task that
// started it names it.
//
// Two things are assumed: all of the first call that no part shows counts as tools and system prompt, which are in no
// export, and writes to the cache live for five minutes.
package opencode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.OpenCode

// Describe returns what the rest of the program needs to know about OpenCode. It
// marks the last two messages for models of Anthropic, compacts when the window
// has no room left for an answer of at most 32,000 tokens, and asks for a
// summary under a system prompt of its own, as its source has it.
func Describe() *facts.Agent {
	return &facts.Agent{
		Name: Agent, Title: "OpenCode", Document: document, Places: places, Read: ReadInputs, Texts: texts, Source: stored.Source, Markers: 2, Size: facts.SizeUsage,
		Cache:         assembly.CacheByModel,
		CompactsAt:    compactsAt,
		SummaryShares: func(_, _ string) bool { return false },
		Keeps:         facts.KeepsNewest,
		SummaryClip:   2000, // compaction.ts @fd78ec6
	}
}

// compactsAt returns the client's threshold: the window less the output limit, or the input limit of a model that has one: whole
// from 1.1.27 on, and from 1.1.65 on less 20,000 (bundles of 1.1.11 to 1.18.33; 902,000 of 922,000 seen, 2026-11-27).
func compactsAt(release string, l facts.Limits) int64 {
	known := release != ""
	switch {
	case l.MaxInput == 0, known && !version.AtLeast(release, 1, 1, 27):
		return l.Window - min(l.MaxOutput, 32_000)
	case known && !version.AtLeast(release, 1, 1, 65):
		return l.MaxInput
	}
	return l.MaxInput - min(l.MaxOutput, 20_000)
}

// document reports whether a file is a store, or an export: one JSON object that
// begins with the session's info, whose id has a distinctive prefix.
func document(head []byte) bool {
	if sqlite.Has(head, "parent_id", "time_created", "message_id") {
		return true
	}
	d := jsontext.NewDecoder(bytes.NewReader(head))
	for _, want := range []string{"{", "info", "{", "id"} {
		if t, err := d.ReadToken(); err != nil || t.String() != want {
			return false
		}
	}
	t, err := d.ReadToken()
	return err == nil && strings.HasPrefix(t.String(), "ses_")
}

// places adds the database of sessions, beside the logins, and the folder of
// files that earlier versions kept.
func places(h *facts.Home) {
	data := h.XDG("XDG_DATA_HOME", ".local", "share")
	h.Add(facts.Place{Agent: Agent, File: "opencode.db"}, data, "opencode")
	h.Add(facts.Place{Agent: Agent, File: "kilo.db"}, data, "kilo")
	h.Add(facts.Place{Agent: Agent, Unread: true, Suffixes: []string{".json"}}, data, "opencode", "storage", "session")
}

// ReadInputs reads exports that were found already; see assembly.Reader.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	r := assembly.Reader[*export]{Name: Agent, Scan: scan, ScanParts: scanParts, Sessions: sessions}
	return r.Read(ctx, opts, inputs, what)
}

// export is one file.
type export struct {
	*assembly.File
	info
	thread   *assembly.Thread
	rounds   *assembly.Rounds
	end      int64
	tasks    map[string]prompt.Digest // tool calls by the session they started
	loose    []assembly.Block
	messages int
	usd      float64
	before   message // the last one
	cleared  []clearing
	ear      traces.Listener
	within   []*export // the sessions of a store that are not handed over
}

// clearing is a result that the client left out of what it sent from a time on.
type clearing struct {
	at   int64 // unix ns
	tool prompt.Digest
}

// info describes a session.
type info struct {
	ID        string `json:"id"`
	Parent    string `json:"parentID"`
	Directory string `json:"directory"`
	Version   string `json:"version"`
	Time      span   `json:"time"`
}

// span is a stretch of time, unix ms.
type span struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed"`
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
	Compacted int64 `json:"compacted"` // a result that is no longer sent, since when
}

// message is a message with its parts.
type message struct {
	Info struct {
		ID      string         `json:"id"`
		Session string         `json:"sessionID"`
		Role    string         `json:"role"`
		Model   string         `json:"modelID"`
		Gateway string         `json:"providerID"`
		Time    span           `json:"time"`
		USD     float64        `json:"cost"`
		Finish  string         `json:"finish"`  // why the answer ended
		Summary jsontext.Value `json:"summary"` // true, or an object
		Tokens  *struct {
			Total     assembly.Count `json:"total"`
			Input     assembly.Count `json:"input"`
			Output    assembly.Count `json:"output"`
			Reasoning assembly.Count `json:"reasoning"`
			Cache     struct {
				Read  assembly.Count `json:"read"`
				Write assembly.Count `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"info"`
	Parts []part `json:"parts"`
}

// part is one part of a message.
type part struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
	Auto      bool   `json:"auto"`
	Mime      string `json:"mime"`
	URL       string `json:"url"`
	Tool      string `json:"tool"`
	Time      span   `json:"time"`
	State     struct {
		Status   string         `json:"status"`
		Input    jsontext.Value `json:"input"`
		Output   string         `json:"output"`
		Error    string         `json:"error"`
		Time     span           `json:"time"`
		Metadata struct {
			Session string `json:"sessionId"`
		} `json:"metadata"`
		Attachments []jsontext.Value `json:"attachments"`
	} `json:"state"`
}

var errNoExport = errors.New("file is no export of a session: it has no messages")

// newExport returns an export that is to be read from a file.
func newExport(f *assembly.File, opts *traces.Options) *export {
	return &export{File: f, thread: assembly.Main(), tasks: map[string]prompt.Digest{}, ear: opts.Listener}
}

// scan reads one file, a store as a whole.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*export, error) {
	return scanParts(ctx, opts, in, nil)
}

// scanParts reads one file, and hands over the families of sessions of a store unless hand is nil.
func scanParts(ctx context.Context, opts traces.Options, in traces.Input, hand func([]*export)) (*export, error) {
	x := newExport(assembly.NewFile(in.Name, opts), &opts)
	if sqlite.Is(in) {
		var err error
		x.within, err = stored.Scan(ctx, x.File, opts, in, hand)
		return x, err
	}
	text, err := x.ReadAll(ctx, opts, in)
	if err != nil || text == nil {
		return x, err
	}
	return x, x.read(text)
}

// read reads an export.
func (x *export) read(text []byte) error {
	x.rounds = assembly.NewRounds(x.thread, x.File)
	bad := eachMessage(text, &x.info, func(v []byte, line int) error {
		x.rounds.Version, x.rounds.Project = x.Version, x.Directory
		m, err := messageOf(v, x.File)
		if err != nil {
			return x.Refuse(line, fmt.Errorf("message: %w", err))
		}
		x.add(m, int32(line))
		x.messages++
		if x.before = *m; strings.HasPrefix(m.Info.Session, "ses_") && m.Info.Session != x.ID {
			return x.Refuse(line, fmt.Errorf("message of session %.40q; it is read as one of this session", m.Info.Session))
		}
		return nil
	})
	if bad == nil && (x.ID == "" || x.messages == 0) {
		bad = errNoExport
	}
	if x.Parent != "" {
		x.thread.ID, x.thread.Kind = x.ID, traces.ThreadAgent
	}
	x.loose = x.rounds.Done(x.ID)
	if bad != nil {
		return x.Refuse(0, bad)
	}
	return nil
}

// messageOf reads a message, unless the file has had it.
func messageOf(v []byte, f *assembly.File) (*message, error) {
	m := &message{}
	if err := assembly.Decode(v, m); err != nil {
		return nil, err
	}
	switch role := m.Info.Role; {
	case v[0] != '{':
		return nil, errors.New("no object")
	case role != "user" && role != "assistant":
		return nil, fmt.Errorf("role %.40q is neither user nor assistant", role)
	case !strings.HasPrefix(m.Info.ID, "msg_"): // removed with the secrets of an export
		if m.Info.ID = ""; m.Info.Time.Created != 0 { // its times, to a thousandth of a second, tell it from others
			return m, f.Once("message", fmt.Sprint(m.Info.Role, " of ", m.Info.Time.Created, " to ", m.Info.Time.Completed))
		}
	}
	return m, f.Once("message", m.Info.ID)
}

// eachMessage reads the info of an export and calls do with its messages and their lines.
func eachMessage(text []byte, session *info, do func(v []byte, line int) error) error {
	err := assembly.EachOf(text, "messages", func(name string, v []byte) error {
		if name != "info" {
			return nil
		}
		return assembly.Decode(v, session)
	}, do)
	if errors.Is(err, assembly.ErrNoObject) {
		return errNoExport
	}
	return err
}

// add adds a message to the rounds.
func (x *export) add(m *message, line int32) {
	r, name := x.rounds, x.ID+strconv.Itoa(x.messages)
	created, completed := x.Millis(int(line), m.Info.Time.Created), x.Millis(int(line), m.Info.Time.Completed)
	x.usd += x.Cost(int(line), m.Info.USD)
	x.end = max(x.end, created, completed)
	mk := assembly.Maker{Ear: x.ear, Unknown: x.Unknown}
	if m.Info.Role == "user" {
		r.Add(&assembly.Step{Kind: assembly.StepInput, At: created, Line: line, Blocks: userBlocks(mk, m)})
		return
	}
	x.clear(created, line)
	blocks := readAnswer(mk, m, name)
	if string(m.Info.Summary) == "true" {
		x.takeSummary(m, completed, line, blocks)
		return
	}
	// The request starts when the message is created. The response ends when its
	// first tool starts, the message when its last tool ends.
	end, first := completed, int64(0)
	for i := range m.Parts {
		p := &m.Parts[i]
		if since := assembly.Millis(p.State.Time.Compacted); p.Type == "tool" && since != 0 {
			x.cleared = append(x.cleared, clearing{since, toolID(name, i)})
		}
		if start := assembly.Millis(p.State.Time.Start); p.Type == "tool" && start != 0 {
			end = assembly.Earlier(end, start)
			if id := p.State.Metadata.Session; id != "" {
				x.tasks[id] = toolID(name, i)
			}
		} else {
			first = assembly.Earlier(first, assembly.Millis(p.Time.Start))
		}
	}
	end = max(cmp.Or(end, created), first)
	uses, results := split(blocks)
	r.Add(&assembly.Step{Kind: assembly.StepInput, At: created, Line: line})
	r.Add(&assembly.Step{
		Kind: assembly.StepReply, At: end, First: cmp.Or(first, end), Line: line,
		ID: m.Info.ID, Blocks: uses,
	})
	if u := m.usage(); u.OK || u.Bad {
		r.Add(&assembly.Step{
			Kind: assembly.StepCount, At: end, Line: line, Model: m.Info.Model, Gateway: m.Info.Gateway, Usage: u, Final: u.OK,
		})
	}
	if len(results) > 0 {
		r.Add(&assembly.Step{Kind: assembly.StepResult, At: completed, Line: line, Blocks: results})
	}
}

// clear tells the rounds of the results that were cleared before a call that began at a time.
func (x *export) clear(before int64, line int32) {
	s := assembly.Step{Kind: assembly.StepClear, Line: line}
	x.cleared = slices.DeleteFunc(x.cleared, func(c clearing) bool {
		if c.at <= before {
			s.At, s.Cleared = max(s.At, c.at), append(s.Cleared, c.tool)
		}
		return c.at <= before
	})
	if len(s.Cleared) > 0 {
		x.rounds.Add(&s)
	}
}

// usage splits the counts of a message into disjoint classes. Input excludes
// what was read; the total shows whether output includes reasoning. The client
// writes counts with every message of the model, zeros where it made no call.
func (m *message) usage() assembly.Usage {
	t := m.Info.Tokens
	if t == nil {
		return assembly.Usage{Bad: true}
	}
	output := t.Output
	if sum := t.Input.N + t.Output.N + t.Cache.Read.N + t.Cache.Write.N; output.N >= 0 && (t.Total.N == sum+t.Reasoning.N || t.Reasoning.N > output.N) {
		output.N += t.Reasoning.N
	}
	u := assembly.Counts(t.Input, t.Cache.Read, t.Cache.Write, output, t.Total, t.Reasoning.N)
	if ended := m.Info.Finish == "stop" || m.Info.Finish == "tool-calls"; !u.OK && ended && slices.ContainsFunc(m.Parts, func(p part) bool { return p.Type == "step-finish" }) {
		u.Bad = true // the model ended the step, and took tokens for it
	}
	return u
}

// takeSummary handles the answer to a compaction, which replaces what came
// before. The message that asked for it has a part that says why.
func (x *export) takeSummary(m *message, completed int64, line int32, blocks []assembly.Block) {
	var summary []assembly.Block
	for _, b := range blocks {
		if b.Kind == prompt.KindText {
			b.Kind = prompt.KindSummary
			summary = append(summary, b)
		}
	}
	u := m.usage()
	x.rounds.Add(&assembly.Step{
		Kind: assembly.StepCompact, At: completed, Line: line, Blocks: summary,
		Usage: u, Model: m.Info.Model, Aside: !u.Doubt, // under a system prompt of its own, without tools
		Manual: slices.ContainsFunc(x.before.Parts, func(p part) bool { return p.Type == "compaction" && !p.Auto }),
	})
}

// userBlocks returns the blocks of a user's message. Texts that the client adds are
// no prompt.
func userBlocks(mk assembly.Maker, m *message) []assembly.Block {
	var list []assembly.Block
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Ignored:
		case p.Type == "text" && p.Synthetic:
			b := mk.Text(prompt.KindAttachment, p.Text)
			b.Flags |= prompt.FlagMeta
			list = append(list, b)
		case p.Type == "text":
			list = append(list, mk.Text(prompt.KindPrompt, p.Text))
		case p.Type == "file" && strings.HasPrefix(p.Mime, "image/"):
			list = append(list, mk.Text(prompt.KindImage, p.URL))
		case p.Type == "file" && p.Mime == "application/pdf":
			list = append(list, mk.Text(prompt.KindDocument, p.URL))
		case !p.unsent():
			mk.Skip(p.Type)
		}
	}
	return list
}

// readAnswer returns the blocks of an assistant's message, tool results included.
func readAnswer(mk assembly.Maker, m *message, id string) []assembly.Block {
	var list []assembly.Block
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case "text":
			list = append(list, mk.Text(prompt.KindText, p.Text))
		case "reasoning":
			list = append(list, mk.Text(prompt.KindThinking, p.Text))
		case "tool":
			tool := toolID(id, i)
			list = append(list, mk.Use(tool, p.Tool, assembly.Inline(p.State.Input)))
			if failed := p.State.Status == "error"; failed || p.State.Status == "completed" {
				list = append(list, mk.Result(tool, p.State.Output+p.State.Error, failed, len(p.State.Attachments) > 0))
			}
		default:
			if !p.unsent() {
				mk.Skip(p.Type)
			}
		}
	}
	return list
}

// unsent reports whether a part is known to send nothing to the model. Texts
// and folders that a message attaches as files are sent as separate texts.
func (p *part) unsent() bool {
	switch p.Type {
	case "step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction":
		return true
	case "file":
		return p.Mime == "text/plain" || p.Mime == "application/x-directory"
	}
	return false
}

// toolID names a tool call by its place, because exports may lack its id.
func toolID(message string, part int) prompt.Digest {
	return prompt.DigestString(message).ExtendInt(uint64(part))
}

// split parts tool results from what the model wrote.
func split(list []assembly.Block) (written, results []assembly.Block) {
	for _, b := range list {
		if b.Kind == prompt.KindToolResult {
			results = append(results, b)
		} else {
			written = append(written, b)
		}
	}
	return written, results
}
