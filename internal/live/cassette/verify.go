package cassette

import (
	"context"
	"fmt"
	"path/filepath"
)

// Problem is what is wrong with a file of the folder.
type Problem struct {
	File string // with its folder
	Text string // what is wrong, and what to do
}

// String returns "file: text".
func (p Problem) String() string { return p.File + ": " + p.Text }

// Verify reads all cassettes and returns what is wrong, ordered by file. Files
// that end otherwise are passed over, among them what a program that was killed
// has left half written.
func (f *Folder) Verify(ctx context.Context) ([]Problem, error) {
	var list []Problem
	err := f.each(func(name string, k Key, err error) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			err = fmt.Errorf("it is not named by a key: give it its name back, or move it away")
		} else {
			err = verify(f.path(k), k)
		}
		if err != nil {
			list = append(list, Problem{filepath.Join(f.dir, name), err.Error()})
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return list, err
}

func verify(path string, k Key) error {
	got, err := readForm(path)
	if err == nil {
		_, err = got.of(k)
	}
	return err
}

// Unused returns the cassettes in the folder that this Folder has neither read
// nor written, in order: those of calls that the run does not make any more.
func (f *Folder) Unused() ([]Key, error) {
	keys, err := f.keys()
	f.mu.Lock()
	defer f.mu.Unlock()
	unused := keys[:0]
	for _, k := range keys {
		if !f.used[k] {
			unused = append(unused, k)
		}
	}
	return unused, err
}
