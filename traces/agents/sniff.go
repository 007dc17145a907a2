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

// sniff returns the agent that wrote a file, by its first lines; nil when none
// claims it or the file cannot be read.
func sniff(in traces.Input) *traces.Agent {
	for _, n := range []int{sniffed / 16, sniffed} {
		head, err := in.Head(n)
		if a := agentOf(head); a != nil || err != nil || len(head) < n {
			return a
		}
	}
	return nil
}

// agentOf returns the agent that wrote a file that begins with head.
func agentOf(head []byte) *traces.Agent {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if a := first(func(a *traces.Agent) bool { return a.Document != nil && a.Document(head) }); a != nil {
		return a
	}
	tried := 0
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if a := agentOfLine(line); a != nil {
			return a
		}
		if tried++; tried == sniffedLines {
			break
		}
	}
	return nil
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
		if a := first(func(a *traces.Agent) bool { return a.Member != nil && a.Member(typ, name) }); a != nil {
			return a
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

// first returns the first agent that claims something, one without a reader before others, nil for none.
func first(claims func(*traces.Agent) bool) *traces.Agent {
	for _, agents := range [...][]*traces.Agent{list[:], unread[:]} {
		if i := slices.IndexFunc(agents, claims); i >= 0 {
			return agents[i]
		}
	}
	return nil
}
