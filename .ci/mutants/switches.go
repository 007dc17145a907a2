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
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// module is the path of the module, with a slash.
const module = "github.com/compactsim/compactsim/"

// readers are the packages that read parameters of layers, client and server.
var readers = []string{"strategies", "scenarios", "sim", "sim/client", "sim/promptcache", "internal/breaks"}

// place is a field of a struct: where it is declared.
type place struct {
	file string // without folders
	line int
}

// loaded is a package with its types.
type loaded struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// code is the source of the module as far as it has been looked at.
type code struct {
	export   map[string]string // files of types, by import path
	packages map[string]*loaded
}

// switchMutants returns, for each row that is the path of a parameter, what takes its
// effect away: wherever it is read a constant stands, false and true for a switch, nothing
// for a number, a name or a list.
func switchMutants(rows map[string][]named) ([]mutant, error) {
	src, err := load()
	if err != nil {
		return nil, err
	}
	var all []mutant
	for row := range rows {
		path := strings.Trim(row, "`")
		if row != "`"+path+"`" || strings.ContainsAny(path, " `") {
			continue
		}
		f, kind, err := field(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row, err)
		}
		if f == (place{}) {
			continue
		}
		values := []string{"zero"}
		if kind == reflect.Bool {
			values = []string{"no", "yes"}
		}
		for _, value := range values {
			files, err := src.stuck(f, value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row, err)
			}
			all = append(all, mutant{row: row, where: "always " + value, files: files})
		}
	}
	return all, nil
}

// field returns where the parameter with a path is declared, and its kind. The
// zero place stands for a path that is of no layer and not the client's or the server's.
func field(path string) (place, reflect.Kind, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return place{}, 0, err
	}
	root, rest, _ := strings.Cut(path, ".")
	var t reflect.Type
	if d, ok := registry.Definition(root); ok {
		t = reflect.TypeOf(d.Params()).Elem()
	} else if root == "client" || root == "server" || root == "levels" {
		t, rest = reflect.TypeFor[scenarios.Scenario](), path
	} else {
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
						found = place{filepath.Base(file), fset.Position(f.Pos()).Line}
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
	c := &code{export: map[string]string{}, packages: map[string]*loaded{}}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		c.export[p.ImportPath] = p.Export
	}
}

// check reads a package and its types, once.
func (c *code) check(dir string) (*loaded, error) {
	if p, ok := c.packages[dir]; ok {
		return p, nil
	}
	p := &loaded{fset: token.NewFileSet(), info: &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution)
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

// constants are the functions that stand around what is read.
var constants = map[string]string{
	"no":   "[T ~bool](T) T { return false }",
	"yes":  "[T ~bool](T) T { return true }",
	"zero": "[T any](T) (z T) { return z }",
}

// stuck returns the files in which the field is read, with a constant in its place.
func (c *code) stuck(f place, value string) (map[string]string, error) {
	files := map[string]string{}
	for _, dir := range readers {
		p, err := c.check(dir)
		if err != nil {
			return nil, err
		}
		for n, file := range p.files {
			ends := p.reads(file, f)
			if len(ends) == 0 {
				continue
			}
			name := p.fset.Position(file.Pos()).Filename
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			around := fmt.Sprintf("mutant%d", n)
			for _, r := range slices.Backward(ends) {
				text = slices.Insert(text, r[1], ')')
				text = slices.Insert(text, r[0], []byte(around+"(")...)
			}
			files[name] = string(text) + "\nfunc " + around + constants[value] + "\n"
		}
	}
	if len(files) == 0 {
		return nil, errors.New("it is read nowhere")
	}
	return files, nil
}

// reads returns where in a file the field is read, as offsets from and to, in order.
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
			if filepath.Base(at.Filename) == f.file && at.Line == f.line {
				list = append(list, [2]int{p.fset.Position(n.Pos()).Offset, p.fset.Position(n.End()).Offset})
			}
		}
		return true
	})
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	return list
}
