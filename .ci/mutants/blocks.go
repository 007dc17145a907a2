package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// function is a function of a file, with where it stands.
type function struct {
	decl     *ast.FuncDecl
	from, to int // offsets, without its comment
}

// newBlocks puts the blocks that change one function each into one build: the changed
// function stands beside the one it was made of, which calls it where MUTANT chooses it.
// The others, of constants, defaults and presets, stay as they are.
func newBlocks(mutants []mutant) (*choices, error) {
	inserts, copies := map[string][]read{}, map[string]string{}
	c := &choices{}
	for i := range mutants {
		m := &mutants[i]
		if m.wrong != nil || !strings.HasSuffix(m.where, ".go") {
			continue
		}
		text, err := os.ReadFile(m.where)
		if err != nil {
			return nil, err
		}
		choice := fmt.Sprintf("block%d", i)
		at, call, changed, ok := beside(string(text), m.files[m.where], choice)
		if !ok {
			continue
		}
		inserts[m.where] = append(inserts[m.where], read{from: at, choice: call})
		copies[m.where] += "\n" + changed + "\n"
		m.from, m.choice = c, choice
	}
	files := map[string]string{}
	for name, list := range inserts {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b read) int { return b.from - a.from })
		for _, r := range list {
			text = slices.Insert(text, r.from, []byte(r.choice)...)
		}
		files[name] = string(text) + copies[name]
		files[filepath.Join(filepath.Dir(name), "mutant.go")] = helpers(files[name])
	}
	return c, c.write(files)
}

// beside returns the one function of a source that a mutant changes, under another name,
// and the call of it with the place where that goes; ok is false where more is changed, or
// where the function's parameters have no names.
func beside(source, mutant, choice string) (at int, call, changed string, ok bool) {
	was, is := functions(source), functions(mutant)
	if len(was) != len(is) || len(was) == 0 {
		return 0, "", "", false
	}
	i := 0
	for i < len(was)-1 && source[was[i].from:was[i].to] == mutant[is[i].from:is[i].to] {
		i++
	}
	if source[:was[i].from] != mutant[:is[i].from] || source[was[i].to:] != mutant[is[i].to:] {
		return 0, "", "", false
	}
	f, g := was[i], is[i]
	name := f.decl.Name.Name + "_" + choice
	if call, ok = calling(f.decl, name); !ok {
		return 0, "", "", false
	}
	n := int(g.decl.Name.Pos()) - 1
	changed = mutant[g.from:n] + name + mutant[n+len(g.decl.Name.Name):g.to]
	return int(f.decl.Body.Lbrace), fmt.Sprintf("\nif mutantChosen == %q {\n%s}\n", choice, call), changed, true
}

// calling returns the statements that call a function with the parameters of another one.
func calling(decl *ast.FuncDecl, name string) (string, bool) {
	args, ok := []string{}, true
	for _, p := range decl.Type.Params.List {
		_, variadic := p.Type.(*ast.Ellipsis)
		ok = ok && len(p.Names) > 0
		for _, id := range p.Names {
			ok = ok && id.Name != "_"
			args = append(args, id.Name+map[bool]string{true: "..."}[variadic])
		}
	}
	if decl.Recv != nil {
		names := decl.Recv.List[0].Names
		if ok = ok && len(names) == 1 && names[0].Name != "_"; !ok {
			return "", false
		}
		name = names[0].Name + "." + name
	}
	call := name + "(" + strings.Join(args, ", ") + ")\n"
	if decl.Type.Results != nil {
		return "return " + call, ok
	}
	return call + "return\n", ok
}

// functions returns the functions of a source in order, none when it cannot be parsed.
func functions(source string) []function {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var list []function
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			list = append(list, function{f, fset.Position(f.Pos()).Offset, fset.Position(f.End()).Offset})
		}
	}
	return list
}
