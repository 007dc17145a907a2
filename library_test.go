package compactsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostNames is how many exported names stand at the top level of the packages that docs/library.md promises; it may fall.
const mostNames = 258

// A program that imports the packages of docs/library.md can name every type that their exported names mention: none is of an
// internal package.
func TestLibraryNamesItsTypes(t *testing.T) {
	var found []string
	names := 0
	for _, folder := range promised(t) {
		l := library{folder: folder, set: token.NewFileSet()}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				file, err := parser.ParseFile(l.set, name, nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				l.add(file)
			}
		}
		names += l.names
		found = append(found, l.unnamed...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	for _, name := range found {
		t.Errorf("%s: an importer cannot name that type", name)
	}
	if names > mostNames {
		t.Errorf("%d exported names in the packages of docs/library.md, at most %d may be: what importers do not need is not exported", names, mostNames)
	}
}

// promised returns the folders of the packages in the table of docs/library.md.
func promised(t *testing.T) (folders []string) {
	t.Helper()
	page, err := os.ReadFile("docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| package | what it holds |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n") {
		cell := strings.Split(row, "|")[1]
		for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(cell, -1) {
			folders = append(folders, m[1])
		}
	}
	if len(folders) < 5 {
		t.Fatalf("%d packages in the table of docs/library.md", len(folders))
	}
	return folders
}

// library is what one promised package exports.
type library struct {
	folder  string
	set     *token.FileSet
	imports map[string]string // of the file under way, paths by name
	names   int
	unnamed []string
}

func (l *library) add(file *ast.File) {
	l.imports = map[string]string{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		l.imports[name] = imported
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch {
			case !d.Name.IsExported():
			case d.Recv == nil:
				l.names++
				l.look(d.Name.Name, d.Type)
			case ast.IsExported(receiver(d.Recv.List[0].Type)):
				l.look(receiver(d.Recv.List[0].Type)+"."+d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						l.names++
						l.look(s.Name.Name, s.Type)
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.IsExported() {
							l.names++
							l.look(id.Name, s.Type)
						}
					}
				}
			}
		}
	}
}

// look notes the types that an exported name mentions and an importer cannot name.
func (l *library) look(name string, typ ast.Expr) {
	if typ == nil {
		return
	}
	ast.Inspect(typ, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			if len(x.Names) > 0 && !slices.ContainsFunc(x.Names, (*ast.Ident).IsExported) && within(typ, x) {
				return false // of a struct or an interface, and not exported
			}
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if of := l.imports[id.Name]; strings.HasPrefix(of, module) && slices.Contains(strings.Split(of, "/"), "internal") {
					l.unnamed = append(l.unnamed, l.folder+"."+name+": "+strings.TrimPrefix(of, module)+"."+x.Sel.Name)
				}
			}
			return false
		}
		return true
	})
}

// within reports whether a field is a member of a type: a struct's or an interface's, and not a parameter of a function.
func within(typ ast.Expr, f *ast.Field) (member bool) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructType:
			member = member || slices.Contains(x.Fields.List, f)
		case *ast.InterfaceType:
			member = member || slices.Contains(x.Methods.List, f)
		}
		return true
	})
	return member
}
