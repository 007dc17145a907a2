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
	all map[string]due
	own map[string]shownBy
}

// shownBy is what a session shows, and of which model.
type shownBy struct {
	model string
	due
}

// due is what calls were due to lose by the shares of a profile, losses and tokens,
// and the tokens that they lost.
type due struct{ losses, tokens, missing float64 }

// plus returns the sum with n times another.
func (d due) plus(o due, n float64) due {
	return due{d.losses + n*o.losses, d.tokens + n*o.tokens, d.missing + n*o.missing}
}

func (c *Codex) indexShown() *shown {
	x := &shown{map[string]due{}, map[string]shownBy{}}
	for i := range c.First {
		f := &c.First[i]
		if f.Shown == (Shown{}) {
			continue
		}
		early, keptEarly := c.LossFor(&Case{Model: f.Model, Version: f.Version, Ordinal: EarlyCalls})
		later, keptLater := c.LossFor(&Case{Model: f.Model, Version: f.Version, Ordinal: EarlyCalls + 1})
		d := due{
			losses:  early*float64(f.Shown.Early) + later*float64(f.Shown.Later),
			tokens:  early*(1-keptEarly)*float64(f.Shown.EarlyTokens) + later*(1-keptLater)*float64(f.Shown.LaterTokens),
			missing: float64(f.Shown.Missing),
		}
		x.all[f.Model], x.own[f.Session] = x.all[f.Model].plus(d, 1), shownBy{f.Model, d}
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
	if own := c.shown.own[session]; own.model == model {
		sum = sum.plus(own.due, -1)
	}
	if sum.losses <= 0 || sum.tokens <= 0 {
		return 1
	}
	prior := knownLosses * sum.tokens / sum.losses
	return (prior + sum.missing) / (prior + sum.tokens)
}
