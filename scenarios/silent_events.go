package scenarios

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/traces"
)

// events returns a text for every event that comes later than the end of all
// sessions, or in a context larger than any of them can make, or that has nothing
// to act on.
func (s *silence) events() []string {
	var texts []string
	for i := range s.design.Scenario.Events {
		e := &s.design.Scenario.Events[i]
		why := s.tooLate(e)
		if why == "" {
			why = s.alone(i)
		}
		if why == "" {
			why = s.idle(i)
		}
		if why == "" {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s: events: %s %s changes nothing: %s", s.design.placeOfEvent(i), e.Do, moment(&e.At), why))
	}
	return texts
}

// placeOfEvent returns the file and line of an event, as far as they are known.
func (d *Design) placeOfEvent(i int) string {
	if d.tree == nil {
		return "scenario"
	}
	if list := spec.Child(d.tree.Root, "events"); list != nil && i < len(list.Content) {
		return d.tree.At(list.Content[i])
	}
	return d.tree.Name
}

// moment words when an event happens.
func moment(w *client.When) string {
	switch {
	case w.Round > 0:
		return fmt.Sprintf("at round %d", w.Round)
	case w.Every > 0:
		return fmt.Sprintf("every %d rounds", w.Every)
	case w.Tokens > 0:
		return fmt.Sprintf("at %d tokens", w.Tokens)
	}
	return "after " + time.Duration(w.After).String()
}

// tooLate returns why no session comes to the moment of an event, "" when one may.
func (s *silence) tooLate(e *client.Event) string {
	rounds, tokens, lasts := s.reach(e.Threads == client.ThreadsAll)
	switch w := &e.At; {
	case max(w.Round, w.Every) > rounds:
		return fmt.Sprintf("no thread it happens on has more than %d requests", rounds)
	case w.Tokens > tokens:
		return fmt.Sprintf("no session has more than %d tokens, nothing taken out", tokens)
	case time.Duration(w.After) > lasts+leeway(lasts):
		return fmt.Sprintf("no session lasts longer than %s as recorded", lasts.Round(time.Second))
	}
	return ""
}

// leeway is by how much a simulation may make a session longer that lasts so long as
// recorded: what waits for compactions and slower answers add is not known ahead of it.
func leeway(lasts time.Duration) time.Duration { return lasts + time.Hour }

// alone returns why an event that takes servers away finds none, "" when it may
// find some or is another event.
func (s *silence) alone(i int) string {
	all := s.design.Scenario.Events
	if all[i].Do != client.ActionMCPLeave.String() {
		return ""
	}
	for j := range all {
		later := all[j].At.Round > all[i].At.Round || all[j].At.Round == all[i].At.Round && j > i
		if all[j].Do == client.ActionMCPConnect.String() && (all[i].At.Round == 0 || all[j].At.Round == 0 || !later) {
			return ""
		}
	}
	if s.any(func(c *Scenario) bool { return c.Client.System.MCP == client.MCPPrefix && c.Client.System.MCPTools > 0 }) {
		return ""
	}
	return "no server is connected by then"
}

// reach returns the most requests of a thread, the most tokens that any context of
// the sessions may come to, and how long the longest lasts. Of threads those of
// sub-agents count if agents says so.
func (s *silence) reach(agents bool) (rounds int32, tokens int64, lasts time.Duration) {
	for _, v := range s.sessions {
		n := s.grown(v)
		for i := range v.Blocks {
			n += int64(v.Blocks[i].Tokens)
		}
		tokens = max(tokens, n)
		lasts = max(lasts, time.Duration(v.End-v.Start))
		for i := range v.Threads {
			if t := &v.Threads[i]; agents || t.Kind != traces.ThreadAgent && t.Kind != traces.ThreadOrphan {
				rounds = max(rounds, int32(len(t.Rounds)))
			}
		}
	}
	return rounds, tokens, lasts
}

// grown returns the most tokens that events may add to a session.
func (s *silence) grown(v *traces.Session) int64 {
	const least = 5000 // what events without a value add at most
	var sum int64
	for _, c := range client.Compile(s.design.Scenario.Events) {
		times := int64(1)
		if c.Every > 0 {
			times = int64(v.NumCalls())
		}
		sum += times * int64(max(c.Tokens, least))
	}
	return sum
}
