package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// launch is a run from the launcher's side.
type launch struct {
	recipe         *recipe
	files          []recording
	other          *traces.Inputs // what could not be examined
	parallel       int
	limits         limits
	stdout, stderr io.Writer

	index    map[string]int // of files, by name
	links    links
	sights   []scenarios.Sight
	sessions *traces.Corpus
	problems []string // lines
	whole    []string // blocks of the simulation that have the first cell: together they have each file once
}

// run makes a run: workers look at sessions, the launcher learns from what they saw, workers
// simulate, and the launcher joins the rows. A run that fails leaves its parts behind: workers may still write.
func (l *launch) run(ctx context.Context) error {
	begun := time.Now()
	for _, p := range l.other.Problems {
		l.problems = append(l.problems, line(p))
	}
	if err := l.write(ctx, recipeFile, l.recipe); err != nil {
		return err
	}
	if err := l.survey(ctx); err != nil {
		return err
	}
	if err := l.complain(ctx); err != nil {
		return err
	}
	plan, err := l.gather(ctx)
	if err != nil {
		return err
	}
	surveyed := time.Now()
	blocks, err := l.simulate(ctx, plan)
	if err != nil {
		return err
	}
	simulated := time.Now()
	if err := l.join(ctx, plan, blocks); err != nil {
		return err
	}
	fmt.Fprintf(l.stderr, "sim-beam: looked at %s in %s, simulated %s in %s, joined in %s\n", document.Count(len(l.files), "file"),
		surveyed.Sub(begun).Round(time.Millisecond), document.Count(len(blocks), "block"), simulated.Sub(surveyed).Round(time.Millisecond),
		time.Since(simulated).Round(time.Millisecond))
	return nil
}

// write writes a value for workers.
func (l *launch) write(ctx context.Context, name string, v any) error {
	return putValue(ctx, at(l.recipe.Out, partsFolder, name), v)
}

// blocks writes blocks for workers and returns their names.
func (l *launch) blocks(ctx context.Context, stage string, list []block) ([]string, error) {
	var names []string
	for i := range list {
		name := fmt.Sprintf("%s-%05d-of-%05d", stage, i, len(list))
		if err := l.write(ctx, name+".block", &list[i]); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// survey has workers look at all sessions, and again at those whose files turn out to be in several blocks, together.
func (l *launch) survey(ctx context.Context) error {
	l.links, l.index = newLinks(len(l.files)), map[string]int{}
	for _, f := range l.files {
		l.index[f.Name] = f.Index
	}
	blocks := toRead(l.files, l.links.groups(), l.parallel)
	if err := l.look(ctx, "look", blocks); err != nil {
		return err
	}
	in := make([]int, len(l.files)) // block of each file
	for i := range blocks {
		for _, f := range blocks[i].Files {
			in[f.Index] = i
		}
	}
	again := slices.DeleteFunc(l.links.groups(), func(group []int) bool {
		return !slices.ContainsFunc(group, func(i int) bool { return in[i] != in[group[0]] })
	})
	if len(again) == 0 {
		return nil
	}
	torn := map[int]bool{}
	for _, group := range again {
		torn[group[0]] = true
	}
	l.sights = slices.DeleteFunc(l.sights, func(s scenarios.Sight) bool { return torn[l.links.root(l.first(&s))] })
	return l.look(ctx, "torn", toRead(l.files, again, l.parallel))
}

// first returns the first file of a session.
func (l *launch) first(s *scenarios.Sight) int { return l.index[s.Head.Session.Files[0]] }

// look has workers look at blocks, and collects what they saw.
func (l *launch) look(ctx context.Context, stage string, blocks []block) error {
	names, err := l.blocks(ctx, stage, blocks)
	if err != nil {
		return err
	}
	done, err := survey(ctx, l.recipe.Out, stage, names)
	if err != nil {
		return err
	}
	if sent := counted(done, "bytes"); sent > 0 {
		fmt.Fprintf(l.stderr, "sim-beam: shuffled %.1f kB of names of sessions and calls\n", float64(sent)/1000)
	}
	problems, err := l.lines(ctx, stage+problemsFile)
	if err != nil {
		return err
	}
	for _, line := range problems {
		if !slices.Contains(l.problems, line) {
			l.problems = append(l.problems, line)
		}
	}
	for _, name := range names {
		var sights []scenarios.Sight
		if err := getValue(ctx, at(l.recipe.Out, partsFolder, name+".sights"), &sights); err != nil {
			return err
		}
		l.sights = append(l.sights, sights...)
	}
	return l.follow(ctx, stage+linksFile)
}

// complain writes a file with what could not be read.
func (l *launch) complain(ctx context.Context) error {
	if len(l.problems) == 0 {
		return nil
	}
	fmt.Fprintf(l.stderr, "sim-beam: %s while reading, named in %s\n", document.Count(len(l.problems), "problem"), at(l.recipe.Out, problemsFile))
	return put(ctx, at(l.recipe.Out, problemsFile), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(l.problems, ""))
		return err
	})
}

// follow reads the links that a pass wrote.
func (l *launch) follow(ctx context.Context, pass string) error {
	lines, err := l.lines(ctx, pass)
	for _, line := range lines {
		var i, j int
		if _, err := fmt.Sscan(line, &i, &j); err != nil || min(i, j) < 0 || max(i, j) >= len(l.files) {
			return fmt.Errorf("%s: %q links no two of %d files", pass, line, len(l.files))
		}
		l.links.join(i, j)
	}
	return err
}

// lines reads the lines that a pass wrote.
func (l *launch) lines(ctx context.Context, pass string) ([]string, error) {
	r, err := open(ctx, at(l.recipe.Out, partsFolder, pass))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return slices.Collect(strings.Lines(string(text))), err
}

// gather begins the run with what was seen, and adds what was learned to the recipe.
func (l *launch) gather(ctx context.Context) (*scenarios.Plan, error) {
	plan, err := l.recipe.plan()
	if err != nil {
		return nil, err
	}
	order(l.sights)
	l.sessions = &traces.Corpus{}
	for i := range l.sights {
		h := &l.sights[i].Head
		l.sessions.Sessions = append(l.sessions.Sessions, h.Without(func() (*traces.Session, error) { return l.reload(ctx, h) }))
	}
	if len(l.sights) == 0 {
		return nil, usageError{fmt.Errorf("%w with calls in %s", traces.ErrNoSessions, document.Count(len(l.files), "file"))}
	}
	if l.recipe.Origin, err = plan.Gather(ctx, l.sessions, l.sights); err != nil {
		return nil, err
	}
	for _, line := range plan.PriceGaps(l.sessions.Sessions) {
		fmt.Fprintf(l.stderr, "sim-beam: warning: %s\n", line)
	}
	learned, err := plan.Profile()
	if err == nil && learned != nil {
		var b bytes.Buffer
		err = learned.Write(&b)
		l.recipe.Profile = b.Bytes()
	}
	return plan, errors.Join(err, l.write(ctx, recipeFile, l.recipe))
}

// reload reads a session again, because learning examines a few sessions closely.
func (l *launch) reload(ctx context.Context, h *traces.Head) (*traces.Session, error) {
	var b block
	root := l.links.root(l.index[h.Session.Files[0]])
	for i, f := range l.files {
		if l.links.root(i) == root {
			b.Files = append(b.Files, f)
		}
	}
	plan, err := l.recipe.plan()
	if err != nil {
		return nil, err
	}
	x, err := b.read(ctx, l.recipe, plan, nil)
	if err != nil {
		return nil, err
	}
	defer x.close()
	i := slices.IndexFunc(x.corpus.Sessions, func(s *traces.Session) bool { return s.ID == h.Session.ID })
	if i < 0 {
		return nil, fmt.Errorf("session %s: no longer there", h.Session.ID)
	}
	return x.corpus.Sessions[i].Load()
}

// simulate has workers simulate all sessions, and returns the names of the blocks.
func (l *launch) simulate(ctx context.Context, plan *scenarios.Plan) ([]string, error) {
	l.links.together(plan.Design, l.sessions.Sessions, l.index)
	calls, sessions := make([]int, len(l.files)), make([]int, len(l.files))
	for i, s := range l.sessions.Sessions {
		at := l.first(&l.sights[i])
		calls[at] += s.NumCalls()
		sessions[at]++
	}
	blocks := l.limits.toSimulate(l.files, l.links.groups(), calls, sessions, len(plan.Design.Cells), l.parallel)
	groups := slices.DeleteFunc(l.links.groups(), func(group []int) bool {
		return slices.ContainsFunc(group, func(i int) bool { return sessions[i] > 0 })
	})
	if len(groups) > 0 { // what these files lack is told too
		blocks = append(blocks, toRead(l.files, groups, l.parallel)...)
	}
	names, err := l.blocks(ctx, "rows", blocks)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if blocks[i].From == 0 {
			l.whole = append(l.whole, name)
		}
	}
	_, err = simulate(ctx, l.recipe.Out, names)
	return names, err
}

// join makes the run from its rows and writes it.
func (l *launch) join(ctx context.Context, plan *scenarios.Plan, names []string) error {
	run, err := plan.Join(ctx, func(keep func(*results.Run) error) error {
		for _, name := range names {
			part, err := l.rowsOf(ctx, name+".jsonl")
			if err != nil {
				return err
			}
			if err := keep(part); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err == nil {
		err = l.remark(ctx, plan, run)
	}
	if err != nil {
		return err
	}
	out := l.recipe.Out
	report := charts.Run(run, charts.Options{Split: true})
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"rows.jsonl", func(w io.Writer) error { return results.WriteRows(w, run) }},
		{"scenario.yaml", func(w io.Writer) error {
			_, err := w.Write(scenarios.WithGiven(l.recipe.Scenario, l.recipe.Set))
			return err
		}},
		{fitted, func(w io.Writer) error { _, err := w.Write(l.recipe.Profile); return err }},
		{"report.txt", func(w io.Writer) error { return report.Write(w, "table") }},
		{runFile, func(w io.Writer) error { return charts.Run(run, charts.Options{}).Write(w, "json") }},
	} {
		if f.name == fitted && len(l.recipe.Profile) == 0 {
			continue
		}
		if err := put(ctx, at(out, f.name), f.write); err != nil {
			return err
		}
	}
	if local(out) {
		if err := removeParts(out); err != nil {
			return err
		}
	}
	return charts.Run(run, charts.Options{MaxCells: maxLines}).Write(l.stdout, "table")
}

// remark puts above the figures what was read and what was lost, as sim run does.
func (l *launch) remark(ctx context.Context, plan *scenarios.Plan, run *results.Run) error {
	all := rest{Unsupported: map[string]int{}}
	for _, name := range l.whole {
		var of rest
		if err := getValue(ctx, at(l.recipe.Out, partsFolder, name+".rest"), &of); err != nil {
			return err
		}
		all.add(&of)
	}
	chosen, err := filter(plan, &traces.Corpus{})
	if err != nil {
		return err
	}
	chosen.Sessions, chosen.Of = make([]*traces.Session, all.Chosen), all.Of
	chosen.Undated = all.Undated
	charts.Remark(&run.Workload, &traces.Corpus{
		Sessions: l.sessions.Sessions, Lines: all.Lines, BadLines: all.BadLines, Unread: all.Unread, Repeated: all.Repeated, Inherited: all.Inherited, Unsupported: all.Unsupported,
		Problems: append(l.other.Problems, all.List...), NumProblems: len(l.other.Problems) + all.Problems,
		Inputs: &traces.Inputs{Files: make([]traces.Input, all.Files), Dangling: l.other.Dangling, Passed: l.other.Passed},
	}, &chosen, "-v")
	return nil
}

// maxLines is the largest number of cells in the table, the same as in sim run.
const maxLines = 40

// rowsOf reads the rows of a block.
func (l *launch) rowsOf(ctx context.Context, name string) (*results.Run, error) {
	name = at(l.recipe.Out, partsFolder, name)
	r, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return results.ReadRows(name, r)
}
