package synthetic

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func all(t testing.TB, s *Session) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range s.Files() {
		b.WriteString(f.Name + "\n")
		b.Write(written(t, f))
	}
	return b.Bytes()
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, name := range Names() {
		if !bytes.Equal(all(t, generate(t, name, 5)), all(t, generate(t, name, 5))) {
			t.Errorf("%s: two runs differ", name)
		}
	}
}

// Sessions of different seeds and of different profiles share no id: a call id
// counts once in a corpus.
func TestSessionsDiffer(t *testing.T) {
	ids := map[string]string{}
	for _, name := range Names() {
		for seed := range uint64(3) {
			s := generate(t, name, seed)
			for _, id := range []string{s.ID(), s.messageID(1), s.requestID(1), s.toolUseID(1)} {
				if other, ok := ids[id]; ok {
					t.Errorf("%s seed %d: id %s is also in %s", name, seed, id, other)
				}
				ids[id] = name
			}
		}
		if generate(t, name, 1).Usage() == generate(t, name, 2).Usage() {
			t.Errorf("%s: seeds 1 and 2 have the same usage", name)
		}
	}
}

// Draws are keyed by purpose and place: slower tools leave all sizes alone.
func TestDrawsAreIndependent(t *testing.T) {
	p, _, _ := Named("short-fix")
	a, err := Generate(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.FirstToken.Median *= 2
	p.Think.Median = 20
	b, err := Generate(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if a.NumCalls() != b.NumCalls() {
		t.Fatalf("%d and %d calls", a.NumCalls(), b.NumCalls())
	}
	for i := range a.threads[0].calls {
		if x, y := a.threads[0].calls[i].usage, b.threads[0].calls[i].usage; x.Input() != y.Input() || x.Output != y.Output {
			t.Errorf("call %d: %+v and %+v", i, x, y)
		}
	}
}

// A file read twice without an edit between gives the same text.
func TestRereadsRepeatTheText(t *testing.T) {
	s := generate(t, "exploration", 3)
	type read struct{ object, version, from int }
	seen := map[read]string{}
	again := 0
	for i := range s.threads {
		for _, c := range s.threads[i].calls {
			for _, b := range c.input {
				if b.call == 0 || b.failed || s.threads[i].tools[b.tool].Name != toolRead {
					continue
				}
				k := read{b.object, b.version, b.from}
				content, _ := s.toolResult(toolRead, &b)
				text := content.Content.(string)
				if old, ok := seen[k]; ok {
					again++
					if old != text {
						t.Errorf("file %d from line %d differs between reads", b.object, b.from)
					}
				}
				seen[k] = text
			}
		}
	}
	if again == 0 {
		t.Error("no file was read again")
	}
	if a, b := source(s.dice, 0, 0, 5000), source(s.dice, 0, 1, 5000); a == b {
		t.Error("an edit leaves the file as it was")
	}
}

func TestGenerateNamesEveryProblem(t *testing.T) {
	p, _, _ := Named("fan-out")
	p.Version = "2.1"
	p.Prompts = 0
	p.Parallel = 1
	p.Files = 0
	p.Prompt.Median = math.NaN()
	p.Think = LogNormal{Median: 1e300}
	p.Text = LogNormal{Min: 10, Max: 5}
	p.Static = -1
	p.WarmStart = 1.5
	p.Threshold = 250_000
	p.Pauses = []Pause{{Share: 0.7}, {Share: 0.7}}
	p.Tools[0].Name = "Raed"
	p.Agent.Tools = nil
	_, err := Generate(p, 1)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`profile "fan-out"`, `version "2.1"`, "prompts 0", "parallel 1", "working set has none", "prompt: NaN", "think: 1e+300",
		"text: minimum 10 above maximum 5", "static: -1", "warm start: 1.5", "threshold 250000", "shares sum to 1.4", "tool Raed: unknown", "agent tool mix: empty",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestNoCompactionWhenItWouldNotHelp(t *testing.T) {
	p, _, _ := Named("short-fix")
	p.Threshold = 40_000 // static, reminders, summary and five files are more
	if _, err := Generate(p, 1); err == nil || !strings.Contains(err.Error(), "may leave") {
		t.Errorf("error %v", err)
	}
	p.Threshold = -1
	s, err := Generate(p, 1)
	if err != nil || s.NumCompactions() != 0 {
		t.Errorf("%d compactions, error %v", s.NumCompactions(), err)
	}
}

// The reference outputs of SplitMix64 for the seed 1234567 (Rosetta Code,
// "Pseudo-random numbers/Splitmix64").
func TestMix(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	x := uint64(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := mix(x); got != want {
			t.Errorf("mix(%d) = %d, want %d", x, got, want)
		}
		x += step
	}
}

// 20,000 draws: the median within 3 %, the spread of the logarithm within 3 %,
// nothing outside the limits.
func TestLogNormal(t *testing.T) {
	const n = 20_000
	l := LogNormal{Median: 200, Sigma: 1.2, Min: 5, Max: 5000}
	x := make([]float64, n)
	var sum, sq float64
	for i := range x {
		x[i] = dice(9).from(l, forToolResult, uint64(i))
		y := math.Log(dice(9).from(LogNormal{Median: 200, Sigma: 1.2}, forToolResult, uint64(i)))
		sum, sq = sum+y, sq+y*y
	}
	slices.Sort(x)
	if x[0] < l.Min || x[n-1] > l.Max {
		t.Errorf("draws from %v to %v", x[0], x[n-1])
	}
	if m := x[n/2]; math.Abs(m/l.Median-1) > 0.03 {
		t.Errorf("median %v, want %v", m, l.Median)
	}
	if sd := math.Sqrt(sq/n - sum/n*sum/n); math.Abs(sd/1.2-1) > 0.03 {
		t.Errorf("sigma %v, want 1.2", sd)
	}
	if got := (dice(9).from(LogNormal{Min: 3}, forToolResult, 1)); got != 3 {
		t.Errorf("no median gives %v, want the minimum", got)
	}
}

// failing is a writer that takes n bytes.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.n {
		return 0, io.ErrShortWrite
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	s := generate(t, "short-fix", 1)
	for _, n := range []int{0, 100_000} {
		if err := WriteClaudeCode(&failing{n}, s); err == nil || !strings.Contains(err.Error(), s.ID()) {
			t.Errorf("after %d bytes: error %v", n, err)
		}
	}
}

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_999_999, time.UTC).UnixNano()
	if got := timestamp(at); got != "2026-02-03T04:05:06.789Z" {
		t.Errorf("timestamp %s", got)
	}
}

func BenchmarkGenerate(b *testing.B) {
	p, _, _ := Named("long-refactor")
	calls := 0
	for i := 0; b.Loop(); i++ {
		s, err := Generate(p, uint64(i))
		if err != nil {
			b.Fatal(err)
		}
		calls += s.NumCalls()
	}
	b.ReportMetric(float64(calls)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkWriteClaudeCode(b *testing.B) {
	s := generate(b, "long-refactor", 1)
	b.SetBytes(int64(len(all(b, s))))
	for b.Loop() {
		if err := WriteClaudeCode(io.Discard, s); err != nil {
			b.Fatal(err)
		}
	}
}
