// Package sqlite opens the databases in which agents keep sessions, for reading alone,
// while the agent may be writing.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Result codes of SQLite (sqlite.org/rescode.html).
const (
	codeError        = 1
	codeBusy         = 5
	codeLocked       = 6
	codeCorrupt      = 11
	codeCannotOpen   = 14
	codeNotADatabase = 26
)

// Magic is what every database begins with.
const Magic = "SQLite format 3\x00"

// Store is an open database that shows one of its states, whatever is written meanwhile.
type Store struct {
	*sql.Tx
	db   *sql.DB
	copy string // folder of the copy that is read, "" for none
}

// Open opens a database. Nothing is written to its folder: a write-ahead log that no
// program has open is read in a copy. Errors do not repeat the path.
func Open(ctx context.Context, path string) (*Store, error) {
	s := &Store{}
	query, err := s.way(&path)
	if err == nil {
		err = s.begin(ctx, path, query)
	}
	if err != nil {
		_ = s.Close() // the error that stopped it says more
		return nil, Explain(err)
	}
	return s, nil
}

// Log returns the path of the write-ahead log of a database.
func Log(path string) string { return path + "-wal" }

// way says how to open a database. With the shared index of a log a program may be
// connected, and SQLite's own locks keep both apart. Without it no program is: then the file
// is all there is, or it is copied with its log.
func (s *Store) way(path *string) (string, error) {
	if there(*path+"-shm") || !logged(*path) {
		return "mode=ro", nil
	}
	info, err := os.Stat(Log(*path))
	if err != nil || info.Size() == 0 {
		return "mode=ro&immutable=1", nil
	}
	if s.copy, err = os.MkdirTemp("", "sim-store-"); err != nil {
		return "", err
	}
	to := filepath.Join(s.copy, "copy.db")
	for from, to := range map[string]string{*path: to, Log(*path): Log(to)} {
		if err := copyFile(from, to); err != nil {
			return "", err
		}
	}
	*path = to
	return "", nil
}

// begin begins a transaction, which sees no later changes.
func (s *Store) begin(ctx context.Context, path, query string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", location(filepath.ToSlash(path), query)); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if s.Tx, err = s.db.BeginTx(ctx, nil); err != nil {
		return err
	}
	var n int
	return s.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&n)
}

// location returns the name by which SQLite opens the file at an absolute path with slashes. A path that begins with the letter of a
// drive follows a slash: behind two slashes, which file: begins with, it would be a machine.
func location(path, query string) string {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(2000)&" + query}
	return name.String()
}

// Close ends the transaction and removes what was copied.
func (s *Store) Close() error {
	if s.Tx != nil {
		_ = s.Rollback() // nothing was written
	}
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.copy != "" {
		err = errors.Join(err, os.RemoveAll(s.copy))
	}
	return err
}

// Explain says what an error of the library means for who reads a store.
func Explain(err error) error {
	var e interface {
		error
		Code() int
	}
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case codeBusy, codeLocked:
		return errors.New("the database is locked by another program; close that, or read an export")
	case codeNotADatabase, codeCorrupt:
		return errors.New("the database is damaged, or only a part of one")
	case codeCannotOpen:
		return errors.New("the database cannot be opened")
	case codeError:
		return fmt.Errorf("the database has another form than expected: %w", err)
	}
	return err
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// logged reports whether a database keeps a write-ahead log: bytes 18 and 19 of its header
// are 2 then (sqlite.org/fileformat).
func logged(path string) bool {
	f, err := files.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [20]byte
	_, err = f.ReadAt(head[:], 0)
	return err == nil && head[18] == 2
}

func copyFile(from, to string) error {
	r, err := files.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

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

// Schema returns the statements that made the tables of a database, wherever they stand: behind the first page, or in the write-ahead
// log. It returns false where no database can be opened, and in a build without SQLite.
func Schema(ctx context.Context, in traces.Input) (text string, ok bool) {
	path := in.Path()
	if path == "" {
		return "", false
	}
	store, err := Open(ctx, path)
	if err != nil {
		return "", false
	}
	defer store.Close()
	err = store.QueryRowContext(ctx, "select coalesce(group_concat(sql, ';'), '') from sqlite_master where type = 'table'").Scan(&text)
	return text, err == nil
}

// Has reports whether the head of a file is a database's, or Magic and a schema, and has the names of some columns.
func Has(head []byte, columns ...string) bool {
	return bytes.HasPrefix(head, []byte(Magic)) && !slices.ContainsFunc(columns, func(name string) bool { return !bytes.Contains(head, []byte(name)) })
}

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
