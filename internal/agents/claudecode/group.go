package claudecode

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// entry is a record and the source it comes from.
type entry struct {
	*record
	src *source
}

// recording is all that was found of one session, in the order of its files.
type recording struct {
	id         string
	sources    []*source
	entries    []entry
	start, end int64
	foreign    map[string]bool // calls that an earlier session owns
}

// keeps reports whether the recording answers for the problems of a source:
// the one whose records come first in it does.
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
			k = &rank{agents: true, name: e.src.name}
			ranks[e.src] = k
		}
		if e.kind != recordOther && !e.has(flagSidechain) {
			k.agents = false
		}
		if e.at != 0 {
			k.start = earlier(k.start, e.at)
			r.start, r.end = earlier(r.start, e.at), max(r.end, e.at)
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

// earlier returns the earlier of two times, of which 0 is unknown.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// sessionsOf returns the session of every record of a source. Most files hold
// one. In a continued file early lines may carry the id of the session they
// were copied from: ids that are linked by parents are one session, which goes
// by the name of the file or else by the last id. Ids that are not linked stay
// apart: transcripts sent one after the other through standard input.
func sessionsOf(src *source) []string {
	ids := make([]string, len(src.records))
	linked := linkIDs(src)
	stem := fileStem(src.name)
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

// fileStem is the name of a file without folder and endings.
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

// own decides which session a call belongs to that several have: the one that
// began first, and of those the one that ended first, since a continuation
// outlives what it continues.
func own(recordings []*recording) {
	order := slices.Clone(recordings)
	slices.SortStableFunc(order, func(a, b *recording) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), strings.Compare(a.id, b.id))
	})
	owner := map[string]*recording{}
	for _, r := range order {
		for _, e := range r.entries {
			if e.kind != recordAssistant {
				continue
			}
			id := e.src.callID(e.record)
			if first := owner[id]; first == nil {
				owner[id] = r
			} else if first != r {
				if r.foreign == nil {
					r.foreign = map[string]bool{}
				}
				r.foreign[id] = true
			}
		}
	}
}

// callID returns the id of the call a response line belongs to. Ids made up
// for lines without one are kept apart by file.
func (src *source) callID(r *record) string {
	id := src.names.at(src.answers[r.answer].id)
	if strings.HasPrefix(id, "line-") {
		return src.name + ":" + id
	}
	return id
}
