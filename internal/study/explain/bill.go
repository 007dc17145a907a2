package explain

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Bill sets what was billed for each call of an explained session, and what the model
// expects of the recording under a configuration of the recorded strategy.
func Bill(e *studies.Explanation, s *traces.Session, recorded loop.Config) error {
	table := calls.Of(s, recorded.Prices)
	row, err := loop.Predict(table, recorded)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	billed := loop.Billed(s, recorded.Prices, time.Time{})
	e.BilledUSD, e.ModelUSD = billed.CostUSD(), row.CostUSD()
	e.ModelHiddenUSD = e.ModelUSD
	threads := map[string][]calls.Call{}
	for i, thread := range table.Threads {
		threads[s.Threads[i].ID] = thread
		for j := range thread {
			if p := thread[j].Predicted; p != nil {
				e.ModelHiddenUSD -= p.Cost.Total()
			}
		}
	}
	for i := range e.Calls {
		c := &e.Calls[i]
		if thread := threads[c.Thread]; c.Layer == "" && !c.Again && c.Round < len(thread) {
			c.Billed = billedOf(&thread[c.Round])
		}
	}
	return nil
}

// billedOf returns a line of the table.
func billedOf(l *calls.Call) *studies.Billed {
	b := &studies.Billed{
		Split: split(&l.Recorded.Usage, &l.Cost), Output: l.Recorded.Usage.Output, Logged: l.Recorded.Logged,
		MissUSD: l.MissUSD, Evidence: l.Evidence(),
	}
	b.Left, b.Missed, b.Cause = l.Left, l.Missed, l.Class().String()
	if l.Recorded.Verdict > traces.VerdictSame {
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
