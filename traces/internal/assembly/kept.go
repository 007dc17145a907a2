package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/store"
)

// kept is the entry of a store for files that belong together, under the name of the first file.
type kept struct {
	Files []keptFile
	Made  []keptSession
}

// StoreVersion identifies what files are read by.
func (*kept) StoreVersion() string { return traces.Readers() }

// keptFile is what was found in a file.
type keptFile struct {
	Found
	Stamp   traces.Stamp
	Claimed bool
	Names   []uint64 // of sessions and calls that it mentions
}

// keptSession is an outcome. The body of a usable session is an entry of its own.
type keptSession struct {
	Head     traces.Head
	Problems Problems
	File     int32 // index into kept.Files
	Empty    bool
	Unsound  string
	Heard    bool // it has an index
}

// usable reports whether the session has a body that is worth keeping.
func (o *outcome) usable() bool { return !o.empty && o.unsound == nil }

// state is the state of the files of an entry.
type state struct {
	files  []stamped
	digest prompt.Digest // of the files and the key of the entry
}

type stamped struct {
	name string
	traces.Stamp
}

func (k *kept) state(key string) *state {
	s := &state{make([]stamped, len(k.Files)), prompt.DigestString(key)}
	for i := range k.Files {
		f := &k.Files[i]
		s.files[i] = stamped{f.Name, f.Stamp}
		s.digest = s.digest.Extend(prompt.DigestString(f.Name + "\x00" + f.Stamp.Path)).ExtendInt(uint64(f.Stamp.Size)).
			ExtendInt(uint64(f.Stamp.Time)).Extend(f.Stamp.Head).Extend(f.Stamp.Tail)
	}
	return s
}

// bodyKey returns the name of the entry with the body of the i-th session. It includes the state of the recordings:
// bodies stay as they are, whoever reads a later state.
func (k *kept) bodyKey(of *state, i int) string {
	return fmt.Sprintf("body %016x%016x %d %t", of.digest.Hi, of.digest.Lo, i, k.Made[i].Heard)
}

// outcome returns a session as it was read; its file is the index in the entry. If sessions are lazy, the body is read
// when it is needed, else at once.
func (b *reading[S]) outcome(ctx context.Context, k *kept, i int, of *state) (outcome, error) {
	m := &k.Made[i]
	o := outcome{problems: m.Problems, file: m.File, empty: m.Empty}
	if m.Unsound != "" {
		o.unsound = errors.New(m.Unsound)
	}
	if !o.usable() {
		s := m.Head.Session
		o.Session = &s
		return o, nil
	}
	if b.opts.Lazy {
		o.Session = b.lazy(ctx, k, i, of)
		return o, nil
	}
	var err error
	o.Session, err = m.Head.FromStore(b.opts.Store, k.bodyKey(of, i), func() (*traces.Session, error) { return nil, errLost }).Load()
	return o, err
}

// lazy returns the i-th session of an entry without its body, which the store has.
func (b *reading[S]) lazy(ctx context.Context, k *kept, i int, of *state) *traces.Session {
	m, key := &k.Made[i], k.bodyKey(of, i)
	id, heard := m.Head.Session.ID, m.Heard
	return m.Head.FromStore(b.opts.Store, key, func() (*traces.Session, error) { return b.again(ctx, of, id, key, heard) })
}

// later returns all that bodies need as long as sessions live.
func (b *reading[S]) later() *reading[S] {
	return &reading[S]{Reader: b.Reader, opts: b.opts, inputs: b.inputs}
}

// errLost says that a body is not in the store.
var errLost = errors.New("the body of a session is not kept")

// again reads the files of an entry again for the session with an id, if they are as they were, and keeps its body under
// a key.
func (b *reading[S]) again(ctx context.Context, of *state, id, key string, heard bool) (*traces.Session, error) {
	opts := b.opts
	opts.Store, opts.Progress, opts.Spoke = nil, nil, nil
	var inputs []traces.Input
	var group []int32
	isOf := func(in *traces.Input) int {
		return slices.IndexFunc(of.files, func(f stamped) bool { return f.name == in.Name })
	}
	for i := range b.inputs {
		if isOf(&b.inputs[i]) >= 0 {
			group, inputs = append(group, int32(len(inputs))), append(inputs, b.inputs[i])
		}
	}
	anew := newReading(b.Reader, opts, inputs)
	if err := anew.pass(ctx, [][]int32{group}); err != nil {
		return nil, err
	}
	for i := range inputs {
		if inputs[i].Stamp() != of.files[isOf(&inputs[i])].Stamp {
			return nil, fmt.Errorf("%s has changed since this program began: run it again", inputs[i].Name)
		}
	}
	for i := range anew.made {
		o := &anew.made[i]
		if o.ID != id || !o.usable() {
			continue
		}
		if heard == (opts.Listener != nil) {
			o.Keep(b.opts.Store, key)
		}
		return o.Session, nil
	}
	return nil, fmt.Errorf("%s: session %s cannot be read again", inputs[0].Name, id)
}

// key returns the name of the entry whose first file is i. What is read depends on these options.
func (b *reading[S]) key(i int32) string {
	o := &b.opts
	return store.Key(b.Name, fmt.Sprint(o.Rates, o.Strict, o.Estimate, o.MaxLine, o.MaxProblems), b.inputs[i].Name, b.stamps[i].Path)
}

// recall takes files that have not changed from the store.
func (b *reading[S]) recall(ctx context.Context) {
	if b.opts.Store == nil {
		return
	}
	b.stamps = make([]traces.Stamp, len(b.inputs))
	later := b.later()
	found := make([]*kept, len(b.inputs))
	made := make([][]outcome, len(b.inputs))
	parallel.Each(b.opts.Workers, len(b.inputs), func(i int) {
		if b.opts.Room(b.inputs[i].Name) != nil { // the caller reports that file itself
			return
		}
		var k kept
		b.stamps[i] = b.inputs[i].Stamp()
		key := b.key(int32(i))
		if b.stamps[i].Path == "" || !b.opts.Store.Get(key, &k) || !b.heard(&k) {
			return
		}
		of := k.state(key)
		for j := range k.Made {
			o, err := later.outcome(ctx, &k, j, of)
			if err != nil {
				return
			}
			made[i] = append(made[i], o)
		}
		k.Made = nil
		found[i] = &k
	})
	at := make(map[string]int32, len(b.inputs))
	for i := range b.inputs {
		at[b.inputs[i].Name] = int32(i)
	}
	for i, k := range found {
		if k != nil && b.files[i] == nil && b.fresh(k, at) {
			b.take(k, made[i], at)
		}
	}
}

// heard reports whether the sessions of an entry have an index if one is wanted.
func (b *reading[S]) heard(k *kept) bool {
	return b.opts.Listener == nil || !slices.ContainsFunc(k.Made, func(m keptSession) bool {
		return !m.Heard && m.Unsound == ""
	})
}

// fresh reports whether all files of an entry are unchanged.
func (b *reading[S]) fresh(k *kept, at map[string]int32) bool {
	for i := range k.Files {
		f := &k.Files[i]
		if j, ok := at[f.Name]; !ok || b.files[j] != nil || b.stamps[j] != f.Stamp {
			return false
		}
	}
	return true
}

// take makes the files of an entry and their sessions a batch of their own.
func (b *reading[S]) take(k *kept, made []outcome, at map[string]int32) {
	b.batches++
	for i := range k.Files {
		was := &k.Files[i]
		j := at[was.Name]
		f := &File{Found: was.Found, claimed: was.Claimed}
		b.files[j], b.batch[j], b.recalled[j] = f, int32(b.batches), true
		for _, name := range was.Names {
			b.speak(name, j)
		}
		if b.opts.Progress != nil {
			b.opts.Progress(f.Bytes, 1)
		}
	}
	for _, o := range made {
		o.file = at[k.Files[o.file].Name]
		b.made = append(b.made, o)
	}
}

// keep puts what was read of a batch into the store, for groups of files that the batch holds whole and that could all be
// read to their end. A later file may mention the same as such a group: then all these files are read again, now and
// whenever the entry is found, as torn says.
func (b *reading[S]) keep(ctx context.Context, batch []int32, made []outcome) {
	if b.opts.Store == nil {
		return
	}
	groups := map[int32]*kept{}
	place := make(map[int32]int32, len(batch)) // of each file in its group
	lost := map[int32]bool{}
	sessions := map[int32][]outcome{}
	for _, i := range batch {
		root, f := b.root(i), b.files[i]
		k := groups[root]
		if k == nil {
			k = &kept{}
			groups[root] = k
		}
		place[i] = int32(len(k.Files))
		was := keptFile{Found: f.Found, Stamp: b.stamps[i], Claimed: f.claimed, Names: b.names[i]}
		k.Files = append(k.Files, was)
		unread := slices.ContainsFunc(f.Problems.List, func(p traces.Problem) bool { return p.Unread })
		lost[root] = lost[root] || b.batch[i] != b.batch[root] || unread || was.Stamp.Path == ""
	}
	for root, k := range groups {
		lost[root] = lost[root] || len(k.Files) < int(b.size[root])
	}
	for _, o := range made {
		root := b.root(o.file)
		if lost[root] {
			continue
		}
		m := keptSession{Problems: o.problems, File: place[o.file], Empty: o.empty, Heard: b.opts.Listener != nil}
		if o.unsound != nil {
			m.Unsound = o.unsound.Error()
		}
		if m.Head.Session.ID, m.Head.Session.Quality = o.ID, o.Quality; o.usable() {
			m.Head = o.Head()
		}
		groups[root].Made, sessions[root] = append(groups[root].Made, m), append(sessions[root], o)
	}
	maps.DeleteFunc(groups, func(root int32, _ *kept) bool { return lost[root] })
	roots, later := slices.Sorted(maps.Keys(groups)), b.later()
	parallel.Each(b.opts.Workers, len(roots), func(i int) {
		k, key := groups[roots[i]], b.key(roots[i])
		of := k.state(key)
		for j, o := range sessions[roots[i]] {
			if !o.usable() {
				continue
			}
			if !o.Keep(b.opts.Store, k.bodyKey(of, j)) {
				return
			}
			if b.opts.Lazy {
				*o.Session = *later.lazy(ctx, k, j, of)
			}
		}
		b.opts.Store.Put(key, k)
	})
}
