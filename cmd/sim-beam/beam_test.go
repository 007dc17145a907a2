package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// small are limits that divide the samples.
var small = limits{minCalls: 50, maxCalls: 1000, maxRows: 5}

// launchWith runs the program with flags, and returns its output folder.
func launchWith(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	return out, launchInto(t, out, args...)
}

func launchInto(t *testing.T, out string, args ...string) error {
	t.Helper()
	var o options
	flags := pflag.NewFlagSet("sim-beam", pflag.ContinueOnError)
	o.bind(flags)
	o.limits = small
	if err := flags.Parse(append([]string{"--out", out}, args...)); err != nil {
		t.Fatal(err)
	}
	return o.run(t.Context(), flags, io.Discard, io.Discard)
}

// samples writes the samples into folders: a session in halves, in two folders, further sessions compressed.
func samples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	n := 0
	err := fs.WalkDir(synthetic.Samples(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(synthetic.Samples(), path)
		if err != nil {
			return err
		}
		n++
		plain := unpacked(t, text)
		name := strings.TrimSuffix(path, ".gz")
		switch n % 3 {
		case 0:
			write(t, filepath.Join(dir, "b", name+".zst"), packed(t, plain))
		case 1:
			write(t, filepath.Join(dir, "a", name), plain[:half(plain)])
			write(t, filepath.Join(dir, "z", name), plain[half(plain):])
		default:
			write(t, filepath.Join(dir, "b", name), plain)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func half(text []byte) int { return len(text)/2 + bytes.IndexByte(text[len(text)/2:], '\n') + 1 }

func unpacked(t *testing.T, text []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(text, nil)
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a buffer takes all
	_ = z.Close()
	return b.Bytes()
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// alone returns the file of rows that one program without Beam computes.
func alone(t *testing.T, args ...string) string {
	t.Helper()
	var o options
	flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
	o.bind(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	o.globs = flags.Args()
	r, err := o.recipe(flags)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := r.plan()
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := agents.Read(t.Context(), traces.Options{Listener: plan.Listener()}, o.globs...)
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	chosen, err := filter(plan, corpus)
	if err != nil {
		t.Fatal(err)
	}
	run, err := plan.Run(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	charts.Remark(&run.Workload, corpus, &chosen, "-v")
	var b bytes.Buffer
	if err := results.WriteRows(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func rowsIn(t *testing.T, out string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The rows of a pipeline equal the rows of one program, byte for byte, whatever is divided: sessions, cells or cohorts.
func TestSameRows(t *testing.T) {
	dir := samples(t)
	corpora := map[string][]string{
		"default":       {dir},
		"sweep":         {"--scenario", "thresholds", "--verify", dir},
		"other client":  {"--strategy", "none,auto-compact/155k", "--set", "server.lifetime_5m=10m", "--set", "full-compact.trigger.fixed=100000", "--window", "250000", dir},
		"shared caches": {"--strategy", "none,auto-compact/155k", "--set", "sessions.cohort=all", "--set", "agent.refetch=fitted", "--seed", "3", dir},
	}
	if recorded, err := filepath.Abs("../../../shared/traces-3"); err == nil && !testing.Short() {
		if _, err := os.Stat(recorded); err == nil {
			corpora["recordings"] = []string{"--strategy", "own,none", recorded}
		}
	}
	for name, args := range corpora {
		t.Run(name, func(t *testing.T) {
			out, err := launchWith(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := rowsIn(t, out), alone(t, args...); got != want {
				t.Errorf("%d bytes of rows differ from %d", len(got), len(want))
			}
			head, err := os.ReadFile(filepath.Join(out, "rows.jsonl"))
			if err != nil || name == "other client" && !strings.Contains(string(head), `"full-compact.trigger.fixed":"100000"`) {
				t.Errorf("the setting of a layer is not told: %v", err)
			}
			if _, err := os.Stat(filepath.Join(out, partsFolder)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("parts are left: %v", err)
			}
		})
	}
}

// A file that is damaged is named, and all other files are simulated; with --strict it is the end.
func TestDamagedFile(t *testing.T) {
	dir := samples(t)
	torn := zipped([]byte(strings.Repeat("{\"type\":\"x\"}\n", 1000)))
	write(t, filepath.Join(dir, "c", "torn.jsonl.gz"), torn[:len(torn)/2])
	out, err := launchWith(t, "--strategy", "none", dir)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := os.ReadFile(filepath.Join(out, problemsFile))
	if err != nil || !strings.Contains(string(problems), filepath.Join("c", "torn.jsonl.gz")) {
		t.Errorf("problems %q, %v", problems, err)
	}
	if got, want := rowsIn(t, out), alone(t, "--strategy", "none", dir); got != want {
		t.Error("the rows of the others differ")
	}
	if _, err := launchWith(t, "--strict", "--strategy", "none", dir); err == nil || !strings.Contains(err.Error(), "torn.jsonl.gz") {
		t.Errorf("strict: %v", err)
	}
}

// Recordings with problems have the file of rows of one program, byte for byte, with the remarks above its figures: lines
// and files that cannot be read, of sessions in one file or two or of none, a link that leads nowhere, calls that are
// repeated, an agent that is not supported, and sessions that the scenario leaves out.
func TestRemarks(t *testing.T) {
	dir := samples(t)
	bad := func(name, text string) {
		t.Helper()
		was, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(was), "\n")
		lines[len(lines)/2] = text
		write(t, filepath.Join(dir, name), []byte(strings.Join(lines, "")))
	}
	var halves, others []string
	for _, d := range []string{"z", "b"} {
		err := filepath.WalkDir(filepath.Join(dir, d), func(path string, e fs.DirEntry, err error) error {
			if name, err := filepath.Rel(dir, path); err == nil && d == "z" && !e.IsDir() {
				halves = append(halves, name)
			} else if err == nil && strings.HasSuffix(name, ".jsonl") && !strings.Contains(name, "subagents") {
				others = append(others, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(halves) == 0 || len(others) == 0 {
		t.Fatalf("%q, %q", halves, others)
	}
	bad(halves[0], "{\"type\":\"assistant\"\n")
	bad(others[0], "no JSON\n")
	text, err := os.ReadFile(filepath.Join(dir, others[0]))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSuffix(filepath.Base(others[0]), ".jsonl")
	write(t, filepath.Join(dir, "m", "resumed.jsonl"), []byte(strings.ReplaceAll(string(text), id, "resumed")))
	torn := zipped([]byte(strings.Repeat("{\"type\":\"x\"}\n", 1000)))
	write(t, filepath.Join(dir, "c", "torn.jsonl.gz"), torn[:len(torn)/2])
	torn = zipped([]byte(strings.NewReplacer("msg_", "msg_again_", id, "cut").Replace(string(text))))
	write(t, filepath.Join(dir, "a", "cut.jsonl.gz"), torn[:len(torn)/3*2])
	write(t, filepath.Join(dir, "d", "none.jsonl"), []byte("{\"type\":\"user\"}\n{\n[]\n"))
	if err := os.Symlink("nowhere", filepath.Join(dir, "lost.jsonl")); err != nil {
		t.Skip(err)
	}
	for name, more := range map[string][]string{
		"all": nil, "some": {"--set", "sessions.since=2026-02-10", "--set", "sessions.utc=true"}, "many cells": {"--scenario", "thresholds"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(more, dir)
			out, err := launchWith(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			got, want := rowsIn(t, out), alone(t, args...)
			if got != want {
				got, _, _ := strings.Cut(got, "\n")
				want, _, _ := strings.Cut(want, "\n")
				t.Errorf("the rows differ; their heads are\n%s, want\n%s", got, want)
			}
			for _, told := range []string{"could not be read, wholly or in part", "files could not be read to the end", "1 link left out", `"of":"files"`} {
				if !strings.Contains(want, told) {
					t.Errorf("no %q above the figures: %.2000s", told, want)
				}
			}
			if name == "some" && !strings.Contains(want, "filter: since 2026-02-10") || name == "all" && !strings.Contains(want, "repeated by resumed sessions") {
				t.Errorf("%.2000s", want)
			}
		})
	}
}

// denied is a file system that nobody may look into.
type denied struct{ filesystem.Interface }

func (denied) Close() error                                   { return nil }
func (denied) List(context.Context, string) ([]string, error) { return nil, fs.ErrPermission }

// What is wrong is said before anything is submitted.
func TestRefused(t *testing.T) {
	filesystem.Register("denied", func(context.Context) filesystem.Interface { return denied{} })
	dir := samples(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"empty glob":     {[]string{filepath.Join(dir, "*.none")}, "no file matches"},
		"scenario":       {[]string{"--set", "full-compact.trigger.fixd=1", dir}, "fixd"},
		"strategy":       {[]string{"--strategy", "nono", dir}, "nono"},
		"no such file":   {[]string{"--scenario", "nothing.yaml", dir}, "nothing.yaml"},
		"permission":     {[]string{"denied://bucket/*.jsonl"}, "permission denied"},
		"unknown scheme": {[]string{"ftp://host/*.jsonl"}, "ftp"},
		"nothing asked":  {nil, "which sessions"},
	} {
		out, err := launchWith(t, c.args...)
		var usage usageError
		if err == nil || !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a folder is made", name)
		}
	}
	full := t.TempDir()
	write(t, filepath.Join(full, "mine.txt"), nil)
	if err := launchInto(t, full, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder in use: %v", err)
	}
	if err := launchInto(t, filepath.Join(full, "mine.txt"), dir); err == nil {
		t.Error("a file for a folder is no error")
	}
}

// A worker that is another program refuses to work.
func TestOtherVersion(t *testing.T) {
	out := t.TempDir()
	r := recipe{Program: "0123456789abcdef", Out: out}
	if err := putValue(t.Context(), at(out, partsFolder, recipeFile), &r); err != nil {
		t.Fatal(err)
	}
	_, err := simulate(t.Context(), out, []string{"rows-00000-of-00001"})
	if err == nil || !strings.Contains(err.Error(), errProgram.Error()) {
		t.Errorf("%v, want %v", err, errProgram)
	}
}

// simulated returns a run whose blocks are simulated, and their names.
func simulated(t *testing.T, dir string) (*launch, *scenarios.Plan, []string) {
	t.Helper()
	var o options
	flags := pflag.NewFlagSet("sim-beam", pflag.ContinueOnError)
	o.bind(flags)
	o.globs = []string{dir}
	r, err := o.recipe(flags)
	if err != nil {
		t.Fatal(err)
	}
	r.Out = t.TempDir()
	found, other, err := find(t.Context(), o.globs)
	if err != nil {
		t.Fatal(err)
	}
	l := &launch{recipe: r, files: found, other: other, parallel: 2, limits: small, stdout: io.Discard, stderr: io.Discard}
	if err := errors.Join(l.write(t.Context(), recipeFile, r), l.survey(t.Context())); err != nil {
		t.Fatal(err)
	}
	plan, err := l.gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := l.simulate(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return l, plan, names
}

// A block that is simulated twice, as by an engine that lost a worker, has its rows once.
func TestTwice(t *testing.T) {
	dir := samples(t)
	l, plan, names := simulated(t, dir)
	out := l.recipe.Out
	name := at(out, partsFolder, names[0]+".jsonl")
	first, err := files.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := simulate(t.Context(), out, names); err != nil {
		t.Fatal(err)
	}
	if again, err := files.Read(name); err != nil || !bytes.Equal(first, again) {
		t.Errorf("rows of a block differ the second time, %v", err)
	}
	if err := l.join(t.Context(), plan, names); err != nil {
		t.Fatal(err)
	}
	if got, want := rowsIn(t, out), alone(t, dir); got != want {
		t.Error("rows differ")
	}
}

// Sessions and cells are divided, and without the rows of a block there is no run.
func TestMissingPart(t *testing.T) {
	l, plan, names := simulated(t, samples(t))
	first, later := map[string]bool{}, 0 // blocks by their first file, those that begin behind the first cell
	for _, name := range names {
		var b block
		if err := getValue(t.Context(), at(l.recipe.Out, partsFolder, name+".block"), &b); err != nil {
			t.Fatal(err)
		}
		first[b.Files[0].Name] = true
		if b.From > 0 {
			later++
		}
	}
	if len(first) < 2 || later == 0 {
		t.Fatalf("%d blocks of sessions, %d of later cells: want more", len(first), later)
	}
	again := func() *scenarios.Plan {
		plan, err := l.gather(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	if err := l.join(t.Context(), plan, names[1:]); err == nil || !strings.Contains(err.Error(), "a part is missing") {
		t.Errorf("without a block: %v", err)
	}
	if err := l.join(t.Context(), again(), append(names, names[0])); err == nil {
		t.Error("a block that comes twice is no error")
	}
	if err := os.Remove(at(l.recipe.Out, partsFolder, names[0]+".jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := l.join(t.Context(), again(), names); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file of rows: %v", err)
	}
	if _, err := os.Stat(filepath.Join(l.recipe.Out, runFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a run: %v", err)
	}
}

// What a pass wrote is read, or it is an error.
func TestLinks(t *testing.T) {
	l := launch{recipe: &recipe{Out: t.TempDir()}, files: make([]recording, 4), links: newLinks(4)}
	if err := l.follow(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]bool{"3 1\n": true, "3 4\n": false, "-1 0\n": false, "x\n": false} {
		write(t, filepath.Join(l.recipe.Out, partsFolder, "links"), []byte(text))
		if err := l.follow(t.Context(), "links"); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := fmt.Sprint(l.links.groups()); got != "[[0] [1 3] [2]]" {
		t.Errorf("groups %s", got)
	}
	files := []recording{{Index: 0, Size: readBytes / 8}, {Index: 1, Size: readBytes}, {Index: 2, Size: readBytes / 4}, {Index: 3, Size: readBytes}}
	var read []string
	for _, b := range toRead(files, l.links.groups(), 1) {
		var in []int
		for _, f := range b.Files {
			in = append(in, f.Index)
		}
		read = append(read, fmt.Sprint(in))
	}
	if got := strings.Join(read, " "); got != "[0] [1 3] [2]" {
		t.Errorf("a group that fills blocks is read in %s", got)
	}
	if blocks := toRead(files, [][]int{{0}, {2}, {1, 3}}, 1); len(blocks) != 2 || len(blocks[0].Files) != 2 {
		t.Errorf("small groups are not read together: %+v", blocks)
	}
	list := usual.toSimulate(make([]recording, 4), l.links.groups(), []int{10, 60_000, 0, 0}, []int{1, 1, 0, 0}, 7, 2)
	cells := 0
	for _, b := range list {
		cells += (b.To - b.From) * len(b.Files)
	}
	if len(list) < 3 || cells != 7*3 {
		t.Errorf("%d blocks, %d cells of files: %+v", len(list), cells, list)
	}
}

// What a run would take is said, and nothing is written.
func TestDryRun(t *testing.T) {
	var o options
	flags := pflag.NewFlagSet("sim-beam", pflag.ContinueOnError)
	o.bind(flags)
	if err := flags.Parse([]string{"--dry-run", "--scenario", "thresholds", samples(t)}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := o.run(t.Context(), flags, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sessions ×", "core-hours", "MiB of memory", "shuffled", "MB of rows", "$"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, b.String())
		}
	}
}
