package claudecode

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// entry is a record and the source it comes from.
type entry struct {
	*record
	src *source
}

// where returns the line of an entry.
func (e entry) where() assembly.Place { return assembly.Place{Source: e.src.File, Line: e.line} }

// recording is all that was found of one session, in the order of the files.
type recording struct {
	id         string
	sources    []*source
	entries    []entry
	start, end int64
}

// keeps reports whether the problems of a source belong to the recording: they
// do if its records come first in the source.
func (r *recording) keeps(src *source) bool {
	for _, e := range r.entries {
		if e.src == src {
			return e.record == &src.records[0]
		}
	}
	return false
}

// group joins the records of all sources by session, ordered by id.
func group(sources []*source) []*recording {
	byID := map[string]*recording{}
	for _, src := range sources {
		ids := sessionsOf(src)
		for i := range src.records {
			r := byID[ids[i]]
			if r == nil {
				r = &recording{id: ids[i]}
				byID[ids[i]] = r
			}
			if n := len(r.sources); n == 0 || r.sources[n-1] != src {
				r.sources = append(r.sources, src)
			}
			r.entries = append(r.entries, entry{&src.records[i], src})
		}
	}
	list := make([]*recording, 0, len(byID))
	for _, r := range byID {
		r.order()
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *recording) int { return strings.Compare(a.id, b.id) })
	return list
}

// order puts files with lines of the main conversation first, then by time and
// name, and finds the recording's span of time.
func (r *recording) order() {
	type rank struct {
		agents bool
		start  int64
		name   string
	}
	ranks := map[*source]*rank{}
	for _, e := range r.entries {
		k := ranks[e.src]
		if k == nil {
			k = &rank{agents: true, name: e.src.Name}
			ranks[e.src] = k
		}
		if e.kind != recordOther && !e.has(flagSidechain) {
			k.agents = false
		}
		if e.at != 0 {
			k.start = assembly.Earlier(k.start, e.at)
			r.start, r.end = assembly.Earlier(r.start, e.at), max(r.end, e.at)
		}
	}
	slices.SortStableFunc(r.sources, func(a, b *source) int {
		x, y := ranks[a], ranks[b]
		if x.agents != y.agents {
			if y.agents {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.start, y.start), strings.Compare(x.name, y.name))
	})
	place := map[*source]int{}
	for i, s := range r.sources {
		place[s] = i
	}
	slices.SortStableFunc(r.entries, func(a, b entry) int { return cmp.Compare(place[a.src], place[b.src]) })
}

// sessionsOf returns the session of every record of a source. Most files have
// one. In a continued file early lines may carry the id of the session they
// were copied from: ids that are linked by parents are one session, named after
// the file or else by the last id. Ids that are not linked stay apart: they are
// transcripts sent one after the other through standard input.
func sessionsOf(src *source) []string {
	ids := make([]string, len(src.records))
	linked := linkIDs(src)
	stem := fileStem(src.Name)
	names := map[int32]string{}
	for id := range src.names.list {
		root := linked.find(int32(id))
		if name := src.names.at(int32(id)); name == stem {
			names[root] = name
		}
	}
	for i := range src.records {
		r := &src.records[i]
		root := linked.find(r.session)
		if names[root] != stem && r.session != 0 {
			names[root] = src.names.at(r.session)
		}
	}
	current := int32(0)
	for i := range src.records {
		if s := src.records[i].session; s != 0 {
			current = s
			break
		}
	}
	for i := range src.records {
		if s := src.records[i].session; s != 0 {
			current = s
		}
		if ids[i] = names[linked.find(current)]; ids[i] == "" {
			ids[i] = stem
		}
	}
	return ids
}

// fileStem returns the name of a file without folder and endings.
func fileStem(name string) string {
	stem := filepath.Base(name)
	for _, s := range [...]string{".gz", ".zst", ".jsonl"} {
		stem = strings.TrimSuffix(stem, s)
	}
	return stem
}

// links is a union of session ids.
type links map[int32]int32

func (l links) find(i int32) int32 {
	for {
		up, ok := l[i]
		if !ok || up == i {
			return i
		}
		i = up
	}
}

func linkIDs(src *source) links {
	l := links{}
	ids := map[int32]bool{}
	for i := range src.records {
		if s := src.records[i].session; s != 0 {
			ids[s] = true
		}
	}
	if len(ids) < 2 {
		return l
	}
	of := map[prompt.Digest]int32{}
	for i := range src.records {
		r := &src.records[i]
		if r.session == 0 || r.uuid.IsZero() {
			continue
		}
		of[r.uuid] = r.session
		for _, uuid := range src.joined[r.joinedFrom:r.joinedTo] {
			of[uuid] = r.session
		}
		for _, parent := range [...]prompt.Digest{r.parent, r.logical} {
			if up, ok := of[parent]; ok && !parent.IsZero() {
				if a, b := l.find(up), l.find(r.session); a != b {
					l[max(a, b)] = min(a, b)
				}
			}
		}
	}
	return l
}

// stream is the lines of one conversation, branches included: the main one, or a sub-agent's.
type stream struct {
	agent   string // id of the sub-agent, "" for the main conversation
	entries []entry
	tool    prompt.Digest // tool_use that started it, if a line names it
}

// split divides the entries of a recording into streams: the main one first,
// even if it is empty, then sub-agents in order of appearance. A sub-agent
// found both in progress lines and in its own file is one stream, with the file
// first, which is complete.
func split(entries []entry) []*stream {
	s := splitter{byAgent: map[string]*stream{}, chain: map[prompt.Digest]*stream{}}
	main := s.open("")
	for _, e := range entries {
		switch {
		case e.kind == recordOther:
		case e.record.agent != 0:
			s.add(s.open(e.src.names.at(e.record.agent)), e)
		case e.has(flagSidechain):
			s.add(s.chained(e), e)
		default:
			s.add(main, e)
		}
	}
	for _, st := range s.list[1:] {
		slices.SortStableFunc(st.entries, func(a, b entry) int {
			return int(a.flags&flagProgress) - int(b.flags&flagProgress)
		})
	}
	return s.list
}

type splitter struct {
	list    []*stream
	byAgent map[string]*stream
	chain   map[prompt.Digest]*stream // sub-agents without an id, by the lines they hold
	last    *stream
}

func (s *splitter) open(agent string) *stream {
	st := s.byAgent[agent]
	if st == nil {
		st = &stream{agent: agent}
		s.byAgent[agent] = st
		s.list = append(s.list, st)
	}
	return st
}

func (s *splitter) add(st *stream, e entry) {
	if st.tool.IsZero() && e.has(flagProgress) {
		st.tool = e.record.tool
	}
	st.entries = append(st.entries, e)
}

// chained returns the stream of a sidechain line that names no agent: the stream of
// its parent, a new one for a line without parent, else the latest.
func (s *splitter) chained(e entry) *stream {
	st := s.chain[e.parent]
	switch {
	case st != nil && !e.parent.IsZero():
	case e.parent.IsZero() || s.last == nil:
		st = s.open("sidechain-" + strconv.Itoa(int(e.line)))
	default:
		st = s.last
	}
	s.last = st
	if !e.uuid.IsZero() {
		s.chain[e.uuid] = st
	}
	return st
}
