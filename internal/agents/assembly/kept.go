package assembly

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/parallel"
	"github.com/compactsim/compactsim/internal/store"
	"github.com/compactsim/compactsim/traces"
)

// kept is the entry of a store for files that belong together, under the name of the first of them.
type kept struct {
	Files []keptFile
	Made  []keptSession
}

// keptFile is what was found in a file.
type keptFile struct {
	Name       string
	Stamp      traces.Stamp
	Lines, Bad int
	Bytes      int64
	Problems   Problems
	Unknown    []counted
	Claimed    bool
	Names      []uint64 // of sessions and calls that it mentions
}

// counted is a type of lines and their number.
type counted struct {
	Type string
	N    int
}

// keptSession is an outcome.
type keptSession struct {
	Session  *traces.Session
	Problems Problems
	File     int32 // index into kept.Files
	Unsound  string
}

// outcome returns the session as it was read; its file is the index in the entry.
func (m *keptSession) outcome() outcome {
	o := outcome{Session: m.Session, problems: m.Problems, file: m.File}
	if m.Unsound != "" {
		o.unsound = errors.New(m.Unsound)
	}
	return o
}

// key returns the name of the entry whose first file is i. What is read depends on these options.
func (b *reading[S]) key(i int32) string {
	o := &b.opts
	return store.Key(b.Name, fmt.Sprint(o.Rates, o.Strict, o.MaxLine, o.MaxProblems), b.inputs[i].Name, b.stamps[i].Path)
}

// recall takes files that have not changed from the store.
func (b *reading[S]) recall() {
	if b.opts.Store == nil {
		return
	}
	b.stamps = make([]traces.Stamp, len(b.inputs))
	found := make([]*kept, len(b.inputs))
	made := make([][]outcome, len(b.inputs))
	parallel.Each(b.opts.Workers, len(b.inputs), func(i int) {
		if b.opts.Room(b.inputs[i].Name) != nil { // the caller reports that file itself
			return
		}
		var k kept
		b.stamps[i] = b.inputs[i].Stamp()
		if b.stamps[i].Path == "" || !b.opts.Store.Get(b.key(int32(i)), &k) || !b.heard(&k) {
			return
		}
		for j := range k.Made {
			o := k.Made[j].outcome()
			b.shelve(&o)
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
		return m.Unsound == "" && m.Session.Index == nil
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
		f := &File{
			Name: was.Name, Lines: was.Lines, Bad: was.Bad, Bytes: was.Bytes, Problems: was.Problems,
			Unknown: map[string]int{}, claimed: was.Claimed,
		}
		for _, u := range was.Unknown {
			f.Unknown[u.Type] = u.N
		}
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

// keep puts what was read into the store, for groups whose files could all be read to their end.
func (b *reading[S]) keep() {
	if b.opts.Store == nil {
		return
	}
	groups := map[int32]*kept{}
	place := make([]int32, len(b.files)) // of each file in its group
	lost := map[int32]bool{}
	for i, f := range b.files {
		root := b.root(int32(i))
		k := groups[root]
		if k == nil {
			k = &kept{}
			groups[root] = k
		}
		place[i] = int32(len(k.Files))
		was := keptFile{
			Name: b.inputs[i].Name, Stamp: b.stamps[i], Lines: f.Lines, Bad: f.Bad, Bytes: f.Bytes, Problems: f.Problems,
			Claimed: f.claimed, Names: b.names[i],
		}
		for _, t := range slices.Sorted(maps.Keys(f.Unknown)) {
			was.Unknown = append(was.Unknown, counted{t, f.Unknown[t]})
		}
		k.Files = append(k.Files, was)
		unread := slices.ContainsFunc(f.Problems.List, func(p traces.Problem) bool { return p.Unread })
		lost[root] = lost[root] || b.recalled[i] || unread || was.Stamp.Path == ""
	}
	for _, o := range b.made {
		m := keptSession{Session: o.Session, Problems: o.problems, File: place[o.file]}
		if o.unsound != nil {
			m.Unsound = o.unsound.Error()
		}
		k := groups[b.root(o.file)]
		k.Made = append(k.Made, m)
	}
	maps.DeleteFunc(groups, func(root int32, _ *kept) bool { return lost[root] })
	roots := slices.Sorted(maps.Keys(groups))
	parallel.Each(b.opts.Workers, len(roots), func(i int) {
		k := groups[roots[i]]
		for j := range k.Made {
			var err error
			if k.Made[j].Session, err = k.Made[j].Session.Load(); err != nil {
				return
			}
		}
		b.opts.Store.Put(b.key(roots[i]), k)
		clear(k.Made)
	})
}
