package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Documents are the databases of a client, each of whose sessions is read as the document that the client would export. S describes a
// session; X is what a document is read into.
type Documents[S, X any] struct {
	List  func(ctx context.Context, store *Store) ([]S, error)
	Names func(*S) (id, parent string) // parent is the session that started it, "" for none
	// Write writes a session and returns the number of its messages.
	Write func(ctx context.Context, store *Store, one *S, w *bytes.Buffer) (int, error)
	Read  func(part *assembly.File, opts *traces.Options, text []byte) (X, error)
}

// Between ends a document where several follow each other: no JSON holds it as it is (RFC 7464).
const Between = "\x1e"

// Is reports whether an input is a database.
func Is(in traces.Input) bool {
	head, err := in.Head(len(Magic))
	return err == nil && string(head) == Magic
}

// Scan reads the sessions of a database and hands over each with its sub-agents', or returns all if hand is nil. A database
// that cannot be read to its end is a problem; what precedes that is kept.
func (d *Documents[S, X]) Scan(ctx context.Context, f *assembly.File, opts traces.Options, in traces.Input, hand func([]X)) ([]X, error) {
	var family []X
	part, last, any := f, "", false
	give := func() {
		if hand == nil {
			return
		}
		if len(family) > 0 {
			hand(family)
		}
		family, part = nil, f.Part()
	}
	err := d.each(ctx, in, func(first string, text []byte) error {
		if first != last || !any {
			give()
			last, any = first, true
		}
		if err := opts.Room(f.Name); err != nil {
			return err
		}
		part.Lines += bytes.Count(text, []byte("\n")) + 1
		part.Bytes += int64(len(text))
		if opts.Progress != nil {
			opts.Progress(int64(len(text)), 0)
		}
		one, err := d.Read(part, &opts, text)
		family = append(family, one)
		return err
	})
	give()
	switch {
	case ctx.Err() != nil:
		return family, ctx.Err()
	case err == nil && !any:
		return family, f.Refuse(0, errors.New("the database has no sessions"))
	case err != nil && !errors.As(err, new(traces.Problem)):
		return family, f.Unreadable(err)
	}
	return family, err
}

// Source opens a file as the text that its blocks are read from again: of a database, all its documents.
func (d *Documents[S, X]) Source(ctx context.Context, in traces.Input) (io.ReadCloser, error) {
	if !Is(in) {
		return in.Open()
	}
	r, w := io.Pipe() // all of a large database would not fit into memory
	go func() {
		w.CloseWithError(d.each(ctx, in, func(_ string, text []byte) error {
			_, err := w.Write(append(text, Between...))
			return err
		}))
	}()
	return r, nil
}

// each hands the document of each session that has messages, and the id of the first session of its family, to do, which
// keeps nothing. Families follow each other.
func (d *Documents[S, X]) each(ctx context.Context, in traces.Input, do func(family string, text []byte) error) error {
	path := in.Path()
	if path == "" {
		return errors.New("a database is read from a file alone; name its path")
	}
	store, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := d.List(ctx, store)
	if err != nil {
		return Explain(err)
	}
	var text bytes.Buffer
	for _, family := range d.Families(list) {
		first, _ := d.Names(family[0])
		for _, one := range family {
			text.Reset()
			n, err := d.Write(ctx, store, one, &text)
			if err != nil {
				id, _ := d.Names(one)
				return fmt.Errorf("session %s: %w", id, Explain(err))
			}
			if n == 0 {
				continue
			}
			if err := do(first, text.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Families divides sessions into families: a session with its parent, if that is there. All stay in order, families by
// their first sessions.
func (d *Documents[S, X]) Families(list []S) (all [][]*S) {
	at := make(map[string]int, len(list))
	first := make([]int, len(list)) // a session of the same family that comes before, or the session itself
	for i := range list {
		id, _ := d.Names(&list[i])
		at[id], first[i] = i, i
	}
	find := func(i int) int {
		for first[i] != i {
			first[i] = first[first[i]]
			i = first[i]
		}
		return i
	}
	for i := range list {
		_, parent := d.Names(&list[i])
		if up, ok := at[parent]; ok {
			x, y := find(i), find(up)
			first[max(x, y)] = min(x, y)
		}
	}
	place := map[int]int{} // of a family, by its first session
	for i := range list {
		root := find(i)
		if root == i {
			place[i] = len(all)
			all = append(all, nil)
		}
		all[place[root]] = append(all[place[root]], &list[i])
	}
	return all
}
