package opencode

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// sessions makes sessions of exports. Sub-agents' sessions are threads of the
// session that started them. Of several exports of one session the one with the
// most calls counts.
func sessions(opts *traces.Options, files []*export) []*assembly.Session {
	files = flat(files)
	best := map[string]*export{}
	for _, x := range files {
		x.Speaks(x.ID)
		x.Speaks(x.Parent)
		if old := best[x.ID]; x.ID != "" && (old == nil || len(x.thread.Calls) > len(old.thread.Calls)) {
			best[x.ID] = x
		}
	}
	made := map[string]*assembly.Session{}
	members := map[*assembly.Session][]*export{}
	var list []*assembly.Session
	for _, x := range files {
		if x.ID == "" {
			continue
		}
		if b := best[x.ID]; b != x {
			x.Problems.Add(x.Name, 0, "another export of session %s has as many calls or more; %s is read", x.ID, b.Name)
			continue
		}
		x.Loose(x.loose)
		root := x.root(best)
		s := made[root.ID]
		if s == nil {
			s = root.session(opts)
			made[root.ID] = s
			list = append(list, s)
		}
		x.join(s)
		members[s] = append(members[s], x)
	}
	for _, s := range list { // the main thread first
		for _, x := range members[s] {
			x.link(best[x.Parent], members[s])
		}
		slices.SortStableFunc(s.Threads, func(a, b *assembly.Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	}
	return list
}

// flat returns exports, with the sessions of stores in the place of these.
func flat(files []*export) (list []*export) {
	for _, x := range files {
		if x.within == nil {
			list = append(list, x)
		}
		list = append(list, x.within...)
	}
	return list
}

// root returns the export of the session that x belongs to.
func (x *export) root(all map[string]*export) *export {
	for range len(all) {
		up := all[x.Parent]
		if up == nil {
			break
		}
		x = up
	}
	return x
}

// session makes the session of a root.
func (x *export) session(opts *traces.Options) *assembly.Session {
	s := &assembly.Session{
		Format: &assembly.Format{Agent: Agent, Rates: opts.Rates, Exact: true, Onward: true},
		ID:     x.ID, Project: x.Directory,
		Start: assembly.Millis(x.Time.Created), Problems: assembly.Problems{Limit: opts.MaxProblems},
	}
	if x.Version != "" {
		s.Versions = []string{x.Version}
	}
	return s
}

// link finds the task that started a sub-agent: in the export of its parent,
// else in the first export of the session that names it.
func (x *export) link(parent *export, members []*export) {
	if x.thread.Kind != traces.ThreadAgent {
		return
	}
	if parent != nil {
		members = append([]*export{parent}, members...)
	}
	for _, up := range members {
		if d, ok := up.tasks[x.ID]; ok {
			x.thread.Starter = d
			return
		}
	}
}

// join adds a thread to its session.
func (x *export) join(s *assembly.Session) {
	if !slices.Contains(s.Files, x.File) { // of a store
		s.Files = append(s.Files, x.File)
	}
	s.Own(x.File)
	s.End, s.LoggedUSD = max(s.End, x.end), s.LoggedUSD+x.usd
	s.Threads = append(s.Threads, x.thread)
}

// texts reads the texts of exports again.
func texts(text []byte) (list []traces.Text) {
	for doc := range bytes.SplitSeq(text, []byte(between)) {
		list = append(list, textsOf(doc)...)
	}
	return list
}

// textsOf reads the texts of an export again.
func textsOf(text []byte) (list []traces.Text) {
	var x info
	f, n := assembly.Again(), 0
	_ = eachMessage(text, &x, func(v []byte, _ int) error { // as far as it is readable
		m, err := messageOf(v, f)
		if err != nil {
			return nil
		}
		list = append(list, assembly.TextsOf(userBlocks(f.Maker, m))...)
		list = append(list, assembly.TextsOf(answered(f.Maker, m, x.ID+strconv.Itoa(n)))...)
		n++
		return nil
	})
	return list
}
