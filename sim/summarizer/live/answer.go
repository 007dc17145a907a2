package live

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer/wire"
)

// Reasons why an answer is no summary, as the report counts them.
const (
	whyRefusal      = "refusal"
	whyNoCompaction = "no compaction"
)

// reading is what an answer of a model gives.
type reading struct {
	text     string // the summary that enters the context
	analysis string // what stood ahead of it
	failed   string // one of prompt.Fail…, "" for none
	why      string // the failure for the report: what failed has no word for
	tokens   int32  // of text, in the server's count
	missing  int32
	cut      int32
}

// read takes the summary out of a reply: what the analysis holds is thrown
// away, tags may be missing, limits are kept.
func (p *plan) read(reply *wire.Reply) reading {
	whole, output := reply.Text, reply.Billed().Output
	var r reading
	if p.kind == kindServer {
		whole, output = reply.Compaction, compactionOutput(reply)
		r.text = strings.TrimSpace(whole)
	} else {
		r.text, r.analysis = extract(whole)
	}
	switch {
	case reply.StopReason == "refusal":
		return reading{failed: prompt.FailEmpty, why: whyRefusal}
	case r.text == "" && len(reply.ToolCalls) > 0:
		return reading{failed: prompt.FailToolCall}
	case r.text == "" && p.kind == kindServer:
		return reading{failed: prompt.FailEmpty, why: whyNoCompaction}
	case r.text == "":
		return reading{failed: prompt.FailEmpty}
	}
	if reply.StopReason == "max_tokens" || reply.StopReason == "model_context_window_exceeded" {
		r.cut++
	}
	r.missing = missing(r.text, p.sections())
	rate := float64(output) / float64(len(whole)) // tokens a byte
	if p.kind == kindMemory {
		var n int32
		r.text, n = keepLimits(r.text)
		r.cut += n
	}
	if most := float64(p.maxOutput); float64(len(r.text))*rate > most && rate > 0 {
		r.text = cut(r.text, int(most/rate))
		r.cut++
	}
	r.tokens = max(1, int32(float64(len(r.text))*rate+0.5))
	return r
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

// extract returns what stands in the summary block of an answer, and in the
// analysis; the whole of an answer that has neither is a summary.
func extract(text string) (summary, analysis string) {
	text = clean(text)
	for {
		open := index(text, analysisOpen)
		if open < 0 {
			break
		}
		rest := text[open+len(analysisOpen):]
		inside, behind := rest, ""
		if end := index(rest, analysisClose); end >= 0 {
			inside, behind = rest[:end], rest[end+len(analysisClose):]
		} else if at := index(rest, summaryOpen); at >= 0 {
			inside, behind = rest[:at], rest[at:] // the end of the analysis is missing
		}
		analysis = strings.TrimSpace(analysis + "\n" + strings.TrimSpace(inside))
		text = text[:open] + behind
	}
	if open := index(text, summaryOpen); open >= 0 {
		text = text[open+len(summaryOpen):]
	}
	if end := lastIndex(text, summaryClose); end >= 0 {
		text = text[:end]
	}
	return strings.TrimSpace(text), analysis
}

// The tags around the parts of an answer.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// index returns where a tag stands first, in letters of either case, -1 for
// nowhere.
func index(text, tag string) int {
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '<')
		if at < 0 {
			return -1
		}
		i += at
		if len(text)-i >= len(tag) && strings.EqualFold(text[i:i+len(tag)], tag) {
			return i
		}
		i++
	}
}

// lastIndex returns where a tag stands last, -1 for nowhere.
func lastIndex(text, tag string) int {
	for i := len(text) - len(tag); i >= 0; i-- {
		if text[i] == '<' && strings.EqualFold(text[i:i+len(tag)], tag) {
			return i
		}
	}
	return -1
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
