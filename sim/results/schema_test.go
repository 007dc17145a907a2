package results

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/schema.md")

// schemaMark stands between the text of docs/schema.md and the list of metrics.
const schemaMark = "<!-- metrics: go test ./sim/results -run TestSchemaDocument -update -->\n"

// The document of the schema lists the metrics in their own words.
func TestSchemaDocument(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "schema.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	introduction, listed, ok := strings.Cut(string(text), schemaMark)
	if !ok || strings.TrimSpace(introduction) == "" {
		t.Fatalf("%s has no introduction, or no line %q", file, schemaMark)
	}
	want := metricsAsMarkdown()
	if *update {
		if err := os.WriteFile(file, []byte(introduction+schemaMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Errorf("%s does not list the metrics: go test ./sim/results -run TestSchemaDocument -update", file)
	}
}

func metricsAsMarkdown() string {
	var b strings.Builder
	b.WriteString("| metric | unit | better | over rows | what it is |\n|---|---|---|---|---|\n")
	for _, m := range Metrics() {
		definition := m.Definition
		if m.Of != "" {
			definition += "; part of `" + m.Of + "`"
		}
		if !m.Exact {
			definition += "; rests on draws"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Unit, m.Better, m.Kind, strings.ReplaceAll(definition, "|", `\|`))
	}
	return b.String()
}
