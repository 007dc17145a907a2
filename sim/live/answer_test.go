package live

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
)

// What stands in the summary block is the summary, whatever the model makes of
// the tags.
func TestExtract(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"as asked for", "<analysis>a</analysis>\n<summary>\ns\n</summary>", "s"},
		{"no tags", " s ", "s"},
		{"no summary tag", "<analysis>a</analysis> s", "s"},
		{"no end of the summary", "<analysis>a</analysis><summary>s", "s"},
		{"no end of the analysis", "<analysis>a<summary>s</summary>", "s"},
		{"analysis alone", "<analysis>a</analysis>", ""},
		{"analysis cut off", "<analysis>a", ""},
		{"two analyses", "<analysis>a</analysis>x<analysis>b</analysis><summary>s</summary>", "s"},
		{"upper case", "<ANALYSIS>a</Analysis><Summary>s</SUMMARY>", "s"},
		{"a tag of the summary inside the analysis", "<analysis>in <summary> I say</analysis><summary>s</summary>", "s"},
		{"a tag inside the summary", "<summary>s </summary> t</summary> bye", "s </summary> t"},
		{"words around it", "Here: <summary>s</summary> Done.", "s"},
		{"an analysis inside the summary", "<analysis>a</analysis><summary>The page has <analysis>b</analysis> tags.</summary>", "The page has <analysis>b</analysis> tags."},
		{"the tag of an analysis inside the summary", "<summary>It opens <analysis> and goes on.</summary>", "It opens <analysis> and goes on."},
		{"a summary tag inside the analysis alone", "<analysis>in <summary> I say</analysis> s", "s"},
		{"empty", "<summary>\n</summary>", ""},
		{"a comparison", "a < b and <c>", "a < b and <c>"},
		{"broken UTF-8", "s\xff", "s\uFFFD"},
	} {
		if got, _ := extract(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The analysis is what stands in its blocks.
func TestExtractAnalysis(t *testing.T) {
	for text, want := range map[string]string{
		"<analysis> a </analysis>x<analysis>b</analysis><summary>s</summary>": "a",
		"<analysis>a<summary>s</summary>":                                     "a",
		"<summary>s</summary>":                                                "",
		"<analysis>a</analysis><summary>s<analysis>b</analysis></summary>":    "a",
	} {
		if _, got := extract(text); got != want {
			t.Errorf("%q: analysis %q, want %q", text, got, want)
		}
	}
}

// A message that weighs as much as the whole answer and the client's own words,
// 135 tokens, has the analysis too: the client has kept it. One of a client that
// strips it does not, however short the analysis is.
func TestAnalysisKept(t *testing.T) {
	for _, c := range []struct {
		tokens, output, message int32
		kept                    bool
	}{
		{1000, 1040, 1135, false}, // 40 tokens of analysis are fewer than the client's words have
		{1000, 1040, 1175, true},
		{1000, 1600, 1135, false},
		{1000, 1600, 1090, false}, // a client that asks for no continuation
		{1000, 1600, 1690, true},
	} {
		w := written{text: "s", analysis: "a", tokens: c.tokens, output: c.output}
		want := "s"
		if c.kept {
			want = "Analysis:\na\n\nSummary:\ns"
		}
		if got := w.message(c.message); got != want {
			t.Errorf("%d of %d tokens are the summary, in a message of %d: %q, want %q", c.tokens, c.output, c.message, got, want)
		}
		w.analysis = ""
		if got := w.message(c.message); got != "s" {
			t.Errorf("an answer without an analysis says %q", got)
		}
	}
}

// Sections are found under the usual dresses of a title.
func TestMissing(t *testing.T) {
	all := full("x")
	if n := missing(all, summarySections[:]); n != 0 {
		t.Errorf("%d sections of a full summary are missing", n)
	}
	bold := strings.ReplaceAll(strings.ReplaceAll(all, "1. Primary Request and Intent", "## **1. primary request AND intent**"), "9. ", "### ")
	if n := missing(bold, summarySections[:]); n != 0 {
		t.Errorf("%d sections under other dresses are missing", n)
	}
	if n := missing(strings.ReplaceAll(all, "Pending Tasks", "To do"), summarySections[:]); n != 1 {
		t.Errorf("%d sections are missing, want 1", n)
	}
	if n := missing("Current Work\nas said under Current Work", summarySections[:]); n != 8 {
		t.Errorf("%d sections are missing, want 8", n)
	}
}

// Tokens of the summary are its share, by bytes, of the output: 40 of 100 bytes
// at 50 tokens are 20.
func TestRead(t *testing.T) {
	analysis := strings.Repeat("a", 20)
	whole := "<analysis>" + analysis + "</analysis><summary>" + strings.Repeat("s", 40) + "</summary>"
	whole += strings.Repeat(" ", 100-len(whole))
	usage := prompt.Usage{Uncached: 10, Output: 50}
	for _, c := range []struct {
		name  string
		plan  plan
		reply Reply
		want  reading
	}{
		{"a summary", plan{maxOutput: 1000}, Reply{StopReason: "end_turn", Text: words(whole), Usage: usage},
			reading{text: strings.Repeat("s", 40), analysis: analysis, tokens: 20, output: 50, missing: 9}},
		{"at its limit", plan{maxOutput: 1000}, Reply{StopReason: "max_tokens", Text: words(whole), Usage: usage},
			reading{text: strings.Repeat("s", 40), analysis: analysis, tokens: 20, output: 50, missing: 9, cut: 1}},
		{"a server that keeps no limit", plan{maxOutput: 10}, Reply{StopReason: "end_turn", Text: words(whole), Usage: usage},
			reading{text: strings.Repeat("s", 20), analysis: analysis, tokens: 10, output: 50, missing: 9, cut: 1}},
		{"nothing", plan{maxOutput: 1000}, Reply{StopReason: "end_turn", Usage: usage}, reading{failed: ask.FailEmpty, output: 50}},
		{"a server that counts nothing", plan{maxOutput: 1000}, Reply{StopReason: "end_turn", Text: words(whole)},
			reading{text: strings.Repeat("s", 40), analysis: analysis, tokens: 10, output: 25, missing: 9}},
		{"a refusal", plan{maxOutput: 1000}, Reply{StopReason: "refusal", Text: "I cannot.", Usage: usage},
			reading{failed: ask.FailEmpty, why: whyRefusal, output: 50}},
	} {
		if got := c.plan.read(&c.reply); got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// Equal texts of two calls are two summaries; a replay of a call gives the one that it gave.
func TestWordsKept(t *testing.T) {
	var m memory
	w := written{text: "the words", tokens: 2, output: 4}
	d := m.keep("1", w)
	if replayed := m.keep("1", w); replayed != d {
		t.Error("a replay has another digest")
	}
	if other := m.keep("2", w); other == d {
		t.Error("another call has the same digest")
	}
}
