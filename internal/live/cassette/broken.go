package cassette

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ErrBroken is what a file is that holds no cassette, or not the one it is named
// by.
var ErrBroken = errors.New("the file is broken")

// brokenError is an error of a file, in its own words, that is ErrBroken.
type brokenError struct{ error }

func (e brokenError) Unwrap() error        { return e.error }
func (e brokenError) Is(target error) bool { return target == ErrBroken }

func broken(err error) error { return brokenError{err} }

// brokenSuffix is put behind the name of a file that is kept beside the one that
// takes its place.
const brokenSuffix = ".broken"

// keepBroken moves the file of a call out of the way if it is broken and to be
// replaced. Files of an earlier time stay: later ones get a number.
func (f *Folder) keepBroken(k Key) error {
	if !f.opts.ReplaceBroken || f.mode != RecordMissing {
		return nil
	}
	path := f.path(k)
	why := verify(path, k)
	if !errors.Is(why, ErrBroken) {
		return nil
	}
	beside := path + brokenSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(beside); errors.Is(err, os.ErrNotExist) {
			break
		}
		beside = fmt.Sprintf("%s%s-%d", path, brokenSuffix, n)
	}
	if err := os.Rename(path, beside); err != nil {
		return fmt.Errorf("keep the broken file beside the new one: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = append(f.broken, Problem{beside, why.Error()})
	return nil
}

// Broken returns the files that were replaced, under the names they have now, with
// what is wrong with them, ordered by name.
func (f *Folder) Broken() []Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.broken)
	slices.SortFunc(list, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	return list
}
