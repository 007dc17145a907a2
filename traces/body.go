package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// Quality sums up what a recording leaves to be assumed.
type Quality struct {
	Calls          int   // distinct API calls
	Lines          int   // lines read
	BadLines       int   // lines that are not valid or not understood
	InputTokens    int64 // new tokens over all rounds (prefix and growth), as recorded
	PrefixTokens   int64 // of those, tokens of tools, system prompts and reminders, which no transcript shows
	UnseenTokens   int64 // of those, further tokens in no transcript line
	DerivedOutputs int   // calls whose output was derived
	UnknownOutputs int   // calls whose logged output is not final and could not be derived
	AssumedTiers   int   // calls that wrote to the cache without saying for how long
	Spread         int   // calls whose input is an estimated share of what the log has for several calls together
	Uncounted      int   // calls with token counts that are missing or impossible, which are not in Usage, or contradict each other
	Unshown        []Unshown
	LostTokens     int64 // tokens that cumulative counts of the log have and no call
	WebSearches    int   // searches of the web by the server, which cost beside the tokens
	Synthetic      int   // lines that look like responses and are no calls
	Repeated       int   // calls owned by an earlier session, not counted here
	Bare           int   // compactions ahead of the first call of a thread, or behind its last: no call shows what they did
	Inherited      int   // calls of sessions that this one continues and that are not here, not counted either
	Problems       int   // defects met; Session.Problems keeps the first ones
}

// Unshown counts the calls of Session.Unshown to a model: summaries, streams that were cut, and all other
// calls. Calls of one model between two sums count as one.
type Unshown struct {
	Model                  string
	Summaries, Cut, Others int
}

// Problem is a defect in the input, with the place to look at.
type Problem struct {
	File string
	Line int // from 1; 0 for the whole file
	Text string
	// Unread says that the file could not be read, or not to its end: what it holds is missing.
	Unread bool
}

// String returns "file:line: text", in one line.
func (p Problem) String() string {
	text := p.Text
	switch {
	case p.Line > 0:
		text = p.File + ":" + strconv.Itoa(p.Line) + ": " + text
	case p.File != "":
		text = p.File + ": " + text
	}
	return inLine.Replace(text)
}

// inLine escapes what would begin a new line.
var inLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Error implements error: under Options.Strict a problem ends reading.
func (p Problem) Error() string { return p.String() }

// SummaryCall is the call that made the summary of a compaction.
type SummaryCall struct {
	Thread, Event int32 // index into Session.Threads and Thread.Events
	Calls         int32 // calls that Usage adds up; 0 is one
	Model         string
	Usage         prompt.Usage
}

// AdviceCall is a call of another model that the server made while a model answered, which asked it for
// advice. It has a context of its own, and its counts are in no other call.
type AdviceCall struct {
	Thread, Round int32 // index into Session.Threads and Thread.Rounds
	Model         string
	Usage         prompt.Usage
}

// Search is how often the server searched the web while it answered a call.
type Search struct {
	Thread, Round int32 // index into Session.Threads and Thread.Rounds
	Times         int32
}

// UnshownCall is a call that no line of a recording shows: a summary, a stream that was cut, a
// title. What the client's own sum has beyond its lines is divided among the places where lines
// tell of such a call, and the rest of a model is one entry.
type UnshownCall struct {
	Thread, Event int32 // the compaction whose summary it wrote; Event is −1 for none
	// Cut says that its request is logged and no answer to it.
	Cut   bool
	Model string
	Usage prompt.Usage
	At    int64 // unix ns of the line that tells it, 0 if unknown
	Line  int32
	File  uint16
}

// Summary reports whether the call wrote the summary of a compaction.
func (c *UnshownCall) Summary() bool { return c.Event >= 0 }

// Content returns which kinds of block a round of s has.
func (s *Session) Content(r *Round) signs.Content {
	var c signs.Content
	for b := r.Input.From; b < r.Input.To; b++ {
		switch s.Blocks[b].Kind {
		case prompt.KindToolResult:
			c.Results = true
		case prompt.KindPrompt:
			meta := s.Blocks[b].Flags&prompt.FlagMeta != 0
			c.Meta, c.Person = c.Meta || meta, c.Person || !meta
		}
	}
	for b := r.Reply.From; b < r.Reply.To; b++ {
		c.Calls = c.Calls || s.Blocks[b].Kind == prompt.KindToolUse
		c.Thinks = c.Thinks || s.Blocks[b].Kind == prompt.KindThinking
	}
	return c
}

// User distinguishes the users of sessions: a digest of the name of the home folder above the working directory, or of
// the whole directory when it is in none. It names nobody. It is zero for a session without a working directory.
func (s *Session) User() prompt.Digest {
	if s.Project == "" {
		return prompt.Digest{}
	}
	parts := strings.Split(strings.ReplaceAll(s.Project, `\`, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "Users" || part == "home" {
			return prompt.DigestString(parts[i+1])
		}
	}
	return prompt.DigestString(s.Project)
}

// body is nearly all of the size of a session.
type body struct {
	Blocks         []prompt.Block
	Tools, Objects []string
	Threads        []Thread
	Summaries      []SummaryCall
	Unshown        []UnshownCall
	Advice         []AdviceCall
	Searches       []Search
	Index          any
}

// StoreVersion identifies what the body of a session is read by.
func (*body) StoreVersion() string { return Readers() }

// away says where the body of a session is, and answers what is asked of every session.
type away struct {
	from        source
	models      []int32 // calls by model
	first, last int64   // unix ns of calls, see callTimes
	peak        int64
	usage       prompt.Usage
}

// source has the body of a session.
type source interface{ fetch() (*body, error) }

// Load returns the whole session: s itself, or a copy if its body is not in memory.
func (s *Session) Load() (*Session, error) {
	if s.away == nil {
		return s, nil
	}
	b, err := s.away.from.fetch()
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	whole := s.having(b)
	if in, kept := s.stored(); kept && !whole.fits(s.away) {
		if b, err = in.again.fetch(); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
		whole = s.having(b)
	}
	return whole, nil
}

// having returns a copy of a session with a body.
func (s *Session) having(b *body) *Session {
	whole := *s
	whole.away = nil
	b.give(&whole)
	return &whole
}

// fits reports whether the body of a session is the one that its head was made of, by what the head knows of calls.
func (s *Session) fits(head *away) bool {
	for i := range s.Threads {
		for r := range s.Threads[i].Rounds {
			if m := s.Threads[i].Rounds[r].Model; int(m) >= len(s.Models) {
				return false
			}
		}
	}
	return s.Usage() == head.usage && slices.Equal(s.ModelCalls(), head.models)
}

// give makes b the body of a session.
func (b *body) give(s *Session) {
	s.Blocks, s.Tools, s.Objects, s.Threads, s.Index = b.Blocks, b.Tools, b.Objects, b.Threads, b.Index
	s.Summaries, s.Unshown, s.Advice, s.Searches = b.Summaries, b.Unshown, b.Advice, b.Searches
}

// body returns the body of a session that is in memory.
func (s *Session) body() *body {
	return &body{s.Blocks, s.Tools, s.Objects, s.Threads, s.Summaries, s.Unshown, s.Advice, s.Searches, s.Index}
}

// Head is a session without its body, in a form that one program can write and another read.
type Head struct {
	Session           Session
	Models            []int32 // as Session.ModelCalls
	First, Last, Peak int64   // unix ns of calls, and tokens
	Usage             prompt.Usage
}

// Head returns the head of a session.
func (s *Session) Head() Head {
	first, last := s.callTimes()
	h := Head{*s, s.ModelCalls(), first, last, s.PeakInput(), s.Usage()}
	new(body).give(&h.Session)
	h.Session.away = nil
	return h
}

// Without returns the session of a head; load reads it again when its body is needed.
func (h *Head) Without(load func() (*Session, error)) *Session { return h.with(loader(load)) }

// with returns the session of a head, whose body is elsewhere.
func (h *Head) with(from source) *Session {
	s := h.Session
	s.away = &away{from: from, models: h.Models, first: h.First, last: h.Last, peak: h.Peak, usage: h.Usage}
	return &s
}

// loader reads a session again.
type loader func() (*Session, error)

func (l loader) fetch() (*body, error) {
	s, err := l()
	if err != nil {
		return nil, err
	}
	return s.body(), nil
}

// inStore is the body of a session in a store.
type inStore struct {
	store Store
	key   string
	again loader // if the store has lost it
	held  *held
}

// held is a body that may stay in memory.
type held struct {
	room   *atomic.Int64 // for so many calls more, of all sessions of a corpus; nil for none
	calls  int64         // that the body has
	loaded atomic.Bool   // once at least
	body   atomic.Pointer[body]
}

// heldCalls is how many calls the bodies have that stay in memory: a call with its share of an index takes 1 kB, and decoding
// it 1 µs each time.
const heldCalls = 1 << 14

func (k inStore) fetch() (*body, error) {
	h := k.held
	if b := h.body.Load(); b != nil {
		return b, nil
	}
	var b body
	if !k.store.Get(k.key, &b) {
		return k.again.fetch()
	}
	if again := h.loaded.Swap(true); again && h.room != nil { // most commands need a body once
		if h.room.Add(-h.calls) >= 0 {
			h.body.Store(&b)
		} else {
			h.room.Add(h.calls)
		}
	}
	return &b, nil
}

// stored returns where a store has the body of a session.
func (s *Session) stored() (in inStore, ok bool) {
	if s.away != nil {
		in, ok = s.away.from.(inStore)
	}
	return in, ok
}

// StoreKey returns the key under which a store has the body of the session, "" if the body is in memory. Bodies of one
// key are equal.
func (s *Session) StoreKey() string {
	in, _ := s.stored()
	return in.key
}

// Keep puts the body of a session that is in memory into a store, and reports whether it is there. The key must identify
// the state of the recordings that the session was read from.
func (s *Session) Keep(to Store, key string) bool { return to.Put(key, s.body()) }

// FromStore returns the session of a head, whose body Keep has put into a store. again reads the session again if the
// store has lost it meanwhile.
func (h *Head) FromStore(from Store, key string, again func() (*Session, error)) *Session {
	return h.with(inStore{from, key, again, new(held)})
}
