package formats

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
)

// format is the form of a recording.
type format uint8

const (
	formatUnknown format = iota
	formatClaudeCode
	formatCodex
	formatOpenCode
	formatPi
)

var formatNames = [...]string{"an unknown agent", "Claude Code", "Codex", "OpenCode", "pi"}

// String returns the agent's name for people.
func (f format) String() string { return formatNames[min(int(f), len(formatNames)-1)] }

const (
	// sniffed is how much of a file is looked at, bytes: the first line of a
	// rollout carries the instructions, ≈ 40 kB, but its type stands in front.
	sniffed = 64 << 10
	// sniffedLines is how many lines are tried: the first may be damaged.
	sniffedLines = 8
)

// sniff tells the format of a file by its first lines. One that cannot be read
// is unknown: its reader says why.
func sniff(in traces.Input) format {
	r, err := in.Open()
	if err != nil {
		return formatUnknown
	}
	defer r.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && n == 0 {
		return formatUnknown
	}
	return formatOf(head[:n])
}

// formatOf tells the format of a file that begins with head.
func formatOf(head []byte) format {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if exported(head) {
		return formatOpenCode
	}
	tried := 0
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if f := formatOfLine(line); f != formatUnknown {
			return f
		}
		if tried++; tried == sniffedLines {
			break
		}
	}
	return formatUnknown
}

// exported reports whether a file is an export of OpenCode: one JSON object that
// begins with the session's info, whose id has a prefix of its own.
func exported(head []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	for _, want := range []string{"{", "info", "{", "id"} {
		if t, err := d.ReadToken(); err != nil || t.String() != want {
			return false
		}
	}
	t, err := d.ReadToken()
	return err == nil && bytes.HasPrefix([]byte(t.String()), []byte("ses_"))
}

// formatOfLine tells the format by the members of one line, which may be cut
// off.
func formatOfLine(line []byte) format {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return formatUnknown
	}
	typ := ""
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return formatUnknown
		}
		switch name := t.String(); name {
		case "payload":
			if rolloutTypes[typ] {
				return formatCodex
			}
		case "sessionId", "uuid", "parentUuid", "leafUuid":
			return formatClaudeCode
		case "cwd", "modelId", "thinkingLevel":
			if typ == "session" {
				return formatPi
			}
		case "type":
			if t, err = d.ReadToken(); err != nil {
				return formatUnknown
			}
			typ = t.String()
			continue
		}
		if err := d.SkipValue(); err != nil {
			return formatUnknown
		}
	}
}

// rolloutTypes are the types of the lines of a Codex rollout.
var rolloutTypes = map[string]bool{
	"session_meta": true, "turn_context": true, "response_item": true, "event_msg": true, "compacted": true, "world_state": true,
}
