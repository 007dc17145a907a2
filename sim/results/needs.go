package results

import (
	"slices"

	"github.com/compactsim/compactsim/internal/jsonlines"
)

// NeedKind is what an action used of what had been said before it.
type NeedKind uint8

// The kinds of need.
const (
	NeedEdit     NeedKind = iota // the text that an edit replaces
	NeedPath                     // a path
	NeedRead                     // the content of a file that is read again unchanged
	NeedName                     // an identifier
	NeedNumber                   // a number of four digits or more
	NeedURL                      // an address
	NeedError                    // a line of a failed result
	NeedTask                     // an item of a plan that is taken up
	NumNeedKinds = 8
)

var needNames = [NumNeedKinds]string{"edit", "path", "read", "name", "number", "url", "error", "task"}

// String returns the lower-case name used in reports.
func (k NeedKind) String() string { return needNames[min(int(k), NumNeedKinds-1)] }

// Artifact is what a conversation has to do with, and should still know of.
type Artifact uint8

// The types of artifact.
const (
	ArtifactEdited  Artifact = iota // a path that was edited or written
	ArtifactRead                    // a path that was read only
	ArtifactCommand                 // a command that was run
	ArtifactError                   // the result of a call that failed
	numArtifacts    = 4
)

var artifactNames = [numArtifacts]string{"edited", "read", "command", "error"}

// depths are the numbers of compactions behind a conversation, by name.
var depths = [numDepths]string{"0", "1", "2", "3_or_more"}

const numDepths = 4

// Depth returns the place of a number of compactions among those of Needs.
func Depth(compactions int) int { return min(max(0, compactions), numDepths-1) }

// Portion is a part of a whole.
type Portion struct{ Part, Whole int64 }

// NeedTally adds up needs by what became of them. Weights are in thousandths: a
// need of what stands in one block of a long session weighs 1,000.
type NeedTally struct {
	Count       int64
	Weight      int64
	Verbatim    int64 // weight of those in the context word for word
	Recoverable int64 // weight of those that are not, and can be fetched as they were
	Summarized  int64 // weight that modelled summaries keep of the others, as expected
	Most        int64 // the same at most: all that fits their size
}

// kept returns the weight that is not gone.
func (n *NeedTally) kept() int64 { return n.Verbatim + n.Recoverable + n.Summarized }

// Needs is what a strategy left of what later actions used. It is empty where the
// texts of the session were not looked at.
type Needs struct {
	Kinds        [NumNeedKinds]NeedTally
	Removed      int64              // tokens that compactions and clearings took out
	Instructions [numDepths]Portion // directing sentences of the person over all requests: those there word for word
	Summarized   int64              // of Instructions, those that only a summary can have
	Artifacts    [numArtifacts]Portion
	ByDepth      [numDepths]Portion // artifacts by compactions behind the conversation
	Fetches      int64
	RefetchUSD   float64 // of fetching what is recoverable, beside the cost
	// Closed is what the row costs in an open loop and at both ends of the interval of what agents fetch, USD; zero
	// but in a closed loop.
	Closed Closed
}

// Closed holds a closed loop against others: see Needs.
type Closed struct{ OpenUSD, LowUSD, HighUSD float64 }

// known reports whether the loop is closed.
func (c *Closed) known() bool { return *c != (Closed{}) }

// Total returns the sum over all kinds.
func (n *Needs) Total() (t NeedTally) {
	for k := range n.Kinds {
		tallyForm.Add(&t, &n.Kinds[k])
	}
	return t
}

var tallyForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("count", func(n *NeedTally) *int64 { return &n.Count }, jsonlines.Count[int64]()),
	jsonlines.At("weight", func(n *NeedTally) *int64 { return &n.Weight }, jsonlines.Count[int64]()),
	jsonlines.At("verbatim", func(n *NeedTally) *int64 { return &n.Verbatim }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("recoverable", func(n *NeedTally) *int64 { return &n.Recoverable }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("summarized", func(n *NeedTally) *int64 { return &n.Summarized }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("most", func(n *NeedTally) *int64 { return &n.Most }, jsonlines.Count[int64]()).Or(),
)

var shareForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("part", func(s *Portion) *int64 { return &s.Part }, jsonlines.Count[int64]()),
	jsonlines.At("whole", func(s *Portion) *int64 { return &s.Whole }, jsonlines.Count[int64]()),
)

var needsForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("kinds", func(n *Needs) *[NumNeedKinds]NeedTally { return &n.Kinds },
		jsonlines.ByName(needNames[:], func(a *[NumNeedKinds]NeedTally) []NeedTally { return a[:] }, tallyForm,
			jsonlines.Pass)),
	jsonlines.At("removed_tokens", func(n *Needs) *int64 { return &n.Removed }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("instructions", func(n *Needs) *[numDepths]Portion { return &n.Instructions },
		jsonlines.ByName(depths[:], func(a *[numDepths]Portion) []Portion { return a[:] }, shareForm, jsonlines.Pass)).Or(),
	jsonlines.At("instructions_summarized", func(n *Needs) *int64 { return &n.Summarized },
		jsonlines.Count[int64]()).Or(),
	jsonlines.At("artifacts", func(n *Needs) *[numArtifacts]Portion { return &n.Artifacts },
		jsonlines.ByName(artifactNames[:], func(a *[numArtifacts]Portion) []Portion { return a[:] }, shareForm,
			jsonlines.Pass)).Or(),
	jsonlines.At("artifacts_by_depth", func(n *Needs) *[numDepths]Portion { return &n.ByDepth },
		jsonlines.ByName(depths[:], func(a *[numDepths]Portion) []Portion { return a[:] }, shareForm, jsonlines.Pass)).Or(),
	jsonlines.At("fetches", func(n *Needs) *int64 { return &n.Fetches }, jsonlines.Count[int64]()).Or(),
	jsonlines.At("refetch_usd", func(n *Needs) *float64 { return &n.RefetchUSD }, jsonlines.Amount{}).Or(),
	jsonlines.At("closed_loop", func(n *Needs) *Closed { return &n.Closed }, closedForm).Or(),
)

var closedForm = jsonlines.NewObject(jsonlines.Pass,
	jsonlines.At("open_usd", func(c *Closed) *float64 { return &c.OpenUSD }, jsonlines.Amount{}),
	jsonlines.At("low_usd", func(c *Closed) *float64 { return &c.LowUSD }, jsonlines.Amount{}),
	jsonlines.At("high_usd", func(c *Closed) *float64 { return &c.HighUSD }, jsonlines.Amount{}),
)

// needMetrics are what is forgotten. There is no sample of what nothing was
// measured of.
func needMetrics() []Metric {
	ms := []Metric{{place: atRefetch, Name: "cost_with_refetch_usd", Unit: UnitUSD, Better: Lower,
		Low: "cost_with_refetch_low_usd", High: "cost_with_refetch_high_usd", Level: 0.95,
		Definition: "cost_usd and fetching again what later actions used, which is not in the context and can be had " +
			"as it was: call, result, and reading it until the next compaction; no sample without texts",
		Value: func(r *Row) (float64, bool) { return r.CostUSD() + r.Needs.RefetchUSD, r.Needs.Total().Count > 0 }}}
	total := func(name, definition string, part func(*NeedTally) int64) Metric {
		return needShare(atRecall, name, "", definition, func(n *Needs) (int64, int64) {
			t := n.Total()
			return part(&t), t.Weight
		})
	}
	for _, c := range []struct {
		name, definition string
		of               func(*Closed) float64
	}{
		{"cost_with_refetch_low_usd", "cost_usd at the low end of the 95 % interval of what agents fetch again",
			func(c *Closed) float64 { return c.LowUSD }},
		{"cost_with_refetch_high_usd", "cost_usd at its high end", func(c *Closed) float64 { return c.HighUSD }},
		{"cost_open_loop_usd", "cost_usd if the agent acts as recorded, whatever is forgotten",
			func(c *Closed) float64 { return c.OpenUSD }},
	} {
		ms = append(ms, Metric{place: atRefetch, Name: c.name, Unit: UnitUSD, Better: Lower,
			Definition: c.definition + "; no sample but in a closed loop",
			Value:      func(r *Row) (float64, bool) { return c.of(&r.Needs.Closed), r.Needs.Closed.known() }})
	}
	ms = append(ms,
		total("needed_recall", "weighted share of what actions used that is in the context, can be fetched as it "+
			"was, or is expected in a summary", (*NeedTally).kept),
		total("needed_recall_least", "needed_recall when summaries keep nothing",
			func(t *NeedTally) int64 { return t.Verbatim + t.Recoverable }),
		total("needed_recall_most", "needed_recall when summaries keep all that fits their size, the most used first",
			func(t *NeedTally) int64 { return t.Verbatim + t.Recoverable + t.Most }),
		total("needed_verbatim", "weighted share of what actions used that is in the context word for word",
			func(t *NeedTally) int64 { return t.Verbatim }))
	at := slices.IndexFunc(ms, func(m Metric) bool { return m.Name == "needed_recall" })
	ms[at].Low, ms[at].High, ms[at].Level = "needed_recall_least", "needed_recall_most", 1
	for k := range NeedKind(NumNeedKinds) {
		ms = append(ms, needShare(atNeeds, "needed_recall_"+k.String(), groupKinds,
			"needed_recall of the kind "+k.String(),
			func(n *Needs) (int64, int64) { return n.Kinds[k].kept(), n.Kinds[k].Weight }))
	}
	ms = append(ms, needCount("needs", "uses of what had been said before",
		func(n *Needs) int64 { return n.Total().Count }))
	for k := range NeedKind(NumNeedKinds) {
		m := needCount("needs_"+k.String(), "uses of the kind "+k.String(),
			func(n *Needs) int64 { return n.Kinds[k].Count })
		m.Of, m.By, m.Group = "needs", ByPart, groupUses
		ms = append(ms, m)
	}
	ms = append(ms, lossRates()...)
	ms = append(ms,
		needShare(atNeeds, "instruction_survival", groupNeeds, "directing sentences of the person (must, never, use …) "+
			"that are in the context word for word, over all requests of main conversations",
			func(n *Needs) (int64, int64) { return sumShares(n.Instructions[:]) }),
		needShare(atNeeds, "instruction_summarized", groupNeeds, "of the same, those that only a modelled summary can have",
			func(n *Needs) (int64, int64) {
				_, all := sumShares(n.Instructions[:])
				return n.Summarized, all
			}))
	ms = append(ms, shares("instruction_survival_depth_", "instruction_survival behind compactions: ", depths[:],
		func(n *Needs) []Portion { return n.Instructions[:] })...)
	ms = append(ms, needShare(atNeeds, "artifact_retention", groupNeeds, "paths, commands and failed results so far "+
		"that are in the context behind a compaction, whatever a modelled summary says",
		func(n *Needs) (int64, int64) { return sumShares(n.Artifacts[:]) }))
	ms = append(ms, shares("artifact_retention_", "artifact_retention of the type ", artifactNames[:],
		func(n *Needs) []Portion { return n.Artifacts[:] })...)
	ms = append(ms, shares("artifact_retention_depth_", "artifact_retention behind compactions: ", depths[1:],
		func(n *Needs) []Portion { return n.ByDepth[1:] })...)
	return append(ms, needCount("refetches", "calls that fetch again what later actions used",
		func(n *Needs) int64 { return n.Fetches }))
}

// lossRates are what is gone by what took it out.
func lossRates() []Metric {
	rate := func(name, by string, of func(*Row) int64) Metric {
		m := ratio(Metric{place: atNeeds, Name: name, Better: Lower, Group: groupNeeds,
			Definition: "weight of the uses that find nothing, by " + by + "; no sample without any"},
			func(r *Row) (int64, int64) {
				t := r.Needs.Total()
				if t.Count == 0 {
					return 0, 0
				}
				return t.Weight - t.kept(), of(r)
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

func shares(prefix, definition string, names []string, of func(*Needs) []Portion) []Metric {
	var ms []Metric
	for i, name := range names {
		ms = append(ms, needShare(atNeeds, prefix+name, groupSurvival, definition+name, func(n *Needs) (int64, int64) {
			return of(n)[i].Part, of(n)[i].Whole
		}))
	}
	return ms
}

func sumShares(list []Portion) (part, whole int64) {
	for _, s := range list {
		part, whole = part+s.Part, whole+s.Whole
	}
	return part, whole
}

func needShare(at place, name, group, definition string, of func(*Needs) (int64, int64)) Metric {
	m := ratio(Metric{place: at, Name: name, Better: Higher, Group: group, Definition: definition + "; no sample without any"},
		func(r *Row) (int64, int64) { return of(&r.Needs) })
	m.Exact = false
	return m
}

func needCount(name, definition string, of func(*Needs) int64) Metric {
	return Metric{place: atNeeds, Name: name, Unit: UnitCount, Group: groupNeeds, Exact: true, Definition: definition,
		Value: func(r *Row) (float64, bool) { return float64(of(&r.Needs)), r.Needs.Total().Count > 0 }}
}
