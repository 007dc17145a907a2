package needs

import (
	"context"
	"sync"

	"github.com/compactsim/compactsim/traces"
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
