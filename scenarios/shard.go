package scenarios

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Shard is a part of a run: Index of Count, from 0. Every part learns from all sessions.
type Shard struct{ Index, Count int }

// ParseShard reads 3/8, auto for the task's place in a Slurm array, or auto/8
// for its place in an indexed Kubernetes Job of so many parts.
func ParseShard(text string, getenv func(string) string) (Shard, error) {
	index, count, _ := strings.Cut(text, "/")
	first := 0
	if index == "auto" {
		if count == "" {
			index, count = getenv("SLURM_ARRAY_TASK_ID"), getenv("SLURM_ARRAY_TASK_COUNT")
			if least, err := strconv.Atoi(getenv("SLURM_ARRAY_TASK_MIN")); err == nil {
				first = least
			}
		} else {
			index = getenv("JOB_COMPLETION_INDEX")
		}
		if index == "" || count == "" {
			return Shard{}, fmt.Errorf("--shard %s: there is no task of an array here: auto takes SLURM_ARRAY_TASK_ID and _COUNT, "+
				"auto/N takes JOB_COMPLETION_INDEX", text)
		}
	}
	i, err := strconv.Atoi(index)
	n, bad := strconv.Atoi(count)
	if i -= first; err != nil || bad != nil || n < 1 || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("--shard %s: want I/N with I from 0 to N − 1, auto or auto/N", text)
	}
	return Shard{i, n}, nil
}

// shards returns the part of each session under the first cell. Sessions that
// share a cache stay together, and parts have about the same number of calls.
func (s Shard) shards(sessions []*traces.Session, cohorts [][]int) []int {
	if cohorts == nil {
		for i := range sessions {
			cohorts = append(cohorts, []int{i})
		}
	}
	calls := func(cohort []int) (n int) {
		for _, i := range cohort {
			n += sessions[i].NumCalls()
		}
		return n
	}
	cohorts = slices.Clone(cohorts)
	slices.SortStableFunc(cohorts, func(a, b []int) int { return cmp.Compare(calls(b), calls(a)) })
	load, of := make([]int, s.Count), make([]int, len(sessions))
	for _, cohort := range cohorts {
		at := slices.Index(load, slices.Min(load))
		load[at] += calls(cohort)
		for _, i := range cohort {
			of[i] = at
		}
	}
	return of
}

// few is the number of sessions per part below which parts divide the cells too.
const few = 4

// known adds the rows that an earlier program left to cells.
func (p *Plan) known(r *running, cells []results.Cell) error {
	id, err := p.identity(r)
	if err != nil {
		return err
	}
	if err := p.Unfinished.Begin(id); err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, s := range r.sessions {
		ids[s.ID] = true
	}
	others := p.Unfinished.Restore(cells, func(session string) bool { return ids[session] })
	if p.Whole && len(others) > 0 {
		return fmt.Errorf("the shards have a row of session %s under %s, which the run does not have", others[0][1], others[0][0])
	}
	for i := range cells {
		for _, s := range r.sessions {
			if p.Whole && !p.Unfinished.Known(cells[i].Cell, s.ID) {
				return fmt.Errorf("the shards lack the row of session %s under %s", s.ID, cells[i].Cell)
			}
		}
	}
	return nil
}

// identity returns a digest of all that rows depend on.
func (p *Plan) identity(r *running) (string, error) {
	origin, err := p.provenance(r.design, r.seen)
	if err != nil {
		return "", err
	}
	anywhere := *r.design
	anywhere.Scenario.Sessions.Paths = nil // the provenance has their digest
	resolved, err := anywhere.Resolved()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(origin, json.Deterministic(true))
	if err == nil && unreleased(p.Version) {
		var program string
		program, err = executable()
		text = append(text, program...)
	}
	return fmt.Sprintf("%x", sha256.Sum256(append(text, resolved...))), err
}

// unreleased reports whether different programs may share a version: it names no commit, or one with later changes.
func unreleased(version string) bool {
	return strings.Contains(version, "devel") || strings.HasSuffix(version, "+dirty")
}

// executable returns a digest of the program.
var executable = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("this program's own file: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("this program's own file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
})

// RunShard simulates the rows of a part into p.Unfinished.
func (p *Plan) RunShard(ctx context.Context, corpus *traces.Corpus, part Shard) error {
	r, err := p.begin(ctx, corpus)
	if err != nil {
		return err
	}
	of := part.shards(r.sessions, r.design.Cohorts(r.sessions))
	_, err = p.rows(ctx, r, func(cell, session int) bool {
		at := of[session]
		if len(r.sessions) < few*part.Count {
			at = (at + cell) % part.Count
		}
		return at == part.Index
	})
	return err
}
