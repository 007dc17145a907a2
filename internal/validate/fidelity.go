package validate

import (
	"context"
	"slices"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/recall"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// The losses in the index of needs are compared with what agents did after recorded compactions and clearings: for
// each point, the strings that were known before it and are used after it, and whether a result showed them again
// before that use; and the calls that read again, search and fail to edit, compared with points of the same size
// without a loss.

// windows are the numbers of rounds after a point that are considered, 0 for all up to the next compaction.
var windows = [...]int{5, 20, 0}

// windowNames are those of windows in reports.
var windowNames = [...]string{"5", "20", "all"}

// stretch is what happened in some rounds after a point.
type stretch struct {
	Rounds   int `json:"rounds"`
	Uses     int `json:"uses"`      // strings known before the point and used again
	Lost     int `json:"lost"`      // of those, the ones not in the remaining context
	Fetched  int `json:"fetched"`   // lost ones (without a loss, all) that a result showed again before their use
	Again    int `json:"again"`     // reads of files that were read before
	Searches int `json:"searches"`  // calls that search
	Failed   int `json:"bad_edits"` // edits that failed
}

// looked is how often the agent looked for something, per 100 rounds.
func (b *stretch) looked() float64 {
	return 100 * float64(b.Again+b.Searches+b.Failed) / float64(max(1, b.Rounds))
}

func (b *stretch) add(o *stretch) {
	b.Rounds += o.Rounds
	b.Uses += o.Uses
	b.Lost += o.Lost
	b.Fetched += o.Fetched
	b.Again += o.Again
	b.Searches += o.Searches
	b.Failed += o.Failed
}

// moment is a compaction or a clearing, or a point of the same size without one.
type moment struct {
	Session string                `json:"session"`
	Thread  int32                 `json:"thread"`
	Round   int32                 `json:"round"`
	Tokens  int64                 `json:"tokens"` // of the request before
	Windows [len(windows)]stretch `json:"windows"`
	Matched [len(windows)]float64 `json:"matched"` // looks per 100 rounds at the matched points
	Points  int                   `json:"points"`  // matched
	uses    []use
}

// use is the first use of a string after a point: its kind, whether the summary or the
// rest of the context has the string, and whether a result showed it in between.
type use struct {
	kind                     recall.NeedKind
	summary, stayed, fetched bool
}

// lost reports whether nothing that remained has the string.
func (u *use) lost() bool { return !u.summary && !u.stayed }

// Fidelity is what agents did after recorded compactions and clearings.
type Fidelity struct {
	Compactions []moment             `json:"compactions"`
	Clearings   []moment             `json:"clearings"`
	Matched     int                  `json:"matched_points"` // without a loss
	Kinds       []kindFate           `json:"kinds"`          // after compactions
	All         kindFate             `json:"all_kinds"`
	Cleared     kindFate             `json:"cleared"` // after clearings, all kinds
	Rank        [len(windows)]ranked `json:"rank"`
	Brier       float64              `json:"brier"`      // of predictions by kind, from other sessions
	BrierOne    float64              `json:"brier_flat"` // of one share for all kinds, from other sessions
	Summaries   []survival           `json:"summaries"`
}

// CheckFidelity compares the index of needs with the recorded compactions and clearings of a corpus.
func CheckFidelity(ctx context.Context, corpus *traces.Corpus) (*Fidelity, error) {
	f := &Fidelity{}
	var free []moment
	kept := newKeeping()
	for _, s := range corpus.Sessions {
		x, err := needs.Build(ctx, corpus, s)
		if err != nil {
			return nil, err
		}
		for i := range s.Threads {
			t := newTrail(s, x, int32(i))
			if t == nil {
				continue
			}
			for k := range t.main.Events {
				t.event(f, &t.main.Events[k])
			}
			free = append(free, t.free()...)
		}
		if err := kept.session(ctx, corpus, s); err != nil {
			return nil, err
		}
	}
	f.Summaries = kept.survivals()
	f.match(free)
	f.fit(free)
	return f, nil
}

// trail is a main thread with the data to look back from a round.
type trail struct {
	s      *traces.Session
	x      *needs.Index
	thread int32
	main   *traces.Thread
	round  map[int32]int32 // of blocks of requests
	failed map[int32]bool  // calls whose result is an error
	cuts   []int32         // rounds of compactions and clearings
}

func newTrail(s *traces.Session, x *needs.Index, thread int32) *trail {
	t := &trail{s: s, x: x, thread: thread, main: &s.Threads[thread], round: map[int32]int32{}, failed: map[int32]bool{}}
	if t.main.Kind != traces.ThreadMain || len(x.Thread(thread)) == 0 {
		return nil
	}
	for r := range t.main.Rounds {
		in := t.main.Rounds[r].Input
		for b := in.From; b < in.To; b++ {
			t.round[b] = int32(r)
			if bl := &s.Blocks[b]; bl.Kind == prompt.KindToolResult && bl.Flags&prompt.FlagError != 0 {
				t.failed[bl.Call] = true
			}
		}
	}
	for i := range t.main.Events {
		if e := &t.main.Events[i]; e.Kind != traces.EventForget {
			t.cuts = append(t.cuts, e.Round)
		}
	}
	return t
}

// spot is where a block is, seen from a point.
type spot uint8

const (
	elsewhere spot = iota // after the point, or forgotten before
	gone                  // the agent had been told, and it was removed
	summed                // in the summary
	staying               // in what stayed or came back
)

// event adds a compaction whose summary can be read, or a clearing of known results.
func (t *trail) event(f *Fidelity, e *traces.Event) {
	if e.Round == 0 || int(e.Round) >= len(t.main.Rounds) {
		return
	}
	first := t.main.Rounds[e.Round].Input.From + e.Absorbed
	switch {
	case e.Kind == traces.EventCompact && e.Summary.Len() > 0:
		same := t.preserved(e, first)
		f.Compactions = append(f.Compactions, t.moment(e.Round, func(block int32) spot {
			r, asked := t.round[block]
			switch {
			case block >= e.Summary.From && block < e.Summary.To:
				return summed
			case block >= same && block < first, block >= first && asked && r == e.Round:
				return staying
			case block < first:
				return gone
			}
			return elsewhere
		}))
	case e.Kind == traces.EventMicrocompact && len(e.Cleared) > 0:
		since, known := since(t.main, e)
		f.Clearings = append(f.Clearings, t.moment(e.Round, func(block int32) spot {
			switch {
			case slices.Contains(e.Cleared, block):
				return gone
			case block >= since && block < first, block >= known.From && block < known.To:
				return staying
			}
			return elsewhere
		}))
	}
}

// preserved returns the first block of the messages that a compaction left unchanged, one per line; first for none.
func (t *trail) preserved(e *traces.Event, first int32) int32 {
	block, line := first, int32(0)
	for n := e.Preserved; block > 0; block-- {
		if at := t.s.Blocks[block-1].Line; at != line {
			if n--; n < 0 {
				break
			}
			line = at
		}
	}
	return block
}

// since returns the first block after the last compaction before an event, and that compaction's summary.
func since(t *traces.Thread, e *traces.Event) (block int32, summary traces.Span) {
	for i := range t.Events {
		if o := &t.Events[i]; o.Kind == traces.EventCompact && o.Round < e.Round {
			block, summary = t.Rounds[o.Round].Input.From+o.Absorbed, o.Summary
		}
	}
	return block, summary
}

// apart is the least distance of a point without a loss from a compaction or a clearing, in rounds. Assumed.
const apart = 20

// free returns points far from any compaction or clearing.
func (t *trail) free() (list []moment) {
	for r := int32(apart); int(r)+apart < len(t.main.Rounds); r += apart / 2 {
		if slices.ContainsFunc(t.cuts, func(c int32) bool { return c > r-apart && c < r+apart }) {
			continue
		}
		first := t.main.Rounds[r].Input.From
		list = append(list, t.moment(r, func(block int32) spot {
			if block < first {
				return gone
			}
			return elsewhere
		}))
	}
	return list
}

// moment returns what happened after the point before a round, up to the next compaction or clearing.
func (t *trail) moment(round int32, where func(block int32) spot) moment {
	m := moment{Session: t.s.ID, Thread: t.thread, Round: round, Tokens: t.main.Rounds[round-1].Usage.Input()}
	end := int32(len(t.main.Rounds))
	for _, c := range t.cuts {
		if c > round {
			end = min(end, c)
		}
	}
	read := map[int32]bool{}
	for r := range round {
		t.actions(r, func(b *prompt.Block) { read[b.Object] = read[b.Object] || b.Op == prompt.OpRead })
	}
	known := map[uint64]bool{} // terms used after the point
	for r := round; r < end; r++ {
		now := stretch{Rounds: 1}
		t.actions(r, func(b *prompt.Block) {
			switch {
			case b.Op == prompt.OpRead && b.Object >= 0 && read[b.Object]:
				now.Again++
			case b.Op == prompt.OpSearch:
				now.Searches++
			case b.Op == prompt.OpEdit && t.failed[b.Call]:
				now.Failed++
			}
		})
		for i, list := 0, t.x.Round(t.thread, r); i < len(list); i++ {
			n := &list[i]
			if known[n.Term] || n.Kind == recall.NeedRead {
				continue
			}
			known[n.Term] = true
			u, told := t.use(n, round, where)
			if !told {
				continue
			}
			m.uses = append(m.uses, u)
			now.Uses++
			if u.lost() {
				now.Lost++
				if u.fetched {
					now.Fetched++
				}
			}
		}
		for w, size := range windows {
			if size == 0 || r < round+int32(size) {
				m.Windows[w].add(&now)
			}
		}
	}
	return m
}

// actions calls f for the tool calls of a round's answer.
func (t *trail) actions(round int32, f func(*prompt.Block)) {
	reply := t.main.Rounds[round].Reply
	for b := reply.From; b < reply.To; b++ {
		if bl := &t.s.Blocks[b]; bl.Kind == prompt.KindToolUse {
			f(bl)
		}
	}
}

// use returns the fate of a string that is used after the point before a round,
// and whether the agent had been told it before the point.
func (t *trail) use(n *needs.Need, round int32, where func(block int32) spot) (u use, told bool) {
	u.kind = n.Kind
	for _, p := range t.x.Places(n) {
		switch where(p.Block) {
		case gone:
			told = true
		case summed:
			u.summary = true
		case staying:
			u.stayed = true
			told = told || p.Block < t.main.Rounds[round].Input.From
		case elsewhere:
			r, asked := t.round[p.Block]
			u.fetched = u.fetched || asked && r > round && t.s.Blocks[p.Block].Kind == prompt.KindToolResult
		}
	}
	return u, told
}
