package pi

import "github.com/compactsim/compactsim/traces/internal/assembly"

// addSummaryCalls adds to a compaction the counts of its calls: two where it cuts a turn and messages precede that turn.
func (f *file) addSummaryCalls(l *line, s *assembly.Step) {
	if l.Usage == nil {
		return
	}
	s.Usage, s.Model, s.Calls = l.Usage.usage(), assembly.ModelName(f.model), 1
	kept, ok := f.index.Get(l.Kept)
	if !ok || f.said[kept] == saidByPerson {
		return
	}
	turn := f.Parent(kept)
	for turn >= 0 && f.said[turn] != saidByPerson {
		turn = f.Parent(turn)
	}
	for turn >= 0 {
		if turn = f.Parent(turn); turn >= 0 && f.said[turn] != saidNothing {
			s.Calls = 2
			return
		}
	}
}

// says returns what a line adds to the conversation.
func (l *line) says() said {
	switch {
	case l.Type == "message" && (l.Message.Role == "user" || l.Message.Role == "bashExecution"):
		return saidByPerson
	case l.Type == "message" && l.Message.Role != "system", l.Type == "custom_message", l.Type == "branch_summary":
		return saidOther
	}
	return saidNothing
}

// edit takes an answer out of what is sent from then on. It stays in the bill.
func (f *file) edit(l *line) {
	i, ok := f.index.Get(l.Target)
	if !ok || l.Instead.Kind() != 'n' {
		return
	}
	steps := f.Steps(i)
	for k := range steps {
		if steps[k].Kind == assembly.StepReply {
			steps[k].Blocks = nil
		}
	}
	f.Set(i, steps)
}
