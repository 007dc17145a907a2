package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// module is the path of the module, with a slash.
const module = "github.com/compactsim/compactsim/"

// place is a field of a struct: where it is declared.
type place struct {
	pkg, file string // the folder, and the name in it
	line      int
}

// String names the place.
func (p place) String() string { return fmt.Sprintf("%s/%s:%d", p.pkg, p.file, p.line) }

// loaded is a package with its types.
type loaded struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// code is the source of the module as far as it has been looked at.
type code struct {
	export   map[string]string   // files of types, by import path
	own      []string            // folders of the module's packages
	files    map[string][]string // their files, by folder
	packages map[string]*loaded
}

// choices are test binaries that have many mutants each: the variable MUTANT chooses one.
type choices struct {
	dir, overlay string
	lock         sync.Mutex // of building
}

// read is where a parameter is read, and what chooses a constant there.
type read struct {
	from, to int
	choice   string
}

// newSwitches returns the mutants of all rows that are the path of a parameter: no and
// yes for a switch, nothing for a number, a name or a list. Wherever one is read a
// constant stands when it is chosen.
func newSwitches(rows map[string][]named) (*choices, []mutant, error) {
	src, err := load()
	if err != nil {
		return nil, nil, err
	}
	s := new(choices)
	var all []mutant
	reads, seen := map[string][]read{}, map[place]bool{}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		path := strings.Trim(row, "`")
		if row != "`"+path+"`" || strings.ContainsAny(path, " `") {
			continue
		}
		f, kind, err := field(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", row, err)
		}
		if f == (place{}) {
			continue
		}
		if !seen[f] {
			seen[f] = true
			if err := src.reads(f, kind, reads); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", row, err)
			}
		}
		values := []string{"zero"}
		if kind == reflect.Bool {
			values = []string{"no", "yes"}
		}
		for _, value := range values {
			all = append(all, mutant{row: row, where: "always " + value, choice: f.String() + "=" + value})
		}
	}
	files, err := choosing(reads)
	if err != nil {
		return nil, nil, err
	}
	return s, all, s.write(files)
}

// write puts the changed files into a folder of its own.
func (s *choices) write(files map[string]string) (err error) {
	if s.dir, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	s.overlay, err = writeOverlay(s.dir, files)
	return err
}

// try runs the tests of a row with its parameter out of action.
func (s *choices) try(m *mutant, tests []named) error {
	if len(tests) == 0 {
		return fmt.Errorf("%s names no test for it", table)
	}
	for _, n := range tests {
		binary := filepath.Join(s.dir, strings.ReplaceAll(n.pkg, "/", "_")+".test")
		if err := s.build(binary, n.pkg); err != nil {
			return err
		}
		run := func(choice string) error {
			c := exec.Command(binary, "-test.timeout", "2m", "-test.run", n.pattern())
			c.Dir, c.Env = n.pkg, append(os.Environ(), "MUTANT="+choice)
			return c.Run()
		}
		switch {
		case run(m.choice) == nil:
		case run("") != nil:
			return fmt.Errorf("%v of %s fail as they are", n.tests, n.pkg)
		default:
			return nil
		}
	}
	return fmt.Errorf("not noticed by %v", tests)
}

// build makes the test binary of a package where it is missing.
func (s *choices) build(binary, pkg string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", s.overlay, "-o", binary, "./"+pkg).CombinedOutput()
	if err != nil {
		log.Fatalf("with choices %s does not build:\n%s", pkg, out)
	}
	return nil
}

// field returns where the parameter with a path is declared, and its kind. The
// zero place stands for a path that is of no layer and no key of a scenario.
func field(path string) (place, reflect.Kind, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return place{}, 0, err
	}
	root, rest, _ := strings.Cut(path, ".")
	var t reflect.Type
	if d, ok := registry.Definition(root); ok {
		t = reflect.TypeOf(d.Params()).Elem()
	} else if t, rest = reflect.TypeFor[scenarios.Scenario](), path; !known(t, root) {
		return place{}, 0, nil
	}
	var f reflect.StructField
	var in reflect.Type
	for key := range strings.SplitSeq(rest, ".") {
		if in, f = child(t, key); in == nil {
			return place{}, 0, fmt.Errorf("%s has no %s", t, key)
		}
		t = f.Type
	}
	p, err := declared(in, f.Name)
	return p, f.Type.Kind(), err
}

func known(t reflect.Type, key string) bool {
	in, _ := child(t, key)
	return in != nil
}

// child returns the field with a key, and the struct that declares it.
func child(t reflect.Type, key string) (reflect.Type, reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if strings.Contains(rest, "inline") {
			if in, found := child(f.Type, key); in != nil {
				return in, found
			}
		} else if name == key {
			return t, f
		}
	}
	return nil, reflect.StructField{}
}

// declared finds the field of a struct in the source.
func declared(t reflect.Type, name string) (place, error) {
	files, err := filepath.Glob(filepath.Join(strings.TrimPrefix(t.PkgPath(), module), "*.go"))
	if err != nil {
		return place{}, err
	}
	for _, file := range files {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return place{}, err
		}
		var found place
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok || s.Name.Name != t.Name() {
				return true
			}
			if body, ok := s.Type.(*ast.StructType); ok {
				for _, f := range body.Fields.List {
					if slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name }) {
						found = place{filepath.Dir(file), filepath.Base(file), fset.Position(f.Pos()).Line}
					}
				}
			}
			return false
		})
		if found.line > 0 {
			return found, nil
		}
	}
	return place{}, fmt.Errorf("%s.%s is declared nowhere", t, name)
}

// load asks where the types of all packages are.
func load() (*code, error) {
	c := &code{export: map[string]string{}, files: map[string][]string{}, packages: map[string]*loaded{}}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		c.export[p.ImportPath] = p.Export
		if dir, ok := strings.CutPrefix(p.ImportPath, module); ok {
			c.own, c.files[dir] = append(c.own, dir), p.GoFiles
		}
	}
}

// check reads a package and its types, once.
func (c *code) check(dir string) (*loaded, error) {
	if p, ok := c.packages[dir]; ok {
		return p, nil
	}
	p := &loaded{fset: token.NewFileSet(), info: &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	for _, name := range c.files[dir] {
		f, err := parser.ParseFile(p.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(c.export[path])
	})}
	if _, err := config.Check(module+dir, p.fset, p.files, p.info); err != nil {
		return nil, err
	}
	c.packages[dir] = p
	return p, nil
}

// around are what chooses, and the functions that stand around what is read.
const around = `
func mutantOf[T any](v T, choice string) (z T) {
	if mutantChosen == choice {
		return z
	}
	return v
}

func mutantBool[T ~bool](v T, no, yes string) T {
	switch mutantChosen {
	case no:
		return false
	case yes:
		return true
	}
	return v
}

var mutantChosen = os.Getenv("MUTANT")
`

// reads adds where the field is read, by file.
func (c *code) reads(f place, kind reflect.Kind, files map[string][]read) error {
	found := false
	for _, dir := range c.own {
		p, err := c.check(dir)
		if err != nil {
			return err
		}
		for _, file := range p.files {
			name := p.fset.Position(file.Pos()).Filename
			for _, r := range p.reads(file, f) {
				choice := fmt.Sprintf("%q", f.String()+"=zero")
				if kind == reflect.Bool {
					choice = fmt.Sprintf("%q, %q", f.String()+"=no", f.String()+"=yes")
				}
				files[name] = append(files[name], read{r[0], r[1], choice})
				found = true
			}
		}
	}
	if !found {
		return errors.New("it is read nowhere")
	}
	return nil
}

// inPackage finds the clause of a package.
var inPackage = regexp.MustCompile(`(?m)^package \w+`)

// helpers returns the file that a package needs for choices, given another of its files.
func helpers(source string) string {
	return inPackage.FindString(source) + "\n\nimport \"os\"\n" + around
}

// choosing returns the files with a choice around each read.
func choosing(reads map[string][]read) (map[string]string, error) {
	files := map[string]string{}
	for name, list := range reads {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(list, func(a, b read) int { return b.from - a.from })
		for _, r := range list {
			open := "mutantOf("
			if strings.Contains(r.choice, ",") {
				open = "mutantBool("
			}
			text = slices.Insert(text, r.to, []byte(", "+r.choice+")")...)
			text = slices.Insert(text, r.from, []byte(open)...)
		}
		files[name] = string(text)
		files[filepath.Join(filepath.Dir(name), "mutant.go")] = helpers(files[name])
	}
	return files, nil
}

// reads returns where in a file the field is read, as offsets from and to.
func (p *loaded) reads(file *ast.File, f place) [][2]int {
	written := map[ast.Node]bool{}
	var list [][2]int
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				written[to] = true
			}
		case *ast.UnaryExpr:
			written[n.X] = n.Op == token.AND
		case *ast.SelectorExpr:
			s := p.info.Selections[n]
			if s == nil || s.Kind() != types.FieldVal || written[n] {
				return true
			}
			at := p.fset.Position(s.Obj().Pos())
			if s.Obj().Pkg().Path() == module+f.pkg && filepath.Base(at.Filename) == f.file && at.Line == f.line {
				list = append(list, [2]int{p.fset.Position(n.Pos()).Offset, p.fset.Position(n.End()).Offset})
			}
		}
		return true
	})
	return list
}
