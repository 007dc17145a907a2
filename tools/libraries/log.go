package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// block is a block of a message, as Anthropic's interface has it.
type block map[string]any

// writeLog writes what a library sent as a log of requests. The usage is what Anthropic's cache gives a client that marks the system
// prompt and the last message of each request of the conversation.
func writeLog(file string, list []*request) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.Create(file) //nolint:gosec // of this run
	if err != nil {
		return err
	}
	defer f.Close()
	out, c := bufio.NewWriter(f), marked{}
	for i, r := range list {
		body, err := r.body()
		if err != nil {
			return err
		}
		size, read := c.serve(r)
		usage := map[string]int{"input_tokens": size, "output_tokens": r.output}
		if !r.side {
			usage = map[string]int{"input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": max(0, size-read-3), "output_tokens": r.output}
		}
		answer := []block{{"type": "text", "text": fill(max(1, r.output), fmt.Sprint("response ", i))}}
		if next := r.reply(list[i+1:]); next != nil {
			answer = next
		}
		start := 1_790_000_000 + 20*i
		line, err := json.Marshal(map[string]any{"start": start, "end": start + 5, "request": body, "response": map[string]any{
			"id": fmt.Sprint("msg_", i), "type": "message", "role": "assistant", "model": model, "content": answer, "usage": usage,
		}})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// marked has the prefixes that ended with a marker.
type marked map[[sha256.Size]byte]bool

// lookback is how many blocks before a marker Anthropic's cache looks for a prefix (platform.claude.com, prompt caching).
const lookback = 20

// serve returns the tokens of a request and how many of them are read, and keeps its prefixes.
func (c marked) serve(r *request) (size, read int) {
	type place struct {
		chain        [sha256.Size]byte
		blocks, size int
	}
	chain := sha256.Sum256([]byte(r.head))
	places, blocks := []place{{chain, 0, r.size}}, 0
	for _, it := range r.items {
		var m message
		if json.Unmarshal([]byte(it.key), &m) == nil {
			blocks += len(m.blocks())
		}
		chain = sum(chain, it.key)
		places = append(places, place{chain, blocks, places[len(places)-1].size + it.tokens})
	}
	size = places[len(places)-1].size
	if r.side {
		return size, 0
	}
	for i, p := range places {
		if c[p.chain] && (i == 0 || blocks-p.blocks <= lookback) {
			read = p.size
		}
	}
	c[places[0].chain], c[chain] = true, true
	return size, read
}

// message is a message as drivers log it.
type message struct {
	Role, Text, For string
	Calls           [][3]string
}

// blocks returns the message's blocks.
func (m *message) blocks() (list []block) {
	if m.Role == "tool" {
		return []block{{"type": "tool_result", "tool_use_id": m.For, "content": m.Text}}
	}
	if m.Text != "" {
		list = append(list, block{"type": "text", "text": m.Text})
	}
	for _, c := range m.Calls {
		list = append(list, block{"type": "tool_use", "id": c[0], "name": c[1], "input": json.RawMessage(c[2])})
	}
	return list
}

// body returns the request as Anthropic's interface has it.
func (r *request) body() (map[string]any, error) {
	var (
		messages []map[string]any
		system   []block
	)
	if r.system != "" {
		system = []block{{"type": "text", "text": r.system}}
		if !r.side { // nothing of other calls is kept
			system[0]["cache_control"] = block{"type": "ephemeral"}
		}
	}
	for _, it := range r.items {
		var m message
		if err := json.Unmarshal([]byte(it.key), &m); err != nil {
			return nil, err
		}
		list := m.blocks()
		if m.Role == "system" {
			system = append(system, list...)
			continue
		}
		role := "user"
		if m.Role == "assistant" {
			role = m.Role
		}
		messages = append(messages, map[string]any{"role": role, "content": list})
	}
	body := map[string]any{"model": model, "max_tokens": 32_000, "messages": messages}
	if system != nil {
		body["system"] = system
	}
	if !r.side {
		body["tools"] = []block{{"name": "look", "description": fill(500, "look"), "input_schema": block{"type": "object"}}}
		if n := len(messages); n > 0 {
			if last := messages[n-1]["content"].([]block); len(last) > 0 {
				last[len(last)-1]["cache_control"] = block{"type": "ephemeral"}
			}
		}
	}
	return body, nil
}

// reply returns the response to a request of the conversation, as the next request shows it; nil where none does.
func (r *request) reply(later []*request) []block {
	for _, n := range later {
		if r.side || n.side {
			continue
		}
		for i := len(n.items) - 1; i >= 0; i-- {
			if !n.items[i].reply {
				continue
			}
			var m message
			if json.Unmarshal([]byte(n.items[i].key), &m) != nil {
				return nil
			}
			return m.blocks()
		}
		return nil
	}
	return nil
}

// mostMemory is how much memory a log may take, bytes.
const mostMemory = 4 << 30

// recorded returns what the simulator makes of a log of requests, as a share of the bill that the log has.
func recorded(ctx context.Context, file string) (float64, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return 0, err
	}
	prices, err := costmodel.Default()
	if err != nil {
		return 0, err
	}
	corpus, err := agents.Read(ctx, traces.Options{MaxMemory: mostMemory}, file)
	if err != nil {
		return 0, err
	}
	defer corpus.Close()
	run, err := (&scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{measures.StrategyRecorded}, Seed: 1}).Run(ctx, corpus)
	if err != nil {
		return 0, err
	}
	return run.Reference(measures.StrategyRecorded).Total.CostUSD() / run.Reference(measures.StrategyBilled).Total.CostUSD(), nil
}
