package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/traces"
)

// MostDearest is how many of the dearest misses are kept.
const MostDearest = 8

// Loss is one miss: when, how much was lost, and why.
type Loss struct {
	Call       string           `json:"call"` // as sim explain takes it
	Name       string           `json:"-"`    // the same with as much of the session's id as distinguishes it
	At         string           `json:"at"`   // in the zone of the report, 2026-02-21 14:05; NoDay for a call without a time
	Left       int64            `json:"left_tokens"`
	Missed     int64            `json:"missed_tokens"`
	USD        float64          `json:"cost_usd"`
	Cause      calls.Cause      `json:"cause"`
	Confidence calls.Confidence `json:"confidence,omitempty"`
	// Because is the cause that recordings make likely behind what was seen or said, "" for none.
	Because  calls.Cause `json:"because,omitempty"`
	Evidence string      `json:"evidence"`
}

// dearest keeps the misses that cost most.
type dearest struct {
	zone *time.Location
	list []Loss // dearest first
}

func (d *dearest) add(c *calls.Call) {
	if c.MissUSD <= 0 || len(d.list) == MostDearest && c.MissUSD <= d.list[MostDearest-1].USD {
		return
	}
	at := NoDay
	if !c.Untimed {
		at = time.Unix(0, c.At).In(d.zone).Format("2006-01-02 15:04")
	}
	cause, because := c.Cause(), calls.Cause("")
	if l, ok := c.Behind(); ok {
		because = calls.Cause(l.Kind.String())
	}
	d.list = append(d.list, Loss{
		Call: traces.CallName(c.Session.ID, c.Recorded.File, c.Recorded.Line), At: at, Left: c.Left, Missed: c.Missed, USD: c.MissUSD, Cause: cause,
		Confidence: cause.Confidence(), Because: because, Evidence: c.Evidence(),
	})
	slices.SortStableFunc(d.list, func(a, b Loss) int { return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Call, b.Call)) })
	d.list = first(MostDearest, d.list)
}

// named gives the losses names by beginnings of ids.
func (d *dearest) named(short map[string]string) []Loss {
	for i := range d.list {
		l := &d.list[i]
		id, _, _ := strings.Cut(l.Call, ":")
		id, _, _ = strings.Cut(id, "/")
		l.Name = cmp.Or(short[id], id) + strings.TrimPrefix(l.Call, id)
	}
	return append([]Loss{}, d.list...)
}

// Dearest returns the misses of sessions that cost most, dearest first.
//
// Bodies of sessions that are not in memory are loaded one at a time; the error says which could not be loaded.
func Dearest(sessions []*traces.Session, prices calls.Prices, zone *time.Location) ([]Loss, error) {
	d := dearest{zone: zone}
	ids := make([]string, len(sessions))
	for i, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, fmt.Errorf("dearest misses: %w", err)
		}
		ids[i] = s.ID
		for _, thread := range calls.Of(whole, prices).Threads {
			for j := range thread {
				d.add(&thread[j])
			}
		}
	}
	return d.named(document.ByBeginning(ids)), nil
}
