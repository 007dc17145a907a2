// Package synthetic makes coding-agent sessions to measure. A [Workload]
// describes a corpus: turns, tool mix, sizes and times as distributions. A
// [Generator] draws its sessions in the parsed form, millions of calls a
// second, and [Workload.Transcripts] writes a session as Claude Code's JSONL,
// which reads back as the same session.
//
// Every draw is keyed by seed, purpose and place, so a change to one field of a
// workload leaves all other draws as they were.
//
// [FitWorkload] takes a workload from recorded sessions, and [Observe] measures
// the dimensions by which two corpora are compared.
package synthetic

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
)

// The files under samples are data: nothing makes them anew. The profile of the
// same name describes each sample, and generates sessions like it.
//
//go:embed all:samples
var samples embed.FS

// Samples returns five embedded sessions for a first run without recordings,
// gzip-compressed as Claude Code's JSONL: one folder for each, named after the
// profile that describes it and laid out as a project's folder of Claude Code
// ("short-fix/<session>.jsonl.gz",
// "fan-out/<session>/subagents/agent-<id>.jsonl.gz").
func Samples() fs.FS {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		return samples
	}
	return sub
}

//go:embed profiles/*.yaml
var profiles embed.FS

// WorkloadNames lists the workloads that come with the program.
func WorkloadNames() []string {
	entries, err := profiles.ReadDir("profiles")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// workloads has the workloads among WorkloadNames that were asked for: a scenario with users
// is checked against its workload several times.
var workloads sync.Map // of *Workload by name

// LoadWorkload returns the workload of a name in WorkloadNames, or of a file:
// a name that holds a slash or ends in .yaml or .yml is a file. The lists and maps
// in it are not to be changed.
func LoadWorkload(name string) (*Workload, error) {
	if w, ok := workloads.Load(name); ok {
		own := *w.(*Workload)
		return &own, nil
	}
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	if isFile(name) {
		return parseWorkload(text, name)
	}
	w, err := parseWorkload(text, name+".yaml")
	if err == nil {
		own := *w
		workloads.Store(name, &own)
	}
	return w, err
}

// WorkloadText returns the YAML that LoadWorkload reads.
func WorkloadText(name string) ([]byte, error) {
	if isFile(name) {
		text, err := files.Read(name)
		if err != nil {
			return nil, fmt.Errorf("read profile: %w", err)
		}
		return text, nil
	}
	if names := WorkloadNames(); !slices.Contains(names, name) {
		return nil, fmt.Errorf("no profile %q%s; there are %s, and files that end in .yaml",
			name, nearest.Hint(name, names), strings.Join(names, ", "))
	}
	return profiles.ReadFile("profiles/" + name + ".yaml")
}

func isFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// fittedKey is a key of every profile and of no workload.
const fittedKey = "switches"

// parseWorkload reads a workload strictly. The error names every problem with
// file and line: unknown keys, values of the wrong kind, and values that no
// session can be drawn from.
func parseWorkload(text []byte, file string) (*Workload, error) {
	tree, err := spec.Parse(text, file)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	var w Workload
	errs := tree.Decode(tree.Root, &w, "")
	if n := spec.Child(tree.Root, fittedKey); n != nil {
		errs = []error{tree.Errorf(n, "this profile of sim calibrate is for the simulation; "+
			"sim traces fit writes one that sessions are generated from")}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a profile: %w", errors.Join(errs...))
	}
	w.Name = strings.TrimSuffix(file[strings.LastIndexAny(file, `/\`)+1:], ".yaml")
	return &w, nil
}

// Write writes the workload as YAML.
func (w *Workload) Write(to io.Writer) error {
	text, err := yaml.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode profile %s: %w", w.Name, err)
	}
	if _, err := to.Write(text); err != nil {
		return fmt.Errorf("write profile %s: %w", w.Name, err)
	}
	return nil
}
