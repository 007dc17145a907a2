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
	Claim   string    // in words of our own
	Source  string    // document and line, for instance 003:1825
	Verdict [2]string // with the mechanism and without
	// With are settings of the scenario for this claim, as PATH=VALUE. Without are further settings
	// that take away what the verdict rests on: the mechanism of a claim that holds, or what refutes
	// one that does not.
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

// verdicts returns the verdict with the mechanism and that without: what of the documents' figures
// holds. What is said of the run without the mechanism counts for the first.
func (c *claim) verdicts(t *testing.T) [2]string {
	var with, without []bool
	for _, f := range c.Figures {
		if f.Claimed != nil {
			with, without = append(with, f.Claimed.holds(t, f.with)), append(without, f.Claimed.holds(t, f.without))
		}
		if f.Otherwise != nil {
			with = append(with, f.Otherwise.holds(t, f.without))
		}
	}
	return [2]string{verdict(with), verdict(without)}
}

func verdict(holds []bool) string {
	switch {
	case !slices.Contains(holds, true):
		return "refuted"
	case !slices.Contains(holds, false):
		return "reproduced"
	}
	return "partly"
}

// TestClaims tries what the documents claim, each claim with its mechanism and without, and holds
// docs/claims.md against it. Figures that were worked out by hand are those of the simulation.
func TestClaims(t *testing.T) {
	table := &document.Table{Columns: document.Left("ID", "VERDICT", "CLAIM", "SIMULATED", "WITHOUT", "SOURCE")}
	page := &document.Document{Sections: []document.Section{{}}}
	all, counts := 0, map[string]int{}
	for _, file := range claimFiles(t) {
		all += len(file.claims)
		for _, c := range file.claims {
			t.Run(c.ID, func(t *testing.T) {
				with := file.try(t, c.With...)
				without := file.try(t, slices.Concat(c.With, c.Without)...)
				for _, f := range c.Figures {
					f.measure(t, with, without)
				}
				got := c.verdicts(t)
				if got != c.Verdict || got[0] == got[1] {
					t.Errorf("%s, and %s without %q; want %q, which differ", got[0], got[1], c.Without, c.Verdict)
				}
				counts[got[0]]++
				table.Rows = append(table.Rows, c.row(got[0]))
				page.Sections = append(page.Sections, c.section(t, file.name, got))
			})
		}
	}
	if t.Failed() || len(table.Rows) < all { // -run may ask for some
		return
	}
	page.Sections[0].Blocks = []document.Block{table, document.Text{Text: fmt.Sprintf("%d claims: %d reproduced, %d partly, %d refuted",
		len(table.Rows), counts["reproduced"], counts["partly"], counts["refuted"])}}
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

// section returns the reason for a verdict, with every figure.
func (c *claim) section(t *testing.T, scenario string, verdicts [2]string) document.Section {
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
		line := strings.ReplaceAll(f.Name, "_", " ") + ": " + f.with.String() + f.Claimed.against(t, f.with)
		if f.Hand != nil {
			line += "; by hand " + f.Hand.Form + " = " + quantity{value: f.Hand.Value, unit: f.with.unit}.String()
		}
		items = append(items, document.Item{Text: line + "; without " + f.without.String() + f.Otherwise.against(t, f.without)})
	}
	items = append(items,
		document.Item{Text: "without: " + strings.Join(c.Without, " ") + ": " + verdicts[1]},
		document.Item{Text: "scenario: " + scenario + ".yaml"})
	return document.Section{
		Name: c.ID + ": " + verdicts[0], Blocks: []document.Block{document.Text{Text: reason}, items},
	}
}
