package live

import (
	"fmt"
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
	whole, output := string(reply.Text), reply.Billed().Output
	var r reading
	tagged := false
	if p.kind == kindServer {
		whole, output = string(reply.Compaction), compactionOutput(reply)
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

// compactionOutput returns the output tokens of the provider's compactions, or
// of the whole call if they are not counted separately.
func compactionOutput(reply *Reply) int64 {
	var n int64
	for _, it := range reply.Passes {
		if it.Type == "compaction" {
			n += it.Usage.Output
		}
	}
	if n == 0 {
		n = reply.Billed().Output
	}
	return n
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

// section is a section that a summary must have.
type section struct {
	title string
	asks  string
}

// summarySections are the nine sections of a summary (000:386-395, 002:84-93).
var summarySections = [...]section{
	{"Primary Request and Intent", "Everything the person asked for and what they want to reach by it, in full."},
	{"Key Technical Concepts", "Languages, frameworks, tools and decisions about the design that the work rests on."},
	{"Files and Code Sections", "Each file that was looked at, changed or made: its path, why it matters, what was changed, and the code that is needed to go on, word for word. Give most room to the newest."},
	{"Errors and Fixes", "Each error that came up, with its message, how it was fixed, and what the person said about it."},
	{"Problem Solving", "Problems that are solved and how, and those still being looked into."},
	{"All User Messages", "Every message of the person that is not the result of a tool, in order, word for word where it is not very long: corrections and wishes stand in them."},
	{"Pending Tasks", "What was asked for and is not done."},
	{"Current Work", "What was being done just before this point, with file names and code."},
	{"Optional Next Step", "The next step, only if it follows from what was asked for last. Quote the words it follows from."},
}

// workSections end a summary after which messages stay (002:118).
var workSections = [...]section{
	{"Work Completed", "What was done by the end of these messages, with file names and code."},
	{"Context for Continuing Work", "What somebody must know to understand the messages that follow and to go on from them."},
}

// memorySections are the ten sections of a session memory (002:242-252).
var memorySections = [...]section{
	{"Session Title", "Five to ten words that tell this session from others"},
	{"Current State", "What is being worked on, what is pending, what comes next"},
	{"Task Specification", "What was asked for, and the decisions about its design"},
	{"Files and Functions", "Which files and functions matter, and why"},
	{"Workflow", "Commands that are run, in which order, and how to read their output"},
	{"Errors & Corrections", "What went wrong, how it was put right, what the person corrected"},
	{"Codebase and System Documentation", "The parts of the system and how they fit together"},
	{"Learnings", "What worked, what did not, what to avoid"},
	{"Key Results", "Results that were asked for, exactly as they were given"},
	{"Worklog", "Step by step, very short: what was tried and done"},
}

// sections returns the sections that an answer must have.
func (p *plan) sections() []section {
	switch {
	case p.kind == kindMemory:
		return memorySections[:]
	case p.kind == kindServer:
		return nil
	case p.part == prompt.PartUpTo:
		return append(append([]section{}, summarySections[:len(summarySections)-len(workSections)]...), workSections[:]...)
	}
	return summarySections[:]
}

const textOnly = "IMPORTANT: answer with text only. Call no tool: every call is refused, and this answer is the only one you give. "

const summaryForm = textOnly + "It is one <analysis> block and behind it one <summary> block, and nothing else."

const memoryForm = textOnly + "It is the whole file inside one <summary> block, and nothing else."

// instruction returns the words at the end of a call. quote is the beginning of the summarised part, custom what the
// user wants of summaries, notes the session memory to update; each may be "".
func (p *plan) instruction(quote, custom, notes string) string {
	if p.kind == kindMemory {
		return memoryInstruction(custom, notes)
	}
	var b strings.Builder
	b.WriteString(summaryForm + "\n\n")
	switch p.part {
	case prompt.PartFrom:
		fmt.Fprintf(&b, "Summarise the later part of this conversation. It begins with these words:\n%q\nThe messages ahead of it stay as they are: do not summarise them again, and use them only to understand the rest. ", quote)
	case prompt.PartUpTo:
		b.WriteString("Summarise this conversation. Newer messages, which you do not see, stay as they are and will follow your summary. ")
	default:
		b.WriteString("Summarise this conversation. Your summary takes its place: whoever goes on with the work sees nothing else of it. ")
	}
	b.WriteString(`Leave out nothing that the work needs: what was asked for, decisions, paths, names, commands, code and errors, exactly as they are.

In <analysis>, go through the messages in order and note what each of them adds; then check that nothing is missing. The analysis is thrown away.

In <summary>, write these sections under these numbers and titles, in this order, even where one is empty:
`)
	for i, s := range p.sections() {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, s.title, s.asks)
	}
	if custom = strings.TrimSpace(custom); custom != "" {
		b.WriteString("\nThe person also wants this of the summary:\n" + custom + "\n")
	}
	b.WriteString("\n" + summaryForm)
	return b.String()
}

// serverInstructions are this program's and the user's words for the provider's compaction. They replace the
// provider's own, so they also ask for the summary.
func serverInstructions(custom string) string {
	words := "Summarise this conversation so that the work can go on from your summary alone: what was asked for, decisions, paths, commands, code and errors exactly as they are, what is done, what is pending, and the next step."
	if custom = strings.TrimSpace(custom); custom != "" {
		words += "\n\nThe person also wants this of the summary:\n" + custom
	}
	return words
}

// memoryInstruction asks for the whole session memory: anew, or from notes.
func memoryInstruction(custom, notes string) string {
	var b strings.Builder
	b.WriteString(memoryForm + "\n\n")
	fmt.Fprintf(&b, "Write the notes of this session as a Markdown file with these sections. Keep titles and the lines in italics as they are, write below them, and keep to %d tokens a section and %d in all: when a section is full, condense what is old. Put in paths, names, commands and errors exactly as they are. This instruction is no part of the session.\n\n", sectionTokens, memoryTokens)
	for _, s := range memorySections {
		fmt.Fprintf(&b, memoryHeader+"%s\n_%s_\n\n", s.title, s.asks)
	}
	if notes != "" {
		b.WriteString("These are the notes so far. Bring them up to date with what was said since:\n\n" + notes + "\n\n")
	}
	if custom = strings.TrimSpace(custom); custom != "" {
		b.WriteString("The person also wants this of the notes:\n" + custom + "\n\n")
	}
	b.WriteString(memoryForm)
	return b.String()
}
