package devserver

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/live/api"
)

// source is what a summary quotes of a conversation, in its order.
type source struct{ paths, sentences []string }

// Most that is collected of either.
const (
	maxPaths     = 400
	maxSentences = 1000
)

// gather collects paths from everything, and sentences from what was said.
func gather(messages []api.Message) *source {
	s, seen := &source{}, map[string]bool{}
	for i := range messages {
		for k := range messages[i].Content {
			s.block(&messages[i].Content[k], seen)
		}
	}
	return s
}

func (s *source) block(b *api.Block, seen map[string]bool) {
	s.find(b.TextOf(), seen)
	s.find(string(b.Input), seen)
	for i := range b.Content {
		s.find(b.Content[i].TextOf(), seen)
	}
	if b.Type != "text" {
		return
	}
	for line := range strings.Lines(b.TextOf()) {
		for _, t := range strings.SplitAfter(line, ". ") {
			t = strings.Join(strings.Fields(t), " ")
			if len(t) >= 20 && len(t) <= 200 && len(s.sentences) < maxSentences && !seen[t] && !strings.ContainsAny(t, "<>") {
				seen[t] = true
				s.sentences = append(s.sentences, t)
			}
		}
	}
}

// find collects the paths in a text: words with a slash and a file's extension.
func (s *source) find(text string, seen map[string]bool) {
	for len(text) > 0 && len(s.paths) < maxPaths {
		end := strings.IndexFunc(text, func(r rune) bool { return !pathRune(r) })
		if end < 0 {
			end = len(text)
		}
		word := strings.Trim(text[:end], ".-")
		text = text[min(end+1, len(text)):]
		slash := strings.LastIndexByte(word, '/')
		if len(word) < 4 || len(word) > 120 || slash < 0 || !strings.Contains(word[slash:], ".") || seen[word] {
			continue
		}
		seen[word] = true
		s.paths = append(s.paths, word)
	}
}

func pathRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-~+@", r)
}

// template is what a summary is asked to look like.
type template struct {
	titles []string
	notes  []string // a line in italics below each title; nil for numbered sections
}

var (
	numbered = regexp.MustCompile(`(?m)^\s*(\d{1,2})\.\s+\**([^:\n*]{3,60})`)
	headed   = regexp.MustCompile(`(?m)^#{1,3} +([^\n]{3,60})\n(?:_([^\n]*)_)?`)
)

// sectionsLeast is how many sections make an instruction that asks for them.
const sectionsLeast = 5

// nine are the sections of a summary whose instruction names none.
var nine = []string{"Primary Request and Intent", "Key Technical Concepts", "Files and Code Sections",
	"Errors and Fixes",
	"Problem Solving", "All User Messages", "Pending Tasks", "Current Work", "Optional Next Step"}

// templateOf reads an instruction; nil when it asks for no summary.
func templateOf(instruction string) *template {
	var t template
	for _, m := range numbered.FindAllStringSubmatch(instruction, -1) {
		if m[1] == fmt.Sprint(len(t.titles)+1) {
			t.titles = append(t.titles, strings.TrimSpace(m[2]))
		}
	}
	if len(t.titles) >= sectionsLeast {
		return &t
	}
	t = template{}
	for _, m := range headed.FindAllStringSubmatch(instruction, -1) {
		t.titles = append(t.titles, strings.TrimSpace(m[1]))
		t.notes = append(t.notes, m[2])
	}
	if len(t.titles) >= sectionsLeast {
		return &t
	}
	lower := strings.ToLower(instruction)
	if strings.Contains(lower, "summary") || strings.Contains(lower, "summari") {
		return &template{titles: nine}
	}
	return nil
}

// write returns a summary of about so many tokens: an analysis of a quarter, and the sections. Notes have no
// analysis.
func (t *template) write(s *source, tokens int64) string {
	var b strings.Builder
	size, quoted := bytesOf(tokens), 0
	if t.notes == nil {
		b.WriteString("<analysis>\n")
		s.quote(&b, size/4, &quoted)
		b.WriteString("</analysis>\n\n")
		size -= size / 4
	}
	b.WriteString("<summary>\n")
	start, done := b.Len(), 0
	for i, title := range t.titles {
		if t.notes == nil {
			fmt.Fprintf(&b, "%d. %s:\n", i+1, title)
		} else {
			fmt.Fprintf(&b, "# %s\n", title)
			if t.notes[i] != "" {
				fmt.Fprintf(&b, "_%s_\n", t.notes[i])
			}
		}
		done += (size - done) / (len(t.titles) - i)
		s.quote(&b, done-(b.Len()-start), &quoted)
	}
	b.WriteString("</summary>")
	return b.String()
}

// quote writes lines that quote the source, at least one, up to about n bytes.
func (s *source) quote(b *strings.Builder, n int, quoted *int) {
	for end := b.Len() + n; ; {
		*quoted++
		if k := *quoted; k%2 == 0 {
			fmt.Fprintf(b, "   - %s was looked at, step %d\n", pick1(s.paths, k, "no file"), k)
		} else {
			fmt.Fprintf(b, "   - %q, step %d\n", pick1(s.sentences, k, "nothing was said"), k)
		}
		if b.Len() >= end {
			return
		}
	}
}

// pick1 returns the kth of a sequence that is spread evenly over a list.
func pick1(list []string, k int, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	const golden = 0.6180339887498949
	x := float64(k/2) * golden
	return list[int((x-float64(int(x)))*float64(len(list)))]
}
