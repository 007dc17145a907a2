package assembly

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// Log is a file of calls that stand by themselves. Messages that several calls sent are read once.
type Log struct {
	*File
	messages map[prompt.Digest]*Message // by the digests of their JSON
	beside   []Block                    // of no message, with their texts
}

// NewLog returns a log that a file is read into.
func NewLog(f *File) *Log { return &Log{File: f, messages: map[prompt.Digest]*Message{}} }

// List reads a list of messages, one, or a text that a person wrote.
func (l *Log) List(s *jsonscan.Scanner) []*Message {
	list := []*Message{}
	text := s.Peek() == '"'
	s.Each(func() {
		raw := s.Raw()
		if raw == nil {
			return
		}
		if text {
			raw = []byte(`{"role":"user","content":` + string(raw) + `}`)
		}
		d := prompt.DigestBytes(raw)
		m := l.messages[d]
		if m == nil {
			m = l.Message(raw)
			l.messages[d] = m
		}
		list = append(list, m)
	})
	return list
}

// Message reads a message. It is the same as another one if its blocks are, whatever markers it
// carries; one that cannot be read has none.
func (f *File) Message(raw []byte) *Message {
	m, err := f.Maker.Message(raw)
	if err != nil {
		m = &Message{Digest: prompt.DigestBytes(raw)}
		f.Maker.Skip("message")
	}
	if m.System {
		m.JSON = bytes.Clone(raw)
	}
	if len(m.Blocks) > 0 {
		m.Digest = NewMessage(m.Assistant, m.Blocks).Digest
	}
	return m
}

// Keep returns blocks of no message that was read by List. Where texts are kept, Texts has theirs, too.
func (l *Log) Keep(blocks ...Block) []Block {
	if l.Maker.Keep {
		l.beside = append(l.beside, blocks...)
	}
	return blocks
}

// Texts returns the texts that were kept.
func (l *Log) Texts() []traces.Text {
	list := TextsOf(l.beside)
	for _, m := range l.messages {
		list = append(list, TextsOf(m.Blocks)...)
	}
	return list
}

// Sessions makes a session of the requests of each name. One in which no call has usable counts is a problem and is left
// out, unless sizes are to be estimated from what was said. Calls of one response at one time are one call, told twice; at
// different times that cannot be, so their counts are in doubt, as are those that leave out what others say.
func Sessions(opts *traces.Options, agent string, all []*Request) (list []*Session) {
	of, seen, twice, turns := map[string][]*Request{}, map[[2]string]*Request{}, map[*File]int{}, map[[2]string]string{}
	var order []string
	unsaid(all)
	for _, r := range all {
		id := [2]string{r.Session, r.ID}
		if o := seen[id]; o != nil && r.ID != "" && SameInput(&o.Usage, &r.Usage) {
			if r.Start <= o.End {
				if twice[r.Source]++; !o.Usage.OK {
					*o = *r
				}
				continue
			}
			r.Usage.Doubt = true
		} else if o != nil && r.ID != "" && r.Start <= o.End { // or it is told twice with other counts
			r.Usage.Doubt = true
		}
		lane := [2]string{r.Session, r.Lane}
		turn, begun := turns[lane]
		turns[lane], r.Prompted = r.Turn, !begun || turn != r.Turn
		if seen[id] = r; of[r.Session] == nil {
			order = append(order, r.Session)
		}
		of[r.Session] = append(of[r.Session], r)
	}
	for f, n := range twice {
		f.Problems.Add(f.Name, 0, "calls that are told a second time: %d; each is counted once", n)
	}
	for _, name := range order {
		calls, f := of[name], of[name][0].Source
		if opts.Estimate || slices.ContainsFunc(calls, func(r *Request) bool { return r.Usage.OK }) {
			list = append(list, Draft(opts, agent, name, calls))
		} else {
			f.Problems.Add(f.Name, int(calls[0].Line), "conversation %s has no call with token counts, of %d; it is left out without --estimate", name, len(calls))
		}
	}
	for _, s := range list {
		for _, f := range s.Files {
			s.Own(f)
		}
	}
	return list
}

// unsaid doubts the counts of calls that do not say what was read, or written, where other calls of their session with their model do.
// Where none does, a gateway never counts it.
func unsaid(all []*Request) {
	said := map[[2]string][2]bool{}
	for _, r := range all {
		of := [2]string{r.Session, r.Model}
		s := said[of]
		said[of] = [2]bool{s[0] || r.Says[0], s[1] || r.Says[1]}
	}
	for _, r := range all {
		s := said[[2]string{r.Session, r.Model}]
		r.Usage.Doubt = r.Usage.Doubt || s[0] && !r.Says[0] || s[1] && !r.Says[1]
	}
}

// Draft returns the session of some requests.
func Draft(opts *traces.Options, agent, id string, list []*Request) *Session {
	s := &Session{Format: &Format{Agent: agent, Rates: opts.Rates, Exact: true}, ID: id, Problems: Problems{Limit: opts.MaxProblems}}
	shown := false
	for _, r := range list {
		s.Start, s.End = Earlier(s.Start, r.Start), max(s.End, r.End)
		if !slices.Contains(s.Files, r.Source) {
			s.Files = append(s.Files, r.Source)
		}
		if r.Version != "" && !slices.Contains(s.Versions, r.Version) {
			s.Versions = append(s.Versions, r.Version)
		}
		s.LoggedUSD, s.Project = s.LoggedUSD+r.USD, cmp.Or(s.Project, r.Project)
		shown = shown || r.Messages != nil
		if r.Whole && r.Messages != nil {
			s.Head = sizeHead
		}
	}
	if believe(list) {
		s.Problems.Add(list[0].Source.Name, 0, "session %s: its requests show no cache markers, and all calls of one system prompt read and wrote as much as each other: "+
			"the prompt alone is taken to be marked, unless the log has one value for all", id)
	}
	if !shown {
		s.Problems.Add(list[0].Source.Name, 0, "session %s shows no messages: its context has sizes and no content", id)
	}
	s.Threads = Conversations(id, list)
	return s
}

// sizeHead gives tools and system prompt their share of the first call of a thread by their
// bytes, or the least that a call read from the cache if it is about as much: the first one does where others have left
// them, and one behind a compaction. Up to a breakpoint they are as large as the bill says.
func sizeHead(t *Thread) []Block {
	first := &t.Calls[0]
	sizes, static := make([]*int32, len(t.Ahead)), int64(0)
	for i := range t.Ahead {
		b := &t.Ahead[i]
		static += int64(b.Bytes)
		b.Tokens = b.Bytes / bytesPerToken
		sizes[i] = &b.Tokens
	}
	static /= bytesPerToken
	n, marked := markedHead(t)
	if first.OK {
		marked = min(marked, first.Input())
	}
	if marked > 0 {
		Share(min(marked, MaxTokens), sizes[:n])
		if sizes = sizes[n:]; len(sizes) == 0 {
			return t.Ahead
		}
		static = Tokens(t.Ahead[n:])
		if first.OK {
			static = min(static, first.Input()-marked)
		}
		Share(static, sizes)
		return t.Ahead
	}
	if read := leastRead(t.Calls); read > static*7/8 && read < static*9/8 {
		static = read
	} else if said := Tokens(first.Before); first.OK && static+said > 0 {
		static = int64(float64(first.Input()) * float64(static) / float64(static+said))
	}
	if first.OK {
		static = min(static, first.Input())
	}
	Share(min(static, MaxTokens), sizes)
	return t.Ahead
}

// leastRead returns the least that one of some calls read, if any read anything.
func leastRead(list []Round) (least int64) {
	for i := range list {
		if read := list[i].Read; read > 0 && (read < least || least == 0) {
			least = read
		}
	}
	return least
}

// bytesPerToken of tools and system prompts, JSON and Markdown: the rate of the
// instructions that Codex logs, 0.22 tokens a byte, in whole numbers.
const bytesPerToken = 4
