package main

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
)

// links group files that belong together: each file leads to another one of its group, the first one to itself.
type links []int

func newLinks(files int) links {
	l := make(links, files)
	for i := range l {
		l[i] = i
	}
	return l
}

// root returns the first file of the group of a file.
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

// groups returns the groups of files, in the order of their first ones.
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
	readBytes = 64 << 20 // of files, as stored, read together
	readFiles = 2000     // number of these
	blocksFor = 4        // blocks per slot of the simulation, so that all slots end at about the same time
)

// limits bound what is simulated together.
type limits struct {
	minCalls, maxCalls int // of sessions: fewer calls are not worth a block
	maxRows            int // held in memory; a row takes about 4 kB
}

var usual = limits{2000, 50_000, 10_000}

// toRead divides groups of files into blocks to look at. Groups are taken in order of their names.
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

// toSimulate divides the simulation into blocks of whole groups of files and,
// where these are few or large, of cells. calls and sessions are the numbers of
// calls and sessions by file, the file in which a session begins.
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
		// A block of many calls is divided by cells, because it would end last.
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

// order sorts sights in the order of a corpus.
func order(sights []scenarios.Sight) {
	slices.SortStableFunc(sights, func(a, b scenarios.Sight) int {
		x, y := &a.Head.Session, &b.Head.Session
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.ID, y.ID))
	})
}
