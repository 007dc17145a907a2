package compactsim

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/compactsim/compactsim/"

// floors are the floors of the house, by room; docs/architecture.md tells what
// each room owns. A room covers the packages below it unless they have a line
// of their own.
var floors = map[string]int{
	"cmd/sim":           6,
	"cmd/sim-beam":      6,
	"scenarios":         5,
	"reports":           5,
	"internal/bound":    4,
	"internal/chains":   4,
	"internal/explain":  4,
	"internal/validate": 4,
	"internal/audit":    4,
	"internal/fleet":    4,
	"sim":               3,
	"strategies":        2,
	"internal/client":   2,
	"sim/promptcache":   2,
	"sim/summarizer":    2,
	"internal/breaks":   2,
	"internal/needs":    2,
	"traces":            1,
	"costmodel":         1,
	"sim/results":       1,
	"internal/profile":  1,
	"sim/prompt":        0,
	"internal":          0,
}

// annexes are the rooms whose packages stand under internal because no library
// needs them.
var annexes = map[string]string{
	"internal/agents":    "traces",
	"internal/texts":     "traces",
	"internal/live":      "sim/summarizer",
	"internal/check":     "reports",
	"internal/reports":   "reports",
	"internal/compare":   "reports",
	"internal/pseudonym": "reports",
	"internal/confusion": "sim/results",
	"internal/recall":    "sim/results",
	"internal/studies":   "sim/results",
	"internal/changes":   "internal/client",
}

// room returns the room a package belongs to and its floor.
func room(pkg string) (string, int, bool) {
	for name := pkg; name != "."; name = path.Dir(name) {
		if of, ok := annexes[name]; ok {
			return of, floors[of], true
		}
		if f, ok := floors[name]; ok {
			return name, f, true
		}
	}
	return "", 0, false
}

// Imports point down: to lower floors, or to the same room.
func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "tools" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "."):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		checkImports(t, filepath.ToSlash(file), seen)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range floors {
		if !seen[name] {
			t.Errorf("room %s stands in the table and has no package", name)
		}
	}
}

func checkImports(t *testing.T, file string, seen map[string]bool) {
	from := path.Dir(file)
	fromRoom, fromFloor, ok := room(from)
	if !ok {
		if from != "." {
			t.Errorf("%s: package %s stands on no floor: add it to the table", file, from)
		}
		return
	}
	seen[fromRoom] = true
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("parse %s: %v", file, err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		to, ours := strings.CutPrefix(imported, module)
		if !ours {
			continue
		}
		toRoom, toFloor, ok := room(to)
		switch {
		case !ok:
			t.Errorf("%s imports %s, which stands on no floor", file, to)
		case toRoom != fromRoom && toFloor >= fromFloor:
			t.Errorf("%s (floor %d) imports %s (floor %d): imports point down", file, fromFloor, to, toFloor)
		}
	}
}
