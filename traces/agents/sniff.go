package agents

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
)

const (
	// sniffed is how much of a file is looked at, bytes: the first line of a
	// rollout carries the instructions, ≈ 40 kB, but its type comes first.
	sniffed = 64 << 10
	// sniffedLines is how many lines are tried: the first may be damaged.
	sniffedLines = 8
)

// claim is whose a file is: nil when nobody claims it, or it cannot be read. rival is another one who claims it.
type claim struct{ agent, rival *traces.Agent }

// sniff returns the agent that wrote a file, by its first lines.
func sniff(in traces.Input) claim {
	for _, n := range []int{sniffed / 16, sniffed} {
		head, err := in.Head(n)
		if c := claimOf(head); c.agent != nil || err != nil || len(head) < n {
			return c
		}
	}
	return claim{}
}

// claimOf returns the agent that wrote a file that begins with head.
func claimOf(head []byte) claim {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if c := claimBy(func(a *traces.Agent) bool { return a.Document != nil && a.Document(head) }); c.agent != nil {
		return c
	}
	tried := 0
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if a := agentOfLine(line); a != nil {
			return claim{agent: a}
		}
		if tried++; tried == sniffedLines {
			break
		}
	}
	return claim{}
}

// agentOfLine returns the agent that wrote a line, which may be cut off.
func agentOfLine(line []byte) *traces.Agent {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	typ := ""
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return nil
		}
		name := t.String()
		if c := claimBy(func(a *traces.Agent) bool { return a.Member != nil && a.Member(typ, name) }); c.agent != nil {
			return c.agent
		}
		if name != "type" {
			if err := d.SkipValue(); err != nil {
				return nil
			}
			continue
		}
		if t, err = d.ReadToken(); err != nil {
			return nil
		}
		typ = t.String()
	}
}

// known are all agents, those with a reader first.
var known = slices.Concat(list[:], unread[:])

// claimBy returns the first agent that claims something.
func claimBy(claims func(*traces.Agent) bool) (c claim) {
	for _, a := range known {
		switch {
		case !claims(a):
		case c.agent != nil:
			c.rival = a
			return c
		default:
			c.agent = a
		}
	}
	return c
}
