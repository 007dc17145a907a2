package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/traces"
)

// MadePrefix begins the path of a session that comes with the program and was
// made for a question, not recorded.
const MadePrefix = "made:"

// made are those sessions by name.
var made = map[string]func() []*traces.Session{
	"full-window":   fullWindow,
	"long-turn":     longTurn,
	"command-turn":  commandTurn,
	"runaway-turn":  runawayTurn,
	"burst":         burst,
	"short-pauses":  func() []*traces.Session { return paused(6*time.Minute, 8) },
	"long-pause":    func() []*traces.Session { return paused(65*time.Minute, 1) },
	"young-session": youngSession,
	"turns":         turns,
	"siblings":      siblings,
	"large-results": largeResults,
	"organisations": organisations,
	"six-results":   sixResults,
	"reading":       reading,
}

// MadeSessions returns the sessions at paths that begin with MadePrefix, nil when
// no path does. Others cannot stand beside them.
func MadeSessions(paths []string) (*traces.Corpus, error) {
	c := &traces.Corpus{}
	var errs []error
	for _, p := range paths {
		name, ok := strings.CutPrefix(p, MadePrefix)
		if !ok {
			continue
		}
		write := made[name]
		if write == nil {
			var names []string
			for _, known := range slices.Sorted(maps.Keys(made)) {
				names = append(names, MadePrefix+known)
			}
			errs = append(errs, fmt.Errorf("no session %s%s; known: %s", p, nearest.Hint(p, names), strings.Join(names, ", ")))
			continue
		}
		c.Sessions = append(c.Sessions, write()...)
	}
	switch {
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	case len(c.Sessions) == 0:
		return nil, nil
	case !slices.ContainsFunc(paths, func(p string) bool { return !strings.HasPrefix(p, MadePrefix) }):
		return c, nil
	}
	return nil, fmt.Errorf("sessions of %sNAME stand by themselves, not beside recordings", MadePrefix)
}

func one(b *script) []*traces.Session { return []*traces.Session{b.session()} }

// fullWindow asks twice, the second time with a context of 200,000 tokens, of
// which the first 199,700 were sent before: 20,000 of prefix and a prompt of
// 179,700; a response of 100 and a prompt of 200 follow.
func fullWindow() []*traces.Session {
	return one(newScript("full-window", "made", 0).step(step{prompt: 179_700}).step(step{wait: time.Minute, prompt: 200}))
}

// longTurn is one turn of 60 rounds that read a file of 5,200 tokens each, from a
// prefix of 26,000: the context passes 167,000 and is as large again later.
func longTurn() []*traces.Session {
	return one(newScript("long-turn", "made", 6000).turn(0, toolRead, 60, 5200))
}

// commandTurn is one turn of 60 commands with results of 4,000 tokens.
func commandTurn() []*traces.Session {
	return one(newScript("command-turn", "made", 2000).turn(0, toolBash, 60, 4000))
}

// runawayTurn is one turn of 80 rounds with small results: from the tenth on the
// context is above 40,000 tokens.
func runawayTurn() []*traces.Session {
	return one(newScript("runaway-turn", "made", 2000).turn(0, toolBash, 80, 1800))
}

// burst is a turn of six commands, then five at once whose results have 25,000
// tokens each, and 30 more with small ones.
func burst() []*traces.Session {
	b := newScript("burst", "made", 2000).step(step{prompt: 300, calls: 1, tool: toolBash})
	for i := range 6 {
		calls := 1
		if i == 5 {
			calls = 5
		}
		b.step(step{wait: time.Second, results: []int32{2000}, calls: calls, tool: toolBash})
	}
	b.step(step{wait: time.Second, results: []int32{25_000, 25_000, 25_000, 25_000, 25_000}, calls: 1, tool: toolBash})
	for i := range 30 {
		b.step(step{wait: time.Second, results: []int32{300}, calls: min(29-i, 1), tool: toolBash})
	}
	return one(b)
}

// paused is a turn of 16 commands with results of 4,000 tokens, and then a person
// who comes back some times after a pause; each time a turn of two commands.
func paused(gap time.Duration, times int) []*traces.Session {
	b := newScript("pauses", "made", 2000).turn(0, toolBash, 16, 4000)
	for range times {
		b.turn(gap, toolBash, 2, 1000)
	}
	return one(b)
}

// youngSession has 20,000 tokens of prefix, then short prompts alone: the flip of
// a setting ahead of the third call meets next to no conversation, one ahead of
// the fortieth some 17,000 tokens.
func youngSession() []*traces.Session {
	b := newScript("young-session", "made", 0)
	for range 42 {
		b.step(step{wait: 30 * time.Second, prompt: 300})
	}
	return one(b)
}

// turns are twelve turns of three commands, a minute apart.
func turns() []*traces.Session {
	b := newScript("turns", "made", 2000)
	for range 12 {
		b.turn(time.Minute, toolBash, 3, 2000)
	}
	return one(b)
}

// siblings starts two sub-agents 30 seconds apart from one response that makes
// two calls, and takes their results ten minutes later.
func siblings() []*traces.Session {
	b := newScript("siblings", "made", 2000).
		step(step{prompt: 300, calls: 2, tool: toolBash}).
		step(step{wait: 10 * time.Minute, results: []int32{1000, 1000}})
	return one(b.agent(0, 2).agent(30*time.Second, 2))
}

// largeResults is one turn of 14 commands with results of 14,000 tokens, 42,000
// bytes: above the limit of their tool.
func largeResults() []*traces.Session {
	return one(newScript("large-results", "made", 2000).turn(0, toolBash, 14, 14_000))
}

// organisations are five sessions of five users, a minute apart, each in a
// project of its own.
func organisations() []*traces.Session {
	var list []*traces.Session
	for i := range 5 {
		name := fmt.Sprintf("user-%d", i+1)
		list = append(list, newScript(name, name, 2000).turn(0, toolBash, 3, 1000).starting(time.Duration(i)*time.Minute).session())
	}
	return list
}

// sixResults are the six results of a drawing (001:962-970), 17,000 tokens, and
// then prompts up to the threshold at which results are cleared.
func sixResults() []*traces.Session {
	b := newScript("six-results", "made", 2000)
	b.bytes = exactBytes
	b.step(step{prompt: 300, calls: 1, tool: toolBash})
	sizes := []int32{5000, 3000, 2000, 4000, 1000, 2000}
	for i, n := range sizes {
		calls := 1
		if i == len(sizes)-1 {
			calls = 0
		}
		b.step(step{wait: time.Second, results: []int32{n}, calls: calls, tool: toolBash})
	}
	for range 32 {
		b.step(step{wait: time.Minute, prompt: 5000})
	}
	return one(b)
}

// reading are thirty files of 6,000 tokens, read one by one, with a pause of 65
// minutes behind the twentieth.
func reading() []*traces.Session {
	return one(newScript("reading", "made", 2000).turn(0, toolRead, 20, 6000).turn(65*time.Minute, toolRead, 4, 6000))
}
