package claudecode

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// good is a transcript of two calls, 3 lines long.
func good() *script {
	s := newScript("S")
	s.prompt("go")
	s.call("m1", 20_000, text("one"))
	s.call("m2", 20_010, text("two"))
	return s
}

func TestBadLines(t *testing.T) {
	tests := []struct {
		name, line, want string
	}{
		{"truncated", `{"type":"user","message":{"role":"us`, "text ends in a string"},
		{"binary junk", "\x00\x01\x7fELF\xff\xfe", `found '\x00' where a value is expected at byte 0`},
		{"invalid UTF-8", `{"type":"user","uuid":"x","message":{"role":"user","content":"` + "\xff\xfe" + `"}}`, "line holds bytes that are not UTF-8"},
		{"deep nesting", strings.Repeat(`{"a":`, 20_000), "nested too deep"},
		{"not an object", `[1,2]`, "not a JSON object"},
		{"no type", `{"uuid":"x"}`, "it has no type"},
		{"no message", `{"type":"assistant","uuid":"x"}`, "no message"},
		{"message of another type", `{"type":"user","message":"x"}`, "no message"},
		{"two values", `{"type":"summary"} []`, "where the end of the line is expected"},
		{"merge marker", `<<<<<<< HEAD`, "found '<'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := good()
			s.lines = append(s.lines[:2:2], append([]string{tt.line}, s.lines[2:]...)...)
			file := fstest.MapFS{"dir/S.jsonl": {Data: s.bytes()}}
			c, err := ReadFS(context.Background(), traces.Options{}, file)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Sessions[0]
			want(t, "threads", shape(got), "main: m1 m2")
			if c.BadLines != 1 || c.Lines != 4 || got.Quality.BadLines != 1 || c.NumProblems != 1 {
				t.Errorf("bad lines %d of %d, problems %d", c.BadLines, c.Lines, c.NumProblems)
			}
			p := got.Problems[0]
			if p.File != "dir/S.jsonl" || p.Line != 3 || !strings.Contains(p.Text, tt.want) {
				t.Errorf("problem %q, want %q at dir/S.jsonl:3", p, tt.want)
			}
			_, err = ReadFS(context.Background(), traces.Options{Strict: true}, file)
			if err == nil || !strings.Contains(err.Error(), "dir/S.jsonl:3: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("strict: %v, want dir/S.jsonl:3 with %q", err, tt.want)
			}
		})
	}
}

func TestTruncatedLastLine(t *testing.T) {
	s := good()
	data := s.bytes()
	c, err := ReadFS(context.Background(), traces.Options{}, fstest.MapFS{"S.jsonl": {Data: data[:len(data)-20]}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "threads", shape(c.Sessions[0]), "main: m1")
	want(t, "problem", c.Sessions[0].Problems[0].String(), "S.jsonl:3: last line is cut off: "+after(c.Sessions[0].Problems[0].Text, "off: "))
}

func after(s, sep string) string { _, a, _ := strings.Cut(s, sep); return a }

func TestUnknownLineTypes(t *testing.T) {
	s := good()
	s.raw(`{"type":"hologram","uuid":"x"}`)
	s.raw(`{"type":"hologram"}`)
	s.raw(`{"type":"last-prompt"}`)
	c := corpusOf(t, traces.Options{Strict: true}, map[string][]byte{"S.jsonl": s.bytes()})
	if len(c.Unknown) != 1 || c.Unknown["hologram"] != 2 || c.BadLines != 0 {
		t.Errorf("unknown %v bad %d", c.Unknown, c.BadLines)
	}
}

func TestUnusableUsage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		usage any
	}{
		{"missing", nil}, {"empty", fields{}}, {"of another type", "much"},
		{"negative", fields{"input_tokens": -5, "output_tokens": 1}},
		{"absurd", fields{"input_tokens": 1e18, "output_tokens": 1}},
		{"not a number", fields{"input_tokens": "3"}},
		{"fraction", fields{"input_tokens": 3.5}},
		{"null", fields{"input_tokens": nil, "cache_read_input_tokens": 20_000, "output_tokens": 1}},
		{"null reads", fields{"input_tokens": 20_000, "cache_read_input_tokens": nil, "output_tokens": 1}},
		{"null writes", fields{"input_tokens": 20_000, "cache_creation": fields{"ephemeral_1h_input_tokens": nil}}},
		{"all zero", fields{"input_tokens": 0, "output_tokens": 0}},
		{"sum is absurd", fields{"input_tokens": 90_000_000, "cache_read_input_tokens": 90_000_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript("S")
			s.prompt("go")
			s.call("m1", 20_000, text(words(1000)))
			s.prompt(words(1000))
			m := fields{"id": "m2", "model": "m", "content": []fields{text(words(1000))}}
			if tt.usage != nil {
				m["usage"] = tt.usage
			}
			s.add(fields{"type": "assistant", "message": m})
			s.prompt(words(1000))
			s.call("m3", 22_000, text("three"))
			got := sessionOf(t, s)
			want(t, "threads", shape(got), "main: m1 m2 m3")
			r := got.Threads[0].Rounds
			if r[1].Usage.Input() != 0 || got.Quality.Uncounted != 1 || len(got.Problems) != 1 || got.Problems[0].Line != 4 {
				t.Errorf("usage %+v problems %v", r[1].Usage, got.Problems)
			}
			// 22,000 − 20,000 − 2 × (260 + 310).
			want(t, "input", blocks(got, r[2].Input), "prompt:310 unseen:860")
		})
	}
}

func TestNoTimes(t *testing.T) {
	s := good()
	for i := range s.lines {
		s.lines[i] = dropField(s.lines[i], "timestamp")
	}
	got := sessionOf(t, s)
	want(t, "threads", shape(got), "main: m1 m2")
	if got.Start != 0 || got.Threads[0].Rounds[0].Flags&signs.NoTime == 0 {
		t.Errorf("start %d flags %b", got.Start, got.Threads[0].Rounds[0].Flags)
	}
}

func TestNoSessions(t *testing.T) {
	for name, content := range map[string]string{
		"empty":        "",
		"blank lines":  "\n \r\n\n",
		"no calls":     `{"type":"user","sessionId":"S","uuid":"u","message":{"role":"user","content":"hi"}}` + "\n",
		"no JSON":      "hello\n",
		"half a gzip":  "\x1f\x8b\x08\x00\x00\x00",
		"not yet gzip": "\x1f\x8b",
	} {
		c, err := ReadFS(context.Background(), traces.Options{}, fstest.MapFS{"x.jsonl": {Data: []byte(content)}})
		if !errors.Is(err, traces.ErrNoSessions) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if c.NumProblems == 0 || c.Problems[0].File != "x.jsonl" || !strings.Contains(err.Error(), c.Problems[0].Text) {
			t.Errorf("%s: problems %v, error %v", name, c.Problems, err)
		}
	}
}

// locked is a file system with a file that cannot be opened.
type locked struct{ fstest.MapFS }

func (l locked) Open(name string) (fs.File, error) {
	if name == "locked.jsonl" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Open(name)
}

func TestUnreadableAndEmptyFiles(t *testing.T) {
	data := good().bytes()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	for i := range 2000 { // enough for more than one block of the compressor
		fmt.Fprintf(w, "%s\n{\"type\":\"summary\",\"n\":%d}\n", data, i*i*i)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := locked{fstest.MapFS{
		"S.jsonl": {Data: data}, "empty.jsonl": {}, "locked.jsonl": {}, "torn.jsonl.gz": {Data: z.Bytes()[:z.Len()/2]},
	}}
	c, err := ReadFS(context.Background(), traces.Options{}, files)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "threads", shape(c.Sessions[0]), "main: m1 m2")
	var got []string
	for _, p := range append(c.Problems, c.Sessions[0].Problems...) {
		got = append(got, p.String())
	}
	text := strings.Join(got, "\n")
	for _, w := range []string{"empty.jsonl: file is empty", "locked.jsonl: file cannot be opened: permission denied", "torn.jsonl.gz: reading stopped after line "} {
		if !strings.Contains(text, w) {
			t.Errorf("problems:\n%s\nwant %q", text, w)
		}
	}
	delete(files.MapFS, "empty.jsonl")
	delete(files.MapFS, "locked.jsonl")
	if _, err := ReadFS(context.Background(), traces.Options{Strict: true}, files); err == nil || !strings.Contains(err.Error(), "torn.jsonl.gz:") {
		t.Errorf("strict: %v", err)
	}
}

func TestProblemsAreCappedAndCounted(t *testing.T) {
	s := good()
	for range 500 {
		s.raw("junk")
	}
	c := corpusOf(t, traces.Options{MaxProblems: 10}, map[string][]byte{"S.jsonl": s.bytes()})
	got := c.Sessions[0]
	if len(got.Problems) != 10 || got.Quality.Problems != 500 || c.BadLines != 500 || c.NumProblems != 500 {
		t.Errorf("kept %d, counted %d, bad %d, corpus %d", len(got.Problems), got.Quality.Problems, c.BadLines, c.NumProblems)
	}
}

// longLine is good with a prompt of n bytes as second line, made as it is read.
func longLine(n int64) io.Reader {
	s := good()
	return io.MultiReader(
		strings.NewReader(s.lines[0]+"\n"),
		strings.NewReader(`{"type":"user","uuid":"long","parentUuid":"S-1","sessionId":"S","timestamp":"2026-03-01T12:00:01.500Z","message":{"role":"user","content":"`),
		io.LimitReader(repeat('x'), n),
		strings.NewReader(`"}}`+"\n"+strings.Join(s.lines[1:], "\n")+"\n"),
	)
}

// repeat reads as one byte without end.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("writes and reads 100 MB")
	}
	const size = 100 << 20
	c, err := Read(context.Background(), traces.Options{Stdin: longLine(size)}, "-")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := c.Sessions[0]
	want(t, "threads", shape(got), "main: m1 m2")
	if b := got.Blocks[got.Threads[0].Rounds[0].Input.From+1]; b.Bytes != size {
		t.Errorf("block of %d bytes, want %d", b.Bytes, size)
	}
}

func TestLineOverTheLimit(t *testing.T) {
	c, err := Read(context.Background(), traces.Options{Stdin: longLine(1 << 20), MaxLine: 1 << 16}, "-")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := c.Sessions[0]
	want(t, "threads", shape(got), "main: m1 m2")
	want(t, "problem", fmt.Sprint(got.Problems), "[-:2: line is longer than 65536 bytes]")
}

// A model without a name has one by which it can be priced.
func TestNamelessModel(t *testing.T) {
	for _, model := range []any{nil, ""} {
		s := good()
		s.add(fields{"type": "assistant", "message": fields{"id": "m3", "model": model, "content": []fields{text("three")},
			"usage": fields{"input_tokens": 20_020, "output_tokens": 1}}})
		if got := sessionOf(t, s); got.Models[got.Threads[0].Rounds[2].Model] != "unknown" {
			t.Errorf("%v: models %q", model, got.Models)
		}
	}
}

// A response that lacks what the client writes with every one is a bad line, which strict reading refuses; its counts are read
// all the same.
func TestResponsesThatLackParts(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"id", `"id":"m2",`, ``, "without a message id"},
		{"id of another type", `"id":"m2"`, `"id":7`, "without a message id"},
		{"content", `"content":[{"text":"two","type":"text"}]`, `"x":1`, "without a list of blocks"},
		{"content that was replaced", `"content":[{"text":"two","type":"text"}]`, `"content":"REDACTED"`, "without a list of blocks"},
		{"blocks", `[{"text":"two","type":"text"}]`, `[]`, "without a list of blocks"},
		{"text", `"text":"two"`, `"x":1`, "lacks its type, text or input"},
		{"type of a block", `{"text":"two","type":"text"}`, `{"text":"two"}`, "lacks its type, text or input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := good()
			last := &s.lines[len(s.lines)-1]
			was := *last
			if *last = strings.Replace(was, tt.old, tt.new, 1); *last == was {
				t.Fatalf("%s has no %s", was, tt.old)
			}
			files := fstest.MapFS{"S.jsonl": {Data: s.bytes()}}
			c, err := ReadFS(context.Background(), traces.Options{}, files)
			if err != nil {
				t.Fatal(err)
			}
			usage := c.Sessions[0].Usage()
			if p := c.Sessions[0].Problems; usage.Input() != 40_010 || c.BadLines != 1 || len(p) != 1 || !strings.Contains(p[0].Text, tt.want) {
				t.Errorf("%d tokens, want 40,010; bad lines %d, problems %v", usage.Input(), c.BadLines, p)
			}
			if _, err := ReadFS(context.Background(), traces.Options{Strict: true}, files); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("strict reading says %v, want %q", err, tt.want)
			}
		})
	}
}

// Uuids that were replaced by one value lose no line, and lines of an unknown type with counts are no line of another kind.
func TestReplacedIDsAndTypes(t *testing.T) {
	s := good()
	for i := range s.lines {
		s.lines[i] = regexp.MustCompile(`"uuid":"[^"]*"`).ReplaceAllString(s.lines[i], `"uuid":"REDACTED"`)
	}
	c := corpusOf(t, traces.Options{}, map[string][]byte{"S.jsonl": s.bytes()})
	got := c.Sessions[0]
	if len(got.Threads) != 1 || got.NumCalls() != 2 || len(got.Problems) == 0 || !strings.Contains(fmt.Sprint(got.Problems), "2 lines have the uuid of an earlier line") {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
	s = good()
	s.lines[2] = strings.Replace(s.lines[2], `"type":"assistant"`, `"type":"REDACTED"`, 1)
	c = corpusOf(t, traces.Options{}, map[string][]byte{"S.jsonl": s.bytes()})
	if got := c.Sessions[0]; c.BadLines != 1 || !strings.Contains(got.Problems[0].Text, `type "REDACTED" has the token counts of a call`) {
		t.Errorf("%d bad lines, problems %v", c.BadLines, got.Problems)
	}
}
