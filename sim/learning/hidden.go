package learning

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Hidden returns the share of ended turns of Claude Code after which the next prompt read more than
// the turn's last call had left, by epoch, by how the client was started and by what came next.
func Hidden(p *profile.Profile, sessions []*traces.Session, prices calls.Prices) []profile.Habit {
	yes, n := map[profile.Habit]int{}, map[profile.Habit]int{}
	for _, s := range sessions {
		if !agents.ClaudeCode(s) {
			continue
		}
		logs := slices.ContainsFunc(s.Threads, func(t traces.Thread) bool { return slices.ContainsFunc(t.Rounds, endsTurn) })
		for _, thread := range calls.Of(s, prices).Threads {
			for i := range thread {
				c := &thread[i]
				r := c.Recorded
				if !shows(c) || logs && !endsTurn(*r) {
					continue
				}
				h := profile.Habit{From: p.Epoch(s.Version()), Entry: profile.Name(s.Entry), Notice: r.Signs.Has(traces.SignNotice)}
				n[h]++
				if r.Usage.Read > c.Before.Leaves() {
					yes[h]++
				}
			}
		}
	}
	var list []profile.Habit
	for h, calls := range n {
		h.Estimate = profile.Share(yes[h], calls)
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b profile.Habit) int {
		return cmp.Or(profile.Compare(a.From, b.From), strings.Compare(a.Entry, b.Entry),
			strings.Compare(strconv.FormatBool(a.Notice), strconv.FormatBool(b.Notice)))
	})
	return list
}

// endsTurn reports whether the log says that a turn ended before a round.
func endsTurn(r traces.Round) bool { return r.Signs.Has(traces.SignTurnEnd) }

// shows reports whether a call tells of a call before it that no log shows: it answers a person, with the whole
// context still in the cache, after a response of the main conversation that called no tool.
func shows(c *calls.Call) bool {
	u := &c.Recorded.Usage
	if c.Thread.Kind != traces.ThreadMain || !c.Continues() || !c.Prompted() || c.Recorded.Signs.Has(traces.SignAway) ||
		u.Input() == 0 || u.Read < c.Before.Leaves() {
		return false
	}
	reply := c.Before.Recorded.Reply
	return !slices.ContainsFunc(c.Session.Blocks[reply.From:reply.To], func(b prompt.Block) bool { return b.Kind == prompt.KindToolUse })
}
