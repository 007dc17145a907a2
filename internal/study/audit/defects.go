package audit

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/traces"
)

// DefectUnpriced is the kind of Defect whose calls are not in the bill.
const DefectUnpriced = "unpriced"

// defects counts what limits the report.
type defects struct {
	single, empty, untimed, back []string // sessions
	untimedCalls, backCalls      int
	unpriced                     map[string]int // calls by model
}

func (d *defects) session(s *traces.Session, threads [][]calls.Call) {
	n, untimed, back := 0, 0, 0
	for _, calls := range threads {
		for i := range calls {
			c := &calls[i]
			if c.Out {
				continue
			}
			n++
			if c.Untimed {
				untimed++
			}
			if c.Back {
				back++
			}
			if !c.Model.Known {
				if d.unpriced == nil {
					d.unpriced = map[string]int{}
				}
				d.unpriced[c.Model.Name]++
			}
		}
	}
	note(&d.empty, s.ID, n == 0)
	note(&d.single, s.ID, n == 1)
	note(&d.untimed, s.ID, untimed > 0)
	note(&d.back, s.ID, back > 0)
	d.untimedCalls += untimed
	d.backCalls += back
}

func note(list *[]string, name string, is bool) {
	if is {
		*list = append(*list, name)
	}
}

func (d *defects) report(r *Report) {
	add := func(kind, text string, count int, names []string) {
		if count > 0 {
			r.Defects = append(r.Defects, Defect{Kind: kind, Text: text, Count: count, Names: names})
		}
	}
	calls := 0
	for _, n := range d.unpriced {
		calls += n
	}
	add(DefectUnpriced, "calls of models without a price, which count as $0; --price-as bills them as another model",
		calls, slices.Sorted(maps.Keys(d.unpriced)))
	add("untimed", "calls without a time, which stand under "+NoDay+" and whose pauses are not known", d.untimedCalls,
		d.untimed)
	add("clock_back", "calls older than the response before them, where the clock ran back and no pause is known",
		d.backCalls, d.back)
	add("single", "sessions of one call, with nothing to compare it with", len(d.single), d.single)
	add("empty", "sessions without a call of their own, which cost nothing here", len(d.empty), d.empty)
}
