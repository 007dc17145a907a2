package profile

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Own is what a session of Claude Code shows of the losses of its person: calls of conversations that answer tools, with nothing
// between them and the call before.
type Own struct {
	User    string `yaml:"user"`    // Key of traces.Session.User
	Session string `yaml:"session"` // Key of its id: a session tells nothing about itself
	Calls   int64  `yaml:"calls" min:"0"`
	Due     int64  `yaml:"due_tokens" min:"0"`               // they were due to read
	Missing int64  `yaml:"missing_tokens,omitempty" min:"0"` // of these they did not
	Lost    int64  `yaml:"short_calls,omitempty" min:"0"`    // calls that these are missing in
}

const (
	// shortShare is the share of such calls that read clearly less than was left: 23 of 10,128 in 164 recorded sessions.
	shortShare = 0.0023
	// unlikely is the probability below which a person's losses are no chance. Without it sessions of nine persons, of which none
	// differs, are less likely by their persons' own rates than by everybody's: by 4 nats in all where everybody's counts for
	// one loss, by 1 where for 30. With it they are as likely.
	unlikely = 0.01
	// ownLosses is how many losses the share of everybody counts for beside a person's own.
	ownLosses = 5
)

// OwnBy returns what a session shows of its person; ok is false for a session without a known one or without such calls.
func OwnBy(s *traces.Session) (o Own, ok bool) {
	o = Own{User: Key(s.User()), Session: Key(prompt.DigestString(s.ID))}
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind != traces.ThreadMain {
			continue
		}
		for r := 1; r < len(t.Rounds); r++ {
			if due, short, asked := seenOf(t, r, true, prompt.Serving{}); due > 0 && !asked {
				if o.Calls, o.Due = o.Calls+1, o.Due+due; short > 0 {
					o.Missing, o.Lost = o.Missing+short, o.Lost+1
				}
			}
		}
	}
	return o, o.User != "" && o.Calls > 0
}

// OwnTimes returns what conversations of a person of Claude Code lose after tool results in proportion to the share of everybody,
// by the person's other sessions: 1 unless they lose more often than chance explains. Of what they lose tokens count, so that a loss
// of the last messages is less than one of all; no session counts for more than all others and one loss.
func (p *Profile) OwnTimes(user, session string) float64 {
	var sum, most Own
	for i := range p.Losses.Persons {
		if o := &p.Losses.Persons[i]; user != "" && o.User == user && o.Session != session {
			sum.Calls, sum.Due, sum.Missing, sum.Lost = sum.Calls+o.Calls, sum.Due+o.Due, sum.Missing+o.Missing, sum.Lost+o.Lost
			most.Missing, most.Lost = max(most.Missing, o.Missing), max(most.Lost, o.Lost)
		}
	}
	lost := min(sum.Lost, 2*(sum.Lost-most.Lost)+1)
	if chance := (distuv.Poisson{Lambda: shortShare * float64(sum.Calls)}); sum.Calls == 0 || 1-chance.CDF(float64(lost-1)) >= unlikely {
		return 1
	}
	whole := float64(sum.Due) / float64(sum.Calls) // tokens of a call
	tokens := min(float64(sum.Missing), 2*float64(sum.Missing-most.Missing)+whole)
	share, _ := p.Losses.mean(&Case{})
	return (ownLosses + tokens/whole) / (ownLosses + share*float64(sum.Calls))
}

// LearnOwn adds what more sessions show of their persons, in place of what is known of the same.
func (p *Profile) LearnOwn(more []Own) {
	list := slices.DeleteFunc(slices.Clone(p.Losses.Persons), func(o Own) bool {
		return slices.ContainsFunc(more, func(m Own) bool { return m.Session == o.Session })
	})
	p.Losses.Persons = append(list, more...)
	slices.SortFunc(p.Losses.Persons, func(a, b Own) int { return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Session, b.Session)) })
}
