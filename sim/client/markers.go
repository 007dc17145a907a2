package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// TTL says which lifetime the client requests.
type TTL struct {
	Choice     string   `yaml:"choice" enum:"recorded,5m,1h,policy" doc:"recorded (what the recording asked for at that call), 5m, 1h, or policy. The policy: employees, and subscribers who are not in overage, get 1h for sources on the list, everybody else 5m; Bedrock with ENABLE_PROMPT_CACHING_1H_BEDROCK gets 1h for all. The variables of env come first."` // 000:125-185
	Source     string   `yaml:"source" enum:"repl_main_thread,sdk" needs:"choice=policy" doc:"What the client calls the main conversation: repl_main_thread or sdk."`
	Employee   bool     `yaml:"employee" needs:"choice=policy" doc:"The user is one of the provider's own people."`
	Subscriber bool     `yaml:"subscriber" needs:"choice=policy" doc:"The user has a subscription."`
	Overage    bool     `yaml:"overage" needs:"choice=policy" doc:"Above the plan's quota from the start; events flip it (overage)."`
	Allow      []string `yaml:"allow" needs:"choice=policy" doc:"Sources that get 1h; a * at the end matches any rest. Sub-agents are agent:builtin, summary calls count as the conversation they are made for. 2.1.240 has [repl_main_thread*, sdk, auto_mode, memdir_relevance]."`
	Latch      bool     `yaml:"latch" needs:"choice=policy" doc:"What is first found out about the user holds for the session. Off, an overage flips the lifetime (what that costs depends on server.ttl_in_key)."`
}

// Values of TTL.Choice.
const (
	choiceRecorded = "recorded"
	Choice5m       = "5m"
	Choice1h       = "1h"
	ChoicePolicy   = "policy"
)

// sourceCompact is the source of summary calls, which count as the conversation they serve.
const sourceCompact = "compact"

// sourceAgent is the source of a sub-agent's own calls (000:164: agent:*).
const sourceAgent = "agent:builtin"

// DefaultTTL keeps what the recording asked for. Under policy the user is a
// subscriber inside the plan, with the allow-list of 000:161-165.
func DefaultTTL() TTL {
	return TTL{
		Choice: choiceRecorded, Source: "repl_main_thread", Subscriber: true,
		Allow: []string{"repl_main_thread*", "sdk", "agent:*"}, Latch: true,
	}
}

// Latch is the state of a session: whether its user may have 1h entries, once that has been asked.
type Latch struct{ known, eligible bool }

// Ask is a call whose markers need a lifetime.
type Ask struct {
	Source   string       // of the call; "" for the conversation's own
	Agent    bool         // the conversation is a sub-agent's
	Recorded exchange.TTL // what the recorded call requested
	Overage  bool         // the user has exceeded the plan's quota
	Lifetime ask.Lifetime
}

// Lifetime returns the lifetime a call requests. Variables come first: forcing 5m has precedence over the settings of a
// lifetime, which have precedence over requesting 1h (the order of the settings is assumed, the order of the variables
// is E2). Then comes the opt-in of Bedrock, then what the caller wants for its short forks, then the choice.
func (a *Assembly) Lifetime(v *Variables, k Ask, latch *Latch) exchange.TTL {
	set := v.main
	if k.Agent {
		set = v.agents
	}
	t := &a.TTL
	switch {
	case v.force5m:
		return exchange.TTL5m
	case set != "":
		return class(set == Choice1h)
	case v.enable1h:
		return exchange.TTL1h
	case t.Choice == ChoicePolicy && a.Provider == ProviderBedrock && v.bedrock1h:
		return exchange.TTL1h // no allow-list, and short forks too
	case k.Lifetime == ask.Lifetime5m, k.Lifetime == ask.Lifetime1h:
		return class(k.Lifetime == ask.Lifetime1h)
	case t.Choice == Choice5m, t.Choice == Choice1h:
		return class(t.Choice == Choice1h)
	case t.Choice != ChoicePolicy:
		return k.Recorded
	}
	if !latch.known || !t.Latch {
		latch.known = true
		latch.eligible = a.Provider == ProviderFirstParty && (t.Employee || v.employee || t.Subscriber && !k.Overage)
	}
	return class(latch.eligible && t.allows(k))
}

// AsksAsRecorded reports whether requests of a conversation, or of a sub-agent, ask for the lifetimes that the recorded ones asked for.
func (a *Assembly) AsksAsRecorded(v *Variables, agent bool) bool {
	set := v.main
	if agent {
		set = v.agents
	}
	return a.TTL.Choice == choiceRecorded && !v.force5m && !v.enable1h && set == ""
}

func class(long bool) exchange.TTL {
	if long {
		return exchange.TTL1h
	}
	return exchange.TTL5m
}

// allows reports whether the source of a call is on the allow-list.
func (t *TTL) allows(k Ask) bool {
	source := k.Source
	switch {
	case source != "" && source != sourceCompact:
	case k.Agent:
		source = sourceAgent
	default:
		source = t.Source
	}
	for _, pattern := range t.Allow {
		if prefix, any := strings.CutSuffix(pattern, "*"); any && strings.HasPrefix(source, prefix) || source == pattern {
			return true
		}
	}
	return false
}

// Rules returns the errors that no tag expresses.
func (t *TTL) Rules() []error {
	var errs []error
	for _, pattern := range t.Allow {
		if i := strings.IndexByte(pattern, '*'); pattern == "" || i >= 0 && i < len(pattern)-1 {
			errs = append(errs, spec.Wrong("allow", "%q: a source, with a * at its end at most", pattern))
		}
	}
	return errs
}

// Marks is how the markers of one request are placed.
type Marks struct {
	TTL exchange.TTL
	// SecondToLast puts the message marker on the last block of the second-to-last
	// message, for forks that must not write the cache.
	SecondToLast bool
	// None puts no marker anywhere.
	None bool
	// Head are the markers before the messages, in order of position; none for one after the last entry there.
	Head []exchange.Marker
	// Recorded are the breakpoints of the recorded request, nil where the client's own rule holds; Lifetimes says that their
	// lifetimes count, and not TTL.
	Recorded  *traces.Breakpoints
	Lifetimes bool
}

// Mark appends the markers of a request over entries to dst, in order of position: those before the messages, then
// those on messages. If there are more than a request may carry, the first ones are left out: assumed.
func (c *ClaudeCode) Mark(dst []exchange.Marker, entries []prompt.Entry, m Marks) []exchange.Marker {
	if m.None {
		return dst
	}
	if c.AsRecorded && m.Recorded != nil {
		return m.recorded(dst, entries, c.MarksSummary)
	}
	if c.MessageMarkers < 0 {
		return dst
	}
	messages := 0
	for messages < len(entries) && entries[messages].Kind.Level() != prompt.LevelMessages {
		messages++
	}
	if head := m.Head; len(head) > 0 {
		for _, k := range head[max(0, len(head)+c.MessageMarkers-exchange.MaxMarkers):] {
			k.TTL = m.TTL
			dst = append(dst, k)
		}
	} else if messages > 0 {
		dst = append(dst, exchange.Marker{Position: int32(messages - 1), TTL: m.TTL, Scope: c.SystemScope})
	}
	last := markable(entries, len(entries)-1, messages)
	if last < messages {
		return dst
	}
	for i := last; c.MarksPrompt && i >= messages; i-- {
		if k := entries[i].Kind; k == prompt.KindPrompt || k == prompt.KindSummary {
			return append(dst, exchange.Marker{Position: int32(i), TTL: m.TTL})
		}
	}
	if c.MarksSummary && len(dst)+max(1, c.MessageMarkers) < exchange.MaxMarkers {
		if i := slices.IndexFunc(entries[messages:last], isSummary); i >= 0 {
			dst = append(dst, exchange.Marker{Position: int32(messages + i), TTL: m.TTL})
		}
	}
	if !m.SecondToLast && c.MessageMarkers < 2 {
		return append(dst, exchange.Marker{Position: int32(last), TTL: m.TTL})
	}
	if p := markable(entries, endOfSecondToLast(entries, messages), messages); p >= messages {
		dst = append(dst, exchange.Marker{Position: int32(p), TTL: m.TTL})
	}
	if !m.SecondToLast {
		dst = append(dst, exchange.Marker{Position: int32(last), TTL: m.TTL})
	}
	return dst
}

func isSummary(e prompt.Entry) bool { return e.Kind == prompt.KindSummary }

// markable returns the last position from i back that can carry a marker:
// thinking cannot (platform.claude.com, prompt caching).
func markable(entries []prompt.Entry, i, messages int) int {
	for i >= messages && entries[i].Kind == prompt.KindThinking {
		i--
	}
	return i
}

// endOfSecondToLast returns the position of the last block of the second-to-last message, or messages−1 when there is
// one message only. Adjacent entries of one role are one message.
func endOfSecondToLast(entries []prompt.Entry, messages int) int {
	i := len(entries) - 1
	assistant := entries[i].Kind.Assistant()
	for i >= messages && entries[i].Kind.Assistant() == assistant {
		i--
	}
	return i
}

// recorded appends the breakpoints of the recorded request, placed over entries, to dst. One whose place the entries do not have is
// left out; of several at one place the last one counts. Where a request may carry one more, it is behind the first summary if summary is set.
func (m *Marks) recorded(dst []exchange.Marker, entries []prompt.Entry, summary bool) []exchange.Marker {
	from, messages := len(dst), 0
	for messages < len(entries) && entries[messages].Kind.Level() != prompt.LevelMessages {
		messages++
	}
	head := len(m.Head) > 0
	for _, k := range m.Head {
		k.TTL = m.TTL
		dst = append(dst, k)
	}
	for _, p := range m.Recorded.At[:m.Recorded.N] {
		k := exchange.Marker{TTL: m.TTL}
		if m.Lifetimes {
			k.TTL = p.TTL
		}
		switch {
		case p.Level != prompt.LevelMessages && head:
			continue
		case p.Level != prompt.LevelMessages:
			k.Position, k.Shift = inHead(entries[:messages], &p)
		case p.Start:
			k.Position = int32(markable(entries, min(len(entries), messages+int(p.Block))-1, messages))
		default:
			k.Position = int32(markable(entries, fromEnd(entries, messages, &p, m.SecondToLast), messages))
		}
		if k.Position < 0 || p.Level == prompt.LevelMessages && int(k.Position) < messages {
			continue
		}
		dst = append(dst, k)
	}
	if i := slices.IndexFunc(entries, isSummary); summary && i >= 0 && len(dst)-from < exchange.MaxMarkers {
		dst = slices.Insert(dst, from, exchange.Marker{Position: int32(i), TTL: m.TTL}) // of two at one place the recorded one counts
	}
	list := dst[from:]
	slices.SortStableFunc(list, func(a, b exchange.Marker) int { return cmp.Compare(a.Position, b.Position) })
	n := 0
	for i, k := range list {
		if i+1 < len(list) && list[i+1].Position == k.Position {
			continue
		}
		list[n] = k
		n++
	}
	over := max(0, n-exchange.MaxMarkers)
	return append(dst[:from], list[over:n]...)
}

// inHead returns the entry that a breakpoint in tools or system prompt is in or behind, -1 for none, and its place from the end of
// the entry, tokens.
func inHead(head []prompt.Entry, p *traces.Breakpoint) (position, shift int32) {
	first, n := 0, 0
	for n < len(head) && head[n].Kind.Level() <= p.Level {
		if head[n].Kind.Level() < p.Level {
			first = n + 1
		}
		n++
	}
	if p.Share >= 1 || first == n {
		return int32(n) - 1, 0
	}
	before := int32(0)
	if first > 0 {
		before = head[first-1].Cum
	}
	total := head[n-1].Cum - before
	at := before + int32(float64(total)*float64(p.Share))
	for i := first; i < n; i++ {
		if off := at - head[i].Cum; off <= total/nearEnd {
			if off >= -total/nearEnd {
				off = 0
			}
			return int32(i), off
		}
	}
	return int32(n) - 1, 0
}

// nearEnd is the part of tools or system prompt, one in so many tokens, by which a breakpoint may miss the end of an entry and
// still be taken to stand there: sizes are whole tokens by bytes.
const nearEnd = 100

// fromEnd returns the position of a breakpoint that is counted from the last message, or one message earlier; before the messages
// where they are too few.
func fromEnd(entries []prompt.Entry, messages int, p *traces.Breakpoint, earlier bool) int {
	i, left := len(entries)-1, int(p.Message)
	if earlier {
		left = max(left, 1)
	}
	for ; left > 0 && i >= messages; left-- {
		for said := entries[i].Kind.Assistant(); i >= messages && entries[i].Kind.Assistant() == said; {
			i--
		}
	}
	return i - int(p.Block)
}
