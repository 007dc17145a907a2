package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/traces"
)

// goesOn reports whether the recording shows nothing between a call that
// answers tools and the call before it.
func goesOn(t *traces.Thread, r int) bool {
	acted := slices.ContainsFunc(t.Events, func(e traces.Event) bool { return int(e.Round) == r })
	return !acted && t.Rounds[r-1].Model == t.Rounds[r].Model && t.Rounds[r].Trigger == traces.TriggerToolResult
}

// shownBy returns what a session of Codex shows of losses: its calls that
// answer tools soon, with the model that it begins with. A read that ends more
// than two steps before the end of the previous request is a loss.
func shownBy(s *traces.Session) (shown profile.Shown) {
	model := s.Threads[0].Rounds[0].Model
	for i := range s.Threads {
		t := &s.Threads[i]
		for r := 1; r < len(t.Rounds); r++ {
			rd := &t.Rounds[r]
			if rd.Model != model || rd.Wait > idleSeconds*1e9 || !goesOn(t, r) {
				continue
			}
			due := t.Rounds[r-1].Usage.Input()
			if r <= profile.EarlyCalls {
				shown.Early, shown.EarlyTokens = shown.Early+1, shown.EarlyTokens+due
			} else {
				shown.Later, shown.LaterTokens = shown.Later+1, shown.LaterTokens+due
			}
			if short := due - rd.Usage.Read; short > 2*lossTokens {
				shown.Missing += short
			}
		}
	}
	return shown
}
