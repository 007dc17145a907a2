package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
}

// run installs a library and returns what it did in every conversation under each of its presets, or what stood in the way.
func (b *bench) run(ctx context.Context, l *library) (list []*outcome) {
	version, fault := b.install(ctx, l)
	for _, preset := range l.presets {
		for _, t := range l.talks() {
			o := &outcome{Preset: preset, Talk: t.Name, Package: l.lead(), Version: version, Date: time.Now().UTC().Format(time.DateOnly)}
			err := fault
			if err == nil {
				o.Did, err = b.talkTo(ctx, l, preset, t)
			}
			if err != nil {
				o.Fault = err.Error()
			}
			list = append(list, o)
		}
	}
	return list
}

// install makes the environment of a library, if it is not there, and returns the version of its package.
func (b *bench) install(ctx context.Context, l *library) (string, error) {
	env := filepath.Join(b.env, l.name)
	if b.latest {
		env += "-latest"
	}
	if version := b.version(ctx, l, env); version != "" {
		return version, nil
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
			return "", err
		}
	}
	for _, s := range steps {
		if text, err := exec.CommandContext(ctx, s[0], s[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of the table
			return "", fmt.Errorf("%s cannot be installed: %w: %s", strings.Join(packages, " "), err, lastLine(text))
		}
	}
	version := b.version(ctx, l, env)
	if version == "" {
		return "", fmt.Errorf("%s cannot be installed: no package of that name is there", l.lead())
	}
	return version, nil
}

// version returns the installed version of a library's package, "" if it is not there.
func (b *bench) version(ctx context.Context, l *library, env string) string {
	if l.node {
		text, err := os.ReadFile(filepath.Join(env, "node_modules", l.lead(), "package.json")) //nolint:gosec // of the environment
		var p struct{ Version string }
		if err != nil || json.Unmarshal(text, &p) != nil {
			return ""
		}
		return p.Version
	}
	text, err := exec.CommandContext(ctx, filepath.Join(env, "bin", "python"), "-c", //nolint:gosec // of the environment
		"import sys, importlib.metadata as m; print(m.version(sys.argv[1]))", l.lead()).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// longest is how long a library may take for one conversation.
const longest = 10 * time.Minute

// talkTo lets a library work through a conversation and returns what it sent.
func (b *bench) talkTo(ctx context.Context, l *library, preset string, t *talk) (*figures, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	env, err := filepath.Abs(filepath.Join(b.env, l.name))
	if err != nil {
		return nil, err
	}
	if b.latest {
		env += "-latest"
	}
	home := filepath.Join(b.logs, "home") // libraries write there
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(b.logs, strings.ReplaceAll(preset, "/", "-")+"."+t.Name)
	script, out := name+".json", name+".jsonl"
	if err := put(script, t); err != nil {
		return nil, err
	}
	run := filepath.Join(env, "bin", "python")
	if l.node {
		run = "node"
	}
	cmd := exec.CommandContext(ctx, run, l.driver(filepath.Join(b.folder, "drivers")), script, out, preset) //nolint:gosec // of the table
	cmd.Env = append(os.Environ(), "HOME="+home, "PYTHONDONTWRITEBYTECODE=1", "BENCH_ENV="+env)
	text, stopped := cmd.CombinedOutput()
	f, err := os.Open(out) //nolint:gosec // of this run
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, refused, err := readRequests(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", out, err)
	}
	done := measure(list)
	if done.Requests < t.requests() && !refused { // whom the model refuses may end there
		return nil, fmt.Errorf("stopped after %d of %d requests: %v: %s", done.Requests, t.requests(), stopped, lastLine(text))
	}
	return done, nil
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
		out := &request{side: in.Kind != "main", head: fmt.Sprint(in.Tools, in.System), size: tokens(in.System) + in.Tools, output: in.Output}
		for _, text := range in.Messages {
			var m struct {
				Role, Text string
				Calls      [][3]string
			}
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
