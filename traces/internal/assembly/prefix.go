package assembly

import (
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

const (
	// minStatic is the smallest read of a first call that counts as the static
	// prefix: nothing shorter can be cached (Anthropic, prompt caching).
	minStatic = 1024

	// A first call of more than midContext tokens, less than 1/midVisible of which stand
	// in the transcript, continues a conversation that is not in the recording
	// (recorded: first calls have a median of 40k).
	midContext = 80_000
	midVisible = 4

	// toolsShare of the static prefix is tool definitions, the rest system prompt:
	// an assumption. No recording separates the two, and nothing simulated so far
	// changes one without the other.
	toolsShare = 0.7
)

// layPrefix makes the blocks before the first round of a thread: the static
// prefix, and the rest of the first call that no line shows. The static part is
// what the first call read from the cache; later calls do not matter, so that a
// session cut short gets the same prefix. Without a read it is the version's
// for a main thread. For a sub-agent, and where the version's is more than all that is not
// visible, it is what a call read that begins anew, else all that is not visible.
func (s *Session) layPrefix(t *Thread, summary []Block) {
	rd := &t.Calls[0]
	visible := Tokens(rd.Before) + Tokens(summary)
	static := s.defaultStatic(rd.Version)
	total := min(static+visible, MaxTokens)
	switch {
	case rd.OK:
		total = rd.context()
		static = s.staticOf(t, total, visible)
	case total < static+visible:
		s.tooLarge(rd.Place)
	}
	if static+visible > total {
		scale(total-static, rd.Before, summary)
	}
	if static > 0 {
		p := StaticPrefix{
			Agent: s.Agent, Version: rd.Version, Project: rd.Project, Kind: t.Kind, AgentType: t.AgentType, Tokens: static,
		}
		for _, b := range p.Blocks() {
			t.Ahead = append(t.Ahead, Block{Block: b})
		}
	}
	if rest := total - static - Tokens(rd.Before) - Tokens(summary); rest > 0 {
		// The client's reminders, or an unseen history. No two sessions share it: it
		// names project files and the day, and no line shows whether two are equal.
		kind := prompt.KindReminder
		if t.MidContext {
			kind = prompt.KindUnseen
		}
		t.Ahead = append(t.Ahead, Block{Block: derived(kind, restDigest(s.ID, t.ID, rest), rest)})
	}
	t.MidContext = t.MidContext || len(summary) > 0
	t.Ahead = append(t.Ahead, summary...)
}

// defaultStatic returns the format's figure for a version, 0 without one.
func (s *Session) defaultStatic(version string) int64 {
	if s.Static == nil {
		return 0
	}
	return s.Static(version)
}

// staticOf decides how much of the first call is static prefix, and whether
// the thread starts amid a conversation.
func (s *Session) staticOf(t *Thread, total, visible int64) int64 {
	rd := &t.Calls[0]
	read := rd.Read
	t.MidContext = total > midContext && visible < total/midVisible
	known := read >= minStatic && read < total
	hidden := max(0, total-visible)
	switch {
	case known && t.MidContext && s.Static != nil:
		return min(read, s.Static(rd.Version))
	case known:
		return read
	case s.Static != nil && (t.Kind == traces.ThreadMain || t.MidContext) && s.Static(rd.Version) < hidden:
		return s.Static(rd.Version)
	case t.readAnew(total) > 0:
		return t.readAnew(total)
	}
	return hidden
}

// readAnew returns the least that a call right behind a compaction read, or one of another process of the client, which are what
// begins anew behind tools and system prompt. Up to so many tokens, 0 for none.
func (t *Thread) readAnew(most int64) (least int64) {
	take := func(r int) {
		if r == 0 || r >= len(t.Calls) || !t.Calls[r].OK {
			return
		}
		if read := t.Calls[r].Read; read >= minStatic && read <= most && (least == 0 || read < least) {
			least = read
		}
	}
	for i := range t.Happened {
		if ev := &t.Happened[i]; ev.Kind == traces.EventCompact {
			take(int(ev.Round))
		}
	}
	for r := range t.Calls {
		if t.Calls[r].Signs.Has(signs.Process) {
			take(r)
		}
	}
	return least
}

// static returns the tokens of tools and system prompt that a thread begins with: a branch
// begins with its parent's, and what has come to them by the round it leaves at.
func static(t *Thread) (n int64) {
	for ; t.Kind == traces.ThreadBranch && t.Up != nil; t = t.Up {
		for r := int32(0); t.Up.headGrows && r <= t.ParentRound; r++ {
			n += headTokens(t.Up.Calls[r].Before) + int64(t.Up.Calls[r].tools)
		}
	}
	return n + headTokens(t.Ahead)
}

// headTokens returns the tokens of tools and system prompt among some blocks.
func headTokens(list []Block) (n int64) {
	for i := range list {
		if list[i].Kind.Level() != prompt.LevelMessages {
			n += int64(list[i].Tokens)
		}
	}
	return n
}

// Blocks for tokens that no line shows. A generator that makes sessions in the
// parsed form uses them too.

// StaticPrefix is the tools and system prompt of a thread.
type StaticPrefix struct {
	Agent     string
	Version   string
	Project   string
	Kind      traces.ThreadKind
	AgentType string // of a sub-agent, as the tool call names it
	Tokens    int64
}

// Blocks returns the tools and the system prompt. Their digests are equal in
// all sessions that share them.
func (p StaticPrefix) Blocks() [2]prompt.Block {
	kind := p.Kind
	if kind == traces.ThreadOrphan {
		kind = traces.ThreadAgent
	}
	d := prompt.DigestString(strings.Join([]string{
		p.Agent, p.Version, p.Project, kind.String(), p.AgentType, strconv.FormatInt(p.Tokens, 10),
	}, "\x00"))
	tools := int64(float64(p.Tokens) * toolsShare)
	return [2]prompt.Block{derived(prompt.KindTools, d, tools), derived(prompt.KindSystem, d, p.Tokens-tools)}
}

// ReminderBlock returns the block of the tokens between the static prefix and
// the first visible line of a thread.
func ReminderBlock(session, thread string, tokens int64) prompt.Block {
	return derived(prompt.KindReminder, restDigest(session, thread, tokens), tokens)
}

// UnseenBlock returns the block of the growth of a call's context that no line shows.
func UnseenBlock(call string, tokens int64) prompt.Block {
	return derived(prompt.KindUnseen, prompt.DigestString(call).ExtendInt(uint64(tokens)), tokens)
}

func restDigest(session, thread string, tokens int64) prompt.Digest {
	return prompt.DigestString(session + "\x00" + thread).ExtendInt(uint64(tokens))
}

// derived returns a block of which only the size is known.
func derived(k prompt.Kind, d prompt.Digest, tokens int64) prompt.Block {
	return Derived(k, BlockDigest(k, d), tokens)
}

// BlockDigest returns the digest of a block: the same words of a person and of
// the model are different content.
func BlockDigest(k prompt.Kind, content prompt.Digest) prompt.Digest {
	return content.ExtendInt(uint64(k))
}
