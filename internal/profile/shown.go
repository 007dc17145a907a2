package profile

// Shown is what a session of Codex shows of losses that no line explains: how many of
// its calls answer tools, the tokens they were due to read, and those of them that
// they did not. A session that the profile was fitted on has none: the shares of
// losses have it.
type Shown struct {
	Early       int64 `yaml:"early_calls,omitempty" min:"0"` // of the first EarlyCalls of a thread
	EarlyTokens int64 `yaml:"early_tokens,omitempty" min:"0"`
	Later       int64 `yaml:"later_calls,omitempty" min:"0"`
	LaterTokens int64 `yaml:"later_tokens,omitempty" min:"0"`
	Missing     int64 `yaml:"missing_tokens,omitempty" min:"0"`
}

// add takes what another session shows, n times.
func (s *Shown) add(o *Shown, n int64) {
	s.Early, s.EarlyTokens = s.Early+n*o.Early, s.EarlyTokens+n*o.EarlyTokens
	s.Later, s.LaterTokens = s.Later+n*o.Later, s.LaterTokens+n*o.LaterTokens
	s.Missing += n * o.Missing
}

const (
	// EarlyCalls is how many calls of a thread lose more often than the rest.
	EarlyCalls = 10
	// knownLosses is how many losses the shares of a profile count for where other
	// sessions show how many there are. In random halves of the recordings, predicted
	// by each other, anything from 2 to 32 is closer than not to look.
	knownLosses = 8
)

// shown is what the sessions of a profile show: of each model, and by session.
type shown struct {
	all map[string]Shown
	own map[string]FirstRead
}

func (c *Codex) indexShown() *shown {
	x := &shown{map[string]Shown{}, map[string]FirstRead{}}
	for _, f := range c.First {
		if f.Shown != (Shown{}) {
			sum := x.all[f.Model]
			sum.add(&f.Shown, 1)
			x.all[f.Model], x.own[f.Session] = sum, f
		}
	}
	return x
}

// LossScale returns how many times as much as LossFor says the calls of a session
// lose, given its Key: as other sessions of the model show that the profile was not
// fitted on.
func (c *Codex) LossScale(session, model string) float64 {
	if c.shown == nil {
		return 1
	}
	sum := c.shown.all[model]
	if own := c.shown.own[session]; own.Model == model {
		sum.add(&own.Shown, -1)
	}
	early, keptEarly := c.LossFor(&Case{Model: model, Ordinal: EarlyCalls})
	later, keptLater := c.LossFor(&Case{Model: model, Ordinal: EarlyCalls + 1})
	losses := early*float64(sum.Early) + later*float64(sum.Later)
	due := early*(1-keptEarly)*float64(sum.EarlyTokens) + later*(1-keptLater)*float64(sum.LaterTokens)
	if losses == 0 || due == 0 {
		return 1
	}
	prior := knownLosses * due / losses
	return (prior + float64(sum.Missing)) / (prior + due)
}
