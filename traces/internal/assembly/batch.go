package assembly

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// reading reads files a batch at a time and remembers which sessions and calls each batch
// mentions. Files that mention the same as files of another batch are read again together
// with those, so that sessions are the same as if all files had been read at once.
type reading[S interface{ Base() *File }] struct {
	*Reader[S]
	opts    traces.Options
	inputs  []traces.Input
	files   []*File
	batches int

	batch []int32          // of each file, from 1
	with  []int32          // of each file, another file of its group, or itself
	size  []int32          // of each root's group, in files
	first map[uint64]int32 // the first file that mentioned a name, by 64 bits of the name's digest
	made  []outcome

	stamps   []traces.Stamp // of each file, if there is a store
	recalled []bool         // of each file: the store had it
	names    [][]uint64     // of each file, what it mentioned
}

// outcome is the result of a draft.
type outcome struct {
	*traces.Session
	problems Problems
	file     int32 // the first of its files
	empty    bool  // no calls of its own
	unsound  error
}

func newReading[S interface{ Base() *File }](r *Reader[S], opts traces.Options, inputs []traces.Input) *reading[S] {
	b := &reading[S]{
		Reader: r, opts: opts, inputs: inputs, files: make([]*File, len(inputs)),
		recalled: make([]bool, len(inputs)), names: make([][]uint64, len(inputs)),
		batch: make([]int32, len(inputs)), with: make([]int32, len(inputs)), size: make([]int32, len(inputs)), first: map[uint64]int32{},
	}
	for i := range b.with {
		b.with[i], b.size[i] = int32(i), 1
	}
	return b
}

// read reads all files that the store does not have, some twice.
func (b *reading[S]) read(ctx context.Context) error {
	b.recall(ctx)
	var groups [][]int32
	stem := "" // of the first file of a group; files in the folder of that name belong to the same session
	for i := range b.inputs {
		if b.recalled[i] {
			continue
		}
		name := b.inputs[i].Name
		if n := len(groups); n > 0 && strings.HasPrefix(name, stem) {
			groups[n-1] = append(groups[n-1], int32(i))
			continue
		}
		groups = append(groups, []int32{int32(i)})
		stem, _, _ = strings.Cut(name, ".json")
		stem += "/"
	}
	if err := b.pass(ctx, groups); err != nil {
		return err
	}
	return b.pass(ctx, b.torn())
}

// torn returns the groups of files that belong together but were read in
// several batches, and drops what they had become.
func (b *reading[S]) torn() (groups [][]int32) {
	members := map[int32][]int32{}
	torn := map[int32]bool{}
	for i := range b.files {
		root := b.root(int32(i))
		members[root] = append(members[root], int32(i))
		torn[root] = torn[root] || b.batch[i] != b.batch[root]
	}
	for i := range b.files {
		if torn[int32(i)] {
			groups = append(groups, members[int32(i)])
		}
	}
	b.made = slices.DeleteFunc(b.made, func(o outcome) bool { return torn[b.root(o.file)] })
	return groups
}

// root returns the file that identifies the group of a file.
func (b *reading[S]) root(i int32) int32 {
	for b.with[i] != i {
		b.with[i] = b.with[b.with[i]]
		i = b.with[i]
	}
	return i
}

// join puts two files into one group.
func (b *reading[S]) join(i, j int32) {
	i, j = b.root(i), b.root(j)
	if i != j {
		b.size[min(i, j)] += b.size[max(i, j)]
		b.with[max(i, j)] = min(i, j)
	}
}

// pass reads groups of files, each in one batch. It scans a batch while sessions are made of the previous one.
func (b *reading[S]) pass(ctx context.Context, groups [][]int32) error {
	var gathering sync.WaitGroup
	defer gathering.Wait()
	scanned := make([]S, len(b.inputs))
	errs := make([]error, len(b.inputs))
	parts := make([]parts, len(b.inputs))
	for len(groups) > 0 {
		var lines atomic.Int64
		done := make([]bool, len(groups))
		parallel.Each(b.opts.Workers, len(groups), func(i int) {
			if lines.Load() >= int64(b.opts.Batch) {
				return
			}
			done[i] = true
			for _, at := range groups[i] {
				if b.ScanParts != nil && len(groups[i]) == 1 {
					scanned[at], errs[at] = b.scanParts(ctx, at, &parts[at])
				} else {
					scanned[at], errs[at] = b.Scan(ctx, b.opts, b.inputs[at])
				}
				if errors.Is(errs[at], traces.ErrBomb) {
					scanned[at], errs[at] = b.unread(ctx, b.inputs[at], errs[at])
				}
				if errs[at] == nil && !parts[at].any() {
					lines.Add(int64(scanned[at].Base().Lines))
				}
				if b.opts.Progress != nil {
					b.opts.Progress(0, 1)
				}
			}
		})
		var batch []int32
		var left [][]int32
		for i, group := range groups {
			if done[i] {
				batch = append(batch, group...)
			} else {
				left = append(left, group)
			}
		}
		slices.Sort(batch)
		for _, at := range batch {
			if errs[at] != nil {
				return errs[at]
			}
		}
		gathering.Wait()
		gathering.Go(func() { b.gather(ctx, scanned, parts, batch) })
		groups = left
	}
	return nil
}

// unread returns a file as it is where nothing was read, for a reason.
func (b *reading[S]) unread(ctx context.Context, in traces.Input, reason error) (S, error) {
	opts := b.opts
	opts.Strict = false
	s, err := b.Scan(ctx, opts, in.Emptied())
	if err != nil {
		return s, err
	}
	f := s.Base()
	f.Found, f.strict = NewFile(in.Name, b.opts).Found, b.opts.Strict
	return s, f.Unreadable(reason)
}

// gather makes sessions of the files of a batch, beside those made of their parts already, and drops what was scanned. The
// store takes the sessions at once, so that bodies are held for one batch alone.
func (b *reading[S]) gather(ctx context.Context, scanned []S, done []parts, batch []int32) {
	b.batches++
	number := int32(b.batches)
	at := make(map[*File]int32, len(batch))
	list := make([]S, len(batch))
	for i, k := range batch {
		list[i], b.files[k], b.batch[k] = scanned[k], scanned[k].Base(), number
		b.recalled[k], b.names[k] = false, nil
		at[b.files[k]] = k
		var none S
		scanned[k] = none
	}
	made, said := b.finish(list, func(f *File) int32 { return at[f] })
	for _, k := range batch {
		if p := &done[k]; p.any() { // its sessions were made without regard to other files, so it is torn from any file that mentions the same
			b.batches++
			b.batch[k] = int32(b.batches)
			made, said = append(made, p.made...), append(said, p.said...)
			*p = parts{}
		}
	}
	for _, m := range said {
		b.speak(m.name, m.file)
	}
	b.keep(ctx, batch, made)
	b.made = append(b.made, made...)
}

// mention is a name that a file mentions, of a session or a call: 64 bits of its digest.
type mention struct {
	name uint64
	file int32
}

// finish makes sessions of what was scanned, drops it, and returns what the files mention. at tells the number of a file.
func (b *reading[S]) finish(list []S, at func(*File) int32) (made []outcome, said []mention) {
	files := make([]*File, len(list))
	for i := range list {
		files[i] = list[i].Base()
	}
	drafts := b.Sessions(&b.opts, list)
	clear(list)
	for _, f := range files {
		for _, name := range f.spoken {
			said = append(said, mention{name.Lo, at(f)})
		}
		f.spoken = nil
	}
	for _, d := range drafts {
		for _, f := range d.Owned {
			f.claimed = true
		}
		for _, f := range d.Files {
			said = append(said, mention{prompt.DigestString(d.ID).Lo, at(f)})
		}
		for _, t := range d.Threads {
			for i := range t.Calls {
				said = append(said, mention{prompt.DigestString(t.Calls[i].ID).Lo, at(d.Files[0])})
			}
		}
	}
	own(drafts)
	made = make([]outcome, len(drafts))
	parallel.Each(b.opts.Workers, len(drafts), func(i int) {
		s := drafts[i].assemble(b.opts.Listener != nil)
		made[i] = outcome{
			Session: s, problems: drafts[i].Problems, file: at(drafts[i].Files[0]), empty: len(s.Threads) == 0, unsound: s.Check(),
		}
		if b.opts.Listener != nil && made[i].unsound == nil {
			s.Index = b.opts.Listener.Index(s, drafts[i].heard)
		}
		drafts[i] = nil
	})
	return made, said
}

// speak records that a file mentions a session or a call, given 64 bits of the name's digest.
func (b *reading[S]) speak(name uint64, file int32) {
	if b.opts.Store != nil {
		b.names[file] = append(b.names[file], name)
	}
	if b.opts.Spoke != nil {
		b.opts.Spoke(b.inputs[file].Name, name)
	}
	if i, ok := b.first[name]; ok {
		b.join(i, file)
		return
	}
	b.first[name] = file
}

// corpus returns what was read, with the problems found before.
func (b *reading[S]) corpus(inputs *traces.Inputs, found *Problems) *traces.Corpus {
	c := &traces.Corpus{Inputs: inputs, Unknown: map[string]int{}, MaxLine: b.opts.MaxLine}
	// The order must not depend on how files fell into batches.
	slices.SortStableFunc(b.made, func(x, y outcome) int { return cmp.Compare(x.file, y.file) })
	for _, f := range b.files {
		c.Lines += f.Lines
		c.BadLines += f.Bad
		c.Unread += f.Problems.Unread
		c.Bytes += f.Bytes
		for t, n := range f.Unknown {
			c.Unknown[t] += n
		}
	}
	for _, o := range b.made {
		c.Repeated += o.Quality.Repeated
		c.Inherited += o.Quality.Inherited
		switch {
		case o.empty:
			found.Join(o.problems)
			found.Add(b.files[o.file].Name, 0, "session %s has no API calls of its own", o.ID)
		case o.unsound != nil:
			found.Join(o.problems)
			found.Add(b.files[o.file].Name, 0, "%s; the session is left out", o.unsound)
		default:
			c.Sessions = append(c.Sessions, o.Session)
			c.NumProblems += o.problems.Total
		}
	}
	for _, f := range b.files {
		if !f.claimed {
			found.Join(f.Problems)
		}
	}
	c.Problems, c.NumProblems = found.List, c.NumProblems+found.Total
	Sort(c.Sessions)
	return c
}
