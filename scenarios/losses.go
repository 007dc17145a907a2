package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// losses are what a run lacks because the program fails on it: sessions under the recorded strategy, with which others
// are compared, and sessions under single cells.
type losses struct {
	everywhere loss
	cells      []lossIn
}

// loss is sessions with the reason why the first session is lost.
type loss struct {
	ids []string // in the order of the run
	why string
}

// lossIn is what one cell lacks.
type lossIn struct {
	cell string
	loss
}

// maxLost is how many sessions are named.
const maxLost = 5

func (l *loss) add(id string, err error) {
	if len(l.ids) == 0 {
		l.why = err.Error()
		if inner := errors.Unwrap(err); inner != nil {
			l.why = inner.Error() // without the names of session and strategy
		}
	}
	l.ids = append(l.ids, id)
}

// String names the sessions.
func (l *loss) String() string {
	names := strings.Join(l.ids[:min(len(l.ids), maxLost)], ", ")
	if len(l.ids) > maxLost {
		names += ", …"
	}
	return fmt.Sprintf("%s left out: sim fails on %s: %s", document.Count(len(l.ids), "session"), names, l.why)
}

// lossesOf returns what the cells of a design lack.
func lossesOf(broken *sim.Broken, d *Design, sessions []*traces.Session) (l losses) {
	everywhere := map[int]bool{}
	for i, s := range sessions {
		for cell, of := range broken.Cells {
			if err := of[i]; err != nil && d.Cells[cell].Strategy.Name == measures.StrategyRecorded && !everywhere[i] {
				everywhere[i] = true
				l.everywhere.add(s.ID, err)
			}
		}
	}
	for cell, of := range broken.Cells {
		in := lossIn{cell: d.Cells[cell].Name}
		for i, s := range sessions {
			if err := of[i]; err != nil && !everywhere[i] {
				in.add(s.ID, err)
			}
		}
		if len(in.ids) > 0 {
			l.cells = append(l.cells, in)
		}
	}
	return l
}

// leaveOut drops the sessions that the recorded strategy lacks from the rows of all cells, so that these stay
// comparable, and returns the other sessions.
func (l *losses) leaveOut(sessions []*traces.Session, cells []results.Cell, seen *survey) []*traces.Session {
	out := func(session string) bool { return slices.Contains(l.everywhere.ids, session) }
	var left []*traces.Session
	for i, s := range sessions {
		if !out(s.ID) {
			seen.digests[len(left)] = seen.digests[i]
			left = append(left, s)
		}
	}
	seen.digests = seen.digests[:len(left)]
	for _, list := range [][]results.Cell{cells, seen.billed} {
		for i := range list {
			list[i].Rows.Drop(out)
		}
	}
	return left
}

// texts says what is lacking, a text for each cell.
func (l *losses) texts() (list []string) {
	if len(l.everywhere.ids) > 0 {
		list = append(list, l.everywhere.String())
	}
	for i := range l.cells {
		list = append(list, l.cells[i].cell+": "+l.cells[i].String())
	}
	return list
}

// tell adds to a run what it lacks and why.
func (l *losses) tell(run *results.Run) {
	if len(l.everywhere.ids) > 0 {
		run.Workload.Remarks = append(run.Workload.Remarks, l.everywhere.String())
	}
	for i := range l.cells {
		in := &l.cells[i]
		note := results.Note{Cell: in.cell, Metric: measures.NameCost, Text: in.String()}
		if !slices.ContainsFunc(run.Cells, func(c results.Cell) bool { return c.Cell == in.cell }) {
			note.Cell, note.Metric, note.Text = "", "", in.cell+": "+note.Text // it has no other session
		}
		run.Notes = append(run.Notes, note)
	}
}
