package live

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Reasons why an answer is no summary, as the report counts them.
const (
	whyRefusal      = "refusal"
	whyNoCompaction = "no compaction"
	whyNotOffered   = "the server offers no compaction of its own, and was not asked"
)

// reading is what an answer of a model gives.
type reading struct {
	text     string // the summary that enters the context
	analysis string // what stood ahead of it
	failed   string // one of prompt.Fail…, "" for none
	why      string // the failure for the report: what failed has no word for
	tokens   int32  // of text, in the server's count
	output   int32  // tokens of the whole answer, thinking included: estimated where the server gave no count
	missing  int32
	cut      int32
}

// read takes the summary out of a reply: what the analysis holds is thrown
// away, tags may be missing, limits are kept.
func (p *plan) read(reply *wire.Reply) reading {
	whole, output := reply.Text, reply.Billed().Output
	var r reading
	tagged := false
	if p.kind == kindServer {
		whole, output = reply.Compaction, compactionOutput(reply)
		r.text = strings.TrimSpace(whole)
	} else {
		r.text, r.analysis, tagged = extract(whole)
	}
	if failed, why := p.unusable(reply, r.text, tagged); failed != "" {
		return reading{failed: failed, why: why, output: int32(reply.Billed().Output)}
	}
	if reply.StopReason == "max_tokens" || reply.StopReason == "model_context_window_exceeded" {
		r.cut++
	}
	r.missing = missing(r.text, p.sections())
	if output -= reply.Thinking; output <= 0 {
		output = int64(len(whole)+bytesPerToken-1) / bytesPerToken // the server counts nothing
	}
	r.output = int32(max(output, reply.Billed().Output))
	rate := float64(output) / float64(len(whole)) // tokens a byte
	if p.kind == kindMemory {
		var n int32
		r.text, n = keepLimits(r.text)
		r.cut += n
	}
	if most := float64(p.maxOutput); float64(len(r.text))*rate > most {
		r.text = cut(r.text, int(most/rate))
		r.cut++
	}
	r.tokens = max(1, int32(float64(len(r.text))*rate+0.5))
	return r
}

// unusable returns why a reply gives no summary, as prompt.Fail… and for the
// report, "" for one that gives one. Words beside a tool call lead up to it: they
// are no summary unless they stand in its block and the model has stopped there.
func (p *plan) unusable(reply *wire.Reply, text string, tagged bool) (failed, why string) {
	switch {
	case reply.StopReason == "refusal":
		return prompt.FailEmpty, whyRefusal
	case p.kind != kindServer && reply.StopReason == "tool_use",
		p.kind != kindServer && len(reply.ToolCalls) > 0 && !tagged,
		text == "" && len(reply.ToolCalls) > 0:
		return prompt.FailToolCall, ""
	case text == "" && p.kind == kindServer:
		return prompt.FailEmpty, whyNoCompaction
	case text == "":
		return prompt.FailEmpty, ""
	}
	return "", ""
}

// compactionOutput returns the output tokens of the provider's compactions,
// those of the whole call where it does not tell them apart.
func compactionOutput(reply *wire.Reply) int64 {
	var n int64
	for _, it := range reply.Iterations {
		if it.Type == "compaction" {
			n += it.Usage.Output
		}
	}
	if n == 0 {
		n = reply.Billed().Output
	}
	return n
}

// missing counts the sections that no line of a text begins.
func missing(text string, wanted []section) int32 {
	n := int32(len(wanted))
	found := make([]bool, len(wanted))
	for line := range strings.Lines(text) {
		if i := titleOf(line, wanted); i >= 0 && !found[i] {
			found[i] = true
			n--
		}
	}
	return n
}

// titleOf returns the section whose title a line begins with, -1 for none.
func titleOf(line string, wanted []section) int {
	line = strings.TrimLeft(line, " \t#*_0123456789.)")
	return slices.IndexFunc(wanted, func(s section) bool {
		return len(line) >= len(s.title) && strings.EqualFold(line[:len(s.title)], s.title)
	})
}

// sectionsOf returns the sections of a text that are wanted, in its order. What
// stands ahead of the first belongs to none.
func sectionsOf(text string, wanted []section) []Section {
	var list []Section
	for line := range strings.Lines(text) {
		if i := titleOf(line, wanted); i >= 0 && !slices.ContainsFunc(list, func(s Section) bool { return s.Title == wanted[i].title }) {
			rest := strings.TrimLeft(line, " \t#*_0123456789.)")[len(wanted[i].title):]
			list = append(list, Section{Title: wanted[i].title, Bytes: len(strings.TrimSpace(strings.TrimLeft(rest, ":*_")))})
		} else if n := len(list); n > 0 {
			list[n-1].Bytes += len(line)
		}
	}
	return list
}

// The tags around the parts of an answer.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// extract returns what stands in the summary block of an answer and in the
// analysis ahead of it, and whether there is such a block; the whole of an answer
// that has neither is a summary. Tags inside the summary are the model's words.
// A text is gone through once, however many tags it has.
func extract(text string) (summary, analysis string, tagged bool) {
	text = clean(text)
	list := tagsOf(text)
	opened, closed := last(list, summaryOpen), last(list, summaryClose)
	var outside, inside strings.Builder
	done := 0 // bytes of text that are dealt with
	for i := 0; i < len(list) && !tagged; i++ {
		switch t := list[i]; t.name {
		case analysisOpen:
			outside.WriteString(text[done:t.at])
			end := i + 1
			for end < len(list) && list[end].name != analysisClose {
				end++
			}
			if end == len(list) || opened > i && opened < end && closed > end {
				// The end of the analysis is missing, or is one that the summary tells of.
				end = i + 1
				for end < len(list) && list[end].name != summaryOpen {
					end++
				}
			}
			stop := len(text)
			done = stop
			i = end
			if end < len(list) {
				stop, done = list[end].at, list[end].at
				if list[end].name == analysisClose {
					done = list[end].end()
				} else {
					i-- // the summary opens here
				}
			}
			inside.WriteString(strings.TrimSpace(text[t.end():stop]) + "\n")
		case summaryOpen:
			tagged, done = true, t.end()
		}
	}
	analysis = strings.TrimSpace(inside.String())
	stop := len(text)
	if closed >= 0 && list[closed].at >= done {
		stop = list[closed].at
	}
	if tagged {
		return strings.TrimSpace(text[done:stop]), analysis, true
	}
	return strings.TrimSpace(outside.String() + text[done:stop]), analysis, false
}

// tag is a tag of an answer as it stands in the text.
type tag struct {
	name string // one of the constants, whatever case its letters have
	at   int    // of its first byte
}

func (t tag) end() int { return t.at + len(t.name) }

// tagsOf returns the tags of a text in its order.
func tagsOf(text string) []tag {
	var list []tag
	for i := 0; ; i++ {
		at := strings.IndexByte(text[i:], '<')
		if at < 0 {
			return list
		}
		i += at
		for _, name := range [...]string{analysisOpen, analysisClose, summaryOpen, summaryClose} {
			if len(text)-i >= len(name) && strings.EqualFold(text[i:i+len(name)], name) {
				list = append(list, tag{name, i})
			}
		}
	}
}

// last returns the position in a list of the last tag of a name, -1 for none.
func last(list []tag, name string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].name == name {
			return i
		}
	}
	return -1
}
