// Package sqlite opens the databases in which agents keep sessions, for reading alone,
// while the agent may be writing.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/files"
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
