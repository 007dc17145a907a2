package profile

import (
	"cmp"
	"slices"
)

// Other is what a session of an agent other than Claude Code and Codex shows of losses that
// no line explains. The shares of losses are those of the two; what others lose in proportion
// to them is pooled over sessions, agents and providers.
type Other struct {
	Agent    string `yaml:"agent"`
	Provider string `yaml:"provider,omitempty"` // of the model, "" for one that is not known
	Model    string `yaml:"model,omitempty"`
	Session  string `yaml:"session"`          // Key of its id: a session tells nothing about itself
	Marked   bool   `yaml:"marked,omitempty"` // its cache needs markers
	// Early counts the calls that lose more often: the first EarlyCalls of a thread or, where
	// caches need markers, those that answer a person. Later counts the others.
	Early       int64 `yaml:"early_calls,omitempty" min:"0"`
	EarlyTokens int64 `yaml:"early_tokens,omitempty" min:"0"` // they were due to read
	EarlyShort  int64 `yaml:"early_missing,omitempty" min:"0"`
	Later       int64 `yaml:"later_calls,omitempty" min:"0"`
	LaterTokens int64 `yaml:"later_tokens,omitempty" min:"0"`
	LaterShort  int64 `yaml:"later_missing,omitempty" min:"0"`
}

// See counts a call that was due to read some tokens and read short tokens less.
func (o *Other) See(due, short int64, early bool) {
	calls, tokens, missing := &o.Later, &o.LaterTokens, &o.LaterShort
	if early {
		calls, tokens, missing = &o.Early, &o.EarlyTokens, &o.EarlyShort
	}
	if due > 0 {
		*calls, *tokens, *missing = *calls+1, *tokens+due, *missing+short
	}
}

const (
	// otherLosses is how many losses the proportion of all others, of a provider or of an agent
	// counts for in what is below it. Of 0.5, 1 and 2 it is the one with which the recorded
	// sessions that lose nothing, each predicted from the others, are closest.
	otherLosses = 0.5
	// sessionLosses is the number of due losses for which the longest session counts: of 0.3, 1
	// and 3 it is the one with which the sum of the recorded sessions' costs is closest.
	sessionLosses = 3
	// usualGap is the gap before a call of which only the number is known, ns.
	usualGap = 60e9
)

// Pooled is what calls lose in proportion to the shares of a profile, and the number of
// sessions that it rests on: those of the agent at the provider, and one for all others.
type Pooled struct {
	Times    float64
	Sessions int
}

// drawn returns the proportion of calls that lost d, drawn towards times.
func (d due) drawn(times float64) float64 {
	if d.losses <= 0 || d.tokens <= 0 {
		return times
	}
	prior := otherLosses * d.tokens / d.losses
	return (prior*times + d.missing) / (prior + d.tokens)
}

// level is what a session is pooled with: all, those of a provider, or those of an agent there.
type level struct {
	depth           int
	provider, agent string
	marked          bool
}

// levels returns the levels of a session, from all to its own agent's.
func (o *Other) levels() [3]level {
	return [...]level{{}, {1, o.Provider, "", o.Marked}, {2, o.Provider, o.Agent, o.Marked}}
}

// dues are early and later calls.
type dues [2]due

func (d dues) plus(o dues, n float64) dues { return dues{d[0].plus(o[0], n), d[1].plus(o[1], n)} }

// tempered returns the calls of a session with the weight that they have beside those of others:
// sessions differ by more than chance, so a long one counts for no more than sessionLosses.
func (d dues) tempered() dues {
	return dues{}.plus(d, 1/(1+d.losses()/sessionLosses))
}

// losses returns how many losses were due.
func (d dues) losses() float64 { return d[0].losses + d[1].losses }

// others has what sessions show at every level, how many they are, and what each shows.
type others struct {
	all      map[level]dues
	sessions map[level]int
	own      map[string]otherDue
}

// otherDue is what a session shows, and its levels.
type otherDue struct {
	levels [3]level
	dues
}

func (p *Profile) indexOthers() *others {
	x := &others{map[level]dues{}, map[level]int{}, map[string]otherDue{}}
	for i := range p.Others {
		o := &p.Others[i]
		d := otherDue{o.levels(), p.dueOf(o).tempered()}
		if d.losses() == 0 {
			continue
		}
		x.own[o.Session] = d
		for _, at := range d.levels {
			x.all[at] = x.all[at].plus(d.dues, 1)
			x.sessions[at]++
		}
	}
	return x
}

// dueOf returns what a session would lose by the shares of the profile, and what it lost. How models
// differ in Codex says nothing about them elsewhere: the share is that of all.
func (p *Profile) dueOf(o *Other) dues {
	var d dues
	for i, s := range [...][3]int64{{o.Early, o.EarlyTokens, o.EarlyShort}, {o.Later, o.LaterTokens, o.LaterShort}} {
		at := Case{Prompt: i == 0, Gap: usualGap, Ordinal: EarlyCalls + i}
		share, kept := p.LossRate(&at), 0.0
		if !o.Marked {
			share, kept = p.Codex.LossFor(&at)
		}
		d[i] = due{share * float64(s[0]), share * (1 - kept) * float64(s[1]), float64(s[2])}
	}
	return d
}

// OtherLosses returns what the early or the later calls of another agent's session lose in
// proportion to the shares of the profile, as other sessions show it: those of the agent at
// the provider lean on all of the provider's, and these on all. The counts of o are ignored.
func (p *Profile) OtherLosses(o *Other, later bool) Pooled {
	pooled := Pooled{1, 1}
	if p.others == nil {
		return pooled
	}
	own, known := p.others.own[o.Session]
	var d dues
	for i, at := range o.levels() {
		d, pooled.Sessions = p.others.all[at], 1+p.others.sessions[at]
		if known && own.levels[i] == at {
			d, pooled.Sessions = d.plus(own.dues, -1), pooled.Sessions-1
		}
		pooled.Times = d[0].plus(d[1], 1).drawn(pooled.Times)
	}
	cell := 0
	if later {
		cell = 1
	}
	pooled.Times = d[cell].drawn(pooled.Times)
	return pooled
}

// LearnOthers adds what more sessions of other agents show, in place of what is known of the same.
func (p *Profile) LearnOthers(more []Other) {
	p.Others = slices.Clone(p.Others)
	for _, o := range more {
		if i := slices.IndexFunc(p.Others, func(k Other) bool { return k.Session == o.Session }); i >= 0 {
			p.Others[i] = o
		} else {
			p.Others = append(p.Others, o)
		}
	}
	slices.SortFunc(p.Others, func(a, b Other) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Session, b.Session)) })
	p.index()
}
