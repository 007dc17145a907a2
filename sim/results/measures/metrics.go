package measures

// Better says which direction of a metric is an improvement.
type Better uint8

// Directions of improvement.
const (
	Neither Better = iota // describes the workload or the strategy; no direction is good by itself
	Lower
	Higher
)

// String returns "neither", "lower" or "higher".
func (b Better) String() string { return [...]string{"neither", "lower", "higher"}[min(b, Higher)] }

// Kind is how the value of a metric over several rows follows from the value of each. A
// row without a sample takes no part in maxima and minima; sums include what it counts
// nevertheless, such as attempts at calls that were never answered.
type Kind uint8

// The kinds of metrics.
const (
	KindSum     Kind = iota // the values add up
	KindRatio               // the sum of one figure over the sum of another: see Metric.Parts
	KindMaximum             // the largest value
	KindMinimum             // the least value
)

// String returns "sum", "ratio", "maximum" or "minimum".
func (k Kind) String() string {
	return [...]string{"sum", "ratio", "maximum", "minimum"}[min(k, KindMinimum)]
}

// Join returns the value over two sets of rows, given the values over each. For a ratio these are
// the values of one of its two parts.
func (k Kind) Join(a, b float64) float64 {
	switch k {
	case KindMaximum:
		return max(a, b)
	case KindMinimum:
		return min(a, b)
	}
	return a + b
}

// SeedParam is the parameter of cells that are replications of each other: only
// the seed of all draws differs.
const SeedParam = "seed"

// Loop says what the agent of a row does where something was forgotten.
type Loop uint8

// The loops.
const (
	LoopNone   Loop = iota // the row repeats the recording
	LoopOpen               // the agent acts as recorded
	LoopClosed             // it fetches again what it needs and the context does not have
)

// LoopNames are the names of loops, as in rows.
var LoopNames = []string{"", "open", "closed"}

// String returns the name used in rows.
func (l Loop) String() string { return LoopNames[min(int(l), len(LoopNames)-1)] }

// DerivedText says what DerivedUSD is a part for, behind an amount of a bill.
const DerivedText = "estimated for outputs that the logs cut short"

// Schema is the version of every encoded form of a run. Decoders refuse
// others; adding a metric or an optional field does not change it.
const Schema = 2

// The strategies whose cells other cells are held against.
const (
	StrategyBilled   = "billed"   // logged usage × price, no model
	StrategyRecorded = "recorded" // replay of what the recording did, through the model
	StrategyOwn      = "own"      // the strategy of each session's own client and version
)

// ChangedTo begins the note of a cell with the parameters of its layers that were set from outside
// the scenario.
const ChangedTo = "changed to "

// ForemostCells is how many cells a chart of single calls tells apart.
const ForemostCells = 4
