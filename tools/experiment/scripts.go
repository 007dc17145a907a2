package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A shape says how a script is made.
type shape struct {
	name       string
	seed       uint64
	density    float64
	steps      int // of each session
	turns      int
	files      int
	fileBytes  [2]int // smallest and largest file
	checkBytes [2]int // smallest and largest output of a check
	// Shares of steps: look at files, change the file at hand, and run checks in a share of the rest; all further steps search.
	look, change, checks float64
	parallel             float64 // share of looks and checks that come several at once
	local                float64 // share of looks that go to one of the last four files
	recall               float64 // of an agent that reads again: chance that a need is the newest of the things it knows, and so on
	pauses               []int   // minutes before the second turn, and so on
	helpers              int     // sub-agents
	sessions             int     // at work in turn on the same project
}

// shapes are the scripts of the experiment. They differ in what fills the context: many small looks, few large ones, changes.
var shapes = []shape{
	{name: "survey", seed: 101, density: 1.00, steps: 230, turns: 3, files: 26, fileBytes: [2]int{1500, 11000}, checkBytes: [2]int{300, 7000},
		look: .55, change: .3, checks: .6, parallel: .3, local: .3},
	{name: "mend", seed: 102, density: 1.12, steps: 190, turns: 5, files: 9, fileBytes: [2]int{5000, 15000}, checkBytes: [2]int{500, 12000},
		look: .3, change: .65, checks: .8, parallel: .1, local: .8},
	{name: "build", seed: 103, density: .80, steps: 75, turns: 2, files: 10, fileBytes: [2]int{9000, 30000}, checkBytes: [2]int{6000, 25000},
		look: .35, change: .4, checks: .9, parallel: .15, local: .6},
	{name: "recall", seed: 104, density: 1.05, steps: 220, turns: 3, files: 14, fileBytes: [2]int{3000, 12000}, checkBytes: [2]int{600, 12000}, recall: .1},
	{name: "recollect", seed: 105, density: .90, steps: 190, turns: 4, files: 9, fileBytes: [2]int{8000, 20000}, checkBytes: [2]int{1000, 14000}, recall: .15},
	{name: "pauses", seed: 106, density: 1.00, steps: 190, turns: 8, files: 14, fileBytes: [2]int{2500, 12000}, checkBytes: [2]int{400, 9000},
		look: .45, change: .4, checks: .7, parallel: .15, local: .5, pauses: []int{2, 7, 4, 40, 3, 75, 6}},
	{name: "helpers", seed: 107, density: 1.00, steps: 150, turns: 3, files: 18, fileBytes: [2]int{3000, 12000}, checkBytes: [2]int{500, 10000},
		look: .45, change: .4, checks: .7, parallel: .15, local: .5, helpers: 5},
	// As the scripts of these names that the clients ran before ours: fewer steps with larger results.
	{name: "mid", seed: 109, density: .90, steps: 130, turns: 3, files: 10, fileBytes: [2]int{3000, 15000}, checkBytes: [2]int{300, 14000},
		look: .4, change: .45, checks: .95, parallel: .1, local: .6},
	{name: "large", seed: 110, density: .75, steps: 66, turns: 3, files: 12, fileBytes: [2]int{9000, 26000}, checkBytes: [2]int{3000, 28000},
		look: .35, change: .45, checks: .95, parallel: .1, local: .6},
	{name: "pair", seed: 108, density: 1.00, steps: 125, turns: 3, files: 16, fileBytes: [2]int{3000, 14000}, checkBytes: [2]int{500, 12000},
		look: .5, change: .4, checks: .7, parallel: .15, local: .5, sessions: 2},
}

// newScript returns the script of a name, nil if there is none.
func newScript(name string) *Script {
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	sh := shapes[i]
	m := &maker{shape: sh, teller: newTeller(sh.name, sh.seed), Script: &Script{Name: name, Density: sh.density, Files: map[string]string{}},
		marks: map[string][]string{}}
	m.project()
	for k := range max(sh.sessions, 1) {
		m.session([]string{"main", "second", "third"}[k], uint64(k))
	}
	return m.Script
}

// A maker makes one script.
type maker struct {
	shape
	*teller
	*Script
	names   []string            // of the project's files
	marks   map[string][]string // lines of files that edits replace and words that actions use, not yet used
	outputs int                 // checks so far
	known   []Op                // what a recalling agent has seen, newest first
}

// project makes the files that are there at the start.
func (m *maker) project() {
	extension := [styles]string{".go", ".md", ".json", ".log"}
	for i := range m.files {
		s := style(0)
		if m.Float64() < .4 {
			s = style(m.IntN(int(styles)))
		}
		name := fmt.Sprintf("%s/%s_%02d%s", []string{"src", "lib", "docs"}[m.IntN(3)], m.word(), i, extension[s])
		m.names = append(m.names, name)
		for range 16 {
			m.marks[name] = append(m.marks[name], "// open: "+m.fresh())
		}
		m.Files[name] = m.lines(s, m.between(m.fileBytes), m.marks[name]...)
	}
	m.Files["check"] = "#!/bin/sh\ncat .checks/$1.txt\n"
}

// between returns a size from a range, small ones more often.
func (m *maker) between(r [2]int) int {
	return int(float64(r[0]) * math.Pow(float64(r[1])/float64(r[0]), m.Float64()))
}

// newCheck makes a check and its output, with marks that a recalling agent uses later.
func (m *maker) newCheck(marks int) Op {
	number := fmt.Sprintf("%03d", m.outputs)
	m.outputs++
	var lines []string
	for range marks {
		w := m.fresh()
		lines = append(lines, fmt.Sprintf("%s=%d", w, m.IntN(99999)))
		m.marks[number] = append(m.marks[number], w)
	}
	m.Files[checkFile(number)] = m.lines([]style{log, log, code, config}[m.IntN(4)], m.between(m.checkBytes), lines...)
	return Op{Do: check, File: number}
}

// take removes one mark of a thing and returns it, "" if none is left.
func (m *maker) take(thing string) string {
	left := m.marks[thing]
	if len(left) == 0 {
		return ""
	}
	i := m.IntN(len(left))
	mark := left[i]
	m.marks[thing] = slices.Delete(left, i, i+1)
	return mark
}

// session makes one session and its sub-agents.
func (m *maker) session(name string, k uint64) {
	t := &Thread{Name: name, Seed: m.seed + 1000*k}
	m.Threads = append(m.Threads, t)
	ends := map[int]bool{}
	for i := 1; i < m.turns; i++ {
		ends[m.steps*i/m.turns] = true
	}
	asks := map[int]int{}
	for h := range m.helpers {
		asks[m.steps*(h+1)/(m.helpers+2)+1] = h + 1
	}
	var last string
	for n := range m.steps {
		step := Step{Say: fmt.Sprintf("Step %d: %s.", n+1, m.sentence(5+m.IntN(30)))}
		switch {
		case n == m.steps-1 || ends[n]:
			step.Say = fmt.Sprintf("Finished: %s.", m.sentence(30+m.IntN(60)))
		case asks[n] > 0:
			step.Ops = []Op{m.helper(t, asks[n])}
		case m.recall > 0:
			m.recalling(&step, n)
		default:
			step.Ops, last = m.plain(last, n == 0 || len(t.Steps[n-1].Ops) == 0)
		}
		t.Steps = append(t.Steps, step)
	}
	for i := range m.turns {
		p := Prompt{Text: fmt.Sprintf("thread:%s part %d. %s. Go on until this part is finished.", name, i+1, title(m.sentence(40+m.IntN(60))))}
		if i > 0 && i <= len(m.pauses) {
			p.Pause = m.pauses[i-1]
		}
		t.Prompts = append(t.Prompts, p)
	}
}

// plain returns the operations of an agent that never looks back, and the file at hand.
func (m *maker) plain(last string, first bool) ([]Op, string) {
	several := 1
	if m.Float64() < m.parallel {
		several += 1 + m.IntN(2)
	}
	switch p := m.Float64(); {
	case last != "" && !first && p < m.change:
		if mark := m.take(last); mark != "" {
			return []Op{m.editOf(last, mark)}, last
		}
		fallthrough
	case first || p < m.change+(1-m.change)*m.look:
		var ops []Op
		for range several {
			name := m.names[m.IntN(len(m.names))]
			if last != "" && m.Float64() < m.local {
				at := slices.Index(m.names, last)
				name = m.names[(at+m.IntN(4))%len(m.names)]
			}
			do := read
			if m.Float64() < .15 {
				do = show
			}
			if !slices.ContainsFunc(ops, func(o Op) bool { return o.File == name }) {
				ops = append(ops, Op{Do: do, File: name})
			}
		}
		end := ops[len(ops)-1]
		if end.Do == show { // an edit wants a look with the client's own tool before it
			return ops, ""
		}
		return ops, end.File
	case m.Float64() < m.checks:
		var ops []Op
		for range several {
			ops = append(ops, m.newCheck(0))
		}
		return ops, last
	}
	return []Op{{Do: find, New: m.word()}}, last
}

// editOf returns the edit that replaces a mark of a file by some lines.
func (m *maker) editOf(file, mark string) Op {
	s := code
	if strings.HasSuffix(file, ".md") {
		s = prose
	}
	return Op{Do: edit, File: file, Old: mark, New: strings.TrimSuffix(m.lines(s, 60+m.IntN(900), "// closed: "+m.fresh()), "\n")}
}

// recalling adds what an agent does that uses what it saw before: edits of files it read, notes about the results of checks.
func (m *maker) recalling(step *Step, n int) {
	if n%9 == 0 && n/9*2 < len(m.names) { // look around
		for _, name := range m.names[n/9*2 : min(n/9*2+2, len(m.names))] {
			step.Ops = append(step.Ops, Op{Do: read, File: name})
			m.known = slices.Insert(m.known, 0, Op{Do: read, File: name})
		}
		return
	}
	if m.Float64() < .4 {
		c := m.newCheck(5)
		step.Ops = append(step.Ops, c)
		m.known = slices.Insert(m.known, 0, c)
		return
	}
	for range 1 + m.IntN(2) {
		i := min(int(math.Log(1-m.Float64())/math.Log(1-m.recall)), len(m.known)-1)
		thing := m.known[i]
		mark := m.take(thing.File)
		if mark == "" || slices.ContainsFunc(step.Needs, func(o Need) bool { return o.Show == thing }) {
			continue
		}
		m.known = slices.Insert(slices.Delete(m.known, i, i+1), 0, thing)
		step.Needs = append(step.Needs, Need{Mark: mark, Show: thing})
		if thing.Do == read {
			step.Ops = append(step.Ops, m.editOf(thing.File, mark))
		} else {
			note := fmt.Sprintf("notes/%03d.txt", n)
			step.Ops = append(step.Ops, Op{Do: write, File: note, New: mark + " " + m.sentenceOfFresh(12) + "\n"})
		}
	}
	if len(step.Ops) == 0 {
		step.Ops = []Op{m.newCheck(0)}
	}
}

// sentenceOfFresh returns n names that nothing else has, so that no earlier text is needed for them.
func (m *maker) sentenceOfFresh(n int) string {
	var w []string
	for range n {
		w = append(w, m.fresh())
	}
	return strings.Join(w, " ")
}

// helper makes a sub-agent and returns the call that asks it.
func (m *maker) helper(parent *Thread, n int) Op {
	t := &Thread{Name: fmt.Sprintf("%s-helper-%d", parent.Name, n), Seed: m.seed + uint64(100*n)}
	m.Threads = append(m.Threads, t)
	last := ""
	for i := range 6 + m.IntN(14) {
		var ops []Op
		ops, last = m.plain(last, i == 0)
		for k, op := range ops { // it looks, and changes nothing
			if op.Do == edit {
				ops[k], last = Op{Do: find, New: m.word()}, ""
			}
		}
		t.Steps = append(t.Steps, Step{Say: fmt.Sprintf("Look %d: %s.", i+1, m.sentence(5+m.IntN(10))), Ops: ops})
	}
	t.Steps = append(t.Steps, Step{Say: "Found: " + m.sentence(150+m.IntN(250)) + "."})
	return Op{Do: help, New: fmt.Sprintf("thread:%s %s.", t.Name, title(m.sentence(50)))}
}
