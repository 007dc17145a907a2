package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/scenarios"
)

// scenarioText is a scenario file as read.
type scenarioText struct {
	name string // of the file, for messages
	text []byte
}

// scenarioPrefix makes an argument a scenario whatever else has its name.
const scenarioPrefix = "scenario:"

// splitArgs finds the scenario among the arguments: a built-in name, a .yaml
// file, or scenario:NAME; the rest are paths of recordings. Without one it is
// the default scenario.
func splitArgs(args []string) (*scenarioText, []string, error) {
	var found *scenarioText
	var foundAs string
	var paths []string
	var errs []error
	for _, arg := range args {
		s, err := asScenario(arg)
		switch {
		case err != nil:
			errs = append(errs, err)
		case s == nil:
			paths = append(paths, arg)
		case found != nil:
			errs = append(errs, fmt.Errorf("two scenarios, %s and %s: run one at a time", foundAs, arg))
		default:
			found, foundAs = s, arg
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if found == nil {
		var err error
		if found, err = builtinScenario("default"); err != nil {
			return nil, nil, err
		}
	}
	return found, paths, nil
}

// asScenario returns the scenario an argument names, nil when it is a path.
func asScenario(arg string) (*scenarioText, error) {
	if name, ok := strings.CutPrefix(arg, scenarioPrefix); ok {
		if isYAML(name) {
			return readScenario(name)
		}
		return builtinScenario(name)
	}
	info, statErr := os.Stat(arg)
	if isYAML(arg) && (statErr != nil || !info.IsDir()) {
		return readScenario(arg)
	}
	known, err := scenarios.LookupBuiltin(arg)
	if err != nil {
		return nil, nil // a path: whether it exists is seen when it is read
	}
	// What --out made under the scenario's own name holds no recordings.
	if statErr == nil && !(info.IsDir() && holdsRun(arg)) {
		kind := "file"
		if info.IsDir() {
			kind = "folder"
		}
		return nil, fmt.Errorf("%q is both a built-in scenario and a %s: write scenario:%s for the scenario or ./%s for the %s",
			arg, kind, arg, arg, kind)
	}
	return &scenarioText{known.Name + ".yaml", known.Text}, nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// isFile reports whether there is a file of a name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func builtinScenario(name string) (*scenarioText, error) {
	b, err := scenarios.LookupBuiltin(name)
	if err != nil {
		return nil, err
	}
	return &scenarioText{b.Name + ".yaml", b.Text}, nil
}

func readScenario(file string) (*scenarioText, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return &scenarioText{file, text}, nil
}

// hintScenario adds to the error about a path that is not there the scenario
// that may have been meant.
func hintScenario(err error, args []string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, listErr := scenarios.Builtins()
	if listErr != nil {
		return err
	}
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	for _, arg := range args {
		if _, statErr := os.Stat(arg); statErr == nil {
			continue
		}
		if name, ok := nearest.Name(arg, names); ok {
			return usageError{fmt.Errorf("%w; did you mean the scenario %q?", err, name)}
		}
	}
	return err
}
