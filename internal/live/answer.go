package live

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/live/cassette"
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
	return int32(len(wanted) - len(sectionsOf(text, wanted)))
}

// dress is what may stand around the number and the title of a section.
const dress = " \t#*_0123456789.)"

// sectionsOf returns the sections of a text that are wanted, in its order. What
// precedes the first belongs to none.
func sectionsOf(text string, wanted []section) []Section {
	var list []Section
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, dress)
		i := slices.IndexFunc(wanted, func(s section) bool {
			return len(bare) >= len(s.title) && strings.EqualFold(bare[:len(s.title)], s.title)
		})
		if i >= 0 && !slices.ContainsFunc(list, func(s Section) bool { return s.Title == wanted[i].title }) {
			rest := strings.TrimSpace(strings.TrimLeft(bare[len(wanted[i].title):], ":*_"))
			list = append(list, Section{Title: wanted[i].title, Bytes: len(rest)})
		} else if n := len(list); n > 0 {
			list[n-1].Bytes += len(line)
		}
	}
	return list
}

// The tags around the parts of an answer, in whatever case the model writes them.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// extract returns the text in the summary block of an answer and in the
// analysis ahead of it, and whether there is such a block; the whole of an answer
// that has neither is a summary. Tags inside the summary are the model's words.
func extract(text string) (summary, analysis string, tagged bool) {
	text = clean(text)
	lower := cassette.Lowered(text)
	find := func(tag string, from int) int { // the end of the text where there is none
		if i := strings.Index(lower[from:], tag); i >= 0 {
			return from + i
		}
		return len(text)
	}
	var outside, inside strings.Builder
	at, open := 0, find(summaryOpen, 0) // what is ahead of at is dealt with
	opened, closed := strings.LastIndex(lower, summaryOpen), strings.LastIndex(lower, summaryClose)
	for {
		begin := find(analysisOpen, at)
		if open < at {
			open = find(summaryOpen, at)
		}
		if begin >= open {
			break
		}
		outside.WriteString(text[at:begin])
		begin += len(analysisOpen)
		end := find(analysisClose, begin)
		at = min(end+len(analysisClose), len(text))
		if end == len(text) || opened > begin && opened < end && closed > end {
			// The end of the analysis is missing, or is one that the summary mentions.
			end = find(summaryOpen, begin)
			at = end
		}
		inside.WriteString(strings.TrimSpace(text[begin:end]) + "\n")
	}
	analysis = strings.TrimSpace(inside.String())
	if tagged = open < len(text); tagged {
		at = open + len(summaryOpen)
		outside.Reset()
	}
	stop := len(text)
	if closed >= at {
		stop = closed
	}
	return strings.TrimSpace(outside.String() + text[at:stop]), analysis, tagged
}
