package audit

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/results/confusion"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/traces"
)

// misses sums up the calls that missed by cause, and the detector's verdicts.
type misses struct {
	byCause map[calls.Cause]*Miss
	daily   map[DailyMiss]float64
	said    [confusion.NumReasons]Said
}

func (m *misses) add(c *calls.Call, day string) {
	said := &m.said[c.Reason]
	said.Calls++
	if c.Missed == 0 {
		return
	}
	said.Missed++
	said.Tokens += c.Missed
	said.USD += c.MissUSD
	cause := c.Cause()
	if said.Causes == nil {
		said.Causes = map[calls.Cause]int{}
	}
	said.Causes[cause]++
	if m.byCause == nil {
		m.byCause, m.daily = map[calls.Cause]*Miss{}, map[DailyMiss]float64{}
	}
	m.daily[DailyMiss{Day: day, Class: c.Class()}] += c.MissUSD
	if m.byCause[cause] == nil {
		m.byCause[cause] = &Miss{Cause: cause}
	}
	one := m.byCause[cause]
	one.Calls++
	one.Tokens += c.Missed
	one.USD += c.MissUSD
}

func (m *misses) report(r *Report) {
	for _, one := range m.byCause {
		r.Misses = append(r.Misses, *one)
	}
	for one, usd := range m.daily {
		one.USD = usd
		r.DailyMisses = append(r.DailyMisses, one)
	}
	slices.SortFunc(r.DailyMisses, func(a, b DailyMiss) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Class, b.Class)) })
	sortBy(r.Misses, func(a *Miss) float64 { return a.USD }, func(a *Miss) string { return string(a.Cause) })
	for i := range m.said {
		if m.said[i].Calls > 0 {
			m.said[i].Reason = confusion.Reason(i).String()
			r.Detector = append(r.Detector, m.said[i])
		}
	}
}

// callPlace returns the place of a call in the recording.
func callPlace(c *calls.Call) Place {
	return placeOf(c.Session, c.Recorded.File, c.Recorded.Line)
}

func placeOf(s *traces.Session, file uint16, line int32) Place {
	p := Place{Call: traces.CallName(s.ID, file, line), Session: s.ID, Line: int(line)}
	if int(file) < len(s.Files) {
		p.File = s.Files[file]
	}
	return p
}
