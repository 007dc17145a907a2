package main

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
)

// links say which files belong together: each leads to one that does, the first of them to itself.
type links []int

func newLinks(files int) links {
	l := make(links, files)
	for i := range l {
		l[i] = i
	}
	return l
}

// root returns the first of the files that belong together with one.
func (l links) root(i int) int {
	for l[i] != i {
		l[i] = l[l[i]]
		i = l[i]
	}
	return i
}

func (l links) join(i, j int) {
	i, j = l.root(i), l.root(j)
	l[max(i, j)] = min(i, j)
}

// groups returns the files that belong together, in the order of the first ones.
func (l links) groups() [][]int {
	var list [][]int
	at := make([]int, len(l))
	for i := range l {
		root := l.root(i)
		if root == i {
			at[i] = len(list)
			list = append(list, nil)
		}
		list[at[root]] = append(list[at[root]], i)
	}
	return list
}

// Sizes of blocks.
const (
	readBytes = 64 << 20 // of files, as stored, that are looked at together
	readFiles = 2000     // of these
	blocksFor = 4        // blocks for each of those that are simulated at once, so that all end at about one time
)

// limits are those of what is simulated together.
type limits struct {
	minCalls, maxCalls int // of sessions: fewer are not worth a block
	maxRows            int // which are in memory; a row takes some 4 kB
}

var usual = limits{2000, 50_000, 10_000}

// toRead divides groups of files into blocks that are looked at. Groups of a folder stay together as far as that goes.
func toRead(files []recording, groups [][]int, parallel int) []block {
	whole := make([]block, len(groups))
	var total int64
	for i, g := range groups {
		for _, at := range g {
			whole[i].Files = append(whole[i].Files, files[at])
		}
		total += whole[i].bytes()
	}
	limit := min(max(total/int64(blocksFor*parallel), 1<<20), readBytes)
	var list []block
	var b block
	var bytes int64
	for _, g := range whole {
		n := g.bytes()
		if len(b.Files) > 0 && (bytes+n > limit || len(b.Files)+len(g.Files) > readFiles) {
			list, b, bytes = append(list, b), block{}, 0
		}
		b.Files, bytes = append(b.Files, g.Files...), bytes+n
	}
	return append(list, b)
}

// toSimulate divides what is to be simulated into blocks of whole groups of files and, where these are few or large, of
// cells. weight is the number of calls of the sessions in a file, by index of the file that a session begins in; sessions
// likewise.
func (l limits) toSimulate(files []recording, groups [][]int, calls, sessions []int, cells, parallel int) []block {
	type group struct {
		files           []int
		calls, sessions int
	}
	var packed []group
	total := 0
	for _, n := range calls {
		total += n
	}
	limit := min(max(total/(blocksFor*parallel), l.minCalls), l.maxCalls)
	for _, files := range groups {
		g := group{files: files}
		for _, i := range files {
			g.calls, g.sessions = g.calls+calls[i], g.sessions+sessions[i]
		}
		if g.sessions == 0 {
			continue
		}
		last := len(packed) - 1
		if last >= 0 && packed[last].calls+g.calls <= limit && (packed[last].sessions+g.sessions)*cells <= l.maxRows {
			packed[last].files = append(packed[last].files, g.files...)
			packed[last].calls, packed[last].sessions = packed[last].calls+g.calls, packed[last].sessions+g.sessions
			continue
		}
		packed = append(packed, g)
	}
	var list []block
	for _, g := range packed {
		slices.Sort(g.files)
		var b block
		for _, i := range g.files {
			b.Files = append(b.Files, files[i])
		}
		// A block of many calls is divided by cells: it alone would be the end of the run.
		parts := min(cells, max((g.calls+limit-1)/limit, (g.sessions*cells+l.maxRows-1)/l.maxRows))
		for i := range parts {
			b.From, b.To = i*cells/parts, (i+1)*cells/parts
			list = append(list, b)
		}
	}
	return list
}

// together joins the files of sessions that share a cache.
func (l links) together(d *scenarios.Design, sessions []*traces.Session, index map[string]int) {
	for _, cohort := range d.Cohorts(sessions) {
		for _, i := range cohort {
			l.join(index[sessions[cohort[0]].Files[0]], index[sessions[i].Files[0]])
		}
	}
}

// order puts what was seen into the order of a corpus.
func order(sights []scenarios.Sight) {
	slices.SortStableFunc(sights, func(a, b scenarios.Sight) int {
		x, y := &a.Head.Session, &b.Head.Session
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.ID, y.ID))
	})
}
