package reports

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// By hand: up to 2 lie 2 of 4 and 0 of 3 values, and nowhere is the difference
// larger; samples without overlap are 1 apart, equal ones 0.
func TestCorpusDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{3, 3, 5}, 0.5},
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 1, 2}, []float64{1, 1, 2}, 0},
		{[]float64{1, 1, 2, 2}, []float64{1, 2}, 0},
		{[]float64{0}, []float64{0, 1, 1, 1}, 0.75},
	} {
		if got := distance(tt.a, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("distance of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// The distance is symmetric, lies in 0…1 and is the largest difference found by
// looking at every value.
func TestCorpusDistanceIsTheLargestDifference(t *testing.T) {
	sample := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(n int) float64 { return float64(n) }), 1, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := slices.Sorted(slices.Values(sample.Draw(t, "a"))), slices.Sorted(slices.Values(sample.Draw(t, "b")))
		upTo := func(v []float64, x float64) float64 {
			n := 0
			for _, y := range v {
				if y <= x {
					n++
				}
			}
			return float64(n) / float64(len(v))
		}
		want := 0.0
		for x := range 10 {
			want = max(want, math.Abs(upTo(a, float64(x))-upTo(b, float64(x))))
		}
		if got := distance(a, b); math.Abs(got-want) > 1e-12 || got != distance(b, a) {
			t.Fatalf("distance %v, want %v", got, want)
		}
	})
}

// descending returns n values, from + n down to from + 1.
func descending(n int, from float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = from + float64(n-i)
	}
	return v
}

// compared is a comparison with a dimension of each kind.
func compared() *CorpusComparison {
	c := CompareCorpora(
		[]synthetic.Observation{
			{Name: synthetic.PerSession, Values: descending(40, 0)}, {Name: "prompt", Unit: "tokens", Values: descending(100, 0)},
			{Name: "text", Values: descending(3, 0)}, {Name: "image", Values: descending(9, 0)}, {Name: "gap", Unit: "seconds", Values: descending(100, 0)},
			{Name: "result of Task", Unit: "tokens"}, {Name: "result of Glob", Unit: "tokens"},
		},
		[]synthetic.Observation{
			{Name: synthetic.PerSession, Values: descending(50, 0)}, {Name: "prompt", Unit: "tokens", Values: descending(100, 50)},
			{Name: "text", Values: descending(90, 0)}, {Name: "image"}, {Name: "gap", Unit: "seconds"},
			{Name: "result of Task", Unit: "tokens", Values: descending(30, 12_345)}, {Name: "result of Glob", Unit: "tokens"},
			{Name: "theirs alone", Values: descending(30, 0)},
		},
	)
	c.Names = [2]string{"profile recorded", "theirs"}
	return c
}

// Every dimension that one of two corpora has is there: what only one of them has
// is the largest difference, unless it is seldom. The table reads "few" for the
// rest, and names what neither has.
func TestCompareCorpora(t *testing.T) {
	c := compared()
	var fits []string
	for i := range c.Dimensions {
		fits = append(fits, c.Dimensions[i].Name+" "+c.Dimensions[i].fit())
	}
	want := []string{
		synthetic.PerSession + " near", "prompt differs", "text few", "image few", "gap differs", "result of Task differs", "theirs alone differs",
	}
	if !slices.Equal(fits, want) || c.Sessions != [2]int{40, 50} || !slices.Equal(c.Absent, []string{"result of Glob"}) {
		t.Errorf("dimensions %q, want %q; sessions %v, absent %q", fits, want, c.Sessions, c.Absent)
	}
	for _, tt := range []struct{ format, want string }{
		{"table", `DIMENSION                 N  REC.   p50  REC.   p90  REC.   p99  REC.      KS  FIT
turns per session        40    50  20.5  25.5  36.1  45.1  39.6  49.5  20.0 %  near
prompt, tokens          100   100  50.5   100  90.1   140    99   149  50.0 %  differs
text                      3    90     2  45.5   2.8  81.1  2.98  89.1  96.7 %  few
image                     9     0     5     –   8.2     –  8.92     –       –  few
gap, seconds            100     0  50.5     –  90.1     –    99     –       –  differs
result of Task, tokens    0    30     –   12k     –   12k     –   12k       –  differs
theirs alone              0    30     –  15.5     –  27.1     –  29.7       –  differs

generated: profile recorded, 40 sessions; recorded (REC.): theirs, 50 sessions.
KS: largest difference between the shares of values up to some x. alike: at most 10 %; near: at most 25 %;
few: fewer than 30 values on a side.
In neither: result of Glob.
--format csv and json have figures in full, and p10.
`},
		{"csv", `dimension,unit,generated_n,recorded_n,generated_p10,recorded_p10,generated_p50,recorded_p50,generated_p90,recorded_p90,generated_p99,recorded_p99,ks,fit
turns per session,,40,50,4.9,5.9,20.5,25.5,36.1,45.1,39.61,49.51,`},
		{"csv", `,0.9666666666666667,few
image,,9,0,1.8,,5,,8.2,,8.92,,,few
`},
		{"json", `
{"dimension":"result of Task","unit":"tokens","generated_n":0,"recorded_n":30,"generated_p10":null,"recorded_p10":12348.9,"generated_p50":null,"recorded_p50":12360.5,"generated_p90":null,"recorded_p90":12372.1,"generated_p99":null,"recorded_p99":12374.71,"ks":null,"fit":"differs"},
`},
	} {
		var out bytes.Buffer
		if err := c.Document().Write(&out, tt.format); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s\nwithout\n%s", tt.format, err, &out, tt.want)
		}
	}
}

// The word goes by the distance as it is shown: 0.10049 is 10.0 % and alike,
// 0.1005 is 10.1 % and near.
func TestCorpusFitIsThatOfTheShownDistance(t *testing.T) {
	values := [2][]float64{descending(fewValues, 0), descending(fewValues, 0)}
	for ks, want := range map[float64]string{
		0: "KS 0.0 % · alike", 0.1: "KS 10.0 % · alike", 0.10049: "KS 10.0 % · alike", 0.1006: "KS 10.1 % · near",
		0.25049: "KS 25.0 % · near", 0.2506: "KS 25.1 % · differs", 1: "KS 100.0 % · differs",
	} {
		d := CorpusDimension{Values: values, KS: ks}
		if got := d.verdict(); got != want {
			t.Errorf("%v: %s, want %s", ks, got, want)
		}
	}
}

// The picture tells of each dimension what the table does, and names the corpora
// by what they are compared as.
func TestCorpusChart(t *testing.T) {
	c := compared()
	var svg, png bytes.Buffer
	if err := CorpusChart(c).Draw(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"KS 50.0 % · differs", "generated only · few", "recorded only · differs", "generated: profile recorded (40 sessions)", "recorded: theirs (50 sessions)",
	} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the chart does not show %q", want)
		}
	}
	if want := "dimensions: 7; alike (KS ≤ 10 %): 0; near (≤ 25 %): 1; differs: 4; few (fewer than 30 values on a side): 2"; !strings.HasSuffix(c.facts(), want) {
		t.Errorf("%s\nwant at its end %s", c.facts(), want)
	}
	if err := CorpusChart(c).Draw(&png, "png"); err != nil || !bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")) {
		t.Errorf("no PNG, error %v", err)
	}
	if err := CorpusChart(&CorpusComparison{}).Draw(&png, "png"); err == nil {
		t.Error("a chart of nothing is no error")
	}
}
