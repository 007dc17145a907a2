package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/tools/tests/filestest"
)

// variants are what the runs of a sequence of operations simulate.
var variants = []string{"--strategy none", "--strategy recorded,none", "--strategy none --seed 2"}

// An operation is one command line of a sequence on one folder.
type operation struct {
	verb    string // run, check, compare
	place   string // folder or file
	variant int
	fails   int           // the operation of the file system that fails, 0 for none
	dead    bool          // all that follow fail too
	kill    time.Duration // the program is killed by then, 0 for not at all
}

func (o operation) String() string {
	return fmt.Sprintf("%s %s variant %d fails %d dead %t kill %v", o.verb, o.place, o.variant, o.fails, o.dead, o.kill)
}

// randomOperation draws an operation; real kills are for long tests.
func randomOperation(r *rand.Rand, long bool) operation {
	o := operation{variant: r.IntN(len(variants)), place: []string{"a", "b"}[r.IntN(2)]}
	o.verb = []string{"run", "run", "check", "compare"}[r.IntN(4)]
	switch {
	case o.verb == "compare" || r.IntN(3) == 0:
	case long && o.verb == "run" && r.IntN(4) > 0:
		o.kill = time.Duration(r.IntN(400)) * time.Millisecond
	default:
		o.fails, o.dead = 1+r.IntN(60), r.IntN(2) == 0
	}
	return o
}

// world is a folder on which operations run, and what it must hold.
type world struct {
	t         *testing.T
	dir, in   string
	runs      []map[string]string // files of a run of each variant
	baselines []string
	state     map[string]map[string]string // by place
}

// line returns the arguments of an operation.
func (w *world) line(o operation) []string {
	at := filepath.Join(w.dir, o.place)
	var line string
	switch o.verb {
	case "run":
		line = "run -q " + variants[o.variant] + " --force --out " + at + " " + w.in
	case "check":
		line = fmt.Sprintf("check -q --update --file %s/check%d.yaml %s", w.dir, o.variant, w.in)
	case "compare":
		line = fmt.Sprintf("compare %s/a %s/b", w.dir, w.dir)
	}
	return strings.Fields(line)
}

// do runs an operation and returns what is wrong with what it left.
func (w *world) do(o operation) error {
	var code int
	var text string
	if o.kill > 0 {
		cmd, _ := process(w.t, w.line(o)...)
		if err := cmd.Start(); err != nil {
			return err
		}
		time.AfterFunc(o.kill, func() { cmd.Process.Kill() })
		code = exitCode(cmd.Wait())
	} else {
		disk := &filestest.Failing{At: o.fails, Dead: o.dead, Err: []error{syscall.ENOSPC, syscall.EIO, syscall.EINTR}[o.fails%3]}
		var b strings.Builder
		code = execute(files.With(w.t.Context(), disk), w.line(o), strings.NewReader(""), &b, &b)
		text = b.String()
	}
	switch o.verb {
	case "compare":
		if both := w.state["a"] != nil && w.state["b"] != nil; both != (code == exitOK) {
			return fmt.Errorf("exit %d: %s", code, text)
		}
		return nil
	case "run":
		return w.holds(o.place, tree(w.t, filepath.Join(w.dir, o.place)), w.runs[o.variant], code, text)
	}
	name := fmt.Sprintf("baseline%d.json", o.variant)
	found := map[string]string{}
	if text, ok := tree(w.t, w.dir)[name]; ok {
		found[""] = text
	}
	return w.holds(name, found, map[string]string{"": w.baselines[o.variant]}, code, text)
}

// holds compares what is at a place with what was there and with what was to be there.
func (w *world) holds(place string, found, fresh map[string]string, code int, text string) error {
	old := w.state[place]
	isOld := maps.Equal(found, old) || len(found)+len(old) == 0
	kept := maps.Clone(found) // without old files that nothing took the place of
	maps.DeleteFunc(kept, func(name, text string) bool { _, ok := fresh[name]; return !ok && code != exitOK && old[name] == text })
	switch isNew := maps.Equal(kept, fresh); {
	case isNew:
		w.state[place] = found
	case !isOld || code == exitOK:
		return fmt.Errorf("exit %d, neither old nor new: %v, want %v: %s", code, slices.Sorted(maps.Keys(found)),
			slices.Sorted(maps.Keys(fresh)), text)
	}
	return nil
}

// newWorld returns an empty folder with references of what operations leave.
func newWorld(t *testing.T) *world {
	top := t.TempDir()
	w := &world{t: t, in: filepath.Join(top, "in")}
	if err := os.Mkdir(w.in, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.in, "s.jsonl"), []byte(oneCall))
	for i := range variants {
		w.begin()
		for _, o := range []operation{{verb: "run", place: "a", variant: i}, {verb: "check", variant: i}} {
			if code, _, errs := exec(t, w.line(o)...); code != exitOK {
				t.Fatalf("%v: exit %d: %s", o, code, errs)
			}
		}
		w.runs = append(w.runs, tree(t, filepath.Join(w.dir, "a")))
		w.baselines = append(w.baselines, tree(t, w.dir)[fmt.Sprintf("baseline%d.json", i)])
	}
	return w
}

// begin empties the world.
func (w *world) begin() {
	w.dir, w.state = w.t.TempDir(), map[string]map[string]string{}
	for i, variant := range variants {
		name := strings.Fields(variant)[1]
		write(w.t, fmt.Sprintf("%s/check%d.yaml", w.dir, i), fmt.Appendf(nil, "scenario: {strategies: [%s], sessions: {paths: [%s]}}\n"+
			"baseline: baseline%d.json\nrules:\n  - {metric: calls, max_increase: %d}\n", name, w.in, i, i))
	}
}

// run runs operations from the beginning and returns the number of the one that goes wrong.
func (w *world) run(ops []operation) (int, error) {
	w.begin()
	for i, o := range ops {
		if err := w.do(o); err != nil {
			return i, fmt.Errorf("%v: %w", o, err)
		}
	}
	return 0, nil
}

// Whatever order runs, checks and comparisons come in, whatever fails or is
// killed: what is in a folder is what a whole operation left. A sequence that goes wrong is told
// without the operations that it does not need.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	more, long := budget(1)
	seed := seedOf(t, long)
	w := newWorld(t)
	kills := 0
	for n := 0; more(n); n++ {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		ops := make([]operation, 12)
		for i := range ops {
			if ops[i] = randomOperation(r, long); ops[i].kill > 0 {
				kills++
			}
		}
		at, err := w.run(ops)
		if err == nil {
			continue
		}
		ops = ops[:at+1]
		for i := len(ops) - 2; i >= 0; i-- {
			fewer := slices.Delete(slices.Clone(ops), i, i+1)
			if _, again := w.run(fewer); again != nil {
				ops, err = fewer, again
			}
		}
		t.Fatalf("seed %d, sequence %d: %v\nafter %v", seed, n, err, ops)
	}
	t.Logf("%d programs killed", kills)
}
