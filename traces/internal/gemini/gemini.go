// Package gemini reads the sessions of the Gemini CLI: one JSON document per
// session up to April 2026, JSON lines since. A message is written again as its
// tokens and tools arrive, so that the last record of an id counts. A line may go
// back to a message, which leaves a branch, or give a whole new history, which is
// a compaction where messages are missing from it. A client that resumes a session
// gives its history again with every result of a tool twice, which is none.
//
// Tools and system prompt are in no record, so all of the first call that no
// record shows counts as these. Nor are the calls that make and verify a
// summary. The cache is the provider's own: nothing is written to it that is
// billed.
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Gemini

// Describe returns what the rest of the program needs to know about the Gemini
// CLI. It compacts at half of the window, by a request under a prompt of its own.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "Gemini CLI", Read: assembly.ReadBy(Agent, scan, sessions), Texts: texts, Document: document,
		Member: func(typ, name string) bool {
			return typ == "" && (name == "projectHash" || name == "$set" || name == "$rewindTo")
		},
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent, Suffixes: []string{".json", ".jsonl"}}, h.From("GEMINI_CLI_HOME"), ".gemini", "tmp")
		},
		Settings: assembly.ShareOfWindow("model.compressionThreshold", "~/.gemini/settings.json", `{"model": {"compressionThreshold": %s}}`, "",
			"0.05", "0.1", "0.2", "0.3", "0.7"),
	}, 50, 0)
}

// document reports whether a file begins with an object that has a session id and
// the hash of a project: a session as one document, or the first line of one.
func document(head []byte) bool {
	names := assembly.Names(head, 1)
	return names["sessionId"] && names["projectHash"]
}

// lined reports whether a file that begins with head has records as lines: its first line is an object that is no whole
// session, or one that is damaged, which does not end as a line inside of a document does.
func lined(head []byte) bool {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(assembly.TrimBOM(line))
		var r record
		switch {
		case len(line) == 0:
		case assembly.Decode(line, &r) == nil:
			return r.Messages == nil
		case bytes.IndexByte([]byte("{[,:"), line[len(line)-1]) >= 0:
			return false
		}
	}
	return false
}

// file is one file.
type file struct {
	*assembly.Part
	header
	at        int32          // the last entry of the history, -1 for none
	index     assembly.IDs   // of entries, by id
	latest    []mark         // by entry, as far as there are any
	uncounted map[string]int // lines of answers without counts, by id
	set       []record       // the messages that were set last and nothing followed yet
	setLine   int
	masked    map[prompt.Digest]bool // calls of tools whose results the client has masked
}

// header is what a session says of itself.
type header struct {
	Session string `json:"sessionId"`
	Hash    string `json:"projectHash"`
	Kind    string `json:"kind"`
}

var errNoSession = errors.New("file is no session: it has no messages")

func newFile(f *assembly.File) *file {
	return &file{Part: assembly.NewPart(f), at: -1, index: assembly.IDs{}, uncounted: map[string]int{}, masked: map[prompt.Digest]bool{}}
}

// scan reads one file. What precedes a defect in a document is kept.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*file, error) {
	f := newFile(assembly.NewFile(in.Name, opts))
	if head, err := in.Head(64 << 10); err == nil && lined(head) {
		err := f.Read(ctx, opts, in, f.line)
		return f, cmp.Or(err, f.settle())
	}
	return f, f.ReadDocument(ctx, opts, in, f.document)
}

// texts reads the texts of a file again, a document or lines.
func texts(text []byte) []traces.Text {
	f := newFile(assembly.Again())
	if lined(text) {
		for line := range bytes.Lines(text) {
			if f.line(assembly.Line{Text: line}) != nil { // what cannot be read has no blocks
				for _, o := range assembly.Joined(line) {
					_ = f.line(assembly.Line{Text: o})
				}
			}
		}
		_ = f.settle()
	} else {
		_ = f.document(text) // as far as it is readable
	}
	return f.Texts()
}

// document reads a session that is one document.
func (f *file) document(text []byte) error {
	bad := assembly.EachOf(text, "messages", func(name string, v []byte) error {
		return assembly.Decode([]byte(`{"`+name+`":`+string(v)+`}`), &f.header)
	}, func(v []byte, line int) error {
		var r record
		err := assembly.Decode(v, &r)
		if err == nil {
			err = f.message(line, &r)
		}
		if err != nil {
			return f.Refuse(line, err)
		}
		return nil
	})
	if bad == nil && f.Len() == 0 {
		return errNoSession
	}
	return bad
}

// line reads one line.
func (f *file) line(ln assembly.Line) error {
	var r record
	if err := assembly.Decode(ln.Text, &r); err != nil {
		return err
	}
	switch {
	case r.Set != nil:
		if r.Set.Messages != nil {
			f.set, f.setLine = r.Set.Messages, ln.Number
		}
	case r.Rewind != "":
		err := f.settle()
		f.rewind(ln.Number, r.Rewind)
		return err
	case r.Type != "":
		return errors.Join(f.settle(), f.message(ln.Number, &r))
	case r.Session != "":
		if f.Session == "" {
			f.header = r.header
		}
	default:
		return errNoRecord
	}
	return nil
}

var errNoRecord = errors.New("not a record of a session: it has no type")

// message adds a message to the history, or takes it for what an earlier record of its id becomes.
func (f *file) message(line int, r *record) error {
	at := f.At(f.Stamp(line, []byte(r.Timestamp)))
	steps, known := r.steps(f.Maker, at)
	switch {
	case r.Type == "":
		return errNoRecord
	case !known:
		f.Unknown[r.Type]++
		if r.Tokens != nil {
			return fmt.Errorf("record of type %.40q has the token counts of a call", r.Type)
		}
	}
	for i := range steps {
		steps[i].Line = int32(line)
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Agent != "" {
			f.Tasks[c.Agent] = assembly.CallID(c.ID)
		}
	}
	if r.Type == "gemini" {
		if f.uncounted[r.ID] = line; r.Tokens != nil {
			delete(f.uncounted, r.ID)
		}
	}
	if i, ok := f.index.Get(r.ID); ok && r.ID != "" {
		if m := f.markOf(i); r.repeats(m) {
			if r.Tokens != nil && m.tokens != nil && *r.Tokens != *m.tokens {
				f.Lacks(1, line, "message %s is here again with other counts; the last ones count", r.ID)
			}
			f.Set(i, steps)
			return nil
		}
		f.Lacks(1, line, "message %s has the id of an earlier one and other counts; both are read", r.ID)
	}
	if r.Type == "gemini" && f.at >= 0 && r.Timestamp != "" && f.markOf(f.at).typ == digest(r.Type) && f.markOf(f.at).timestamp == digest(r.Timestamp) {
		f.Lacks(1, line, "message %q has the time of the one before it and another id; both are read", r.ID)
	}
	if r.Type == "gemini" && r.ID == "" {
		f.Lacks(1, line, "a message has no id, so its copy counts again")
	}
	if len(steps) == 0 && r.ID == "" && r.Type != "gemini" {
		return nil // the line sends nothing, and no other line can name it
	}
	f.at = f.Add(f.at, steps)
	f.latest = append(f.latest, make([]mark, int(f.at)+1-len(f.latest))...)
	f.latest[f.at] = mark{digest(r.Type), digest(r.Timestamp), r.Tokens}
	if r.ID != "" {
		f.index.Set(r.ID, f.at)
	}
	return nil
}

// rewind goes back to where the history was before a message. What was said since is a branch, which was billed.
func (f *file) rewind(line int, id string) {
	i, ok := f.index.Get(id)
	if !ok {
		f.Problems.Add(f.Name, line, "message %s, to which the session went back, is not in the file; the whole history is taken for left", id)
		f.at = -1
		return
	}
	if f.at = f.Parent(i); f.markOf(i).typ == 0 {
		f.at = i // a copy among others
	}
}

// settle makes the messages that were set last the history. Those that another set replaced before anything was said were never
// sent: a client that resumes a session sets the first message alone, then all.
func (f *file) settle() error {
	line, messages := f.setLine, f.set
	if f.set = nil; messages == nil {
		return nil
	}
	kept := map[int32]bool{}
	for k := range messages {
		if i, ok := f.index.Get(messages[k].ID); ok {
			kept[i] = true
		}
	}
	dropped := false
	for i := f.at; i >= 0; i = f.Parent(i) {
		dropped = dropped || !kept[i] && len(f.Steps(i)) > 0
	}
	if dropped && !f.mask(line, messages, kept) {
		f.compact(line, messages)
	}
	for k := range messages {
		m := &messages[k]
		if _, known := f.index.Get(m.ID); known {
			continue
		}
		if (m.Type != "gemini" || m.Tokens != nil) && !strings.HasSuffix(m.ID, secondResult) {
			if err := f.message(line, m); err != nil {
				return err
			}
			continue
		}
		// What the model said without counts is a copy, and no call; so is a result that is sent twice.
		blocks := m.copies(f.Maker, prompt.KindText)
		for b := range blocks {
			if blocks[b].Kind == prompt.KindToolResult {
				blocks[b].ID = prompt.Digest{} // its call has a result
			}
		}
		f.at = f.Add(f.at, []assembly.Step{{Kind: assembly.StepInput, Line: int32(line), Blocks: blocks}})
		f.index.Set(m.ID, f.at)
	}
	return nil
}

// secondResult ends the id of a message with results that a resumed process sends a second time (0.45 to 0.61.0); the rest is the
// id of the message of the model that called for them.
const secondResult = "_response"

// compact replaces the history by messages, which lack some of it. Those that it had stay as they are, since a call was answered
// by what they were. Of the new ones the first of the user, with the answer that confirms it, is the summary; the rest are copies
// under new ids, as Gemini CLI writes them since 0.55 (0.61.0, 2026-11-27).
func (f *file) compact(line int, messages []record) {
	step := assembly.Step{Kind: assembly.StepCompact, Line: int32(line)}
	var summary []assembly.Block
	at, confirmed := f.Len(), -1
	for k := range messages {
		m := &messages[k]
		i, known := f.index.Get(m.ID)
		switch {
		case known && f.markOf(i).typ != 0:
			for _, st := range f.Steps(i) {
				step.Blocks = append(step.Blocks, st.Blocks...)
			}
			continue
		case m.Tokens != nil: // a call
			continue
		case m.Type == "user" && len(summary) == 0:
			summary, confirmed = m.copies(f.Maker, prompt.KindSummary), k+1
		case m.Type == "gemini" && k == confirmed:
			summary = append(summary, m.copies(f.Maker, prompt.KindSummary)...)
		default:
			step.Blocks = append(step.Blocks, m.copies(f.Maker, prompt.KindText)...)
		}
		step.At = cmp.Or(f.Stamp(line, []byte(m.Timestamp)), step.At)
		f.index.Set(m.ID, at)
	}
	step.Blocks = append(step.Blocks, summary...)
	f.at = f.Add(f.at, []assembly.Step{step})
}

// sessions makes sessions of main files, with the files of sub-agents as threads.
// The folder of a sub-agent's file names the session that started it.
func sessions(opts *traces.Options, files []*file) []*assembly.Session {
	for _, f := range files {
		f.Part.ID, f.Project = f.Session, f.Hash
		if dir := path.Base(path.Dir(f.Name)); f.Kind == "subagent" && dir != "chats" && dir != "." {
			f.Up = dir
		}
		for _, line := range f.uncounted {
			f.Bare(line)
		}
	}
	return assembly.Families(Agent, opts, files)
}
