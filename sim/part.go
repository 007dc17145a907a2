package sim

// modelNumbers are numbers of models by name, from 1, that the parts of a cohort share.
type modelNumbers map[string]uint32

// number returns the number of a model, the next free one for a new name.
func (m modelNumbers) number(name string) uint32 {
	n, ok := m[name]
	if !ok {
		n = uint32(len(m) + 1)
		m[name] = n
	}
	return n
}

// NewPart returns a loop that simulates a part of a cohort; other, if not nil, simulates
// another part. Both give servers the same numbers of models, and times from the same
// epoch (unix ns of the start of the cohort's first session), so their sessions may share
// a cache. The parts of a cohort run in turns, never at once.
func NewPart(c Config, epoch int64, other *Loop) *Loop {
	l := NewLoop(c)
	l.epoch = epoch
	if other != nil {
		l.models = other.models
	}
	return l
}

// Stop ends the run under way with an error before its next event. Servers and observers
// that the loop calls may call it.
func (l *Loop) Stop(err error) {
	if l.err == nil && len(l.replays) > 0 {
		l.err, l.failing = err, l.replays[0].session
	}
}
