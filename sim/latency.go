package sim

import "github.com/compactsim/compactsim/sim/prompt"

// timed returns how long a call takes to its first token and in all, ns.
func (l *Loop) timed(_ *thread, _ int, answer *prompt.Answer, _ *prompt.Outcome) (first, total int64) {
	return answer.First, max(answer.First, answer.Total)
}
