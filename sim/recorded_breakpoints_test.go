package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// exact is a cache as Anthropic documents it: a request writes at its breakpoints, reads from the longest written prefix up to 20 blocks
// behind one of them, and every use renews an entry's lifetime. A token is four bytes.
type exact map[string]exactEntry

type exactEntry struct{ until, life int }

type exactMark struct {
	behind int // so many blocks
	life   int // seconds
}

// usage serves blocks at a second.
func (c exact) usage(at int, blocks []string, marks []exactMark) map[string]any {
	cum, keys := []int{0}, []string{""}
	for _, b := range blocks {
		cum, keys = append(cum, cum[len(cum)-1]+len(b)/4), append(keys, keys[len(keys)-1]+"\x00"+b)
	}
	hit := 0
	for i := len(marks) - 1; i >= 0 && hit == 0; i-- {
		for k := marks[i].behind; k > max(0, marks[i].behind-20) && hit == 0; k-- {
			if e, ok := c[keys[k]]; ok && e.until >= at {
				hit, c[keys[k]] = k, exactEntry{at + e.life, e.life}
			}
		}
	}
	end, hour := hit, hit // of what is written at all, and for an hour
	for _, m := range marks {
		if e := c[keys[m.behind]]; m.behind > hit && cum[m.behind] >= 1024 || e.until >= at {
			c[keys[m.behind]] = exactEntry{at + m.life, m.life}
		}
		if m.behind > hit && cum[m.behind] >= 1024 {
			if end = m.behind; m.life == 3600 {
				hour = m.behind
			}
		}
	}
	short, long := cum[end]-cum[hour], cum[hour]-cum[hit]
	return map[string]any{
		"input_tokens": cum[len(blocks)] - cum[end], "cache_read_input_tokens": cum[hit], "cache_creation_input_tokens": short + long,
		"cache_creation": map[string]int{"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
	}
}

// A placement says where a request of a conversation has breakpoints: T behind tools, t behind the first tool, S behind the system prompt,
// s behind its first block, 0, 2 … behind the last message or the one so many earlier, F behind the first message, A for the whole
// request. A capital H ahead of one is an hour.
var recordedPlacements = []string{"", "T", "S", "0", "S0", "20", "A", "TS20", "HSA", "HS0", "tS0", "sS0", "SF0", "42", "S|S0", "0|"}

// Breakpoints of request logs are simulated where their bodies have them, in both lifetimes and both forms of bodies: what is billed under an
// exact cache is what `recorded` costs, within 3 %.
func TestRecordedBreakpoints(t *testing.T) {
	c := testConfig(t, "recorded")
	for _, placement := range recordedPlacements {
		for _, ttl := range []string{"5m", "1h"} {
			for _, chat := range []bool{false, true} {
				if chat && strings.ContainsAny(placement, "AsH") {
					continue
				}
				name := fmt.Sprintf("%q %s chat %t", placement, ttl, chat)
				folder := t.TempDir()
				if err := os.WriteFile(filepath.Join(folder, "log.jsonl"), []byte(markedLog(placement, ttl, chat)), 0o600); err != nil {
					t.Fatal(err)
				}
				corpus, err := agents.Read(context.Background(), traces.Options{}, folder)
				if err != nil {
					t.Fatal(err)
				}
				if len(corpus.Sessions) != 1 || corpus.NumProblems > 0 {
					t.Fatalf("%s: %d sessions, %v", name, len(corpus.Sessions), corpus.Sessions[0].Problems)
				}
				s := corpus.Sessions[0]
				billed := Billed(s, c.Prices, time.Time{})
				row, err := NewLoop(c).Run(s)
				if err != nil {
					t.Fatal(err)
				}
				want, got := billed.CostByClass().Total(), row.CostByClass().Total()
				if math.Abs(got-want) > 0.03*want {
					t.Errorf("%s: recorded $%.4f, billed $%.4f (%+.1f %%)", name, got, want, 100*(got/want-1))
				}
				corpus.Close()
			}
		}
	}
}

// markedLog returns the log of a conversation of ten prompts with a call of a tool each. A pause of seven minutes lies in it, and one of 70.
func markedLog(placement, ttl string, chat bool) string {
	var log strings.Builder
	draw := rand.New(rand.NewPCG(7, 7))
	words := func(n int) string { return strings.Repeat(fmt.Sprintf("%07x ", draw.Uint32()>>4), n/2) }
	control := func(hour bool) map[string]string {
		switch {
		case hour:
			return map[string]string{"type": "ephemeral", "ttl": "1h"}
		case ttl == "1h":
			return map[string]string{"type": "ephemeral", "ttl": ttl}
		}
		return map[string]string{"type": "ephemeral"}
	}
	life := func(hour bool) int {
		if hour || ttl == "1h" {
			return 3600
		}
		return 300
	}
	tools, system, answers := []string{words(900), words(1500)}, []string{words(1100), words(2100)}, 0
	cache := exact{}
	var roles, texts []string // of messages
	at := 1_790_000_000
	for call := range 20 {
		switch call {
		case 8:
			at += 420
		case 14:
			at += 4200
		default:
			at += 30
		}
		role := "user"
		if call%2 == 1 {
			role = "tool"
		}
		roles, texts = append(roles, role), append(texts, words(400+draw.IntN(2500)))
		places := strings.Split(placement, "|")
		place, hour := places[call%len(places)], false
		var marks []exactMark
		marked, top := map[string]any{}, any(nil)
		for _, p := range place {
			if p == 'H' {
				hour = true
				continue
			}
			n, key := 4+len(texts), string(p)
			switch p {
			case 'T', 't', 'S', 's':
				n = strings.IndexRune("tTsS", p) + 1
			case 'F':
				n, key = 5, "m0"
			case 'A':
				top = control(hour)
			default:
				if n -= int(p - '0'); n < 5 {
					continue
				}
				key = fmt.Sprint("m", n-5)
			}
			if marked[key] == nil {
				marks = append(marks, exactMark{n, life(hour)})
			}
			marked[key], hour = control(hour), false
		}
		blocks := append(append(append([]string{}, tools...), system...), texts...)
		usage := cache.usage(at, blocks, marks)
		request := markedRequest(roles, texts, tools, system, marked, chat)
		if top != nil {
			request["cache_control"] = top
		}
		answer := fmt.Sprintf("answer %d ", answers) + words(40+2*call)
		content := []any{map[string]any{"type": "text", "text": answer}}
		if answers++; call%2 == 0 {
			answer = fmt.Sprintf(`{"path":"file %d %s"}`, call, words(30+2*call))
			content = []any{map[string]any{"type": "tool_use", "id": fmt.Sprint("call", (len(texts)+1)/2), "name": "look", "input": json.RawMessage(answer)}}
		}
		usage["output_tokens"] = len(answer) / 4
		roles, texts = append(roles, "assistant"), append(texts, answer)
		line, err := json.Marshal(map[string]any{"start": at, "end": at + 3, "request": request, "response": map[string]any{
			"id": fmt.Sprint("r", call), "model": "claude-sonnet-4-5", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage,
		}})
		if err != nil {
			panic(err)
		}
		log.Write(append(line, '\n'))
	}
	return log.String()
}

// markedRequest returns a request of messages, in the form of chat completions or of Anthropic's interface. marked has the cache markers by
// place: t and T are the tools, s and S the parts of the system prompt, and m0 the first message.
func markedRequest(roles, texts, tools, system []string, marked map[string]any, chat bool) map[string]any {
	with := func(key string, m map[string]any) map[string]any {
		if marked[key] != nil {
			m["cache_control"] = marked[key]
		}
		return m
	}
	text := func(key, s string) []any { return []any{with(key, map[string]any{"type": "text", "text": s})} }
	request := map[string]any{"model": "claude-sonnet-4-5", "max_tokens": 1000}
	var messages []any
	for i, s := range texts {
		key, id := fmt.Sprint("m", i), fmt.Sprint("call", i/2)
		switch {
		case roles[i] == "user" || chat && roles[i] == "assistant" && i%4 == 3:
			messages = append(messages, map[string]any{"role": roles[i], "content": text(key, s)})
		case roles[i] == "tool" && chat:
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": id, "content": text(key, s)})
		case roles[i] == "tool":
			messages = append(messages, map[string]any{"role": "user", "content": []any{with(key, map[string]any{"type": "tool_result", "tool_use_id": id, "content": s})}})
		case i%4 == 1 && chat:
			messages = append(messages, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"id": fmt.Sprint("call", (i+1)/2), "type": "function", "function": map[string]any{"name": "look", "arguments": s}}}})
		case i%4 == 1:
			messages = append(messages, map[string]any{"role": "assistant", "content": []any{with(key, map[string]any{
				"type": "tool_use", "id": fmt.Sprint("call", (i+1)/2), "name": "look", "input": json.RawMessage(s)})}})
		default:
			messages = append(messages, map[string]any{"role": "assistant", "content": text(key, s)})
		}
	}
	head := []any{with("s", map[string]any{"type": "text", "text": system[0]}), with("S", map[string]any{"type": "text", "text": system[1]})}
	if chat {
		request["messages"] = append([]any{map[string]any{"role": "system", "content": head}}, messages...)
		request["tools"] = []any{
			with("t", map[string]any{"type": "function", "function": map[string]any{"name": "look", "description": tools[0]}}),
			map[string]any{"type": "function", "function": with("T", map[string]any{"name": "find", "description": tools[1]})},
		}
	} else {
		request["messages"], request["system"] = messages, head
		request["tools"] = []any{with("t", map[string]any{"name": "look", "description": tools[0]}), with("T", map[string]any{"name": "find", "description": tools[1], "cache_control": nil})}
	}
	return request
}
