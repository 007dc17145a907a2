package texts

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// generated returns the transcripts of sessions made for a workload.
func generated(t testing.TB, workload string, n int) fstest.MapFS {
	t.Helper()
	w, err := synthetic.LoadWorkload(workload)
	if err != nil {
		t.Fatal(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for i := range n {
		for _, f := range w.Transcripts(g.Session(7, i)) {
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			fsys[f.Name] = &fstest.MapFile{Data: b.Bytes()}
		}
	}
	return fsys
}

// The text read is the content the session was read from: where content is text
// alone its digest is the block's, and where the whole content is shown it has the
// block's length.
func TestDigestsOfTexts(t *testing.T) {
	for name, fsys := range map[string]fs.FS{"generated": generated(t, "chat", 18), "samples": synthetic.Samples()} {
		c := claude(t, fsys)
		checked := 0
		for _, s := range c.Sessions {
			r := open(t, c, s)
			for i := range s.Blocks {
				b := &s.Blocks[i]
				got, err := r.Block(int32(i))
				if err != nil {
					t.Fatal(err)
				}
				if b.Line == 0 {
					continue
				}
				switch b.Kind {
				case prompt.KindPrompt, prompt.KindText, prompt.KindSummary, prompt.KindAttachment:
					checked++
					if prompt.DigestString(got.Text).ExtendInt(uint64(b.Kind)) != b.Digest {
						t.Errorf("%s: session %s, line %d: the text is another: %q", name, s.ID, b.Line, got.Text)
					}
				case prompt.KindToolUse:
					checked++
					if len(got.Input) != int(b.Bytes) || got.Name != s.Tools[b.Tool] {
						t.Errorf("%s: session %s, line %d: input %q of %q, want %d bytes", name, s.ID, b.Line, got.Input, got.Name, b.Bytes)
					}
				case prompt.KindToolResult:
					checked++
					if len(got.Text) != int(b.Bytes) || got.Error != (b.Flags&prompt.FlagError != 0) {
						t.Errorf("%s: session %s, line %d: result %q, want %d bytes", name, s.ID, b.Line, got.Text, b.Bytes)
					}
				}
			}
		}
		if checked < 1000 {
			t.Errorf("%s: %d blocks were looked at, too few to mean something", name, checked)
		}
	}
}

// many returns a transcript of so many calls, each with a result of its own.
func many(calls int) string {
	list := []string{user("u00", "", `"begin"`)}
	last := "u00"
	for i := range calls {
		use, result := fmt.Sprintf("a%03d", i), fmt.Sprintf("r%03d", i)
		list = append(list,
			assistant(use, last, fmt.Sprintf(`[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/p/%d.go"}}]`, i, i)),
			user(result, use, fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]`, i, strings.Repeat(fmt.Sprint(i), 1+i%30))))
		last = result
	}
	return lines(append(list, assistant("a999", last, `[{"type":"text","text":"end"}]`))...)
}

// reader returns a reader of the first session of a corpus.
func reader(t *rapid.T, c *traces.Corpus) *Reader {
	r, err := Open(context.Background(), c, c.Sessions[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compressed returns the same files through gzip.
func compressed(t testing.TB, fsys fstest.MapFS) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	for name, f := range fsys {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(f.Data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		out[name+".gz"] = &fstest.MapFile{Data: b.Bytes()}
	}
	return out
}

// In whatever order blocks are asked for, from whatever form of file and however
// little is held, they say the same.
func TestAnyOrder(t *testing.T) {
	fsys := files(map[string]string{"S.jsonl": many(60)})
	plain, packed := claude(t, fsys), claude(t, compressed(t, fsys))
	s := plain.Sessions[0]
	if len(s.Blocks) < 120 {
		t.Fatalf("%d blocks, want those of 60 calls", len(s.Blocks))
	}
	rapid.Check(t, func(rt *rapid.T) {
		inOrder, other := reader(rt, plain), reader(rt, packed)
		defer inOrder.Close()
		defer other.Close()
		other.cache.limit = rapid.SampledFrom([]int{0, 4000, 100_000}).Draw(rt, "cache")
		for range 20 {
			i := int32(rapid.IntRange(0, len(s.Blocks)-1).Draw(rt, "block"))
			want, err := inOrder.Block(i)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := other.Block(i)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("block %d: %s", i, diff)
			}
			if other.cache.held > other.cache.limit {
				rt.Fatalf("%d bytes are held, of at most %d", other.cache.held, other.cache.limit)
			}
		}
	})
}

// counting counts how often files are opened.
type counting struct {
	fs.FS
	mu     sync.Mutex
	opened map[string]int
}

func (c *counting) Open(name string) (fs.File, error) {
	c.mu.Lock()
	c.opened[name]++
	c.mu.Unlock()
	return c.FS.Open(name)
}

// Asking in the session's order opens every file once, although results come
// late and abandoned branches stand between the lines of what followed.
func TestInOrderReadsOnce(t *testing.T) {
	fsys := &counting{FS: compressed(t, generated(t, "chat", 20)), opened: map[string]int{}}
	c := claude(t, fsys)
	clear(fsys.opened)
	branches := 0
	for _, s := range c.Sessions {
		for i := range s.Threads {
			if s.Threads[i].Kind == traces.ThreadBranch {
				branches++
			}
		}
		readAll(t, c, s)
	}
	for name, n := range fsys.opened {
		if n != 1 {
			t.Errorf("%s was opened %d times", name, n)
		}
	}
	if len(fsys.opened) < 8 || branches == 0 {
		t.Errorf("%d files, %d branches: too few to mean something", len(fsys.opened), branches)
	}
}

// Three lines to change: a prompt, an answer and a prompt that follow.
func small() string {
	return lines(
		user("u01", "", `"first"`), assistant("a02", "u01", `[{"type":"text","text":"second"}]`),
		user("u03", "a02", `"third"`), assistant("a04", "u03", `[{"type":"text","text":"fourth"}]`),
	)
}

// A file that no longer says what was read from it is an error that names file
// and line; what still stands there can be read all the same.
func TestChangedFiles(t *testing.T) {
	for _, tt := range []struct{ name, now, want string }{
		{"another text", strings.Replace(small(), "third", "three", 1), "S.jsonl:3: the prompt that was read here is gone"},
		{"a line more", `{"type":"summary"}` + "\n" + small(), "S.jsonl:1: the prompt that was read here is gone"},
		{"cut off", small()[:strings.Index(small(), "third")], "S.jsonl:3: the prompt that was read here is gone"},
		{"shorter", small()[:strings.Index(small(), "second")] + "\n", "S.jsonl:3: text cannot be read: the file ends before this line"},
		{"no JSON", strings.Replace(small(), `"first"`, `first`, 1), "S.jsonl:1: the prompt that was read here is gone"},
		{"no file", "", "S.jsonl:1: text cannot be read: file cannot be opened"},
	} {
		fsys := files(map[string]string{"S.jsonl": small()})
		c := claude(t, fsys)
		fsys["S.jsonl"].Data = []byte(tt.now)
		if tt.now == "" {
			delete(fsys, "S.jsonl")
		}
		s := c.Sessions[0]
		r := open(t, c, s)
		var errs []string
		for i := range s.Blocks {
			if got, err := r.Block(int32(i)); err != nil {
				errs = append(errs, err.Error())
			} else if s.Blocks[i].Line > 0 && got.Filler {
				t.Errorf("%s: filler stands for line %d", tt.name, s.Blocks[i].Line)
			}
		}
		if !strings.Contains(strings.Join(errs, "\n"), tt.want) {
			t.Errorf("%s: errors %q, want one with %q", tt.name, errs, tt.want)
		}
		if tt.name == "another text" && len(errs) != 1 {
			t.Errorf("%s: %d errors, want 1: %q", tt.name, len(errs), errs)
		}
	}
}

// Standard input is read again from where it was spooled.
func TestStandardInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := agents.Read(context.Background(), traces.Options{Stdin: strings.NewReader(small())}, "-")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := []Content{{Text: "first"}, {Text: "second"}, {Text: "third"}, {Text: "fourth"}}
	if diff := cmp.Diff(want, onLines(t, c)); diff != "" {
		t.Error(diff)
	}
}

// A file of the host, and one of its lines.
func TestOneLineOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "S.jsonl")
	if err := os.WriteFile(path, []byte(small()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := agents.Read(context.Background(), traces.Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Sessions[0]
	last := int32(len(s.Blocks) - 1)
	if got, err := open(t, c, s).Block(last); err != nil || got.Text != "fourth" {
		t.Errorf("the last block is %+v, %v", got, err)
	}
}

// Sessions made in memory have no lines: every text is filler of the block's
// length that names the object, and the same every time.
func TestSessionsWithoutLines(t *testing.T) {
	w, err := synthetic.LoadWorkload("chat")
	if err != nil {
		t.Fatal(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corpus(context.Background(), 1, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sessions[0]
	r, again := open(t, c, s), open(t, c, s)
	named := 0
	for i := range s.Blocks {
		b := &s.Blocks[i]
		got, err := r.Block(int32(i))
		if err != nil || !got.Filler {
			t.Fatalf("block %d: %+v, %v", i, got, err)
		}
		n := len(got.Text) + len(got.Input)
		if b.Bytes > 100 && n != int(b.Bytes) && got.Media == "" {
			t.Errorf("block %d, a %s: %d bytes of filler, want %d", i, b.Kind, n, b.Bytes)
		}
		if b.Object >= 0 && b.Bytes > 200 {
			named++
			if !strings.Contains(got.Text+string(got.Input), s.Objects[b.Object]) {
				t.Errorf("block %d, a %s: %q does not name %s", i, b.Kind, got.Text, s.Objects[b.Object])
			}
		}
		if b.Kind == prompt.KindToolUse && (!got.Input.IsValid() || got.Input.Kind() != '{') {
			t.Errorf("block %d: input %q is no object", i, got.Input)
		}
		twice, err := again.Block(int32(i))
		if diff := cmp.Diff(got, twice); err != nil || diff != "" {
			t.Errorf("block %d: %v %s", i, err, diff)
		}
	}
	if named == 0 {
		t.Error("no block has an object")
	}
}

// Misuse is an error and not a panic.
func TestMisuse(t *testing.T) {
	c := claude(t, files(map[string]string{"S.jsonl": small()}))
	s := c.Sessions[0]
	r := open(t, c, s)
	for _, i := range []int32{-1, int32(len(s.Blocks))} {
		if _, err := r.Block(i); err == nil {
			t.Errorf("block %d of %d can be read", i, len(s.Blocks))
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Block(0); err == nil {
		t.Error("a closed reader reads")
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Open(ctx, c, s)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Block(int32(len(s.Blocks) - 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context's end: %v", err)
	}
	if _, err := Open(context.Background(), c, &traces.Session{ID: "X", Agent: "nobody", Files: []string{"f"}, Blocks: []prompt.Block{{Line: 1}}}); err == nil {
		t.Error("texts of an unknown format can be read")
	}
	r = open(t, &traces.Corpus{}, s)
	if _, err := r.Block(int32(len(s.Blocks) - 1)); err == nil || !strings.Contains(err.Error(), "S.jsonl") {
		t.Errorf("without its file: %v", err)
	}
}

// More files than are kept open, asked for in turns.
func TestManyFiles(t *testing.T) {
	all := map[string]string{"S.jsonl": small()}
	for k := range maxOpen + 4 {
		agent := fmt.Sprintf(`"isSidechain":true,"agentId":"g%d","sessionId"`, k)
		text := strings.ReplaceAll(small(), `"sessionId"`, agent)
		text = strings.NewReplacer("msg_", fmt.Sprintf("msg_%d_", k), "first", fmt.Sprintf("first of %d", k)).Replace(text)
		all[fmt.Sprintf("S/subagents/agent-g%d.jsonl", k)] = text
	}
	c := claude(t, files(all))
	s := c.Sessions[0]
	r := open(t, c, s)
	r.cache.limit = 0
	firsts := 0
	for round := range 4 {
		for th := range s.Threads {
			in := s.Threads[th].Rounds[min(round/2, 1)].Input
			got, err := r.Block(in.From)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(got.Text, "first of ") {
				firsts++
			}
			if len(r.open) > maxOpen {
				t.Fatalf("%d files are open", len(r.open))
			}
		}
	}
	if want := 2 * (maxOpen + 4); firsts != want {
		t.Errorf("%d first prompts of sub-agents, want %d", firsts, want)
	}
}
