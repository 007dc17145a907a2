package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// counts are what a line of a transcript says of its call, and changes to it.
type counts map[string]any

func (u counts) count(name string) float64 { v, _ := u[name].(float64); return v }

// read makes a call read so much of what it read and write the rest, for as long as it wrote.
func (u counts) read(tokens float64) {
	was := u.count("cache_read_input_tokens")
	if was <= tokens {
		return
	}
	u["cache_read_input_tokens"] = tokens
	u.write(u.count("cache_creation_input_tokens") + was - tokens)
}

// write sets what a call writes.
func (u counts) write(tokens float64) {
	u["cache_creation_input_tokens"] = tokens
	if split, ok := u["cache_creation"].(map[string]any); ok {
		hour, _ := split["ephemeral_1h_input_tokens"].(float64)
		u.split(tokens, hour > 0)
	}
}

func (u counts) split(tokens float64, hour bool) {
	now := map[string]any{"ephemeral_5m_input_tokens": tokens, "ephemeral_1h_input_tokens": 0.0}
	if hour {
		now = map[string]any{"ephemeral_5m_input_tokens": 0.0, "ephemeral_1h_input_tokens": tokens}
	}
	u["cache_creation"] = now
}

func (u counts) total() float64 {
	return u.count("input_tokens") + u.count("cache_read_input_tokens") + u.count("cache_creation_input_tokens")
}

// brokenText is a transcript while it is broken: the calls seen, and what a break remembers.
type brokenText struct {
	calls map[string]*brokenCall
	*brokenCall
	line map[string]any
	out  *bytes.Buffer

	agents     string        // the model of sub-agents whose lines are within others; "" for theirs
	later      time.Duration // by which what follows is moved
	gone, last float64       // by compaction at 70k: tokens that were summarised, and the last context
	more       float64       // by longer responses: tokens that the last response is longer by
}

// brokenCall is a call of a transcript, which may have several lines.
type brokenCall struct {
	id    string
	n     int           // from 0
	pause time.Duration // before it
	seen  bool
	gone  float64 // before it
	fresh float64 // tokens by which the response before it is longer
	cut   bool    // a compaction is just before it
}

// gateBreak is a way in which a client or a cache breaks, and what a report must call it.
type gateBreak struct {
	name  string
	edit  func(s *brokenText, u counts)
	words string
}

func gateBreaks() []gateBreak {
	const lost = "calls within the lifetime did not read what was cached, and no line of the log says for sure why"
	return []gateBreak{
		{"reads lost in half the calls", func(s *brokenText, u counts) {
			if s.n%2 == 1 {
				u.read(0)
			}
		}, lost},
		{"reads lost in 2 % of calls", func(s *brokenText, u counts) {
			h := fnv.New32a()
			fmt.Fprint(h, s.id)
			if h.Sum32()%50 == 0 {
				u.read(0)
			}
		}, lost},
		{"head changes each call", func(s *brokenText, u counts) { u.read(8000) }, "something before the messages changes with every call"},
		{"five minutes for an hour", func(s *brokenText, u counts) {
			split, _ := u["cache_creation"].(map[string]any)
			if hour, _ := split["ephemeral_1h_input_tokens"].(float64); hour > 0 || u.count("cache_creation_input_tokens") == 0 {
				if s.pause > 5*time.Minute {
					u.read(15_000)
				}
				u.split(u.count("cache_creation_input_tokens"), false)
			}
		}, "writes for an hour, "},
		{"compaction at 70k", compactAt70k, "tokens before a compaction: "},
		{"5 % more counts", func(_ *brokenText, u counts) {
			more := func(of map[string]any) {
				for name, v := range of {
					if n, ok := v.(float64); ok && strings.HasSuffix(name, "tokens") {
						of[name] = float64(int(1.05*n + 0.5))
					}
				}
			}
			more(u)
			if split, ok := u["cache_creation"].(map[string]any); ok {
				more(split)
				hour, _ := split["ephemeral_1h_input_tokens"].(float64)
				short, _ := split["ephemeral_5m_input_tokens"].(float64)
				u["cache_creation_input_tokens"] = hour + short
			}
		}, "the same calls count "},
		{"conversations on a model twice as dear", func(s *brokenText, _ counts) {
			if !s.side() {
				s.model(dearModel)
			}
		}, "the price of a million tokens of conversations is "},
		{"sub-agents on a model five times as dear", func(s *brokenText, _ counts) {
			if s.agents = dearModel; s.side() {
				s.model(dearModel)
			}
		}, "the price of a million tokens of sub-agents is "},
		{"40 % more output", longerResponses, "output tokens per response: "},
		{"pauses over the lifetime", func(s *brokenText, u counts) {
			switch {
			case s.n%10 == 9:
				u.read(15_000)
			case s.n%10 == 8 && !s.seen:
				s.later += 2 * time.Hour
			}
		}, "pauses over the lifetime, per call: "},
		{"order of tools", func(s *brokenText, u counts) {
			if s.n > 0 {
				u.read(9000)
			}
		}, "something before the messages changes with every call"},
		{"compaction at 80k", compactAt80k, "tokens before a compaction: "},
	}
}

// dearModel costs $10 for a million input tokens, twice as much as the dearest model of the recordings.
const dearModel = "claude-fable-5"

// within returns the object at a path of keys, nil if there is none.
func within(line map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		line, _ = line[key].(map[string]any)
	}
	return line
}

// side reports whether a line is of a sub-agent.
func (s *brokenText) side() bool { side, _ := s.line["isSidechain"].(bool); return side }

// model makes another model answer.
func (s *brokenText) model(name string) { s.line["message"].(map[string]any)["model"] = name }

// longerResponses makes every response longer by two fifths: its count, which some clients log at the start of a response
// alone, its blocks, and what later calls of the conversation send again.
func longerResponses(s *brokenText, u counts) {
	u["output_tokens"] = float64(int(1.4 * u.count("output_tokens")))
	blocks, _ := within(s.line, "message")["content"].([]any)
	size := 0
	for _, block := range blocks {
		of, _ := block.(map[string]any)
		for _, key := range []string{"text", "thinking"} {
			if text, ok := of[key].(string); ok {
				size += len(text)
				of[key] = text + strings.Repeat(" word", len(text)*2/25)
			}
		}
		input, _ := of["input"].(map[string]any)
		for key, v := range input {
			if text, ok := v.(string); ok {
				size += len(text)
				input[key] = text + strings.Repeat(" word", len(text)*2/25)
			}
		}
	}
	if s.side() {
		return
	}
	if !s.seen {
		if all := u.total(); all < s.last/2 {
			s.gone, s.more = 0, 0 // another context
		}
		s.last, s.brokenCall.gone, s.brokenCall.fresh = u.total(), s.gone, s.more
		s.gone, s.more = s.gone+s.more, 0
	}
	s.more += float64(size / 10) // four bytes a token
	u["cache_read_input_tokens"] = u.count("cache_read_input_tokens") + s.brokenCall.gone
	u.write(u.count("cache_creation_input_tokens") + s.brokenCall.fresh)
}

func compactAt70k(s *brokenText, u counts) { compactAt(70_000, s, u) }
func compactAt80k(s *brokenText, u counts) { compactAt(80_000, s, u) }

// compactAt summarises a main conversation whenever its context passes a number of tokens: 40,000 stay,
// of which the first call reads 12,000.
func compactAt(most float64, s *brokenText, u counts) {
	if side, _ := s.line["isSidechain"].(bool); side {
		return
	}
	if !s.seen {
		all := u.total()
		if all-s.gone < 10_000 { // another context
			s.gone = 0
		}
		if s.cut = all-s.gone > most; s.cut {
			boundary := map[string]any{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isSidechain": false,
				"timestamp": s.line["timestamp"], "uuid": "compact-" + s.id, "parentUuid": nil, "logicalParentUuid": s.line["parentUuid"],
				"sessionId": s.line["sessionId"], "version": s.line["version"],
				"compactMetadata": map[string]any{"trigger": "auto", "preTokens": int(s.last)}}
			text, _ := json.Marshal(boundary)
			s.out.Write(append(text, '\n'))
			s.gone = all - 40_000
		}
		s.brokenCall.gone, s.last = s.gone, all-s.gone
	}
	gone := s.brokenCall.gone
	if gone == 0 {
		return
	}
	rest := max(0, u.total()-u.count("input_tokens")-gone)
	read := min(rest, max(0, u.count("cache_read_input_tokens")-gone))
	if s.cut {
		read = min(12_000, rest)
	}
	u["cache_read_input_tokens"] = read
	u.write(rest - read)
}

// broken writes copies of transcripts in which every call with usage is edited.
func broken(t *testing.T, names []string, to string, edit func(*brokenText, counts)) (copies []string) {
	t.Helper()
	if len(names) == 0 {
		t.Fatal("no transcripts")
	}
	for _, name := range names {
		text := plainText(t, name)
		s := &brokenText{calls: map[string]*brokenCall{}, out: new(bytes.Buffer)}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 64<<20)
		var before time.Time
		var pause time.Duration
		for lines.Scan() {
			s.line = nil
			if err := json.Unmarshal(lines.Bytes(), &s.line); err != nil {
				s.out.Write(append(lines.Bytes(), '\n'))
				continue
			}
			stamp, _ := s.line["timestamp"].(string)
			at, _ := time.Parse(time.RFC3339, stamp)
			moved := s.later
			if !before.IsZero() {
				pause = max(pause, at.Sub(before))
			}
			message, _ := s.line["message"].(map[string]any)
			if u, ok := message["usage"].(map[string]any); ok {
				id, _ := message["id"].(string)
				if s.calls[id] == nil {
					s.calls[id] = &brokenCall{id: id, n: len(s.calls), pause: pause}
				}
				s.brokenCall = s.calls[id]
				edit(s, u)
				s.seen, before, pause = true, at, 0
			}
			if inner := within(s.line, "data", "message", "message"); inner["usage"] != nil && s.agents != "" {
				inner["model"] = s.agents
			}
			if stamp != "" && moved > 0 {
				s.line["timestamp"] = at.Add(moved).Format(time.RFC3339Nano)
			}
			again, err := json.Marshal(s.line)
			if err != nil {
				t.Fatal(err)
			}
			s.out.Write(append(again, '\n'))
		}
		at := filepath.Join(to, filepath.Base(filepath.Dir(name)), strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, s.out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, at)
	}
	return copies
}

// brokenCodex writes copies of rollouts of Codex in which every second call has lost its reads, in its own counts and in the sums.
func brokenCodex(t *testing.T, names []string, to string, lose bool) (copies []string) {
	t.Helper()
	for _, name := range names {
		n, lost := 0, 0.0
		var out bytes.Buffer
		lines := bufio.NewScanner(bytes.NewReader(plainText(t, name)))
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var line struct { // in the order of the client
				Timestamp string `json:"timestamp"`
				Type      string `json:"type"`
				Payload   struct {
					Type string `json:"type"`
					Info struct {
						Total counts `json:"total_token_usage"`
						Last  counts `json:"last_token_usage"`
						Size  any    `json:"model_context_window"`
					} `json:"info"`
				} `json:"payload"`
			}
			text := lines.Bytes()
			if err := json.Unmarshal(text, &line); err == nil && lose && line.Payload.Type == "token_count" && line.Payload.Info.Last != nil {
				own, sums := line.Payload.Info.Last, line.Payload.Info.Total
				if n++; n%2 == 0 {
					lost += own.count("cached_input_tokens")
					own["cached_input_tokens"] = 0.0
				}
				sums["cached_input_tokens"] = max(0, sums.count("cached_input_tokens")-lost)
				text, err = json.Marshal(line)
				if err != nil {
					t.Fatal(err)
				}
			}
			out.Write(append(slices.Clone(text), '\n'))
		}
		at := filepath.Join(to, strings.TrimSuffix(filepath.Base(name), ".gz"))
		if err := os.WriteFile(at, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, at)
	}
	return copies
}
