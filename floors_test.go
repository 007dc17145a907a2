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
	"cmd/sim":                  7,
	"cmd/sim-beam":             7,
	"scenarios":                6,
	"reports":                  6,
	"internal/study":           5,
	"internal/loop":            4,
	"strategies":               3,
	"internal/serving":         2,
	"traces":                   1,
	"costmodel":                1,
	"sim/results":              1,
	"internal/serving/profile": 1,
	"sim/prompt":               0,
	"internal/kit":             0,
}

// annexes are rooms that belong to another room, or stand on another floor than
// the folder they are in.
var annexes = map[string]string{
	"internal/reading":         "traces",
	"internal/report":          "reports",
	"internal/study/confusion": "sim/results",
	"internal/study/recall":    "sim/results",
	"internal/study/studies":   "sim/results",
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
