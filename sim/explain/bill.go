package explain

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// Bill sets what was billed for each call of an explained session, and what the model
// expects of the recording under a configuration of the recorded strategy.
func Bill(e *studies.Explanation, s *traces.Session, recorded sim.Config) error {
	table := calls.Of(s, recorded.Prices)
	row, err := sim.Predict(table, recorded)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	billed := sim.Billed(s, recorded.Prices, time.Time{})
	e.BilledUSD, e.ModelUSD = billed.CostUSD(), row.CostUSD()
	e.ModelHiddenUSD = e.ModelUSD - row.LoggedUSD(&billed)
	threads := map[string][]calls.Call{}
	for i, thread := range table.Threads {
		threads[s.Threads[i].ID] = thread
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		if thread := threads[c.Thread]; c.Layer == "" && !c.Again && c.Round < len(thread) {
			c.Billed = billedOf(&thread[c.Round])
			c.Billed.Notes = notes(table, &thread[c.Round])
		}
	}
	return nil
}

// notes says how well a call is counted, and what other models did while it was answered.
func notes(t *calls.Table, l *calls.Call) (list []string) {
	switch r := l.Recorded; {
	case r.Flags&traces.RoundSpread != 0:
		list = append(list, "its input is an estimated share of what the log has for several calls together, so only their sum can be compared with the model")
	case r.Usage.Input() == 0:
		list = append(list, "the log has no count of its input, so the bill has its output alone")
	}
	if l.Recorded.Flags&traces.RoundFallback != 0 {
		list = append(list, "another model refused, and this one answered in its place")
	}
	if l.Search > 0 {
		list = append(list, fmt.Sprintf("the server searched the web: %s more", document.USD(l.Search, 4)))
	}
	for i := range t.Session.Advice {
		if a := &t.Session.Advice[i]; a.Thread == l.Index && a.Round == l.Round {
			c := &t.Apart[len(t.Apart)-len(t.Session.Advice)+i]
			list = append(list, fmt.Sprintf("asked %s for advice (%s in, %s out): %s more",
				a.Model, document.Tokens(float64(a.Usage.Input())), document.Tokens(float64(a.Usage.Output)), document.USD(c.Cost.Total(), 4)))
		}
	}
	return list
}

// billedOf returns a line of the table.
func billedOf(l *calls.Call) *studies.Billed {
	b := &studies.Billed{
		Split: split(&l.Recorded.Usage, &l.Cost), Output: l.Recorded.Usage.Output, Logged: l.Recorded.Logged,
		MissUSD: l.MissUSD, Evidence: l.Evidence(),
	}
	b.Left, b.Missed, b.Cause = l.Left, l.Missed, l.Class().String()
	if l.Missed > 0 {
		b.Confidence = string(l.Cause().Confidence())
	}
	if l.Recorded.Verdict > traces.VerdictSame && l.Recorded.Parted == 0 {
		b.Server = l.Recorded.Verdict.String()
	}
	in := l.Recorded.Input
	for _, block := range l.Session.Blocks[in.From:in.To] {
		b.New += int64(block.Tokens)
		if block.Kind == prompt.KindUnseen {
			b.Unseen += int64(block.Tokens)
		}
	}
	if p := l.Predicted; p != nil {
		m := split(&p.Usage, &p.Cost)
		m.Left, m.Missed, m.Cause = p.Expected, max(0, p.Expected-p.Usage.Read), p.Miss.String()
		b.Model = &m
	}
	return b
}

func split(u *prompt.Usage, cost *results.Cost) studies.Split {
	return studies.Split{Uncached: u.Uncached, Read: u.Read, Write5m: u.Write5m + u.WriteOther, Write1h: u.Write1h, CostUSD: cost.Total()}
}
