package main

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// secondOpinion bills what was sent by the simulator's own cache model, and returns an error that names the first call for
// which it and the server of the experiment, which share no line, do not agree.
func secondOpinion(list []sent, rows []callRow) error {
	marked := promptcache.New(promptcache.Config{})
	automatic := promptcache.NewOpenAI(promptcache.OpenAIConfig{Retention: int64(30 * time.Minute),
		Serving: func(string) exchange.Serving { return exchange.Serving{Step: chunkTokens} }})
	models := map[string]uint32{}
	var parts []part
	for i, s := range list {
		parts = append(parts[:s.Same:s.Same], s.Then...)
		if _, ok := models[s.Model]; !ok {
			models[s.Model] = uint32(len(models))
			automatic.NameModel(models[s.Model], s.Model)
		}
		r := exchange.Request{Model: models[s.Model], MinTokens: int32(leastTokens(s.Model))}
		if s.Key != "" { // of one key, one thread
			r.Owner = uint32(prompt.DigestString(s.Key).Lo)
		}
		var chain prompt.Digest
		sum := int32(0)
		for k, p := range parts {
			chain = chain.Extend(prompt.DigestString(p.Hash))
			sum += int32(p.Tokens)
			e := prompt.Entry{Chain: chain, Cum: sum, Tokens: int32(p.Tokens), ID: int32(k), Kind: prompt.KindPrompt}
			switch p.Run {
			case 'u':
				e.Kind = prompt.KindToolUse
			case 'r':
				e.Kind = prompt.KindToolResult
			}
			r.Entries = append(r.Entries, e)
			if p.TTL > 0 {
				m := exchange.Marker{Position: int32(k)}
				if p.TTL > 300 {
					m.TTL = exchange.TTL1h
				}
				r.Markers = append(r.Markers, m)
			}
		}
		at := s.At * int64(time.Millisecond)
		u := rows[i].Usage
		if s.Key != "" {
			out := automatic.Begin(at, &r)
			automatic.FirstToken(at, out.Ticket)
			automatic.End(at, out.Ticket, int64(u.Output))
			// The model sees whole blocks, the server chunks: where a request leaves an earlier one amid a block, the server reads more.
			if next := within(parts, out.Usage.Read); int64(u.Read) < out.Usage.Read || int64(u.Read) > out.Usage.Read+next+chunkTokens {
				return fmt.Errorf("call %d: the server read %d tokens, the model %d, with %d in the block behind", i+1, u.Read, out.Usage.Read, next)
			}
			continue
		}
		out := marked.Begin(at, &r)
		marked.FirstToken(at, out.Ticket)
		marked.End(at, out.Ticket, int64(u.Output))
		got := usage{int(out.Usage.Uncached), int(out.Usage.Read), int(out.Usage.Write5m), int(out.Usage.Write1h), u.Output}
		if got != u {
			return fmt.Errorf("call %d: the server bills %+v, the model %+v", i+1, u, got)
		}
	}
	return nil
}

// within returns the tokens of the block that a prefix of some tokens ends in.
func within(parts []part, tokens int64) int64 {
	for _, p := range parts {
		if tokens -= int64(p.Tokens); tokens < 0 {
			return int64(p.Tokens)
		}
	}
	return 0
}
