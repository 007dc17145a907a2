package claudecode

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

const (
	// minStatic is the smallest read of a first call that is taken for the
	// static prefix: nothing shorter can be cached (Anthropic, prompt caching).
	minStatic = 1024

	// A first call of more than midContext tokens, of which less than one in
	// midVisible stands in the transcript, continues a conversation that is
	// not in the recording (recorded: first calls have a median of 40k).
	midContext = 80_000
	midVisible = 4

	// toolsShare of the static prefix is tool definitions, the rest system
	// prompt. An assumption: no recording tells them apart, and nothing that
	// is simulated changes one without the other yet.
	toolsShare = 0.7
)

// staticByVersion is the static prefix (tools and system) of main threads when
// the first call read nothing that would show it: what the recordings read
// right after compactions and expiry, and on first calls of other sessions.
// Each row holds from its version on.
var staticByVersion = [...]struct {
	version string
	tokens  int64
}{
	{"2.1.50", 22_248}, // 2.1.62
	{"2.1.37", 28_204}, // 2.1.39; 25.0–28.6k in 2.1.37–2.1.49
	{"2.1.29", 16_496}, // 2.1.29, 16,606 in 2.1.33
	{"2.1.19", 28_000}, // 2.1.19
	{"2.1.13", 18_277}, // 2.1.15, 18.6k in 2.1.17
	{"2.1.6", 23_215},  // 2.1.6, 23.5k in 2.1.12
	{"2.1.0", 33_155},  // 2.1.1, 33.5k in 2.1.5
	{"2.0.0", 22_033},  // 2.0.76
	{"", 10_215},       // 1.0.17
}

func defaultStatic(version string) int64 {
	for _, row := range staticByVersion {
		if !versionLess(version, row.version) {
			return row.tokens
		}
	}
	return 0
}

// layPrefix makes the blocks ahead of the first round of a thread: the static
// prefix, and the rest of the first call that no line shows. The static part
// is what the first call read from the cache; nothing later is looked at, so
// that a session that is cut short gets the same prefix. Without a read it is
// the version's for a main thread, and for a sub-agent all that is not visible.
func (b *builder) layPrefix(t *thread, summary []block) {
	rd := &t.rounds[0]
	visible := tokens(rd.input) + tokens(summary)
	static := defaultStatic(rd.call.version)
	total := static + visible
	if rd.call.usage.ok {
		total = rd.call.context()
		static = b.staticOf(t, total, visible)
	}
	if static+visible > total {
		scale(total-static, rd.input, summary)
	}
	t.addStatic(static)
	if rest := total - static - tokens(rd.input) - tokens(summary); rest > 0 {
		t.addRest(b.rec.id, rest)
	}
	t.MidContext = t.MidContext || len(summary) > 0
	t.prefix = append(t.prefix, summary...)
}

// staticOf decides how much of the first call is static prefix, and whether
// the thread starts amid a conversation.
func (b *builder) staticOf(t *thread, total, visible int64) int64 {
	rd := &t.rounds[0]
	read := rd.call.usage.Read
	t.MidContext = total > midContext && visible < total/midVisible
	known := read >= minStatic && read < total
	hidden := max(0, total-visible)
	switch {
	case known && t.MidContext:
		return min(read, defaultStatic(rd.call.version))
	case known:
		return read
	case t.Kind == traces.ThreadMain || t.MidContext:
		return min(hidden, defaultStatic(rd.call.version))
	}
	return hidden
}

// addStatic adds tools and system. Their digests are equal in all sessions in
// which they are: same agent, version, project, kind of thread and size.
func (t *thread) addStatic(static int64) {
	if static <= 0 {
		return
	}
	c := t.rounds[0].call
	p := StaticPrefix{Version: c.version, Project: c.entry.src.names.at(c.entry.project), Kind: t.Kind, AgentType: t.agentType, Tokens: static}
	for _, b := range p.Blocks() {
		t.prefix = append(t.prefix, block{Block: b})
	}
}

// addRest adds what stands between the static prefix and the first visible
// line: the client's reminders, or an unseen history. It is a session's own:
// it tells project files and the day, and no line shows whether two are equal.
func (t *thread) addRest(session string, n int64) {
	kind := prompt.KindReminder
	if t.MidContext {
		kind = prompt.KindUnseen
	}
	t.addPrefix(kind, restDigest(session, t.ID, n), n)
}

func (t *thread) addPrefix(k prompt.Kind, d prompt.Digest, n int64) {
	t.prefix = append(t.prefix, block{Block: derivedBlock(k, d, n)})
}

// static returns the tokens of tools and system in the prefix of a thread, or
// of the one a branch leaves.
func (b *builder) static(t *thread) int64 {
	for t.Kind == traces.ThreadBranch && t.parent != nil {
		t = t.parent
	}
	var n int64
	for i := range t.prefix {
		if t.prefix[i].Kind.Level() != prompt.LevelMessages {
			n += int64(t.prefix[i].Tokens)
		}
	}
	return n
}
