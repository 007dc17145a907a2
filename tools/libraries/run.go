package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A bench installs libraries and runs them.
type bench struct {
	folder, env, logs, python string
	latest                    bool // install the newest versions
	reuse                     bool // run nothing: requests of an earlier run are in logs
}

// run installs a library and returns what it did in every conversation under each of its presets, or what stood in the way.
func (b *bench) run(ctx context.Context, l *library) (list []*outcome) {
	versions, fault := b.install(ctx, l)
	for _, preset := range l.presets {
		for _, t := range l.talks() {
			o := &outcome{Preset: preset, Talk: t.Name, Package: l.lead(), Date: time.Now().UTC().Format(time.DateOnly)}
			if len(versions) > 0 {
				o.Version, o.Others = versions[0], l.others(versions)
			}
			err := fault
			if err == nil {
				o.Did, o.Recorded, err = b.talkTo(ctx, l, preset, t)
			}
			if err != nil {
				o.Fault = err.Error()
			}
			list = append(list, o)
		}
	}
	return list
}

// install makes the environment of a library, unless it is there in the versions wanted, and returns the versions of its packages, in
// their order.
func (b *bench) install(ctx context.Context, l *library) ([]string, error) {
	env := b.environment(l)
	versions := b.versions(ctx, l, env)
	if whole := !slices.Contains(versions, ""); whole && (len(l.others(versions)) == 0 && versions[0] == l.pin(0) || b.latest || b.reuse) {
		return versions, nil
	}
	packages := slices.Clone(l.packages)
	if b.latest {
		for i, p := range packages {
			packages[i] = l.unpinned(p)
		}
	}
	pip := []string{filepath.Join(env, "bin", "python"), "-m", "pip", "install", "-q", "--no-compile"}
	steps := [][]string{{b.python, "-m", "venv", "--clear", env}}
	if l.alone {
		steps = append(steps, slices.Concat(pip, []string{"--no-deps"}, packages[:1]))
		packages = packages[1:]
	}
	steps = append(steps, slices.Concat(pip, packages))
	if l.node {
		steps = [][]string{append([]string{"npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", env}, packages...)}
		if err := os.MkdirAll(env, 0o755); err != nil { //nolint:gosec // packages
			return nil, err
		}
	}
	for _, s := range steps {
		if text, err := exec.CommandContext(ctx, s[0], s[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of the table
			return nil, fmt.Errorf("%s cannot be installed: %w: %s", strings.Join(l.packages, " "), err, lastLine(text))
		}
	}
	versions = b.versions(ctx, l, env)
	if i := slices.Index(versions, ""); i >= 0 {
		return nil, fmt.Errorf("%s cannot be installed: no package of that name is there", l.packages[i])
	}
	return versions, nil
}

// versions returns the installed version of each of a library's packages, "" for one that is not there.
func (b *bench) versions(ctx context.Context, l *library, env string) []string {
	list := make([]string, len(l.packages))
	if l.node {
		for i := range list {
			text, err := os.ReadFile(filepath.Join(env, "node_modules", l.unpinned(l.packages[i]), "package.json")) //nolint:gosec // of the environment
			var p struct{ Version string }
			if err == nil && json.Unmarshal(text, &p) == nil {
				list[i] = p.Version
			}
		}
		return list
	}
	names := make([]string, len(l.packages))
	for i, p := range l.packages {
		names[i] = l.unpinned(p)
	}
	text, err := exec.CommandContext(ctx, filepath.Join(env, "bin", "python"), append([]string{"-c", installed}, names...)...).Output() //nolint:gosec // of the environment
	if err == nil {
		copy(list, strings.Split(string(text), "\n"))
	}
	return list
}

// installed prints the versions of the packages that it is given, an empty line for one that is not there.
const installed = `
import sys, importlib.metadata as m
for name in sys.argv[1:]:
    try: print(m.version(name))
    except m.PackageNotFoundError: print()
`

// longest is how long a library may take for one conversation.
const longest = 10 * time.Minute

// talkTo lets a library work through a conversation and returns what it sent, and what the simulator makes of its log (recorded).
func (b *bench) talkTo(ctx context.Context, l *library, preset string, t *talk) (did *figures, share float64, err error) {
	name := filepath.Join(b.logs, strings.ReplaceAll(preset, "/", "-")+"."+t.Name)
	var stopped error
	if !b.reuse {
		if err := put(name+".json", t); err != nil {
			return nil, 0, err
		}
		os.Remove(name + ".jsonl") //nolint:errcheck // of an earlier run
		stopped = b.drive(ctx, l, name+".json", name+".jsonl", preset)
	}
	f, err := os.Open(name + ".jsonl") //nolint:gosec // of this run
	if err != nil {
		return nil, 0, cmp.Or(stopped, err)
	}
	defer f.Close()
	list, refused, err := readRequests(f)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if did = measure(list); did.Requests < t.requests() && !refused { // whom the model refuses may end there
		return nil, 0, fmt.Errorf("stopped after %d of %d requests: %w", did.Requests, t.requests(), cmp.Or(stopped, errEnded))
	}
	if l.unlogged {
		return did, 0, nil
	}
	file := filepath.Join(name, "requests.jsonl")
	if err := writeLog(file, list); err != nil {
		return nil, 0, err
	}
	if share, err = recorded(ctx, file); err != nil { // the library is judged without
		fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
		return did, unread, nil
	}
	return did, math.Round(share*1e4) / 1e4, os.Remove(file) // it is large
}

// errEnded is what a driver that says nothing ends with.
var errEnded = errors.New("the driver ended")

// drive runs the driver of a library and returns what it ended with.
func (b *bench) drive(ctx context.Context, l *library, script, out, preset string) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	env, err := filepath.Abs(b.environment(l))
	if err != nil {
		return err
	}
	home := filepath.Join(b.logs, "home") // libraries write there
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	run := filepath.Join(env, "bin", "python")
	if l.node {
		run = "node"
	}
	cmd := exec.CommandContext(ctx, run, l.driver(filepath.Join(b.folder, "drivers")), script, out, preset) //nolint:gosec // of the table
	cmd.Env = append(os.Environ(), "HOME="+home, "PYTHONDONTWRITEBYTECODE=1", "BENCH_ENV="+env)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(text))
	}
	return errEnded
}

// environment returns the folder with what is installed for a library.
func (b *bench) environment(l *library) string {
	name := l.name
	if b.latest {
		name += "-latest"
	}
	return filepath.Join(b.env, name)
}

// lastLine returns the last line of a text that says something.
func lastLine(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	line := strings.TrimSpace(string(lines[len(lines)-1]))
	return line[:min(len(line), 200)]
}

// readRequests reads what a driver wrote. The model refused the last request if refused is set.
func readRequests(r io.Reader) (list []*request, refused bool, err error) {
	for d := json.NewDecoder(bufio.NewReaderSize(r, 1<<20)); ; {
		var in struct {
			Kind, System  string
			Tools, Output int
			Messages      []json.RawMessage
		}
		if err := d.Decode(&in); errors.Is(err, io.EOF) {
			return list, refused, nil
		} else if err != nil {
			return nil, false, err
		}
		if refused = in.Kind == "refused"; refused {
			continue
		}
		out := &request{side: in.Kind != "main", system: in.System, head: fmt.Sprint(in.Tools, in.System), size: tokens(in.System) + in.Tools, output: in.Output}
		for _, text := range in.Messages {
			var m message
			if err := json.Unmarshal(text, &m); err != nil {
				return nil, false, err
			}
			n := tokens(m.Text)
			for _, c := range m.Calls {
				n += tokens(c[2])
			}
			out.items = append(out.items, item{string(text), n, m.Role == "assistant"})
		}
		list = append(list, out)
	}
}
