package check

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// broken is the report of a check in which one rule holds, one is broken and one
// cannot be judged, with texts that need escaping.
func broken(t *testing.T) *Report {
	f := levels(t, "rules:\n- {metric: cost_usd, max: 4}\n- {metric: cache_hit_ratio, min: 95%}\n- {metric: calls, min: 0}\n")
	return f.Judge(input(one("a,b: <c>|d",
		tally{session: "a", usd: 3, read: 90, written: 10, misses: map[exchange.MissClass]int{exchange.MissHead: 3}},
		tally{session: "b", usd: 1, read: 90, written: 10})), Loaded{})
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := broken(t).Write(&b, "text"); err != nil {
		t.Fatal(err)
	}
	const want = `check.yaml: 2 sessions, 20 calls

FAIL check.yaml:4: cache_hit_ratio of a,b: <c>|d is 90.0 %, below 95.0 %
look: misses_head is the largest part: 3: something before the conversation changes between requests: tools,
system prompt or parameters

FAIL check.yaml:5: calls of a,b: <c>|d (min 0): cannot fail: calls is never below 0, the bar is 0

METRIC           CELL        RULE     OBSERVED     BAR   MARGIN  BASELINE  RESULT
cost_usd         a,b: <c>|d  max 4       $4.00   $4.00    $0.00         –  ok
cache_hit_ratio  a,b: <c>|d  min 95%    90.0 %  95.0 %  −5.0 pp         –  FAIL
calls            a,b: <c>|d  min 0          20       –        –         –  FAIL

1 of 3 comparisons ok, 1 beyond the bar, 1 not judged
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if err := broken(t).Write(&b, "xml"); err == nil {
		t.Error("an unknown format is written")
	}
}

// Annotations stand on one line each, whatever is in them.
func TestAnnotate(t *testing.T) {
	var b bytes.Buffer
	if err := broken(t).Annotate(&b, "ci/a,b:check.yaml"); err != nil {
		t.Fatal(err)
	}
	const want = "::error file=ci/a%2Cb%3Acheck.yaml,line=4,title=cache_hit_ratio::cache_hit_ratio of a,b: <c>|d is 90.0 %25, below 95.0 %25%0A" +
		"misses_head is the largest part: 3: something before the conversation changes between requests: tools, system prompt or parameters\n" +
		"::error file=ci/a%2Cb%3Acheck.yaml,line=5,title=calls::calls of a,b: <c>|d (min 0): cannot fail: calls is never below 0, the bar is 0\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if got := data("a\r\n%0A"); got != "a%0D%0A%250A" {
		t.Errorf("escaped %q", got)
	}
	if got := property("a\r\n%:,b"); got != "a%0D%0A%25%3A%2Cb" {
		t.Errorf("escaped %q", got)
	}
}

// No text from a recording or a file becomes a line, a command or a colour of
// its own, in no form of the report.
func TestTextsAreHarmless(t *testing.T) {
	in := plainRun()
	evil := "/home/x\n::error file=a::b\r\x1b[31m\u2028\u202e##[error]c"
	in.Sessions["a"] = Session{Project: evil}
	in.Cells[0].Name = evil
	in.Lost, in.NumLost = []string{"::error::" + evil}, 1
	f := levels(t, "rules:\n  - {metric: cost_usd, group: project, max: 0.5}\n")
	r := f.Judge(in, Loaded{})
	r.Notes = append(r.Notes, evil, " ::stop-commands::x", strings.Repeat("word ", 21)+"words ::error::at the start of a wrapped line")
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Write(w, "text") }, "json": func(w io.Writer) error { return r.Write(w, "json") },
		"junit": r.JUnit, "summary": func(w io.Writer) error { return r.Write(w, "markdown") },
		"annotations": func(w io.Writer) error { return r.Annotate(w, "check.yaml") },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			command := strings.HasPrefix(strings.TrimSpace(line), "::") && !strings.HasPrefix(line, "::error file=check.yaml,line=")
			if command || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\r\x1b\u2028\u202e") || strings.Contains(line, "##[") {
				t.Errorf("%s: %q", name, line)
			}
		}
		if !strings.Contains(b.String(), "/home/x") {
			t.Errorf("%s does not tell the project:\n%s", name, b.String())
		}
	}
}

// JUnit counts tests and failures, and is XML whatever stands in names.
func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	r := broken(t)
	r.Problems = []Problem{{Line: 2, Text: "a & b"}}
	if err := r.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suite    struct {
			Tests int `xml:"tests,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Line    int    `xml:"line,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Type    string `xml:"type,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 4 || got.Failures != 3 || got.Suite.Tests != 4 || len(got.Suite.Cases) != 4 {
		t.Errorf("%d tests, %d failures in %s", got.Tests, got.Failures, b.String())
	}
	c := got.Suite.Cases
	if c[0].Failure.Message != "a & b" || c[1].Failure != nil || c[2].Failure.Type != "breach" || c[3].Failure.Type != "unjudged" ||
		c[1].Name != "cost_usd max 4 of a,b: <c>|d" || c[2].Line != 4 {
		t.Errorf("%s", b.String())
	}
}

// The summary is Markdown that shows names as they are.
func TestSummary(t *testing.T) {
	var b bytes.Buffer
	if err := broken(t).Write(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**❌ sim check: 1 of 3 comparisons ok, 1 beyond the bar, 1 not judged** (check.yaml: 2 sessions, 20 calls)\n", "| METRIC", `a,b: &lt;c>\|d`,
		"**FAIL** check.yaml:4: cache\\_hit\\_ratio of a,b: &lt;c>\\|d is 90.0 %, below 95.0 %\n\nlook: misses\\_head is the largest part",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := (&Report{OK: true, Results: []Result{{Status: OK}}}).Write(&b, "markdown"); err != nil || !strings.HasPrefix(b.String(), "**✅ sim check: 1 of 1") {
		t.Errorf("%v %s", err, b.String())
	}
}

// The JSON form has figures in the units of the metrics and no others.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := broken(t).Write(&b, "json"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"schema": 1`, `"ok": false`, `"observed": 0.9`, `"margin": 0`, `"status": "unjudged"`, `"line": 4`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

// A comment with more failures than it has room for tells the first and counts the rest.
func TestCommentOfManyFailures(t *testing.T) {
	r := new(Report)
	for range 400 {
		r.Results = append(r.Results, Result{Metric: "cost_usd", Rule: "max 1", Status: Breach, Message: strings.Repeat("dear ", 30), Look: strings.Repeat("why ", 30)})
	}
	var b strings.Builder
	if err := r.Write(&b, "markdown"); err != nil || !strings.Contains(b.String(), "and 370 more") {
		t.Errorf("%v %d", err, b.Len())
	}
}
