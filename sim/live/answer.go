package live

import (
	"strings"
	"sync"

	"github.com/compactsim/compactsim/sim/prompt"
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

// whyRefusal is the reason of an answer without a summary that the model refused to write.
const whyRefusal = "refusal"

// read extracts the summary from a reply: it drops the analysis, accepts missing tags and enforces the limit.
func (p *plan) read(reply *Reply) reading {
	whole, output := string(reply.Text), reply.Usage.Output
	var r reading
	r.text, r.analysis = extract(whole)
	switch {
	case reply.StopReason == "refusal":
		return reading{failed: prompt.FailEmpty, why: whyRefusal, output: int32(output)}
	case r.text == "":
		return reading{failed: prompt.FailEmpty, output: int32(output)}
	case reply.StopReason == "max_tokens" || reply.StopReason == "model_context_window_exceeded":
		r.cut++
	}
	r.missing = missing(r.text, p.sections())
	if output -= reply.Thinking; output <= 0 {
		output = int64(len(whole)+bytesPerToken-1) / bytesPerToken // the server counts nothing
	}
	r.output = int32(max(output, reply.Usage.Output))
	rate := float64(output) / float64(len(whole)) // tokens a byte
	if float64(len(r.text))*rate > float64(p.maxOutput) {
		r.text = cut(r.text, int(float64(p.maxOutput)/rate))
		r.cut++
	}
	r.tokens = max(1, int32(float64(len(r.text))*rate+0.5))
	return r
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
// analysis before it. The whole of an answer with neither is a summary. Tags
// inside the summary are the model's words.
func extract(text string) (summary, analysis string) {
	text = clean(text)
	lower := lowered(text)
	begin, open := strings.Index(lower, analysisOpen), strings.Index(lower, summaryOpen)
	if begin >= 0 && (open < 0 || begin < open) {
		from, next := begin+len(analysisOpen), len(text)
		end := strings.Index(lower[from:], analysisClose) + from
		switch {
		case end >= from:
			next = end + len(analysisClose)
		case open >= 0: // the end of the analysis is missing
			end, next = open, open
		default:
			end = len(text)
		}
		analysis = strings.TrimSpace(text[from:end])
		text, lower = text[next:], lower[next:]
		open = strings.Index(lower, summaryOpen)
	}
	if end := strings.LastIndex(lower, summaryClose); end > open {
		text = text[:end]
	}
	if open >= 0 {
		text = text[open+len(summaryOpen):]
	}
	return strings.TrimSpace(text), analysis
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

// memory holds the summaries of a run by digest, for calls that send them again. The zero value is empty.
type memory struct{ texts sync.Map }

// written is a summary as a model wrote it.
type written struct {
	text     string
	analysis string // what preceded the summary; most clients discard it
	tokens   int32  // of text, in the server's count
	output   int32  // of both
}

// usualHeader is the size of the client's own words around a summary, tokens: 30 to say that the session continues,
// 60 for a pointer to the transcript, 45 to ask no questions (strategies.SummaryText).
const usualHeader = 135

// message returns the text of a summary message of so many tokens, with the analysis if that size is nearer.
func (w *written) message(tokens int32) string {
	text, analysis := w.text, w.analysis
	without, with := tokens-w.tokens-usualHeader, tokens-w.output-usualHeader
	if analysis == "" || max(without, -without) <= max(with, -with) {
		return text
	}
	return "Analysis:\n" + analysis + "\n\nSummary:\n" + text
}

// keep stores the summary of a call and returns its digest: equal texts of two calls are two summaries.
func (m *memory) keep(k Key, w written) prompt.Digest {
	d := prompt.DigestString(w.text).Extend(prompt.DigestString(string(k)))
	m.texts.Store(d, w)
	return d
}

// find returns the summary with a digest.
func (m *memory) find(d prompt.Digest) (written, bool) {
	v, ok := m.texts.Load(d)
	if !ok {
		return written{}, false
	}
	w, ok := v.(written)
	return w, ok
}

// Words returns the text of a summary from a call of the run, "" if it is unknown: what agents do behind a
// compaction depends on it.
func (s *Summarizer) Words(summary *prompt.Block) string {
	w, ok := s.memory.find(summary.Digest)
	if !ok {
		return ""
	}
	return w.message(summary.Tokens)
}
