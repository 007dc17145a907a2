package strategies

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A layer exports the methods of Layer and of the hooks that it names beside its type (var _ BeforeRequest =
// (*truncate)(nil)): a hook whose name is misspelt does not compile, or is not named there.
func TestLayersNameTheirHooks(t *testing.T) {
	methods := map[string][]string{} // of layers, by type
	named := map[string]bool{}       // type.method
	hooks := map[string][]string{}   // methods, by interface
	for _, file := range parsed(t) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || !d.Name.IsExported() {
					continue
				}
				if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok {
						methods[id.Name] = append(methods[id.Name], d.Name.Name)
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						if x, ok := s.Type.(*ast.InterfaceType); ok {
							for _, m := range x.Methods.List {
								for _, id := range m.Names {
									hooks[s.Name.Name] = append(hooks[s.Name.Name], id.Name)
								}
							}
						}
					}
				}
			}
		}
	}
	for _, file := range parsed(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok && s.Names[0].Name == "_" && len(s.Values) == 1 {
				var text strings.Builder
				ast.Inspect(s.Values[0], func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && id.Name != "nil" {
						text.WriteString(id.Name)
					}
					return true
				})
				hook := s.Type
				if of, ok := hook.(*ast.SelectorExpr); ok {
					hook = of.Sel
				}
				if of, ok := hook.(*ast.Ident); ok {
					for _, m := range hooks[of.Name] {
						named[text.String()+"."+m] = true
					}
				}
			}
			return true
		})
	}
	layers := 0
	for name, list := range methods {
		has := strings.Join(list, " ") + " "
		if !strings.Contains(has, "Clone ") || !strings.Contains(has, "Reset ") || !strings.Contains(has, "Name ") {
			continue
		}
		layers++
		for _, m := range list {
			switch m {
			case "Name", "Clone", "Reset", "Copy":
			default:
				if !named[name+"."+m] {
					t.Errorf("layer %s has a method %s, which is no hook that stands beside its type: var _ Hook = (*%s)(nil)", name, m, name)
				}
			}
		}
	}
	if layers < 15 {
		t.Errorf("%d layers found", layers)
	}
}

// parsed returns the files of this package and of package standard that are no tests.
func parsed(t *testing.T) (files []*ast.File) {
	here, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(here, "standard/standard.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
