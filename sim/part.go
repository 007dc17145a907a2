package sim

// Models are numbers of models by name, from 1, which the parts of a cohort have in
// common. The zero value is ready for use.
type Models struct {
	numbers map[string]uint32
}

// number returns the number of a model, the next free one for a new name.
func (m *Models) number(name string) uint32 {
	n, ok := m.numbers[name]
	if !ok {
		if m.numbers == nil {
			m.numbers = map[string]uint32{}
		}
		n = uint32(len(m.numbers) + 1)
		m.numbers[name] = n
	}
	return n
}

// NewPart returns a loop that simulates a part of a cohort. What it gives servers
// means the same in all parts that are made with the same epoch, unix ns of the
// start of the cohort's first session, and models: their sessions may share a cache.
func NewPart(c Config, epoch int64, models *Models) *Loop {
	l := NewLoop(c)
	l.epoch, l.models = epoch, models
	return l
}

// Stop ends the run under way with an error before its next event. It is for
// servers and observers that the loop calls.
func (l *Loop) Stop(err error) {
	if l.err == nil && len(l.replays) > 0 {
		l.err, l.failing = err, l.replays[0].session
	}
}
