package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A masker replaces what is not of the script in a recording, which is the client's own wording, by as many x. Names of
// members, paths, tags and short words stay.
type masker struct {
	run   string
	lines map[string]bool // of the script
	ids   map[string]int  // of the recording, in order
}

func newMasker(r *run) *masker {
	m := &masker{run: r.Name, lines: map[string]bool{}, ids: map[string]int{}}
	newScript(r.Script).texts(func(text string) {
		for line := range strings.Lines(text) {
			m.lines[strings.TrimSpace(line)] = true
		}
	})
	return m
}

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// numbered returns a text with a number in place of each random id, which compress better. Ids of two runs differ.
func (m *masker) numbered(text []byte) []byte {
	h := sha256.Sum256([]byte(m.run))
	return uuid.ReplaceAllFunc(text, func(id []byte) []byte {
		n, ok := m.ids[string(id)]
		if !ok {
			n = len(m.ids) + 1
			m.ids[string(id)] = n
		}
		return fmt.Appendf(nil, "%x-0000-4000-8000-%012d", h[:4], n)
	})
}

var (
	// ahead is what clients and grep put before lines: their number or place, or the sign of a patch.
	ahead = regexp.MustCompile(`^(?:\s*\d+(?:→|:|\|)?\s*|[\w./-]+:\d+:|[-+ ])`)
	tag   = regexp.MustCompile(`</?[a-zA-Z][\w-]*>`)
	many  = regexp.MustCompile(`(?:[A-Za-z]{2,}[^A-Za-z]+){2}[A-Za-z]{2,}`)
	sign  = regexp.MustCompile(`[\pL\pN]`)
)

// of reports whether a line is one of the script's.
func (m *masker) of(line string) bool {
	for {
		if m.lines[strings.TrimSpace(line)] {
			return true
		}
		p := ahead.FindString(line)
		if p == "" {
			return false
		}
		line = line[len(p):]
	}
}

// kernel is a version of the machine's system.
var kernel = regexp.MustCompile(`Linux \d[\w.+-]*`)

// line returns a line as a kept recording has it.
func (m *masker) line(l string) string {
	if strings.Contains(l, "Linux ") {
		l = kernel.ReplaceAllStringFunc(l, func(s string) string { return "Linux " + strings.Repeat("x", len(s)-len("Linux ")) })
	}
	if len(l) < 16 || !strings.Contains(l, " ") || strings.HasPrefix(l, "***") || !many.MatchString(l) || m.of(l) {
		return l
	}
	var b strings.Builder
	from := 0
	for _, at := range append(tag.FindAllStringIndex(l, -1), []int{len(l), len(l)}) {
		b.WriteString(sign.ReplaceAllStringFunc(l[from:at[0]], func(s string) string { return strings.Repeat("x", len(s)) }))
		b.WriteString(l[at[0]:at[1]])
		from = at[1]
	}
	return b.String()
}

// text returns a text as a kept recording has it.
func (m *masker) text(t string) string {
	if s := strings.TrimSpace(t); len(s) > 1 && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(t)) {
		return string(m.json([]byte(t)))
	}
	lines := strings.Split(t, "\n")
	for i, l := range lines {
		lines[i] = m.line(l)
	}
	return strings.Join(lines, "\n")
}

// json returns JSON, or lines of JSON, with every text replaced by the text that the recording keeps, and all else byte by byte.
func (m *masker) json(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		if doc[i] != '"' {
			out = append(out, doc[i])
			i++
			continue
		}
		end := i + 1
		for end < len(doc) && doc[end] != '"' {
			if doc[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(doc))
		raw := doc[i:end]
		i = end
		var s string
		name := bytes.HasPrefix(bytes.TrimLeft(doc[end:], " \t"), []byte(":"))
		if name || json.Unmarshal(raw, &s) != nil {
			out = append(out, raw...)
			continue
		}
		kept := m.text(s)
		if kept == s {
			out = append(out, raw...)
			continue
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(kept) // a string
		out = append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
	}
	return out
}
