package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// opposites are what an operator becomes: its bound moved, or its sense turned.
var opposites = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// names are those of the functions that stand for operators.
var names = map[token.Token]string{token.LSS: "LSS", token.LEQ: "LEQ", token.GTR: "GTR", token.GEQ: "GEQ", token.ADD: "ADD",
	token.INC: "ADD", token.SUB: "SUB", token.DEC: "SUB", token.MUL: "MUL", token.QUO: "QUO", token.REM: "REM"}

// site is an operator of the source that can be changed.
type site struct {
	file         string
	line         int
	from, at, to int    // offsets of the expression, its operator and its end
	x, y         [2]int // its operands; y is empty where there is one
	op           token.Token
	constant     string // the type of an expression that the compiler evaluates
	first        int    // the number of its first mutant
}

// change is one mutant: a site whose operator becomes another one.
type change struct {
	*site
	number  int
	text    string // the expression
	becomes token.Token
	tests   []*timed // the tests that reach it and have not been tried
	listed  bool     // as changing nothing
}

// String names a change by its place and what becomes of it.
func (c *change) String() string {
	return fmt.Sprintf("%s:%d: %s becomes %s", c.file, c.line, c.text, c.becomes)
}

// sites returns what can be changed in a file, the outer ahead of the inner.
func (p *loaded) sites(file *ast.File, name string, text []byte) []*site {
	var list []*site
	offset := func(pos token.Pos) int { return p.fset.Position(pos).Offset }
	add := func(n ast.Node, op token.Token, at token.Pos, x, y ast.Expr) {
		s := &site{file: name, line: p.fset.Position(at).Line, from: offset(n.Pos()), at: offset(at), to: offset(n.End()), op: op}
		s.x = [2]int{offset(x.Pos()), offset(x.End())}
		if y != nil {
			s.y = [2]int{offset(y.Pos()), offset(y.End())}
		}
		if e, ok := n.(ast.Expr); ok && p.info.Types[e].Value != nil {
			s.constant = types.TypeString(types.Default(p.info.Types[e].Type), func(in *types.Package) string {
				return map[bool]string{false: in.Name()}[module+filepath.Dir(name) == in.Path()]
			})
		}
		list = append(list, s)
	}
	number := func(e ast.Expr) bool {
		b, ok := p.info.Types[e].Type.Underlying().(*types.Basic)
		return ok && b.Info()&types.IsNumeric != 0
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.ArrayType:
			return false
		case *ast.BinaryExpr:
			if opposites[n.Op] != nil && (len(opposites[n.Op]) == 2 || n.Op == token.EQL || n.Op == token.NEQ || number(n)) {
				add(n, n.Op, n.OpPos, n.X, n.Y)
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				add(n, n.Op, n.OpPos, n.X, nil)
			}
		case *ast.IncDecStmt:
			add(n, n.Tok, n.TokPos, n.X, nil)
		}
		return true
	})
	return list
}

// switched writes sources whose operators are chosen when they run.
type switched struct {
	text  []byte
	sites []*site
}

// part returns the source from one offset to another.
func (s switched) part(from, to int) string {
	var b strings.Builder
	for _, e := range s.sites {
		if e.from < from || e.to > to {
			continue
		}
		b.Write(s.text[from:e.from])
		b.WriteString(s.site(e))
		from = e.to
	}
	b.Write(s.text[from:to])
	return b.String()
}

// site returns an expression with its operator chosen by the number of a mutant.
func (s switched) site(e *site) string {
	inner := switched{text: s.text, sites: s.sites[slices.Index(s.sites, e)+1:]}
	op := e.op.String()
	x := inner.part(e.x[0], e.x[1])
	switch {
	case e.constant != "":
		v := string(s.text[e.from:e.to])
		for _, c := range s.sites {
			if c.from >= e.from && c.to <= e.to {
				other := string(s.text[e.from:c.at]) + opposites[c.op][0].String() + string(s.text[c.at+len(c.op.String()):e.to])
				v = fmt.Sprintf("mutantOf[%s](%d, %s, %s)", e.constant, c.first, v, other)
			}
		}
		return v
	case e.op == token.INC || e.op == token.DEC:
		return fmt.Sprintf("%s = mutant%s(%d, %s, 1)", x, names[e.op], e.first, x)
	case e.y == [2]int{}:
		return fmt.Sprintf("mutantNEG(%d, %s)", e.first, x)
	}
	gap := string(s.text[e.x[1]:e.at])
	rest := string(s.text[e.at+len(op):e.y[0]]) + inner.part(e.y[0], e.y[1])
	if e.op == token.EQL || e.op == token.NEQ {
		return fmt.Sprintf("((%s%s%s%s) != mutantOn(%d))", x, gap, op, rest, e.first)
	}
	return fmt.Sprintf("mutant%s(%d, %s%s,%s)", names[e.op], e.first, x, gap, rest)
}

// operators is what a package needs to choose and to tell which choices a test reaches.
const operators = `
import ("cmp"; "os"; "strconv"; "sync/atomic")

var mutantActive, _ = strconv.Atoi(os.Getenv("MUTANT"))
var mutantReach = os.Getenv("MUTANT_REACH")
var mutantSeen [1 << 16]atomic.Bool

func mutantOn(n int) bool {
	if mutantReach != "" { mutantNote(n) }
	return n == mutantActive
}

func mutantNote(n int) {
	if mutantSeen[n].Load() || mutantSeen[n].Swap(true) { return }
	f, err := os.OpenFile(mutantReach, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil { panic(err) }
	if _, err := f.WriteString(strconv.Itoa(n) + "\n"); err != nil { panic(err) }
	if err := f.Close(); err != nil { panic(err) }
}

type mutantInt interface {
	~int|~int8|~int16|~int32|~int64|~uint|~uint8|~uint16|~uint32|~uint64|~uintptr
}
type mutantNumber interface { mutantInt|~float32|~float64 }

func mutantLSS[T cmp.Ordered](n int, a, b T) bool { return (a < b) != (a == b && mutantOn(n)) != mutantOn(n+1) }
func mutantLEQ[T cmp.Ordered](n int, a, b T) bool { return (a <= b) != (a == b && mutantOn(n)) != mutantOn(n+1) }
func mutantGTR[T cmp.Ordered](n int, a, b T) bool { return (a > b) != (a == b && mutantOn(n)) != mutantOn(n+1) }
func mutantGEQ[T cmp.Ordered](n int, a, b T) bool { return (a >= b) != (a == b && mutantOn(n)) != mutantOn(n+1) }
func mutantOf[T any](n int, a, b T) T { if mutantOn(n) { return b }; return a }
func mutantNEG[T mutantNumber](n int, a T) T { if mutantOn(n) { return a }; return -a }
func mutantADD[T mutantNumber](n int, a, b T) T { if mutantOn(n) { return a - b }; return a + b }
func mutantSUB[T mutantNumber](n int, a, b T) T { if mutantOn(n) { return a + b }; return a - b }
func mutantMUL[T mutantNumber](n int, a, b T) T { if mutantOn(n) { return a / b }; return a * b }
func mutantQUO[T mutantNumber](n int, a, b T) T { if mutantOn(n) { return a * b }; return a / b }
func mutantREM[T mutantInt](n int, a, b T) T { if mutantOn(n) { return a * b }; return a % b }
`

// newOperators numbers the changes of a package and builds its tests with all of them.
func newOperators(pkg, binary string) ([]*change, error) {
	src, err := load()
	if err != nil {
		return nil, err
	}
	p, err := src.check(pkg)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var changes []*change
	for _, file := range p.files {
		name := p.fset.Position(file.Pos()).Filename
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s := switched{text, p.sites(file, name, text)}
		for _, e := range s.sites {
			e.first = len(changes) + 1
			for _, op := range opposites[e.op] {
				expression := strings.Join(strings.Fields(string(text[e.from:e.to])), " ")
				changes = append(changes, &change{site: e, number: len(changes) + 1, text: expression, becomes: op})
			}
		}
		files[name] = s.part(0, len(text))
		files[filepath.Join(pkg, "mutant.go")] = inPackage.FindString(files[name]) + "\n" + operators
	}
	var c choices
	if err := c.write(files); err != nil {
		return nil, err
	}
	defer os.RemoveAll(c.dir)
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", c.overlay, "-o", binary, "./"+pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("with choices %s does not build:\n%s", pkg, out)
	}
	return changes, nil
}
