package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// head is how the page begins.
const head = `# Presets against their libraries

Each library below was installed at the version named and worked through four conversations with a scripted model: many small results,
few large ones, several prompts, one long loop. The simulator replayed the same conversations under the preset of the same name. A line
compares what both sent. ` + "`make libraries`" + ` runs the libraries anew and writes this page; ` + "`make libraries LIBRARIES=\"langchain strands\"`" + ` runs some, and ` + "`make libraries RUN=`" + ` compares without running any.
It needs Python 3.12 and npm, names the lines that have moved, and exits with 1 while there are any: a line that does not agree, unless it differs
in the very figures that are known and in no other, for the reason that stands beside them.

- The model has a window of 200,000 tokens and refuses what is longer; a library that does not shorten the request ends there. A token is
  four characters. Every summary, observation and compaction of a provider has 400, and a digest of Agno's a fifth of its result. The head of
  a request is as large as the library makes it, in both.
- SETTINGS are what a driver in ` + "`tools/libraries/drivers`" + ` chose and the library does not have by default. Another level is another line.
- EDITS are requests that do not begin with all of the request before. BEFORE and STAYS: tokens of the messages in the request ahead of the
  first edit, and how many of these tokens are still in the edited request.
- CALLS are calls of a model that the library makes for itself, and READ the tokens that it gives them. PEAK is the largest request.
- CACHED and FRESH are the tokens that an ideal prefix cache has and has not. USD is their cost, with the output, at the prices of Claude
  Sonnet 4.5, whichever model makes the calls. By default mastra, letta and openai-agents/session let another model than the agent's
  write, mastra and letta a smaller one, whose calls cost less than stands here.
- LOG is what ` + "`sim run --strategy recorded`" + ` bills for a log of the requests that the library sent, as a share of the bill in the log. The log has
  the usage that Anthropic's cache would give it, with a marker on the system prompt and on the last message: that reads up to a marker of an earlier request, where an ideal cache reads up to the
  edit, so that a library that edits each request costs more than USD (langchain/clear-tools on small: 1.7 times). LOG is empty where no log was billed.
- In every column of figures the library's stands first and the preset's behind it, where they differ.
- A line agrees when the library and its preset differ in requests by at most two, or by at most 5 % of the library's requests if that is more;
  the same holds for edits. The largest prompt may differ by 2 %, the cost by 5 %, and the bill of the log by 3 %. Nothing else is judged: BEFORE, STAYS, CALLS,
  READ, CACHED and FRESH may differ by any amount that leaves the cost within its bound. A line in which a library never edits holds its preset
  to editing nothing.
- Others were looked at and have no preset of their own. CAMEL 0.2.90 was run: it counts new messages at two characters a token and sends later
  prompts among older results, which no preset can say. Read, and not run: LangChain.js 1.5.14, with the limits of ` + "`langchain/summarization`" + `;
  the session of OpenAI's Agents SDK for JavaScript, 0.20.0, which compacts at ten items as ` + "`openai-agents/session`" + ` does, with gpt-5.6-luna in
  place of gpt-4.1; Agno's own Compaction (agno/compaction/compaction.py of 3.1.10), which is off by default and summarises at 150,000 tokens all but five runs;
  Strands' ` + "`context_manager=\"auto\"`" + `, and ` + "`per_turn`" + ` of its sliding window.

`

// page returns docs/libraries.md.
func page(lines []*line) string {
	var out strings.Builder
	out.WriteString(head)
	out.WriteString(tasksNote())
	out.WriteString(count(lines).text())
	tau, pairs := order(lines)
	fmt.Fprintf(&out, "The order of costs over all conversations, also over the ones that end refused: Kendall's tau %.3f, over %s of presets whose real costs are not equal.\n\n",
		tau, document.Count(pairs, "pair"))
	var last string
	for _, l := range lines {
		if l.preset != last {
			fmt.Fprintf(&out, "%s## %s\n\n%s\n\n", strings.Repeat("\n", min(1, len(last))), l.preset, l.origin())
			out.WriteString("| conversation | edits | before | stays | calls | read | peak | cached | fresh | USD | log | |\n|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|:--|\n")
			last = l.preset
		}
		out.WriteString("| " + strings.Join(l.cells(), " | ") + " |\n")
	}
	return out.String()
}

// tasksNote says which libraries have each conversation as one prompt, and how many requests these are.
func tasksNote() string {
	var names, whole, merged []string
	for _, l := range libraries {
		if l.tasks {
			names = append(names, l.name)
		}
	}
	for _, s := range usual {
		t := s.talk()
		whole, merged = append(whole, fmt.Sprint(t.requests())), append(merged, fmt.Sprint(t.merged().requests()))
	}
	return fmt.Sprintf("The conversations have %s requests. Libraries that know tasks and no conversations, %s, have each as one prompt: %s requests.\n\n",
		document.And(whole), document.And(names), document.And(merged))
}

// counts are numbers of lines that were run.
type counts struct {
	ran, agree, known int
	libraries         map[string]bool
	// Of those that agree: in how many the library edits nothing, in how many the model refuses it for good, in how many either holds, in how
	// many it makes calls, and in how many of these what they read differs by more than readOff.
	still, refused, either, call, readOff int
}

// readOff is the share by which what calls read may differ without a word at the head of the page.
const readOff = 0.05

// count counts lines.
func count(lines []*line) *counts {
	c := &counts{libraries: map[string]bool{}}
	one := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	for _, l := range lines {
		did := l.real.Did
		if did == nil {
			continue
		}
		c.ran++
		c.libraries[l.library.name] = true
		agrees := len(l.differs) == 0
		one(&c.known, !agrees && !l.moved())
		if !agrees {
			continue
		}
		still, refused := len(did.Edits) == 0, did.Requests < l.requests
		c.agree++
		one(&c.still, still)
		one(&c.refused, refused)
		one(&c.either, still || refused)
		one(&c.call, did.Reads > 0)
		one(&c.readOff, did.Reads > 0 && math.Abs(float64(l.sim.Reads-did.Reads)) > readOff*float64(did.Reads))
	}
	return c
}

// text says what was counted.
func (c *counts) text() string {
	return fmt.Sprintf("%d of %d lines agree, of %d libraries; %s in a known way. Of the %d that agree the library never edits in %d and ends refused in %d (%d have one or both); "+
		"in %d of the %d whose library makes calls what these READ is more than %.0f %% off.\n\n",
		c.agree, c.ran, len(c.libraries), document.Count(c.known, "line")+map[bool]string{true: " differs", false: " differ"}[c.known == 1],
		c.agree, c.still, c.refused, c.either, c.readOff, c.call, 100*readOff)
}

// origin says which package was run, and when.
func (l *line) origin() string {
	o := l.real
	if o.Version == "" {
		return "`" + o.Package + "`, not run: " + o.Fault + "."
	}
	text := fmt.Sprintf("`%s` %s, run on %s.", o.Package, o.Version, o.Date) + l.otherVersions()
	if l.library.note != "" {
		text += " " + l.library.note
	}
	return text + "\n\nSettings: " + l.library.setting(l.preset) + "."
}

// otherVersions says which versions a preset is of that did not run.
func (l *line) otherVersions() (text string) {
	o := l.real
	if pin := l.library.pin(0); o.Version != "" && o.Version != pin {
		text += " The preset is of " + pin + "."
	}
	if len(o.Others) > 0 {
		text += " It ran with other packages than the preset is of: " + strings.Join(o.Others, ", ") + "."
	}
	return text
}

// cells returns a line of the page.
func (l *line) cells() []string {
	if l.real.Did == nil {
		return append([]string{l.talk}, append(slices.Repeat([]string{""}, 10), l.real.Fault)...)
	}
	a, b := l.real.Did, l.sim
	verdict := "agrees"
	if len(l.differs) > 0 {
		verdict = strings.Join(l.differs, ", ")
	}
	if l.known != nil && !l.moved() {
		verdict += ": known, " + l.known.why
	}
	if a.Requests < l.requests {
		verdict += fmt.Sprintf("; ends at request %d of %d, refused", a.Requests+1, l.requests)
	}
	list := []string{l.talk}
	for _, x := range [][2]int{{len(a.Edits), len(b.Edits)}, {a.Before, b.Before}, {a.Stays, b.Stays}, {a.Sides, b.Sides}, {a.Reads, b.Reads},
		{a.Peak, b.Peak}, {a.Cached, b.Cached}, {a.Fresh, b.Fresh}} {
		list = append(list, both(document.Whole(x[0]), document.Whole(x[1])))
	}
	if l.real.Fault != "" {
		verdict += "; not run again, " + l.real.Fault
	}
	return append(list, both(fmt.Sprintf("%.2f", a.cost()), fmt.Sprintf("%.2f", b.cost())), l.real.share(), verdict)
}

// share returns how much of its log's bill is simulated.
func (o *outcome) share() string {
	if o.Recorded <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*o.Recorded)
}

// both returns two figures, one where they are equal.
func both(a, b string) string {
	if a == b {
		return a
	}
	return a + " / " + b
}

// plain returns lines for a terminal, with the requests at which history changed.
func plain(lines []*line) string {
	var out strings.Builder
	for _, l := range lines {
		c := l.cells()
		fmt.Fprintf(&out, "%s %s, %s (%s %s): %s%s\n", l.preset, l.real.Version, l.talk, l.real.Package, l.real.Date, c[len(c)-1], strings.Replace(l.otherVersions(), " ", ". ", 1))
		if l.real.Did == nil {
			continue
		}
		for _, x := range []struct {
			who string
			f   *figures
		}{{"library", l.real.Did}, {"preset", l.sim}} {
			f := x.f
			fmt.Fprintf(&out, "  %-8s %4d requests, %d edits %s; before the first %d tokens, %d stay; %d calls read %d; peak %d; cached %d, fresh %d, output %d, $%.3f\n",
				x.who, f.Requests, len(f.Edits), spans(f.Edits), f.Before, f.Stays, f.Sides, f.Reads, f.Peak, f.Cached, f.Fresh, f.Output, f.cost())
		}
	}
	return out.String()
}

// spans returns numbers in ascending order with runs shortened: [4–9 12].
func spans(list []int) string {
	var out []string
	for i := 0; i < len(list); i++ {
		from := i
		for i+1 < len(list) && list[i+1] == list[i]+1 {
			i++
		}
		if text := fmt.Sprint(list[from]); i > from {
			out = append(out, fmt.Sprintf("%s–%d", text, list[i]))
		} else {
			out = append(out, text)
		}
	}
	return fmt.Sprint(out)
}
