package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compactsim/compactsim/internal/check"
	"github.com/compactsim/compactsim/scenarios"
)

// junitPlace refuses a file for JUnit that cannot be made, or that the check itself
// is made from: its file, scenario, baselines, key, prices, profile and recordings.
func (f *checkFlags) junitPlace(file *check.File, plan *scenarios.Plan) error {
	if f.junit == "" {
		return nil
	}
	if dir := filepath.Dir(f.junit); !isFolder(dir) {
		return fmt.Errorf("--junit %s: there is no folder %s", f.junit, dir)
	}
	if isFolder(f.junit) {
		return fmt.Errorf("--junit %s: a folder, not a file", f.junit)
	}
	var errs []error
	refuse := func(what string, names ...string) {
		for _, name := range names {
			if name != "" && sameFile(name, f.junit) {
				errs = append(errs, fmt.Errorf("--junit %s would write over %s", f.junit, cmp.Or(what, name)))
			}
		}
	}
	refuse("the check itself", file.Name)
	if path := file.Scenario.Path; isYAML(path) {
		refuse("its scenario", besideCheck(file, path))
	}
	for _, name := range file.Baselines() {
		refuse("its baseline", besideCheck(file, name))
	}
	refuse("the key of pseudonyms", f.keys.file)
	if plan != nil {
		s := plan.Design.Scenario
		refuse("the prices", s.Prices.File)
		refuse("the profile", s.Profile)
		refuse("a recording", s.Sessions.Paths...)
	}
	if err := isJUnit(f.junit); err != nil && errs == nil {
		return fmt.Errorf("--junit %s: %w", f.junit, err)
	}
	return errors.Join(errs...)
}

// isJUnit returns an error for a file that is there and begins as no document of
// JUnit does: it may be a recording.
func isJUnit(name string) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	r, err := os.Open(name)
	if err != nil {
		return cause(err)
	}
	defer r.Close()
	if begin, err := bufio.NewReader(r).Peek(1); err != nil || begin[0] != '<' {
		return errors.New("there is a file that is no JUnit document; move it away or take another name")
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
