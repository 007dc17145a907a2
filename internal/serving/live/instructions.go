package live

import (
	"embed"
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

//go:embed instructions/*.txt
var instructions embed.FS

// wordsOf returns the text of an instruction, which comes with the program.
func wordsOf(name string) string {
	b, err := instructions.ReadFile("instructions/" + name + ".txt")
	if err != nil {
		panic(err) // the names are constants
	}
	return strings.TrimSuffix(string(b), "\n")
}

// section is a section that a summary must have, with what is asked of it.
type section struct{ title, asks string }

// The sections of a summary (000:386-395, 002:84-93), and those that end one after which messages stay (002:118).
var (
	summarySections = sectionsOf("summary-sections")
	workSections    = sectionsOf("work-sections")
)

func sectionsOf(name string) (list []section) {
	for line := range strings.SplitSeq(wordsOf(name), "\n") {
		title, asks, _ := strings.Cut(line, ": ")
		list = append(list, section{title, asks})
	}
	return list
}

// sections returns the sections that an answer must have.
func (p *plan) sections() []section {
	if p.part == prompt.PartUpTo {
		n := len(summarySections) - len(workSections)
		return append(summarySections[:n:n], workSections...)
	}
	return summarySections
}

const summaryForm = "IMPORTANT: answer with text only. Call no tool: every call is refused, and this answer is the only one you give. " +
	"It is one <analysis> block and behind it one <summary> block, and nothing else."

// instruction returns the words at the end of a call. quote is the beginning of the summarised part, custom what the
// user wants of summaries; each may be "".
func (p *plan) instruction(quote, custom string) string {
	part := "Summarise this conversation. Your summary takes its place: whoever goes on with the work sees nothing else of it."
	switch p.part {
	case prompt.PartFrom:
		part = fmt.Sprintf("Summarise the later part of this conversation. It begins with these words:\n%q\nThe messages ahead of it stay "+
			"as they are: do not summarise them again, and use them only to understand the rest.", quote)
	case prompt.PartUpTo:
		part = "Summarise this conversation. Newer messages, which you do not see, stay as they are and will follow your summary."
	}
	var list strings.Builder
	for i, s := range p.sections() {
		fmt.Fprintf(&list, "%d. %s: %s\n", i+1, s.title, s.asks)
	}
	if custom = strings.TrimSpace(custom); custom != "" {
		custom = "\nThe person also wants this of the summary:\n" + custom + "\n"
	}
	return strings.NewReplacer("{form}", summaryForm, "{part}", part, "{sections}", list.String(), "{custom}", custom).
		Replace(wordsOf("summary"))
}
