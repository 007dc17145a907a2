package live

import (
	"cmp"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Reasons why an answer has no summary, as the report counts them.
const (
	whyRefusal      = "refusal"
	whyNoCompaction = "no compaction"
	whyNotOffered   = "the server offers no compaction of its own, and was not asked"
)

// reading is the content of a model's answer.
type reading struct {
	text     string // the summary that enters the context
	analysis string // what preceded the summary
	failed   string // one of prompt.Fail…, "" for none
	why      string // the failure for the report, if failed has no word for it
	tokens   int32  // of text, in the server's count
	output   int32  // tokens of the whole answer, thinking included; estimated if the server gave no count
	missing  int32
	cut      int32
}

// read extracts the summary from a reply: it drops the analysis, accepts missing tags and enforces limits.
func (p *plan) read(reply *Reply) reading {
	whole, output := string(reply.Text), reply.Usage.Output
	var r reading
	tagged := false
	if p.kind == kindServer {
		whole, output = string(reply.Compaction), cmp.Or(reply.Compacted, output)
		r.text = strings.TrimSpace(whole)
	} else {
		r.text, r.analysis, tagged = extract(whole)
	}
	if failed, why := p.unusable(reply, r.text, tagged); failed != "" {
		return reading{failed: failed, why: why, output: int32(reply.Usage.Output)}
	}
	if reply.StopReason == "max_tokens" || reply.StopReason == "model_context_window_exceeded" {
		r.cut++
	}
	r.missing = missing(r.text, p.sections())
	if output -= reply.Thinking; output <= 0 {
		output = int64(len(whole)+bytesPerToken-1) / bytesPerToken // the server counts nothing
	}
	r.output = int32(max(output, reply.Usage.Output))
	rate := float64(output) / float64(len(whole)) // tokens a byte
	most := p.maxOutput
	if p.kind == kindMemory {
		most = min(most, memoryTokens)
	}
	if float64(len(r.text))*rate > float64(most) {
		r.text = cut(r.text, int(float64(most)/rate))
		r.cut++
	}
	r.tokens = max(1, int32(float64(len(r.text))*rate+0.5))
	return r
}

// unusable returns why a reply has no summary, as prompt.Fail… and for the
// report, "" if it has one. Words beside a tool call introduce the call: they
// are a summary only inside its block, if the model stopped there.
func (p *plan) unusable(reply *Reply, text string, tagged bool) (failed, why string) {
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

// dress are characters that may surround the number and the title of a section.
const dress = " \t#*_0123456789.)"

// missing counts the wanted sections that no line of a text begins.
func missing(text string, wanted []section) (n int32) {
	begun := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, dress)
		for _, s := range wanted {
			if len(line) >= len(s.title) && strings.EqualFold(line[:len(s.title)], s.title) {
				begun[s.title] = true
			}
		}
	}
	return int32(len(wanted) - len(begun))
}

// The tags around the parts of a summary.
const (
	analysisOpen  = "<analysis>"
	analysisClose = "</analysis>"
	summaryOpen   = "<summary>"
	summaryClose  = "</summary>"
)

// extract returns the text in the summary block of an answer and in the
// analysis before it, and whether there is such a block. The whole of an answer
// with neither is a summary. Tags inside the summary are the model's words.
func extract(text string) (summary, analysis string, tagged bool) {
	text = clean(text)
	lower := lowered(text)
	find := func(tag string, from int) int { // the end of the text if it is missing
		if i := strings.Index(lower[from:], tag); i >= 0 {
			return from + i
		}
		return len(text)
	}
	var outside, inside strings.Builder
	at, open := 0, find(summaryOpen, 0) // text before at is done
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

// lowered returns a text with its ASCII letters in lower case, of the same length.
func lowered(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
