package assembly

// held is a step as a tree keeps it: of a file of millions of lines each has one, and most steps have few of the fields of a Step.
type held struct {
	at, first int64
	id, model string
	blocks    []Block
	count     *usage // nil where there is none
	whole     *Step  // of a step that has more than the fields here; nil for any other one
	line      int32
	kind      StepKind
	final     bool
}

// usage is what a step that counts a call has beside the fields of held.
type usage struct {
	Usage
	gateway string
}

// hold returns a step as a tree of the file keeps it.
func (f *File) hold(s *Step) held {
	if s.rare(f) {
		whole := *s
		return held{kind: s.Kind, whole: &whole}
	}
	h := held{at: s.At, first: s.First, id: s.ID, model: s.Model, blocks: s.Blocks, line: s.Line, kind: s.Kind, final: s.Final}
	if c := (usage{s.Usage, s.Gateway}); c != (usage{}) {
		h.count = &c
	}
	return h
}

// rare reports whether a step has what few steps of a file have.
func (s *Step) rare(f *File) bool {
	return s.Source != nil && s.Source != f || s.Signs != 0 || s.Verdict != 0 || s.Parted != 0 || s.Breakpoints != nil ||
		s.Summaries != nil || s.Cleared != nil || s.Dropped != nil || s.Calls != 0 || s.Tokens != 0 ||
		s.Manual || s.Gone || s.Uncalled || s.Aside
}

// step returns the step again.
func (h *held) step() Step {
	if h.whole != nil {
		return *h.whole
	}
	s := Step{Kind: h.kind, At: h.at, First: h.first, Line: h.line, ID: h.id, Model: h.model, Blocks: h.blocks, Final: h.final}
	if h.count != nil {
		s.Usage, s.Gateway = h.count.Usage, h.count.gateway
	}
	return s
}

// missing reports whether the log has no count of the call that the step counts.
func (h *held) missing() bool {
	if h.whole != nil {
		return h.whole.Usage.Missing
	}
	return h.count != nil && h.count.Missing
}

// join joins input with the step, if that is of the kind, and reports whether it is.
func (h *held) join(s *Step) bool {
	if h.kind != s.Kind {
		return false
	}
	at, blocks := &h.at, &h.blocks
	if h.whole != nil {
		at, blocks = &h.whole.At, &h.whole.Blocks
	}
	*at = max(*at, s.At)
	for k := range s.Blocks {
		if !foldLast(*blocks, &s.Blocks[k]) {
			*blocks = append(*blocks, s.Blocks[k])
		}
	}
	return true
}

// heldAtOnce is how many steps a tree makes room for at once.
const heldAtOnce = 64

// keep returns steps as the tree keeps them.
func (t *Tree) keep(steps []Step) []held {
	if len(steps) == 0 {
		return nil
	}
	if cap(t.room)-len(t.room) < len(steps) {
		t.room = make([]held, 0, max(heldAtOnce, len(steps)))
	}
	n := len(t.room)
	for i := range steps {
		t.room = append(t.room, t.File.hold(&steps[i]))
	}
	return t.room[n:len(t.room):len(t.room)]
}
