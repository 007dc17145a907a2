package export_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/export"
)

var update = flag.Bool("update", false, "rewrite docs/schema.md")

// schemaMark stands between the introduction of docs/schema.md and the columns.
const schemaMark = "<!-- columns: go test ./internal/export -run TestSchemaDocument -update -->\n"

// The document of the schema lists the columns that are written, in the words
// of the metrics themselves.
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
	want := columnsAsMarkdown()
	if *update {
		if err := os.WriteFile(file, []byte(introduction+schemaMark+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Errorf("%s does not list the columns: go test ./internal/export -run TestSchemaDocument -update", file)
	}
}

func columnsAsMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Version %d of the columns.\n\n| column | type | unit | better | over rows | what it is |\n|---|---|---|---|---|---|\n", export.Version)
	for _, c := range export.Columns() {
		typ := string(c.Type)
		if c.Nullable {
			typ += ", null"
		}
		definition := c.Definition
		if c.Of != "" {
			definition += "; part of `" + c.Of + "`"
		}
		if c.Sampled {
			definition += "; rests on draws"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", c.Name, typ, c.Unit, c.Better, c.Kind, strings.ReplaceAll(definition, "|", `\|`))
	}
	return b.String()
}
