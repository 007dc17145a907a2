package reading

import (
	"fmt"

	"github.com/compactsim/compactsim/traces"
)

// Problems are defects met: the first Limit of them, and the number of all.
type Problems struct {
	List  []traces.Problem
	Total int
	Limit int
}

// Add notes a defect of a file at a line, from 1, or of the whole file at 0.
func (p *Problems) Add(file string, line int, format string, args ...any) {
	p.Total++
	if len(p.List) < p.Limit {
		p.List = append(p.List, traces.Problem{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
	}
}

// Join adds the problems of q.
func (p *Problems) Join(q Problems) {
	p.Total += q.Total
	p.List = append(p.List, q.List[:min(len(q.List), max(0, p.Limit-len(p.List)))]...)
}
