package strategies

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/signs"
)

// CompactParams are the parameters of full-compact. Sizes are tokens; each field's doc tag is its documentation.
type CompactParams struct {
	Switch        `yaml:",inline"`
	Trigger       Trigger          `yaml:"trigger" doc:"starts an automatic compaction, before any request"`
	When          when             `yaml:"when" doc:"further conditions" needs:"auto"`
	Auto          bool             `yaml:"auto" doc:"compact when the trigger fires; off, only by hand and when a prompt is refused"`
	Waits         bool             `yaml:"waits_by_model" doc:"conversations of models that the version of the client compacts by itself only where a prompt is refused are left alone until then" needs:"auto"`
	Manual        bool             `yaml:"manual" doc:"repeat the compactions a person asked for in the recording"`
	Reactive      bool             `yaml:"reactive" doc:"compact once for each request the server refuses as too long"`
	Subagents     bool             `yaml:"subagents" doc:"sub-agents compact too, each with a state of its own"`
	Barred        []string         `yaml:"barred" doc:"sources whose calls never start a compaction; without compact, a summary call begins with one, and each waits for the other" off:"[]"`
	Breaker       int              `yaml:"breaker" doc:"failures in a row, compactions that free nothing included, that stop automatic compaction on a thread; 0 for no breaker" unit:"failures" min:"0" off:"0"`
	Call          []Way            `yaml:"call" doc:"ways to make the summary call, the next one when one fails: fork, streaming, small-model, server, or none for a text of the client's own" off:"[streaming]"`
	SplitTurn     bool             `yaml:"split_turn" doc:"a turn of which the newest part stays is summarised by a call of its own, beside the call for what precedes the turn; the two summaries are one message" needs:"keep"`
	Verify        bool             `yaml:"verify" doc:"a second call of the same kind holds the summary against what it stands for"`
	Instruction   int32            `yaml:"instruction" doc:"tokens of the summarisation instruction at the end of the call" unit:"tokens" min:"0"`
	Analysis      analysis         `yaml:"analysis" doc:"what happens to the analysis before the summary: strip or keep"`
	AnalysisShare *float64         `yaml:"analysis_share" doc:"its tokens as a share of the summary's: 0 where the client asks for no analysis; null as the summariser has it" unit:"share" min:"0" max:"100"`
	Fork          forkParams       `yaml:"fork" doc:"a call on the conversation's own prefix, which it reads from the cache"`
	Streaming     streamingParams  `yaml:"streaming" doc:"a call of the session's model under another system prompt and few tools: cold"`
	SmallModel    smallModelParams `yaml:"small_model" doc:"a call of another model without thinking: cold, at its own prices"`
	TooLong       tooLongParams    `yaml:"prompt_too_long" doc:"what happens when no way of making the call fits its window"`
	Summary       SummaryText      `yaml:"summary" doc:"what the client writes around the summary"`
	Report        report           `yaml:"report" doc:"what the client takes for the size afterwards: context, or usage of the summary call"`
	Remainder     bool             `yaml:"remainder" doc:"what recordings of the client have beyond what it restores comes back too, drawn; of the reminders that open the conversation, the recorded share"`
	Attachments   attachments      `yaml:"attachments" doc:"what comes back after the summary"`
	Hooks         hookSizes        `yaml:"hooks" doc:"what hooks of the user inject"`
	Local         localParams      `yaml:"local" doc:"a text that the client composes itself, without a call"`
	Beside        besideParams     `yaml:"beside" doc:"automatic ones run beside the conversation, which goes on; their summary takes its place before the next request"`
	MinGain       float64          `yaml:"min_gain" doc:"share of the context that the summarised messages must have, 0…1; 0 for any" unit:"share" min:"0" max:"1" off:"0"`
	Smaller       bool             `yaml:"smaller" doc:"a summary that is not smaller than what it stands for is thrown away, and the compaction has failed"`
	Worth         worthParams      `yaml:"worth" doc:"refuses a compaction that does not pay back"`
	Server        serverParams     `yaml:"server" doc:"the provider's compaction on demand: on the conversation's own prefix, without an instruction of the client"`
	Keep          keepParams       `yaml:"keep" doc:"messages that stay as they are"`
	Partial       partialParams    `yaml:"partial" doc:"summarises the messages on one side of a pivot and keeps the rest"`
	Idle          idleParams       `yaml:"idle" doc:"compacts in a gap, shortly before a cache of one hour expires"`
	Rent          rentParams       `yaml:"rent" doc:"compacts when waiting has cost as much as the compaction"`
	Refill        refillParams     `yaml:"rapid_refill" doc:"stops automatic compaction when the context fills up again at once"`
	Signal        int64            `yaml:"signal_seconds" doc:"seconds between signals that keep the client's connection open during a compaction: no calls; 0 for none" min:"0"`
}

// Way is how a summary call is made.
type Way uint8

// Ways of making a summary call.
const (
	wayFork       Way = iota // on the conversation's own prefix
	wayStreaming             // under a system prompt and tools of its own
	waySmallModel            // the same with another model
	wayServer                // by the provider, on the conversation's own prefix
	wayNone                  // no call: the client composes a text
)

// Names returns the names used in YAML, by value.
func (Way) Names() []string { return []string{"fork", "streaming", "small-model", "server", "none"} }

// String returns the name used in YAML.
func (w Way) String() string { return spec.Name(w) }

// analysis is what becomes of the analysis a model writes before its summary.
type analysis bool

// The two ways to treat an analysis.
const (
	analysisStrip analysis = false // billed and thrown away
	analysisKeep  analysis = true  // part of the summary message
)

// Names returns the names used in YAML, by value.
func (analysis) Names() []string { return []string{"strip", "keep"} }

// report is what a client takes for the size of the context after a compaction.
type report bool

// The two sizes a client may report.
const (
	reportContext report = false // tokens of the new context
	reportCall    report = true  // usage of the summary call (001, fullCompact: countTotalTokens of the response)
)

// Names returns the names used in YAML, by value.
func (report) Names() []string { return []string{"context", "call"} }

// forkParams are the parameters of a call on the conversation's own prefix. The client sets no output limit: it would
// change the thinking budget, and so the key of the messages (002:101).
type forkParams struct {
	NoTools        bool  `yaml:"no_tools" doc:"leave out the tools, which come first: of the conversation's prefix nothing is read"`
	SkipCacheWrite bool  `yaml:"skip_cache_write" doc:"marker on the second-to-last message, so that the call writes nothing new"`
	Strip          bool  `yaml:"strip" doc:"leave out media and skill listings: the prefix is no longer the conversation's"`
	MaxOutput      int32 `yaml:"max_output" doc:"tokens its output is capped at, which makes its messages miss the cache; 0 for no cap" unit:"tokens" min:"0" off:"0"`
}

// streamingParams are the parameters of a call under a system prompt of its own.
type streamingParams struct {
	Head          int32 `yaml:"head" doc:"tokens of its system prompt and tools" unit:"tokens" min:"0"`
	MaxOutput     int32 `yaml:"max_output" doc:"tokens its output is capped at; 0 for the model's own limit" unit:"tokens" min:"0" off:"0"`
	Unmarked      bool  `yaml:"unmarked" doc:"without cache markers: it writes nothing"`
	Retries       int   `yaml:"retries" doc:"repetitions after a failure other than a prompt too long" min:"0" off:"0"`
	StripMedia    bool  `yaml:"strip_media" doc:"images and documents become [image], inside tool results too"`
	StripListings bool  `yaml:"strip_listings" doc:"skill listings are left out"`
	Reads         reads `yaml:"reads" doc:"what the call reads of the messages"`
}

// reads says what a call under a head of its own reads of the messages.
type reads struct {
	ResultBytes int32   `yaml:"result_bytes" doc:"bytes that are read of each tool result and each piece of thinking; 0 for all" unit:"bytes" min:"0" off:"0"`
	Texts       bool    `yaml:"clip_texts" doc:"of each prompt and of each text of the model so many bytes, too" needs:"result_bytes"`
	Newest      int32   `yaml:"newest" doc:"newest messages that are read, as many as have so many tokens; 0 for all" unit:"tokens" min:"0" off:"0"`
	Prompt      bool    `yaml:"from_prompt" doc:"of the newest, those from a prompt on: where none is among them, no call is made, or with nothing 0 it reads all" needs:"newest"`
	Nothing     int32   `yaml:"nothing" doc:"tokens of the text that then takes the place of the summary; 0 for a call that reads all" unit:"tokens" min:"0" needs:"from_prompt"`
	Chunk       float64 `yaml:"chunk" doc:"share of the window that one call reads at most; further calls read the rest, in whole messages, and their summaries are one message; 0 for one call" unit:"share" min:"0" max:"1" off:"0"`
	Text        bool    `yaml:"text_only" doc:"tool calls, their results and thinking are left out"`
	Answers     bool    `yaml:"answers" doc:"of the model's texts those beside tool calls, too" needs:"text_only"`
}

// prompt returns from where a call that begins with a prompt reads the entries [from, to): the first prompt among the newest, or
// to where none is among them.
func (r *reads) prompt(c *prompt.Context, from, to int) int {
	at := newestWithin(c, from, to, int64(r.Newest), tokensBetween)
	for at < to && c.At(at).Kind != prompt.KindPrompt {
		at++
	}
	return at
}

// shows returns the tokens that a call reads of the entries [from, to).
func (r *reads) shows(c *prompt.Context, from, to int) (n int32) {
	for i := from; i < to; i++ {
		size, has := int64(c.At(i).Tokens), c.BlockAt(i).Bytes
		if r.ResultBytes > 0 && c.At(i).Kind == prompt.KindToolResult && has > r.ResultBytes {
			size = size * int64(r.ResultBytes) / int64(has)
		}
		n += int32(size)
	}
	return n
}

// limit sets what a call reads. Where it begins with a prompt, it begins among the newest already, or reads all.
func (r *reads) limit(in *prompt.Intent) {
	in.Clip = r.ResultBytes
	if !r.Prompt {
		in.Newest = r.Newest
	}
	if r.Texts {
		in.Strip |= ask.ClipTexts
	}
	if r.Text {
		in.Strip |= ask.StripTools | ask.StripThinking
	}
	if r.Answers {
		in.Strip |= ask.StripCalling
	}
}

// smallModelParams are the parameters of a call of another model.
type smallModelParams struct {
	Model         string `yaml:"model" doc:"name of the model, as in the price table, or fast for the small one of the session's family"`
	Head          int32  `yaml:"head" doc:"tokens of its system prompt: one line" unit:"tokens" min:"0"`
	MaxOutput     int32  `yaml:"max_output" doc:"tokens its output is capped at; 0 for the model's own limit" unit:"tokens" min:"0" off:"0"`
	Retries       int    `yaml:"retries" doc:"repetitions after a failure other than a prompt too long" min:"0" off:"0"`
	StripMedia    bool   `yaml:"strip_media" doc:"images and documents become [image], inside tool results too"`
	StripListings bool   `yaml:"strip_listings" doc:"skill listings are left out"`
	StripThinking bool   `yaml:"strip_thinking" doc:"the server drops earlier thinking from a call without thinking"`
	Reads         reads  `yaml:"reads" doc:"what the call reads of the messages"`
}

// tooLongParams say how a summary call that does not fit is repeated with its
// oldest API rounds dropped, or its newest left as they are.
type tooLongParams struct {
	Retries     int     `yaml:"retries" doc:"repetitions with the oldest rounds dropped; 0 gives up at once" min:"0" off:"0"`
	GapReadable bool    `yaml:"gap_readable" doc:"the error says by how much: drop that; off, drop a share of the rounds" needs:"retries"`
	Share       float64 `yaml:"share" doc:"share of the rounds dropped when the gap is not known, at least one, 0…1" above:"0" max:"1" needs:"retries"`
	Marker      int32   `yaml:"marker" doc:"tokens of the block that says what was truncated, before a leading response" unit:"tokens" min:"0" needs:"retries"`
	StripMarker bool    `yaml:"strip_marker" doc:"take the previous marker off before grouping; off, it is the oldest group" needs:"retries"`
	Older       bool    `yaml:"older" doc:"nothing is dropped: the call is repeated over the older rounds, half as many each time, and the newer ones stay; two thirds first where the gap is below 5,000 tokens, and where it is not readable three quarters, half and three tenths of all, then one" needs:"retries"`
}

// SummaryText are the sizes of what a client writes around a summary.
type SummaryText struct {
	Header       int32 `yaml:"header" doc:"tokens that say the session continues" unit:"tokens" min:"0"`
	Pointer      int32 `yaml:"pointer" doc:"tokens that point to the full transcript; 0 for no pointer" unit:"tokens" min:"0" off:"0"`
	Continuation int32 `yaml:"continuation" doc:"tokens that tell to go on without asking, after automatic ones" unit:"tokens" min:"0"`
}

// hookSizes are the tokens that hooks of the user inject at a compaction.
type hookSizes struct {
	PreCompact   int32  `yaml:"pre_compact" doc:"tokens PreCompact hooks add to the instruction" unit:"tokens" min:"0"`
	SessionStart *int32 `yaml:"session_start" doc:"tokens SessionStart hooks add after the attachments; null as for attachments.tool_delta" unit:"tokens" min:"0" off:"0"`
	PostCompact  int32  `yaml:"post_compact" doc:"tokens PostCompact hooks add after those" unit:"tokens" min:"0"`
}

// Rules returns contradictions between the parameters.
func (p *CompactParams) Rules() []error {
	var errs []error
	if len(p.Call) == 0 {
		errs = append(errs, spec.Wrong("call", "has no way to make the summary call"))
	}
	for i, w := range p.Call {
		if slices.Contains(p.Call[:i], w) {
			errs = append(errs, spec.Wrong("call", "has %s twice", w))
		}
	}
	small := slices.Contains(p.Call, waySmallModel)
	if small && slices.Contains(p.Call, wayFork) {
		errs = append(errs, spec.Wrong("call", "is contradictory: fork shares the session model's cache, small-model cannot: choose one"))
	}
	if small && p.SmallModel.Model == "" {
		errs = append(errs, spec.Wrong("small_model.model", "is not given, and call names small-model"))
	}
	for _, source := range p.Barred {
		if !slices.Contains(sources, source) {
			errs = append(errs, spec.Wrong("barred", "has the unknown source %q; known: %v", source, sources))
		}
	}
	return append(errs, p.serverRules()...)
}

// serverRules returns the settings that contradict the way of the call, or what is kept.
func (p *CompactParams) serverRules() []error {
	var errs []error
	errs = append(errs, p.Keep.rules(p.Partial.Direction)...)
	if p.Keep.Persist != persistAlways && (p.Keep.User > 0 || p.Beside.Enabled) {
		errs = append(errs, spec.Wrong("keep.persist", "is for summaries that take the place of messages before the request: without user_tokens and beside.enabled"))
	}
	if p.Keep.Persist == persistRun {
		errs = append(errs, spec.Wrong("keep.persist", "run is not known here: always or never"))
	}
	if p.Beside.Enabled && p.Partial.Auto && p.Partial.Direction == partialFrom {
		errs = append(errs, spec.Wrong("beside.enabled", "puts the block first, and partial.direction from puts it after what stays"))
	}
	if p.Beside.Every > 0 && p.Trigger.Measure != measureSince {
		errs = append(errs, spec.Wrong("beside.every", "counts tokens behind the last summary, and trigger.measure does not: give since"))
	}
	return errs
}

// ValidateFor returns what is wrong with the parameters at a window, if the trigger is
// valid there: that what comes back reaches the trigger by itself.
func (p *CompactParams) ValidateFor(r *Reading) []error {
	if v, ok := p.Trigger.Value(r); ok && p.Auto && p.Trigger.Measure <= MeasureTokens && len(p.Trigger.ValidateFor(r)) == 0 && p.Attachments.most() >= v {
		return []error{fmt.Errorf("attachments of up to %d tokens are not below the trigger at %d", p.Attachments.most(), v)}
	}
	return nil
}

// Fires returns the trigger of automatic compactions, nil when they are off.
func (p *CompactParams) Fires() *Trigger {
	if !p.Auto {
		return nil
	}
	return &p.Trigger
}

func (p *CompactParams) level() Trigger { return p.Trigger }

// Query sources whose calls would compact for themselves (002:28).
const (
	sourceCompact       = "compact"
	sourceSessionMemory = "session_memory"
)

var sources = []string{sourceCompact, sourceSessionMemory}

func defaultCompact() CompactParams {
	return CompactParams{
		Switch: on, When: unconditional, Auto: true, Subagents: true, Breaker: 3,
		Barred: sources, Call: []Way{wayFork, wayStreaming}, Instruction: 1500,
		Fork:       forkParams{SkipCacheWrite: true},
		Streaming:  streamingParams{Head: 3000, MaxOutput: 20000, Retries: 2, StripMedia: true, StripListings: true},
		SmallModel: smallModelParams{Model: "claude-haiku-4-5", Head: 20, MaxOutput: 20000, StripMedia: true, StripListings: true, StripThinking: true},
		TooLong:    tooLongParams{Retries: 3, GapReadable: true, Share: 0.2, Marker: 12, StripMarker: true},
		Summary:    SummaryText{Header: 30, Pointer: 60, Continuation: 45},
		Partial:    partialParams{Pivot: 0.5},
		Idle:       idleParams{Share: 0.9, MinTokens: 200_000, Floor: 100_000},
		Rent:       defaultRent(),
		Worth:      defaultWorth(),
		Local:      localParams{Tokens: 500},
		Refill:     refillParams{Within: 3},
		Signal:     30,
		Attachments: attachments{
			Files:     fileBudget{Count: 5, Each: 5000, Total: 50000, OverBudget: overBudgetSkip},
			Skills:    skillBudget{Each: 5000, Total: 25000},
			Plan:      true,
			PlanMode:  300,
			AgentEach: 150,
			Listing:   4000,
		},
	}
}

// tokens returns how many tokens the client's own words have.
func (s *SummaryText) tokens(by startedBy) int32 {
	if by == startedByHand {
		return s.Header + s.Pointer
	}
	return s.Header + s.Pointer + s.Continuation
}

// around adds the client's own words to a summary message.
func (s *SummaryText) around(b prompt.Block, by startedBy) prompt.Block {
	text := s.tokens(by)
	b.Tokens += text
	b.Bytes += text * bytesPerToken
	return b
}

// apply puts the message set in place of the messages.
func (l *compact) apply(t *Turn, r *prompt.Result) Outcome {
	s, c := &l.call, t.Context
	s.count(t, l.params.Signal)
	b := Boundary{
		Manual: s.by == startedByHand, Before: int64(c.Tokens()), Chained: holdsSummary(c, s.low, s.high),
		Calls: s.made, Summarised: countMessages(c, s.low, s.high),
	}
	b.PreservedFrom, b.PreservedTo = s.preserved(c)
	if n := l.params.Keep.Again; n > 0 {
		l.again = l.params.Streaming.Reads.shows(c, newestFrom(c, s.low, s.high, n, 0, false, notPrompt), s.high)
	}
	b.Restored, b.Remainder = l.replace(t, &r.Answer)
	b.After = int64(c.Tokens())
	if l.vain = b.After >= b.Before; !l.vain && t.fits(b.After) {
		l.failures = 0
	}
	if l.params.Report == reportCall {
		b.Reported = r.Usage.Input() + r.Usage.Output
	}
	t.Count(measures.RestoredFiles, int64(b.Restored))
	if s.by == startedByIdleness {
		t.Count(measures.IdleCompactions, 1)
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// replace puts the message set in place of the entries, in the client's order, and returns the number of restored files
// and the tokens of the remainder. A full compaction keeps no messages (002:133-142); up_to has
// [summary][kept][attachments][hooks], from has [kept][summary][attachments][hooks].
func (l *compact) replace(t *Turn, a *prompt.Answer) (files int, remainder int64) {
	s, c := &l.call, t.Context
	text := l.params.summary(a, s.by)
	if l.params.Beside.Every > 0 && s.low > Body(c) {
		text = summaryBlock(a) // it goes on with the ones before
	}
	refs := []prompt.Ref{c.Arena().Add(text)}
	if l.params.Keep.Persist == persistNever {
		l.undo.take(c, s.low, s.high)
	}
	carried := t.carriedOr(&l.carried)
	carried.gather(t, s.low, s.high)
	kept := keptFiles(t, Body(c), s.low, keptFiles(t, s.high, s.end, nil))
	attached, files := l.params.Attachments.attach(t, s.low, s.high, kept, carried)
	attached = l.params.Hooks.inject(t, attached)
	attached, remainder = l.remainder(t, attached)
	if l.params.Keep.User > 0 {
		summarised := s.high
		s.low = l.params.Keep.keepUser(c, s.low, s.high)
		s.end, s.high = s.end-(summarised-s.low), s.low
	}
	if s.high == s.end {
		refs, attached = append(refs, attached...), nil
	} else {
		c.Replace(s.end, s.end, attached, prompt.CauseCompaction)
	}
	c.Replace(s.low, s.high, refs, prompt.CauseCompaction)
	switch behind := s.low + len(refs); {
	case l.params.Keep.piles() && behind < c.Len():
		l.undo.mark(c, behind, 0)
	case l.params.Keep.Persist == persistNever:
		l.undo.mark(c, s.low, len(refs))
	}
	t.InputAt = s.low + len(refs) + (s.end - s.high) + len(attached)
	if l.params.Attachments.Late {
		l.late.takeOpening(t)
	}
	return files, remainder
}

// keptFiles appends the objects of the files that the entries [from, to) show.
func keptFiles(t *Turn, from, to int, list []int32) []int32 {
	for i := from; i < to; i++ {
		if isRead(t, i) {
			list = append(list, t.Context.BlockAt(i).Object)
		}
	}
	return list
}

// inject appends what hooks of the user put after a message set: SessionStart hooks, then PostCompact hooks.
func (h *hookSizes) inject(t *Turn, refs []prompt.Ref) []prompt.Ref {
	arena := t.Context.Arena()
	if n := t.announcement(h.SessionStart, signs.AnnouncedHooks); n > 0 {
		refs = append(refs, arena.Add(reminder("SessionStart hooks", n)))
	}
	if h.PostCompact > 0 {
		refs = append(refs, arena.Add(reminder("PostCompact hooks", h.PostCompact)))
	}
	return refs
}

// summary returns the user message that carries the summary, with the client's own words around it. Unless a person
// asked for the compaction, they tell the model to go on without asking.
func (p *CompactParams) summary(a *prompt.Answer, by startedBy) prompt.Block {
	b := summaryBlock(a)
	if p.Analysis == analysisKeep && a.Output > a.Summary {
		b.Bytes = int32(int64(b.Bytes) * int64(a.Output) / int64(max(1, a.Summary)))
		b.Tokens = a.Output
	}
	if a.Around {
		return b
	}
	return p.Summary.around(b, by)
}
