package claudecode

import (
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/sim/prompt"
)

// stream is the lines of one conversation, branches included: the main one, or
// that of one sub-agent.
type stream struct {
	agent   string // id of the sub-agent, "" for the main conversation
	entries []entry
	tool    prompt.Digest // tool_use that started it, if a line tells
}

// split parts the entries of a recording into streams, the main one first
// (though it may be empty), sub-agents in order of appearance. A sub-agent
// found both in progress lines and in a file of its own is one stream, its
// file first: that one is complete.
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

// chained returns the stream of a sidechain line that names no agent: its
// parent's, a new one for a line without parent, else the latest.
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
