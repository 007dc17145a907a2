package profile

// Shown is what a session of Codex shows of losses that no line explains: how
// many of its calls answer tools, the tokens they were due to read, and how
// many of those they did not read. It is empty for sessions that the profile
// was fitted on, which are part of the shares of losses.
type Shown struct {
	Early       int64 `yaml:"early_calls,omitempty" min:"0"` // of the first EarlyCalls of a thread
	EarlyTokens int64 `yaml:"early_tokens,omitempty" min:"0"`
	Later       int64 `yaml:"later_calls,omitempty" min:"0"`
	LaterTokens int64 `yaml:"later_tokens,omitempty" min:"0"`
	Missing     int64 `yaml:"missing_tokens,omitempty" min:"0"`
}

const (
	// EarlyCalls is the number of first calls of a thread that lose more often than the rest.
	EarlyCalls = 10
	// knownLosses is how many losses the shares of a profile count for when other
	// sessions show their number. In random halves of the recordings, predicted by
	// each other, any value from 2 to 32 is better than ignoring the sessions.
	knownLosses = 8
)

// shown has what the sessions of a profile show: by model, and by session.
type shown struct {
	all map[string]due
	own map[string]shownBy
}

// shownBy is what a session shows, and its model.
type shownBy struct {
	model string
	due
}

// due is the expected number of losses by the shares of a profile, the tokens
// of the calls, and the expected tokens lost.
type due struct{ losses, tokens, missing float64 }

// plus returns the sum of d and n times o.
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

// LossScale returns the ratio of the losses of a session, given its Key, to those
// of LossFor, as shown by other sessions of the model that the profile was not
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
