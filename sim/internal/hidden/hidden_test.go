package hidden

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

const second, minute = int64(1e9), int64(60e9)

// What the read of a call tells, of 10,000 tokens that the last one had left, at a life of
// five minutes. Behind that a call finds nothing, or a prefix that others share: at least
// 1,024 tokens, the least that can be cached, and less than all. Before that it is less than
// half where the head was replaced: what others share then, or the static prefix. More than
// all behind a finished turn shows a call that no line does.
func TestWhatReadsTell(t *testing.T) {
	const life = 5 * minute
	type told struct {
		shared, static int64
		warm, hidden   habit
	}
	shrink, edit := []traces.Event{{Kind: traces.EventShrink, Round: 3}}, []traces.Event{{Kind: traces.EventMicrocompact, Round: 3}}
	for _, tc := range []struct {
		what       string
		read, wait int64
		state      unlogged
		miss       exchange.MissClass
		events     []traces.Event
		want       told
	}{
		{"expired, nothing", 0, life + 1, unlogged{}, 0, nil, told{warm: habit{no: 1}}},
		{"expired, a shared prefix", 1024, life + 1, unlogged{}, 0, nil, told{shared: 1024, warm: habit{yes: 1}}},
		{"expired, too little to be one", 1023, life + 1, unlogged{}, 0, nil, told{}},
		{"expired, all but one", 9999, life + 1, unlogged{}, 0, nil, told{shared: 9999, warm: habit{yes: 1}}},
		{"expired, all", 10_000, life + 1, unlogged{}, 0, nil, told{}},
		{"the end of its life", 0, life, unlogged{}, 0, nil, told{}},
		{"lost, least", 1024, 0, unlogged{clues: clues{lost: true}}, 0, nil, told{shared: 1024}},
		{"lost, less", 1023, 0, unlogged{clues: clues{lost: true}}, 0, nil, told{}},
		{"lost, most", 4999, 0, unlogged{clues: clues{lost: true}}, 0, nil, told{shared: 4999}},
		{"lost, half", 5000, 0, unlogged{clues: clues{lost: true}}, 0, nil, told{}},
		{"another head, least", 1024, 0, unlogged{}, exchange.MissHead, nil, told{static: 1024}},
		{"another head, less", 1023, 0, unlogged{}, exchange.MissHead, nil, told{}},
		{"altered, most", 4999, 0, unlogged{clues: clues{altered: true}}, 0, nil, told{static: 4999}},
		{"altered, half", 5000, 0, unlogged{clues: clues{altered: true}}, 0, nil, told{}},
		{"edited by the agent", 2000, 0, unlogged{}, 0, edit, told{static: 2000}},
		{"shrunk, no line says why", 2000, 0, unlogged{}, 0, shrink, told{}},
		{"behind a turn, all", 10_000, 0, unlogged{ended: true}, 0, nil, told{hidden: habit{no: 1}}},
		{"behind a turn, more", 10_001, 0, unlogged{ended: true}, 0, nil, told{hidden: habit{yes: 1}}},
		{"behind a turn, less", 9999, 0, unlogged{ended: true}, 0, nil, told{}},
		{"behind a turn, shrunk", 10_001, 0, unlogged{ended: true}, 0, shrink, told{}},
		{"amid a turn", 10_001, 0, unlogged{}, 0, nil, told{}},
	} {
		th := &Thread{Course: &course.Course{Session: &traces.Session{}, Trace: &traces.Thread{Events: tc.events}, Round: 3, Event: len(tc.events)}, of: new(Session), unlogged: tc.state}
		th.of.session = th.Session
		th.unlogged.left = 10_000
		th.compare(&traces.Round{Wait: tc.wait, Usage: prompt.Usage{Read: tc.read}}, life, tc.miss)
		u := &th.unlogged
		if got := (told{u.shared, u.static, u.warm, u.hidden[0]}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.what, got, tc.want)
		}
	}
}

// What is expected starts from the profile and moves with what is seen; one who knows
// nothing expects nothing.
func TestHabits(t *testing.T) {
	var h habit
	for _, happened := range []bool{true, true, false} {
		h.see(happened, 0.5)
	}
	// Two yes count 0.5·(0.5·1 + 1) = 0.75, one no 1.
	if h != (habit{yes: 0.75, no: 1}) {
		t.Errorf("%+v, want 0.75 and 1", h)
	}
	if got, want := h.share(0.2, 1), (0.2+0.75)/2.75; got != want {
		t.Errorf("share %v, want %v", got, want)
	}
	if got := (habit{}).share(0.2, 0); got != 0 {
		t.Errorf("share %v of nothing, want 0", got)
	}
}

// The desktop client makes a call of its own 20 s behind a turn: not ahead of a prompt that
// comes sooner, unless the person was away.
func TestSoon(t *testing.T) {
	for _, tc := range []struct {
		entry string
		wait  int64
		signs signs.Set
		want  bool
	}{
		{entryDesktop, 20*second - 1, 0, true}, {entryDesktop, 20 * second, 0, false}, {"cli", second, 0, false},
		{entryDesktop, second, signs.Away, false},
	} {
		s := &Session{session: &traces.Session{Entry: tc.entry}}
		if got := s.soon(&traces.Round{Wait: tc.wait, Signs: tc.signs}); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// onThread is a thread whose context is a system prompt of 8,000 tokens, a prompt of 500 that
// went before and one of 300 that is the round's input, with a marker on each of the first two.
func onThread(kind traces.ThreadKind, r traces.Round) (*exchange.Request, *Thread) {
	c := new(prompt.Context)
	blocks := []prompt.Block{{Kind: prompt.KindSystem, Tokens: 8000}, {Kind: prompt.KindPrompt, Tokens: 500}, {Kind: prompt.KindPrompt, Tokens: 300}}
	c.Reset(blocks, new(prompt.Arena))
	for i := range int32(3) {
		c.Append(prompt.Ref(i))
	}
	r.Input = traces.Span{From: 1, To: 3}
	s := &traces.Session{
		Start: 1000 * second, Models: []string{"m"}, Blocks: blocks,
		Threads: []traces.Thread{{Kind: kind, Prefix: traces.Span{From: 0, To: 1}, Rounds: []traces.Round{r}}},
	}
	t := &Thread{Course: &course.Course{Session: s, Trace: &s.Threads[0], Context: *c, InputAt: 2, Scores: make([]course.Score, 1)}, of: &Session{session: s}}
	q := &exchange.Request{Markers: []exchange.Marker{{Position: 0}, {Position: 1}}}
	q.Entries = t.Context.Seal()
	return q, t
}

// The breakpoint behind a system prompt of 8,000 tokens moves to where the static prefix ends:
// as the thread's reads showed, behind what all users share where a hook says so, or, for a
// main conversation, at what its first call read where that is within a tenth of the
// profile's figure, else at that figure.
func TestStaticPrefix(t *testing.T) {
	var hook profile.Set
	hook = hook.With(profile.RuleHook)
	for _, tc := range []struct {
		what                           string
		kind                           traces.ThreadKind
		rules                          profile.Set
		seen, shared, profiled, firsts int64
		want                           int32
	}{
		{"seen", traces.ThreadMain, 0, 7000, 0, 5000, 5000, -1000},
		{"seen, beyond what opens the thread", traces.ThreadMain, 0, 9000, 0, 5000, 5000, 0},
		{"a hook behind what is shared", traces.ThreadMain, hook, 0, 6000, 5000, 5000, 6000 + 700 - 8000},
		{"a hook, seen", traces.ThreadMain, hook, 7000, 6000, 5000, 5000, -1000},
		{"a hook, nothing shared", traces.ThreadMain, hook, 0, 0, 5000, 5000, -3000},
		{"shared without a hook", traces.ThreadMain, 0, 0, 6000, 5000, 5000, -3000},
		{"a tenth more", traces.ThreadMain, 0, 0, 0, 5000, 5500, -2500},
		{"a tenth less", traces.ThreadMain, 0, 0, 0, 5000, 4500, -3500},
		{"farther off", traces.ThreadMain, 0, 0, 0, 5000, 5501, -3000},
		{"farther off below", traces.ThreadMain, 0, 0, 0, 5000, 4499, -3000},
		{"the profile says nothing", traces.ThreadMain, 0, 0, 0, 0, 5501, 5501 - 8000},
		{"nothing says anything", traces.ThreadMain, 0, 0, 0, 0, 0, 0},
		{"a sub-agent", traces.ThreadAgent, 0, 0, 0, 5000, 5000, 0},
		{"an orphan", traces.ThreadOrphan, 0, 0, 0, 5000, 5000, 0},
		{"an abandoned branch", traces.ThreadBranch, 0, 0, 0, 5000, 5000, -3000},
	} {
		q, th := onThread(tc.kind, traces.Round{Usage: prompt.Usage{Read: tc.firsts}})
		th.of.rules, th.of.static = tc.rules, tc.profiled
		th.unlogged.static, th.unlogged.shared = tc.seen, tc.shared
		p := &profile.Profile{OwnSystem: profile.Estimate{Value: 700}}
		th.placeStatic(q, p)
		if got := q.Markers; got[0].Shift != tc.want || got[1].Shift != 0 {
			t.Errorf("%s: moved by %d and %d, want %d and 0", tc.what, got[0].Shift, got[1].Shift, tc.want)
		}
		q.Markers = q.Markers[1:]
		if th.placeStatic(q, p); q.Markers[0].Shift != 0 {
			t.Errorf("%s: the breakpoint on a message moved", tc.what)
		}
	}
	for _, s := range []*traces.Session{{}, {Threads: make([]traces.Thread, 1)}} {
		if got := headOf(s, 5000); got != 5000 {
			t.Errorf("a session without calls has a head of %d tokens, its version one of 5,000", got)
		}
	}
}

// A first call goes on where another session ended a turn: it reads the 8,500 tokens ahead of
// its input where no more than the life of five minutes has passed since.
func TestGoesOnFromHistory(t *testing.T) {
	const life = 5 * minute
	p := new(profile.Profile)
	for _, tc := range []struct {
		what    string
		since   int64
		round   traces.Round
		inputAt int
		want    int32
		goes    bool
	}{
		{"at once", 1, traces.Round{Signs: signs.TurnEnd}, 2, 8500, true},
		{"at the end of the life", life, traces.Round{Signs: signs.TurnEnd}, 2, 8500, true},
		{"behind it", life + 1, traces.Round{Signs: signs.TurnEnd}, 2, 0, false},
		{"by the time of the call", 0, traces.Round{Signs: signs.TurnEnd, At: 1000*second + life}, 2, 8500, true},
		{"too late by that", 0, traces.Round{Signs: signs.TurnEnd, At: 1000*second + life + 1}, 2, 0, false},
		{"no time known", 0, traces.Round{Signs: signs.TurnEnd}, 2, 0, false},
		{"amid a turn", 1, traces.Round{}, 2, 0, false},
		{"nothing ahead of it", 1, traces.Round{Signs: signs.TurnEnd}, 0, 0, false},
		{"all of it ahead", 1, traces.Round{Signs: signs.TurnEnd}, 3, 8800, true},
		{"taken out since", 1, traces.Round{Signs: signs.TurnEnd}, 4, 0, true},
	} {
		_, th := onThread(traces.ThreadMain, tc.round)
		th.Trace.Since, th.InputAt = tc.since, tc.inputAt
		if n, goes := th.history(p); n != tc.want || goes != tc.goes {
			t.Errorf("%s: %d tokens, %v; want %d, %v", tc.what, n, goes, tc.want, tc.goes)
		}
	}
}

// A session of Claude Code 2.1.268 and later that goes on with another session's context reads all of it within the life of
// what that wrote, whatever stands between (runs of 2.1.267 and 2.1.268, 2026-11-27).
func TestForkReadsWhatItCopied(t *testing.T) {
	const life = 5 * minute
	at := func(gap int64) traces.LeftBehind {
		return traces.LeftBehind{Usage: prompt.Usage{Read: 8000}, TTL: exchange.TTL5m, Gap: gap, Model: true}
	}
	other := at(0)
	other.Model = false
	for _, tc := range []struct {
		what, version string
		left          traces.LeftBehind
		goes          bool
	}{
		{"in time", "2.1.268", at(life), true},
		{"an earlier version", "2.1.267", at(life), false},
		{"too late", "2.1.268", at(life + 1), false},
		{"nobody knows when", "2.1.268", at(-1), false},
		{"another model", "2.1.268", other, false},
	} {
		_, th := onThread(traces.ThreadMain, traces.Round{})
		th.Trace.Left, th.InputAt, th.of.Version = tc.left, 2, tc.version
		if n, goes := th.history(new(profile.Profile)); goes != tc.goes || goes && n != 8500 {
			t.Errorf("%s: %d tokens, %v; want 8500 if %v", tc.what, n, goes, tc.goes)
		}
	}
}

// Results behind the marked one, 40 tokens, are not held yet, and the marker stands that far
// inside its entry; a context that shrank is found whole until it expires.
func TestDescribed(t *testing.T) {
	for _, tc := range []struct {
		what                  string
		unheld, wait          int64
		held                  bool
		shift, without, share int32
	}{
		{"held", -1, 0, true, 0, 0, 0},
		{"not held", 100, 0, true, -40, 60, 8500},
		{"none of it", 0, 5 * minute, true, -40, -40, 8500},
		{"expired", 100, 5*minute + 1, true, -40, 60, 0},
		{"switched off", 100, 0, false, 0, 0, 8500},
	} {
		q, th := onThread(traces.ThreadMain, traces.Round{Wait: tc.wait})
		th.of.Profile = &profile.Profile{Switches: profile.Switches{Unheld: tc.held}}
		th.Scores[0].Behind, th.unlogged.shrunk, th.Started = 40, true, true
		th.Describe(q, "m", tc.unheld)
		r := q
		if r.Markers[1].Shift != tc.shift || r.Markers[0].Shift != 0 || r.Unheld != tc.without || r.Shared != tc.share {
			t.Errorf("%s: moved by %d, %d not held, %d shared; want %+v", tc.what, r.Markers[1].Shift, r.Unheld, r.Shared, tc)
		}
		q.Markers = nil
		if th.Describe(q, "m", tc.unheld); tc.unheld > 0 && r.Unheld != tc.without {
			t.Errorf("%s: %d not held without a marker", tc.what, r.Unheld)
		}
	}
}

// Behind another address than the vendor's the client marks the results of parallel calls in whatever order they came (Claude Code 2.1.332 on a
// loopback server): a call that wrote them all shows that the next one will.
func TestResultsThatWereWritten(t *testing.T) {
	for _, tc := range []struct {
		uncached int64
		shift    int32
	}{{3, 0}, {400, -400}, {900, -400}} {
		q, th := onThread(traces.ThreadMain, traces.Round{})
		th.of.Profile = &profile.Profile{Switches: profile.Switches{Unheld: true}}
		th.Scores[0].Behind, th.Started = 400, true
		th.Learn(&traces.Round{Usage: prompt.Usage{Uncached: tc.uncached, Write5m: 1000}}, exchange.MissNone)
		if th.Describe(q, "m", 0); q.Markers[1].Shift != tc.shift {
			t.Errorf("behind a call that left %d uncached the marker moves by %d, want %d", tc.uncached, q.Markers[1].Shift, tc.shift)
		}
	}
}

// A simulation of another setting finds at its start what the recording found; the plain prediction, a sub-agent, and a call without counts do not.
func TestFirstCallFindsWhatTheRecordingFound(t *testing.T) {
	for name, tc := range map[string]struct {
		model Model
		kind  traces.ThreadKind
		usage prompt.Usage
		want  bool
	}{
		"simulated":   {Model{Found: true}, traces.ThreadMain, prompt.Usage{Read: 7000, Write5m: 10}, true},
		"cold":        {Model{Found: true}, traces.ThreadMain, prompt.Usage{Write5m: 7010}, true},
		"predicted":   {Model{}, traces.ThreadMain, prompt.Usage{Read: 7000}, false},
		"blind":       {Model{Found: true, Blind: true}, traces.ThreadMain, prompt.Usage{Read: 7000}, false},
		"elsewhere":   {Model{Found: true, Abroad: true}, traces.ThreadMain, prompt.Usage{Read: 7000}, false},
		"a sub-agent": {Model{Found: true}, traces.ThreadAgent, prompt.Usage{Read: 7000}, false},
		"no counts":   {Model{Found: true}, traces.ThreadMain, prompt.Usage{}, false},
	} {
		_, th := onThread(tc.kind, traces.Round{Usage: tc.usage})
		th.of.Model = tc.model
		if n, ok := th.of.recordedFirst(th.Course, th.Context.Seal()); ok != tc.want || ok && int64(n) != tc.usage.Read {
			t.Errorf("%s: %d, %v; want %d, %v", name, n, ok, tc.usage.Read, tc.want)
		}
	}
}

// The recorded call found 8,600 tokens: the system prompt of 8,000, the first prompt of 500 and 100 of the second. A request in which
// a layer has shortened the first prompt, or taken it out, can find no more than the 8,000 ahead of the change.
func TestFirstCallOfAShortenedRequestFindsWhatIsAhead(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(c *prompt.Context)
		want int32
	}{
		"whole": {func(*prompt.Context) {}, 8600},
		"divided": {func(c *prompt.Context) { // the client's own head, in two parts: all that was found is found
			tools, system := prompt.Block{Kind: prompt.KindTools, Tokens: 5000}, prompt.Block{Kind: prompt.KindSystem, Tokens: 3000}
			c.Replace(0, 1, []prompt.Ref{c.Arena().Add(tools), c.Arena().Add(system)}, prompt.CauseHead)
		}, 8600},
		"shortened": {func(c *prompt.Context) { c.SetForm(1, prompt.FormCleared, 400, prompt.CauseEdit) }, 8000},
		"taken out": {func(c *prompt.Context) { c.Replace(1, 2, nil, prompt.CauseEdit) }, 8000},
	} {
		_, th := onThread(traces.ThreadMain, traces.Round{Usage: prompt.Usage{Read: 8600, Write5m: 200}})
		th.of.Model = Model{Found: true}
		tc.edit(&th.Context)
		if n, ok := th.of.recordedFirst(th.Course, th.Context.Seal()); !ok || n != tc.want {
			t.Errorf("%s: found %d, %v; want %d", name, n, ok, tc.want)
		}
	}
}

// What the first call of a conversation reads is what others share, where it is no less than
// can be cached.
func TestFirstReadIsShared(t *testing.T) {
	for read, want := range map[int64]int64{1023: 0, 1024: 1024} {
		_, th := onThread(traces.ThreadMain, traces.Round{})
		th.of.Profile = new(profile.Profile)
		if th.Learn(&traces.Round{Usage: prompt.Usage{Read: read}}, exchange.MissNone); th.unlogged.shared != want {
			t.Errorf("a read of %d: %d shared, want %d", read, th.unlogged.shared, want)
		}
	}
}

// What was seen fades alike, whichever way it went, and a prior counts for as many
// observations as it is told to.
func TestHabitFades(t *testing.T) {
	h := habit{yes: 1, no: 1}
	if h.see(true, 0.5); h != (habit{yes: 1.5, no: 0.5}) {
		t.Errorf("%+v, want 1.5 and 0.5", h)
	}
	if got := h.share(0.5, 2); got != 2.5/4 {
		t.Errorf("share %v, want 2.5 of 4", got)
	}
}

// What is as likely as not is expected; where things are drawn, what is sure happens and what
// is impossible does not.
func TestWhatIsExpected(t *testing.T) {
	for _, tc := range []struct {
		draw  bool
		share float64
		want  bool
	}{{false, 0.5, true}, {false, 0.49, false}, {true, 1, true}, {true, 0, false}} {
		th := &Thread{Course: new(course.Course), of: &Session{Model: Model{Draw: tc.draw}}}
		if got := th.expects(0, tc.share); got != tc.want {
			t.Errorf("a share of %g, drawn %v: %v", tc.share, tc.draw, got)
		}
	}
}

// The lifetime of a thread is the lifetime of its last write; a call that wrote nothing tells nothing.
func TestLifetimeThatWritesTell(t *testing.T) {
	_, th := onThread(traces.ThreadMain, traces.Round{})
	th.of.Profile = new(profile.Profile)
	for i, tc := range []struct {
		usage prompt.Usage
		want  exchange.TTL
	}{
		{prompt.Usage{Write1h: 5}, exchange.TTL1h}, {prompt.Usage{Read: 5}, exchange.TTL1h},
		{prompt.Usage{Write5m: 5}, exchange.TTL5m}, {prompt.Usage{Read: 5}, exchange.TTL5m},
	} {
		if th.Learn(&traces.Round{Usage: tc.usage}, exchange.MissNone); th.unlogged.ttl != tc.want {
			t.Errorf("call %d: %v, want %v", i, th.unlogged.ttl, tc.want)
		}
	}
}

// A first call that reads as much as a head may be of its context shows the session's own head.
func TestHeadOfAShortSession(t *testing.T) {
	for read, want := range map[int64]int64{8000: 8000, 8001: 1000} {
		s := &traces.Session{Threads: []traces.Thread{{Rounds: []traces.Round{{Usage: prompt.Usage{Read: read, Uncached: 10_000 - read}}}}}}
		if got := headOf(s, 1000); got != want {
			t.Errorf("%d of 10,000 read: a head of %d, want %d", read, got, want)
		}
	}
}

// The head of a session is what its first call read, where that can be one: of a
// version with 20,000 tokens, 17,000 are a part that others share, 18,000 are near,
// 30,000 of 40,000 stand for who has more tools, 35,000 for an earlier conversation.
func TestHeadOfASession(t *testing.T) {
	for read, want := range map[int64]int64{0: 20_000, 17_000: 20_000, 18_000: 18_000, 30_000: 30_000, 35_000: 20_000} {
		s := &traces.Session{Threads: []traces.Thread{{Rounds: []traces.Round{{Usage: prompt.Usage{Read: read, Write5m: 40_000 - read}}}}}}
		if got := headOf(s, 20_000); got != want {
			t.Errorf("a first read of %d: a head of %d tokens, want %d", read, got, want)
		}
	}
}

// A branch begins with what its parent knows; what the server held of the branch's own request changes nothing of that.
func TestHeldOfABranch(t *testing.T) {
	held, branch := onThread(traces.ThreadBranch, traces.Round{Usage: prompt.Usage{Read: 9000}})
	branch.Session.Summed = true
	parent := []prompt.Ref{7}
	branch.unlogged.unsent = parent
	q := *held
	q.Entries = slices.Clone(q.Entries)
	q.Entries[2].Kind = prompt.KindUnseen
	branch.ReadHeld(&q)
	if want := q.Entries[2].Block; parent[0] != 7 || !slices.Equal(branch.unlogged.unsent, []prompt.Ref{want}) {
		t.Errorf("the parent has block %d and the branch %v, want 7 and [%d]", parent[0], branch.unlogged.unsent, want)
	}
}

// A call beside the conversation reads 300 of 1,000 tokens that the server held: the other 700 are left out of its bill, and not the
// 50 behind them.
func TestHeldInPart(t *testing.T) {
	_, th := onThread(traces.ThreadMain, traces.Round{})
	th.unlogged.unsent = []prompt.Ref{5}
	u := prompt.Usage{Read: 400, Write5m: 750}
	th.LeaveOut([]prompt.Entry{{Block: 4, Tokens: 100, Cum: 100}, {Block: 5, Tokens: 1000, Cum: 1100}, {Block: 6, Tokens: 50, Cum: 1150}}, &u)
	if u != (prompt.Usage{Read: 400, Write5m: 50}) {
		t.Errorf("%+v, want 400 tokens read and 50 written", u)
	}
}

// The head reaches as far as its breakpoint, inside the entry or behind it; a context without
// one has none.
func TestTokensOfTheHead(t *testing.T) {
	q, th := onThread(traces.ThreadMain, traces.Round{})
	q.Markers[0].Shift, q.Markers[1].Shift = -100, 7
	if got := th.headTokens(q); got != 7900 {
		t.Errorf("%d tokens, want 7,900", got)
	}
	th.Context.Replace(0, 1, nil, prompt.CauseHead)
	if got := th.headTokens(q); got != 0 {
		t.Errorf("%d tokens without a head", got)
	}
}

// How a thread is served is learnt from calls that read more than the first did, which others
// may keep warm, of the same model, and whose context nobody acted on.
func TestWhatACallTellsOfItsServing(t *testing.T) {
	const input = 20_000
	event := func(round int32) []traces.Event { return []traces.Event{{Kind: traces.EventCompact, Round: round}} }
	rounds := []traces.Round{2: {Reply: traces.Span{From: 5, To: 6}}, 3: {}}
	for name, tc := range map[string]struct {
		first  int64
		model  uint16
		events []traces.Event
		learns bool
	}{
		"more than the first":       {first: 1000, learns: true},
		"as much as the first":      {first: plainRead(input)},
		"less than the first":       {first: plainRead(input) + 1},
		"another model":             {first: 1000, model: 1},
		"compacted":                 {first: 1000, events: event(3)},
		"compacted a round earlier": {first: 1000, events: event(2), learns: true},
		"its last reasoning left":   {first: 1000, events: []traces.Event{{Kind: traces.EventForget, Round: 3, Cleared: []int32{5}}}, learns: true},
	} {
		session := &traces.Session{Models: []string{"deepseek-v4-flash", "deepseek-v4-pro"}}
		th := &Thread{of: &Session{session: session}, Course: &course.Course{Session: session, Trace: &traces.Thread{Events: tc.events, Rounds: rounds}, Round: 3, Event: len(tc.events)}}
		th.automatic.models = []seen{{first: tc.first, input: input}, {model: 1, first: tc.first, input: input}}
		th.learnServed(&traces.Round{Model: tc.model, Usage: prompt.Usage{Read: plainRead(input)}})
		if got := th.automatic.of(tc.model).fits[0] > 0; got != tc.learns {
			t.Errorf("%s: learns %v, want %v", name, got, tc.learns)
		}
	}
}

// plainRead is what a request reads of so many tokens under the first grid of deepseek-v4-flash, multiples of 128 tokens.
func plainRead(tokens int64) int64 { return tokens / 128 * 128 }

// A copy of a run learns of its own calls alone: it leaves what the run itself knows as it is.
func TestCopyLearnsApart(t *testing.T) {
	session := &traces.Session{Models: []string{"deepseek-v4-flash"}}
	run := &Thread{of: &Session{session: session}, Course: &course.Course{Session: session, Trace: new(traces.Thread)}}
	run.learnServed(&traces.Round{Usage: prompt.Usage{Read: 1280, Uncached: 8720}})
	apart := new(Thread)
	apart.CopyFrom(run)
	apart.learnServed(&traces.Round{Usage: prompt.Usage{Read: 9984, Uncached: 2000}})
	if got := run.automatic.of(0); got.input != 10_000 || got.fits[0] != 0 {
		t.Errorf("the run knows a call of %d tokens, want 10,000; %v reads explained", got.input, got.fits)
	}
}

// What is known of where calls go is found once for each model and gateway: of six calls one is for another model, one goes through a
// gateway, and one is for another model than the recording's.
func TestRoutesAreFoundOnce(t *testing.T) {
	s := &Session{session: &traces.Session{Agent: "pi", Models: []string{"gpt-5.4", "deepseek-v4-pro"}, Tools: []string{"", signs.NameGateway.Of("github-copilot")}}}
	for _, call := range []struct {
		round traces.Round
		model string
	}{
		{traces.Round{}, "gpt-5.4"}, {traces.Round{}, "gpt-5.4"}, {traces.Round{Model: 1}, "deepseek-v4-pro"}, {traces.Round{Gateway: 1}, "gpt-5.4"},
		{traces.Round{}, "deepseek-v4-pro"}, {traces.Round{}, "gpt-5.4"},
	} {
		to := s.routeOf(&call.round, call.model)
		if want := servers.ServingOf(servers.CallerOf(s.session, &call.round), call.model); to.serving != want || to.fitted != want {
			t.Errorf("%+v for %s is served by %+v, want %+v", call.round, call.model, *to, want)
		}
	}
	if len(s.routes) != 4 {
		t.Errorf("%d routes, want 4", len(s.routes))
	}
}
