package results

import "github.com/compactsim/compactsim/sim/prompt"

// breaksLine is the encoded form of Breaks: calls by what was said and by what
// was missed, "none" for a hit.
type breaksLine struct {
	Calls   map[string]map[string]int `json:"calls,omitzero"`
	Changed map[string]map[string]int `json:"changed,omitzero"`
	Beside  map[string]int            `json:"beside,omitzero"`
}

func newBreaksLine(b *Breaks) breaksLine {
	return breaksLine{
		Calls:   byMiss(b.Calls[:], breakReasonName),
		Changed: byMiss(b.Changed[:], breakFieldName),
		Beside:  byNameOrNil(b.Beside[:], breakReasonName),
	}
}

// breaks returns the counts of l, or an error that names what it does not know.
func (l *breaksLine) breaks() (Breaks, error) {
	var b Breaks
	err := firstError(
		fromMisses(b.Calls[:], l.Calls, "reason of a break", breakReasonName),
		fromMisses(b.Changed[:], l.Changed, "cause of a break", breakFieldName),
		fromNames(b.Beside[:], l.Beside, "reason of a break", breakReasonName),
	)
	return b, err
}

func breakReasonName(i int) string { return BreakReason(i).String() }
func breakFieldName(i int) string  { return BreakField(i).String() }

// byMiss returns the counts that are not zero under the names of their row and
// of their miss class, nil without any.
func byMiss(counts [][prompt.NumMissClasses]int, name func(int) string) map[string]map[string]int {
	var m map[string]map[string]int
	for i := range counts {
		if classes := byNameOrNil(counts[i][:], missName); classes != nil {
			if m == nil {
				m = map[string]map[string]int{}
			}
			m[name(i)] = classes
		}
	}
	return m
}

// fromMisses sets the counts that m names.
func fromMisses(counts [][prompt.NumMissClasses]int, m map[string]map[string]int, what string, name func(int) string) error {
	classes := make([]map[string]int, len(counts))
	err := fromNames(classes, m, what, name)
	for i := range classes {
		err = firstError(err, fromNames(counts[i][:], classes[i], "miss class", missName))
	}
	return err
}

// breakMetrics lists what the client's break detector says.
func breakMetrics() []Metric {
	of := func(f func(*Breaks) int) func(*Row) (float64, bool) {
		return func(r *Row) (float64, bool) {
			if !r.Breaks.ran() {
				return 0, false
			}
			return float64(f(&r.Breaks)), true
		}
	}
	definitions := map[BreakReason]string{
		BreakModel:    "breaks said to come from another model",
		BreakState:    "breaks said to come from something else that changed ahead of the conversation or beside it",
		BreakExpiry5m: "breaks said to be possible expiries after more than 5 minutes",
		BreakExpiry1h: "breaks said to be possible expiries after more than an hour",
		BreakServer:   "breaks said to be likely the server's",
		BreakUnknown:  "breaks without a reason: the length of the pause is not known",
	}
	ms := []Metric{{Name: "breaks", Unit: UnitCalls, Better: Lower, Exact: true,
		Definition: "calls of conversations that the client's break detector takes for broken; no sample when it does not run",
		Value:      of((*Breaks).Broke)}}
	for r := BreakModel; int(r) < NumBreakReasons; r++ {
		ms = append(ms, Metric{Name: "breaks_" + r.String(), Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: definitions[r], Of: "breaks", By: ByPart, Value: of(func(b *Breaks) int { return b.Said(r) })})
	}
	return ms
}
