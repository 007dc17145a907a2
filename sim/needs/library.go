package needs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
)

// Library makes the indices of the sessions of a corpus, each when it is first
// needed. It is safe for concurrent use.
type Library struct {
	ctx     context.Context
	corpus  *traces.Corpus
	mu      sync.Mutex
	volumes map[string]*volume // by session, for sessions whose texts are read again
}

// volume is the index of a session.
type volume struct {
	once  sync.Once
	index *Index
	err   error
}

// NewLibrary returns a library of the sessions of a corpus whose texts can be read again. Reading ends with ctx.
func NewLibrary(ctx context.Context, corpus *traces.Corpus) *Library {
	return &Library{ctx: ctx, corpus: corpus, volumes: map[string]*volume{}}
}

// Of returns the index of a session, nil if there is no text or reading it failed: see Err.
func (l *Library) Of(s *traces.Session) *Index {
	if x, ok := s.Index.(*Index); ok && x.Len() > 0 {
		return x
	} else if ok {
		return nil
	}
	l.mu.Lock()
	v := l.volumes[s.ID]
	if v == nil {
		v = new(volume)
		l.volumes[s.ID] = v
	}
	l.mu.Unlock()
	v.once.Do(func() {
		index, err := Build(l.ctx, l.corpus, s)
		if err != nil || index.Len() == 0 {
			index = nil
		}
		l.mu.Lock()
		v.index, v.err = index, err
		l.mu.Unlock()
	})
	return v.index
}

// Err returns the first error of a session without an index, in the order of the corpus; nil for none.
func (l *Library) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.corpus.Sessions {
		if v := l.volumes[s.ID]; v != nil && v.err != nil {
			return v.err
		}
	}
	return nil
}

// Listener makes the index of every session while recordings are read. The index is Session.Index, a *Index.
type Listener struct{ scanners sync.Pool }

// NewListener returns a listener for traces.Options.
func NewListener() *Listener {
	return &Listener{scanners: sync.Pool{New: func() any { return new(scanner) }}}
}

// utterance is what is kept of the text of a block.
type utterance struct {
	marks      []mark     // terms and lines of a block other than a tool call
	values     []argument // of a tool call
	directives []uint64   // terms
	key        uint64     // of the whole text, or of what a tool call asks for
}

// mark is the place of a term or a line.
type mark struct {
	key     uint64
	from    int32 // byte of the text
	size    uint16
	kind    recall.NeedKind
	removed bool // by a patch
}

// argument is a string of a tool call's input.
type argument struct {
	role role
	found
}

// Hear implements traces.Listener. Thinking is not heard: clients and servers leave it out of later requests.
func (l *Listener) Hear(k prompt.Kind, t *traces.Text) any {
	if t.Withheld || !says(k) {
		return nil
	}
	s := l.scanners.Get().(*scanner)
	defer l.scanners.Put(s)
	if k == prompt.KindToolUse {
		return s.call(t)
	}
	text := t.Text
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	s.scan(text)
	h := &utterance{marks: slices.Clone(s.all), key: digest(text, 0)}
	if k == prompt.KindPrompt || k == prompt.KindSummary {
		h.directives = directives(text)
	}
	return h
}

// says reports whether the text of a block of a kind is examined.
func says(k prompt.Kind) bool {
	switch k {
	case prompt.KindPrompt, prompt.KindText, prompt.KindToolUse, prompt.KindToolResult, prompt.KindSummary,
		prompt.KindAttachment, prompt.KindReminder:
		return true
	}
	return false
}

// Index implements traces.Listener.
func (l *Listener) Index(s *traces.Session, heard []any) any { return compile(s, heard) }

// Build returns the index of a session of the corpus. If no listener heard the
// session, its texts are read again, and it is an error if one cannot be.
func Build(ctx context.Context, corpus *traces.Corpus, s *traces.Session) (x *Index, err error) {
	if x, ok := s.Index.(*Index); ok {
		return x, nil
	}
	r, err := texts.Open(ctx, corpus, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l := NewListener()
	heard := make([]any, len(s.Blocks))
	for i := range s.Blocks {
		bl := &s.Blocks[i]
		if !says(bl.Kind) || bl.Line <= 0 {
			continue
		}
		c, err := r.Block(int32(i))
		if err != nil {
			return nil, fmt.Errorf("what session %s used: %w", s.ID, err)
		}
		t := traces.Text{Text: c.Text, Withheld: c.Filler}
		if bl.Kind == prompt.KindToolUse {
			t.Text = string(c.Input)
		}
		heard[i] = l.Hear(bl.Kind, &t)
	}
	return compile(s, heard), nil
}
