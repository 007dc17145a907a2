package claudecode

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/traces"
)

// typical is about n bytes of transcript with the mix of the recordings: half
// are results that stand in the line twice (as sent and as the client keeps
// them), a third progress, the rest responses.
func typical(n int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	code := strings.Repeat("\tif err := do(\"x\", 1); err != nil {\n\t\treturn fmt.Errorf(\"doing: %w\", err)\n\t}\n", 200)
	excerpt := func(n int) string { from := r.IntN(len(code) - n); return code[from : from+n] }
	s := newScript("S")
	s.prompt("go")
	size := 0
	for i, total := 0, 20_000; size < n; i++ {
		tool := fmt.Sprint("toolu_", i)
		s.call(fmt.Sprint("msg_", i), total, fields{"type": "thinking", "thinking": excerpt(500), "signature": strings.Repeat("Eo4k", 100)}, text(excerpt(200)),
			use(tool, "Edit", fields{"file_path": fmt.Sprintf("/src/file%d.go", i%40), "old_string": excerpt(300), "new_string": excerpt(300)}))
		for k := range 2 {
			s.add(fields{"type": "progress", "parentToolUseID": tool, "toolUseID": fmt.Sprint("bash-progress-", k), "data": fields{"type": "bash_progress", "output": excerpt(800), "fullOutput": excerpt(800), "elapsedTimeSeconds": k}})
		}
		content := excerpt(2000 + r.IntN(6000))
		s.add(fields{"type": "user", "message": fields{"role": "user", "content": []fields{{"type": "tool_result", "tool_use_id": tool, "content": content}}},
			"toolUseResult": fields{"filePath": "/src/file.go", "originalFile": content, "structuredPatch": []fields{{"oldStart": 1, "lines": strings.Split(excerpt(400), "\n")}}}})
		total += 2500
		for _, l := range s.lines[len(s.lines)-6:] {
			size += len(l) + 1
		}
	}
	return s.bytes()
}

func benchmarkRead(b *testing.B, data []byte, plain int) {
	fsys := fstest.MapFS{"S.jsonl": {Data: data}}
	b.SetBytes(int64(plain))
	b.ReportAllocs()
	for b.Loop() {
		c, err := ReadFS(context.Background(), traces.Options{}, fsys)
		if err != nil || len(c.Sessions) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadPlain(b *testing.B) {
	data := typical(32 << 20)
	benchmarkRead(b, data, len(data))
}

func BenchmarkReadGzip(b *testing.B) {
	data := typical(32 << 20)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	benchmarkRead(b, z.Bytes(), len(data))
}

// BenchmarkReadRecordings reads the real sessions as they lie there, gzipped.
func BenchmarkReadRecordings(b *testing.B) {
	dir := recordings(b)
	b.ReportAllocs()
	for b.Loop() {
		c, err := Read(context.Background(), traces.Options{}, dir)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(c.Bytes)
		c.Close()
	}
}

// BenchmarkReadRecordingsPlain reads the real sessions decompressed.
func BenchmarkReadRecordingsPlain(b *testing.B) {
	inputs, err := traces.Find(b.Context(), traces.Options{}, recordings(b))
	if err != nil {
		b.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, in := range inputs.Files {
		r, err := in.Open()
		if err != nil {
			b.Fatal(err)
		}
		var buf bytes.Buffer
		if _, err := buf.ReadFrom(r); err != nil {
			b.Fatal(err)
		}
		r.Close()
		fsys[strings.TrimPrefix(strings.TrimSuffix(in.Name, ".gz"), "/")] = &fstest.MapFile{Data: buf.Bytes()}
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := ReadFS(context.Background(), traces.Options{}, fsys)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(c.Bytes)
	}
}
