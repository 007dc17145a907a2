package costmodel_test

import (
	"errors"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
)

// Multipliers stack and apply to every class (platform.claude.com, pricing).
func TestModifiers(t *testing.T) {
	type mod = costmodel.Modifiers
	for _, row := range []struct {
		why, model, day string
		mod             mod
		in, read, out   float64
		refused         bool
	}{
		{why: "geography 1.1×", model: "claude-opus-4-6", day: "2026-11-01", mod: mod{GeoUS: true}, in: 5.5, read: 0.55, out: 27.5},
		{why: "geography in a batch", model: "claude-sonnet-5", day: "2026-11-01", mod: mod{GeoUS: true, Batch: true}, in: 1.1, read: 0.11, out: 5.5},
		{why: "older models refuse the geography", model: "claude-opus-4-5", day: "2026-11-01", mod: mod{GeoUS: true}, refused: true},
		{why: "regional endpoint from 4.5 on", model: "claude-haiku-4-5", day: "2026-11-01", mod: mod{Regional: true}, in: 1.1, read: 0.11, out: 5.5},
		{why: "regional endpoint before 4.5", model: "claude-opus-4-1", day: "2026-11-01", mod: mod{Regional: true}, in: 15, read: 1.5, out: 75},
		{why: "fast Opus 5.5 is 8/40", model: "claude-opus-5-5", day: "2026-11-01", mod: mod{Fast: true}, in: 8, read: 0.4, out: 40},
		{why: "fast Opus 5 is 10/50", model: "claude-opus-5", day: "2026-11-01", mod: mod{Fast: true}, in: 10, read: 1, out: 50},
		{why: "fast Opus 4.8 is 10/50", model: "claude-opus-4-8", day: "2026-11-01", mod: mod{Fast: true}, in: 10, read: 1, out: 50},
		{why: "fast Opus 4.8 ends 2026-11-30", model: "claude-opus-4-8", day: "2026-11-30", mod: mod{Fast: true}, refused: true},
		{why: "Opus 4.7 has no fast mode", model: "claude-opus-4-7", day: "2026-11-01", mod: mod{Fast: true}, refused: true},
		{why: "fast Opus 4.7 was 30/150", model: "claude-opus-4-7", day: "2026-07-23", mod: mod{Fast: true}, in: 30, read: 3, out: 150},
		{why: "Opus 4.6 runs at standard speed", model: "claude-opus-4-6", day: "2026-11-01", mod: mod{Fast: true}, in: 5, read: 0.5, out: 25},
		{why: "fast Opus 4.6 was 30/150", model: "claude-opus-4-6", day: "2026-02-10", mod: mod{Fast: true}, in: 30, read: 3, out: 150},
		{why: "fast with geography", model: "claude-opus-5-5", day: "2026-11-01", mod: mod{Fast: true, GeoUS: true}, in: 8.8, read: 0.44, out: 44},
		{why: "fast mode is not for batches", model: "claude-opus-5-5", day: "2026-11-01", mod: mod{Fast: true, Batch: true}, refused: true},
		{why: "Sonnet has no fast mode", model: "claude-sonnet-5-5", day: "2026-11-01", mod: mod{Fast: true}, refused: true},
		{why: "OpenAI's batch", model: "gpt-5.5", day: "2026-11-01", mod: mod{Batch: true}, in: 2.5, read: 0.25, out: 15},
		{why: "DeepSeek has no batch", model: "deepseek-v4-pro", day: "2026-11-01", mod: mod{Batch: true}, refused: true},
	} {
		p := lookup(t, table(t), row.model, row.day)
		r, err := p.With(row.mod)
		if row.refused {
			if !errors.Is(err, costmodel.ErrNotOffered) {
				t.Errorf("%s: error %v, want ErrNotOffered", row.why, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
			continue
		}
		l := listed(r, 0)
		if !near(l[costmodel.Uncached], row.in) || !near(l[costmodel.Read], row.read) || !near(l[costmodel.Output], row.out) {
			t.Errorf("%s: input %g, read %g, output %g; want %g, %g, %g", row.why,
				l[costmodel.Uncached], l[costmodel.Read], l[costmodel.Output], row.in, row.read, row.out)
		}
	}
}

// Multipliers reach the tiers: Haiku 5.5 above 100k in a batch.
func TestModifiersOfTiers(t *testing.T) {
	p := lookup(t, table(t), "claude-haiku-5-5", "2026-11-01")
	r, err := p.With(costmodel.Modifiers{Batch: true, GeoUS: true})
	if err != nil {
		t.Fatal(err)
	}
	wantClasses(t, "tier", listed(r, 100_000), [costmodel.NumClasses]float64{
		0.275, 0.0275, 0.34375, 0.55, 0.34375, 1.375,
	})
}
