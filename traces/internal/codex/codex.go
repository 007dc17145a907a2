// Package codex reads the rollouts of the Codex CLI: JSON lines of a time
// stamp, a type and a payload, one file per session.
//
// The items between two token counts are the input of a call and its reply: a
// token_count line with new totals is what makes a call.
//
// Before 0.153 a rollout does not log the ids of responses. A call is named by what
// copies of the rollout repeat: the server's id of the first item of its reply, or
// before 0.142 the reply itself, the totals so far, and the last tool call or else
// the session.
package codex

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Codex

// Describe returns what the rest of the program needs to know about Codex. It
// compacts at nine tenths of the model's window, of which its own is 95 %, and appends the instruction for a
// summary to the history.
func Describe() *facts.Agent {
	return &facts.Agent{
		Name: Agent, Title: "Codex", Member: member, Read: ReadInputs, Texts: texts,
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent}, h.From("CODEX_HOME", ".codex"), "sessions")
		},
		Cache:         func(string) facts.Cache { return facts.CacheAutomatic },
		CompactsAt:    func(_ string, l facts.Limits) int64 { return l.Window * 18 / 19 },
		Settings:      settings(),
		SummaryShares: func(_, _ string) bool { return true },
		Keeps:         facts.KeepsPrompts,
		SummaryTokens: 1430, // geometric mean of ten recorded sessions, of which one has 580 and nine have 900 to 2,600; 1,060 to 1,930 at 95 %
	}
}

// member reports whether a line belongs to a rollout: a payload after a known type.
func member(typ, name string) bool {
	if name != "payload" {
		return false
	}
	switch typ {
	case "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record":
		return true
	}
	return false
}

// DefaultRates are fitted on recorded sessions of gpt-5.5 and gpt-5.6-sol,
// growth between two calls on the bytes of tool results: 0.243–0.267 tokens a
// byte and 22–35 a result, median residual 13–21 tokens. The reply needs no
// estimate: the usage has its tokens and the tokens of its reasoning.
func DefaultRates() traces.Rates {
	r := traces.DefaultRates()
	r.PerByte[prompt.KindToolResult], r.Fixed[prompt.KindToolResult] = 0.25, 25
	r.PerByte[prompt.KindToolUse], r.Fixed[prompt.KindToolUse] = 0.27, 20
	r.PerByte[prompt.KindText] = 0.24
	r.PerByte[prompt.KindPrompt] = 0.27
	r.PerByte[prompt.KindSummary] = 0.25
	// First calls leave ≈ 0.22 a byte for the client's Markdown.
	r.PerByte[prompt.KindAttachment] = 0.22
	return r
}

// ReadInputs reads rollouts that were found already; see assembly.Reader.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	if opts.Rates == (traces.Rates{}) {
		opts.Rates = DefaultRates()
	}
	r := assembly.Reader[*rollout]{Name: Agent, Scan: scan, Sessions: sessions}
	return r.Read(ctx, opts, inputs, what)
}

// sessions makes one session of every rollout, ordered by start, then by file
// name: a call belongs to the first that has it.
func sessions(opts *traces.Options, rollouts []*rollout) []*assembly.Session {
	rollouts = slices.Clone(rollouts)
	slices.SortStableFunc(rollouts, func(a, b *rollout) int {
		return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.Name, b.Name))
	})
	named, all := map[string]int{}, family{}
	for _, ro := range rollouts {
		all[ro.id] = append(all[ro.id], ro)
	}
	owned := map[string][]*assembly.Call{}
	for _, ro := range rollouts {
		for _, c := range ro.wrotes {
			owned[c.ID] = append(owned[c.ID], c)
		}
	}
	var list []*assembly.Session
	for _, ro := range rollouts {
		if ro.Lines == 0 {
			continue
		}
		elsewhere := all.inherit(ro)
		ro.name(named)
		if ro.nothing > 0 && ro.Answered() {
			ro.Lacks(1, int(ro.nothing), "the last answer has no token counts, and what should have them has none")
		}
		loose := ro.Done(ro.id)
		for i := range ro.Calls {
			ro.Speaks(ro.Calls[i].ID)
		}
		for _, id := range ro.parents {
			ro.Speaks(id)
		}
		repeated := ro.disown(owned) - elsewhere
		if len(ro.Calls) > 0 {
			ro.Loose(loose)
		}
		ro.Began = ro.start
		s := &assembly.Session{
			Format: ro.format(opts), ID: ro.id, Versions: ro.versions, Project: ro.project, Window: ro.window,
			Variant: ro.variant(), Files: []*assembly.File{ro.File}, Start: ro.start, End: ro.until, Threads: []*assembly.Thread{ro.Thread},
			Problems: assembly.Problems{Limit: opts.MaxProblems},
		}
		s.Quality.Repeated, s.Quality.Inherited, s.Quality.LostTokens = repeated, elsewhere, ro.lost
		if n := ro.repeats; n > 2 && n > len(ro.Calls)/8 {
			ro.Lacks(n, 0, "session %s: %d answers have no token counts of their own", ro.id, n)
		}
		s.Own(ro.File)
		list = append(list, s)
	}
	return list
}

// format describes a rollout to the assembly.
func (ro *rollout) format(opts *traces.Options) *assembly.Format {
	return &assembly.Format{
		Agent: Agent, Rates: opts.Rates, Exact: true, Sealed: true, Head: ro.layHead,
		Unseen: func(call string, tokens int64) prompt.Block {
			b := newBlock(prompt.KindUnseen, []byte(call))
			b.Tokens, b.Flags, b.Bytes = int32(tokens), prompt.FlagDerived, 0
			return b.Block
		},
	}
}

// variant says how the client has its compactions made: as recorded ones were, or as it would with its provider.
func (ro *rollout) variant() string {
	local := ro.provider != "" && ro.provider != "openai"
	if ro.compacted {
		local = ro.local
	}
	if local {
		return facts.VariantLocal
	}
	return ""
}

// name gives a rollout an id that no earlier session has.
func (ro *rollout) name(named map[string]int) {
	if ro.id == "" {
		ro.id, _, _ = strings.Cut(path.Base(ro.Name), ".")
		ro.Problems.Add(ro.Name, 0, "no session_meta line; the session is named by its file")
	}
	ro.Speaks(ro.id)
	ro.id = assembly.UniqueID(named, ro.id)
}

const (
	// builtinTools is the weight of the client's own tool definitions besides the
	// instructions, tokens. Fitted with the two rates below on what the first calls
	// after compactions read (9,600 in 0.140–0.142 from the terminal, 10,624 from
	// the editor, 9,984 in 0.144): the static prefix cut to a step.
	builtinTools = 5300
	// Tokens per byte of the instructions (Markdown), and of the JSON of tools the
	// client adds: most of those are found by search and not sent.
	instructionRate = 0.22
	addedToolRate   = 0.05
	// readStep is added to the read of a first call to get the static prefix: a
	// read ends at the last step before the end of the shared prefix.
	readStep = 128
)

// layHead makes the blocks before the first round, tools and instructions.
// Their size is estimated from the session's head. When the first call read
// about as much, other sessions kept it warm and the read is the better figure.
// Sessions with the same head have equal digests.
func (ro *rollout) layHead(t *assembly.Thread) (ahead []assembly.Block) {
	first := &t.Calls[0]
	system := int64(float64(ro.head.instructions)*instructionRate + 0.5)
	static := system + builtinTools + int64(float64(ro.head.tools)*addedToolRate+0.5)
	static = min(static, assembly.MaxTokens)
	if read := first.Read + readStep; first.Read > 0 && read > static*7/8 && read < static*9/8 {
		static = max(static, read)
	}
	if first.OK {
		static = min(static, first.Input())
	}
	system = min(system, static/2)
	add := func(k prompt.Kind, n int64) {
		if n > 0 {
			d := ro.head.digest.ExtendInt(uint64(k)<<32 | uint64(n))
			ahead = append(ahead, assembly.Block{Block: assembly.Derived(k, d, n)})
		}
	}
	add(prompt.KindTools, static-system)
	add(prompt.KindSystem, system)
	return ahead
}

// settings are the settings of the Codex CLI that a simulation follows. The limit
// counts up to nine tenths of the window.
func settings() []facts.Setting {
	return []facts.Setting{{
		Name: "model_auto_compact_token_limit", Group: facts.GroupThreshold, Where: "~/.codex/config.toml",
		Snippet: "model_auto_compact_token_limit = %s", Does: "compact at %s tokens",
		Values: []string{
			"40000", "50000", "60000", "70000", "80000", "90000",
			"100000", "120000", "140000", "160000", "180000", "200000", "220000",
		},
		Below: facts.NoRoom, Above: "the client counts the limit up to nine tenths of the window",
		Assign: "full-compact.trigger.fixed=%s",
	}}
}
