package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/store"
)

// block is a worker's unit of work: the files of whole sessions and, in the simulation, the cells [From, To).
type block struct {
	Files    []recording
	From, To int
}

// bytes returns the size of the files as stored.
func (b *block) bytes() (n int64) {
	for i := range b.Files {
		n += b.Files[i].Size
	}
	return n
}

// room bounds a worker's memory, bytes of files as stored, however many blocks its engine
// gives it at once. A block is read and simulated on all cores; when one is idle, another
// block can use it. Blocks also have rows, so there are at most roomBlocks blocks.
var room = semaphore.NewWeighted(roomBytes)

const (
	roomBytes  = 2 * readBytes
	roomBlocks = 4
)

// read reads the sessions of a block that the plan selects. A block without any is no error.
func (b *block) read(ctx context.Context, r *recipe, p *scenarios.Plan, spoke func(i int, name uint64)) (*reading, error) {
	x := &reading{place: map[string]int{}, names: map[string]string{}, size: min(max(b.bytes(), roomBytes/roomBlocks), roomBytes)}
	if err := room.Acquire(ctx, x.size); err != nil {
		return nil, err
	}
	var paths []string
	for i, f := range b.Files {
		name, err := x.fetch(ctx, f.Name)
		if err != nil {
			x.close()
			return nil, err
		}
		x.place[name], x.names[name] = i, f.Name
		paths = append(paths, name)
	}
	opts := traces.Options{Strict: r.Strict, Listener: p.Listener()}
	if spoke != nil {
		opts.Spoke = func(file string, name uint64) { spoke(x.place[file], name) }
	}
	if r.Out != "" && local(r.Out) && x.copies == "" { // copies have a different name each time
		kept, err := store.Open(filepath.Join(r.Out, partsFolder, sessionsFolder), new(needs.Index))
		if err == nil {
			kept.Share(r.Program)
			opts.Store, x.store = kept, kept
		}
	}
	if err := x.corpusOf(ctx, b, opts, paths); err != nil {
		x.close()
		return nil, err
	}
	if err := x.choose(p); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// reading is the content of a block.
type reading struct {
	corpus   *traces.Corpus
	rest     rest
	problems []string          // of files, as text
	place    map[string]int    // index in the block, by names of files
	names    map[string]string // names in the corpus, by names of the files that were read
	copies   string            // folder of fetched files
	store    *store.Store
	size     int64 // of room
}

// close releases room, and what was stored for speed; none is a result.
func (x *reading) close() {
	defer room.Release(x.size)
	if x.corpus != nil {
		_ = x.corpus.Close()
	}
	if x.store != nil {
		_ = x.store.Close()
	}
	if x.copies != "" {
		_ = os.RemoveAll(x.copies)
	}
}

// fetch returns a local name of a recording.
func (x *reading) fetch(ctx context.Context, name string) (_ string, err error) {
	if local(name) {
		return name, nil
	}
	if x.copies == "" {
		if x.copies, err = os.MkdirTemp("", "sim-beam-*"); err != nil {
			return "", err
		}
	}
	_, rest, _ := strings.Cut(name, "://")
	if !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", fmt.Errorf("%s: a name with .. in it: rename the object", name)
	}
	to := filepath.Join(x.copies, filepath.FromSlash(rest))
	in, err := open(ctx, name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(out, in); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return to, errors.Join(err, out.Close())
}

// corpusOf reads files, and records what was wrong with them.
func (x *reading) corpusOf(ctx context.Context, b *block, opts traces.Options, paths []string) error {
	inputs, err := traces.Find(ctx, opts, paths...)
	if err != nil {
		return err
	}
	for i := range inputs.Files {
		inputs.Files[i].Maybe = b.Files[x.place[inputs.Files[i].Name]].Maybe
	}
	c, err := agents.ReadInputs(ctx, opts, inputs, "block")
	if err != nil && (c == nil || !errors.Is(err, traces.ErrNoSessions)) {
		return err
	}
	x.corpus = c
	x.tell(c.Problems)
	for _, s := range c.Sessions {
		x.tell(s.Problems)
		for i, name := range s.Files {
			s.Files[i] = x.names[name]
		}
	}
	return nil
}

// tell records problems under the names of recordings.
func (x *reading) tell(list []traces.Problem) {
	for i := range list {
		if name := x.names[list[i].File]; name != "" {
			list[i].File = name
		}
		x.problems = append(x.problems, line(list[i]))
	}
}

// rest is what is known about the files of a block besides the sessions chosen from them.
type rest struct {
	Files, Lines, BadLines, Unread, Problems, Repeated, Inherited int
	List                                                          []traces.Problem
	Unsupported                                                   map[string]int
	Chosen, Of, Undated                                           int // as in traces.Selection
}

// choose leaves in the corpus the sessions that the scenario selects, and notes the rest.
func (x *reading) choose(p *scenarios.Plan) error {
	chosen, err := filter(p, x.corpus)
	if err != nil {
		return err
	}
	c := x.corpus
	x.rest = rest{
		Files: len(c.Inputs.Files), Lines: c.Lines, BadLines: c.BadLines, Unread: c.Unread, Problems: c.NumProblems, Repeated: c.Repeated,
		Inherited: c.Inherited,
		List:      c.Problems, Unsupported: c.Unsupported,
		Chosen: len(chosen.Sessions), Of: chosen.Of, Undated: chosen.Undated,
	}
	return nil
}

// add adds the rest of another block.
func (r *rest) add(o *rest) {
	r.Files, r.Lines, r.BadLines, r.Problems = r.Files+o.Files, r.Lines+o.Lines, r.BadLines+o.BadLines, r.Problems+o.Problems
	r.Unread += o.Unread
	r.Repeated += o.Repeated
	r.Inherited += o.Inherited
	r.List = append(r.List, o.List...)
	for agent, n := range o.Unsupported {
		r.Unsupported[agent] += n
	}
	r.Chosen, r.Of, r.Undated = r.Chosen+o.Chosen, r.Of+o.Of, r.Undated+o.Undated
}

// line returns a problem as a line.
func line(p traces.Problem) string { return strings.ReplaceAll(p.String(), "\n", " ") + "\n" }
