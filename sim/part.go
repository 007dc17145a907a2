package sim

// Models are numbers of models by name, from 0, which the parts of a cohort have in
// common. The zero value is ready for use.
type Models struct{ ids map[string]uint32 }

// NewPart returns a loop that simulates a part of a cohort. What it gives servers
// means the same in all parts that are made with the same epoch, unix ns of the
// start of the cohort's first session, and models: their sessions may share a cache.
// Loops with the same models are not safe for concurrent use.
func NewPart(c Config, epoch int64, models *Models) *Loop {
	l := NewLoop(c)
	if models.ids == nil {
		models.ids = l.modelIDs
	}
	l.epoch, l.modelIDs = epoch, models.ids
	return l
}

// Stop ends the run under way with an error before its next event. It is for
// servers and observers that the loop calls.
func (l *Loop) Stop(err error) {
	if l.err == nil && len(l.lives) > 0 {
		l.err, l.failing = err, l.lives[0].session
	}
}
