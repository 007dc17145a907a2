package synthetic

import (
	"bytes"
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// The profile recorded is what a fit on the shared recordings gives today, each number within 1 %: it stays as it is while
// readers learn to size a result here and there, so that sessions stay the same. sim traces fit ../shared/traces/claude-code
// renews it.
func TestRecordedProfileIsFitted(t *testing.T) {
	c, err := agents.Read(context.Background(), traces.Options{}, recordings(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b bytes.Buffer
	if err := FitWorkload(workload(t, "short-fix"), c.Sessions).Write(&b); err != nil {
		t.Fatal(err)
	}
	text, err := WorkloadText("recorded")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
	if !bytes.Equal(number.ReplaceAll(b.Bytes(), nil), number.ReplaceAll(text, nil)) {
		t.Fatal("profiles/recorded.yaml is not what the fit gives")
	}
	fitted, kept := number.FindAllString(b.String(), -1), number.FindAllString(string(text), -1)
	for i := range fitted {
		x, _ := strconv.ParseFloat(fitted[i], 64)
		y, _ := strconv.ParseFloat(kept[i], 64)
		if math.Abs(x-y) > 0.01*y {
			t.Errorf("the fit gives %s where profiles/recorded.yaml has %s", fitted[i], kept[i])
		}
	}
}

// A fit on generated sessions finds what they were drawn from: medians within
// 5 %, shares within 2 points.
func TestFitFindsTheProfile(t *testing.T) {
	w := workload(t, "long-refactor")
	c, err := generator(t, w).Corpus(context.Background(), 200, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	f := FitWorkload(workload(t, "short-fix"), c.Sessions)
	if errs := f.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, d := range []struct {
		name      string
		got, want Dist
	}{
		{"rounds", f.Rounds, w.Rounds}, {"thinking", f.Thinking, w.Thinking}, {"text", f.Text, w.Text}, {"answer", f.Answer, w.Answer},
		{"summary", f.Summary, w.Summary}, {"compact time", f.CompactTime, w.CompactTime},
	} {
		if got, want := d.got.quantile(0.5), d.want.quantile(0.5); math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: median %v, drawn from %v", d.name, got, want)
		}
	}
	for _, s := range []struct {
		name      string
		got, want float64
	}{
		{"text share", f.TextShare, w.TextShare}, {"thinking share", f.ThinkingShare, w.ThinkingShare}, {"parallel", f.Parallel, w.Parallel},
		{"rewinds", f.Rewinds, w.Rewinds}, {"warm start", f.WarmStart, w.WarmStart},
	} {
		tolerance := 0.02
		if s.name == "warm start" {
			tolerance = 0.1 // 200 sessions: three standard errors
		}
		if math.Abs(s.got-s.want) > tolerance {
			t.Errorf("%s: %v, drawn with %v", s.name, s.got, s.want)
		}
	}
	if f.Lifetime != w.Lifetime || f.Static != w.Static {
		t.Errorf("lifetime %s, static %d; drawn with %s, %d", f.Lifetime, f.Static, w.Lifetime, w.Static)
	}
	if f.Tools[0].Name != toolEdit && f.Tools[0].Name != toolBash {
		t.Errorf("the tool used most is %s, drawn are Bash and Edit alike", f.Tools[0].Name)
	}
}

// The quantiles of a distribution are the quantiles of its draws: 40,000 draws, each
// quantile within three standard errors, nothing outside the limits.
func TestSamplerDrawsTheQuantiles(t *testing.T) {
	for _, d := range []Dist{
		{Median: 180, Sigma: 1.6, Min: 2, Max: 9500}, {Median: 60}, {Min: 3},
		{Quantiles: []float64{1, 10, 40, 200, 9000}}, {Quantiles: []float64{0, 0, 1, 5}},
	} {
		d.table = newSampler(d)
		var drawn []float64
		for i := range 40_000 {
			drawn = append(drawn, spot(mix(mix(7)^uint64(i))).draw(&d, forToolResult))
		}
		slices.Sort(drawn)
		for _, u := range []float64{0.05, 0.25, 0.5, 0.75, 0.95, 0.999} {
			got, want := stats.Quantile(drawn, u), d.quantile(u)
			tolerance := 0.1 // three standard errors where the quantiles are steepest
			if u > 0.99 {
				tolerance = 0.3
			}
			if math.Abs(got-want) > tolerance*want+0.02 {
				t.Errorf("%+v: quantile %v of draws is %v, want %v", d, u, got, want)
			}
		}
		if low, high := stats.Quantile(drawn, 0), stats.Quantile(drawn, 1); low < d.Min || d.Max > 0 && high > d.Max {
			t.Errorf("%+v: draws from %v to %v", d, low, high)
		}
	}
}
