package scenarios

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
)

var update = flag.Bool("update", false, "rewrite docs/claims.md")

// claimsMark stands between the introduction of docs/claims.md and what TestClaims writes.
const claimsMark = "<!-- go test ./scenarios -run TestClaims -update -->\n"

// claim is a statement of a document about what its agent does or saves, with the figures of a
// scenario that confirm or refute it.
type claim struct {
	ID      string
	Claim   string // in words of our own
	Source  string // document and line, for instance 003:1825
	Verdict string
	// With are settings of the scenario for this claim, as PATH=VALUE. Without are further settings,
	// its opposite: they take away what the verdict rests on, the mechanism of a claim that holds, or
	// what refutes one that does not.
	With, Without []string
	Figures       []*figure
	// Reason says in a sentence what the verdict rests on. {NAME} stands for a figure,
	// {NAME.without} for the same without the mechanism.
	Reason string
}

// claimFile is a scenario, and the claims that it tries.
type claimFile struct {
	name     string
	scenario []byte
	claims   []*claim
}

// claimFiles returns the files of testdata/claims: a scenario, a line of dashes, and its claims.
func claimFiles(t *testing.T) []claimFile {
	t.Helper()
	names, err := filepath.Glob("testdata/claims/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []claimFile
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := claimFile{name: strings.TrimSuffix(filepath.Base(name), ".yaml")}
		var claims []byte
		f.scenario, claims, _ = bytes.Cut(content, []byte("\n---\n"))
		strict := yaml.NewDecoder(bytes.NewReader(claims))
		strict.KnownFields(true)
		if err := strict.Decode(&f.claims); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, f)
	}
	return list
}

// opposite has what each verdict must become under the opposite settings. A claim that they do not
// turn says nothing about its mechanism.
var opposite = map[string]string{"reproduced": "refuted", "partly": "refuted", "refuted": "reproduced"}

// judge measures the figures of a claim in both runs and returns the verdict, and under which
// condition of its test it fails, "" for none: a figure that a run does not have, a run without the
// mechanism that is not as the document says, or one that is as the run with it.
func (c *claim) judge(t *testing.T, with, without *trial) (verdict, why string) {
	var got [2][]bool
	var lacks []string
	for _, f := range c.Figures {
		f.measure(t, with, without)
		if f.Claimed != nil {
			for i, v := range []quantity{f.with, f.without} {
				if v.none != "" {
					lacks = append(lacks, f.words()+[]string{"", " without"}[i]+": "+v.none)
				}
				got[i] = append(got[i], f.Claimed.holds(t, v))
			}
		}
		if f.Otherwise != nil && !f.Otherwise.holds(t, f.without) {
			lacks = append(lacks, f.words()+" without "+f.without.String()+f.Otherwise.against(t, f.without))
		}
	}
	held, turned := outcome(got[0]), outcome(got[1])
	switch {
	case len(lacks) > 0:
		return "untested", strings.Join(lacks, "; ")
	case turned != opposite[held]:
		return "untested", held + " with its settings, and " + turned + " without"
	}
	return held, ""
}

// outcome is the verdict of a run: what of the document's figures holds.
func outcome(holds []bool) string {
	switch {
	case !slices.Contains(holds, true):
		return "refuted"
	case !slices.Contains(holds, false):
		return "reproduced"
	}
	return "partly"
}

// TestClaims tries what the documents claim, each claim with its settings and the opposite, and
// holds docs/claims.md against the outcome. It compares figures that were worked out by hand with
// the simulation's.
func TestClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	table := &document.Table{Columns: document.Left("ID", "VERDICT", "CLAIM", "SIMULATED", "WITHOUT", "SOURCE")}
	page := &document.Document{Sections: []document.Section{{}}}
	all, counts := 0, map[string]int{}
	for _, file := range claimFiles(t) {
		all += len(file.claims)
		for _, c := range file.claims {
			t.Run(c.ID, func(t *testing.T) {
				got, why := c.judge(t, file.try(t, c.With...), file.try(t, slices.Concat(c.With, c.Without)...))
				if got != c.Verdict {
					t.Errorf("%s, %s; want %s. Without is %q", got, why, c.Verdict, c.Without)
				}
				counts[got]++
				table.Rows = append(table.Rows, c.row(got))
				page.Sections = append(page.Sections, c.section(t, file.name, got, why))
			})
		}
	}
	if t.Failed() || len(table.Rows) < all { // -run may ask for some
		return
	}
	page.Sections[0].Blocks = []document.Block{table, document.Text{Text: fmt.Sprintf("%d claims: %d reproduced, %d partly, %d refuted, %d untested",
		len(table.Rows), counts["reproduced"], counts["partly"], counts["refuted"], counts["untested"])}}
	var b strings.Builder
	if err := page.Write(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("..", "docs", "claims.md")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	introduction, _, found := strings.Cut(string(old), claimsMark)
	switch now := introduction + claimsMark + b.String(); {
	case !found:
		t.Fatalf("%s has no line %q", name, claimsMark)
	case *update:
		if err := os.WriteFile(name, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	case string(old) != now:
		t.Errorf("%s is not what the claims come to: go test ./scenarios -run TestClaims -update", name)
	}
}

// TestClaimUntested tries claims that their opposite says nothing about: each has the verdict
// untested, with a reason, whether the opposite runs or not.
func TestClaimUntested(t *testing.T) {
	file := claimFile{name: "untested", scenario: []byte("schema: 1\nsessions: {paths: [turns]}\nstrategies: [none]\nprofile: none\n")}
	written := func(round int32) *figure {
		f := &figure{Name: "first_write", Claimed: &bound{Is: "more than", Value: 0}}
		f.Cell, f.Calls = "none", &callSum{Of: "written", Round: round}
		return f
	}
	uncached := `client.env.DISABLE_PROMPT_CACHING="1"`
	contrast := written(1)
	contrast.Otherwise = &bound{Is: "at least", Value: 1}
	always := written(1)
	always.Claimed = &bound{Is: "at least", Value: 0}
	for _, tt := range []struct {
		without      string
		figures      []*figure
		verdict, why string
	}{
		{uncached, []*figure{written(1)}, "reproduced", ""},
		{uncached, []*figure{contrast}, "untested", "first write without 0 tokens, claimed to be at least 1 tokens: it is not"},
		{uncached, []*figure{written(1), always}, "untested", "reproduced with its settings, and partly without"},
		{"seed=2", []*figure{written(1)}, "untested", "reproduced with its settings, and reproduced without"},
		{"strategies=[microcompact/v1]", []*figure{written(1)}, "untested", `first write without: there is no strategy "none"`},
		{"sessions.paths=[elsewhere]", []*figure{written(1)}, "untested", `first write without: no session "elsewhere"`},
		{"nonsense=1", []*figure{written(1)}, "untested", `first write without: --set nonsense=1: unknown parameter "nonsense"`},
		{"sessions.paths=[young-session]", []*figure{written(45)}, "untested", "first write without: there is no such call"},
	} {
		c := &claim{Figures: tt.figures}
		if got, why := c.judge(t, file.try(t), file.try(t, tt.without)); got != tt.verdict || !strings.HasPrefix(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("without %s: %s, %q; want %s, %q", tt.without, got, why, tt.verdict, tt.why)
		}
	}
}

// row returns the line of a claim in the table.
func (c *claim) row(verdict string) []any {
	var with, without []string
	for _, f := range c.Figures {
		if f.Claimed != nil {
			with, without = append(with, f.with.String()), append(without, f.without.String())
		}
	}
	return []any{c.ID, verdict, c.Claim, strings.Join(with, "; "), strings.Join(without, "; "), c.Source}
}

// inBraces matches the figures that a reason names.
var inBraces = regexp.MustCompile(`\{([a-z0-9_]+)(\.without)?\}`)

// section returns the reason for a verdict, with every figure, and why a claim is not tested.
func (c *claim) section(t *testing.T, scenario, verdict, why string) document.Section {
	reason := inBraces.ReplaceAllStringFunc(c.Reason, func(name string) string {
		m := inBraces.FindStringSubmatch(name)
		i := slices.IndexFunc(c.Figures, func(f *figure) bool { return f.Name == m[1] })
		switch {
		case i < 0:
			t.Fatalf("the reason names no figure: %s", name)
		case m[2] != "":
			return c.Figures[i].without.String()
		}
		return c.Figures[i].with.String()
	})
	var items document.List
	for _, f := range c.Figures {
		line := f.words() + ": " + f.with.String() + f.Claimed.against(t, f.with)
		if f.Hand != nil {
			line += "; by hand " + f.Hand.Form + " = " + quantity{value: f.Hand.Value, unit: f.with.unit}.String()
		}
		items = append(items, document.Item{Text: line + "; without " + f.without.String() + f.Otherwise.against(t, f.without)})
	}
	turned := opposite[verdict]
	if verdict == "untested" {
		turned = verdict + ": " + why
	}
	items = append(items,
		document.Item{Text: "without: " + strings.Join(c.Without, " ") + ": " + turned},
		document.Item{Text: "scenario: " + scenario + ".yaml"})
	return document.Section{
		Name: c.ID + ": " + verdict, Blocks: []document.Block{document.Text{Text: reason}, items},
	}
}
