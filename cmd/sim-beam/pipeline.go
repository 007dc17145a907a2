package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

func init() {
	for _, fn := range []any{surveyor{}, simulator{}, writer{}} {
		beam.RegisterType(reflect.TypeOf(fn))
	}
	beam.RegisterFunction(meet)
}

// Names in the output folder.
const (
	partsFolder    = "parts"        // of the run in progress; removed when the run is complete
	sessionsFolder = "sessions"     // of these, parsed
	runFile        = "run.json"     // written last
	problemsFile   = "problems.txt" // what could not be read: a side output
	recipeFile     = "recipe"
	linksFile      = "links.txt"
)

// Counters of the pipelines.
var (
	bytesSent  = beam.NewCounter("sim", "bytes")  // names of sessions and calls, sent to be compared
	callsTaken = beam.NewCounter("sim", "calls")  // simulated, once for each cell
	rowsMade   = beam.NewCounter("sim", "rows")   // written
	blocksDone = beam.NewCounter("sim", "blocks") // simulated
)

// worker is a worker's state of a run.
type worker struct {
	Out     string
	recipe  *recipe
	plan    *scenarios.Plan
	learned *profile.Profile
}

// begin reads the recipe, and returns an error if another program wrote it.
func (w *worker) begin(ctx context.Context) error {
	w.recipe = new(recipe)
	if err := getValue(ctx, at(w.Out, partsFolder, recipeFile), w.recipe); err != nil {
		return err
	}
	if err := w.recipe.check(); err != nil {
		return err
	}
	var err error
	if w.plan, err = w.recipe.plan(); err != nil {
		return err
	}
	w.learned = w.plan.Profiles[w.plan.Design.Scenario.Profile]
	return nil
}

// surveyor looks at the sessions of a block.
type surveyor struct{ Worker worker }

// Setup is called by Beam.
func (f *surveyor) Setup(ctx context.Context) error { return f.Worker.begin(ctx) }

// ProcessElement writes the sights of the sessions of a block to a file with the block's name. It emits each name
// that the block's files mention, once and with the file, the files that belong together, and the problems.
func (f *surveyor) ProcessElement(
	ctx context.Context, name string, spoke func(int, []byte), link, problem func(string),
) error {
	var b block
	if err := getValue(ctx, at(f.Worker.Out, partsFolder, name+".block"), &b); err != nil {
		return err
	}
	first := map[uint64]int{} // index in the block of the first file that mentions a name
	own := newLinks(len(b.Files))
	x, err := b.read(ctx, f.Worker.recipe, f.Worker.plan, func(i int, name uint64) {
		if before, ok := first[name]; ok {
			own.join(before, i)
		} else {
			first[name] = i
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer x.close()
	for i := range own {
		if root := own.root(i); root != i {
			link(fmt.Sprintf("%d %d\n", b.Files[i].Index, b.Files[root].Index))
		}
	}
	var heaps [nameHeaps][]byte
	for name, i := range first {
		heap := &heaps[name%nameHeaps]
		*heap = binary.AppendUvarint(binary.LittleEndian.AppendUint64(*heap, name), uint64(b.Files[i].Index))
	}
	for i, heap := range heaps {
		if len(heap) > 0 {
			spoke(i, heap)
			bytesSent.Inc(ctx, int64(len(heap)))
		}
	}
	for _, text := range x.problems {
		problem(text)
	}
	sights, err := f.Worker.plan.Sights(ctx, x.corpus)
	if err != nil {
		return err
	}
	return putValue(ctx, at(f.Worker.Out, partsFolder, name+".sights"), sights)
}

// nameHeaps is the number of heaps of names, with equal names in one: elements of an engine cost much more than
// bytes.
const nameHeaps = 64

// meet emits a line for every two files that mention the same name.
func meet(_ int, heaps func(*[]byte) bool, link func(string)) error {
	first := map[uint64]uint64{} // file of each name
	for heap := []byte(nil); heaps(&heap); {
		for len(heap) > 8 {
			name := binary.LittleEndian.Uint64(heap)
			file, n := binary.Uvarint(heap[8:])
			if n <= 0 {
				return errors.New("names that were sent are damaged")
			}
			heap = heap[8+n:]
			if before, ok := first[name]; !ok {
				first[name] = file
			} else if before != file {
				link(fmt.Sprintf("%d %d\n", before, file))
			}
		}
	}
	return nil
}

// simulator simulates a block.
type simulator struct{ Worker worker }

// Setup is called by Beam.
func (f *simulator) Setup(ctx context.Context) error { return f.Worker.begin(ctx) }

// ProcessElement writes the rows of a block to a file with the block's name; a repetition writes the same. The name
// is emitted only for Prism, which waits for a stage without output in a loop that never sleeps.
func (f *simulator) ProcessElement(ctx context.Context, name string, done func(string)) error {
	var b block
	w := &f.Worker
	if err := getValue(ctx, at(w.Out, partsFolder, name+".block"), &b); err != nil {
		return err
	}
	x, err := b.read(ctx, w.recipe, w.plan, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer x.close()
	cells, err := w.plan.RunPart(ctx, x.corpus, w.learned, func(cell int, _ *traces.Session) bool {
		return b.From <= cell && cell < b.To || cell == len(w.plan.Design.Cells) && b.From == 0
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	run := &results.Run{Provenance: w.recipe.Origin, Cells: cells}
	if err := put(ctx, at(w.Out, partsFolder, name+".jsonl"), func(out io.Writer) error { return results.WriteRows(out, run) }); err != nil {
		return err
	}
	if b.From == 0 { // others have the same sessions
		if err := putValue(ctx, at(w.Out, partsFolder, name+".rest"), &x.rest); err != nil {
			return err
		}
	}
	blocksDone.Inc(ctx, 1)
	for i := range cells {
		rowsMade.Inc(ctx, int64(cells[i].Rows.Len()))
	}
	for _, s := range x.corpus.Sessions {
		callsTaken.Inc(ctx, int64(s.NumCalls()*(b.To-b.From)))
	}
	done(name)
	return nil
}

// writer writes lines to a file, in order.
type writer struct{ File string }

// ProcessElement writes all lines.
func (f *writer) ProcessElement(ctx context.Context, _ int, lines func(*string) bool) error {
	var list []string
	for line := ""; lines(&line); {
		list = append(list, line)
	}
	slices.Sort(list)
	return put(ctx, f.File, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(list, ""))
		return err
	})
}

// into writes lines to a file, which is empty if there are none.
func into(s beam.Scope, name string, lines beam.PCollection) {
	lines = beam.Flatten(s, lines, beam.Create(s, "")) // without elements there is no group
	beam.ParDo0(s, &writer{name}, beam.GroupByKey(s, beam.AddFixedKey(s, lines)))
}

// elements returns the names of blocks, each on a worker of its own if there are enough.
func elements(s beam.Scope, names []string) beam.PCollection {
	return beam.Reshuffle(s, beam.CreateList(s, names))
}

// survey runs the pipeline that looks at blocks.
func survey(ctx context.Context, out, pass string, names []string) (beam.PipelineResult, error) {
	p, s := beam.NewPipelineWithRoot()
	spoke, own, problems := beam.ParDo3(s.Scope("survey"), &surveyor{worker{Out: out}}, elements(s, names))
	met := beam.ParDo(s.Scope("meet"), meet, beam.GroupByKey(s, spoke))
	into(s.Scope("links"), at(out, partsFolder, pass+linksFile), beam.Flatten(s, own, met))
	into(s.Scope("problems"), at(out, partsFolder, pass+problemsFile), problems)
	return launched(beamx.RunWithMetrics(ctx, p))
}

// simulate runs the pipeline that simulates blocks.
func simulate(ctx context.Context, out string, names []string) (beam.PipelineResult, error) {
	p, s := beam.NewPipelineWithRoot()
	done := beam.ParDo(s.Scope("simulate"), &simulator{worker{Out: out}}, elements(s, names))
	beam.GroupByKey(s.Scope("done"), beam.AddFixedKey(s, done))
	return launched(beamx.RunWithMetrics(ctx, p))
}

// launched says in one line why a job failed: the engine's error has stacks of several programs.
func launched(r beam.PipelineResult, err error) (beam.PipelineResult, error) {
	if err == nil {
		return r, nil
	}
	text := err.Error()
	for _, known := range []string{"caused by:\n", "full error: "} {
		if i := strings.LastIndex(text, known); i >= 0 {
			text = text[i+len(known):]
		}
	}
	text = strings.TrimSpace(text)
	if before, after, ok := strings.Cut(text, sim.ErrInvariant.Error()); ok {
		return r, fmt.Errorf("the job failed: %s%w%s", before, sim.ErrInvariant, after)
	}
	return r, fmt.Errorf("the job failed: %s", text)
}

// counted returns a counter of a job, 0 if the engine has none.
func counted(r beam.PipelineResult, name string) int64 {
	if r == nil {
		return 0
	}
	found := r.Metrics().Query(func(m metrics.SingleResult) bool { return m.Name() == name })
	var sum int64
	for _, c := range found.Counters() {
		sum += c.Result()
	}
	return sum
}
