package results

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/internal/study/recall"
)

var tallyForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("count", func(n *recall.NeedTally) *int64 { return &n.Count }, jsonlines.Count[int64]()),
	jsonlines.At("weight", func(n *recall.NeedTally) *int64 { return &n.Weight }, jsonlines.Count[int64]()),
	jsonlines.At("verbatim", func(n *recall.NeedTally) *int64 { return &n.Verbatim }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("recoverable", func(n *recall.NeedTally) *int64 { return &n.Recoverable }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("summarized", func(n *recall.NeedTally) *int64 { return &n.Summarized }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("most", func(n *recall.NeedTally) *int64 { return &n.Most }, jsonlines.Count[int64]()).Or(),
)

var shareForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("part", func(s *recall.Portion) *int64 { return &s.Part }, jsonlines.Count[int64]()),
	jsonlines.At("whole", func(s *recall.Portion) *int64 { return &s.Whole }, jsonlines.Count[int64]()),
)

var needsForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("kinds", func(n *recall.Needs) *[recall.NumNeedKinds]recall.NeedTally { return &n.Kinds },
		jsonlines.ByName(recall.NeedNames(), func(a *[recall.NumNeedKinds]recall.NeedTally) []recall.NeedTally { return a[:] }, tallyForm,
			jsonlines.Pass)),
	jsonlines.At("removed_tokens", func(n *recall.Needs) *int64 { return &n.Removed }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("instructions", func(n *recall.Needs) *[recall.NumDepths]recall.Portion { return &n.Instructions },
		jsonlines.ByName(recall.Depths(), func(a *[recall.NumDepths]recall.Portion) []recall.Portion { return a[:] }, shareForm, jsonlines.Pass)).Or(),
	jsonlines.At("instructions_summarized", func(n *recall.Needs) *int64 { return &n.Summarized },
		jsonlines.Count[int64]()).Or(),
	jsonlines.At("artifacts", func(n *recall.Needs) *[recall.NumArtifacts]recall.Portion { return &n.Artifacts },
		jsonlines.ByName(recall.ArtifactNames(), func(a *[recall.NumArtifacts]recall.Portion) []recall.Portion { return a[:] }, shareForm,
			jsonlines.Pass)).Or(),
	jsonlines.At("artifacts_by_depth", func(n *recall.Needs) *[recall.NumDepths]recall.Portion { return &n.ByDepth },
		jsonlines.ByName(recall.Depths(), func(a *[recall.NumDepths]recall.Portion) []recall.Portion { return a[:] }, shareForm, jsonlines.Pass)).Or(),
	jsonlines.At("fetches", func(n *recall.Needs) *int64 { return &n.Fetches }, jsonlines.Count[int64]()).Or(),
)

// needMetrics are the metrics of what is forgotten, without a sample where nothing was
// measured.
func needMetrics() []Metric {
	total := func(name, definition string, part func(*recall.NeedTally) int64) Metric {
		return needShare(atRecall, name, "", definition, func(n *recall.Needs) (int64, int64) {
			t := n.Total()
			return part(&t), t.Weight
		})
	}
	ms := []Metric{
		total(NameRecall, "weighted share of what actions used that is in the context, can be fetched as it "+
			"was, or is expected in a summary", (*recall.NeedTally).Kept),
		total(NameRecallLeast, "needed_recall when summaries keep nothing",
			func(t *recall.NeedTally) int64 { return t.Verbatim + t.Recoverable }),
		total(NameRecallMost, "needed_recall when summaries keep all that fits their size, the most used first",
			func(t *recall.NeedTally) int64 { return t.Verbatim + t.Recoverable + t.Most }),
		total("needed_verbatim", "weighted share of what actions used that is in the context word for word",
			func(t *recall.NeedTally) int64 { return t.Verbatim }),
	}
	at := slices.IndexFunc(ms, func(m Metric) bool { return m.Name == NameRecall })
	ms[at].Low, ms[at].High, ms[at].Level = NameRecallLeast, NameRecallMost, 1
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		ms = append(ms, needShare(atNeeds, "needed_recall_"+k.String(), groupKinds,
			"needed_recall of the kind "+k.String(),
			func(n *recall.Needs) (int64, int64) { return n.Kinds[k].Kept(), n.Kinds[k].Weight }))
	}
	ms = append(ms, needCount(NameNeeds, "uses of what had been said before",
		func(n *recall.Needs) int64 { return n.Total().Count }))
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		m := needCount("needs_"+k.String(), "uses of the kind "+k.String(),
			func(n *recall.Needs) int64 { return n.Kinds[k].Count })
		m.Of, m.By, m.Group = NameNeeds, ByPart, groupUses
		ms = append(ms, m)
	}
	ms = append(ms, lossRates()...)
	ms = append(ms, needCount("instructions", "directing sentences of the person, once for each request that has or had them",
		func(n *recall.Needs) int64 { _, all := sumShares(n.Instructions[:]); return all }),
		needCount("artifacts", "paths, commands and failed results so far, once for each compaction",
			func(n *recall.Needs) int64 { _, all := sumShares(n.Artifacts[:]); return all }))
	ms = append(ms, survivalMetrics()...)
	return append(ms, needCount("refetches", "calls that fetch again what later actions used",
		func(n *recall.Needs) int64 { return n.Fetches }))
}

// survivalMetrics are the shares that contexts still have of what a person directed and
// of what the conversation dealt with.
func survivalMetrics() []Metric {
	ms := []Metric{
		needShare(atNeeds, NameInstructionsKept, groupNeeds, "directing sentences of the person (must, never, use …) "+
			"that are in the context word for word, over all requests of main conversations",
			func(n *recall.Needs) (int64, int64) { return sumShares(n.Instructions[:]) }),
		needShare(atNeeds, "instruction_summarized", groupNeeds, "of the same, those that only a modelled summary can have",
			func(n *recall.Needs) (int64, int64) {
				_, all := sumShares(n.Instructions[:])
				return n.Summarized, all
			}),
	}
	ms = append(ms, shares("instruction_survival_depth_", "instruction_survival behind compactions: ", recall.Depths(),
		func(n *recall.Needs) []recall.Portion { return n.Instructions[:] })...)
	ms = append(ms, needShare(atNeeds, "artifact_retention", groupNeeds, "paths, commands and failed results so far "+
		"that are in the context behind a compaction, whatever a modelled summary says",
		func(n *recall.Needs) (int64, int64) { return sumShares(n.Artifacts[:]) }))
	ms = append(ms, shares("artifact_retention_", "artifact_retention of the type ", recall.ArtifactNames(),
		func(n *recall.Needs) []recall.Portion { return n.Artifacts[:] })...)
	ms = append(ms, shares("artifact_retention_depth_", "artifact_retention behind compactions: ", recall.Depths()[1:],
		func(n *recall.Needs) []recall.Portion { return n.ByDepth[1:] })...)
	return ms
}

// lossRates are the rates of what is lost, by what took it out.
func lossRates() []Metric {
	rate := func(name, by string, of func(*Row) int64) Metric {
		m := ratio(Metric{place: atNeeds, Name: name, Better: Lower, Group: groupNeeds,
			Definition: "weight of the uses that find nothing, by " + by + "; no sample without any"},
			func(r *Row) (int64, int64) {
				t := r.Needs.Total()
				if t.Count == 0 {
					return 0, 0
				}
				return t.Weight - t.Kept(), of(r)
			})
		m.Unit, m.Exact = UnitRate, false
		return m
	}
	return []Metric{
		rate("needs_lost_per_compaction", "compactions and clearings",
			func(r *Row) int64 { return 1000 * int64(r.Compactions+r.Microcompactions) }),
		rate("needs_lost_per_1k_removed", "1,000 tokens taken out", func(r *Row) int64 { return r.Needs.Removed }),
	}
}

func shares(prefix, definition string, names []string, of func(*recall.Needs) []recall.Portion) []Metric {
	var ms []Metric
	for i, name := range names {
		ms = append(ms, needShare(atNeeds, prefix+name, groupSurvival, definition+name, func(n *recall.Needs) (int64, int64) {
			return of(n)[i].Part, of(n)[i].Whole
		}))
	}
	return ms
}

func sumShares(list []recall.Portion) (part, whole int64) {
	for _, s := range list {
		part, whole = part+s.Part, whole+s.Whole
	}
	return part, whole
}

func needShare(at place, name, group, definition string, of func(*recall.Needs) (int64, int64)) Metric {
	m := ratio(Metric{place: at, Name: name, Better: Higher, Group: group, Definition: definition + "; no sample without any"},
		func(r *Row) (int64, int64) { return of(&r.Needs) })
	m.Exact = false
	return m
}

func needCount(name, definition string, of func(*recall.Needs) int64) Metric {
	return Metric{place: atNeeds, Name: name, Unit: UnitCount, Group: groupNeeds, Exact: true, Definition: definition,
		Value: func(r *Row) (float64, bool) { return float64(of(&r.Needs)), r.Needs.Total().Count > 0 }}
}
