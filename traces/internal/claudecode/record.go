package claudecode

import (
	"context"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// recordKind says what a line is in its conversation.
type recordKind uint8

const (
	recordOther        recordKind = iota // is in no conversation
	recordPass                           // is in the chain of parents and carries nothing
	recordUser                           // part of a user message
	recordAssistant                      // one block of a response
	recordAttachment                     // text that the client injects
	recordCompact                        // boundary of a compaction
	recordMicrocompact                   // boundary of a microcompaction
)

type recordFlags uint8

const (
	flagSidechain recordFlags = 1 << iota
	flagSummary               // the summary of a compaction
	flagResult                // holds tool results
	flagSoft                  // sent to the model, but nobody's prompt: local commands, notices, meta lines
	flagCommand               // a local command: its time is when it was typed
	flagProgress              // message of a sub-agent, found in a progress line
	flagSynthetic             // looks like a response but is none
)

// record is one line, or the message of a sub-agent inside one, reduced to what
// assembly needs. Pieces keep the digest and length of their text.
type record struct {
	place    int64
	at       int64 // unix ns, 0 if unknown
	uuid     prompt.Digest
	parent   prompt.Digest
	logical  prompt.Digest // logicalParentUuid of a boundary
	tool     prompt.Digest // tool_use that started the sub-agent of a progress line
	content  prompt.Digest // of all pieces, to recognize copies
	line     int32
	from, to int32 // pieces of the source
	session  int32 // these and the following: names of the source, 0 for none
	agent    int32
	version  int32
	project  int32
	entry    int32
	skill    int32
	plugin   int32
	detail   int32 // of a response, index into the source's answers; of a boundary, into its boundaries
	// Lines that are read as one with this one: their ids, in the source's joined.
	joinedFrom, joinedTo int32
	kind                 recordKind
	flags                recordFlags
	verdict              signs.Verdict
	signs                signs.Set
}

func (r *record) has(f recordFlags) bool { return r.flags&f != 0 }

// piece is a content block with its id and names. Its block has no tokens yet.
type piece struct {
	prompt.Block
	id     prompt.Digest // of the tool_use: pairs a call with its result
	tool   int32         // names of the source
	object int32         // names of the source
	task   int32         // 1 + index into the source's tasks
	heard  any           // what traces.Options.Listener heard
}

// answer is what a line says about its call as a whole.
type answer struct {
	id, model int32 // names of the source; a line without an id has no id here
	usage     assembly.Usage
	passes    passes
	stopped   bool // counts and a stop reason are logged: the counts are final
	broken    bool // the next line cannot be read
}

// lacks reports whether the line has no counts.
func (a *answer) lacks() bool { return a.usage == assembly.Usage{} }

// boundary is what the log has of a compaction.
type boundary struct {
	manual    bool
	preTokens int32
	// Claude Code 2.1.204 and later: messages that stayed, and the duration, ms.
	preserved, took int32
	cleared         []prompt.Digest // ids of tool calls whose results were cleared
}

// source is one file, scanned.
type source struct {
	*assembly.File
	records    []record
	pieces     []piece
	answers    []answer
	boundaries []boundary
	joined     []prompt.Digest // ids of lines that are read as one with a record
	latest     prompt.Digest   // id of the last line that is in a record
	row        int             // records at the end that follow each other and say the same of their session
	tasks      []assembly.Task
	names      names
	state      state                       // of the client, by the latest lines
	announced  [signs.NumAnnouncements]int // ahead of the first response, bytes
	folder     string                      // in which the client works, by the latest line that says it
	opens      bool                        // all that the client sends ahead of the first prompt is in lines
	totals     []total                     // by line
	requests   []request                   // by line
	answered   map[prompt.Digest]bool      // requests that an answer names
	naming     bool                        // most answers name a request of the file
}

// names interns the strings of a source; 0 is the empty string.
type names struct {
	list  []string
	index map[string]int32
	// latest has the names that were added last, by a few bits of their lengths: lines repeat the names of the line
	// before, which need no look-up.
	latest [16]int32
}

func (n *names) add(b []byte) int32 {
	if len(b) == 0 {
		return 0
	}
	last := &n.latest[len(b)%len(n.latest)]
	if *last > 0 && n.list[*last] == string(b) {
		return *last
	}
	if i, ok := n.index[string(b)]; ok {
		*last = i
		return i
	}
	if n.index == nil {
		n.index = map[string]int32{}
		n.list = append(n.list, "")
	}
	i := int32(len(n.list))
	n.list = append(n.list, strings.ToValidUTF8(string(b), "\uFFFD"))
	n.index[string(b)], *last = i, i
	return i
}

func (n *names) at(i int32) string {
	if i == 0 {
		return ""
	}
	return n.list[i]
}

// keep adds a record, or reads it as one with the last one, where more of its kind stand in a row than a log can have; see
// assembly.Unanswered.
func (s *source) keep(r *record) {
	if !s.follows(r) {
		s.row = 0
	} else if s.row++; s.row >= assembly.Unanswered && s.join(r) {
		s.latest = r.uuid
		return
	}
	s.latest = r.uuid
	s.records = append(s.records, *r)
}

// follows reports whether a record goes on from the last one and says the same of its session.
func (s *source) follows(r *record) bool {
	if k := r.kind; len(s.records) == 0 || k != recordPass && k != recordUser && k != recordAttachment || r.parent != s.latest && !r.parent.IsZero() || r.has(flagSynthetic) {
		return false
	}
	last := &s.records[len(s.records)-1]
	return r.kind == last.kind && r.logical.IsZero() && r.tool == last.tool && r.flags == last.flags && r.signs == last.signs && r.at >= last.at &&
		r.session == last.session && r.agent == last.agent && r.version == last.version && r.project == last.project && r.entry == last.entry &&
		r.skill == last.skill && r.plugin == last.plugin
}

// join reads a record as one with the last one, if both carry nothing or one piece that can be joined, and reports whether it did.
func (s *source) join(r *record) bool {
	last := &s.records[len(s.records)-1]
	switch {
	case r.from == r.to:
	case r.from+1 != r.to || last.to != r.from || last.from == last.to || !assembly.Fold(&s.pieces[last.to-1].Block, &s.pieces[r.from].Block):
		return false
	default:
		s.pieces = s.pieces[:r.from]
		if s.row == assembly.Unanswered {
			s.Problems.Add(s.Name, int(r.line), assembly.FoldedNote)
		}
	}
	if !r.uuid.IsZero() {
		if last.joinedTo == 0 {
			last.joinedFrom = int32(len(s.joined))
		}
		s.joined = append(s.joined, r.uuid)
		last.joinedTo = int32(len(s.joined))
	}
	last.at, last.content = r.at, last.content.Extend(r.content)
	return true
}

// scan reads one file into records.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*source, error) {
	src := &source{File: assembly.NewFile(in.Name, opts)}
	p := &parser{src: src, ear: opts.Listener}
	err := src.Read(ctx, opts, in, p.parse)
	src.naming = src.nameRequests()
	return src, err
}

// knownType reports whether lines of a type are known to be outside the
// conversation.
func knownType(t []byte) bool {
	switch string(t) {
	case "summary", "file-history-snapshot", "queue-operation", "pr-link", "last-prompt", "mode",
		"permission-mode", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting",
		"tag", "worktree-state", "content-replacement", "speculation-accept", "attribution-snapshot",
		"api-request-shape", "api-request-blob", "atis-latch", "tools-used":
		return true
	}
	return false
}
