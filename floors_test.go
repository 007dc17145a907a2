package compactsim

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
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

// rooms are the rooms of the house from the top, with the folders that hold their
// packages. A folder in no room's list belongs to the room of the folder above it.
var rooms = []struct {
	name    string
	floor   int
	folders []string
}{
	{"cmd/sim", 7, []string{"cmd/sim"}},
	{"cmd/sim-beam", 7, []string{"cmd/sim-beam"}},
	{"reports", 6, []string{"reports"}},
	{"scenarios", 6, []string{"scenarios"}},
	{"sim, asked", 5, []string{"sim/audit", "sim/bound", "sim/chains", "sim/explain", "sim/validate"}},
	{"sim", 4, []string{"sim"}},
	{"strategies", 3, []string{"strategies"}},
	{"sim, serving", 2, []string{"sim/breaks", "sim/calls", "sim/changes", "sim/client", "sim/live", "sim/needs", "sim/profile",
		"sim/promptcache", "sim/servers", "sim/summarizer"}},
	{"costmodel", 1, []string{"costmodel"}},
	{"sim/results", 1, []string{"sim/results"}},
	{"traces", 1, []string{"traces"}},
	{"internal/kit", 0, []string{"internal/kit"}},
	{"sim/prompt", 0, []string{"sim/prompt"}},
}

// room returns the room of a package and its floor.
func room(pkg string) (string, int, bool) {
	for folder := pkg; folder != "."; folder = path.Dir(folder) {
		for _, r := range rooms {
			if slices.Contains(r.folders, folder) {
				return r.name, r.floor, true
			}
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
	for _, r := range rooms {
		for _, folder := range r.folders {
			if !seen[folder] {
				t.Errorf("folder %s stands in the table and has no package", folder)
			}
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
	inside := map[string][]string{}
	uses := map[string]map[string]bool{}
	for folder, p := range all {
		of, _, _ := room(folder)
		inside[of] = append(inside[of], folder)
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
	b.WriteString("\n| floor | room | package | what it is | rests on |\n|---|---|---|---|---|\n")
	for _, r := range rooms {
		slices.Sort(inside[r.name])
		below := strings.Join(direct(uses, r.name), ", ")
		for i, folder := range inside[r.name] {
			if i > 0 {
				below = ""
			}
			fmt.Fprintf(&b, "| %d | %s | `%s` | %s | %s |\n", r.floor, r.name, folder, said(all[folder].synopsis), below)
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
