package results

import (
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// needsOf returns what is forgotten, as a part of the row.
func needsOf(r *Row) *recall.Needs { return (*recall.Needs)(r.Figures[measures.Needs:]) }

// needMetrics are the metrics of what is forgotten, without a sample where nothing was
// measured.
func needMetrics() []Metric {
	const v, c, s, m = recall.Verbatim, recall.Recoverable, recall.Summarized, recall.Most
	total := func(name, definition string, states ...int) Metric {
		return needShare(atRecall, name, "", definition, func(n *recall.Needs) (float64, float64) {
			t := n.Total()
			return sumOf(&t, states), t[recall.Weight]
		})
	}
	kept := total(measures.NameRecall, "weighted share of what actions used that is in the context, can be fetched as it "+
		"was, or is expected in a summary", v, c, s)
	kept.Low, kept.High, kept.Level = measures.NameRecallLeast, measures.NameRecallMost, 1
	ms := []Metric{
		kept,
		total(measures.NameRecallLeast, "needed_recall when summaries keep nothing", v, c),
		total(measures.NameRecallMost, "needed_recall when summaries keep all that fits their size, the most used first", v, c, m),
		total("needed_verbatim", "weighted share of what actions used that is in the context word for word", v),
	}
	for k, name := range recall.NeedNames() {
		ms = append(ms, needShare(atNeeds, measures.NameRecall+"_"+name, groupKinds, "needed_recall of the kind "+name,
			func(n *recall.Needs) (float64, float64) {
				t := n.Kind(recall.NeedKind(k))
				return t.Kept(), t[recall.Weight]
			}))
	}
	ms = append(ms, needCount(measures.NameNeeds, "uses of what had been said before", func(n *recall.Needs) float64 {
		t := n.Total()
		return t[recall.Count]
	}))
	for k, name := range recall.NeedNames() {
		m := needCount(measures.NameNeeds+"_"+name, "uses of the kind "+name,
			func(n *recall.Needs) float64 { return n.Kind(recall.NeedKind(k))[recall.Count] })
		m.Of, m.By, m.Group = measures.NameNeeds, measures.ByPart, groupUses
		ms = append(ms, m)
	}
	ms = append(ms,
		lossRate("needs_lost_per_compaction", "compactions and clearings",
			func(r *Row) float64 {
				return 1000 * (r.Figures[measures.Compactions] + r.Figures[measures.Microcompactions])
			}),
		lossRate("needs_lost_per_1k_removed", "1,000 tokens taken out", func(r *Row) float64 { return r.Figures[measures.Needs+recall.Removed] }),
		needCount("instructions", "directing sentences of the person, once for each request that has or had them",
			func(n *recall.Needs) float64 { return n.Sum(recall.Instructions)[recall.Whole] }),
		needCount("artifacts", "paths, commands and failed results so far, once for each compaction",
			func(n *recall.Needs) float64 { return n.Sum(recall.Artifacts)[recall.Whole] }))
	ms = append(ms, survivalMetrics()...)
	return append(ms, needCount("refetches", "calls that fetch again what later actions used",
		func(n *recall.Needs) float64 { return n[recall.Fetches] }),
		needCount("left_out_calls", "recorded calls that fetched again what was forgotten, and are not made where it was not",
			func(n *recall.Needs) float64 { return n[recall.LeftOut] }))
}

func sumOf(t *recall.NeedTally, states []int) (sum float64) {
	for _, s := range states {
		sum += t[s]
	}
	return sum
}

// survivalMetrics are the shares that contexts still have of what a person directed and
// of what the conversation dealt with.
func survivalMetrics() []Metric {
	all := func(from int) func(*recall.Needs) (float64, float64) {
		return func(n *recall.Needs) (float64, float64) {
			p := n.Sum(from)
			return p[recall.Part], p[recall.Whole]
		}
	}
	ms := []Metric{
		needShare(atNeeds, measures.NameInstructionsKept, groupNeeds, "directing sentences of the person (must, never, use …) "+
			"that are in the context word for word, over all requests of main conversations", all(recall.Instructions)),
		needShare(atNeeds, "instruction_summarized", groupNeeds, "of the same, those that only a modelled summary can have",
			func(n *recall.Needs) (float64, float64) {
				return n[recall.Directed], n.Sum(recall.Instructions)[recall.Whole]
			}),
	}
	ms = append(ms, shares("instruction_survival_depth_", "instruction_survival after compactions: ", recall.Depths(), recall.Instructions)...)
	ms = append(ms, needShare(atNeeds, "artifact_retention", groupNeeds, "paths, commands and failed results so far "+
		"that are in the context after a compaction, whatever a modelled summary says", all(recall.Artifacts)))
	ms = append(ms, shares("artifact_retention_", "artifact_retention of the type ", recall.ArtifactNames(), recall.Artifacts)...)
	depths := shares("artifact_retention_depth_", "artifact_retention after compactions: ", recall.Depths(), recall.ByDepth)
	return append(ms, depths[1:]...)
}

// lossRate is the rate of what is lost, by what took it out.
func lossRate(name, by string, of func(*Row) float64) Metric {
	m := ratio(Metric{place: atNeeds, Name: name, Better: Lower, Group: groupNeeds,
		Definition: "weight of the uses that find nothing, by " + by + "; no sample without any"},
		func(r *Row) (float64, float64) {
			t := needsOf(r).Total()
			if t[recall.Count] == 0 {
				return 0, 0
			}
			return t[recall.Weight] - t.Kept(), of(r)
		})
	m.Unit, m.Exact = measures.UnitRate, false
	return m
}

func shares(prefix, definition string, names []string, from int) []Metric {
	var ms []Metric
	for i, name := range names {
		ms = append(ms, needShare(atNeeds, prefix+name, groupSurvival, definition+name, func(n *recall.Needs) (float64, float64) {
			p := n.Portion(from, i)
			return p[recall.Part], p[recall.Whole]
		}))
	}
	return ms
}

func needShare(at place, name, group, definition string, of func(*recall.Needs) (float64, float64)) Metric {
	m := ratio(Metric{place: at, Name: name, Better: Higher, Group: group, Definition: definition + "; no sample without any"},
		func(r *Row) (float64, float64) { return of(needsOf(r)) })
	m.Exact = false
	return m
}

func needCount(name, definition string, of func(*recall.Needs) float64) Metric {
	return Metric{place: atNeeds, Name: name, Unit: measures.UnitCount, Group: groupNeeds, Exact: true, Definition: definition,
		Value: func(r *Row) (float64, bool) {
			n := needsOf(r)
			t := n.Total()
			return of(n), t[recall.Count] > 0
		}}
}
