package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// thresholdBounds bound the threshold of a client's automatic compactions by the rounds of conversations with a person: some fired a
// compaction, and some passed without one.
type thresholdBounds struct {
	low, high int64 // tokens: the threshold is above low and at most high, which is math.MaxInt64 without a compaction
	firings   int
	model     uint16 // of the conversation that first compacted
}

// boundsOf returns what all rounds of a session show. The order of the checks says only which compaction was the first.
func boundsOf(s *traces.Session) thresholdBounds {
	all, branches := thresholdBounds{high: math.MaxInt64}, goesBack(s)
	var first sizeCheck
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadMain || t.Kind == traces.ThreadBranch {
			checksOf(s, t, func(c sizeCheck) bool {
				if c.fired && (all.firings == 0 || branches && c.at < first.at) {
					first = c
				}
				all.add(c)
				return true
			})
		}
	}
	all.model = first.model
	return all
}

// goesBack reports whether a conversation of a session goes on from before its end.
func goesBack(s *traces.Session) bool {
	return slices.ContainsFunc(s.Threads, func(t traces.Thread) bool { return t.Kind == traces.ThreadBranch })
}

// sizeCheck is a point at which the client compares the size of a conversation with its threshold.
type sizeCheck struct {
	tokens int64
	fired  bool
	at     int64 // unix ns of the request behind it; 0 for unknown
	model  uint16
}

// eachCheck calls f with the checks of conversations with a person, in order of time, until it returns false. The size of one that fired is the
// logged count, else the last usage: with what followed, for clients that count it, and, unless the log has the calls that write summaries, a tenth more,
// as not all that follows is in a log (Codex 0.140 to 0.144 without a setting: up to 7 % less than the threshold). The size of one that did not fire is the last request, which is less than
// the client counted, or the next request where that is smaller. What was left by going back counts too, and a second conversation in one file, which is
// such a branch from the beginning.
func eachCheck(s *traces.Session, f func(sizeCheck) bool) {
	if !goesBack(s) {
		for i := range s.Threads { // in order already: nothing is collected
			if t := &s.Threads[i]; t.Kind == traces.ThreadMain && !checksOf(s, t, f) {
				return
			}
		}
		return
	}
	var list []sizeCheck
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadMain || t.Kind == traces.ThreadBranch {
			checksOf(s, t, func(c sizeCheck) bool { list = append(list, c); return true })
		}
	}
	slices.SortStableFunc(list, func(a, b sizeCheck) int { return cmp.Compare(a.at, b.at) })
	for _, c := range list {
		if !f(c) {
			return
		}
	}
}

// checksOf calls f with the checks of a thread and reports whether f always returned true.
func checksOf(s *traces.Session, t *traces.Thread, f func(sizeCheck) bool) bool {
	size, claude, next := agents.Of(s.Agent).Size, agents.ClaudeCode(s), 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		fired := int64(0)
		for ; next < len(t.Events) && int(t.Events[next].Round) <= r; next++ {
			e := &t.Events[next]
			if e.Kind == traces.EventCompact && !e.Manual && fired == 0 {
				fired = int64(e.PreTokens)
				if fired == 0 && !claude && r > 0 {
					fired = t.Rounds[r-1].Usage.Input()
					if size != facts.SizeInput {
						fired += t.Rounds[r-1].Usage.Output
					}
					if size == facts.SizeWithNew {
						for i := rd.Input.From; i < min(rd.Input.From+e.Absorbed, rd.Input.To); i++ {
							fired += int64(max(s.Blocks[i].Tokens, s.Blocks[i].Bytes/4)) // clients estimate four bytes a token
						}
						if len(s.Summaries) == 0 {
							fired += fired / 10
						}
					}
				}
			}
		}
		c := sizeCheck{tokens: fired, fired: true, at: rd.At, model: rd.Model}
		if fired == 0 && r > 0 && (size != facts.SizeAtPrompt || rd.Trigger == traces.TriggerPrompt) {
			c.tokens, c.fired = min(t.Rounds[r-1].Usage.Input(), rd.Usage.Input()), false
		}
		if c.tokens > 0 && !f(c) {
			return false
		}
	}
	return true
}

// add narrows x by a check.
func (x *thresholdBounds) add(c sizeCheck) {
	if !c.fired {
		x.low = max(x.low, c.tokens)
		return
	}
	x.firings++
	x.high = min(x.high, c.tokens)
}

// inexact is the share of a threshold that logged counts may be off.
const inexact = 0.01

// fits reports whether all that is known agrees with some threshold.
func (x *thresholdBounds) fits() bool { return float64(x.low) <= float64(x.high)*(1+inexact) }

// explainedBy reports whether a threshold explains all that is known. A client may pass its threshold now and then, so only two
// compactions show that it is larger.
func (x *thresholdBounds) explainedBy(tokens int64) bool {
	below := float64(x.high) < float64(tokens)*(1-inexact)
	above := float64(x.low) > float64(tokens)*(1+inexact) && x.firings > 1 && x.fits()
	return !below && !above
}

// A Setting is the threshold of a client's own compactions where its default does not explain the recording.
type Setting struct {
	Name    string  // as the client calls it; "" where no setting of the client gives the threshold
	Value   float64 // in the setting's own unit
	Tokens  int64   // the threshold; 0 for the default of the client
	Low     int64   // most tokens that went on without a compaction
	High    int64   // least tokens that compacted
	Firings int     // compactions that show it
	From    int64   // unix ns of the first request that it holds for; 0 for the beginning
}

// Settings are the settings of a session, in order of time: none where the default explains its compactions, or nothing does.
type Settings struct {
	List  []Setting
	Unfit bool // neither one setting nor two in turn explain the compactions
}

// ownThreshold is what the recording of a session shows of its client's automatic compactions.
type ownThreshold struct {
	Settings
	window int64 // that the settings are of, tokens
	fires  bool  // there is an automatic compaction of a main conversation
}

// SettingsOf finds the settings under which a session was recorded, given the trigger of its client's generation and the limits of its
// model. Of the settings that explain the compactions it takes the roundest, in the client's own units, else the middle of what is possible.
func SettingsOf(s *traces.Session, tr *strategies.Trigger, r *strategies.Reading) Settings {
	all := boundsOf(s)
	usual, ok := tr.Value(r)
	if !ok || all.firings == 0 || all.explainedBy(usual) {
		return Settings{}
	}
	known := agents.Of(s.Agent).Settings
	if all.fits() {
		return Settings{List: []Setting{all.setting(known, tr, r)}}
	}
	parts := [2]thresholdBounds{{high: math.MaxInt64}, {high: math.MaxInt64}}
	n, from := 0, int64(0)
	eachCheck(s, func(c sizeCheck) bool {
		with := parts[min(n, 1)]
		if with.add(c); !with.fits() {
			if n++; n > 1 {
				return false
			}
			with, from = thresholdBounds{high: math.MaxInt64}, c.at
			with.add(c)
		}
		parts[n] = with
		return true
	})
	if n != 1 || from == 0 {
		return Settings{Unfit: true}
	}
	var list []Setting
	for i := range parts {
		x := &parts[i]
		set := Setting{Low: x.low, High: x.high, Firings: x.firings}
		if !x.explainedBy(usual) {
			if x.firings < 2 { // one compaction more or less is no setting
				return Settings{Unfit: true}
			}
			set = x.setting(known, tr, r)
		}
		list = append(list, set)
	}
	list[1].From = from
	return Settings{List: list}
}

// setting returns the roundest setting that explains what is known.
func (x *thresholdBounds) setting(known []facts.Setting, tr *strategies.Trigger, r *strategies.Reading) Setting {
	found := Setting{Tokens: x.low + (x.high-x.low)/2, Low: x.low, High: x.high, Firings: x.firings}
	for _, round := range []struct{ percent, tokens int64 }{{10, 50_000}, {5, 10_000}, {1, 5000}, {1, 1000}} {
		for i := range known {
			other, limits := *tr, *r
			least, step, most := int64(1), round.tokens, r.Window
			var put func(int64)
			switch known[i].Assign {
			case "full-compact.trigger.fixed=%s":
				put = func(v int64) { other.Fixed = v }
			case "full-compact.trigger.reserve=%s":
				put = func(v int64) { other.Reserve = &v }
			case "client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=%s":
				step, most, put = round.percent, 100, func(v int64) { other.PctOverride = float64(v) }
			case "client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=%s":
				least, put = client.MinAutoWindow, func(v int64) { limits.Window = min(r.Window, v) }
			default:
				continue
			}
			for value := (least + step - 1) / step * step; value <= most; value += step {
				put(value)
				if tokens, ok := other.Value(&limits); ok && tokens > x.low && tokens <= x.high {
					found.Name, found.Value, found.Tokens = known[i].Name, float64(value), tokens
					return found
				}
			}
		}
	}
	if len(known) > 0 {
		return found
	}
	for _, step := range []int64{50_000, 10_000, 5000, 1000} { // no setting of the client is known
		if tokens := x.high / step * step; tokens > x.low {
			found.Tokens = tokens
			break
		}
	}
	return found
}

// String says what was found and how sure it is.
func (s *Setting) String() string {
	switch {
	case s.Tokens == 0:
		return "its default"
	case s.Name == "":
		return fmt.Sprintf("%s tokens", numbers.Grouped(float64(s.Tokens), 0))
	}
	return fmt.Sprintf("%s=%.0f, %s tokens", s.Name, s.Value, numbers.Grouped(float64(s.Tokens), 0))
}

// Compacted returns the model of the conversation that first compacted by itself; of a session without one its first model.
func Compacted(s *traces.Session) string {
	if x := boundsOf(s); int(x.model) < len(s.Models) {
		return s.Models[x.model]
	}
	return ""
}

// findSettings finds the settings under which the session was recorded, where the strategy is what its client does and nothing
// else says at which size it compacts.
func (s *replay) findSettings(l *Loop) {
	s.found.Settings = Settings{}
	tr := s.strategy.OwnTrigger()
	if kin := l.turn.Kin; tr == nil && kin != nil {
		tr = kin.OwnTrigger()
	}
	if tr == nil || l.config.Window > 0 || s.heads.Assembly.Variables.SetsAutoWindow() || len(s.book.Models.List) == 0 {
		return
	}
	if !s.found.fires && agents.ClaudeCode(s.session) {
		return
	}
	x := boundsOf(s.session)
	if int(x.model) >= len(s.book.Models.List) {
		return
	}
	m := s.book.Models.Of(int32(x.model))
	if m.Window != l.config.window(s.client, s.session, m.Name) {
		return // the client is set up otherwise
	}
	s.found.Settings = SettingsOf(s.session, tr, &strategies.Reading{Window: m.Window, MaxInput: m.MaxInput, MaxOutput: m.MaxOutput})
	s.found.window = m.Window
}

// limit returns the tokens at which the recording's client compacts by a setting of its own, at a time of the recording and in
// a window; 0 for its default.
func (s *replay) limit(at, window int64) (tokens int64) {
	if window != s.found.window {
		return 0
	}
	for i := range s.found.List {
		if set := &s.found.List[i]; set.From <= at || i == 0 {
			tokens = set.Tokens
		}
	}
	return tokens
}

// Client assembles the requests of a session's agent.
type Client interface {
	// Mark appends the cache markers of a request over entries to dst, in order
	// of position.
	Mark(dst []exchange.Marker, entries []prompt.Entry, m client.Marks) []exchange.Marker
	// Counting is how the client estimates what follows the last response:
	// data, so that the hot loop calls no method through an interface.
	Counting() client.Counting
	// Window is the context window the client assumes for a model, tokens; 0 where it has the windows of a catalogue.
	Window(model string) int64
}

// clientOf returns the client that recorded a session, for calls to a kind of cache.
func clientOf(s *traces.Session, cache facts.Cache) Client {
	agent := agents.Of(s.Agent)
	switch {
	case agent.ClaudeCode && !agents.Automatic(s):
		return client.ForVersion(s.Version())
	case cache == facts.CacheAutomatic && agent.ClaudeCode:
		return &client.Codex{Windows: client.ForVersion(s.Version()).Window}
	case cache == facts.CacheAutomatic && agent.Name == facts.Codex:
		return &client.Codex{Windows: func(string) int64 { return client.CodexWindow }}
	case cache == facts.CacheAutomatic:
		return &client.Codex{Size: agent.Size}
	}
	c := client.Marking(max(1, agent.Markers), agent.Size)
	c.MarksPrompt, c.MarksSummary, c.AsRecorded = agent.MarksPrompt && asksMaker(s), readsSummaries(s), true
	if agent.MarksPrompt && !c.MarksPrompt {
		c.MessageMarkers++
	}
	return c
}

// asksMaker reports whether the first call of a session asked the maker of its model, and nobody who passes calls on.
func asksMaker(s *traces.Session) bool {
	for i := range s.Threads {
		if rounds := s.Threads[i].Rounds; len(rounds) > 0 {
			return servers.CallerOf(s, &rounds[0]).Gateway == ""
		}
	}
	return true
}

// namer is a server that treats models differently and is told their names.
type namer interface {
	NameModel(id uint32, name string)
}
