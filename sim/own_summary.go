package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// ownSummary is the mean size of the summaries that a recording's client was given, tokens, as two measures that a
// recording may have: the output of the calls that wrote them, and the messages that carry them. 0 where it has neither.
type ownSummary struct {
	output  int32 // by call
	message int32 // by compaction, with what the client writes around
	text    int32 // the same of Claude Code, sized by its text
}

// ownSummaryOf measures the summaries of a session's main conversation.
func ownSummaryOf(s *traces.Session) ownSummary {
	var output, calls, message, messages int64
	for i := range s.Summaries {
		if c := &s.Summaries[i]; c.Usage.Output > 0 && s.Threads[c.Thread].Kind == traces.ThreadMain {
			output, calls = output+c.Usage.Output, calls+int64(max(1, c.Calls))
		}
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadMain && s.Variant != traces.VariantLocal {
			n, of := sealedSummaries(s, t)
			message, messages = message+n, messages+of
		}
	}
	for i := range s.Unshown {
		if c := &s.Unshown[i]; c.Summary() && c.Usage.Output > 0 && s.Threads[c.Thread].Kind == traces.ThreadMain {
			output, calls = output+c.Usage.Output, calls+1
		}
	}
	return ownSummary{output: mean(output, calls), message: mean(message, messages), text: shownSummaries(s)}
}

// sealedSummaries returns the tokens of a thread's summaries whose size recorded totals show, and how many these are. Of a
// first request some tokens are in no line; they come back with every compaction, and are no part of the summary.
func sealedSummaries(s *traces.Session, t *traces.Thread) (tokens, count int64) {
	var opening int64
	if len(t.Rounds) > 0 {
		for _, b := range s.Blocks[t.Rounds[0].Input.From:t.Rounds[0].Input.To] {
			if b.Kind == prompt.KindUnseen {
				opening += int64(b.Tokens)
			}
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != traces.EventCompact || e.Summary.Len() == 0 || s.Blocks[e.Summary.From].Flags&prompt.FlagDerived == 0 {
			continue
		}
		for _, b := range s.Blocks[e.Summary.From:e.Summary.To] {
			tokens += int64(b.Tokens)
		}
		tokens -= opening
		count++
	}
	return tokens, count
}

// shownSummaries returns the mean size of the summaries of Claude Code's main conversations, which its log shows, tokens.
func shownSummaries(s *traces.Session) int32 {
	var sum, n int64
	for i := range s.Threads {
		t := &s.Threads[i]
		for k := range t.Events {
			if e := &t.Events[k]; agents.ClaudeCode(s) && t.Kind == traces.ThreadMain && e.Kind == traces.EventCompact && e.Summary.Len() > 0 && s.Blocks[e.Summary.From].Flags&prompt.FlagDerived == 0 {
				sum, n = sum+s.Tokens(e.Summary), n+1
			}
		}
	}
	return mean(sum, n)
}

func mean(sum, n int64) int32 {
	if n == 0 || sum <= 0 {
		return 0
	}
	return int32((sum + n/2) / n)
}

// of tells a call of a strategy that is the recording's own client's how large its answer is. The answer must be
// all summary: what else a model writes is in the outputs too.
func (o *ownSummary) of(in *prompt.Intent, s *replay) {
	if o.text > 0 && s.strategy.Generation.Agent == s.session.Agent && in.Source == measures.SourceCompact.String() {
		in.Recorded, in.RecordedOutput, in.Around = o.text, o.output, true
		return
	}
	if in.Analysis == nil || *in.Analysis != 0 || s.strategy.Generation.Agent != s.session.Agent {
		return
	}
	in.RecordedOutput = o.output
	if in.Recorded, in.Around = o.message, o.message > 0; !in.Around {
		in.Recorded = o.output
	}
}

// readsSummaries reports whether two calls or more of a recording, each the first behind a compaction, read about what ends
// with the newest summary, which stayed: the program marks it, or the server keeps all prefixes.
func readsSummaries(session *traces.Session) bool {
	n := 0
	for i := range session.Threads {
		t, end := &session.Threads[i], int64(0)
		for k := range t.Events {
			e := &t.Events[k]
			if e.Kind != traces.EventCompact || int(e.Round) >= len(t.Rounds) {
				continue
			}
			if e.Summary.Len() > 0 {
				end = session.Tokens(t.Prefix) + session.Tokens(e.Summary)
			}
			if off := t.Rounds[e.Round].Usage.Read - end; end > 0 && 20*max(off, -off) <= end {
				n++
			}
		}
	}
	return n > 1
}
