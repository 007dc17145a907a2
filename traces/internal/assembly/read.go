package assembly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Reader reads the recordings of an agent. S is what a file is scanned into; it
// embeds *File.
type Reader[S interface{ Base() *File }] struct {
	Name string // in front of errors
	// Scan reads one file.
	Scan func(ctx context.Context, opts traces.Options, in traces.Input) (S, error)
	// ScanParts, when not nil, is Scan for a file that is read without others. Of a file of many sessions it hands over
	// those that belong together, each with a File.Part of its own, as soon as they are read, and leaves them out of
	// what it returns. A file that hands over nothing is as Scan has it.
	ScanParts func(ctx context.Context, opts traces.Options, in traces.Input, hand func([]S)) (S, error)
	// Sessions divides files, in the order of their names, into sessions.
	Sessions func(opts *traces.Options, files []S) []*Session
}

// Read reads recordings. The result depends neither on their order nor on the
// number of workers. what names them in errors. The corpus owns the inputs; on
// an error without a corpus they are closed.
func (r *Reader[S]) Read(
	ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string,
) (*traces.Corpus, error) {
	opts = opts.WithDefaults()
	found := Problems{Limit: opts.MaxProblems}
	for _, p := range inputs.Problems {
		if opts.Strict {
			inputs.Close()
			return nil, fmt.Errorf("%s: %w", r.Name, p)
		}
		found.Add(p.File, p.Line, "%s", p.Text)
	}
	all := newReading(r, opts, inputs.Files)
	if err := all.read(ctx); err != nil {
		inputs.Close()
		return nil, err
	}
	c := all.corpus(inputs, &found)
	if len(c.Sessions) == 0 {
		why := ""
		if len(c.Problems) > 0 {
			why = "; first problem: " + c.Problems[0].String()
		}
		return c, fmt.Errorf("%s: %w with API calls (%s, %s read)%s",
			what, traces.ErrNoSessions, numbers.Counted(len(inputs.Files), "file", "files"), numbers.Counted(c.Lines, "line", "lines"), why)
	}
	return c, nil
}

// Assemble makes sessions of drafts that are of no recording. It is an error if one is unsound.
func Assemble(opts *traces.Options, drafts []*Session) (*traces.Corpus, error) {
	own(drafts)
	c := &traces.Corpus{Unknown: map[string]int{}, MaxLine: opts.MaxLine}
	for _, d := range drafts {
		s := d.assemble(opts.Listener != nil)
		if err := s.Check(); err != nil {
			return nil, err
		}
		if opts.Listener != nil {
			s.Index = opts.Listener.Index(s, d.heard)
		}
		c.Sessions = append(c.Sessions, s)
	}
	Sort(c.Sessions)
	return c, nil
}

// Sort orders sessions by start, then id.
func Sort(list []*traces.Session) {
	slices.SortStableFunc(list, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

// UniqueID returns id, followed by a number if an earlier session has it, and
// adds it to taken.
func UniqueID(taken map[string]int, id string) string {
	name := id
	for n := max(1, taken[id]); taken[name] > 0; {
		n++
		name = id + "-" + strconv.Itoa(n)
		taken[id] = n
	}
	taken[name] = 1
	return name
}

// own decides which of several sessions owns a call: the one that began first,
// and among those the one that ended first, since a continuation outlives what
// it continues. It owns the call that made a summary, too, where both have it.
func own(sessions []*Session) {
	order := slices.Clone(sessions)
	slices.SortStableFunc(order, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.ID, b.ID))
	})
	type claim struct {
		by   *Session
		call *Call
	}
	owner := map[string][]claim{} // by id as logged: several where different calls have one
	type written struct {
		at      int64
		summary traces.SummaryCall
	}
	wrote := map[written]*Session{}
	for _, s := range order {
		for _, t := range s.Threads {
			for r := range t.Calls {
				c := t.Calls[r].Call
				claims := owner[c.ID]
				i := slices.IndexFunc(claims, func(o claim) bool { return o.by != s && SameInput(&o.call.Usage, &c.Usage) })
				if i < 0 {
					owner[c.ID] = append(claims, claim{s, c})
					if n := len(claims); n > 0 {
						c.ID += "#" + strconv.Itoa(n+1)
					}
					continue
				}
				c.ID = claims[i].call.ID
				if s.foreign == nil {
					s.foreign = map[string]bool{}
				}
				s.foreign[c.ID] = true
			}
		}
		for _, t := range s.Threads {
			for i := range t.Happened {
				ev := &t.Happened[i]
				if ev.summary == nil || ev.At == 0 {
					continue
				}
				w := written{ev.At, *ev.summary}
				if by := wrote[w]; by != nil && by != s && len(s.foreign)+s.Quality.Repeated > 0 {
					ev.summary = nil // a copy, or a session that goes on behind it, repeats it
				} else {
					wrote[w] = s
				}
			}
		}
	}
}

// SameInput reports whether two logged usages may belong to one request: all
// lines and copies of a call have the same counts of input. Unusable counts
// contradict none.
func SameInput(a, b *Usage) bool {
	return !a.OK || !b.OK || a.Input() == b.Input() && a.Read == b.Read && a.Writes() == b.Writes()
}

// Client completes the description of a client that calls models of several providers and
// compacts at a share of the window, percent, and at the latest some tokens ahead of its end. Unless
// it says otherwise it has no usual places, and asks for a summary in a request of its own.
func Client(a *facts.Agent, percent, ahead int64) *facts.Agent {
	a.Cache = CacheByModel
	a.CompactsAt = func(_ string, l facts.Limits) int64 { return min(l.Window*percent/100, l.Window-ahead) }
	if a.Places == nil {
		a.Places = func(*facts.Home) {}
	}
	if a.SummaryShares == nil {
		a.SummaryShares = func(_, _ string) bool { return false }
	}
	return a
}

// ReadBy returns the function that reads the recordings of an agent; see Reader.
func ReadBy[S interface{ Base() *File }](
	name string, scan func(context.Context, traces.Options, traces.Input) (S, error), sessions func(*traces.Options, []S) []*Session,
) func(context.Context, traces.Options, *traces.Inputs, string) (*traces.Corpus, error) {
	r := Reader[S]{Name: name, Scan: scan, Sessions: sessions}
	return r.Read
}

// ShareOfWindow is the setting of a client that compacts at a share of the window.
func ShareOfWindow(name, where, snippet, caveat string, values ...string) []facts.Setting {
	return []facts.Setting{{
		Name: name, Group: facts.GroupThreshold, Where: where, Snippet: snippet, Does: "compact at %s of the window",
		Values: values, Below: facts.NoRoom, Above: "at a larger share a request could pass the window before it is compacted",
		Assign: "full-compact.trigger.fraction=%s", Caveat: caveat,
	}}
}

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
