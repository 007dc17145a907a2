package compactsim

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/compactsim/compactsim/"

var update = flag.Bool("update", false, "write the picture of the packages into docs/architecture.md")

// floors are the floors of the house, by folder. A folder is a room: its
// packages, but for those with a line of their own.
var floors = map[string]int{
	"cmd/sim":          7,
	"cmd/sim-beam":     7,
	"scenarios":        6,
	"reports":          6,
	"internal/report":  6,
	"internal/study":   5,
	"internal/loop":    4,
	"strategies":       3,
	"internal/serving": 2,
	"traces":           1,
	"internal/reading": 1,
	"costmodel":        1,
	"sim/results":      1,
	"internal/results": 1,
	"sim/prompt":       0,
	"internal/kit":     0,
}

// annexes are folders that belong to the room of another folder.
var annexes = map[string]string{
	"internal/reading": "traces",
	"reports":          "internal/report",
	"internal/results": "sim/results",
}

// room returns the room of a package and its floor.
func room(pkg string) (string, int, bool) {
	for name := pkg; name != "."; name = path.Dir(name) {
		if f, ok := floors[name]; ok {
			return cmp.Or(annexes[name], name), f, true
		}
	}
	return "", 0, false
}

// A pack is a package: what its documentation says first, and the packages of
// this module that it imports.
type pack struct {
	synopsis string
	imports  map[string]bool
}

// packages reads the imports and the documentation of all packages but tools,
// by their folders.
func packages(t *testing.T) map[string]*pack {
	t.Helper()
	found := map[string]*pack{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "tools" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != "."):
			return filepath.SkipDir
		case filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || path.Dir(filepath.ToSlash(file)) == ".":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(file))
		if found[folder] == nil {
			found[folder] = &pack{imports: map[string]bool{}}
		}
		return found[folder].add(parsed)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (p *pack) add(file *ast.File) error {
	if file.Doc != nil {
		p.synopsis = (&doc.Package{}).Synopsis(file.Doc.Text())
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if to, ours := strings.CutPrefix(imported, module); ours {
			p.imports[to] = true
		}
	}
	return nil
}

// Imports point down: to lower floors, or to the same room.
func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	for from, p := range packages(t) {
		fromRoom, fromFloor, ok := room(from)
		if !ok {
			t.Errorf("package %s stands on no floor: add it to the table", from)
			continue
		}
		for name := from; name != "."; name = path.Dir(name) {
			seen[name] = true
		}
		for to := range p.imports {
			toRoom, toFloor, ok := room(to)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which stands on no floor", from, to)
			case toRoom != fromRoom && toFloor >= fromFloor:
				t.Errorf("%s (floor %d) imports %s (floor %d): imports point down", from, fromFloor, to, toFloor)
			}
		}
	}
	for name := range floors {
		if !seen[name] {
			t.Errorf("folder %s stands in the table and has no package", name)
		}
	}
}

// The picture in docs/architecture.md shows the packages as they are.
func TestPicture(t *testing.T) { renew(t, "picture", picture(packages(t))) }

// renew compares a drawing of docs/architecture.md with what it should be, or writes it.
func renew(t *testing.T, name, now string) {
	t.Helper()
	const file = "docs/architecture.md"
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s: no place for the %s", file, name)
	case now == was:
	case !*update:
		t.Fatalf("%s: the packages have changed: go test . -run %s -update", file, t.Name())
	default:
		if err := os.WriteFile(file, []byte(before+begin+now+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// picture draws the floors from the top: the rooms that use each other directly,
// and what each package says of itself.
func picture(all map[string]*pack) string {
	rooms := map[string][]string{}
	uses := map[string]map[string]bool{}
	for folder, p := range all {
		of, _, _ := room(folder)
		rooms[of] = append(rooms[of], folder)
		if uses[of] == nil {
			uses[of] = map[string]bool{}
		}
		for to := range p.imports {
			if r, _, _ := room(to); r != of {
				uses[of][r] = true
			}
		}
	}
	var b strings.Builder
	order := slices.SortedFunc(maps.Keys(rooms), func(x, y string) int {
		return cmp.Or(cmp.Compare(floors[y], floors[x]), strings.Compare(x, y))
	})
	b.WriteString("\n| floor | room | package | what it is | rests on |\n|---|---|---|---|---|\n")
	for _, r := range order {
		slices.Sort(rooms[r])
		below := strings.Join(direct(uses, r), ", ")
		for i, folder := range rooms[r] {
			if i > 0 {
				below = ""
			}
			_, floor, _ := room(folder)
			fmt.Fprintf(&b, "| %d | %s | `%s` | %s | %s |\n", floor, r, folder, said(all[folder].synopsis), below)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// said is what a package says of itself, without its name.
func said(synopsis string) string {
	words := strings.Fields(strings.TrimSuffix(synopsis, "."))
	if len(words) > 2 && (words[0] == "Package" || words[0] == "Command") {
		words = words[2:]
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", "\\|")
}

// direct returns the rooms that a room uses and reaches through no other room
// that it uses.
func direct(uses map[string]map[string]bool, of string) (list []string) {
	for to := range uses[of] {
		through := false
		for by := range uses[of] {
			through = through || by != to && reaches(uses, by, to)
		}
		if !through {
			list = append(list, to)
		}
	}
	slices.Sort(list)
	return list
}

func reaches(uses map[string]map[string]bool, from, to string) bool {
	for next := range uses[from] {
		if next == to || reaches(uses, next, to) {
			return true
		}
	}
	return false
}
