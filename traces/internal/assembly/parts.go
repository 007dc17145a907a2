package assembly

import (
	"context"
	"sync"
)

// parts are the sessions of a file whose parts became sessions while it was read, so that a database takes no more memory
// than its largest family of sessions, whatever its size.
type parts struct {
	made  []outcome
	said  []mention
	found Found // in the parts; of the problems those that no session answers for
}

// any reports whether a file had parts.
func (p *parts) any() bool { return len(p.said) > 0 || p.found.Lines > 0 }

// scanParts reads a file whose parts Reader.ScanParts hands over. A part becomes sessions while the next one is read.
func (b *reading[S]) scanParts(ctx context.Context, at int32, p *parts) (S, error) {
	*p = parts{found: NewFile(b.inputs[at].Name, b.opts).Found}
	var making sync.WaitGroup
	s, err := b.ScanParts(ctx, b.opts, b.inputs[at], func(list []S) {
		making.Wait()
		making.Go(func() {
			files := make([]*File, len(list))
			for i := range list {
				files[i] = list[i].Base()
			}
			made, said := b.finish(list, func(*File) int32 { return at })
			p.made, p.said = append(p.made, made...), append(p.said, said...)
			for _, f := range files {
				p.found.join(&f.Found, !f.claimed)
			}
		})
	})
	making.Wait()
	if err == nil {
		s.Base().join(&p.found, true)
	}
	return s, err
}

// join adds what was found in a part of a file, with its problems or without.
func (f *Found) join(part *Found, problems bool) {
	f.Lines += part.Lines
	f.Bad += part.Bad
	f.Bytes += part.Bytes
	for t, n := range part.Unknown {
		f.Unknown[t] += n
	}
	if problems {
		f.Problems.Join(part.Problems)
	}
}

// Part returns a File for a part of f that becomes sessions before the rest of f is read. Records count once in all parts.
func (f *File) Part() *File {
	if f.records == nil {
		f.records = map[uint64]bool{}
	}
	part := *f
	part.Found = Found{Name: f.Name, Problems: Problems{Limit: f.Problems.Limit}, Unknown: map[string]int{}}
	part.Maker.Unknown, part.spoken, part.owned, part.lacking = part.Unknown, nil, owned{}, 0
	return &part
}
