package audit

import (
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// tally gathers what one finding rests on.
type tally struct {
	usd            float64
	count          int
	tokens         int64
	places         []Place
	oldest, newest string             // versions of the client
	agents         map[string]float64 // USD
}

func (t *tally) add(s *traces.Session, p Place, tokens int64, usd float64, text string) {
	t.usd += usd
	t.count++
	t.tokens += tokens
	p.USD, p.Text = usd, text
	t.places = append(t.places, p)
	if t.agents == nil {
		t.agents = map[string]float64{}
	}
	t.agents[s.Agent] += usd
	if !agents.ClaudeCode(s) {
		return
	}
	for _, v := range s.Versions {
		if t.oldest == "" || profile.Compare(v, t.oldest) < 0 {
			t.oldest = v
		}
		if t.newest == "" || profile.Compare(v, t.newest) > 0 {
			t.newest = v
		}
	}
}

// finding makes a finding of what was gathered, with the n dearest places.
func (t *tally) finding(name, title string, n int) Finding {
	sortBy(t.places, func(p *Place) float64 { return p.USD }, func(p *Place) string { return p.File })
	f := Finding{
		Name: name, Title: title, USD: t.usd, Count: t.count, Tokens: t.tokens, Oldest: t.oldest, Newest: t.newest,
		Advice: []Advice{}, Places: append([]Place{}, t.places[:min(n, len(t.places))]...),
	}
	t.share(&f)
	return f
}
