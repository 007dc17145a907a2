package compactsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Most methods and fields of a type: what has more is several things.
const (
	mostMethods = 40
	mostFields  = 25
	mostAsked   = 4 // of whoever uses a room of the loop
)

// walls are the types that have more, with what they have today. A number may fall, and none is added.
// Behind each stands why it is one thing.
var walls = map[string]struct{ methods, fields int }{
	"sim/prompt.Intent":        {0, 31}, // options of a call: a layer sets those it needs
	"strategies.CompactParams": {0, 37}, // parameters of one layer, a field each
	"strategies.Turn":          {0, 41}, // what a layer can see at a hook, read and not filled by layers
	"traces.Session":           {0, 27}, // what a log says of one session
}

// TestTypesAreSmall counts the methods and fields of every type that is no test's.
func TestTypesAreSmall(t *testing.T) {
	set := token.NewFileSet()
	methods, fields := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(name)) + "."
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[folder+receiver(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						switch x := s.Type.(type) {
						case *ast.StructType:
							fields[folder+s.Name.Name] = x.Fields.NumFields()
						case *ast.InterfaceType:
							if n := x.Methods.NumFields(); n > mostAsked && strings.HasPrefix(folder, "sim/internal/") {
								t.Errorf("%s%s asks for %d methods, a room of the loop for at most %d", folder, s.Name.Name, n, mostAsked)
							}
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range methods {
		if n > max(mostMethods, walls[name].methods) {
			t.Errorf("%s has %d methods, at most %d may be: part it", name, n, max(mostMethods, walls[name].methods))
		}
	}
	for name, n := range fields {
		if n > max(mostFields, walls[name].fields) {
			t.Errorf("%s has %d fields, at most %d may be: part it", name, n, max(mostFields, walls[name].fields))
		}
	}
	for name, w := range walls {
		if m, f := methods[name], fields[name]; m < w.methods || f < w.fields {
			t.Errorf("%s has %d methods and %d fields by now: lower its numbers, %d and %d, or take it out", name, m, f, w.methods, w.fields)
		}
	}
}

// receiver returns the name of the type of a method.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
