package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
)

// eachCompaction calls yield with each compaction of a session's main conversations whose summary the log shows: its thread, and where in
// the round's input the compaction is.
func eachCompaction(s *traces.Session, yield func(t *traces.Thread, e *traces.Event, first int32)) {
	for i := range s.Threads {
		t := &s.Threads[i]
		for k := range t.Events {
			e := &t.Events[k]
			if t.Kind == traces.ThreadMain && e.Kind == traces.EventCompact && int(e.Round) < len(t.Rounds) &&
				e.Summary.Len() > 0 && s.Blocks[e.Summary.From].Flags&prompt.FlagDerived == 0 {
				yield(t, e, t.Rounds[e.Round].Input.From+e.Absorbed)
			}
		}
	}
}

// isRestored reports whether a block is what a client puts behind a compaction of its own accord.
func isRestored(b *prompt.Block) bool {
	return (b.Kind == prompt.KindAttachment || b.Kind == prompt.KindReminder) && b.Flags&prompt.FlagMeta != 0
}

// behindCompactions returns the ratio of recorded to estimated tokens of what Claude Code writes behind the compactions of a session's main
// conversations, its summaries and lists; 0 for unknown. Messages that stayed and files, which stand there too, are taken off at their own
// sizes. A ratio outside one half to two of the usual one is left out: the total then has more than lines show, or less.
func behindCompactions(s *traces.Session, d *fetch.Density) float64 {
	var tokens, estimate float64
	eachCompaction(s, func(t *traces.Thread, e *traces.Event, first int32) {
		if e.Kept == 0 {
			return
		}
		stayed := needs.Stayed(s, e, first)
		of := float64(s.Tokens(e.Summary))
		text := float64(e.Kept) - float64(s.Tokens(stayed))
		if e.Summary.From >= stayed.From && e.Summary.To <= stayed.To {
			text += of
		}
		for _, b := range s.Blocks[t.Prefix.From:t.Prefix.To] {
			if b.Kind.Level() == prompt.LevelMessages { // opens the conversation again, at its size there
				text -= float64(b.Tokens)
			}
		}
		for i := first; i < t.Rounds[e.Round].Input.To; i++ {
			switch b := &s.Blocks[i]; {
			case !isRestored(b):
			case b.Op == op.Read:
				text -= d.Of(b.Object)*float64(b.Bytes) - float64(b.Tokens)
			default:
				text, of = text+float64(b.Tokens), of+float64(b.Tokens)
			}
		}
		if usual := of * d.Of(-1) / resultsPerByte; 2*text >= usual && text <= 2*usual {
			tokens, estimate = tokens+text, estimate+of
		}
	})
	if estimate == 0 {
		return 0
	}
	return tokens / estimate
}

// fileAges tells which files are newer on disk than other files, as a recording's compactions show it: Claude Code brings back the files that
// changed last.
type fileAges []returned

// returned lists files that the session had not changed at one of its compactions: first those that came back, the newest ahead, and then
// the files that did not.
type returned struct {
	files []int32 // by their object
	back  int
}

// newer reports whether file x is newer on disk than file y, as far as the recording shows it.
func (a fileAges) newer(x, y int32) bool {
	for i := range a {
		at := slices.Index(a[i].files[:a[i].back], x)
		if at >= 0 && slices.Index(a[i].files, y) > at {
			return true
		}
	}
	return false
}

// mostBack is how many files Claude Code brings back or names behind a compaction (bundle of 2.1.332): where fewer came, none was left out.
const mostBack = 5

// fileAgesOf returns the ages of files that the main conversations of a session show.
func fileAgesOf(s *traces.Session) fileAges {
	var ages fileAges
	var w glances
	eachCompaction(s, func(t *traces.Thread, e *traces.Event, first int32) {
		if w.thread != t {
			w = glances{session: s, thread: t, at: t.Rounds[0].Input.From}
		}
		w.look(first)
		stayed := needs.Stayed(s, e, first)
		var r returned
		came := 0
		for i := first; i < t.Rounds[e.Round].Input.To; i++ {
			b := &s.Blocks[i]
			if !isRestored(b) || b.Object < 0 {
				continue
			}
			came++
			if w.untimed(b.Object) {
				r.files = append(r.files, b.Object)
			}
			w.of(b.Object).back = true
		}
		r.back = len(r.files)
		for i := range w.files {
			f := &w.files[i]
			if came >= mostBack && f.known && !f.back && w.untimed(f.object) && !w.shows(stayed, f.object) {
				r.files = append(r.files, f.object)
			}
			*f = glance{object: f.object, known: f.back, changed: f.changed}
		}
		if r.back > 0 && len(r.files) > 1 {
			ages = append(ages, r)
		}
	})
	return ages
}

// glances holds what the messages of a conversation have shown of files since the last compaction.
type glances struct {
	session *traces.Session
	thread  *traces.Thread
	round   int   // the first whose input has blocks that look has not seen
	at      int32 // the first of these blocks
	files   []glance
}

// glance holds what messages have shown of one file.
type glance struct {
	object  int32
	known   bool // the client's process knows it
	changed bool // the session changed it
	read    bool // the client has read it
	early   bool // an earlier process has read it: it has the time of that
	back    bool // the compaction brought it back
}

// of returns what is known of a file.
func (w *glances) of(object int32) *glance {
	for i := range w.files {
		if w.files[i].object == object {
			return &w.files[i]
		}
	}
	w.files = append(w.files, glance{object: object})
	return &w.files[len(w.files)-1]
}

// untimed reports whether the recording has no time at which a file changed.
func (w *glances) untimed(object int32) bool {
	f := w.of(object)
	return !f.changed && !f.early
}

// shows reports whether results of some messages show a file.
func (w *glances) shows(in traces.Span, object int32) bool {
	return slices.ContainsFunc(w.session.Blocks[in.From:in.To], func(b prompt.Block) bool {
		return b.Object == object && b.Kind == prompt.KindToolResult && b.Op != op.Exec
	})
}

// look takes note of the input up to a block. A process of claude -p begins with a prompt, and knows what was read or changed before it.
func (w *glances) look(to int32) {
	for ; w.round < len(w.thread.Rounds); w.round++ {
		in := w.thread.Rounds[w.round].Input
		for i := max(in.From, w.at); i < min(in.To, to); i++ {
			switch b := &w.session.Blocks[i]; {
			case b.Kind == prompt.KindPrompt && w.session.Entry == printed:
				for k := range w.files {
					f := &w.files[k]
					f.known, f.early = f.read, f.read
				}
			case b.Kind == prompt.KindToolResult && b.Object >= 0 && b.Flags&prompt.FlagError == 0:
				f := w.of(b.Object)
				f.known = true
				switch b.Op {
				case op.Read:
					f.read, f.early = true, false
				case op.Edit, op.Write:
					f.read, f.changed = true, true
				}
			}
		}
		if in.To > to {
			break
		}
	}
	w.at = max(w.at, to)
}

// printed is a client that a program started with -p, a process for each prompt (traces.Session.Entry).
const printed = "sdk-cli"
