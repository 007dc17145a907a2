package main

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// hookedSession returns a recording of so many turns: a prompt of 300 tokens, a
// tool call, its result of 1,000 to which a hook added context, an answer. Each
// response has 200 tokens; 18,000 stand ahead of the first prompt. At the prompts
// the recording reads all that the turn before left, or, where it falls, only what
// stood ahead of the hooked call.
func hookedSession(id, version string, turns int, falls bool) *traces.Session {
	s := &traces.Session{
		ID: id, Agent: facts.ClaudeCode, Versions: []string{version}, Files: []string{id + ".jsonl"},
		Start: time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC).UnixNano(), Tools: []string{"", "Read"},
		Models:  []string{"claude-opus-4-6"},
		Threads: []traces.Thread{{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}},
	}
	t := &s.Threads[0]
	block := func(k prompt.Kind, tokens int32) *prompt.Block {
		i := len(s.Blocks)
		s.Blocks = append(s.Blocks, prompt.Block{
			Kind: k, Tokens: tokens, Bytes: 3 * tokens, Object: -1, Line: int32(i + 1), Digest: prompt.DigestString(fmt.Sprint(id, i)),
		})
		return &s.Blocks[i]
	}
	span := func(fill func()) traces.Span {
		from := int32(len(s.Blocks))
		fill()
		return traces.Span{From: from, To: int32(len(s.Blocks))}
	}
	t.Prefix = span(func() { block(prompt.KindTools, 12_000); block(prompt.KindSystem, 6000) })
	round := func(r traces.Round, total, read int64) {
		r.ID, r.At, r.First, r.Stream = fmt.Sprint(id, len(t.Rounds)), s.Start, 1e9, 2e9
		r.Usage = prompt.Usage{Read: read, Write5m: total - read, Output: 200}
		t.Rounds = append(t.Rounds, r)
	}
	total, ahead := int64(18_000), int64(0)
	for i := range turns {
		read := total - 200
		if total += 300; i == 0 {
			read = 0
		} else if falls {
			read = ahead
		}
		asked := traces.Round{Trigger: traces.TriggerPrompt, Wait: 60e9}
		asked.Input = span(func() { block(prompt.KindPrompt, 300) })
		use := int32(i + 1)
		asked.Reply = span(func() { block(prompt.KindText, 100); block(prompt.KindToolUse, 100).Call = use })
		round(asked, total, read)
		ahead = total
		ran := traces.Round{Trigger: traces.TriggerToolResult, Wait: 1e9, Signs: signs.Hook}
		ran.Input = span(func() { block(prompt.KindToolResult, 1000).Call = use })
		ran.Reply = span(func() { block(prompt.KindText, 200) })
		total += 1200
		round(ran, total, ahead)
		total += 200
	}
	return s
}

// Of three sessions of six turns each the five prompts behind a hook fall in the two
// of one epoch and not in the other: the trial says so to the call, and the rule holds in
// the first alone. A prompt that falls writes 1,200 tokens for $6.25 a million that
// it else reads for $0.50: $0.0345 a session. Of the other session one counts, as no
// other agrees, and elsewhere the rule does not hold: it held in one epoch alone. The order of the sessions does not matter, and what base knew is gone.
func TestFitFindsWhereARuleHolds(t *testing.T) {
	base := &profile.Profile{
		Epochs:   []string{"2.1.0", "2.1.100", "2.1.200"},
		Evidence: profile.Evidence{"resume": {{From: "2.1.0", Calls: 9, Gained: 9}}},
	}
	falls, stays := hookedSession("falls", "2.1.120", 6, true), hookedSession("stays", "2.1.240", 6, false)
	too := hookedSession("falls too", "2.1.121", 6, true)
	want := profile.Evidence{"tool_hook": {
		{From: "2.1.100", Calls: 10, Gained: 10, Saved: 0.069}, {From: "2.1.200", Calls: 5, Lost: 1, Saved: -0.0345},
	}}
	for _, sessions := range [][]*traces.Session{{falls, too, stays}, {stays, too, falls}} {
		p := fitOn(t, validatetest.Cell(t), base, sessions)
		if !reflect.DeepEqual(p.Evidence, want) {
			t.Errorf("evidence %+v, want %+v", p.Evidence, want)
		}
		for version, holds := range map[string]bool{"2.1.120": true, "2.1.240": false, "2.1.5": false} {
			if got := p.RulesFor(version).Has(profile.RuleHook); got != holds {
				t.Errorf("the rule holds at %s: %v, want %v", version, got, holds)
			}
		}
		if p.Force != 0 || p.Forbid != 0 {
			t.Errorf("the profile forces %b and forbids %b, want neither", p.Force, p.Forbid)
		}
	}
}

// What gains in one session alone counts once and is not adopted.
func TestOneSessionIsNoEvidence(t *testing.T) {
	base := &profile.Profile{Epochs: []string{"2.1.100"}}
	sessions := []*traces.Session{hookedSession("falls", "2.1.120", 6, true), hookedSession("stays", "2.1.120", 1, false)}
	p := fitOn(t, validatetest.Cell(t), base, sessions)
	want := profile.Evidence{"tool_hook": {{From: "2.1.100", Calls: 5, Gained: 1, Saved: 0.0345}}}
	if !reflect.DeepEqual(p.Evidence, want) || p.RulesFor("2.1.120") != 0 {
		t.Errorf("evidence %+v, want %+v", p.Evidence, want)
	}
}

// Learn adopts a rule for clients that the profile has no recordings of, tried on
// the sessions at hand.
func TestLearnTriesRulesOfUnknownVersions(t *testing.T) {
	base := &profile.Profile{Epochs: []string{"2.1.100"}}
	sessions := []*traces.Session{hookedSession("one", "2.1.120", 6, true), hookedSession("two", "2.1.121", 6, true)}
	p, learned, err := learning.Learn(context.Background(), validatetest.Cell(t), base, sessions, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := learning.Learned{Epochs: []string{"2.1.100"}, Rules: []string{"tool_hook from 2.1.100"}, Of: 2}
	if !reflect.DeepEqual(learned, want) || !p.RulesFor("2.1.120").Has(profile.RuleHook) || len(base.Evidence) > 0 {
		t.Errorf("learned %+v, want %+v", learned, want)
	}
}

// With the evidence every call but the first is predicted to the token.
func TestFittedRulesPredict(t *testing.T) {
	sessions := []*traces.Session{
		hookedSession("falls", "2.1.120", 6, true), hookedSession("falls too", "2.1.121", 6, true),
		hookedSession("stays", "2.1.240", 6, false),
	}
	base := &profile.Profile{Epochs: []string{"2.1.100", "2.1.200"}}
	p := fitOn(t, validatetest.Cell(t), base, sessions)
	r, err := validate.Run(context.Background(), validate.Options{Config: validatetest.Cell(t).WithProfile(p)}, sessions)
	if err != nil {
		t.Fatal(err)
	}
	if r.Score.Calls != 33 || *r.Exact != 1 || *r.Naive.Exact != 23.0/33 {
		t.Errorf("%d calls, %g exact, %g by the naive rule; want 33, all, and all but the 10 that fall",
			r.Score.Calls, *r.Exact, *r.Naive.Exact)
	}
}
