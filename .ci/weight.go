//go:build ignore

// Weight prints how much the rooms of the house hold: lines and files of Go that
// are not tests, and exported names without methods in packages that others can
// import. It judges nothing.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// room is the weight of one package.
type room struct {
	name                string
	lines, files, names int
}

func main() {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		log.Fatalf("list files: %v", err)
	}
	rooms := map[string]*room{}
	for file := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := weigh(rooms, file); err != nil {
			log.Fatal(err)
		}
	}
	list := make([]*room, 0, len(rooms))
	total, public := room{name: "total"}, 0
	for _, r := range rooms {
		list = append(list, r)
		total.lines += r.lines
		total.files += r.files
		total.names += r.names
		if r.names > 0 {
			public++
		}
	}
	slices.SortFunc(list, func(a, b *room) int {
		return cmp.Or(cmp.Compare(b.lines, a.lines), strings.Compare(a.name, b.name))
	})
	fmt.Printf("%7s %6s %6s  room\n", "lines", "files", "names")
	for _, r := range append(list, &total) {
		fmt.Printf("%7d %6d %6d  %s\n", r.lines, r.files, r.names, r.name)
	}
	fmt.Printf("%d packages that others can import\n", public)
}

// weigh adds a file to the room of its folder.
func weigh(rooms map[string]*room, file string) error {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil // removed and not yet committed
	}
	if err != nil {
		return err
	}
	name := path.Dir(file)
	r := rooms[name]
	if r == nil {
		r = &room{name: name}
		rooms[name] = r
	}
	r.lines += bytes.Count(text, []byte("\n"))
	r.files++
	if private(name) {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	for _, d := range parsed.Decls {
		r.names += exported(d)
	}
	return nil
}

// private reports whether nobody outside can import a package.
func private(name string) bool {
	return name == "." || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "cmd/") ||
		slices.Contains(strings.Split(name, "/"), "internal")
}

// exported counts the exported names of a declaration, methods aside.
func exported(d ast.Decl) int {
	n := 0
	count := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				n++
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name)
			case *ast.ValueSpec:
				count(spec.Names...)
			}
		}
	}
	return n
}
